/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/cel/lib/standard.h"
#include "api/cel/text/number.h"
#include "api/cel/text/time.h"
#include "api/cel/values/type.h"

static struct ek_cel_val refuse(struct ek_cel_eval *eval, const struct ek_cel_val *from,
                                const char *to)
{
    return ek_cel_fail(eval, "type conversion error from '%s' to '%s'", ek_cel_type_name(from), to);
}

struct ek_cel_val ek_cel_fn_identity(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                     uint32_t n)
{
    (void)eval, (void)n;
    return args[0];
}

/* ---- Types ----------------------------------------------------------------------------------- */

/* The type of an opaque value, or "type" of a struct's type: what the reference makes of those. */
static struct ek_cel_val make_type(struct ek_cel_eval *eval, const struct ek_cel_val *value)
{
    bool object = value->kind == EK_CEL_STRUCT;
    struct {
        struct ek_cel_type outer, inner;
        const struct ek_cel_type *param;
    } *made = ek_cel_alloc(eval, sizeof *made);

    if (!made)
        return ek_cel_no_memory(eval);
    made->inner = (struct ek_cel_type){.kind = object ? EK_CEL_T_STRUCT : EK_CEL_T_OPAQUE,
                                       .name = ek_cel_type_name(value)};
    made->param = &made->inner;
    made->outer =
        (struct ek_cel_type){.kind = EK_CEL_T_TYPE, .n = 1, .name = "type", .params = &made->param};
    return (struct ek_cel_val){.kind = EK_CEL_TYPE, .type = object ? &made->outer : &made->inner};
}

struct ek_cel_val ek_cel_fn_type(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    static const struct ek_cel_type optional = {.kind = EK_CEL_T_OPTIONAL, .name = "optional_type"};
    static const struct ek_cel_type *const types[EK_CEL_KIND_MAX] = {
        [EK_CEL_ERROR] = &ek_cel_type_error,         [EK_CEL_NULL] = &ek_cel_type_null,
        [EK_CEL_BOOL] = &ek_cel_type_bool,           [EK_CEL_INT] = &ek_cel_type_int,
        [EK_CEL_UINT] = &ek_cel_type_uint,           [EK_CEL_DOUBLE] = &ek_cel_type_double,
        [EK_CEL_STRING] = &ek_cel_type_string,       [EK_CEL_BYTES] = &ek_cel_type_bytes,
        [EK_CEL_LIST] = &ek_cel_type_list_dyn,       [EK_CEL_MAP] = &ek_cel_type_map_dyn,
        [EK_CEL_TIMESTAMP] = &ek_cel_type_timestamp, [EK_CEL_DURATION] = &ek_cel_type_duration,
        [EK_CEL_TYPE] = &ek_cel_type_type,           [EK_CEL_OPTIONAL] = &optional,
    };
    const struct ek_cel_type *type = types[args[0].kind];

    (void)n;
    if (!type)
        return make_type(eval, &args[0]);
    return (struct ek_cel_val){.kind = EK_CEL_TYPE, .type = type};
}

/* ---- Numbers and truth ----------------------------------------------------------------------- */

struct ek_cel_val ek_cel_to_bool(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    bool b;

    (void)n;
    if (args[0].kind == EK_CEL_STRING && ek_cel_parse_bool(args[0].s, args[0].n, &b))
        return ek_cel_bool(b);
    return refuse(eval, &args[0], "bool");
}

struct ek_cel_val ek_cel_to_double(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                   uint32_t n)
{
    double d;

    (void)n;
    switch (args[0].kind) {
    case EK_CEL_INT:
        return ek_cel_double((double)args[0].i);
    case EK_CEL_UINT:
        return ek_cel_double((double)args[0].u);
    case EK_CEL_STRING:
        if (ek_cel_parse_double(args[0].s, args[0].n, &d))
            return ek_cel_double(d);
        break;
    default:
        break;
    }
    return refuse(eval, &args[0], "double");
}

struct ek_cel_val ek_cel_to_int(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    const struct ek_cel_val *v = &args[0];
    int64_t i;

    (void)n;
    switch (v->kind) {
    case EK_CEL_DURATION: /* nanoseconds */
    case EK_CEL_TIMESTAMP:
        return ek_cel_int(v->i);
    case EK_CEL_UINT:
        if (v->u <= INT64_MAX)
            return ek_cel_int((int64_t)v->u);
        return ek_cel_fail(eval, "integer overflow");
    case EK_CEL_DOUBLE: /* the bounds themselves are refused, as the reference does */
        if (v->d > -0x1p63 && v->d < 0x1p63)
            return ek_cel_int((int64_t)v->d);
        return ek_cel_fail(eval, "integer overflow");
    case EK_CEL_STRING:
        if (ek_cel_parse_int(v->s, v->n, &i))
            return ek_cel_int(i);
        break;
    default:
        break;
    }
    return refuse(eval, v, "int");
}

