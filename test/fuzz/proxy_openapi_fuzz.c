/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of OpenAPI that an API server sends: a merged one is an index with each path of the
 * first one as it was, and merging it again changes nothing.
 */
#include <string.h>

#include "api/obj.h"
#include "reconcilers/proxy/openapi.h"
#include "test/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const group_versions[] = {"/v1", "apps/v1"};
    const struct ek_str index = {(const char *)data, size};
    EK_AUTO(ek_buf) out = {0};
    EK_AUTO(ek_buf) again = {0};
    const char *key;
    yyjson_val *name, *item;
    yyjson_obj_iter iter, merged;

    ek_buf_init(&out, 1 << 24);
    ek_buf_init(&again, 1 << 24);
    if (!ek_openapi_merge(index, group_versions, 2, &out))
        return 0;
    yyjson_doc *before = ek_json_parse(index.p, index.len, NULL);
    yyjson_doc *after = ek_json_parse(out.data, out.len, NULL);
    fuzz_require(before && after);
    yyjson_val *paths = yyjson_obj_get(yyjson_doc_get_root(after), "paths");
    fuzz_require(yyjson_obj_get(paths, "api/v1") && yyjson_obj_get(paths, "apis/apps/v1"));
    yyjson_obj_iter_init(yyjson_obj_get(yyjson_doc_get_root(before), "paths"), &iter);
    yyjson_obj_iter_init(paths, &merged); /* finds members in the order of the first one at once */
    while ((name = yyjson_obj_iter_next(&iter))) {
        key = yyjson_get_str(name);
        item = yyjson_obj_iter_get_val(name);
        fuzz_require(strlen(key) != yyjson_get_len(name) ||
                     ek_json_equal(item, yyjson_obj_iter_get(&merged, key)));
    }
    fuzz_require(ek_openapi_merge((struct ek_str){out.data, out.len}, group_versions, 2, &again));
    fuzz_require(!strcmp(ek_buf_str(&out), ek_buf_str(&again)));
    yyjson_doc_free(before);
    yyjson_doc_free(after);
    return 0;
}
