/* SPDX-License-Identifier: Apache-2.0 */
/*
 * string.format: what runs. The clauses and numbers are in lib/format_clause.c and
 * lib/format_number.c.
 */
#include <string.h>

#include "api/base/quote.h"
#include "api/cel/lib/format.h"
#include "api/cel/lib/strings.h"
#include "api/cel/text/number.h"
#include "api/cel/text/time.h"
#include "api/cel/values/list.h"
#include "api/cel/values/type.h"
#include "api/cel/values/value.h"

struct writer {
    struct ek_cel_eval *eval;
    struct ek_cel_text out;
    struct ek_cel_val error; /* null until something fails */
    bool spec;
};

/* False when writing cannot go on. */
static bool going(struct writer *w)
{
    if (w->out.failed && w->error.kind != EK_CEL_ERROR)
        w->error = ek_cel_no_memory(w->eval);
    return w->error.kind != EK_CEL_ERROR;
}

static bool refuse(struct writer *w, const char *what, const struct ek_cel_val *value)
{
    w->error =
        ek_cel_fail(w->eval, "error during formatting: %s %s", what, ek_cel_type_name(value));
    return false;
}

static bool unsuited(struct writer *w, char verb, const struct ek_cel_val *value)
{
    w->error = ek_cel_fail(w->eval, "error during formatting: %s, was given %s",
                           ek_cel_clause_complaint(verb, w->spec), ek_cel_type_name(value));
    return false;
}

static void put(struct writer *w, const char *s)
{
    ek_cel_text_add(&w->out, s, strlen(s));
}

static bool put_value(struct writer *w, const struct ek_cel_val *value, unsigned level);

/* ---- Values as strings -------------------------------------------------------------------------
 */

static bool is_utf8(const struct ek_cel_val *bytes)
{
    unsigned rune;
    size_t size;

    for (size_t at = 0; at < bytes->n; at += size) {
        size = ek_utf8_decode((struct ek_str){bytes->s + at, bytes->n - at}, &rune);
        if (size == 0)
            return false;
    }
    return true;
}

static bool put_bytes(struct writer *w, const struct ek_cel_val *value, bool nested)
{
    if (w->spec) {
        ek_cel_text_lossy(&w->out, value->s, value->n);
        return true;
    }
    if (!is_utf8(value)) {
        w->error = ek_cel_fail(w->eval, "error during formatting: could not convert argument "
                                        "\"invalid UTF-8 in bytes, cannot convert to string\" to "
                                        "string");
        return false;
    }
    if (nested) {
        put(w, "b");
        ek_cel_text_quote(&w->out, value->s, value->n);
    } else {
        ek_cel_text_add(&w->out, value->s, value->n);
    }
    return true;
}

static void put_double(struct writer *w, double d, bool nested)
{
    char text[EK_CEL_DOUBLE_TEXT_MAX];

    if (w->spec) {
        ek_cel_decimal_spec(&w->out, d);
    } else if (nested) {
        bool quoted = d - d != 0; /* no number of that name can be written */

        put(w, quoted ? "\"" : "");
        ek_cel_fixed_plain(&w->out, d);
        put(w, quoted ? "\"" : "");
    } else {
        ek_cel_text_add(&w->out, text, ek_cel_double_g(d, text));
    }
}

static void put_time(struct writer *w, const struct ek_cel_val *value, bool nested)
{
    struct ek_cel_val at = *value;
    int64_t seconds = at.i / 1000000000;
    char text[EK_CEL_TIME_TEXT_MAX];
    size_t len;

    if (value->kind == EK_CEL_TIMESTAMP) {
        if (w->spec)
            at.offset = 0;
        len = ek_cel_time_text(&at, text);
    } else if (w->spec) { /* seconds as a double, which has fewer digits */
        ek_cel_decimal_spec(&w->out, (double)seconds + (double)(at.i % 1000000000) / 1e9);
        put(w, "s");
        return;
    } else {
        len = ek_cel_duration_text(at.i, text);
    }
    if (nested && !w->spec)
        put(w, value->kind == EK_CEL_TIMESTAMP ? "timestamp(\"" : "duration(\"");
    ek_cel_text_add(&w->out, text, len);
    if (nested && !w->spec)
        put(w, "\")");
}

static bool put_list(struct writer *w, const struct ek_cel_val *list, unsigned level)
{
    struct ek_cel_iter iter;
    bool first = true;

    put(w, "[");
    ek_cel_iter_init(&iter, list);
    while (ek_cel_iter_next(&iter)) {
        if (!first)
            put(w, ", ");
        first = false;
        if (!put_value(w, &iter.value, level + 1))
            return false;
    }
    put(w, "]");
    return true;
}

/* A key as text of its own, by which entries are sorted. */
static bool key_text(struct writer *w, const struct ek_cel_val *key, struct ek_cel_val *ret)
{
    struct ek_cel_text outer = w->out;
    bool ok;

    ek_cel_text_init(&w->out, w->eval);
    ok = put_value(w, key, 1);
    *ret = ek_cel_text_take(&w->out);
    w->out = outer;
    return ok && ret->kind == EK_CEL_STRING;
}

