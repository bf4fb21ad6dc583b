/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/cel/authorizer.h"

/* The length of the first term of s: up to a comma without a backslash before it. */
static size_t term_len(struct ek_str s)
{
    bool escaped = false;

    for (size_t i = 0; i < s.len; i++) {
        if (!escaped && s.p[i] == ',')
            return i;
        escaped = !escaped && s.p[i] == '\\';
    }
    return s.len;
}

static int by_text(const void *a, const void *b)
{
    const struct ek_str *x = a, *y = b;
    size_t len = x->len < y->len ? x->len : y->len;
    int order = len ? memcmp(x->p, y->p, len) : 0;

    return order ? order : (x->len > y->len) - (x->len < y->len);
}

/* The terms of text that are not empty, sorted; NULL at the arena's limit. */
static struct ek_str *split(struct ek_str text, struct ek_arena *arena, size_t *ret_n)
{
    size_t n = 1;

    for (size_t i = 0; i < text.len; i++)
        n += text.p[i] == ',';
    struct ek_str *terms = ek_arena_try(arena, n * sizeof *terms);
    if (!terms)
        return NULL;
    for (*ret_n = 0; text.len > 0;) {
        size_t len = term_len(text), used = len < text.len ? len + 1 : len;
        if (len)
            terms[(*ret_n)++] = (struct ek_str){text.p, len};
        text = (struct ek_str){text.p + used, text.len - used};
    }
    qsort(terms, *ret_n, sizeof *terms, by_text);
    return terms;
}

static int refuse_value(struct ek_str value, size_t at, struct ek_err *err)
{
    char quoted[EK_QUOTE_SIZE];

    return ek_err_set(err, EK_E_PARSE, "invalid field selector: %s in value %s",
                      value.p[at] == '\\' ? "invalid escape sequence" : "unescaped character",
                      ek_quote_short(value, quoted));
}

static int unescape(struct ek_str s, struct ek_arena *arena, struct ek_str *ret, struct ek_err *err)
{
    char *out = ek_arena_try(arena, s.len + 1);
    size_t len = 0;

    if (!out)
        return EK_E_NOMEM;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        if (c == ',' || c == '=')
            return refuse_value(s, i, err);
        if (c == '\\') {
            if (i + 1 == s.len || !strchr("\\,=", s.p[i + 1]) || s.p[i + 1] == '\0')
                return refuse_value(s, i, err);
            c = s.p[++i];
        }
        out[len++] = c;
    }
    *ret = (struct ek_str){out, len};
    return 0;
}

static int read_term(struct ek_str term, struct ek_str selector, struct ek_arena *arena,
                     struct ek_cel_field_requirement *ret, struct ek_err *err)
{
    char whole[EK_QUOTE_SIZE], part[EK_QUOTE_SIZE];

    for (size_t i = 0; i < term.len; i++) {
        bool two = i + 1 < term.len && term.p[i + 1] == '=';
        if (term.p[i] != '=' && !(term.p[i] == '!' && two))
            continue;
        size_t end = i + 1 + two;
        ret->key = (struct ek_str){term.p, i};
        ret->unequal = term.p[i] == '!';
        return unescape((struct ek_str){term.p + end, term.len - end}, arena, &ret->value, err);
    }
    return ek_err_set(err, EK_E_PARSE, "invalid selector: %s; can't understand %s",
                      ek_quote_short(selector, whole), ek_quote_short(term, part));
}

int ek_cel_field_selector_parse(struct ek_str text, struct ek_arena *arena,
                                const struct ek_cel_field_requirement **ret, size_t *ret_n,
                                struct ek_err *err)
{
    size_t n = 0;
    struct ek_str *terms = split(text, arena, &n);
    struct ek_cel_field_requirement *list = ek_arena_try(arena, (n + 1) * sizeof *list);

    if (!terms || !list)
        return EK_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        int rc = read_term(terms[i], text, arena, &list[i], err);
        if (rc)
            return rc;
    }
    *ret = list;
    *ret_n = n;
    return 0;
}