struct ek_cel_val ek_cel_to_uint(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    const struct ek_cel_val *v = &args[0];
    uint64_t u;

    (void)n;
    switch (v->kind) {
    case EK_CEL_INT:
        if (v->i >= 0)
            return ek_cel_uint((uint64_t)v->i);
        return ek_cel_fail(eval, "unsigned integer overflow");
    case EK_CEL_DOUBLE:
        if (v->d >= 0 && v->d < 0x1p64)
            return ek_cel_uint((uint64_t)v->d);
        return ek_cel_fail(eval, "unsigned integer overflow");
    case EK_CEL_STRING:
        if (ek_cel_parse_uint(v->s, v->n, &u))
            return ek_cel_uint(u);
        break;
    default:
        break;
    }
    return refuse(eval, v, "uint");
}

/* ---- Text ------------------------------------------------------------------------------------ */

struct ek_cel_val ek_cel_to_bytes(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                  uint32_t n)
{
    (void)n;
    if (args[0].kind == EK_CEL_STRING)
        return ek_cel_bytes(args[0].s, args[0].n);
    return refuse(eval, &args[0], "bytes");
}

static bool is_utf8(const char *s, size_t len)
{
    unsigned rune;
    size_t n;

    for (; len; s += n, len -= n) {
        n = ek_utf8_decode((struct ek_str){s, len}, &rune);
        if (!n)
            return false;
    }
    return true;
}

static struct ek_cel_val number_text(struct ek_cel_eval *eval, const struct ek_cel_val *v)
{
    char text[EK_CEL_DOUBLE_TEXT_MAX];
    size_t len;

    if (v->kind == EK_CEL_DOUBLE)
        len = ek_cel_double_g(v->d, text);
    else if (v->kind == EK_CEL_INT)
        len = (size_t)snprintf(text, sizeof text, "%lld", (long long)v->i);
    else
        len = (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)v->u);
    return ek_cel_string_copy(eval, text, len);
}

struct ek_cel_val ek_cel_to_string(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                   uint32_t n)
{
    const struct ek_cel_val *v = &args[0];
    char text[EK_CEL_TIME_TEXT_MAX];

    (void)n;
    switch (v->kind) {
    case EK_CEL_BOOL:
        return v->b ? ek_cel_string("true", 4) : ek_cel_string("false", 5);
    case EK_CEL_INT:
    case EK_CEL_UINT:
    case EK_CEL_DOUBLE:
        return number_text(eval, v);
    case EK_CEL_BYTES:
        if (!is_utf8(v->s, v->n))
            return ek_cel_fail(eval, "invalid UTF-8 in bytes, cannot convert to string");
        return ek_cel_string(v->s, v->n);
    case EK_CEL_TIMESTAMP:
        return ek_cel_string_copy(eval, text, ek_cel_time_text(v, text));
    case EK_CEL_DURATION:
        return ek_cel_string_copy(eval, text, ek_cel_duration_text(v->i, text));
    default:
        return refuse(eval, v, "string");
    }
}

/* ---- Times ----------------------------------------------------------------------------------- */

static bool in_range(int64_t seconds)
{
    return seconds >= EK_CEL_SECONDS_MIN && seconds <= EK_CEL_SECONDS_MAX;
}

struct ek_cel_val ek_cel_to_timestamp(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                      uint32_t n)
{
    struct ek_cel_val time = args[0];

    (void)n;
    if (args[0].kind == EK_CEL_INT)
        time = ek_cel_timestamp(args[0].i, 0);
    else if (args[0].kind != EK_CEL_STRING || !ek_cel_time_parse(args[0].s, args[0].n, &time))
        return refuse(eval, &args[0], "google.protobuf.Timestamp");
    return in_range(time.i) ? time : ek_cel_fail(eval, "timestamp overflow");
}

struct ek_cel_val ek_cel_to_duration(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                     uint32_t n)
{
    int64_t ns;

    (void)n;
    if (args[0].kind == EK_CEL_STRING && ek_cel_duration_parse(args[0].s, args[0].n, &ns))
        return ek_cel_duration(ns);
    return refuse(eval, &args[0], "google.protobuf.Duration");
}
