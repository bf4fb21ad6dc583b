/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gated writes: {"gates": a CustomFeatureGates, "old", "new", "subresource", "replicas": a path,
 * "status": there is a subresource of it, "keyed": the path of a list whose items "name" tells
 * apart}. Whatever these are, the laws of decisions hold.
 */
#include <string.h>

#include "test/fuzz/fuzz.h"
#include "test/support/gates_case.h"

static const char *text(yyjson_val *root, const char *name)
{
    const char *s = yyjson_get_str(yyjson_obj_get(root, name));

    return s ? s : "";
}

static void try_write(yyjson_val *root)
{
    yyjson_val *old = yyjson_obj_get(root, "old");
    struct test_gates_write w = {
        .gates = ek_gates_new(yyjson_obj_get(root, "gates"), NULL, 0),
        .arena = ek_arena_new(32 << 20),
        .shape = {.has_status = yyjson_get_bool(yyjson_obj_get(root, "status"))},
        .request = {.operation = old ? "UPDATE" : "CREATE",
                    .subresource = text(root, "subresource"),
                    .object = yyjson_obj_get(root, "new"),
                    .old_object = old},
    };

    static const char *const keys[] = {"name"};
    w.keyed = (struct ek_gates_keyed_list){text(root, "keyed"), keys, 1};
    w.shape.lists = &w.keyed;
    w.shape.n_lists = 1;
    if (ek_field_path_parse(text(root, "replicas"), w.arena, &w.replicas, NULL) == 0)
        w.shape.replicas = &w.replicas;
    fuzz_require(test_gates_decide(&w, NULL) == 0);
    fuzz_require(!test_gates_broken_law(&w));
    test_gates_close(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    yyjson_doc *doc = ek_json_parse((const char *)data, size, NULL);
    yyjson_val *root = yyjson_doc_get_root(doc);

    if (yyjson_is_obj(root))
        try_write(root);
    yyjson_doc_free(doc);
    return 0;
}
