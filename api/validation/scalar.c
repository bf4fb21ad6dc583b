/* SPDX-License-Identifier: Apache-2.0 */
/* What a schema says of one value: enum, bounds, pattern, format, numbers of items. The order and
 * the words are those of kube-openapi pkg/validation/validate (values.go, validator.go). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/cel/library.h"
#include "api/cel/text/number.h"
#include "api/obj.h"
#include "api/validation/validation-internal.h"

static bool is_int(yyjson_val *value)
{
    return yyjson_is_sint(value) || (yyjson_is_uint(value) && yyjson_get_uint(value) <= INT64_MAX);
}

/* A number as the verb v of Go prints it, or hidden. */
static const char *number_text(struct ek_vwalk *w, yyjson_val *value)
{
    struct ek_arena *arena = w->arena;
    char text[EK_CEL_DOUBLE_TEXT_MAX];

    if (w->hides)
        return ek_vtext__(w, value);
    if (is_int(value))
        return ek_arena_printf(arena, "%" PRId64, yyjson_get_sint(value));
    ek_cel_double_g(yyjson_get_num(value), text);
    return ek_arena_strdup(arena, text);
}

/* ---- Enums ---- */

/* Go converts the value to the type of the item: a fraction is cut off. */
static bool is_cut(yyjson_val *item, yyjson_val *value)
{
    return is_int(item) && yyjson_is_real(value) && fabs(yyjson_get_real(value)) < 9e18 &&
           (int64_t)yyjson_get_real(value) == yyjson_get_sint(item);
}

static bool is_one_of(yyjson_val *list, yyjson_val *value, struct ek_work *work)
{
    yyjson_val *item;
    size_t i, n;

    if (yyjson_is_null(value)) /* an API server finds no null in an enum */
        return false;
    yyjson_arr_foreach(list, i, n, item)
    {
        if (ek_json_equal_within(item, value, work) || is_cut(item, value))
            return true;
    }
    return false;
}

void ek_venum__(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                const struct ek_vpath *path)
{
    yyjson_val *list = yyjson_obj_get(schema, "enum"), *item;
    EK_AUTO(ek_buf) supported;
    size_t i, n;

    ek_buf_init(&supported, (size_t)1 << 20);
    if (!yyjson_arr_size(list) || is_one_of(list, value, w->work))
        return;
    yyjson_arr_foreach(ek_vkeeps__(w) ? list : NULL, i, n, item)
    {
        const char *text = yyjson_is_str(item) ? yyjson_get_str(item) : ek_vjson__(w, item);
        ek_buf_puts(&supported, i ? ", " : "");
        ek_quote(&supported, ek_str_from(text));
    }
    w->n_blocking++;
    ek_verror__(w, ek_vat__(w, path), "Unsupported value: %s: supported values: %s",
                yyjson_is_num(value) ? number_text(w, value) : ek_vtext__(w, value),
                ek_buf_str(&supported));
}

/* ---- Numbers ---- */

/* A bound as it stands in an error: of a whole number it is cut to a whole one. */
static const char *bound_text(double bound, bool whole, struct ek_arena *arena)
{
    char text[EK_CEL_DOUBLE_TEXT_MAX];

    if (whole)
        return ek_arena_printf(arena, "%" PRId64, (int64_t)bound);
    ek_cel_double_g(bound, text);
    return ek_arena_strdup(arena, text);
}

static bool is_beyond(yyjson_val *value, double bound, bool is_max, bool exclusive)
{
    if (is_int(value)) {
        int64_t i = yyjson_get_sint(value), limit = (int64_t)bound;
        return is_max ? i > limit || (exclusive && i == limit)
                      : i < limit || (exclusive && i == limit);
    }
    double d = yyjson_get_num(value);
    return is_max ? d > bound || (exclusive && d == bound) : d < bound || (exclusive && d == bound);
}

static void check_bound(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                        const struct ek_vpath *path, bool is_max)
{
    yyjson_val *declared = yyjson_obj_get(schema, is_max ? "maximum" : "minimum");
    bool exclusive =
        yyjson_is_true(yyjson_obj_get(schema, is_max ? "exclusiveMaximum" : "exclusiveMinimum"));
    double bound = yyjson_get_num(declared);

    if (!yyjson_is_num(declared))
        return;
    if (!(fabs(bound) < 9.2e18) ||
        (!strcmp(ek_json_text(schema, "type"), "integer") && bound != floor(bound))) {
        ek_vunknown__(w, path, "a bound that is no whole number of 64 bits is not evaluated");
        return;
    }
    if (!is_beyond(value, bound, is_max, exclusive))
        return;
    ek_verror__(w, ek_vat__(w, path), "Invalid value: %s: %s in body should be %s than %s%s",
                number_text(w, value), ek_vat__(w, path), is_max ? "less" : "greater",
                exclusive ? "" : "or equal to ", bound_text(bound, is_int(value), w->arena));
}

