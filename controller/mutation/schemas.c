/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/mutation/schemas.h"

#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"

#define INDEX        "/openapi/v3"
#define POLL_MS      30000
#define RETRY_MS     2000
#define TIMEOUT_MS   30000
#define DOCUMENT_MAX ((size_t)32 << 20)
#define NAME_MAX_LEN 250
#define WANTS_MAX    1000

/* One document of the index. */
struct entry {
    char *group, *version;
    char *url;                /* as last published, with its hash */
    char *have;               /* the url that schema was made of; NULL before */
    struct ek_schema *schema; /* NULL before, and when it could not be compiled */
};

struct want {
    char *group, *version;
};

struct ek_mutation_schemas {
    uv_loop_t *loop;
    struct ek_client *client;
    void (*changed)(void *ctx);
    void *ctx;
    uv_timer_t timer;
    struct entry *entries;
    size_t n_entries;
    struct want *wants;
    size_t n_wants;
    struct ek_call *call;        /* index or document under way */
    struct compilation *working; /* on the thread pool */
    struct entry asked;          /* whose document is under way: copies */
    unsigned long version;       /* how often a schema has come */
    bool indexed;                /* an index has come */
    bool stale;                  /* and should come again */
    bool closing;
    char error[256];
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

/* A document on its way through the thread pool. */
struct compilation {
    uv_work_t work;
    struct ek_mutation_schemas *schemas;
    char *body;
    size_t size;
    struct ek_schema *schema;
    struct ek_err err;
};

static void next(struct ek_mutation_schemas *s);
static bool lacks_wanted(const struct ek_mutation_schemas *s);

/* ---- What is wanted ---- */

static bool is_wanted(const struct ek_mutation_schemas *s, const char *group, const char *version)
{
    for (size_t i = 0; i < s->n_wants; i++) {
        const struct want *w = &s->wants[i];
        if ((!strcmp(w->group, "*") || !strcmp(w->group, group)) &&
            (!strcmp(w->version, "*") || !strcmp(w->version, version)))
            return true;
    }
    return false;
}

static bool is_due(const struct ek_mutation_schemas *s, const struct entry *e)
{
    return is_wanted(s, e->group, e->version) && (!e->have || strcmp(e->have, e->url) != 0);
}

static struct entry *find(const struct ek_mutation_schemas *s, const char *group,
                          const char *version)
{
    for (size_t i = 0; i < s->n_entries; i++)
        if (!strcmp(s->entries[i].group, group) && !strcmp(s->entries[i].version, version))
            return &s->entries[i];
    return NULL;
}

static void drop_wants(struct ek_mutation_schemas *s)
{
    for (size_t i = 0; i < s->n_wants; i++) {
        ek_free(s->wants[i].group);
        ek_free(s->wants[i].version);
    }
    ek_free(s->wants);
    s->wants = NULL;
    s->n_wants = 0;
}

static bool is_idle(const struct ek_mutation_schemas *s)
{
    return !s->call && !s->working;
}

static bool same_wants(const struct ek_mutation_schemas *s, const struct ek_schema_want *wants,
                       size_t n)
{
    if (s->n_wants != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (strcmp(s->wants[i].group, wants[i].group) != 0 ||
            strcmp(s->wants[i].version, wants[i].version) != 0)
            return false;
    return true;
}

void ek_mutation_schemas_want(struct ek_mutation_schemas *schemas,
                              const struct ek_schema_want *wants, size_t n)
{
    struct ek_mutation_schemas *s = schemas;

    n = n < WANTS_MAX ? n : WANTS_MAX;
    if (same_wants(s, wants, n))
        return;
    drop_wants(s);
    s->wants = ek_xalloc((n + 1) * sizeof *s->wants);
    for (size_t i = 0; i < n; i++)
        s->wants[s->n_wants++] = (struct want){.group = ek_xstrdup(wants[i].group),
                                               .version = ek_xstrdup(wants[i].version)};
    s->stale = s->stale || lacks_wanted(s);
    if (is_idle(s) && !s->closing)
        next(s);
}

void ek_mutation_schemas_each(const struct ek_mutation_schemas *schemas,
                              void (*fn)(void *ctx, const char *group, const char *version,
                                         const struct ek_schema *schema),
                              void *ctx)
{
    for (size_t i = 0; i < schemas->n_entries; i++) {
        const struct entry *e = &schemas->entries[i];
        if (e->schema)
            fn(ctx, e->group, e->version, e->schema);
    }
}

unsigned long ek_mutation_schemas_version(const struct ek_mutation_schemas *schemas)
{
    return schemas->version;
}

bool ek_mutation_schemas_are_settled(const struct ek_mutation_schemas *schemas)
{
    if (schemas->n_wants && !schemas->indexed)
        return false;
    for (size_t i = 0; i < schemas->n_entries; i++)
        if (!schemas->entries[i].have && is_due(schemas, &schemas->entries[i]))
            return false;
    return true;
}

const char *ek_mutation_schemas_error(const struct ek_mutation_schemas *schemas)
{
    return schemas->error;
}

/* ---- The index ---- */

static void on_timer(uv_timer_t *timer)
{
    struct ek_mutation_schemas *s = timer->data;

    s->stale = true;
    if (is_idle(s))
        next(s);
}

static void rest(struct ek_mutation_schemas *s, uint64_t ms)
{
    uv_timer_start(&s->timer, on_timer, ms, 0);
}

static void failed(struct ek_mutation_schemas *s, const char *what, const struct ek_err *err)
{
    snprintf(s->error, sizeof s->error, "%.100s: %.150s", what, err->message);
    rest(s, RETRY_MS);
}

/* "apis/apps/v1" or "api/v1" to group and version; false for other paths. */
static bool read_path(const char *path, char *group, char *version)
{
    const char *p = path;

    *group = '\0';
    if (!strncmp(p, "apis/", 5)) {
        p += 5;
        size_t len = strcspn(p, "/");
        if (len == 0 || len > NAME_MAX_LEN || p[len] != '/')
            return false;
        memcpy(group, p, len);
        group[len] = '\0';
        p += len + 1;
    } else if (!strncmp(p, "api/", 4)) {
        p += 4;
    } else {
        return false;
    }
    size_t len = strlen(p);
    if (len == 0 || len > NAME_MAX_LEN || strchr(p, '/'))
        return false;
    memcpy(version, p, len + 1);
    return true;
}

static void take_path(struct ek_mutation_schemas *s, const char *path, const char *url)
{
    char group[NAME_MAX_LEN + 1], version[NAME_MAX_LEN + 1];

    if (!url || strncmp(url, INDEX "/", sizeof INDEX) != 0 || !read_path(path, group, version))
        return;
    struct entry *e = find(s, group, version);
    if (!e) {
        if (s->n_entries == EK_MUTATION_SCHEMAS_MAX)
            return;
        s->entries = ek_xrealloc(s->entries, s->n_entries + 1, sizeof *s->entries);
        e = &s->entries[s->n_entries++];
        *e = (struct entry){.group = ek_xstrdup(group), .version = ek_xstrdup(version)};
    }
    ek_free(e->url);
    e->url = ek_xstrdup(url);
}

static void take_paths(struct ek_mutation_schemas *s, yyjson_val *paths)
{
    yyjson_val *key, *value;
    size_t i, n;

    ek_json_each_member(paths, i, n, key, value)
    {
        take_path(s, yyjson_get_str(key), ek_json_str(value, "serverRelativeURL", NULL));
    }
}

static void on_index(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct ek_mutation_schemas *s = ctx;
    struct ek_err local = {0};

    s->call = NULL;
    yyjson_doc *doc = err ? NULL : ek_json_parse(resp->body.p, resp->body.len, &local);
    if (!doc) {
        failed(s, INDEX, err ? err : &local);
        return;
    }
    yyjson_val *paths = yyjson_obj_get(yyjson_doc_get_root(doc), "paths");
    if (paths)
        take_paths(s, paths);
    yyjson_doc_free(doc);
    s->indexed = true;
    s->stale = false;
    *s->error = '\0';
    next(s);
}

static void ask(struct ek_mutation_schemas *s, const char *path, ek_response_fn on_done)
{
    const struct ek_request request = {
        .path = path, .timeout_ms = TIMEOUT_MS, .max_body = DOCUMENT_MAX};
    s->call = ek_client_send(s->client, &request, on_done, s);
}

/* ---- Documents ---- */

static void compile(uv_work_t *work)
{
    struct compilation *c = work->data;

    yyjson_doc *doc = ek_json_parse(c->body, c->size, &c->err);
    if (doc)
        ek_schema_compile(yyjson_doc_get_root(doc), &c->schema, &c->err);
    yyjson_doc_free(doc);
}

static void free_asked(struct ek_mutation_schemas *s)
{
    ek_free(s->asked.group);
    ek_free(s->asked.version);
    ek_free(s->asked.url);
    s->asked = (struct entry){0};
}

/* The document is done, with or without success: it is not requested again before it changes. */
static void settle(struct ek_mutation_schemas *s, struct ek_schema *schema)
{
    struct entry *e = find(s, s->asked.group, s->asked.version);

    if (e) {
        ek_free(e->have);
        e->have = ek_xstrdup(s->asked.url);
    }
    if (e && schema) {
        ek_schema_unref(e->schema);
        e->schema = schema;
        s->version++;
    } else {
        ek_schema_unref(schema);
    }
    free_asked(s);
}

static void finish_close(struct ek_mutation_schemas *s);

static void on_compiled(uv_work_t *work, int status)
{
    struct compilation *c = work->data;
    struct ek_mutation_schemas *s = c->schemas;

    (void)status;
    s->working = NULL;
    if (c->err.code)
        snprintf(s->error, sizeof s->error, "%.100s: %.150s", s->asked.url, c->err.message);
    settle(s, c->schema);
    ek_free(c->body);
    ek_free(c);
    if (s->closing) {
        finish_close(s);
        return;
    }
    s->changed(s->ctx);
    next(s);
}

static void on_document(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct ek_mutation_schemas *s = ctx;

    s->call = NULL;
    if (err) {
        failed(s, s->asked.url, err);
        /* The server that answers may not be the one that listed it. */
        if (err->code == EK_E_NOENT)
            settle(s, NULL);
        else
            free_asked(s);
        return;
    }
    struct compilation *c = ek_xalloc(sizeof *c);
    c->work.data = c;
    c->schemas = s;
    c->body = ek_xstrndup(resp->body.p, resp->body.len);
    c->size = resp->body.len;
    s->working = c;
    uv_queue_work(s->loop, &c->work, compile, on_compiled);
}

static bool lacks_wanted(const struct ek_mutation_schemas *s)
{
    for (size_t i = 0; i < s->n_wants; i++) {
        const struct want *w = &s->wants[i];
        if (strcmp(w->group, "*") != 0 && strcmp(w->version, "*") != 0 &&
            !find(s, w->group, w->version))
            return true;
    }
    return false;
}

/* Goes on with whatever is due: the index first, then one document after the other. */
static void next(struct ek_mutation_schemas *s)
{
    uv_timer_stop(&s->timer);
    if (s->n_wants == 0)
        return;
    if (s->stale) {
        ask(s, INDEX, on_index);
        return;
    }
    for (size_t i = 0; i < s->n_entries; i++) {
        const struct entry *e = &s->entries[i];
        if (!is_due(s, e))
            continue;
        s->asked = (struct entry){.group = ek_xstrdup(e->group),
                                  .version = ek_xstrdup(e->version),
                                  .url = ek_xstrdup(e->url)};
        ask(s, s->asked.url, on_document);
        return;
    }
    rest(s, lacks_wanted(s) ? RETRY_MS : POLL_MS);
}

/* ---- Life ---- */

struct ek_mutation_schemas *ek_mutation_schemas_new(uv_loop_t *loop, struct ek_client *client,
                                                    void (*changed)(void *ctx), void *ctx)
{
    struct ek_mutation_schemas *s = ek_xalloc(sizeof *s);

    s->loop = loop;
    s->client = client;
    s->changed = changed;
    s->ctx = ctx;
    s->stale = true;
    uv_timer_init(loop, &s->timer);
    s->timer.data = s;
    return s;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct ek_mutation_schemas *s = handle->data;

    if (s->on_closed)
        s->on_closed(s->closed_ctx);
    ek_free(s);
}

/* Nothing is under way any more. */
static void finish_close(struct ek_mutation_schemas *s)
{
    for (size_t i = 0; i < s->n_entries; i++) {
        ek_free(s->entries[i].group);
        ek_free(s->entries[i].version);
        ek_free(s->entries[i].url);
        ek_free(s->entries[i].have);
        ek_schema_unref(s->entries[i].schema);
    }
    ek_free(s->entries);
    s->entries = NULL;
    s->n_entries = 0;
    drop_wants(s);
    free_asked(s);
    uv_close((uv_handle_t *)&s->timer, on_timer_closed);
}

void ek_mutation_schemas_close(struct ek_mutation_schemas *schemas, void (*on_closed)(void *ctx),
                               void *ctx)
{
    struct ek_mutation_schemas *s = schemas;

    s->on_closed = on_closed;
    s->closed_ctx = ctx;
    s->closing = true;
    uv_timer_stop(&s->timer);
    ek_call_cancel(s->call);
    s->call = NULL;
    if (!s->working)
        finish_close(s);
}
