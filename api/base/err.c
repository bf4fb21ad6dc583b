/* SPDX-License-Identifier: Apache-2.0 */
#include "api/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/quote.h"

/* Ends a message of which only a part fitted after its last whole character, because messages end
 * up in JSON. n is what printf returned for a message of size bytes. */
static void cut_message(char *message, size_t size, int n)
{
    if (n >= 0 && (size_t)n < size)
        return;
    size_t len = strlen(message), start = len;
    unsigned rune;
    while (start > 0 && len - start < 4 && ((unsigned char)message[start - 1] & 0xc0) == 0x80)
        start--;
    if (start > 0)
        start--;
    if (len > 0 && !ek_utf8_decode((struct ek_str){message + start, len - start}, &rune))
        message[start] = '\0';
}

int ek_err_set(struct ek_err *err, int code, const char *fmt, ...)
{
    va_list args;

    if (!err)
        return code;
    /* Formatted aside: the arguments may point into err itself. */
    struct ek_err fresh = {.code = code};
    va_start(args, fmt);
    int n = vsnprintf(fresh.message, sizeof fresh.message, fmt, args);
    va_end(args);
    cut_message(fresh.message, sizeof fresh.message, n);
    *err = fresh;
    return code;
}

int ek_err_prefix(struct ek_err *err, const char *fmt, ...)
{
    char joined[sizeof err->message];
    va_list args;

    if (!err || !err->code)
        return 0;
    va_start(args, fmt);
    int n = vsnprintf(joined, sizeof joined, fmt, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof joined)
        n += snprintf(joined + n, sizeof joined - (size_t)n, ": %.*s", (int)sizeof err->message - 1,
                      err->message);
    cut_message(joined, sizeof joined, n);
    memcpy(err->message, joined, sizeof joined);
    return err->code;
}

const char *ek_strerror(int code)
{
    switch (code) {
    case 0:
        return "no error";
#define X(name, text)                                                                              \
    case EK_E_##name:                                                                              \
        return text;
        EK_ERRORS(X)
#undef X
    default:
        return "unknown error";
    }
}

int ek_err_from_status(int http_status, const char *reason)
{
    static const struct {
        const char *reason;
        int status;
        int code;
    } rows[] = {
        {"Unauthorized", 401, EK_E_UNAUTHORIZED},
        {"Forbidden", 403, EK_E_FORBIDDEN},
        {"NotFound", 404, EK_E_NOENT},
        {"AlreadyExists", 0, EK_E_EXIST},
        {"Conflict", 409, EK_E_CONFLICT},
        {"Gone", 410, EK_E_GONE},
        {"Expired", 410, EK_E_GONE},
        {"Invalid", 422, EK_E_INVAL},
        {"BadRequest", 400, EK_E_INVAL},
        {"TooManyRequests", 429, EK_E_THROTTLED},
        {"Timeout", 0, EK_E_TIMEOUT},
        {"ServerTimeout", 504, EK_E_TIMEOUT},
        {"InternalError", 500, EK_E_SERVER},
        {"ServiceUnavailable", 503, EK_E_SERVER},
    };

    if (http_status >= 200 && http_status < 300 && !(reason && *reason))
        return 0;
    for (size_t i = 0; reason && *reason && i < EK_ARRAY_SIZE(rows); i++)
        if (!strcmp(rows[i].reason, reason))
            return rows[i].code;
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++)
        if (rows[i].status == http_status)
            return rows[i].code;
    if (http_status >= 500)
        return EK_E_SERVER;
    return EK_E_HTTP;
}

bool ek_err_is_retryable(int code)
{
    return code == EK_E_THROTTLED || code == EK_E_SERVER || code == EK_E_REFUSED ||
           code == EK_E_TIMEOUT || code == EK_E_NET || code == EK_E_CONFLICT || code == EK_E_GONE;
}
