/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Discovery: target, Accept, If-None-Match, Accept-Encoding and User-Agent, a line each, and JSON
 * behind them. There is one reply to each, and a document that is indented stays the same value.
 */
#include <string.h>

#include "api/obj.h"
#include "reconcilers/proxy/negotiate.h"
#include "test/fuzz/fuzz.h"

#define JSON_MAX  ((size_t)64 * 1024)
#define DEPTH_MAX 64 /* the documents that are indented are ours, and flatter */

static char *take(const char **data, size_t *size)
{
    const char *end = *size ? memchr(*data, '\n', *size) : NULL;
    size_t len = end ? (size_t)(end - *data) : *size;
    char *line = ek_xstrndup(*data, len);

    *data += len + (end != NULL);
    *size -= len + (end != NULL);
    return line;
}

/* Indented JSON is as long as its depth has it, squared. */
static bool is_flat(struct ek_str json)
{
    size_t depth = 0;

    for (size_t i = 0; i < json.len && depth <= DEPTH_MAX; i++) {
        depth += json.p[i] == '[' || json.p[i] == '{';
        depth -= depth && (json.p[i] == ']' || json.p[i] == '}');
    }
    return depth <= DEPTH_MAX;
}

static void check_indent(struct ek_str json)
{
    EK_AUTO(ek_buf) out = {0};
    EK_AUTO(ek_buf) again = {0};

    if (json.len >= JSON_MAX || !is_flat(json))
        return;
    yyjson_doc *doc = ek_json_parse(json.p, json.len, NULL);
    if (!doc)
        return;
    ek_buf_init(&out, 1 << 24);
    ek_buf_init(&again, 1 << 24);
    if (ek_negotiate_indent(json, &out) == 0) {
        yyjson_doc *same = ek_json_parse(out.data, out.len, NULL);
        fuzz_require(same && ek_json_equal(yyjson_doc_get_root(doc), yyjson_doc_get_root(same)));
        fuzz_require(ek_negotiate_indent((struct ek_str){out.data, out.len}, &again) == 0);
        fuzz_require(!strcmp(ek_buf_str(&out), ek_buf_str(&again)));
        yyjson_doc_free(same);
    }
    yyjson_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *rest = (const char *)data;
    EK_AUTOFREE char *target = take(&rest, &size);
    EK_AUTOFREE char *accept = take(&rest, &size);
    EK_AUTOFREE char *tag = take(&rest, &size);
    EK_AUTOFREE char *encoding = take(&rest, &size);
    EK_AUTOFREE char *agent = take(&rest, &size);
    const struct ek_negotiate_headers headers = {accept, encoding, tag, agent};
    const struct ek_negotiate_document document = {EK_STR("{}"), EK_STR("z"), "\"A\""};
    struct ek_proxy_answer refusal;
    struct ek_negotiate_reply reply;
    EK_AUTO(ek_proxy_request) request = {0};
    EK_AUTO(ek_negotiate_choice) choice = {0};

    check_indent((struct ek_str){rest, size});
    if (!ek_proxy_request_read("GET", target, &request, &refusal))
        return 0;
    ek_negotiate_choose(&request, &headers, &choice);
    if (choice.kind == EK_NEGOTIATE_FORWARD || choice.kind == EK_NEGOTIATE_REFUSE) {
        fuzz_require((choice.kind == EK_NEGOTIATE_REFUSE) == (choice.answer.code != 0));
        return 0;
    }
    fuzz_require(choice.kind == EK_NEGOTIATE_ROOT || choice.form == EK_NEGOTIATE_PLAIN);
    fuzz_require((choice.kind == EK_NEGOTIATE_RESOURCES) == (*choice.version != '\0'));
    ek_negotiate_reply(&choice, &headers, &document, &reply);
    fuzz_require(reply.code == 200 ? reply.content_type && reply.body.len
                                   : reply.code == 304 && reply.etag && !reply.body.len);
    return 0;
}
