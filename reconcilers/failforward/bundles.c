/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/bundles.h"

#include <string.h>

#include "api/base/base64.h"
#include "api/base/map.h"
#include "api/base/mem.h"
#include "api/obj.h"
#include "reconcilers/failforward/fbc-internal.h"

struct item {
    struct ek_ff_bundle bundle;
    yyjson_val **definitions; /* owned */
    size_t cap;
    char *key; /* owned: of the map */
};

struct ek_ff_bundles {
    struct ek_fbc fbc;
    struct ek_map items;  /* owned, by package and name */
    yyjson_doc **objects; /* owned: the definitions */
    size_t n_objects, cap_objects;
    size_t left; /* octets that objects may still take */
    struct ek_err *err;
};

static void keep(struct ek_ff_bundles *b, yyjson_doc *doc)
{
    if (b->n_objects == b->cap_objects) {
        b->cap_objects = b->cap_objects ? 2 * b->cap_objects : 16;
        b->objects = ek_xrealloc(b->objects, b->cap_objects, sizeof(yyjson_doc *));
    }
    b->objects[b->n_objects++] = doc;
}

static void add_definition(struct item *item, yyjson_val *definition)
{
    struct ek_ff_bundle *bundle = &item->bundle;

    if (bundle->n_definitions == item->cap) {
        item->cap = item->cap ? 2 * item->cap : 4;
        item->definitions = ek_xrealloc(item->definitions, item->cap, sizeof(yyjson_val *));
        bundle->definitions = item->definitions;
    }
    item->definitions[bundle->n_definitions++] = definition;
}

/* One object of a bundle. What is no definition is not kept. */
static int read_object(struct ek_ff_bundles *b, struct item *item, const char *data)
{
    struct ek_ff_bundle *bundle = &item->bundle;
    EK_AUTOFREE char *text = NULL;
    size_t size = 0;

    if (ek_base64_decode(data, &text, &size)) {
        bundle->unknown = "an object of the bundle is no base64";
        return 0;
    }
    if (size > b->left)
        return ek_err_set(b->err, EK_E_LIMIT, "the objects of the catalog are too large");
    b->left -= size;
    yyjson_doc *doc = ek_json_parse(text, size, NULL);
    yyjson_val *object = yyjson_doc_get_root(doc);
    bool is_definition = !strcmp(ek_json_text(object, "kind"), "CustomResourceDefinition");
    if (!doc)
        bundle->unknown = "an object of the bundle is no JSON";
    else if (is_definition &&
             strcmp(ek_json_text(object, "apiVersion"), "apiextensions.k8s.io/v1") != 0)
        bundle->unknown = "the bundle has a definition of another version than v1";
    else if (is_definition)
        add_definition(item, object);
    if (is_definition)
        keep(b, doc);
    else
        yyjson_doc_free(doc);
    return 0;
}

/* Names come from the catalog, so none may look like another pair. */
static char *key_of(const char *package, const char *name)
{
    return ek_xasprintf("%zu %s %s", strlen(package), package, name);
}

static struct item *add_bundle(struct ek_ff_bundles *b, yyjson_val *blob)
{
    const char *package = ek_json_text(blob, "package"), *name = ek_json_text(blob, "name");
    EK_AUTOFREE char *key = key_of(package, name);
    struct item *item = ek_map_get(&b->items, key);

    if (!item) {
        item = ek_xalloc(sizeof *item);
        item->key = key;
        key = NULL;
        ek_map_put(&b->items, item->key, item);
    }
    item->bundle =
        (struct ek_ff_bundle){.package = package, .name = name, .definitions = item->definitions};
    return item; /* of two of one name the last one counts */
}

