/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/plan/scans.h"

#include "api/base/buf.h"
#include "api/base/mem.h"
#include "api/obj.h"
#include "informers/clock.h"

#define TIMEOUT_MS 30000
#define GAP_MS     100
#define OCTETS_MS  1048 /* of a page for each ms of the gap behind the page */
#define URL_MAX    ((size_t)64 << 10)
#define EVERY_MS   ((int64_t)600 * 1000)
#define RETRY_MS   10000
#define TRIES      3
#define SHARE      9 /* a reading under way takes a tenth of the time at most */

#define METADATA "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

/* One target. */
struct reading {
    struct ek_plan_wish wish;
    struct ek_plan_scan *scan; /* owned; NULL: none is under way */
    struct ek_plan_seen *seen; /* of the last one; owned; NULL: there was none */
    int64_t began_ms, due_ms;
    bool again; /* a plan has changed since the reading began */
    int n_failed;
};

struct ek_plan_scans {
    struct ek_client *client;
    const struct ek_plan_data *data;
    int64_t (*now_ms)(void);
    void (*changed)(void *ctx);
    void *ctx;
    uv_timer_t timer;
    struct reading readings[EK_PLAN_SCANS_MAX];
    size_t n;
    struct ek_plan_scan *waits; /* whose page is under way; NULL without call */
    struct ek_call *call;
    int64_t free_ms; /* when the next page may be requested */
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

size_t ek_plan_wish_add(struct ek_plan_wish *wishes, size_t n, struct ek_minor from,
                        struct ek_minor to, int64_t generation)
{
    size_t i = 0;

    while (i < n && ek_minor_cmp(wishes[i].to, to) != 0)
        i++;
    if (i == EK_PLAN_SCANS_MAX)
        return n;
    if (i == n)
        wishes[n++] = (struct ek_plan_wish){.from = from, .to = to};
    if (ek_minor_cmp(from, wishes[i].from) < 0)
        wishes[i].from = from;
    /* Plans that come and go count as well as generations do. */
    wishes[i].mark += ((uint64_t)1 << 32) + (uint64_t)generation;
    return n;
}

/* The path and the query of a page (KEP-365). */
static void put_path(const struct ek_plan_scan_request *request, struct ek_buf *out)
{
    ek_buf_printf(out, "/apis/%s/%s/%s?limit=%u", request->group, request->version,
                  request->resource, request->limit);
    if (*request->next) {
        ek_buf_puts(out, "&continue=");
        ek_uri_escape(out, request->next);
    }
}

/* ---- Requests ---- */

static void schedule(struct ek_plan_scans *s);

static struct reading *find(struct ek_plan_scans *s, const struct ek_plan_scan *scan)
{
    for (size_t i = 0; i < s->n; i++)
        if (scan && s->readings[i].scan == scan)
            return &s->readings[i];
    return NULL;
}

/* Takes the result of a reading that is over, unless it failed and is to be done again. Returns
 * true when there is a new result. */
static bool end_reading(struct ek_plan_scans *s, struct reading *r)
{
    struct ek_plan_seen *seen = ek_plan_scan_result(r->scan, ek_wall_ms());
    int64_t now_ms = s->now_ms(), pause = SHARE * (now_ms - r->began_ms);
    bool counts = !seen->is_partial || ++r->n_failed == TRIES;

    ek_plan_scan_free(r->scan);
    r->scan = NULL;
    ek_plan_seen_free(counts ? r->seen : seen);
    if (counts) {
        r->seen = seen;
        r->n_failed = 0;
    }
    if (!counts)
        r->due_ms = now_ms + RETRY_MS;
    else
        r->due_ms = now_ms + (r->again ? 0 : pause > EVERY_MS ? pause : EVERY_MS);
    r->again = false;
    return counts;
}

static void hear(struct ek_plan_scan *scan, const struct ek_response *resp,
                 const struct ek_err *err)
{
    struct ek_err problem = err ? *err : (struct ek_err){0};
    yyjson_doc *list = NULL, *status = NULL;

    if (!problem.code)
        list = ek_json_parse_envelope(resp->body.p, resp->body.len, 2, &problem);
    else if (problem.code == EK_E_GONE)
        status = ek_json_parse(resp->body.p, resp->body.len, NULL);
    ek_plan_scan_heard(scan, &(struct ek_plan_scan_page){.list = yyjson_doc_get_root(list),
                                                         .err = &problem,
                                                         .status = yyjson_doc_get_root(status)});
    yyjson_doc_free(list);
    yyjson_doc_free(status);
}

static void on_page(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct ek_plan_scans *s = ctx;
    struct reading *r = find(s, s->waits);
    struct ek_plan_scan_request next;

    s->call = NULL;
    s->waits = NULL;
    hear(r->scan, resp, err);
    int64_t gap_ms = (int64_t)(resp->body.len / OCTETS_MS);
    s->free_ms = s->now_ms() + (gap_ms > GAP_MS ? gap_ms : GAP_MS);
    bool is_new = !ek_plan_scan_next(r->scan, &next) && end_reading(s, r);
    schedule(s);
    if (is_new)
        s->changed(s->ctx);
}

static void send_page(struct ek_plan_scans *s, struct reading *r)
{
    struct ek_plan_scan_request page;
    EK_AUTO(ek_buf) path;

    if (!r->scan) {
        const struct ek_plan_target target = {s->data, r->wish.from, r->wish.to};
        r->scan = ek_plan_scan_new(&target, r->seen);
        r->began_ms = s->now_ms();
    }
    ek_plan_scan_next(r->scan, &page); /* there are lists that are read for every target */
    ek_buf_init(&path, URL_MAX);
    put_path(&page, &path);
    const struct ek_request request = {.path = ek_buf_str(&path),
                                       .accept = page.metadata ? METADATA : NULL,
                                       .timeout_ms = TIMEOUT_MS,
                                       .max_body = EK_PLAN_SCAN_BODY_MAX,
                                       .no_retry = true};
    s->waits = r->scan;
    s->call = ek_client_send(s->client, &request, on_page, s);
}

/* A reading under way comes to its end before another one begins, because its continue token
 * expires; then what is due first. */
static struct reading *first_due(struct ek_plan_scans *s)
{
    struct reading *first = NULL;

