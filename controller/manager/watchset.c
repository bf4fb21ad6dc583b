/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/manager/watchset.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/mem.h"

/* An API server answers "Unauthorized" whatever the reason. */
#define NOT_AUTHENTICATED                                                                          \
    "Unauthorized: the server does not accept these credentials; the token or client certificate " \
    "may be expired, revoked or of another cluster"

/* One row at work: the context of its informers. */
struct watched {
    struct ek_watchset *set;
    const struct ek_watch_row *row;
    struct ek_informer *informer; /* NULL while it is not watched, and for a row of followed ones */
    struct followed *followed;    /* by name */
    size_t n_followed;
    struct ek_informer *definition; /* of the kind; NULL while it is not watched */
    enum ek_definition defined;
};

struct followed {
    char *name;
    struct ek_informer *informer;
};

struct ek_watchset {
    struct ek_watchset_config config;
    struct watched rows[EK_WATCH_ROWS_MAX];
    void *seen_ctx;
    bool started, closing;
    size_t n_stopping;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

/* ---- Informers ---- */

static void on_informer(void *ctx)
{
    const struct watched *w = ctx;
    if (!w->set->closing)
        w->set->config.changed(w->set->config.ctx);
}

static void on_change(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                      const struct ek_obj *obj, bool initial)
{
    const struct watched *w = ctx;

    if (w->set->closing)
        return;
    if (w->row->seen)
        w->row->seen(w->set->seen_ctx, change, old, obj, initial);
    if (initial || !w->row->matters || w->row->matters(old, obj))
        w->set->config.changed(w->set->config.ctx);
}

static struct ek_informer *make(struct watched *w, const struct ek_resource *resource,
                                const char *server)
{
    const struct ek_watchset *set = w->set;
    struct ek_informer *informer = ek_informer_new(set->config.loop, set->config.client, resource);

    ek_store_add_handler(ek_informer_store(informer), on_change, w);
    ek_informer_set_observer(informer, on_informer, w);
    if (server)
        ek_informer_set_server(informer, server);
    if (set->started)
        ek_informer_start(informer);
    return informer;
}

void ek_watchset_set(struct ek_watchset *set, size_t row, const struct ek_resource *resource,
                     const char *server)
{
    struct watched *w = &set->rows[row];

    if (set->closing)
        return;
    ek_informer_free(w->informer);
    w->informer = resource ? make(w, resource, server) : NULL;
}

/* The kind came, went or has changed: what the informer of its objects waits for may be over. */
static void on_definition(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                          const struct ek_obj *obj, bool initial)
{
    struct watched *w = ctx;
    const struct ek_watchset_config *config = &w->set->config;
    enum ek_definition state = EK_DEFINITION_PRESENT;

    (void)initial;
    if (w->set->closing)
        return;
    if (change == EK_STORE_DELETED)
        state = EK_DEFINITION_GONE;
    else if (ek_json_str(ek_obj_root(obj), "metadata", "deletionTimestamp", NULL))
        state = EK_DEFINITION_DELETING;
    if (state != w->defined && config->defined)
        config->defined(config->ctx, ek_obj_name(obj ? obj : old), state);
    w->defined = state;
    if (w->informer)
        ek_informer_definition(w->informer, state == EK_DEFINITION_GONE);
}

static struct ek_informer *make_definition(struct watched *w)
{
    const struct ek_watchset *set = w->set;
    const struct ek_resource *of = &w->row->resource;
    EK_AUTOFREE char *selector = ek_xasprintf("metadata.name=%s.%s", of->resource, of->group);
    const struct ek_resource definitions = {.group = "apiextensions.k8s.io",
                                            .version = "v1",
                                            .resource = "customresourcedefinitions",
                                            .kind = "CustomResourceDefinition",
                                            .field_selector = selector,
                                            .metadata_only = true,
                                            .optional = true};
    struct ek_informer *informer =
        ek_informer_new(set->config.loop, set->config.client, &definitions);

    ek_store_add_handler(ek_informer_store(informer), on_definition, w);
    return informer;
}

struct ek_watchset *ek_watchset_new(const struct ek_watchset_config *config)
{
    struct ek_watchset *set = ek_xalloc(sizeof *set);

    set->config = *config;
    for (size_t i = 0; i < config->n; i++) {
        struct watched *w = &set->rows[i];
        w->set = set;
        w->row = &config->rows[i];
        if (!(w->row->flags & (EK_WATCH_LATER | EK_WATCH_FOLLOWED)))
            w->informer = make(w, &w->row->resource, NULL);
        if (config->definitions && w->row->flags & EK_WATCH_DEFINED)
            w->definition = make_definition(w);
    }
    return set;
}

void ek_watchset_set_seen(struct ek_watchset *set, void *ctx)
{
    set->seen_ctx = ctx;
}

/* ---- Objects that are followed ---- */

static void drop(struct followed *f)
{
    ek_informer_free(f->informer);
    ek_free(f->name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct followed *)a)->name, ((const struct followed *)b)->name);
}

