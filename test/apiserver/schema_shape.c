/* SPDX-License-Identifier: Apache-2.0 */
/* The merge shapes of values: from a custom resource's schema, or from the names that fields of
 * the built-in kinds have (the list-type markers of the Kubernetes API types). */
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "test/apiserver/fieldset.h"

struct builtin_shape {
    const char *parent; /* NULL: any */
    const char *field;
    struct ek_list_shape shape;
};

#define MAP1(k)                                                                                    \
    {                                                                                              \
        .shape = EK_MERGE_MAP, .keys = { k }                                                       \
    }
#define MAP2(a, b)                                                                                 \
    {                                                                                              \
        .shape = EK_MERGE_MAP, .keys = {a, b}, .defaults = { NULL, "TCP" }                         \
    }
#define SET                                                                                        \
    {                                                                                              \
        .shape = EK_MERGE_SET                                                                      \
    }
#define ATOMIC                                                                                     \
    {                                                                                              \
        .shape = EK_MERGE_ATOMIC                                                                   \
    }

static const struct builtin_shape builtin[] = {
    {NULL, "conditions", MAP1("type")},
    {"metadata", "ownerReferences", MAP1("uid")},
    {"metadata", "finalizers", SET},
    {"status", "addresses", MAP1("type")},
    {NULL, "containers", MAP1("name")},
    {NULL, "initContainers", MAP1("name")},
    {NULL, "ephemeralContainers", MAP1("name")},
    {NULL, "env", MAP1("name")},
    {NULL, "volumes", MAP1("name")},
    {NULL, "volumeMounts", MAP1("mountPath")},
    {NULL, "imagePullSecrets", MAP1("name")},
    {NULL, "webhooks", MAP1("name")},
    {"containers", "ports", MAP2("containerPort", "protocol")},
    {"spec", "ports", MAP2("port", "protocol")},
    {"spec", "finalizers", SET},
    {"spec", "podCIDRs", SET},
    {"spec", "topologySpreadConstraints", MAP2("topologyKey", "whenUnsatisfiable")},
    {NULL, "selector", ATOMIC},
    {NULL, "nodeSelector", ATOMIC},
    {NULL, "involvedObject", ATOMIC},
    {NULL, "regarding", ATOMIC},
    {NULL, "matchLabels", {.shape = EK_MERGE_GRANULAR}},
};

struct ek_schema_at ek_schema_root(const struct ek_shapes *shapes)
{
    return (struct ek_schema_at){shapes, shapes->schema, "", ""};
}

struct ek_schema_at ek_schema_at_member(struct ek_schema_at at, const char *name)
{
    yyjson_val *schema = yyjson_obj_get(yyjson_obj_get(at.schema, "properties"), name);

    if (!schema)
        schema = yyjson_obj_get(at.schema, "additionalProperties");
    return (struct ek_schema_at){at.shapes, yyjson_is_obj(schema) ? schema : NULL, name, at.field};
}

struct ek_schema_at ek_schema_item(struct ek_schema_at at)
{
    yyjson_val *schema = yyjson_obj_get(at.schema, "items");

    return (struct ek_schema_at){at.shapes, schema, at.field, at.parent};
}

static struct ek_list_shape by_schema(yyjson_val *schema, bool list)
{
    struct ek_list_shape shape = {.shape = list ? EK_MERGE_ATOMIC : EK_MERGE_GRANULAR};
    const char *type = ek_json_str(schema, "x-kubernetes-list-type", NULL);
    const char *map = ek_json_str(schema, "x-kubernetes-map-type", NULL);
    size_t index, max, n = 0;
    yyjson_val *key;

    if (!list && map && strcmp(map, "atomic") == 0)
        shape.shape = EK_MERGE_ATOMIC;
    if (!list || !type)
        return shape;
    if (strcmp(type, "set") == 0)
        shape.shape = EK_MERGE_SET;
    if (strcmp(type, "map") != 0)
        return shape;
    shape.shape = EK_MERGE_MAP;
    yyjson_arr_foreach(yyjson_obj_get(schema, "x-kubernetes-list-map-keys"), index, max, key)
    {
        if (yyjson_is_str(key) && n < EK_LIST_KEYS_MAX)
            shape.keys[n++] = yyjson_get_str(key);
    }
    return shape;
}

static bool is_scalar_map(yyjson_mut_val *value)
{
    size_t index, max;
    yyjson_mut_val *key, *member;

    yyjson_mut_obj_foreach(value, index, max, key, member)
    {
        if (!yyjson_mut_is_str(member))
            return false;
    }
    return true;
}

struct ek_list_shape ek_schema_shape(struct ek_schema_at at, yyjson_mut_val *value)
{
    bool list = yyjson_mut_is_arr(value), object = yyjson_mut_is_obj(value);
    struct ek_list_shape shape = {.shape = list ? EK_MERGE_ATOMIC : EK_MERGE_GRANULAR};

    if (!list && !object) {
        shape.shape = EK_MERGE_ATOMIC;
        return shape;
    }
    if (at.schema && strcmp(at.parent, "metadata") != 0)
        return by_schema(at.schema, list);
    for (size_t i = 0; i < EK_ARRAY_SIZE(builtin); i++) {
        if (strcmp(builtin[i].field, at.field) != 0 ||
            (builtin[i].parent && strcmp(builtin[i].parent, at.parent) != 0))
            continue;
        enum ek_merge_shape found = builtin[i].shape.shape;
        bool fits = found == EK_MERGE_ATOMIC || (found == EK_MERGE_GRANULAR ? object : list);
        /* A selector is atomic where it is a map of labels, not where it is a LabelSelector. */
        if (fits && (found != EK_MERGE_ATOMIC || list || is_scalar_map(value) ||
                     strcmp(at.field, "selector") != 0))
            return builtin[i].shape;
    }
    return shape;
}
