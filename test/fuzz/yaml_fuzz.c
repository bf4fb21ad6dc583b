/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML: whatever is read is written as something that reads as the same.
 */
#include <stdlib.h>

#include "api/obj.h"
#include "api/yaml.h"
#include "test/fuzz/fuzz.h"

#define IN_MAX  ((size_t)1024 * 1024)
#define OUT_MAX ((size_t)256 * 1024 * 1024)

static void require(bool truth)
{
    if (!truth)
        abort();
}

static void check_round_trip(yyjson_val *value)
{
    EK_AUTO(ek_buf) text;
    yyjson_doc *again = NULL;

    ek_buf_init(&text, OUT_MAX);
    require(ek_yaml_write(&text, value, NULL) == 0);
    require(ek_yaml_parse(text.data, text.len, OUT_MAX, &again, NULL) == 0);
    require(ek_json_equal(value, yyjson_doc_get_root(again)));
    yyjson_doc_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ek_err err = {0};
    yyjson_doc *doc = NULL;

    int rc = ek_yaml_parse_all((const char *)data, size, IN_MAX, &doc, &err);
    require(rc == err.code && (rc == 0) == (doc != NULL) && (rc == 0) == !err.message[0]);
    if (rc)
        return 0;
    yyjson_val *document;
    size_t i, n;
    yyjson_arr_foreach(yyjson_doc_get_root(doc), i, n, document)
    {
        check_round_trip(document);
    }
    yyjson_doc_free(doc);
    return 0;
}
