/* SPDX-License-Identifier: Apache-2.0 */
#include "api/selector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/obj.h"
#include "api/selector-internal.h"

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool name_is_valid(struct ek_str s, size_t max)
{
    if (s.len == 0 || s.len > max || !is_alnum(s.p[0]) || !is_alnum(s.p[s.len - 1]))
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (!is_alnum(s.p[i]) && !strchr("-_.", s.p[i]))
            return false;
    return true;
}

/* A DNS subdomain (RFC 1123, lower case): labels start and end with a letter or digit. */
static bool subdomain_is_valid(struct ek_str s, size_t max)
{
    if (s.len == 0 || s.len > max)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        bool edge = i == 0 || i + 1 == s.len || s.p[i - 1] == '.' || s.p[i + 1] == '.';
        bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!word && (edge || (c != '-' && c != '.')))
            return false;
    }
    return true;
}

bool ek_label_key_is_valid(struct ek_str key, size_t prefix_max, size_t name_max)
{
    const char *slash = key.len ? memchr(key.p, '/', key.len) : NULL;

    if (!slash)
        return name_is_valid(key, name_max);
    size_t prefix = (size_t)(slash - key.p);
    return subdomain_is_valid((struct ek_str){key.p, prefix}, prefix_max) &&
           name_is_valid((struct ek_str){slash + 1, key.len - prefix - 1}, name_max);
}

/* A label's value: empty, or a name of at most 63 characters without prefix. */
static bool value_is_valid(struct ek_str value)
{
    return value.len == 0 || name_is_valid(value, EK_LABEL_NAME_MAX);
}

void ek_selector_free(struct ek_selector *selector)
{
    if (!selector)
        return;
    for (size_t i = 0; i < selector->n_requirements; i++) {
        struct ek_requirement *r = &selector->requirements[i];
        for (size_t j = 0; j < r->n_values; j++)
            ek_free(r->values[j]);
        ek_free(r->values);
        ek_free(r->key);
    }
    ek_free(selector->requirements);
    ek_free(selector);
}

struct ek_requirement *ek_selector_add__(struct ek_selector *selector, struct ek_str key,
                                         enum ek_selector_op op, struct ek_err *err)
{
    size_t n = selector->n_requirements;
    char quoted[EK_QUOTE_SIZE];

    if (!ek_label_key_is_valid(key, EK_LABEL_PREFIX_MAX, EK_LABEL_NAME_MAX)) {
        ek_err_set(
            err, EK_E_INVAL,
            "label selector: %s is not a label key: a key is [prefix/]name, the name at most "
            "%d letters, digits, '-', '_' or '.'",
            ek_quote_short(key, quoted), EK_LABEL_NAME_MAX);
        return NULL;
    }
    if (n == EK_SELECTOR_REQUIREMENTS_MAX) {
        ek_err_set(err, EK_E_LIMIT, "label selector: more than %d requirements",
                   EK_SELECTOR_REQUIREMENTS_MAX);
        return NULL;
    }
    selector->requirements =
        ek_xrealloc(selector->requirements, n + 1, sizeof *selector->requirements);
    selector->requirements[n] =
        (struct ek_requirement){.key = ek_xstrndup(key.p, key.len), .op = op};
    selector->n_requirements++;
    return &selector->requirements[n];
}

int ek_selector_add_value__(struct ek_selector *selector, struct ek_requirement *requirement,
                            struct ek_str value, struct ek_err *err)
{
    char quoted[EK_QUOTE_SIZE];

    if (!value_is_valid(value))
        return ek_err_set(err, EK_E_INVAL,
                          "label selector: %s is not a valid value of label %s: at most %d "
                          "letters, digits, '-', '_' or '.'",
                          ek_quote_short(value, quoted), requirement->key, EK_LABEL_NAME_MAX);
    if (++selector->n_values > EK_SELECTOR_VALUES_MAX)
        return ek_err_set(err, EK_E_LIMIT, "label selector: more than %d values",
                          EK_SELECTOR_VALUES_MAX);
    requirement->values =
        ek_xrealloc(requirement->values, requirement->n_values + 1, sizeof *requirement->values);
    requirement->values[requirement->n_values++] = ek_xstrndup(value.p, value.len);
    return 0;
}