static struct followed *find(const struct watched *w, const char *name)
{
    const struct followed key = {.name = (char *)(uintptr_t)name};
    return w->n_followed ? bsearch(&key, w->followed, w->n_followed, sizeof *w->followed, by_name)
                         : NULL;
}

static struct followed follow(struct watched *w, const char *name)
{
    EK_AUTOFREE char *selector = ek_xasprintf("metadata.name=%s", name);
    struct ek_resource resource = w->row->resource;

    resource.field_selector = selector;
    return (struct followed){ek_xstrdup(name), make(w, &resource, NULL)};
}

void ek_watchset_follow(struct ek_watchset *set, size_t row, const char *const *names, size_t n)
{
    struct watched *w = &set->rows[row];
    struct followed *next = ek_xalloc((n + 1) * sizeof *next);

    for (size_t i = 0; i < n; i++) {
        struct followed *known = find(w, names[i]);
        next[i] = known ? (struct followed){ek_xstrdup(known->name), known->informer}
                        : follow(w, names[i]);
        if (known)
            known->informer = NULL;
    }
    for (size_t i = 0; i < w->n_followed; i++)
        drop(&w->followed[i]);
    ek_free(w->followed);
    qsort(next, n, sizeof *next, by_name);
    w->followed = next;
    w->n_followed = n;
}

/* ---- All informers ---- */

/* The i-th informer of a row: its own, then those of the objects that are followed. NULL where
 * there is none; *ret_end beyond the last. */
static struct ek_informer *informer_at(const struct watched *w, size_t i, bool *ret_end)
{
    *ret_end = i > w->n_followed;
    if (i == 0 || *ret_end)
        return *ret_end ? NULL : w->informer;
    return w->followed[i - 1].informer;
}

static void each(const struct ek_watchset *set,
                 void (*fn)(void *arg, const struct watched *w, const struct followed *f,
                            struct ek_informer *informer),
                 void *arg)
{
    for (size_t r = 0; r < set->config.n; r++) {
        const struct watched *w = &set->rows[r];
        bool end = false;
        for (size_t i = 0; !end; i++) {
            struct ek_informer *informer = informer_at(w, i, &end);
            if (informer)
                fn(arg, w, i ? &w->followed[i - 1] : NULL, informer);
        }
        if (w->definition)
            fn(arg, w, NULL, w->definition);
    }
}

struct visit {
    void (*fn)(void *arg, const char *name, struct ek_informer *informer);
    void *arg;
};

static void visit_named(void *arg, const struct watched *w, const struct followed *f,
                        struct ek_informer *informer)
{
    const struct visit *visit = arg;
    const char *name = w->row->name ? w->row->name : ek_informer_resource(informer)->resource;
    EK_AUTOFREE char *full = NULL;

    if (informer == w->definition)
        name = w->row->name ? w->row->name : w->row->resource.resource;
    if (f || informer == w->definition)
        full = ek_xasprintf("%s-%s", name, f ? f->name : "definition");
    visit->fn(visit->arg, full ? full : name, informer);
}

void ek_watchset_each(const struct ek_watchset *set,
                      void (*fn)(void *arg, const char *name, struct ek_informer *informer),
                      void *arg)
{
    struct visit visit = {fn, arg};
    each(set, visit_named, &visit);
}

/* ---- Start and end ---- */

static void start_one(void *arg, const struct watched *w, const struct followed *f,
                      struct ek_informer *informer)
{
    (void)arg;
    (void)w;
    (void)f;
    ek_informer_start(informer);
}

void ek_watchset_start(struct ek_watchset *set)
{
    set->started = true;
    each(set, start_one, NULL);
}

static void hurry_one(void *arg, const struct watched *w, const struct followed *f,
                      struct ek_informer *informer)
{
    (void)arg;
    (void)w;
    (void)f;
    ek_informer_hurry(informer);
}

void ek_watchset_hurry(struct ek_watchset *set)
{
    each(set, hurry_one, NULL);
}

static void release(struct ek_watchset *set)
{
    void (*on_closed)(void *ctx) = set->on_closed;
    void *ctx = set->closed_ctx;

    for (size_t r = 0; r < set->config.n; r++) {
        struct watched *w = &set->rows[r];
        ek_informer_free(w->informer);
        ek_informer_free(w->definition);
        for (size_t i = 0; i < w->n_followed; i++)
            drop(&w->followed[i]);
        ek_free(w->followed);
    }
    ek_free(set);
    if (on_closed)
        on_closed(ctx);
}

static void on_stopped(void *ctx)
{
    struct ek_watchset *set = ctx;

    if (--set->n_stopping == 0)
        release(set);
}

static void count_one(void *arg, const struct watched *w, const struct followed *f,
                      struct ek_informer *informer)
{
    struct ek_watchset *set = arg;
    (void)w;
    (void)f;
    (void)informer;
    set->n_stopping++;
}

static void stop_one(void *arg, const struct watched *w, const struct followed *f,
                     struct ek_informer *informer)
{
    (void)w;
    (void)f;
    ek_informer_stop(informer, on_stopped, arg);
}

