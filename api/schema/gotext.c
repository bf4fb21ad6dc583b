/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/quote.h"
#include "api/schema/merge-internal.h"

enum verb { VERB_V, VERB_SHARP_V };

static size_t len_of(const yyjson_mut_val *value)
{
    return (size_t)(value->tag >> YYJSON_TAG_BIT);
}

static bool is_real(const yyjson_mut_val *value)
{
    return (value->tag & YYJSON_SUBTYPE_MASK) == YYJSON_SUBTYPE_REAL;
}

enum ek_value_form ek_form_of(const yyjson_mut_val *value)
{
    switch (value->tag & YYJSON_TYPE_MASK) {
    case YYJSON_TYPE_BOOL:
        return EK_FORM_BOOL;
    case YYJSON_TYPE_NUM:
        if ((value->tag & YYJSON_SUBTYPE_MASK) == YYJSON_SUBTYPE_UINT)
            return value->uni.u64 > INT64_MAX ? EK_FORM_FLOAT : EK_FORM_INT;
        return is_real(value) ? EK_FORM_FLOAT : EK_FORM_INT;
    case YYJSON_TYPE_STR:
        return EK_FORM_STRING;
    case YYJSON_TYPE_ARR:
        return EK_FORM_LIST;
    case YYJSON_TYPE_OBJ:
        return EK_FORM_MAP;
    case YYJSON_TYPE_RAW:
        return EK_FORM_FOREIGN;
    default:
        return EK_FORM_NULL;
    }
}

/* The shortest digits that read back as v, with an exponent where Go's %g has one. */
static void print_float(struct ek_buf *out, double v)
{
    char digits[40];
    int precision = 0;

    if (isnan(v) || isinf(v)) {
        ek_buf_puts(out, isnan(v) ? "NaN" : v > 0 ? "+Inf" : "-Inf");
        return;
    }
    do {
        snprintf(digits, sizeof digits, "%.*e", precision, v);
    } while (strtod(digits, NULL) != v && ++precision < 17);
    int exponent = (int)strtol(strchr(digits, 'e') + 1, NULL, 10);
    if (exponent < -4 || exponent >= 6)
        ek_buf_puts(out, digits);
    else
        ek_buf_printf(out, "%.*f", precision > exponent ? precision - exponent : 0, v);
}

static double float_of(const yyjson_mut_val *value)
{
    return is_real(value) ? value->uni.f64 : (double)value->uni.u64;
}

/* Of a string or a foreign value. */
static struct ek_str str_of(const yyjson_mut_val *value)
{
    return (struct ek_str){value->uni.str, len_of(value)};
}

/* What a foreign value carries: the first three of its lines, the last one with all that follows.
 */
static struct ek_str foreign_line(const yyjson_mut_val *value, int i)
{
    struct ek_str rest = str_of(value);

    for (int at = 0; at <= i; at++) {
        const char *end = at < 2 && rest.len ? memchr(rest.p, '\n', rest.len) : NULL;
        size_t len = end ? (size_t)(end - rest.p) : rest.len;
        if (at == i)
            return (struct ek_str){rest.p, len};
        rest.p += end ? len + 1 : len;
        rest.len -= end ? len + 1 : len;
    }
    return rest;
}

void ek_go_type(struct ek_buf *out, const yyjson_mut_val *value)
{
    static const char *const names[] = {
        [EK_FORM_NULL] = "<nil>",
        [EK_FORM_BOOL] = "bool",
        [EK_FORM_INT] = "int64",
        [EK_FORM_FLOAT] = "float64",
        [EK_FORM_STRING] = "string",
        [EK_FORM_LIST] = "[]interface {}",
        [EK_FORM_MAP] = "map[string]interface {}",
    };
    enum ek_value_form form = ek_form_of(value);

    if (form == EK_FORM_FOREIGN) {
        struct ek_str name = foreign_line(value, 0);
        ek_buf_append(out, name.p, name.len);
    } else {
        ek_buf_puts(out, names[form]);
    }
}

/* A member of a map. */
struct member {
    struct ek_str name;
    yyjson_mut_val *value;
    size_t at; /* its place in the map */
};

