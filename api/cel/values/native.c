/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/values/native.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/cel/text/number.h"
#include "api/cel/text/time.h"
#include "api/cel/values/type.h"
#include "api/cel/values/value.h"

static const struct {
    const char *type, *go, *name;
} libraries[] = {
    {"kubernetes.Quantity", "*resource.Quantity", "Quantity"},
    {"kubernetes.URL", "*url.URL", "URL"},
    {"net.IP", "netip.Addr", "IP"},
    {"net.CIDR", "netip.Prefix", "CIDR"},
    {"kubernetes.Semver", "semver.Version", "Semver"},
    {"kubernetes.NamedFormat", "*cel.Format", "Format"},
};

const char *ek_cel_native_name(const struct ek_cel_val *value)
{
    const char *type = ek_cel_type_name(value);

    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (!strcmp(type, libraries[i].type))
            return libraries[i].name;
    return type;
}

const char *ek_cel_native_type(const struct ek_cel_val *value)
{
    static const char *const names[EK_CEL_KIND_MAX] = {[EK_CEL_NULL] = "structpb.NullValue",
                                                       [EK_CEL_BOOL] = "bool",
                                                       [EK_CEL_INT] = "int64",
                                                       [EK_CEL_UINT] = "uint64",
                                                       [EK_CEL_DOUBLE] = "float64",
                                                       [EK_CEL_STRING] = "string",
                                                       [EK_CEL_BYTES] = "[]uint8",
                                                       [EK_CEL_LIST] = "[]ref.Val",
                                                       [EK_CEL_MAP] = "map[ref.Val]ref.Val",
                                                       [EK_CEL_TIMESTAMP] = "time.Time",
                                                       [EK_CEL_DURATION] = "time.Duration",
                                                       [EK_CEL_TYPE] = "string",
                                                       [EK_CEL_STRUCT] = "map[string]interface {}"};

    if (value->kind == EK_CEL_OPTIONAL)
        return value->some ? ek_cel_native_type(value->some) : "<nil>";
    if (value->kind < EK_CEL_KIND_MAX && names[value->kind])
        return value->form != EK_CEL_JSON   ? names[value->kind]
               : value->kind == EK_CEL_LIST ? "[]interface {}"
               : value->kind == EK_CEL_MAP  ? "map[string]interface {}"
                                            : names[value->kind];
    const char *type = ek_cel_type_name(value);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (!strcmp(type, libraries[i].type))
            return libraries[i].go;
    return type;
}

/* ---- Texts ---- */

struct printer {
    struct ek_buf *out;
    bool sharp; /* %#v */
    unsigned depth;
};

static void print(struct printer *p, const struct ek_cel_val *v);

/* "2026-02-03 04:05:06 +0000 UTC" */
static void print_time(struct printer *p, const struct ek_cel_val *v)
{
    char text[EK_CEL_TIME_TEXT_MAX], zone[16];
    size_t len = ek_cel_time_text(v, text);
    char *t = memchr(text, 'T', len);

    if (t)
        *t = ' ';
    if (len && text[len - 1] == 'Z') {
        ek_buf_append(p->out, text, len - 1);
        ek_buf_puts(p->out, " +0000 UTC");
    } else if (len > 6) {
        snprintf(zone, sizeof zone, "%.3s%.2s", text + len - 6, text + len - 2);
        ek_buf_append(p->out, text, len - 6);
        ek_buf_printf(p->out, " %s %s", zone, zone);
    }
}

/* "time.Date(2026, time.February, 3, 4, 5, 6, 0, time.UTC)" */
static void print_date(struct printer *p, const struct ek_cel_val *v)
{
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    struct ek_cel_civil at;

    ek_cel_civil_of(v->i + (int64_t)v->offset * 60, &at);
    ek_buf_printf(p->out, "time.Date(%" PRId64 ", time.%s, %d, %d, %d, %d, %u, %s)", at.year,
                  months[at.month - 1], at.day, at.hour, at.minute, at.second, v->n,
                  v->offset ? "time.Location(\"\")" : "time.UTC");
}

static void print_bytes(struct printer *p, const struct ek_cel_val *v)
{
    ek_buf_puts(p->out, p->sharp ? "[]uint8{" : "[");
    for (uint32_t i = 0; i < v->n && !p->out->failed; i++) {
        const char *separator = p->sharp ? ", " : " ";
        ek_buf_printf(p->out, p->sharp ? "%s0x%x" : "%s%u", i ? separator : "",
                      (unsigned)(unsigned char)v->s[i]);
    }
    ek_buf_puts(p->out, p->sharp ? "}" : "]");
}

static void print_string(struct printer *p, const char *s, size_t len)
{
    if (p->sharp)
        ek_quote(p->out, (struct ek_str){s, len});
    else
        ek_buf_append(p->out, s, len);
}

