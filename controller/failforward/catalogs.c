/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/failforward/catalogs.h"

#include <sys/queue.h>

#include "informers/registry/registry.h"
#include "reconcilers/failforward/served.h"
#include "reconcilers/failforward/source.h"

struct catalog {
    TAILQ_ENTRY(catalog) link;
    struct ek_ff_catalogs *catalogs;
    char *key, *space; /* "namespace/name", and the namespace */
    bool is_global;    /* in a namespace of catalogs for the cluster */
    char *address, *revision;
    char **packages; /* owned: n_packages of them */
    size_t n_packages;
    bool listed; /* in the list of the last sync */

    struct ek_ff_graph *graph; /* of the last good read */
    int64_t changed_ms, known_ms;
    struct ek_err error;
    int64_t due_ms; /* when to read again; INT64_MIN: at once */
};

TAILQ_HEAD(catalog_list, catalog);

/* A read under way. It may outlive its catalog. */
struct reading {
    TAILQ_ENTRY(reading) link;
    struct ek_ff_catalogs *catalogs;
    struct catalog *catalog; /* NULL: the result is not wanted any more */
    bool is_global;
    struct ek_registry_read *read;
    struct ek_ff_graph *graph;
};

TAILQ_HEAD(reading_list, reading);

struct ek_ff_catalogs {
    uv_loop_t *loop;
    void (*changed)(void *ctx, const char *source);
    void *ctx;
    struct catalog_list list;
    struct reading_list readings;
    size_t n_readings;
    int64_t (*now_ms)(void);
    bool closing;
    void (*done)(void *ctx);
    void *done_ctx;
};

static void free_texts(struct catalog *catalog)
{
    for (size_t i = 0; i < catalog->n_packages; i++)
        ek_free(catalog->packages[i]);
    ek_free(catalog->packages);
    ek_free(catalog->address);
    ek_free(catalog->revision);
}

static struct reading *reading_of(const struct catalog *catalog)
{
    struct reading *reading;

    TAILQ_FOREACH(reading, &catalog->catalogs->readings, link)
    {
        if (reading->catalog == catalog)
            return reading;
    }
    return NULL;
}

static void cancel(struct reading *reading)
{
    if (!reading)
        return;
    reading->catalog = NULL;
    ek_registry_read_cancel(reading->read);
}

static void forget(struct catalog *catalog)
{
    cancel(reading_of(catalog));
    TAILQ_REMOVE(&catalog->catalogs->list, catalog, link);
    free_texts(catalog);
    ek_ff_graph_free(catalog->graph);
    ek_free(catalog->space);
    ek_free(catalog->key);
    ek_free(catalog);
}

static void maybe_done(struct ek_ff_catalogs *catalogs)
{
    if (!catalogs->closing || catalogs->n_readings)
        return;
    void (*done)(void *) = catalogs->done;
    void *ctx = catalogs->done_ctx;
    ek_free(catalogs);
    if (done)
        done(ctx);
}

static int on_package(void *ctx, struct ek_str name, struct ek_str default_channel)
{
    struct reading *reading = ctx;

    return ek_ff_graph_package(reading->graph, name, default_channel);
}

static int on_bundle(void *ctx, const struct ek_registry_bundle *bundle)
{
    struct reading *reading = ctx;
    struct ek_ff_entry entry = {
        .package = bundle->package,
        .channel = bundle->channel,
        .name = bundle->name,
        .version = bundle->version,
        .replaces = bundle->replaces,
        .skip_range = bundle->skip_range,
        .skips = bundle->skips,
        .n_skips = bundle->n_skips,
        .deprecated = bundle->deprecated,
        .content = bundle->content,
    };

    return ek_ff_graph_entry(reading->graph, &entry);
}

/* Whether the graph is kept beside those of the other catalogs. */
static int check_room(const struct catalog *catalog, const struct ek_ff_graph *graph,
                      struct ek_err *err)
{
    size_t of_space = ek_ff_graph_bytes(graph), total = of_space;
    const struct catalog *other;

    if (catalog->is_global)
        return 0;
    TAILQ_FOREACH(other, &catalog->catalogs->list, link)
    {
        if (other == catalog || other->is_global || !other->graph)
            continue;
        size_t bytes = ek_ff_graph_bytes(other->graph);
        total += bytes;
        of_space += strcmp(other->space, catalog->space) ? 0 : bytes;
    }
    if (of_space > EK_FF_CATALOG_SPACE_MAX)
        return ek_err_set(err, EK_E_LIMIT,
                          "the catalogs of the namespace are larger than what is kept of them");
    if (total > EK_FF_CATALOG_TOTAL_MAX)
        return ek_err_set(err, EK_E_LIMIT,
                          "the catalogs of all namespaces are larger than what is kept of them");
    return 0;
}

