/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "api/base/quote.h"
#include "api/cel/text/number.h"
#include "api/cel/text/time.h"
#include "api/cel/values/type.h"
#include "api/cel/values/value.h"

static void format(const struct ek_cel_val *v, struct ek_buf *out, unsigned depth);

static void format_list(const struct ek_cel_val *v, struct ek_buf *out, unsigned depth)
{
    struct ek_cel_iter iter;
    const char *separator = "[";

    ek_cel_iter_init(&iter, v);
    while (!out->failed && ek_cel_iter_next(&iter)) {
        ek_buf_puts(out, separator);
        format(&iter.value, out, depth);
        separator = ", ";
    }
    ek_buf_puts(out, v->n ? "]" : "[]");
}

static void format_map(const struct ek_cel_val *v, struct ek_buf *out, unsigned depth)
{
    struct ek_cel_iter iter;
    const char *separator = "{";

    if (v->form == EK_CEL_HOST) {
        ek_buf_puts(out, "{...}");
        return;
    }
    ek_cel_iter_init(&iter, v);
    while (!out->failed && ek_cel_iter_next(&iter)) {
        ek_buf_puts(out, separator);
        format(&iter.key, out, depth);
        ek_buf_puts(out, ": ");
        format(&iter.value, out, depth);
        separator = ", ";
    }
    ek_buf_puts(out, v->n ? "}" : "{}");
}

static void format_struct(const struct ek_cel_val *v, struct ek_buf *out, unsigned depth)
{
    const struct ek_cel_struct *s = v->object;

    ek_buf_printf(out, "%s{", s->type);
    for (uint32_t i = 0; i < s->n && !out->failed; i++) {
        ek_buf_printf(out, "%s%s: ", i ? ", " : "", s->fields[i].name);
        format(&s->fields[i].value, out, depth);
    }
    ek_buf_puts(out, "}");
}

static void format_bytes(const struct ek_cel_val *v, struct ek_buf *out)
{
    ek_buf_puts(out, "b\"");
    for (uint32_t i = 0; i < v->n && !out->failed; i++) {
        unsigned char c = (unsigned char)v->s[i];
        bool plain = c >= ' ' && c < 0x7F && c != '"' && c != '\\';
        ek_buf_printf(out, plain ? "%c" : "\\x%02x", c);
    }
    ek_buf_puts(out, "\"");
}

static void format_double(double d, struct ek_buf *out)
{
    char text[EK_CEL_DOUBLE_TEXT_MAX];

    if (!isfinite(d)) {
        ek_buf_printf(out, "double(\"%s\")", isnan(d) ? "NaN" : d > 0 ? "Infinity" : "-Infinity");
        return;
    }
    size_t len = ek_cel_double_f(d, text);
    ek_buf_append(out, text, len);
    if (!memchr(text, '.', len))
        ek_buf_puts(out, ".0");
}

static void format_time(const struct ek_cel_val *v, struct ek_buf *out)
{
    char text[EK_CEL_TIME_TEXT_MAX];

    if (v->kind == EK_CEL_DURATION)
        ek_cel_duration_text(v->i, text);
    else
        ek_cel_time_text(v, text);
    ek_buf_printf(out, "%s(\"%s\")", v->kind == EK_CEL_DURATION ? "duration" : "timestamp", text);
}

static void format_optional(const struct ek_cel_val *v, struct ek_buf *out, unsigned depth)
{
    if (!v->some) {
        ek_buf_puts(out, "optional.none()");
        return;
    }
    ek_buf_puts(out, "optional.of(");
    format(v->some, out, depth);
    ek_buf_puts(out, ")");
}

static void format_opaque(const struct ek_cel_val *v, struct ek_buf *out)
{
    const struct ek_cel_opaque_kind *kind = v->opaque->kind;

    ek_buf_puts(out, kind->name);
    if (!kind->format)
        return;
    ek_buf_puts(out, "(");
    kind->format(v->opaque, out);
    ek_buf_puts(out, ")");
}

static void format_container(const struct ek_cel_val *v, struct ek_buf *out, unsigned depth)
{
    if (depth >= EK_CEL_VALUE_DEPTH_MAX)
        ek_buf_puts(out, "...");
    else if (v->kind == EK_CEL_LIST)
        format_list(v, out, depth + 1);
    else if (v->kind == EK_CEL_MAP)
        format_map(v, out, depth + 1);
    else if (v->kind == EK_CEL_STRUCT)
        format_struct(v, out, depth + 1);
    else
        format_optional(v, out, depth + 1);
}

static void format(const struct ek_cel_val *v, struct ek_buf *out, unsigned depth)
{
    switch (v->kind) {
    case EK_CEL_NULL:
        ek_buf_puts(out, "null");
        break;
    case EK_CEL_BOOL:
        ek_buf_puts(out, v->b ? "true" : "false");
        break;
    case EK_CEL_INT:
        ek_buf_printf(out, "%lld", (long long)v->i);
        break;
    case EK_CEL_UINT:
        ek_buf_printf(out, "%lluu", (unsigned long long)v->u);
        break;
    case EK_CEL_DOUBLE:
        format_double(v->d, out);
        break;
    case EK_CEL_STRING:
        ek_quote(out, (struct ek_str){v->s, v->n});
        break;
    case EK_CEL_BYTES:
        format_bytes(v, out);
        break;
    case EK_CEL_TIMESTAMP:
    case EK_CEL_DURATION:
        format_time(v, out);
        break;
    case EK_CEL_TYPE:
        ek_cel_type_format(v->type, out);
        break;
    case EK_CEL_OPAQUE:
        format_opaque(v, out);
        break;
    case EK_CEL_ERROR:
        ek_buf_printf(out, "error(%s)", v->fault->message);
        break;
    default:
        format_container(v, out, depth);
        break;
    }
}

int ek_cel_format(const struct ek_cel_val *value, struct ek_buf *out)
{
    format(value, out, 0);
    return out->failed;
}
