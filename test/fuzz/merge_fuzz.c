/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging: {"document", "live", "patch", "removals", "atomic"} is merged or refused. What is
 * refused leaves the live object as it was; what was merged is valid, and merging it again changes
 * nothing. Without a document there is one that has all kinds of types.
 */
#include <string.h>

#include "api/obj.h"
#include "api/schema/merge.h"
#include "test/fuzz/fuzz.h"

#define REMOVALS_MAX 8
#define STEPS_MAX    8

static const char fallback[] =
    "{\"components\":{\"schemas\":{\"K\":{\"type\":\"object\",\"x-kubernetes-group-version-kind\":["
    "{"
    "\"group\":\"g\",\"version\":\"v1\",\"kind\":\"K\"}],\"properties\":{\"s\":{\"type\":"
    "\"string\"},"
    "\"n\":{\"type\":\"integer\"},\"b\":{\"type\":\"boolean\"},\"m\":{\"type\":\"object\","
    "\"additionalProperties\":{\"type\":\"string\"}},\"o\":{\"$ref\":\"#/components/schemas/K\"},"
    "\"q\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":\"number\"}},"
    "\"l\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":["
    "\"k\",\"d\"],\"items\":{\"type\":\"object\",\"properties\":{\"k\":{\"type\":\"string\"},\"d\":"
    "{"
    "\"type\":\"integer\",\"default\":1},\"o\":{\"$ref\":\"#/components/schemas/K\"}}}},\"a\":{"
    "\"type\":\"array\",\"items\":{\"$ref\":\"#/components/schemas/"
    "K\"}},\"f\":{\"type\":\"object\","
    "\"x-kubernetes-map-type\":\"atomic\",\"properties\":{\"x\":{\"type\":\"string\"}}},\"u\":{"
    "\"x-kubernetes-preserve-unknown-fields\":true}}}}}}";

static struct ek_schema *schema_of(yyjson_val *document)
{
    struct ek_schema *schema = NULL;
    yyjson_doc *doc = NULL;

    if (!document) {
        doc = ek_json_parse(fallback, sizeof fallback - 1, NULL);
        document = yyjson_doc_get_root(doc);
    }
    ek_schema_compile(document, &schema, NULL);
    yyjson_doc_free(doc);
    return schema;
}

/* Paths of removals: strings are members, all else are items. */
static size_t read_removals(yyjson_mut_val *paths, struct ek_merge_removal *ret,
                            struct ek_merge_step steps[][STEPS_MAX])
{
    size_t i, j, max, max_j, n = 0;
    yyjson_mut_val *path, *step;

    yyjson_mut_arr_foreach(yyjson_mut_is_arr(paths) ? paths : NULL, i, max, path)
    {
        if (n == REMOVALS_MAX)
            break;
        size_t k = 0;
        yyjson_mut_arr_foreach(yyjson_mut_is_arr(path) ? path : NULL, j, max_j, step)
        {
            struct ek_str name = {yyjson_mut_get_str(step), yyjson_mut_get_len(step)};
            if (k < STEPS_MAX)
                steps[n][k++] = (struct ek_merge_step){name, name.p ? NULL : step};
        }
        ret[n] = (struct ek_merge_removal){steps[n], k};
        n++;
    }
    return n;
}

static yyjson_mut_val *copy_of(yyjson_mut_doc *doc, yyjson_val *value)
{
    return value ? yyjson_val_mut_copy(doc, value) : NULL;
}

static void check_merge(const struct ek_schema *schema, uint32_t type, yyjson_val *input)
{
    struct ek_merge_removal removals[REMOVALS_MAX];
    struct ek_merge_step steps[REMOVALS_MAX][STEPS_MAX];
    struct ek_err err = {0};
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *live = copy_of(doc, yyjson_obj_get(input, "live"));
    yyjson_mut_val *paths = copy_of(doc, yyjson_obj_get(input, "removals"));
    struct ek_merge_patch patch = {copy_of(doc, yyjson_obj_get(input, "patch")), removals,
                                   read_removals(paths, removals, steps), NULL};
    unsigned flags = yyjson_get_bool(yyjson_obj_get(input, "atomic")) ? EK_MERGE_ATOMIC : 0;

    if (live && !ek_merge_validate(schema, type, live, EK_MERGE_DUPLICATES, NULL, NULL, &err)) {
        char *before = yyjson_mut_val_write(live, 0, NULL);
        int rc = ek_merge_apply(schema, type, doc, live, &patch, flags, NULL, &err);
        char *after = yyjson_mut_val_write(live, 0, NULL);
        fuzz_require(rc == err.code && (rc == 0 || !strcmp(before, after)));
        if (rc == 0) {
            fuzz_require(
                !ek_merge_validate(schema, type, live, EK_MERGE_DUPLICATES, NULL, NULL, &err));
            fuzz_require(!ek_merge_apply(schema, type, doc, live, &patch, flags, NULL, &err));
            char *again = yyjson_mut_val_write(live, 0, NULL);
            fuzz_require(!strcmp(after, again));
            free(again);
        }
        free(before);
        free(after);
    }
    yyjson_mut_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    yyjson_doc *doc = ek_json_parse((const char *)data, size, NULL);
    yyjson_val *root = yyjson_doc_get_root(doc);
    struct ek_schema *schema = doc ? schema_of(yyjson_obj_get(root, "document")) : NULL;
    size_t n = 0;
    const struct ek_schema_kind *kinds = schema ? ek_schema_kinds(schema, &n) : NULL;

    if (n > 0)
        check_merge(schema, kinds[0].type, root);
    ek_schema_unref(schema);
    yyjson_doc_free(doc);
    return 0;
}