/* Takes the graph of a good read. True when it is another one. */
static bool take(struct catalog *catalog, struct ek_ff_graph **graph)
{
    bool first = !catalog->graph;
    bool same = !first && ek_ff_graph_digest(catalog->graph) == ek_ff_graph_digest(*graph);

    if (!same)
        catalog->known_ms = catalog->catalogs->now_ms();
    if (!first && !same)
        catalog->changed_ms = catalog->known_ms;
    ek_ff_graph_free(catalog->graph);
    catalog->graph = *graph;
    *graph = NULL;
    return !same;
}

static void on_done(void *ctx, const struct ek_err *err)
{
    struct reading *reading = ctx;
    struct ek_ff_catalogs *catalogs = reading->catalogs;
    struct catalog *catalog = reading->catalog;
    struct ek_err no_room = {0};
    bool changed;

    reading->catalog = NULL;
    if (!catalog)
        return;
    if (!err && check_room(catalog, reading->graph, &no_room))
        err = &no_room;
    changed = strcmp(err ? err->message : "", catalog->error.message) != 0;
    catalog->error = err ? *err : (struct ek_err){0};
    if (!err)
        changed = take(catalog, &reading->graph) || changed;
    catalog->due_ms =
        catalogs->now_ms() + (err ? EK_FF_CATALOG_RETRY_MS : EK_FF_CATALOG_REFRESH_MS);
    if (changed)
        catalogs->changed(catalogs->ctx, catalog->key);
}

static void on_closed(void *ctx)
{
    struct reading *reading = ctx;
    struct ek_ff_catalogs *catalogs = reading->catalogs;

    TAILQ_REMOVE(&catalogs->readings, reading, link);
    catalogs->n_readings--;
    ek_ff_graph_free(reading->graph);
    ek_free(reading);
    maybe_done(catalogs);
}

/* Whether another read may begin. Of each namespace one catalog is read at a time, and one read is
 * left for the catalogs of the cluster: a registry that does not answer keeps those of others
 * waiting for a turn at most. */
static bool may_start(const struct catalog *catalog)
{
    const struct ek_ff_catalogs *catalogs = catalog->catalogs;
    const struct reading *reading;
    size_t n_others = 0;

    if (catalogs->n_readings >= EK_FF_CATALOG_READS_MAX)
        return false;
    TAILQ_FOREACH(reading, &catalogs->readings, link)
    {
        n_others += !reading->is_global;
        if (!catalog->is_global && reading->catalog &&
            !strcmp(reading->catalog->space, catalog->space))
            return false;
    }
    return catalog->is_global || n_others + 1 < EK_FF_CATALOG_READS_MAX;
}

static void start(struct catalog *catalog)
{
    struct ek_ff_catalogs *catalogs = catalog->catalogs;
    struct reading *reading = ek_xalloc(sizeof *reading);
    struct ek_registry_query query = {catalog->address, (const char *const *)catalog->packages,
                                      catalog->n_packages, EK_FF_CATALOG_TIMEOUT_MS,
                                      EK_FF_CATALOG_BYTES_MAX};
    struct ek_registry_hooks hooks = {on_package, on_bundle, on_done, on_closed, reading};

    catalog->due_ms = INT64_MAX;
    /* The others are read before this one is read again. */
    TAILQ_REMOVE(&catalogs->list, catalog, link);
    TAILQ_INSERT_TAIL(&catalogs->list, catalog, link);
    reading->catalogs = catalogs;
    reading->catalog = catalog;
    reading->is_global = catalog->is_global;
    if (ek_registry_read(catalogs->loop, &query, &hooks, &reading->read, &catalog->error)) {
        /* No address: another revision may have one. */
        ek_free(reading);
        return;
    }
    reading->graph = ek_ff_graph_new(EK_FF_CATALOG_GRAPH_MAX);
    TAILQ_INSERT_TAIL(&catalogs->readings, reading, link);
    catalogs->n_readings++;
}

static struct catalog *find(const struct ek_ff_catalogs *catalogs, const char *key)
{
    struct catalog *catalog;

    TAILQ_FOREACH(catalog, &catalogs->list, link)
    {
        if (!strcmp(catalog->key, key))
            return catalog;
    }
    return NULL;
}

static bool same_packages(const struct catalog *catalog, const struct ek_ff_catalog_want *want)
{
    if (catalog->n_packages != want->n_packages)
        return false;
    for (size_t i = 0; i < want->n_packages; i++)
        if (strcmp(catalog->packages[i], want->packages[i]) != 0)
            return false;
    return true;
}

