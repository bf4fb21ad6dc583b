/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of built-in kinds, each after a byte that chooses the kind. What is seen of an object can
 * be sent again, and is seen the same from then on (a pointer to the zero time becomes null, and a
 * null is gone); what is refused has a place in it.
 */
#include <string.h>

#include "api/decode/builtin.h"
#include "api/obj.h"
#include "test/fuzz/fuzz.h"

#define ARENA_LIMIT ((size_t)64 << 20)

static struct ek_gvk choose(uint8_t choice, int *ret_minor)
{
    size_t n;
    const struct ek_builtin_resource *all = ek_builtin_resources(&n);
    const struct ek_builtin_resource *one = &all[choice % n];

    *ret_minor = one->minors & 8u ? 36 : 33;
    return (struct ek_gvk){one->kind_group, one->kind_version, one->kind};
}

/* Decodes and returns the document of what is seen, NULL when it is refused. */
static yyjson_doc *decode(const struct ek_gvk *kind, int minor, yyjson_val *object)
{
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    yyjson_mut_doc *out = yyjson_mut_doc_new(&ek_json_alc);
    struct ek_decode_problem problem = {0};
    yyjson_mut_val *seen = NULL;
    yyjson_doc *ret = NULL;
    int rc = ek_decode_builtin(kind, minor, object, NULL, arena, out, &seen, NULL, &problem);

    if (rc == 0) {
        yyjson_mut_doc_set_root(out, seen);
        ret = yyjson_mut_doc_imut_copy(out, &ek_json_alc);
    } else {
        fuzz_require(rc == EK_E_INVAL || rc == EK_E_NOENT || rc == EK_E_NOMEM);
        fuzz_require(rc != EK_E_INVAL || (problem.pointer && *problem.why));
    }
    yyjson_mut_doc_free(out);
    ek_arena_free(arena);
    return ret;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int minor;

    if (size < 1)
        return 0;
    struct ek_gvk kind = choose(data[0], &minor);
    yyjson_doc *doc = ek_json_parse((const char *)data + 1, size - 1, NULL);
    yyjson_doc *seen = doc ? decode(&kind, minor, yyjson_doc_get_root(doc)) : NULL;
    yyjson_doc *again = seen ? decode(&kind, minor, yyjson_doc_get_root(seen)) : NULL;
    yyjson_doc *last = again ? decode(&kind, minor, yyjson_doc_get_root(again)) : NULL;
    fuzz_require(!seen ||
                 (last && ek_json_equal(yyjson_doc_get_root(last), yyjson_doc_get_root(again))));
    yyjson_doc_free(last);
    yyjson_doc_free(again);
    yyjson_doc_free(seen);
    yyjson_doc_free(doc);
    return 0;
}