/* The entries of a map: their keys as text, their values, and their numbers by the order of keys.
 */
struct entries {
    struct ek_cel_val *keys, *values;
    uint32_t *order;
};

static bool sort_entries(struct writer *w, const struct ek_cel_val *map, struct entries *ret)
{
    struct ek_cel_iter iter;
    uint32_t n = 0;

    ret->keys = ek_cel_alloc(w->eval, map->n * sizeof *ret->keys);
    ret->values = ek_cel_alloc(w->eval, map->n * sizeof *ret->values);
    ret->order = ek_cel_alloc(w->eval, map->n * sizeof *ret->order);
    if (!ret->keys || !ret->values || !ret->order) {
        w->error = ek_cel_no_memory(w->eval);
        return false;
    }
    ek_cel_iter_init(&iter, map);
    for (; n < map->n && ek_cel_iter_next(&iter); n++) {
        if (iter.key.kind == EK_CEL_DOUBLE && !w->spec)
            return refuse(w, "no formatting function for map key of type", &iter.key);
        if (!key_text(w, &iter.key, &ret->keys[n]))
            return false;
        ret->values[n] = iter.value;
    }
    ek_cel_sort_order(ret->keys, n, ret->order);
    return true;
}

static bool put_map(struct writer *w, const struct ek_cel_val *map, unsigned level)
{
    struct entries entries = {0};

    put(w, "{");
    if (map->n && !sort_entries(w, map, &entries))
        return false;
    for (uint32_t i = 0; i < map->n; i++) {
        const struct ek_cel_val *key = &entries.keys[entries.order[i]];

        ek_cel_text_add(&w->out, key->s, key->n);
        put(w, w->spec ? ": " : ":");
        if (!put_value(w, &entries.values[entries.order[i]], level + 1))
            return false;
        if (i + 1 < map->n)
            put(w, ", ");
    }
    put(w, "}");
    return true;
}

static void put_integer(struct writer *w, const struct ek_cel_val *value)
{
    char text[24], *p = text + sizeof text;
    uint64_t rest = value->u;
    bool negative = value->kind == EK_CEL_INT && value->i < 0;

    if (negative)
        rest = -rest;
    do
        *--p = (char)('0' + rest % 10);
    while (rest /= 10);
    if (negative)
        *--p = '-';
    ek_cel_text_add(&w->out, p, (size_t)(text + sizeof text - p));
}

/* Clause s at level 0; in a list or map texts are as they would be written in an expression, but
 * for the specification's. */
static bool put_value(struct writer *w, const struct ek_cel_val *value, unsigned level)
{
    if (!going(w))
        return false;
    if (level > EK_CEL_VALUE_DEPTH_MAX) {
        w->error = ek_cel_fail(w->eval, "error during formatting: nested too deeply");
        return false;
    }
    switch (value->kind) {
    case EK_CEL_NULL:
        put(w, "null");
        return true;
    case EK_CEL_BOOL:
        put(w, value->b ? "true" : "false");
        return true;
    case EK_CEL_INT:
    case EK_CEL_UINT:
        put_integer(w, value);
        return true;
    case EK_CEL_DOUBLE:
        put_double(w, value->d, level > 0);
        return true;
    case EK_CEL_STRING:
        if (level > 0 && !w->spec)
            ek_cel_text_quote(&w->out, value->s, value->n);
        else
            ek_cel_text_add(&w->out, value->s, value->n);
        return true;
    case EK_CEL_BYTES:
        return put_bytes(w, value, level > 0);
    case EK_CEL_TIMESTAMP:
    case EK_CEL_DURATION:
        put_time(w, value, level > 0);
        return true;
    case EK_CEL_TYPE:
        put(w, value->type->name);
        return true;
    case EK_CEL_LIST:
        return put_list(w, value, level);
    case EK_CEL_MAP:
        if (value->form != EK_CEL_HOST)
            return put_map(w, value, level);
        return unsuited(w, 's', value);
    default:
        if (level > 0 && !w->spec)
            return refuse(w, "no formatting function for", value);
        return unsuited(w, 's', value);
    }
}

/* ---- Clauses -----------------------------------------------------------------------------------
 */

/* An integer in a base of 2 to the power of bits, with a sign. */
static void put_based(struct writer *w, const struct ek_cel_val *value, unsigned bits,
                      const char *digits)
{
    char text[66], *p = text + sizeof text;
    uint64_t rest = value->u;
    bool negative = value->kind == EK_CEL_INT && value->i < 0;

    if (negative)
        rest = -rest;
    do
        *--p = digits[rest & ((1u << bits) - 1)];
    while (rest >>= bits);
    if (negative)
        *--p = '-';
    ek_cel_text_add(&w->out, p, (size_t)(text + sizeof text - p));
}

