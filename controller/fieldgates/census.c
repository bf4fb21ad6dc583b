/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fieldgates/census.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "informers/clock.h"

#define TIMEOUT_MS 30000

/* One kind. Everything is owned. */
struct kind {
    const struct ek_gates *gates; /* a reference */
    struct ek_gates_crd crd;      /* group, storage and plural, of names */
    char *names[3];
    char *next; /* continue token of the next page; "": the first is next */
    struct ek_gates_census_state state;
};

struct ek_gates_censuses {
    struct ek_client *client;
    int64_t (*now_ms)(void);
    void (*changed)(void *ctx);
    void *ctx;
    uv_timer_t timer;
    struct kind **kinds;
    size_t n;
    struct kind *asking; /* whose page is under way */
    struct ek_call *call;
    int64_t free_ms; /* when the next page may be requested */
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

void ek_gates_census_path(const struct ek_gates_crd *crd, const char *next, unsigned limit,
                          struct ek_buf *out)
{
    ek_buf_printf(out, "/apis/%s/%s/%s?limit=%u", crd->group, crd->storage, crd->plural, limit);
    if (*next) {
        ek_buf_puts(out, "&continue=");
        ek_uri_escape(out, next);
    }
}

/* ---- Requests ---- */

static void schedule(struct ek_gates_censuses *c);

/* What the request came to; *doc, of list or status, is for the caller to free. */
static struct ek_gates_census_page read_page(const struct kind *k, const struct ek_response *resp,
                                             struct ek_err *problem, yyjson_doc **doc)
{
    struct ek_gates_census_page page = {.at = k->next, .size = resp->body.len, .err = problem};

    *doc = NULL;
    if (!problem->code) {
        *doc = ek_json_parse_envelope(resp->body.p, resp->body.len, 2, problem);
        page.list = yyjson_doc_get_root(*doc);
    } else if (problem->code == EK_E_GONE) {
        *doc = ek_json_parse(resp->body.p, resp->body.len, NULL);
        page.status = yyjson_doc_get_root(*doc);
    }
    return page;
}

static void on_page(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct ek_gates_censuses *c = ctx;
    struct kind *k = c->asking;
    struct ek_err problem = err ? *err : (struct ek_err){0};
    yyjson_doc *doc;
    struct ek_gates_census_page page = read_page(k, resp, &problem, &doc);

    c->call = NULL;
    c->asking = NULL;
    int64_t now_ms = c->now_ms();
    c->free_ms = now_ms + EK_GATES_CENSUS_GAP_MS;
    const char *next = ek_gates_census_heard(&k->state, k->gates, &page, now_ms, ek_wall_ms());
    char *kept = ek_xstrdup(next ? next : "");
    ek_free(k->next);
    k->next = kept;
    yyjson_doc_free(doc);
    schedule(c);
    if (!next)
        c->changed(c->ctx);
}

static void send_page(struct ek_gates_censuses *c, struct kind *k)
{
    EK_AUTO(ek_buf) path;

    ek_buf_init(&path, EK_GATES_CENSUS_PATH_MAX);
    ek_gates_census_path(&k->crd, k->next, k->state.limit, &path);
    const struct ek_request request = {.path = ek_buf_str(&path),
                                       .timeout_ms = TIMEOUT_MS,
                                       .max_body = EK_GATES_CENSUS_BODY_MAX,
                                       .no_retry = true};
    c->asking = k;
    c->call = ek_client_send(c->client, &request, on_page, c);
}

/* The kind whose page is requested next; NULL for none. */
static struct kind *first_due(const struct ek_gates_censuses *c)
{
    struct kind *first = NULL;

    for (size_t i = 0; i < c->n; i++)
        if (!first || ek_gates_census_precedes(&c->kinds[i]->state, &first->state))
            first = c->kinds[i];
    return first;
}

static void on_timer(uv_timer_t *timer)
{
    struct ek_gates_censuses *c = timer->data;
    struct kind *k = first_due(c);

    if (k && !c->call)
        send_page(c, k);
}

static void schedule(struct ek_gates_censuses *c)
{
    const struct kind *k = first_due(c);
    int64_t at = k && k->state.due_ms > c->free_ms ? k->state.due_ms : c->free_ms;
    int64_t now_ms = c->now_ms();

    if (!k || c->call)
        uv_timer_stop(&c->timer);
    else
        uv_timer_start(&c->timer, on_timer, at > now_ms ? (uint64_t)(at - now_ms) : 1, 0);
}

/* ---- Kinds ---- */

static void give_up(struct ek_gates_censuses *c, const struct kind *k)
{
    if (c->asking != k)
        return;
    ek_call_cancel(c->call);
    c->call = NULL;
    c->asking = NULL;
}

static void kind_free(struct ek_gates_censuses *c, struct kind *k)
{
    if (!k)
        return;
    give_up(c, k);
    ek_gates_unref(k->gates);
    for (size_t i = 0; i < EK_ARRAY_SIZE(k->names); i++)
        ek_free(k->names[i]);
    ek_free(k->next);
    ek_free(k);
}

static struct kind *take(struct ek_gates_censuses *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++) {
        struct kind *k = c->kinds[i];
        if (!k || strcmp(k->gates->name, name) != 0)
            continue;
        c->kinds[i] = NULL;
        return k;
    }
    return NULL;
}

