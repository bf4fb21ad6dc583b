/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign definitions of gates against foreign CRDs: the input is a JSON list of the two. Whatever
 * they hold: the same is found twice, what is refused is a gate, and a status comes out that stays
 * small and has each condition.
 */
#include <string.h>

#include "api/cond.h"
#include "api/obj.h"
#include "reconcilers/fieldgates/status.h"
#include "test/fuzz/fuzz.h"

#define ARENA_MAX  ((size_t)64 << 20)
#define STATUS_MAX ((size_t)1 << 20)
#define NOW_MS     1763636290000

static yyjson_doc *status_of(const struct ek_gates *gates, yyjson_val *crd)
{
    static const char *const types[] = {"Accepted", "CRDFound", "PathsResolved", "Enforced"};
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    struct ek_gates_resolution r;
    struct ek_gates_facts facts = {.gates = gates, .serving = true, .registered = true};
    yyjson_mut_doc *doc = ek_json_doc_new();

    int rc = ek_gates_resolve(gates, crd, arena, &r, NULL);
    fuzz_require(rc == 0 || rc == EK_E_PARSE || rc == EK_E_LIMIT);
    for (size_t i = 0; rc == 0 && i < r.n_refused; i++)
        fuzz_require(ek_gates_find(gates, r.refused[i]) != NULL);
    for (size_t i = 0; rc == 0 && i < r.n_findings; i++)
        fuzz_require(r.findings[i].message && *r.findings[i].message);
    facts.resolution = rc ? NULL : &r;
    yyjson_mut_val *made = ek_gates_status(&facts, NULL, NOW_MS, arena, doc);
    yyjson_doc *status = yyjson_mut_val_imut_copy(made, NULL);
    yyjson_val *conditions = yyjson_obj_get(yyjson_doc_get_root(status), "conditions");
    for (size_t i = 0; i < EK_ARRAY_SIZE(types); i++)
        fuzz_require(ek_cond_find(conditions, types[i]) != NULL);
    yyjson_mut_doc_free(doc);
    ek_arena_free(arena);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    yyjson_doc *input = ek_json_parse((const char *)data, size, NULL);
    yyjson_val *root = yyjson_doc_get_root(input);
    size_t len = 0;

    if (!input)
        return 0;
    const struct ek_gates *gates = ek_gates_new(yyjson_arr_get(root, 0), NULL, 0);
    yyjson_doc *first = status_of(gates, yyjson_arr_get(root, 1));
    yyjson_doc *second = status_of(gates, yyjson_arr_get(root, 1));
    fuzz_require(ek_json_equal(yyjson_doc_get_root(first), yyjson_doc_get_root(second)));
    char *text = yyjson_val_write(yyjson_doc_get_root(first), 0, &len);
    fuzz_require(text && len < STATUS_MAX + 4 * size);
    free(text);
    yyjson_doc_free(first);
    yyjson_doc_free(second);
    ek_gates_unref(gates);
    yyjson_doc_free(input);
    return 0;
}
