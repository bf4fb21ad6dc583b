/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What servers answer, as the client takes it once libcurl has split it: header lines up to an
 * empty one, then the body. Whatever they are, the outcome is an answer or one clean line of error,
 * and no wait is negative or overflows.
 */
#include <string.h>

#include "informers/cache/decode.h"
#include "informers/client/client-internal.h"
#include "test/fuzz/fuzz.h"

#define DAY_MS ((int64_t)86400 * 1000)

static void check_error(int rc, const struct ek_err *err)
{
    fuzz_require(rc < 0 && err->code == rc && *err->message);
    for (const char *p = err->message; *p; p++)
        fuzz_require((unsigned char)*p >= 0x20);
    for (const char *p = err->reason; *p; p++)
        fuzz_require((unsigned char)*p >= 0x20);
    fuzz_require(err->retry_after_ms >= 0);
}

/* Takes lines until an empty one; returns how much they were. */
static size_t take_headers(struct ek_call *call, const char *data, size_t size)
{
    size_t at = 0;

    while (at < size) {
        const char *end = memchr(data + at, '\n', size - at);
        size_t len = end ? (size_t)(end - data) - at + 1 : size - at;
        fuzz_require(call_on_header__((char *)(uintptr_t)(data + at), 1, len, call) == len);
        at += len;
        if (len == 1)
            break;
    }
    return at;
}

static void check_status(const char *body, size_t len)
{
    yyjson_doc *doc = ek_json_parse(body, len, NULL);
    struct ek_err err = {0};

    if (!doc)
        return;
    check_error(ek_decode_status(yyjson_doc_get_root(doc), &err), &err);
    fuzz_require(err.retry_after_ms <= DAY_MS);
    yyjson_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const CURLcode results[] = {CURLE_OK, CURLE_RECV_ERROR, CURLE_GOT_NOTHING,
                                       CURLE_BAD_CONTENT_ENCODING};
    static uv_loop_t loop;
    struct ek_client client = {.loop = &loop};
    struct ek_call call = {.client = &client,
                           .request = {.method = "GET", .path = "/api?x=y"},
                           .deadline = EK_NEVER,
                           .host = (char[]){"10.0.0.1:6443"}};
    struct ek_err err = {0};

    call.easy = curl_easy_init();
    call_answer_reset__(&call);
    size_t at = take_headers(&call, (const char *)data, size);
    const char *body = (const char *)data + at;
    ek_buf_append(&call.answer.body, body, size - at);
    for (size_t i = 0; i < EK_ARRAY_SIZE(results); i++) {
        struct next_step step = answer_next_step__(&call, results[i]);
        fuzz_require(step.wait_ms >= 0 && step.wait_ms <= EK_CLIENT_RETRY_AFTER_MAX);
        int rc = answer_error__(&call, results[i], &err);
        if (rc)
            check_error(rc, &err);
    }
    check_status(body, size - at);
    call_answer_reset__(&call);
    curl_easy_cleanup(call.easy);
    return 0;
}
