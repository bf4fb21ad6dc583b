/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/telemetry/log_encode.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/base/time.h"

static void escape(struct ek_buf *out, unsigned code)
{
    switch (code) {
    case '"':
        ek_buf_puts(out, "\\\"");
        return;
    case '\\':
        ek_buf_puts(out, "\\\\");
        return;
    case '\n':
        ek_buf_puts(out, "\\n");
        return;
    case '\r':
        ek_buf_puts(out, "\\r");
        return;
    case '\t':
        ek_buf_puts(out, "\\t");
        return;
    default:
        ek_buf_printf(out, "\\u%04x", code);
    }
}

/* Characters that must not reach a terminal or end a line: C0, DEL, C1, line separators and the
 * controls that reorder text. */
static bool is_unsafe(unsigned code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == '"' || code == '\\' ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/* Appends s as a JSON string: quotes, backslashes, control characters (C0, DEL and C1) escaped,
 * bytes that are no UTF-8 as U+FFFD. */
static void encode_string(struct ek_buf *out, const char *s)
{
    size_t n = strnlen(s, EK_LOG_VALUE_MAX + 1), plain = 0, i = 0;
    bool cut = n > EK_LOG_VALUE_MAX;

    if (cut)
        n = EK_LOG_VALUE_MAX;
    ek_buf_append(out, "\"", 1);
    while (i < n) {
        unsigned code = 0xfffd;
        size_t len = ek_utf8_decode((struct ek_str){s + i, n - i}, &code);
        if (len && !is_unsafe(code)) {
            i += len;
            continue;
        }
        ek_buf_append(out, s + plain, i - plain);
        escape(out, code);
        i += len ? len : 1;
        plain = i;
    }
    ek_buf_append(out, s + plain, n - plain);
    ek_buf_puts(out, cut ? "...\"" : "\"");
}

static void encode_double(struct ek_buf *out, double d)
{
    if (isfinite(d))
        ek_buf_printf(out, "%.10g", d);
    else
        ek_buf_puts(out, isnan(d) ? "\"NaN\"" : d > 0 ? "\"+Inf\"" : "\"-Inf\"");
}

static void encode_value(struct ek_buf *out, const struct ek_log_field *field)
{
    switch (field->kind) {
    case EK_LOG_KIND_STR:
        if (field->s)
            encode_string(out, field->s);
        else
            ek_buf_puts(out, "null");
        break;
    case EK_LOG_KIND_INT:
        ek_buf_printf(out, "%" PRId64, field->i);
        break;
    case EK_LOG_KIND_UINT:
    case EK_LOG_KIND_COUNT:
        ek_buf_printf(out, "%" PRIu64, field->u);
        break;
    case EK_LOG_KIND_DOUBLE:
        encode_double(out, field->d);
        break;
    case EK_LOG_KIND_BOOL:
        ek_buf_puts(out, field->b ? "true" : "false");
        break;
    case EK_LOG_KIND_MS:
        encode_double(out, (double)field->i / 1000);
        break;
    case EK_LOG_KIND_END:
    case EK_LOG_KIND_MAX:
        ek_buf_puts(out, "null");
        break;
    }
}

void ek_log_encode_fields(struct ek_buf *out, const struct ek_log_field *fields,
                          enum ek_log_encoder encoder, bool first)
{
    bool spaced = encoder == EK_LOG_CONSOLE;

    for (; fields->kind != EK_LOG_KIND_END; fields++) {
        if (fields->kind == EK_LOG_KIND_COUNT && fields->u == 0)
            continue;
        if (!first)
            ek_buf_puts(out, spaced ? ", " : ",");
        first = false;
        encode_string(out, fields->key);
        ek_buf_puts(out, spaced ? ": " : ":");
        encode_value(out, fields);
    }
}

/* "2026-11-20T10:58:09" of the second that contains now_ns, and the nanoseconds within it. */
static int64_t split_second(int64_t now_ns, char text[EK_TIME_SIZE])
{
    int64_t seconds = now_ns / 1000000000, rest = now_ns % 1000000000;

    if (rest < 0) {
        rest += 1000000000;
        seconds--;
    }
    ek_time_format(seconds * 1000, text);
    text[strcspn(text, "Z")] = '\0';
    return rest;
}

static void encode_text_time(struct ek_buf *out, int64_t now_ns, enum ek_log_time encoding)
{
    char text[EK_TIME_SIZE], fraction[16] = "";
    int64_t rest = split_second(now_ns, text);

    if (encoding == EK_LOG_TIME_ISO8601)
        snprintf(fraction, sizeof fraction, ".%03d", (int)(rest / 1000000));
    if (encoding == EK_LOG_TIME_RFC3339NANO && rest) {
        int n = snprintf(fraction, sizeof fraction, ".%09d", (int)rest);
        while (n > 1 && fraction[n - 1] == '0')
            fraction[--n] = '\0';
    }
    ek_buf_printf(out, "%s%sZ", text, fraction);
}

void ek_log_encode_time(struct ek_buf *out, int64_t now_ns, enum ek_log_time encoding, bool quoted)
{
    switch (encoding) {
    case EK_LOG_TIME_EPOCH:
        ek_buf_printf(out, "%" PRId64 ".%06d", now_ns / 1000000000,
                      (int)(now_ns % 1000000000 / 1000));
        return;
    case EK_LOG_TIME_MILLIS:
        ek_buf_printf(out, "%" PRId64 ".%06d", now_ns / 1000000, (int)(now_ns % 1000000));
        return;
    case EK_LOG_TIME_NANO:
        ek_buf_printf(out, "%" PRId64, now_ns);
        return;
    case EK_LOG_TIME_RFC3339:
    case EK_LOG_TIME_RFC3339NANO:
    case EK_LOG_TIME_ISO8601:
    case EK_LOG_TIME_MAX:
        break;
    }
    ek_buf_puts(out, quoted ? "\"" : "");
    encode_text_time(out, now_ns, encoding);
    ek_buf_puts(out, quoted ? "\"" : "");
}