/* Takes what a want says; what is new makes a read due. */
static void update(struct ek_ff_catalogs *catalogs, const struct ek_ff_catalog_want *want)
{
    const char *key = ek_obj_key(want->source);
    struct catalog *catalog = find(catalogs, key);
    char address[EK_FF_SOURCE_TEXT_SIZE], revision[EK_FF_SOURCE_TEXT_SIZE];

    if (!catalog) {
        catalog = ek_xalloc(sizeof *catalog);
        catalog->catalogs = catalogs;
        catalog->key = ek_xstrdup(key);
        catalog->space = ek_xstrdup(ek_obj_namespace(want->source));
        catalog->is_global = ek_ff_is_catalog_namespace(catalog->space);
        TAILQ_INSERT_TAIL(&catalogs->list, catalog, link);
    }
    catalog->listed = true;
    ek_ff_source_address(want->source, address);
    ek_ff_source_revision(want->source, revision);
    if (catalog->address && !strcmp(catalog->address, address) &&
        !strcmp(catalog->revision, revision) && same_packages(catalog, want))
        return;
    cancel(reading_of(catalog));
    free_texts(catalog);
    catalog->address = ek_xstrdup(address);
    catalog->revision = ek_xstrdup(revision);
    catalog->packages = ek_xalloc((want->n_packages + 1) * sizeof(char *));
    catalog->n_packages = want->n_packages;
    for (size_t i = 0; i < want->n_packages; i++)
        catalog->packages[i] = ek_xstrdup(want->packages[i]);
    catalog->due_ms = INT64_MIN;
}

int64_t ek_ff_catalogs_sync(struct ek_ff_catalogs *catalogs, const struct ek_ff_catalog_want *wants,
                            size_t n)
{
    struct catalog *catalog, *next;
    int64_t again = INT64_MAX, now_ms = catalogs->now_ms();

    TAILQ_FOREACH(catalog, &catalogs->list, link)
    {
        catalog->listed = false;
    }
    for (size_t i = 0; i < n; i++)
        update(catalogs, &wants[i]);
    for (catalog = TAILQ_FIRST(&catalogs->list); catalog; catalog = next) {
        next = TAILQ_NEXT(catalog, link);
        if (!catalog->listed) {
            forget(catalog);
            continue;
        }
        if (catalog->due_ms <= now_ms && may_start(catalog))
            start(catalog);
        int64_t wait = catalog->due_ms <= now_ms ? 1000 : catalog->due_ms - now_ms;
        if (catalog->due_ms == INT64_MAX)
            wait = reading_of(catalog) ? EK_FF_CATALOG_RETRY_MS : INT64_MAX;
        again = wait < again ? wait : again;
    }
    return again;
}

bool ek_ff_catalogs_is_busy(const struct ek_ff_catalogs *catalogs)
{
    const struct catalog *catalog;

    TAILQ_FOREACH(catalog, &catalogs->list, link)
    {
        if (catalog->due_ms == INT64_MIN || reading_of(catalog))
            return true;
    }
    return false;
}

bool ek_ff_catalogs_get(const struct ek_ff_catalogs *catalogs, const char *namespace,
                        const char *name, struct ek_ff_catalog *ret_catalog)
{
    EK_AUTOFREE char *key = ek_xasprintf("%s/%s", namespace, name);
    const struct catalog *catalog = find(catalogs, key);

    if (!catalog)
        return false;
    *ret_catalog = (struct ek_ff_catalog){
        .graph = catalog->graph,
        .changed_ms = catalog->changed_ms,
        .known_ms = catalog->known_ms,
        .error = catalog->error.message,
        .reading = !catalog->graph && !catalog->error.code,
    };
    return true;
}

struct ek_ff_catalogs *ek_ff_catalogs_new(uv_loop_t *loop, int64_t (*now_ms)(void),
                                          void (*changed)(void *ctx, const char *source), void *ctx)
{
    struct ek_ff_catalogs *catalogs = ek_xalloc(sizeof *catalogs);

    catalogs->loop = loop;
    catalogs->now_ms = now_ms;
    catalogs->changed = changed;
    catalogs->ctx = ctx;
    TAILQ_INIT(&catalogs->list);
    TAILQ_INIT(&catalogs->readings);
    return catalogs;
}

void ek_ff_catalogs_close(struct ek_ff_catalogs *catalogs, void (*done)(void *ctx), void *ctx)
{
    struct catalog *catalog;

    if (!catalogs) {
        if (done)
            done(ctx);
        return;
    }
    catalogs->closing = true;
    catalogs->done = done;
    catalogs->done_ctx = ctx;
    while ((catalog = TAILQ_FIRST(&catalogs->list)))
        forget(catalog);
    maybe_done(catalogs);
}