static int cmp_values(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int cmp_requirements(const void *a, const void *b)
{
    const struct ek_requirement *x = a, *y = b;
    return strcmp(x->key, y->key);
}

static void sort_values(struct ek_requirement *r)
{
    size_t kept = 0;

    if (r->n_values > 1)
        qsort(r->values, r->n_values, sizeof *r->values, cmp_values);
    for (size_t i = 0; i < r->n_values; i++) {
        if (kept > 0 && !strcmp(r->values[kept - 1], r->values[i]))
            ek_free(r->values[i]);
        else
            r->values[kept++] = r->values[i];
    }
    r->n_values = kept;
}

/* A signed 64-bit integer and nothing else. */
static bool parse_int(const char *s, int64_t *ret_value)
{
    char *end;

    if (!(*s >= '0' && *s <= '9') && *s != '-' && *s != '+')
        return false;
    errno = 0;
    long long value = strtoll(s, &end, 10);
    *ret_value = value;
    return end != s && !*end && errno == 0;
}

int ek_selector_seal__(struct ek_selector *selector, struct ek_err *err)
{
    for (size_t i = 0; i < selector->n_requirements; i++) {
        struct ek_requirement *r = &selector->requirements[i];
        int64_t ignored;
        sort_values(r);
        if ((r->op == EK_SELECTOR_GREATER || r->op == EK_SELECTOR_LESS) &&
            !parse_int(r->values[0], &ignored))
            return ek_err_set(err, EK_E_INVAL,
                              "label selector: %s is compared with \"%s\", which is not an integer",
                              r->key, r->values[0]);
    }
    if (selector->n_requirements > 1)
        qsort(selector->requirements, selector->n_requirements, sizeof *selector->requirements,
              cmp_requirements);
    return 0;
}

static bool has_value(const struct ek_requirement *r, const char *value)
{
    return r->n_values > 0 &&
           bsearch(&value, r->values, r->n_values, sizeof *r->values, cmp_values);
}

/* value is NULL when the label is absent. */
static bool fulfils(const struct ek_requirement *r, const char *value)
{
    int64_t have, bound;

    switch (r->op) {
    case EK_SELECTOR_IN:
    case EK_SELECTOR_EQUALS:
    case EK_SELECTOR_DOUBLE_EQUALS:
        return value && has_value(r, value);
    case EK_SELECTOR_NOT_IN:
    case EK_SELECTOR_NOT_EQUALS:
        return !value || !has_value(r, value);
    case EK_SELECTOR_EXISTS:
        return value;
    case EK_SELECTOR_NOT_EXISTS:
        return !value;
    case EK_SELECTOR_GREATER:
    case EK_SELECTOR_LESS:
        if (!value || !parse_int(value, &have) || !parse_int(r->values[0], &bound))
            return false;
        return r->op == EK_SELECTOR_GREATER ? have > bound : have < bound;
    case EK_SELECTOR_OP_MAX:
        break;
    }
    return false;
}

bool ek_selector_matches(const struct ek_selector *selector, yyjson_val *labels)
{
    if (selector->nothing)
        return false;
    for (size_t i = 0; i < selector->n_requirements; i++) {
        const struct ek_requirement *r = &selector->requirements[i];
        if (!fulfils(r, yyjson_get_str(yyjson_obj_get(labels, r->key))))
            return false;
    }
    return true;
}

bool ek_selector_is_empty(const struct ek_selector *selector)
{
    return !selector->nothing && selector->n_requirements == 0;
}

bool ek_selector_values(const struct ek_selector *selector, size_t i,
                        struct ek_selector_values *ret)
{
    if (i >= selector->n_requirements)
        return false;
    const struct ek_requirement *r = &selector->requirements[i];
    bool one_of = r->op == EK_SELECTOR_IN || r->op == EK_SELECTOR_EQUALS ||
                  r->op == EK_SELECTOR_DOUBLE_EQUALS;
    *ret = (struct ek_selector_values){r->key, r->values, one_of ? r->n_values : 0};
    return true;
}

int ek_selector_format(const struct ek_selector *selector, struct ek_buf *out)
{
    static const char *const ops[EK_SELECTOR_OP_MAX] = {
        " in (", " notin (", "=", "==", "!=", "", "", ">", "<"};

    for (size_t i = 0; !selector->nothing && i < selector->n_requirements; i++) {
        const struct ek_requirement *r = &selector->requirements[i];
        ek_buf_printf(out, "%s%s%s%s", i ? "," : "", r->op == EK_SELECTOR_NOT_EXISTS ? "!" : "",
                      r->key, ops[r->op]);
        for (size_t j = 0; j < r->n_values; j++)
            ek_buf_printf(out, "%s%s", j ? "," : "", r->values[j]);
        if (r->op == EK_SELECTOR_IN || r->op == EK_SELECTOR_NOT_IN)
            ek_buf_append(out, ")", 1);
    }
    return out->failed;
}

static struct ek_str str_of(yyjson_val *value)
{
    return (struct ek_str){yyjson_get_str(value), yyjson_get_len(value)};
}

static int add_labels(struct ek_selector *selector, yyjson_val *labels, struct ek_err *err)
{
    yyjson_val *key, *value;
    size_t i, n;
    char quoted[EK_QUOTE_SIZE];

    if (!labels || yyjson_is_null(labels))
        return 0;
    if (!yyjson_is_obj(labels))
        return ek_err_set(err, EK_E_INVAL, "matchLabels: must be an object of strings");
    ek_json_each_member(labels, i, n, key, value)
    {
        if (!yyjson_is_str(value))
            return ek_err_set(err, EK_E_INVAL, "matchLabels[%s]: must be a string",
                              ek_quote_short(str_of(key), quoted));
        struct ek_requirement *r =
            ek_selector_add__(selector, str_of(key), EK_SELECTOR_EQUALS, err);
        int rc = !r ? EK_E_INVAL : ek_selector_add_value__(selector, r, str_of(value), err);
        if (rc)
            return rc;
    }
    return 0;
}

static bool find_operator(const char *name, enum ek_selector_op *ret_op)
{
    static const struct {
        const char *name;
        enum ek_selector_op op;
    } rows[] = {
        {"In", EK_SELECTOR_IN},
        {"NotIn", EK_SELECTOR_NOT_IN},
        {"Exists", EK_SELECTOR_EXISTS},
        {"DoesNotExist", EK_SELECTOR_NOT_EXISTS},
    };

    for (size_t i = 0; name && i < EK_ARRAY_SIZE(rows); i++) {
        if (!strcmp(rows[i].name, name)) {
            *ret_op = rows[i].op;
            return true;
        }
    }
    return false;
}

static int add_expression(struct ek_selector *selector, yyjson_val *expression, struct ek_err *err)
{
    yyjson_val *key = yyjson_obj_get(expression, "key"), *value;
    yyjson_val *values = yyjson_obj_get(expression, "values");
    const char *name = ek_json_str(expression, "operator", NULL);
    enum ek_selector_op op;
    size_t i, n;
    char quoted[EK_QUOTE_SIZE];

    if (!yyjson_is_str(key))
        return ek_err_set(err, EK_E_INVAL, "key: must be a string");
    if (!find_operator(name, &op))
        return ek_err_set(err, EK_E_INVAL,
                          "operator: %s is not one of In, NotIn, Exists, DoesNotExist",
                          ek_quote_short(ek_str_from(name), quoted));
    if (values && !yyjson_is_null(values) && !yyjson_is_arr(values))
        return ek_err_set(err, EK_E_INVAL, "values: must be a list of strings");
    bool takes_values = op == EK_SELECTOR_IN || op == EK_SELECTOR_NOT_IN;
    if (takes_values != (yyjson_arr_size(values) > 0))
        return ek_err_set(err, EK_E_INVAL, "values: must %sbe empty for operator %s",
                          takes_values ? "not " : "", name);
    struct ek_requirement *r = ek_selector_add__(selector, str_of(key), op, err);
    if (!r)
        return EK_E_INVAL;
    if (!takes_values)
        return 0;
    yyjson_arr_foreach(values, i, n, value)
    {
        if (!yyjson_is_str(value))
            return ek_err_set(err, EK_E_INVAL, "values[%zu]: must be a string", i);
        int rc = ek_selector_add_value__(selector, r, str_of(value), err);
        if (rc)
            return rc;
    }
    return 0;
}

static int add_expressions(struct ek_selector *selector, yyjson_val *list, struct ek_err *err)
{
    yyjson_val *expression;
    size_t i, n;

    if (!list || yyjson_is_null(list))
        return 0;
    if (!yyjson_is_arr(list))
        return ek_err_set(err, EK_E_INVAL, "matchExpressions: must be a list");
    yyjson_arr_foreach(list, i, n, expression)
    {
        if (add_expression(selector, expression, err))
            return ek_err_prefix(err, "matchExpressions[%zu]", i);
    }
    return 0;
}

int ek_selector_from_json(yyjson_val *label_selector, struct ek_selector **ret_selector,
                          struct ek_err *err)
{
    struct ek_err local = {0};
    struct ek_selector *selector = ek_xalloc(sizeof *selector);
    int rc = 0;

    if (!label_selector || yyjson_is_null(label_selector))
        selector->nothing = true;
    else if (!yyjson_is_obj(label_selector))
        rc = ek_err_set(&local, EK_E_INVAL, "label selector: must be an object");
    else {
        rc = add_labels(selector, yyjson_obj_get(label_selector, "matchLabels"), &local);
        if (!rc)
            rc = add_expressions(selector, yyjson_obj_get(label_selector, "matchExpressions"),
                                 &local);
    }
    if (!rc)
        rc = ek_selector_seal__(selector, &local);
    if (rc) {
        ek_selector_free(selector);
        if (err)
            *err = local;
        return local.code;
    }
    *ret_selector = selector;
    return 0;
}
