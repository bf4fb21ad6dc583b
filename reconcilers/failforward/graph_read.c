/* SPDX-License-Identifier: Apache-2.0 */
/* Reads file-based catalogs (operator-registry alpha/declcfg/declcfg.go). */
#include <string.h>

#include "api/base/map.h"
#include "api/obj.h"
#include "reconcilers/failforward/fbc-internal.h"
#include "reconcilers/failforward/graph-internal.h"
#include "reconcilers/failforward/graph.h"

/* What an olm.bundle blob adds to the entries of its name. Borrowed from the documents. */
struct bundle {
    const char *version;
    bool deprecated;
};

/* The documents of one text, while it is read. */
struct reading {
    struct ek_ff_graph *graph;
    struct ek_fbc fbc;
    struct ek_map bundles; /* "package/name" to struct bundle; both owned */
    struct ek_err *err;
};

static struct ek_str str(yyjson_val *value, const char *name)
{
    return ek_str_from(ek_json_text(value, name));
}

static int lacks(const struct reading *reading, const char *schema, const char *what)
{
    return ek_err_set(reading->err, EK_E_PARSE, "a blob of schema %s has no %s", schema, what);
}

static int overflow(const struct reading *reading, int rc)
{
    if (rc)
        ek_err_set(reading->err, rc, "the catalog is larger than %zu bytes", reading->graph->max);
    return rc;
}

/* Packages and names have no '/'; what has one finds no other bundle than its own. */
static char *bundle_key(const char *package, const char *name)
{
    return ek_xasprintf("%s/%s", package, name);
}

static int read_bundle(void *ctx, yyjson_val *blob)
{
    struct reading *reading = ctx;
    yyjson_val *property;
    yyjson_arr_iter iter;

    if (!*ek_json_text(blob, "name") || !*ek_json_text(blob, "package"))
        return lacks(reading, "olm.bundle", "name or package");
    struct bundle *bundle = ek_xalloc(sizeof *bundle);
    bundle->version = "";
    yyjson_arr_iter_init(ek_json_get(blob, "properties", NULL), &iter);
    while ((property = yyjson_arr_iter_next(&iter))) {
        const char *type = ek_json_text(property, "type");
        const char *version = ek_json_str(property, "value", "version", NULL);
        if (!strcmp(type, "olm.package") && version)
            bundle->version = version;
        bundle->deprecated = bundle->deprecated || !strcmp(type, "olm.deprecated");
    }
    char *key = bundle_key(ek_json_text(blob, "package"), ek_json_text(blob, "name"));
    struct bundle *known = ek_map_get(&reading->bundles, key);
    if (known) { /* the last one stays */
        *known = *bundle;
        ek_free(key);
        ek_free(bundle);
    } else {
        ek_map_put(&reading->bundles, key, bundle);
    }
    return 0;
}

static int read_package(void *ctx, yyjson_val *blob)
{
    struct reading *reading = ctx;
    if (!*ek_json_text(blob, "name"))
        return lacks(reading, "olm.package", "name");
    return overflow(reading, ek_ff_graph_package(reading->graph, str(blob, "name"),
                                                 str(blob, "defaultChannel")));
}

/* The names that an entry skips, owned; NULL without any or without memory. */
static struct ek_str *read_skips(yyjson_val *from, size_t *ret_n)
{
    yyjson_val *list = ek_json_get(from, "skips", NULL), *item;
    size_t i, n, count = 0;
    struct ek_str *skips = ek_alloc((yyjson_arr_size(list) + 1) * sizeof *skips);

    yyjson_arr_foreach(list, i, n, item)
    {
        if (skips && yyjson_is_str(item))
            skips[count++] = ek_str_from(yyjson_get_str(item));
    }
    *ret_n = count;
    return skips;
}

static int read_entry(struct reading *reading, yyjson_val *channel, yyjson_val *from)
{
    EK_AUTOFREE struct ek_str *skips = NULL;
    struct ek_ff_entry entry = {
        .package = str(channel, "package"),
        .channel = str(channel, "name"),
        .name = str(from, "name"),
        .replaces = str(from, "replaces"),
        .skip_range = str(from, "skipRange"),
    };

    if (entry.name.len == 0)
        return ek_err_set(reading->err, EK_E_PARSE, "an entry of a channel has no name");
    EK_AUTOFREE char *key = bundle_key(entry.package.p, entry.name.p);
    const struct bundle *bundle = ek_map_get(&reading->bundles, key);
    skips = read_skips(from, &entry.n_skips);
    if (!skips)
        return ek_err_set(reading->err, EK_E_NOMEM, "out of memory");
    entry.skips = skips;
    entry.version = ek_str_from(bundle ? bundle->version : "");
    entry.deprecated = bundle && bundle->deprecated;
    return overflow(reading, ek_ff_graph_entry(reading->graph, &entry));
}

static int read_channel(void *ctx, yyjson_val *blob)
{
    struct reading *reading = ctx;
    yyjson_val *entries = ek_json_get(blob, "entries", NULL), *entry;
    size_t i, n;
    int rc = 0;

    if (!*ek_json_text(blob, "name") || !*ek_json_text(blob, "package"))
        return lacks(reading, "olm.channel", "name or package");
    yyjson_arr_foreach(entries, i, n, entry)
    {
        rc = read_entry(reading, blob, entry);
        if (rc)
            break;
    }
    return rc;
}

static void reading_done(struct reading *reading)
{
    const char *key;
    void *bundle;

    for (size_t cursor = 0; ek_map_next(&reading->bundles, &cursor, &key, &bundle);) {
        ek_free((void *)(uintptr_t)key);
        ek_free(bundle);
    }
    ek_map_done(&reading->bundles);
    ek_fbc_done(&reading->fbc);
}

int ek_ff_graph_read(struct ek_ff_graph *graph, const char *p, size_t len, struct ek_err *err)
{
    struct ek_err local = {0};
    struct reading reading = {.graph = graph, .err = err ? err : &local};

    ek_map_init(&reading.bundles);
    int rc = len > graph->max ? overflow(&reading, EK_E_LIMIT)
                              : ek_fbc_read(&reading.fbc, p, len, graph->max, reading.err);
    rc = rc ? rc : ek_fbc_each(&reading.fbc, "olm.bundle", read_bundle, &reading);
    rc = rc ? rc : ek_fbc_each(&reading.fbc, "olm.package", read_package, &reading);
    rc = rc ? rc : ek_fbc_each(&reading.fbc, "olm.channel", read_channel, &reading);
    reading_done(&reading);
    return rc;
}
