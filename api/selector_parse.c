/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The string form of label selectors: a lexer and a parser that looks one token ahead.
 */
#include <string.h>

#include "api/base/quote.h"
#include "api/selector-internal.h"

enum token {
    TOKEN_END,
    TOKEN_WORD,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_COMMA,
    TOKEN_NOT,
    TOKEN_EQUALS,
    TOKEN_DOUBLE_EQUALS,
    TOKEN_NOT_EQUALS,
    TOKEN_GREATER,
    TOKEN_LESS,
};

struct parser {
    const char *text, *next;
    enum token token;   /* the one ahead */
    struct ek_str word; /* its text */
    struct ek_selector *selector;
    struct ek_err *err;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static enum token symbol(const char *s, size_t *ret_len)
{
    *ret_len = 1;
    switch (*s) {
    case '(':
        return TOKEN_OPEN;
    case ')':
        return TOKEN_CLOSE;
    case ',':
        return TOKEN_COMMA;
    case '>':
        return TOKEN_GREATER;
    case '<':
        return TOKEN_LESS;
    case '!':
        *ret_len = s[1] == '=' ? 2 : 1;
        return s[1] == '=' ? TOKEN_NOT_EQUALS : TOKEN_NOT;
    case '=':
        *ret_len = s[1] == '=' ? 2 : 1;
        return s[1] == '=' ? TOKEN_DOUBLE_EQUALS : TOKEN_EQUALS;
    default:
        return TOKEN_WORD;
    }
}

static void advance(struct parser *p)
{
    size_t len = 0;

    while (is_blank(*p->next))
        p->next++;
    if (!*p->next) {
        p->token = TOKEN_END;
    } else {
        p->token = symbol(p->next, &len);
        if (p->token == TOKEN_WORD)
            len = strcspn(p->next, " \t\r\n=!(),><");
    }
    p->word = (struct ek_str){p->next, len};
    p->next += len;
}

static bool word_is(const struct parser *p, const char *word)
{
    return p->token == TOKEN_WORD && ek_str_eq(p->word, ek_str_from(word));
}

static int unexpected(struct parser *p, const char *expected)
{
    char found[EK_QUOTE_SIZE], whole[EK_QUOTE_SIZE];
    size_t column = (size_t)(p->word.p - p->text) + 1;

    return ek_err_set(p->err, EK_E_PARSE,
                      "label selector: expected %s at column %zu, found %s in %s", expected, column,
                      p->token == TOKEN_END ? "the end" : ek_quote_short(p->word, found),
                      ek_quote_short(ek_str_from(p->text), whole));
}

/* "(a,b)"; a missing value before, between or after commas is the empty one, and so is "()". */
static int parse_list(struct parser *p, struct ek_requirement *r)
{
    if (p->token != TOKEN_OPEN)
        return unexpected(p, "\"(\"");
    advance(p);
    for (;;) {
        struct ek_str value = EK_STR("");
        if (p->token == TOKEN_WORD) {
            value = p->word;
            advance(p);
        }
        int rc = ek_selector_add_value__(p->selector, r, value, p->err);
        if (rc)
            return rc;
        if (p->token == TOKEN_CLOSE)
            break;
        if (p->token != TOKEN_COMMA)
            return unexpected(p, "\",\", \")\" or a value");
        advance(p);
    }
    advance(p);
    return 0;
}

static int parse_one_value(struct parser *p, struct ek_requirement *r)
{
    struct ek_str value = EK_STR("");

    if (p->token == TOKEN_WORD) {
        value = p->word;
        advance(p);
    } else if (p->token != TOKEN_END && p->token != TOKEN_COMMA) {
        return unexpected(p, "a value");
    }
    return ek_selector_add_value__(p->selector, r, value, p->err);
}

static bool find_operator(const struct parser *p, enum ek_selector_op *ret_op)
{
    switch (p->token) {
    case TOKEN_EQUALS:
        *ret_op = EK_SELECTOR_EQUALS;
        return true;
    case TOKEN_DOUBLE_EQUALS:
        *ret_op = EK_SELECTOR_DOUBLE_EQUALS;
        return true;
    case TOKEN_NOT_EQUALS:
        *ret_op = EK_SELECTOR_NOT_EQUALS;
        return true;
    case TOKEN_GREATER:
        *ret_op = EK_SELECTOR_GREATER;
        return true;
    case TOKEN_LESS:
        *ret_op = EK_SELECTOR_LESS;
        return true;
    case TOKEN_WORD:
        *ret_op = word_is(p, "in") ? EK_SELECTOR_IN : EK_SELECTOR_NOT_IN;
        return word_is(p, "in") || word_is(p, "notin");
    case TOKEN_END:
    case TOKEN_OPEN:
    case TOKEN_CLOSE:
    case TOKEN_COMMA:
    case TOKEN_NOT:
        break;
    }
    return false;
}

static int parse_requirement(struct parser *p)
{
    enum ek_selector_op op = EK_SELECTOR_EXISTS;
    bool absent = p->token == TOKEN_NOT;

    if (absent)
        advance(p);
    if (p->token != TOKEN_WORD)
        return unexpected(p, absent ? "a label key" : "\"!\" or a label key");
    struct ek_str key = p->word;
    advance(p);
    if (absent)
        op = EK_SELECTOR_NOT_EXISTS;
    else if (p->token != TOKEN_END && p->token != TOKEN_COMMA && !find_operator(p, &op))
        return unexpected(p, "one of in, notin, =, ==, !=, >, <");
    struct ek_requirement *r = ek_selector_add__(p->selector, key, op, p->err);
    if (!r)
        return p->err->code;
    if (op == EK_SELECTOR_EXISTS || op == EK_SELECTOR_NOT_EXISTS)
        return 0;
    advance(p);
    if (op == EK_SELECTOR_IN || op == EK_SELECTOR_NOT_IN)
        return parse_list(p, r);
    return parse_one_value(p, r);
}

static int parse(struct parser *p)
{
    advance(p);
    if (p->token == TOKEN_END)
        return 0;
    for (;;) {
        int rc = parse_requirement(p);
        if (rc)
            return rc;
        if (p->token == TOKEN_END)
            return 0;
        if (p->token != TOKEN_COMMA)
            return unexpected(p, "\",\" or the end");
        advance(p);
    }
}

int ek_selector_parse(const char *text, struct ek_selector **ret_selector, struct ek_err *err)
{
    struct ek_err local = {0};
    struct parser p = {.text = text ? text : "", .err = &local};
    int rc;

    p.next = p.text;
    p.selector = ek_xalloc(sizeof *p.selector);
    if (strnlen(p.text, EK_SELECTOR_TEXT_MAX + 1) > EK_SELECTOR_TEXT_MAX)
        rc = ek_err_set(&local, EK_E_LIMIT, "label selector: longer than %d bytes",
                        EK_SELECTOR_TEXT_MAX);
    else
        rc = parse(&p);
    if (!rc)
        rc = ek_selector_seal__(p.selector, &local);
    if (rc) {
        ek_selector_free(p.selector);
        if (err)
            *err = local;
        return rc;
    }
    *ret_selector = p.selector;
    return 0;
}