static int by_name(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order = ek_schema_compare(x->name, y->name);

    return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* The members of a map in order of their names, owned, *ret_n of them; NULL without memory. */
static struct member *sorted_members(yyjson_mut_val *map, size_t *ret_n)
{
    size_t i, max, n = yyjson_mut_obj_size(map);
    struct member *all = ek_realloc(NULL, (n + 1) * sizeof *all);
    yyjson_mut_val *key, *val;

    if (!all)
        return NULL;
    yyjson_mut_obj_foreach(map, i, max, key, val)
    {
        struct ek_str name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
        all[i] = (struct member){name, val, i};
    }
    qsort(all, n, sizeof *all, by_name);
    *ret_n = n;
    return all;
}

static void print(struct ek_buf *out, yyjson_mut_val *value, enum verb verb);

static void print_map(struct ek_buf *out, yyjson_mut_val *map, enum verb verb)
{
    size_t n = 0;
    struct member *all = sorted_members(map, &n);

    ek_buf_puts(out, verb == VERB_V ? "map[" : "map[string]interface {}{");
    for (size_t i = 0; all && i < n && !out->failed; i++) {
        if (i > 0)
            ek_buf_puts(out, verb == VERB_V ? " " : ", ");
        if (verb == VERB_V)
            ek_buf_append(out, all[i].name.p, all[i].name.len);
        else
            ek_quote(out, all[i].name);
        ek_buf_puts(out, ":");
        print(out, all[i].value, verb);
    }
    ek_buf_puts(out, verb == VERB_V ? "]" : "}");
    ek_free(all);
}

static void print_list(struct ek_buf *out, yyjson_mut_val *list, enum verb verb)
{
    size_t i, max;
    yyjson_mut_val *item;

    ek_buf_puts(out, verb == VERB_V ? "[" : "[]interface {}{");
    yyjson_mut_arr_foreach(list, i, max, item)
    {
        if (out->failed)
            break;
        if (i > 0)
            ek_buf_puts(out, verb == VERB_V ? " " : ", ");
        print(out, item, verb);
    }
    ek_buf_puts(out, verb == VERB_V ? "]" : "}");
}

static void print(struct ek_buf *out, yyjson_mut_val *value, enum verb verb)
{
    struct ek_str s = str_of(value);

    switch (ek_form_of(value)) {
    case EK_FORM_NULL:
        ek_buf_puts(out, verb == VERB_V ? "<nil>" : "interface {}(nil)");
        break;
    case EK_FORM_BOOL:
        ek_buf_puts(out, yyjson_mut_get_bool(value) ? "true" : "false");
        break;
    case EK_FORM_INT:
        ek_buf_printf(out, "%lld", (long long)value->uni.i64);
        break;
    case EK_FORM_FLOAT:
        print_float(out, float_of(value));
        break;
    case EK_FORM_STRING:
        if (verb == VERB_V)
            ek_buf_append(out, s.p, s.len);
        else
            ek_quote(out, s);
        break;
    case EK_FORM_LIST:
        print_list(out, value, verb);
        break;
    case EK_FORM_MAP:
        print_map(out, value, verb);
        break;
    case EK_FORM_FOREIGN:
        s = foreign_line(value, verb == VERB_V ? 2 : 1);
        ek_buf_append(out, s.p, s.len);
        break;
    }
}

void ek_go_text(struct ek_buf *out, yyjson_mut_val *value)
{
    print(out, value, VERB_V);
}

void ek_go_syntax(struct ek_buf *out, yyjson_mut_val *value)
{
    print(out, value, VERB_SHARP_V);
}

static void print_part(struct ek_buf *out, yyjson_mut_val *value);

static void print_parts(struct ek_buf *out, yyjson_mut_val *value)
{
    size_t i, max;
    yyjson_mut_val *key, *val;

    yyjson_mut_arr_foreach(yyjson_mut_is_arr(value) ? value : NULL, i, max, val)
    {
        ek_buf_puts(out, i ? "," : "[");
        print_part(out, val);
    }
    if (yyjson_mut_is_arr(value))
        ek_buf_puts(out, len_of(value) ? "]" : "[]");
    yyjson_mut_obj_foreach(yyjson_mut_is_obj(value) ? value : NULL, i, max, key, val)
    {
        struct ek_str name = str_of(key);
        ek_buf_append(out, name.p, name.len);
        ek_buf_puts(out, "=");
        print_part(out, val);
    }
}

static void print_part(struct ek_buf *out, yyjson_mut_val *value)
{
    switch (ek_form_of(value)) {
    case EK_FORM_NULL:
        ek_buf_puts(out, "null");
        break;
    case EK_FORM_STRING:
        print(out, value, VERB_SHARP_V);
        break;
    case EK_FORM_FOREIGN:
        ek_buf_puts(out, "{{undefined}}");
        break;
    case EK_FORM_LIST:
    case EK_FORM_MAP:
        if (!out->failed)
            print_parts(out, value);
        break;
    default:
        print(out, value, VERB_V);
    }
}

void ek_go_part(struct ek_buf *out, const yyjson_mut_val *value)
{
    yyjson_mut_val copy = *value;
    print_part(out, &copy);
}

yyjson_mut_val *ek_merge_foreign(yyjson_mut_doc *doc, const char *go_type, const char *go_syntax,
                                 const char *go_text)
{
    EK_AUTOFREE char *text = ek_xasprintf("%s\n%s\n%s", go_type, go_syntax, go_text);
    return yyjson_mut_rawcpy(doc, text);
}