    for (size_t i = 0; i < s->n; i++) {
        struct reading *r = &s->readings[i];
        if (r->scan)
            return r;
        if (!first || r->due_ms < first->due_ms)
            first = r;
    }
    return first;
}

static void on_timer(uv_timer_t *timer)
{
    struct ek_plan_scans *s = timer->data;
    struct reading *r = first_due(s);

    if (r && !s->call)
        send_page(s, r);
}

static void schedule(struct ek_plan_scans *s)
{
    const struct reading *r = first_due(s);
    int64_t now_ms = s->now_ms(), at = s->free_ms;

    if (!r || s->call) {
        uv_timer_stop(&s->timer);
        return;
    }
    if (!r->scan && r->due_ms > at)
        at = r->due_ms;
    uv_timer_start(&s->timer, on_timer, at > now_ms ? (uint64_t)(at - now_ms) : 1, 0);
}

/* ---- Targets ---- */

static void give_up(struct ek_plan_scans *s, struct reading *r)
{
    if (r->scan && s->waits == r->scan) {
        ek_call_cancel(s->call);
        s->call = NULL;
        s->waits = NULL;
    }
    ek_plan_scan_free(r->scan);
    r->scan = NULL;
}

/* The reading for the target, as it was, or a new one. */
static struct reading renew(struct ek_plan_scans *s, const struct ek_plan_wish *wish)
{
    struct reading kept = {.wish = *wish, .due_ms = s->now_ms()};

    for (size_t i = 0; i < s->n; i++) {
        struct reading *r = &s->readings[i];
        if (ek_minor_cmp(r->wish.to, wish->to) != 0)
            continue;
        if (ek_minor_cmp(r->wish.from, wish->from) != 0) {
            give_up(s, r);
            r->due_ms = s->now_ms();
        } else if (r->wish.mark != wish->mark) {
            r->again = r->scan != NULL;
            r->due_ms = s->now_ms();
        }
        kept = *r;
        kept.wish = *wish;
        *r = (struct reading){0};
    }
    return kept;
}

void ek_plan_scans_follow(struct ek_plan_scans *scans, const struct ek_plan_wish *wishes, size_t n)
{
    struct reading next[EK_PLAN_SCANS_MAX] = {0};

    for (size_t i = 0; i < n; i++)
        next[i] = renew(scans, &wishes[i]);
    for (size_t i = 0; i < scans->n; i++) {
        give_up(scans, &scans->readings[i]);
        ek_plan_seen_free(scans->readings[i].seen);
    }
    for (size_t i = 0; i < n; i++)
        scans->readings[i] = next[i];
    scans->n = n;
    schedule(scans);
}

const struct ek_plan_seen *ek_plan_scans_of(const struct ek_plan_scans *scans, struct ek_minor to)
{
    for (size_t i = 0; i < scans->n; i++)
        if (!ek_minor_cmp(scans->readings[i].wish.to, to))
            return scans->readings[i].seen;
    return NULL;
}

/* ---- Life ---- */

struct ek_plan_scans *ek_plan_scans_new(uv_loop_t *loop, struct ek_client *client,
                                        const struct ek_plan_data *data, int64_t (*now_ms)(void),
                                        void (*changed)(void *ctx), void *ctx)
{
    struct ek_plan_scans *s = ek_xalloc(sizeof *s);

    *s = (struct ek_plan_scans){
        .client = client, .data = data, .now_ms = now_ms, .changed = changed, .ctx = ctx};
    uv_timer_init(loop, &s->timer);
    s->timer.data = s;
    return s;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct ek_plan_scans *s = handle->data;

    s->on_closed(s->closed_ctx);
    ek_free(s);
}

void ek_plan_scans_close(struct ek_plan_scans *scans, void (*on_closed)(void *ctx), void *ctx)
{
    ek_plan_scans_follow(scans, NULL, 0);
    scans->on_closed = on_closed;
    scans->closed_ctx = ctx;
    uv_close((uv_handle_t *)&scans->timer, on_timer_closed);
}
