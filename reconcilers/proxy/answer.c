/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/proxy/answer.h"

#include <stdarg.h>
#include <stdio.h>

#include "api/base/line.h"
#include "api/base/quote.h"

/* The reasons of apimachinery (pkg/apis/meta/v1/types.go:StatusReason) by HTTP status. */
static const struct {
    int code;
    const char *reason;
} reasons[] = {
    {400, "BadRequest"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "NotFound"},
    {405, "MethodNotAllowed"},
    {406, "NotAcceptable"},
    {413, "RequestEntityTooLarge"},
    {429, "TooManyRequests"},
    {500, "InternalError"},
    {503, "ServiceUnavailable"},
    {504, "Timeout"},
};

static const char *reason_of(int code)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(reasons); i++)
        if (reasons[i].code == code)
            return reasons[i].reason;
    return "";
}

void ek_proxy_answer_set(struct ek_proxy_answer *answer, int code, int retry_after_s,
                         const char *fmt, ...)
{
    va_list args;

    *answer = (struct ek_proxy_answer){
        .code = code, .reason = reason_of(code), .retry_after_s = retry_after_s};
    va_start(args, fmt);
    vsnprintf(answer->message, sizeof answer->message, fmt, args);
    va_end(args);
    answer->message[ek_utf8_cut(ek_str_from(answer->message), sizeof answer->message - 1)] = '\0';
    ek_line_clean(answer->message);
}

/* A JSON string of a clean line. */
static void put_string(struct ek_buf *out, const char *s)
{
    ek_buf_puts(out, "\"");
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            ek_buf_puts(out, "\\");
        ek_buf_append(out, s, 1);
    }
    ek_buf_puts(out, "\"");
}

int ek_proxy_answer_write(const struct ek_proxy_answer *answer, struct ek_buf *out)
{
    ek_buf_puts(out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                     "\"status\":\"Failure\",\"message\":");
    put_string(out, answer->message);
    if (*answer->reason) {
        ek_buf_puts(out, ",\"reason\":");
        put_string(out, answer->reason);
    }
    if (answer->retry_after_s > 0)
        ek_buf_printf(out, ",\"details\":{\"retryAfterSeconds\":%d}", answer->retry_after_s);
    ek_buf_printf(out, ",\"code\":%d}\n", answer->code);
    return out->failed;
}
