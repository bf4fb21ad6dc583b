/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Custom resources that are decoded: the input is two JSON values, one after another, the schema of
 * a definition and an object without apiVersion and kind. Whatever they are, the walk ends, and
 * the metadata that was read is read the same once more.
 */
#include "api/decode/custom.h"
#include "api/obj.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/pair.h"

#define STEPS_MAX 400000

static bool is_over(void *arg)
{
    const struct ek_work *work = arg;
    return work->steps > STEPS_MAX;
}

static int decode(const struct ek_custom_version *version, yyjson_mut_doc *doc,
                  yyjson_mut_val *object, struct ek_arena *arena, struct ek_work *work,
                  struct ek_custom_decoding *ret)
{
    const struct ek_custom_options options = {.defaults = true, .arena = arena, .work = work};
    int rc = ek_custom_decode(version, doc, object, &options, ret);

    fuzz_require(!rc || rc == EK_E_CANCELED || rc == EK_E_NOMEM);
    fuzz_require(!ret->error || *ret->error);
    fuzz_require(ret->unknown.n <= ret->unknown.n_all);
    return rc ? rc : ret->error ? EK_E_INVAL : 0;
}

static yyjson_doc *metadata_of(yyjson_mut_val *object)
{
    return yyjson_mut_val_imut_copy(yyjson_mut_obj_get(object, "metadata"), NULL);
}

static void check(const struct ek_custom_version *version, yyjson_val *object)
{
    struct ek_work work = {.is_over = is_over};
    struct ek_arena *arena = ek_arena_new((size_t)1 << 22);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&ek_json_alc);
    yyjson_mut_val *copy = yyjson_val_mut_copy(doc, object);
    struct ek_custom_decoding first, second;

    work.arg = &work;
    if (!decode(version, doc, copy, arena, &work, &first)) {
        yyjson_doc *once = metadata_of(copy);
        if (decode(version, doc, copy, arena, &work, &second) != EK_E_CANCELED) {
            yyjson_doc *twice = metadata_of(copy);
            fuzz_require(ek_json_equal(yyjson_doc_get_root(once), yyjson_doc_get_root(twice)));
            yyjson_doc_free(twice);
        }
        yyjson_doc_free(once);
    }
    yyjson_mut_doc_free(doc);
    ek_arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct fuzz_around crd = {
        "{\"spec\":{\"group\":\"g\",\"names\":{\"kind\":\"K\"},\"versions\":[{"
        "\"name\":\"v1\",\"schema\":{\"openAPIV3Schema\":",
        "}}]}}"};
    static const struct fuzz_around object = {
        "{\"apiVersion\":\"g/v1\",\"kind\":\"K\",\"metadata\":", "}"};
    struct ek_custom_version version;
    struct fuzz_pair pair;

    if (!fuzz_pair_read(data, size, crd, object, &pair))
        return 0;
    if (ek_custom_version_of(yyjson_doc_get_root(pair.first), "v1", &version))
        check(&version, yyjson_doc_get_root(pair.second));
    fuzz_pair_done(&pair);
    return 0;
}
