/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schemas and objects: the input is two JSON values, one after another, the schema of a spec and a
 * spec. Whatever they are, the walk ends, and what an object is refused for has a text.
 */
#include <string.h>

#include "api/obj.h"
#include "api/validation/validate.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/pair.h"

#define STEPS_MAX 200000

static bool is_over(void *arg)
{
    const struct ek_work *work = arg;
    return work->steps > STEPS_MAX;
}

static void check(struct ek_validator *validator, yyjson_val *object)
{
    struct ek_work work = {.is_over = is_over};
    struct ek_arena *arena = ek_arena_new((size_t)1 << 22);
    struct ek_validation v;

    work.arg = &work;
    ek_validate(validator, object, arena, &work, false, &v);
    for (size_t i = 0; i < v.as_stored.n; i++)
        fuzz_require(strstr(v.as_stored.texts[i], ": ") != NULL);
    for (size_t i = 0; i < v.as_created.n; i++)
        fuzz_require(strstr(v.as_created.texts[i], ": ") != NULL);
    fuzz_require(!v.n_dropped == !v.dropped);
    fuzz_require(!work.over || v.unknown);
    ek_arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct fuzz_around crd = {
        "{\"spec\":{\"group\":\"g\",\"names\":{\"kind\":\"K\",\"plural\":\"ks\"},"
        "\"versions\":[{\"name\":\"v1\",\"schema\":{\"openAPIV3Schema\":{\"type\":"
        "\"object\",\"properties\":{\"spec\":",
        "}}}}]}}"};
    static const struct fuzz_around object = {"{\"apiVersion\":\"g/v1\",\"kind\":\"K\",\"spec\":",
                                              "}"};
    struct ek_validator *validator = NULL;
    struct fuzz_pair pair;

    if (!fuzz_pair_read(data, size, crd, object, &pair))
        return 0;
    if (!ek_validator_new(yyjson_doc_get_root(pair.first), "v1", &validator, NULL))
        check(validator, yyjson_doc_get_root(pair.second));
    ek_validator_free(validator);
    fuzz_pair_done(&pair);
    return 0;
}