static void put_hex_octets(struct writer *w, const struct ek_cel_val *value, const char *digits)
{
    char pairs[64];
    size_t n = 0;

    for (uint32_t i = 0; i < value->n && !w->out.failed; i++) {
        pairs[n++] = digits[(unsigned char)value->s[i] >> 4];
        pairs[n++] = digits[(unsigned char)value->s[i] & 0xf];
        if (n == sizeof pairs || i + 1 == value->n) {
            ek_cel_text_add(&w->out, pairs, n);
            n = 0;
        }
    }
}

static bool is_integer(const struct ek_cel_val *value)
{
    return value->kind == EK_CEL_INT || value->kind == EK_CEL_UINT;
}

static bool is_text(const struct ek_cel_val *value, const char *text)
{
    return value->kind == EK_CEL_STRING && value->n == strlen(text) &&
           memcmp(value->s, text, value->n) == 0;
}

/* Clauses f and e. */
static bool put_number(struct writer *w, const struct ek_cel_val *value,
                       const struct ek_cel_clause *clause)
{
    double d = value->d;

    if (w->spec) {
        if (!is_integer(value) && value->kind != EK_CEL_DOUBLE)
            return unsuited(w, clause->verb, value);
        (clause->verb == 'f' ? ek_cel_fixed_spec : ek_cel_scientific_spec)(&w->out, value, clause);
        return true;
    }
    if (is_text(value, "NaN"))
        d = __builtin_nan("");
    else if (is_text(value, "Infinity"))
        d = __builtin_inf();
    else if (is_text(value, "-Infinity"))
        d = -__builtin_inf();
    else if (value->kind != EK_CEL_DOUBLE)
        return unsuited(w, clause->verb, value);
    (clause->verb == 'f' ? ek_cel_fixed_localized : ek_cel_scientific_localized)(&w->out, d,
                                                                                 clause);
    return true;
}

static bool put_clause(struct writer *w, const struct ek_cel_val *value,
                       const struct ek_cel_clause *clause)
{
    const char *digits = clause->verb == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";

    switch (clause->verb) {
    case 's':
        return put_value(w, value, 0);
    case 'd':
        if (is_integer(value))
            put_integer(w, value);
        else if (value->kind == EK_CEL_DOUBLE && w->spec)
            ek_cel_decimal_spec(&w->out, value->d);
        else
            return unsuited(w, 'd', value);
        return true;
    case 'f':
    case 'e':
        return put_number(w, value, clause);
    case 'b':
        if (value->kind == EK_CEL_BOOL)
            put(w, value->b ? "1" : "0");
        else if (is_integer(value))
            put_based(w, value, 1, digits);
        else
            return unsuited(w, 'b', value);
        return true;
    case 'o':
        if (!is_integer(value))
            return unsuited(w, 'o', value);
        put_based(w, value, 3, digits);
        return true;
    default:
        if (is_integer(value))
            put_based(w, value, 4, digits);
        else if (value->kind == EK_CEL_STRING || value->kind == EK_CEL_BYTES)
            put_hex_octets(w, value, digits);
        else
            return unsuited(w, clause->verb, value);
        return true;
    }
}

/* Writes the clause at s, behind its percent sign, for the argument number at. Sets *ret_len. */
static bool put_argument(struct writer *w, const char *s, size_t len, const struct ek_cel_val *list,
                         uint32_t at, size_t *ret_len)
{
    struct ek_cel_clause clause = {0};
    struct ek_cel_val value;
    char message[256];

    if (at >= list->n)
        w->error = ek_cel_fail(w->eval, "index %u out of range", at);
    else if (len == 0)
        w->error = ek_cel_fail(w->eval, "unexpected end of string");
    else if (!ek_cel_clause_read(s, len, &clause, message, sizeof message))
        w->error = ek_cel_fail(w->eval, "%s", message);
    if (w->error.kind == EK_CEL_ERROR)
        return false;
    *ret_len = clause.len;
    value = ek_cel_list_at(list, at);
    return put_clause(w, &value, &clause);
}

static struct ek_cel_val format(struct ek_cel_eval *eval, const struct ek_cel_val *args, bool spec)
{
    const char *s = args[0].s, *end = s + args[0].n, *percent;
    struct writer w = {.eval = eval, .error = ek_cel_null(), .spec = spec};
    uint32_t at = 0;
    size_t len = 0;

    ek_cel_text_init(&w.out, eval);
    while (s < end && (percent = memchr(s, '%', (size_t)(end - s)))) {
        ek_cel_text_add(&w.out, s, (size_t)(percent - s));
        s = percent + 1;
        if (s < end && *s == '%') {
            ek_cel_text_add(&w.out, s++, 1);
            continue;
        }
        if (!put_argument(&w, s, (size_t)(end - s), &args[1], at++, &len) || !going(&w))
            return w.error;
        s += len;
    }
    ek_cel_text_add(&w.out, s, (size_t)(end - s));
    return ek_cel_text_take(&w.out);
}

struct ek_cel_val ek_cel_format_localized(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                          uint32_t n)
{
    (void)n;
    return format(eval, args, false);
}

struct ek_cel_val ek_cel_format_spec(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                     uint32_t n)
{
    (void)n;
    return format(eval, args, true);
}