static int read_bundle(void *ctx, yyjson_val *blob)
{
    struct ek_ff_bundles *b = ctx;
    struct item *item = add_bundle(b, blob);
    yyjson_val *property;
    size_t i, n, n_objects = 0;
    int rc = 0;

    yyjson_arr_foreach(ek_json_get(blob, "properties", NULL), i, n, property)
    {
        const char *data = ek_json_str(property, "value", "data", NULL);
        if (rc || strcmp(ek_json_text(property, "type"), "olm.bundle.object") != 0)
            continue;
        n_objects++;
        rc = read_object(b, item, data ? data : "");
    }
    if (!n_objects)
        item->bundle.unknown =
            "the catalog does not have the objects of the bundle (olm.bundle.object)";
    return rc;
}

int ek_ff_bundles_read(const char *text, size_t len, size_t limit,
                       struct ek_ff_bundles **ret_bundles, struct ek_err *err)
{
    struct ek_err local = {0};
    struct ek_ff_bundles *b = ek_xalloc(sizeof *b);

    b->err = err ? err : &local;
    b->left = limit;
    int rc = len > limit ? ek_err_set(b->err, EK_E_LIMIT, "the catalog is too large")
                         : ek_fbc_read(&b->fbc, text, len, limit, b->err);
    if (!rc)
        rc = ek_fbc_each(&b->fbc, "olm.bundle", read_bundle, b);
    if (rc) {
        ek_ff_bundles_free(b);
        return rc;
    }
    *ret_bundles = b;
    return 0;
}

void ek_ff_bundles_free(struct ek_ff_bundles *b)
{
    size_t cursor = 0;
    void *value;

    if (!b)
        return;
    while (ek_map_next(&b->items, &cursor, NULL, &value)) {
        struct item *item = value;
        ek_free(item->definitions);
        ek_free(item->key);
        ek_free(item);
    }
    for (size_t i = 0; i < b->n_objects; i++)
        yyjson_doc_free(b->objects[i]);
    ek_map_done(&b->items);
    ek_free(b->objects);
    ek_fbc_done(&b->fbc);
    ek_free(b);
}

const struct ek_ff_bundle *ek_ff_bundles_find(const struct ek_ff_bundles *b, const char *package,
                                              const char *name)
{
    EK_AUTOFREE char *key = key_of(package, name);
    const struct item *item = ek_map_get(&b->items, key);

    return item ? &item->bundle : NULL;
}

int ek_ff_route_find(const struct ek_ff_graph *graph, const struct ek_ff_from *from,
                     struct ek_ff_route *ret_route)
{
    struct ek_ff_from at = *from;
    struct ek_ff_answer answer;
    size_t n = 0;

    int rc = ek_ff_graph_edges(graph, &at, &answer);
    if (rc)
        return rc;
    *ret_route = (struct ek_ff_route){.first = answer};
    while (answer.reach == EK_FF_REACH_FOUND && n < EK_FF_HOPS_MAX) {
        ret_route->hops[n++] = answer.next;
        at.name = ek_str_from(answer.next);
        at.version = ek_str_from(answer.next_version);
        rc = ek_ff_graph_edges(graph, &at, &answer);
        if (rc)
            return rc;
    }
    ret_route->n = n;
    ret_route->is_cut = answer.reach == EK_FF_REACH_FOUND;
    return 0;
}

static yyjson_val *version_of(yyjson_val *definition, const char *name)
{
    yyjson_val *version;
    size_t i, n;

    yyjson_arr_foreach(ek_json_get(definition, "spec", "versions", NULL), i, n, version)
    {
        if (!strcmp(ek_json_text(version, "name"), name))
            return version;
    }
    return NULL;
}

const char *ek_ff_lost_version(yyjson_val *stored, yyjson_val *definition)
{
    yyjson_val *version;
    size_t i, n;

    yyjson_arr_foreach(stored, i, n, version)
    {
        if (yyjson_is_str(version) && !version_of(definition, yyjson_get_str(version)))
            return yyjson_get_str(version);
    }
    return NULL;
}

bool ek_ff_serves(yyjson_val *definition, const char *version)
{
    return yyjson_is_true(yyjson_obj_get(version_of(definition, version), "served"));
}
