/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON patches: {"doc", "patch", "quoted"} is applied or leaves the document as it was, and the
 * difference of the two, applied to the first, gives the second; so does that of "doc" and "other".
 */
#include <string.h>

#include "api/obj.h"
#include "api/patch/jsondiff.h"
#include "api/patch/jsonpatch.h"
#include "test/fuzz/fuzz.h"

/* As API servers do, the patch of a difference is only taken for objects and arrays. */
static void check_difference(yyjson_val *from, yyjson_mut_val *to, yyjson_mut_doc *doc)
{
    yyjson_mut_val *patch = NULL, *tree = yyjson_val_mut_copy(doc, from);
    struct ek_jsonpatch_op *ops = NULL;
    size_t n = 0;

    if (!unsafe_yyjson_is_ctn(from) || !unsafe_yyjson_is_ctn(to))
        return;
    fuzz_require(ek_jsondiff(from, to, doc, NULL, &patch, NULL) == 0);
    yyjson_doc *read = yyjson_mut_val_imut_copy(patch, NULL);
    if (yyjson_mut_arr_size(patch) <= EK_JSONPATCH_OPS_MAX) {
        fuzz_require(ek_jsonpatch_parse(yyjson_doc_get_root(read), doc, &ops, &n, NULL) == 0);
        fuzz_require(ek_jsonpatch_apply(doc, &tree, ops, n, 0, NULL, NULL, NULL) == 0);
        yyjson_doc *got = yyjson_mut_val_imut_copy(tree, NULL);
        fuzz_require(ek_jsondiff_equal(yyjson_doc_get_root(got), to, NULL));
        yyjson_doc_free(got);
    }
    ek_free(ops);
    yyjson_doc_free(read);
}

static void check_patch(yyjson_val *from, yyjson_val *patch, unsigned flags, yyjson_mut_doc *doc)
{
    yyjson_mut_val *tree = yyjson_val_mut_copy(doc, from);
    struct ek_jsonpatch_op *ops = NULL;
    struct ek_err err = {0};
    size_t n = 0;

    if (ek_jsonpatch_parse(patch, doc, &ops, &n, &err)) {
        fuzz_require(err.message[0]);
        return;
    }
    char *before = yyjson_mut_val_write(tree, 0, NULL);
    int rc = ek_jsonpatch_apply(doc, &tree, ops, n, flags, NULL, NULL, &err);
    char *after = yyjson_mut_val_write(tree, 0, NULL);
    fuzz_require(rc == 0 || (rc == err.code && !strcmp(before, after)));
    if (rc == 0)
        check_difference(from, tree, doc);
    free(before);
    free(after);
    ek_free(ops);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    yyjson_doc *read = ek_json_parse((const char *)data, size, NULL);
    yyjson_val *root = yyjson_doc_get_root(read), *from = yyjson_obj_get(root, "doc");
    yyjson_val *other = yyjson_obj_get(root, "other");
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);

    if (from) {
        bool quoted = yyjson_get_bool(yyjson_obj_get(root, "quoted"));
        check_patch(from, yyjson_obj_get(root, "patch"), quoted ? EK_JSONPATCH_QUOTED : 0, doc);
        if (other)
            check_difference(from, yyjson_val_mut_copy(doc, other), doc);
    }
    yyjson_mut_doc_free(doc);
    yyjson_doc_free(read);
    return 0;
}
