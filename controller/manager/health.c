/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/manager/health.h"

#include <stdlib.h>

#include "api/base/quote.h"

/* Excludes of one request that are looked at. */
#define EXCLUDES_MAX 64
#define BODY_MAX     ((size_t)256 * 1024)

struct check {
    char *name; /* owned */
    ek_health_check_fn fn;
    void *ctx;
    bool failing; /* what it came to when it was last asked */
};

struct ek_health {
    char *path; /* owned */
    struct ek_log *log;
    struct check *checks; /* sorted by name */
    size_t n_checks;
};

/* The options of a query. */
struct query {
    bool verbose;
    char *excludes[EXCLUDES_MAX]; /* owned; without duplicates */
    bool matched[EXCLUDES_MAX];
    size_t n_excludes;
};

static int ping(void *ctx, struct ek_err *err)
{
    (void)ctx;
    (void)err;
    return 0;
}

struct ek_health *ek_health_new(const char *path, struct ek_log *log)
{
    struct ek_health *health = ek_xalloc(sizeof *health);

    health->path = ek_xstrdup(path);
    health->log = log;
    return health;
}

void ek_health_free(struct ek_health *health)
{
    if (!health)
        return;
    for (size_t i = 0; i < health->n_checks; i++)
        ek_free(health->checks[i].name);
    ek_free(health->checks);
    ek_free(health->path);
    ek_free(health);
}

static int compare_checks(const void *a, const void *b)
{
    return strcmp(((const struct check *)a)->name, ((const struct check *)b)->name);
}

void ek_health_add(struct ek_health *health, const char *name, ek_health_check_fn fn, void *ctx)
{
    health->checks = ek_xrealloc(health->checks, health->n_checks + 1, sizeof(struct check));
    health->checks[health->n_checks++] = (struct check){ek_xstrdup(name), fn, ctx, false};
    qsort(health->checks, health->n_checks, sizeof(struct check), compare_checks);
}

/*
 * Logs what a check came to. Probes ask again and again, and before its caches are synced a process
 * is not ready without anything being wrong: a change is logged at info, each failure at debug, as
 * controller-runtime does (pkg/healthz/healthz.go: V(1)).
 */
static void log_result(const struct ek_health *health, struct check *check, bool good,
                       const struct ek_err *err)
{
    if (good && check->failing)
        ek_log_info_limited(health->log, 10, 60000, "Health check succeeds",
                            EK_S("path", health->path), EK_S("check", check->name));
    else if (!good && !check->failing)
        ek_log_info_limited(health->log, 10, 60000, "Health check does not succeed",
                            EK_S("path", health->path), EK_S("check", check->name),
                            EK_S("reason", err->message));
    else if (!good)
        ek_log_debug(health->log, "Health check does not succeed", EK_S("path", health->path),
                     EK_S("check", check->name), EK_S("reason", err->message));
    check->failing = !good;
}

/* Runs a check; its reason is logged, not sent. */
static bool is_good(const struct ek_health *health, struct check *check, struct ek_err *err)
{
    *err = (struct ek_err){0};
    bool good = check->fn(check->ctx, err) == 0;

    log_result(health, check, good, err);
    return good;
}

static void add_parameter(void *ctx, const char *name, const char *value)
{
    struct query *query = ctx;

    if (!strcmp(name, "verbose"))
        query->verbose = true;
    if (strcmp(name, "exclude") != 0 || query->n_excludes == EXCLUDES_MAX)
        return;
    for (size_t i = 0; i < query->n_excludes; i++) {
        if (!strcmp(query->excludes[i], value))
            return;
    }
    query->excludes[query->n_excludes++] = ek_xstrdup(value);
}

static bool is_excluded(struct query *query, const char *name)
{
    for (size_t i = 0; i < query->n_excludes; i++) {
        if (!strcmp(query->excludes[i], name))
            return query->matched[i] = true;
    }
    return false;
}

static void put_unmatched(const struct query *query, struct ek_buf *body)
{
    const char *sep = "warn: some health checks cannot be excluded: no matches for ";
    bool any = false;

    for (size_t i = 0; i < query->n_excludes; i++) {
        if (query->matched[i])
            continue;
        ek_buf_puts(body, any ? "," : sep);
        ek_quote(body, ek_str_from(query->excludes[i]));
        any = true;
    }
    ek_buf_puts(body, any ? "\n" : "");
}

/* Writes the whole listing; true when no check failed. */
static bool list_checks(struct ek_health *health, struct query *query, struct ek_buf *body)
{
    struct check only_ping = {(char *)(uintptr_t) "ping", ping, NULL, false};
    struct check *checks = health->n_checks ? health->checks : &only_ping;
    size_t n = health->n_checks ? health->n_checks : 1;
    struct ek_err err;
    bool good = true;

    for (size_t i = 0; i < n; i++) {
        if (is_excluded(query, checks[i].name)) {
            ek_buf_printf(body, "[+]%s excluded: ok\n", checks[i].name);
        } else if (is_good(health, &checks[i], &err)) {
            ek_buf_printf(body, "[+]%s ok\n", checks[i].name);
        } else {
            ek_buf_printf(body, "[-]%s failed: reason withheld\n", checks[i].name);
            good = false;
        }
    }
    put_unmatched(query, body);
    ek_buf_puts(body, good ? "healthz check passed\n" : "healthz check failed\n");
    return good;
}

static void reply_body(struct ek_http_reply *reply, int status, const char *body)
{
    ek_http_reply_header(reply, "X-Content-Type-Options", "nosniff");
    ek_http_reply_send(reply, status, "text/plain; charset=utf-8", body, strlen(body));
}

static void reply_all(struct ek_health *health, const struct ek_http_request *request,
                      struct ek_http_reply *reply)
{
    EK_AUTO(ek_buf) body;
    struct query query = {0};

    ek_buf_init(&body, BODY_MAX);
    ek_http_query_each(request->query, add_parameter, &query);
    bool good = list_checks(health, &query, &body);
    for (size_t i = 0; i < query.n_excludes; i++)
        ek_free(query.excludes[i]);
    reply_body(reply, good ? 200 : 500, good && !query.verbose ? "ok" : ek_buf_str(&body));
}

static void reply_one(struct ek_health *health, const char *name, struct ek_http_reply *reply)
{
    struct ek_err err;

    for (size_t i = 0; i < health->n_checks; i++) {
        if (strcmp(health->checks[i].name, name) != 0)
            continue;
        if (is_good(health, &health->checks[i], &err)) {
            reply_body(reply, 200, "ok");
            return;
        }
        EK_AUTOFREE char *text = ek_xasprintf("internal server error: %s", err.message);
        ek_http_reply_text(reply, 500, text);
        return;
    }
    if (health->n_checks == 0 && !strcmp(name, "ping"))
        reply_body(reply, 200, "ok");
    else
        ek_http_reply_text(reply, 404, "404 page not found");
}

static void handle(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    struct ek_health *health = ctx;
    const char *name = request->path + strlen(health->path);

    name += *name == '/';
    if (*name)
        reply_one(health, name, reply);
    else
        reply_all(health, request, reply);
}

struct ek_http_route ek_health_route(struct ek_health *health)
{
    return (struct ek_http_route){
        .path = health->path, .subtree = true, .methods = "GET", .handler = handle, .ctx = health};
}