/* github.com/go-openapi/swag, convert.go:IsFloat64AJSONInteger. */
static bool is_json_integer(double d)
{
    double most = 9007199254740991.0; /* 2^53 - 1 */

    if (!(fabs(d) <= most))
        return false;
    double whole = trunc(d), difference = fabs(d - whole);
    return difference == 0 || (whole != 0 && difference / (fabs(d) + fabs(whole)) < 1e-9);
}

/* values.go:MultipleOfInt and MultipleOf. */
static void check_multiple(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                           const struct ek_vpath *path)
{
    yyjson_val *declared = yyjson_obj_get(schema, "multipleOf");
    double factor = yyjson_get_num(declared), d = yyjson_get_num(value);
    bool whole = is_int(value), is_multiple;

    if (!yyjson_is_num(declared))
        return;
    if (!(fabs(factor) < 9.2e18) ||
        (!strcmp(ek_json_text(schema, "type"), "integer") && factor != floor(factor))) {
        ek_vunknown__(w, path, "multipleOf that is no whole number of 64 bits is not evaluated");
        return;
    }
    if (whole ? (int64_t)factor <= 0 : factor <= 0) {
        const char *text = bound_text(factor, whole, w->arena);
        ek_verror__(w, ek_vat__(w, path),
                    "Invalid value: %s: factor MultipleOf declared for %s must be positive: %s",
                    text, ek_vat__(w, path), text);
        return;
    }
    if (whole)
        is_multiple = yyjson_get_sint(value) % (int64_t)factor == 0;
    else
        is_multiple = is_json_integer(factor < 1 ? 1 / factor * d : d / factor);
    if (!is_multiple)
        ek_verror__(w, ek_vat__(w, path),
                    "Invalid value: %s: %s in body should be a multiple of %s",
                    number_text(w, value), ek_vat__(w, path), bound_text(factor, whole, w->arena));
}

static void check_range(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                        const struct ek_vpath *path)
{
    const char *type = ek_json_text(schema, "type"), *format = ek_json_text(schema, "format");
    bool is_int32 = !strcmp(type, "integer") && !strcmp(format, "int32");
    bool is_float = !strcmp(type, "number") && !strcmp(format, "float");
    double d = yyjson_get_num(value);
    bool beyond = (is_int32 && (d > INT32_MAX || d < INT32_MIN)) ||
                  (is_float && fabs(d) > 3.4028235677973366e38) ||
                  (!strcmp(type, "integer") && !is_int(value) &&
                   (d != floor(d) || fabs(d) >= 9223372036854775807.0));

    if (!beyond)
        return;
    if (!is_int32 && !is_float && strcmp(format, "int64") != 0)
        ek_verror__(w, "",
                    "Invalid value: \"\": Checked value must be of type %s (default format) in %s",
                    type, ek_vat__(w, path));
    else
        ek_verror__(w, "",
                    "Invalid value: \"\": Checked value must be of type %s with format %s in %s",
                    type, format, ek_vat__(w, path));
}

static void check_number(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                         const struct ek_vpath *path)
{
    check_range(w, schema, value, path);
    check_multiple(w, schema, value, path);
    check_bound(w, schema, value, path, false);
    check_bound(w, schema, value, path, true);
}

/* ---- Strings ---- */

static bool limit_of(yyjson_val *schema, const char *name, uint64_t *ret)
{
    yyjson_val *declared = yyjson_obj_get(schema, name);

    *ret = yyjson_get_uint(declared);
    return yyjson_is_uint(declared);
}

