/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/telemetry/section.h"

#include "api/base/buf.h"
#include "api/base/quote.h"

struct ek_debug_doc ek_debug_object(const struct ek_debug_doc *d, const char *name)
{
    return (struct ek_debug_doc){d->doc, yyjson_mut_obj_add_obj(d->doc, d->at, name), d->now};
}

struct ek_debug_doc ek_debug_item(const struct ek_debug_doc *d, yyjson_mut_val *list)
{
    return (struct ek_debug_doc){d->doc, yyjson_mut_arr_add_obj(d->doc, list), d->now};
}

static bool is_utf8(struct ek_str s)
{
    unsigned rune;

    for (size_t i = 0, len; i < s.len; i += len) {
        len = ek_utf8_decode((struct ek_str){s.p + i, s.len - i}, &rune);
        if (len == 0)
            return false;
    }
    return true;
}

void ek_debug_put(const struct ek_debug_doc *d, const char *name, const char *text)
{
    struct ek_str s = ek_str_from(text ? text : "");

    if (is_utf8(s)) {
        yyjson_mut_obj_add_strncpy(d->doc, d->at, name, s.p, s.len);
        return;
    }
    EK_AUTO(ek_buf) safe;
    ek_buf_init(&safe, EK_BUF_SMALL_MAX);
    ek_quote_inner(&safe, s);
    yyjson_mut_obj_add_strncpy(d->doc, d->at, name, ek_buf_str(&safe), safe.len);
}

void ek_debug_put_item(const struct ek_debug_doc *d, yyjson_mut_val *list, const char *text)
{
    if (is_utf8(ek_str_from(text)))
        yyjson_mut_arr_add_strcpy(d->doc, list, text);
}

void ek_debug_put_some(const struct ek_debug_doc *d, const char *name, const char *text)
{
    if (text && *text)
        ek_debug_put(d, name, text);
}

void ek_debug_put_count(const struct ek_debug_doc *d, const char *name, unsigned long long n)
{
    yyjson_mut_obj_add_uint(d->doc, d->at, name, n);
}

void ek_debug_put_bool(const struct ek_debug_doc *d, const char *name, bool value)
{
    yyjson_mut_obj_add_bool(d->doc, d->at, name, value);
}

void ek_debug_put_wall(const struct ek_debug_doc *d, const char *name, int64_t ms)
{
    char text[EK_TIME_SIZE];

    if (ms != EK_TIME_UNSET)
        yyjson_mut_obj_add_strcpy(d->doc, d->at, name, ek_time_format_micro(ms, text));
}

void ek_debug_put_mono(const struct ek_debug_doc *d, const char *name, int64_t ms)
{
    if (ms != EK_TIME_UNSET)
        ek_debug_put_wall(d, name, d->now.wall_ms + (ms - d->now.mono_ms));
}

void ek_debug_put_boot(const struct ek_debug_doc *d, const char *name, int64_t ms)
{
    if (ms != EK_TIME_UNSET)
        ek_debug_put_wall(d, name, d->now.wall_ms + (ms - d->now.boot_ms));
}

void ek_debug_put_reason(const struct ek_debug_doc *d, int code, const char *message)
{
    ek_debug_put(d, "reason", ek_strerror(code));
    ek_debug_put(d, "message", message);
}

void ek_debug_put_error(const struct ek_debug_doc *d, const char *name, const struct ek_err *err)
{
    if (!err->code)
        return;
    struct ek_debug_doc error = ek_debug_object(d, name);
    ek_debug_put_reason(&error, err->code, err->message);
    if (err->http_status)
        ek_debug_put_count(&error, "httpStatus", (unsigned long long)err->http_status);
}