void ek_watchset_close(struct ek_watchset *set, void (*on_closed)(void *ctx), void *ctx)
{
    if (!set) {
        if (on_closed)
            on_closed(ctx);
        return;
    }
    set->on_closed = on_closed;
    set->closed_ctx = ctx;
    set->closing = true;
    each(set, count_one, set);
    if (set->n_stopping)
        each(set, stop_one, set);
    else
        release(set);
}

/* ---- Reading ---- */

/* Of the names of kinds that may not be read: those beyond are not named. */
#define NAMES_MAX 512

struct verdict {
    bool synced, blind;
    struct ek_buf *forbidden;       /* the kinds, where they are requested */
    const struct ek_resource *last; /* of them */
};

static bool is_same_kind(const struct ek_resource *a, const struct ek_resource *b)
{
    return a && !strcmp(a->resource, b->resource) && !strcmp(a->group, b->group);
}

/* A kind whose objects are followed by name has an informer for each of them, one after another. */
static void name_forbidden(struct verdict *verdict, const struct ek_resource *r)
{
    if (is_same_kind(verdict->last, r))
        return;
    ek_buf_printf(verdict->forbidden, "%s%s%s%s", verdict->last ? ", " : "", r->resource,
                  *r->group ? "." : "", r->group);
    verdict->last = r;
}

static void judge(void *arg, const struct watched *w, const struct followed *f,
                  struct ek_informer *informer)
{
    struct verdict *verdict = arg;
    struct ek_informer_status status;

    (void)f;
    if (informer == w->definition)
        return;
    ek_informer_status(informer, &status);
    bool forbidden = status.last_error_code == EK_E_FORBIDDEN;
    verdict->synced = verdict->synced && (status.synced || forbidden);
    verdict->blind = verdict->blind || (!status.synced && w->row->flags & EK_WATCH_BLIND);
    if (forbidden && verdict->forbidden && !(w->row->flags & EK_WATCH_QUIET))
        name_forbidden(verdict, ek_informer_resource(informer));
}

bool ek_watchset_is_synced(const struct ek_watchset *set)
{
    struct verdict verdict = {.synced = true};

    each(set, judge, &verdict);
    return verdict.synced;
}

char *ek_watchset_problem(const struct ek_watchset *set, bool *ret_blind)
{
    EK_AUTO(ek_buf) forbidden;
    struct verdict verdict = {.synced = true, .forbidden = &forbidden};

    ek_buf_init(&forbidden, NAMES_MAX);
    each(set, judge, &verdict);
    *ret_blind = verdict.blind;
    return verdict.last ? ek_xasprintf("%s could not be read: forbidden: grant list and watch",
                                       ek_buf_str(&forbidden))
                        : NULL;
}

/* Whether waiting for the next attempt is of no use. 429 means that the API server learns the kind
 * at this moment; a first refusal may be that of a streamed list, and a plain list follows. */
static bool is_lasting(const struct ek_informer_status *status)
{
    switch (status->last_error_code) {
    case EK_E_THROTTLED:
        return false;
    case EK_E_REFUSED:
    case EK_E_TLS:
    case EK_E_NET:
    case EK_E_IO:
    case EK_E_UNAUTHORIZED:
        return true;
    default:
        return status->failures > 1;
    }
}

static void find_failure(void *arg, const struct watched *w, const struct followed *f,
                         struct ek_informer *informer)
{
    const char **failure = arg;
    struct ek_informer_status status;

    (void)f;
    if (informer == w->definition)
        return;
    ek_informer_status(informer, &status);
    if (!*failure && !status.synced && status.last_error_code != EK_E_FORBIDDEN &&
        *status.last_error && is_lasting(&status))
        *failure =
            status.last_error_code == EK_E_UNAUTHORIZED ? NOT_AUTHENTICATED : status.last_error;
}

const char *ek_watchset_failure(const struct ek_watchset *set)
{
    const char *failure = NULL;

    each(set, find_failure, &failure);
    return failure;
}

const struct ek_store *ek_watchset_store(const struct ek_watchset *set, size_t row)
{
    return set->rows[row].informer ? ek_informer_store(set->rows[row].informer) : NULL;
}

const struct ek_obj *ek_watchset_get(const struct ek_watchset *set, size_t row, const char *key)
{
    const struct watched *w = &set->rows[row];
    const struct followed *f = find(w, key);

    if (f)
        return ek_store_get(ek_informer_store(f->informer), key);
    return w->informer ? ek_store_get(ek_informer_store(w->informer), key) : NULL;
}

const struct ek_resource *ek_watchset_resource(const struct ek_watchset *set, size_t row)
{
    const struct watched *w = &set->rows[row];
    return w->informer ? ek_informer_resource(w->informer) : &w->row->resource;
}

void ek_watchset_status(const struct ek_watchset *set, size_t row,
                        struct ek_informer_status *ret_status)
{
    *ret_status = (struct ek_informer_status){.state = "", .last_error = ""};
    if (set->rows[row].informer)
        ek_informer_status(set->rows[row].informer, ret_status);
}