/* The first of the three that the text breaks. */
static void check_length(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                         const struct ek_vpath *path)
{
    const char *text = yyjson_get_str(value);
    size_t len = yyjson_get_len(value), runes = ek_cel_runes(text, len);
    const struct ek_vnode *node = ek_vnode_of__(w->validator, schema);
    uint64_t limit;

    if (limit_of(schema, "maxLength", &limit) && runes > limit) {
        w->n_blocking++;
        ek_verror__(w, ek_vat__(w, path), "Too long: may not be more than %" PRIu64 " %s", limit,
                    limit == 1 ? "byte" : "bytes");
    } else if (limit_of(schema, "minLength", &limit) && runes < limit) {
        ek_verror__(w, ek_vat__(w, path),
                    "Invalid value: %s: %s in body should be at least %" PRIu64 " chars long",
                    ek_vtext__(w, value), ek_vat__(w, path), limit);
    } else if (node && node->why && !node->pattern) {
        ek_vunknown__(w, path, "the pattern cannot be evaluated: %s", node->why);
    } else if (node && node->pattern &&
               (!ek_work_octets(w->work, len) || !ek_cel_regex_matches(node->pattern, text, len))) {
        ek_verror__(w, ek_vat__(w, path), "Invalid value: %s: %s in body should match '%s'",
                    ek_vtext__(w, value), ek_vat__(w, path), ek_json_text(schema, "pattern"));
    }
}

static void check_format(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                         const struct ek_vpath *path)
{
    const char *format = ek_json_text(schema, "format"), *type = ek_json_text(schema, "type");
    enum ek_vformat good;

    if (!*format || (*type && strcmp(type, "string") != 0))
        return;
    good = ek_vformat__(format, (struct ek_str){yyjson_get_str(value), yyjson_get_len(value)});
    if (good == EK_VFORMAT_UNKNOWN)
        ek_vunknown__(w, path, "the format %s is not evaluated", format);
    if (good != EK_VFORMAT_BAD)
        return;
    const char *text = ek_vtext__(w, value);
    w->n_blocking++;
    ek_verror__(w, ek_vat__(w, path), "Invalid value: %s: %s in body must be of type %s: %s", text,
                ek_vat__(w, path), format, text);
}

/* ---- Sizes ---- */

static bool has_duplicates(yyjson_val *list, struct ek_work *work)
{
    yyjson_val *a, *b;
    size_t i, j, n, m;

    yyjson_arr_foreach(list, i, n, a)
    {
        yyjson_arr_foreach(list, j, m, b)
        {
            if (j >= i)
                break;
            if (!ek_work_do(work, 1) || ek_json_equal_within(a, b, work))
                return true;
        }
    }
    return false;
}

void ek_vsize__(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                const struct ek_vpath *path)
{
    bool is_list = yyjson_is_arr(value);
    const char *what = is_list ? "items" : "properties";
    size_t n = is_list ? yyjson_arr_size(value) : yyjson_obj_size(value);
    uint64_t limit;

    if (!value)
        return;
    if (limit_of(schema, is_list ? "minItems" : "minProperties", &limit) && n < limit)
        ek_verror__(w, ek_vat__(w, path),
                    "Invalid value: %zu: %s in body should have at least %" PRIu64 " %s", n,
                    ek_vat__(w, path), limit, what);
    if (limit_of(schema, is_list ? "maxItems" : "maxProperties", &limit) && n > limit) {
        w->n_blocking++;
        ek_verror__(w, ek_vat__(w, path), "Too many: %zu: must have at most %" PRIu64 " %s", n,
                    limit, limit == 1 ? "item" : "items");
    }
    if (is_list && yyjson_is_true(yyjson_obj_get(schema, "uniqueItems")) &&
        has_duplicates(value, w->work))
        ek_verror__(w, ek_vat__(w, path),
                    "Invalid value: \"\": %s in body shouldn't contain duplicates",
                    ek_vat__(w, path));
}

void ek_vscalar__(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                  const struct ek_vpath *path)
{
    static const char *const names[] = {"format",     "pattern",    "maxLength", "minLength",
                                        "maximum",    "minimum",    "minItems",  "maxItems",
                                        "multipleOf", "uniqueItems"};
    bool says = yyjson_is_num(value) && !is_int(value); /* its type may have a range */

    for (size_t i = 0; i < EK_ARRAY_SIZE(names) && !says; i++)
        says = yyjson_obj_get(schema, names[i]) != NULL;
    if (!says)
        return;
    if (yyjson_is_num(value)) {
        check_number(w, schema, value, path);
    } else if (yyjson_is_str(value)) {
        check_length(w, schema, value, path);
        check_format(w, schema, value, path);
    } else if (yyjson_is_arr(value)) {
        ek_vsize__(w, schema, value, path);
    }
}