static void set_names(struct kind *k, const struct ek_gates_crd *crd)
{
    const char *const names[] = {crd->group, crd->storage, crd->plural};

    for (size_t i = 0; i < EK_ARRAY_SIZE(names); i++) {
        ek_free(k->names[i]);
        k->names[i] = ek_xstrdup(names[i]);
    }
    k->crd =
        (struct ek_gates_crd){.group = k->names[0], .storage = k->names[1], .plural = k->names[2]};
}

/* The kind as it was, or a new one. */
static struct kind *renew(struct ek_gates_censuses *c, const struct ek_gated_kind *from)
{
    struct kind *k = take(c, from->defined->name);
    const struct ek_gates *before = k ? k->gates : NULL;
    bool moved = k && strcmp(k->crd.storage, from->resolution.crd.storage) != 0;

    if (!k) {
        k = ek_xalloc(sizeof *k);
        k->next = ek_xstrdup("");
        k->state.generation = -1;
    }
    k->gates = ek_gates_ref(from->defined);
    ek_gates_unref(before);
    if (moved)
        k->state.generation = -1;
    if (ek_gates_census_follow(&k->state, ek_obj_uid(from->obj), from->defined->generation,
                               c->now_ms())) {
        give_up(c, k);
        ek_free(k->next);
        k->next = ek_xstrdup("");
        set_names(k, &from->resolution.crd);
    }
    return k;
}

static bool is_counted(const struct ek_gated_kind *kind)
{
    return kind->enforced && kind->resolution.crd.established &&
           ek_gates_are_counted(kind->defined);
}

void ek_gates_censuses_follow(struct ek_gates_censuses *censuses,
                              const struct ek_gated_kinds *kinds)
{
    struct ek_gates_censuses *c = censuses;
    size_t n = kinds ? kinds->n : 0, kept = 0;
    struct kind **next = ek_xalloc((n + 1) * sizeof(struct kind *));

    for (size_t i = 0; i < n; i++)
        if (is_counted(&kinds->kinds[i]))
            next[kept++] = renew(c, &kinds->kinds[i]);
    for (size_t i = 0; i < c->n; i++)
        kind_free(c, c->kinds[i]);
    ek_free(c->kinds);
    c->kinds = next;
    c->n = kept;
    schedule(c);
}

const struct ek_gates_census_state *ek_gates_censuses_of(const struct ek_gates_censuses *censuses,
                                                         const char *name)
{
    for (size_t i = 0; i < censuses->n; i++)
        if (!strcmp(censuses->kinds[i]->gates->name, name))
            return &censuses->kinds[i]->state;
    return NULL;
}

/* ---- Life ---- */

struct ek_gates_censuses *ek_gates_censuses_new(uv_loop_t *loop, struct ek_client *client,
                                                int64_t (*now_ms)(void), void (*changed)(void *ctx),
                                                void *ctx)
{
    struct ek_gates_censuses *c = ek_xalloc(sizeof *c);

    *c = (struct ek_gates_censuses){
        .client = client, .now_ms = now_ms, .changed = changed, .ctx = ctx};
    uv_timer_init(loop, &c->timer);
    c->timer.data = c;
    return c;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct ek_gates_censuses *c = handle->data;

    c->on_closed(c->closed_ctx);
    ek_free(c);
}

void ek_gates_censuses_close(struct ek_gates_censuses *censuses, void (*on_closed)(void *ctx),
                             void *ctx)
{
    ek_gates_censuses_follow(censuses, NULL);
    ek_free(censuses->kinds);
    censuses->on_closed = on_closed;
    censuses->closed_ctx = ctx;
    uv_close((uv_handle_t *)&censuses->timer, on_timer_closed);
}
