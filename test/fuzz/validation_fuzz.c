/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schemas and objects: the input is two JSON values, one after another, the schema of a spec and a
 * spec. Whatever they are, the walk ends, and what an object is refused for has a text.
 */
#include <string.h>

#include "api/obj.h"
#include "api/validation/validate.h"
#include "test/fuzz/fuzz.h"

#define STEPS_MAX 200000

static bool is_over(void *arg)
{
    const struct ek_work *work = arg;
    return work->steps > STEPS_MAX;
}

static yyjson_doc *wrapped(const char *before, const uint8_t *data, size_t size, const char *after)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, (size_t)1 << 22);
    ek_buf_puts(&text, before);
    ek_buf_append(&text, data, size);
    ek_buf_puts(&text, after);
    return ek_json_parse(text.data, text.len, NULL);
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
    const uint8_t *cut = size ? memchr(data, '\n', size) : NULL;
    size_t len = cut ? (size_t)(cut - data) : size;
    struct ek_validator *validator = NULL;

    if (!cut)
        return 0;
    yyjson_doc *crd =
        wrapped("{\"spec\":{\"group\":\"g\",\"names\":{\"kind\":\"K\",\"plural\":\"ks\"},"
                "\"versions\":[{\"name\":\"v1\",\"schema\":{\"openAPIV3Schema\":{\"type\":"
                "\"object\",\"properties\":{\"spec\":",
                data, len, "}}}}]}}");
    yyjson_doc *object =
        wrapped("{\"apiVersion\":\"g/v1\",\"kind\":\"K\",\"spec\":", cut + 1, size - len - 1, "}");
    if (crd && object && !ek_validator_new(yyjson_doc_get_root(crd), "v1", &validator, NULL))
        check(validator, yyjson_doc_get_root(object));
    ek_validator_free(validator);
    yyjson_doc_free(object);
    yyjson_doc_free(crd);
    return 0;
}
