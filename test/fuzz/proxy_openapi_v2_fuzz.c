/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents of OpenAPI v2 that two API servers send, in both forms (the first octet chooses): a
 * merged one is a document, and merging it again changes nothing.
 */
#include <string.h>

#include "api/obj.h"
#include "reconcilers/proxy/openapi_v2.h"
#include "test/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    EK_AUTO(ek_buf) out = {0};
    EK_AUTO(ek_buf) again = {0};

    if (size < 2)
        return 0;
    enum ek_openapi_v2_form form = data[0] & 1 ? EK_OPENAPI_V2_PROTOBUF : EK_OPENAPI_V2_JSON;
    size_t half = (size_t)data[1] * (size - 2) / 255;
    struct ek_openapi_v2_doc docs[] = {{.text = {(const char *)data + 2, half}},
                                       {.text = {(const char *)data + 2 + half, size - 2 - half}}};
    ek_buf_init(&out, 1 << 24);
    ek_buf_init(&again, 1 << 24);
    if (!ek_openapi_v2_merge(form, docs, 2, &out))
        return 0;
    fuzz_require(docs[0].used || docs[1].used);
    struct ek_openapi_v2_doc twice[] = {{.text = {ek_buf_str(&out), out.len}}, docs[0]};
    fuzz_require(ek_openapi_v2_merge(form, twice, 2, &again));
    fuzz_require(twice[0].used && twice[1].used == docs[0].used);
    fuzz_require(out.len == again.len && !memcmp(out.data, again.data, out.len));
    return 0;
}