static void print_container(struct printer *p, const struct ek_cel_val *v)
{
    bool map = v->kind == EK_CEL_MAP;
    struct ek_cel_iter iter;
    bool first = true;

    if (p->sharp)
        ek_buf_puts(p->out, ek_cel_native_type(v));
    else if (map)
        ek_buf_puts(p->out, "map");
    ek_buf_puts(p->out, p->sharp ? "{" : "[");
    ek_cel_iter_init(&iter, v);
    while (!p->out->failed && ek_cel_iter_next(&iter)) {
        const char *separator = p->sharp ? ", " : " ";
        ek_buf_puts(p->out, first ? "" : separator);
        first = false;
        if (map) {
            print(p, &iter.key);
            ek_buf_puts(p->out, ":");
        }
        print(p, &iter.value);
    }
    ek_buf_puts(p->out, p->sharp ? "}" : "]");
}

static void print_double(struct printer *p, double d)
{
    char text[EK_CEL_DOUBLE_TEXT_MAX];

    ek_buf_append(p->out, text, ek_cel_double_g(d, text));
}

/* What is within lists and maps is a CEL value still: a struct around the Go value. */
static void print_duration(struct printer *p, int64_t ns)
{
    char text[EK_CEL_TIME_TEXT_MAX];

    if (!p->sharp)
        ek_buf_append(p->out, text, ek_cel_duration_go(ns, text));
    else if (p->depth > 1)
        ek_buf_printf(p->out, "types.Duration{Duration:%" PRId64 "}", ns);
    else
        ek_buf_printf(p->out, "%" PRId64, ns);
}

static void print_scalar(struct printer *p, const struct ek_cel_val *v)
{
    switch (v->kind) {
    case EK_CEL_NULL:
        ek_buf_puts(p->out, p->depth > 1 || p->sharp ? "0" : "NULL_VALUE");
        break;
    case EK_CEL_BOOL:
        ek_buf_puts(p->out, v->b ? "true" : "false");
        break;
    case EK_CEL_INT:
        ek_buf_printf(p->out, "%" PRId64, v->i);
        break;
    case EK_CEL_UINT:
        ek_buf_printf(p->out, p->sharp ? "0x%" PRIx64 : "%" PRIu64, v->u);
        break;
    case EK_CEL_DOUBLE:
        print_double(p, v->d);
        break;
    case EK_CEL_STRING:
        print_string(p, v->s, v->n);
        break;
    case EK_CEL_BYTES:
        print_bytes(p, v);
        break;
    case EK_CEL_TYPE:
        print_string(p, v->type->name, strlen(v->type->name));
        break;
    case EK_CEL_DURATION:
        print_duration(p, v->i);
        break;
    default:
        if (p->sharp)
            print_date(p, v);
        else
            print_time(p, v);
    }
}

/* Kubernetes' values print what string() makes of them, which stands between the parentheses of
 * how ek_cel_format writes them. */
static void print_opaque(struct printer *p, const struct ek_cel_val *v)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, 4096);
    ek_cel_format(v, &text);
    const char *s = ek_buf_str(&text), *open = strchr(s, '(');
    size_t len = text.len;
    if (open && len && s[len - 1] == ')') {
        len -= (size_t)(open - s) + 2;
        s = open + 1;
    }
    ek_buf_append(p->out, s, len);
}

static void print(struct printer *p, const struct ek_cel_val *v)
{
    if (p->depth >= EK_CEL_VALUE_DEPTH_MAX) {
        ek_buf_puts(p->out, "...");
        return;
    }
    p->depth++;
    if (v->kind == EK_CEL_LIST || v->kind == EK_CEL_MAP)
        print_container(p, v);
    else if (v->kind == EK_CEL_OPTIONAL && v->some)
        print(p, v->some);
    else if (v->kind <= EK_CEL_STRING || v->kind == EK_CEL_BYTES || v->kind == EK_CEL_TIMESTAMP ||
             v->kind == EK_CEL_DURATION || v->kind == EK_CEL_TYPE)
        print_scalar(p, v);
    else
        print_opaque(p, v);
    p->depth--;
}

void ek_cel_native_text(const struct ek_cel_val *value, struct ek_buf *out)
{
    struct printer p = {.out = out};

    print(&p, value);
}

void ek_cel_native_syntax(const struct ek_cel_val *value, struct ek_buf *out)
{
    struct printer p = {.out = out, .sharp = true};

    print(&p, value);
}

void ek_cel_native_key_error(const struct ek_cel_val *key, struct ek_err *err)
{
    char shown[64];

    if (key->kind == EK_CEL_BOOL)
        snprintf(shown, sizeof shown, "%%!q(types.Bool=%s)", key->b ? "true" : "false");
    else if (key->kind == EK_CEL_INT && key->i > 0 && key->i < 0x20)
        snprintf(shown, sizeof shown, "'\\x%02x'", (unsigned)key->i);
    else if (key->kind == EK_CEL_INT && key->i >= 0x20 && key->i < 0x7f)
        snprintf(shown, sizeof shown, "'%c'", (char)key->i);
    else
        snprintf(shown, sizeof shown, "%s", "'?'");
    ek_err_set(err, EK_E_INVAL, "map key %s is of type %s, not string", shown,
               key->kind == EK_CEL_BOOL  ? "types.Bool"
               : key->kind == EK_CEL_INT ? "types.Int"
                                         : "types.Uint");
}
