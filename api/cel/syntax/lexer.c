/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens are the longest that the text begins with, as in cel-go's grammar: "1.e5" is 1, a dot
 * and a name, and quotes that are not closed leave the prefix before them a name.
 */
#include <string.h>

#include "api/base/ascii.h"
#include "api/base/quote.h"
#include "api/cel/syntax/parser.h"

/* The octet at i, or -1 behind the end. */
static int at(const struct ek_cel_lexer *lx, uint32_t i)
{
    return i < lx->len ? (unsigned char)lx->text[i] : -1;
}

static bool is_letter(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(int c)
{
    return is_letter(c) || ek_is_digit(c);
}

static uint32_t skip_digits(const struct ek_cel_lexer *lx, uint32_t i)
{
    while (ek_is_digit(at(lx, i)))
        i++;
    return i;
}

/* The end of an exponent that begins at i, or i when none does. */
static uint32_t skip_exponent(const struct ek_cel_lexer *lx, uint32_t i)
{
    uint32_t digits = i + 1;

    if (at(lx, i) != 'e' && at(lx, i) != 'E')
        return i;
    if (at(lx, digits) == '+' || at(lx, digits) == '-')
        digits++;
    uint32_t end = skip_digits(lx, digits);
    return end > digits ? end : i;
}

static enum ek_cel_token_kind whole(const struct ek_cel_lexer *lx, uint32_t i, uint32_t *ret_end)
{
    bool is_unsigned = at(lx, i) == 'u' || at(lx, i) == 'U';

    *ret_end = i + is_unsigned;
    return is_unsigned ? EK_CEL_TOK_UINT : EK_CEL_TOK_INT;
}

/* A number that begins with a digit or with a dot before one. */
static enum ek_cel_token_kind number(const struct ek_cel_lexer *lx, uint32_t start,
                                     uint32_t *ret_end)
{
    uint32_t i = skip_digits(lx, start);

    if (i == start + 1 && at(lx, start) == '0' && at(lx, i) == 'x' &&
        ek_hex_digit(at(lx, i + 1)) >= 0) {
        for (i++; ek_hex_digit(at(lx, i)) >= 0;)
            i++;
        return whole(lx, i, ret_end);
    }
    uint32_t end = i;
    if (at(lx, i) == '.' && ek_is_digit(at(lx, i + 1)))
        end = skip_digits(lx, i + 1);
    end = skip_exponent(lx, end);
    if (end == i)
        return whole(lx, i, ret_end);
    *ret_end = end;
    return EK_CEL_TOK_DOUBLE;
}

/* The end of the escape whose backslash is at i; *ret_good is false when it is none, and the
 * result then the octet at which that shows. */
static uint32_t skip_escape(const struct ek_cel_lexer *lx, uint32_t i, bool *ret_good)
{
    int c = at(lx, i + 1);
    uint32_t digits = c == 'x' || c == 'X' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;

    *ret_good = true;
    for (uint32_t k = 0; k < digits; k++)
        if (ek_hex_digit(at(lx, i + 2 + k)) < 0) {
            *ret_good = false;
            return i + 2 + k;
        }
    if (c >= '0' && c <= '3') {
        digits = 2;
        for (uint32_t k = 0; k < digits; k++)
            if (at(lx, i + 2 + k) < '0' || at(lx, i + 2 + k) > '7') {
                *ret_good = false;
                return i + 2 + k;
            }
    }
    if (digits == 0 && (c <= 0 || !strchr("abfnrtv\"'\\?`", c))) {
        *ret_good = false;
        return i + 1;
    }
    return i + 2 + digits;
}

/* The text in three quotes whose content begins at i: its end, or 0 when it has none. */
static uint32_t skip_triple(const struct ek_cel_lexer *lx, uint32_t i, int quote, bool raw)
{
    while (i < lx->len) {
        bool good = true;
        if (at(lx, i) == quote && at(lx, i + 1) == quote && at(lx, i + 2) == quote)
            return i + 3;
        i = !raw && at(lx, i) == '\\' ? skip_escape(lx, i, &good) : i + 1;
        if (!good)
            return 0;
    }
    return 0;
}

/* Quoted text whose first quote is at i. True with its end; false with the octet at which it
 * cannot go on. */
static bool quoted(const struct ek_cel_lexer *lx, uint32_t i, bool raw, uint32_t *ret_end)
{
    int quote = at(lx, i);

    if (at(lx, i + 1) == quote) {
        uint32_t end = at(lx, i + 2) == quote ? skip_triple(lx, i + 3, quote, raw) : 0;
        *ret_end = end ? end : i + 2; /* else an empty text */
        return true;
    }
    for (i++;;) {
        int c = at(lx, i);
        bool good = c >= 0 && c != '\n' && c != '\r';
        if (c == quote) {
            *ret_end = i + 1;
            return true;
        }
        if (c == '\\' && !raw)
            i = skip_escape(lx, i, &good);
        else if (good)
            i++;
        if (!good) {
            *ret_end = i;
            return false;
        }
    }
}

/* True when start begins b"..", r".." or br"..", complete. */
static bool prefixed(const struct ek_cel_lexer *lx, uint32_t start, uint32_t *ret_end,
                     enum ek_cel_token_kind *ret_kind)
{
    uint32_t i = start;
    bool bytes = (at(lx, i) | 0x20) == 'b', raw = false;

    i += bytes;
    raw = (at(lx, i) | 0x20) == 'r';
    i += raw;
    if (i == start || (at(lx, i) != '"' && at(lx, i) != '\''))
        return false;
    *ret_kind = bytes ? EK_CEL_TOK_BYTES : EK_CEL_TOK_STRING;
    return quoted(lx, i, raw, ret_end);
}

static enum ek_cel_token_kind keyword(const char *s, uint32_t len)
{
    if (len == 2 && memcmp(s, "in", 2) == 0)
        return EK_CEL_TOK_IN;
    if (len == 4 && memcmp(s, "true", 4) == 0)
        return EK_CEL_TOK_TRUE;
    if (len == 4 && memcmp(s, "null", 4) == 0)
        return EK_CEL_TOK_NULL;
    if (len == 5 && memcmp(s, "false", 5) == 0)
        return EK_CEL_TOK_FALSE;
    return EK_CEL_TOK_IDENT;
}

static enum ek_cel_token_kind name(const struct ek_cel_lexer *lx, uint32_t start, uint32_t *ret_end)
{
    enum ek_cel_token_kind kind;
    uint32_t i = start + 1;
    int c = at(lx, start) | 0x20;

    if ((c == 'b' || c == 'r') && prefixed(lx, start, ret_end, &kind))
        return kind;
    while (is_name(at(lx, i)))
        i++;
    *ret_end = i;
    return keyword(lx->text + start, i - start);
}

/* A name in backticks; false with the octet at which it cannot go on. */
static bool quoted_name(const struct ek_cel_lexer *lx, uint32_t start, uint32_t *ret_end)
{
    uint32_t i = start + 1;

    while (is_name(at(lx, i)) || (at(lx, i) > 0 && strchr(".-/ ", at(lx, i))))
        i++;
    bool good = at(lx, i) == '`' && i > start + 1;
    *ret_end = good ? i + 1 : i;
    return good;
}

#define ONE(c, kind)                                                                               \
    case c:                                                                                        \
        return kind

static enum ek_cel_token_kind one_octet(int c)
{
    switch (c) {
        ONE('!', EK_CEL_TOK_NOT);
        ONE('<', EK_CEL_TOK_LT);
        ONE('>', EK_CEL_TOK_GT);
        ONE('+', EK_CEL_TOK_PLUS);
        ONE('-', EK_CEL_TOK_MINUS);
        ONE('*', EK_CEL_TOK_STAR);
        ONE('/', EK_CEL_TOK_SLASH);
        ONE('%', EK_CEL_TOK_PERCENT);
        ONE('?', EK_CEL_TOK_QUESTION);
        ONE(':', EK_CEL_TOK_COLON);
        ONE('.', EK_CEL_TOK_DOT);
        ONE(',', EK_CEL_TOK_COMMA);
        ONE('(', EK_CEL_TOK_LPAREN);
        ONE(')', EK_CEL_TOK_RPAREN);
        ONE('[', EK_CEL_TOK_LBRACKET);
        ONE(']', EK_CEL_TOK_RBRACKET);
        ONE('{', EK_CEL_TOK_LBRACE);
        ONE('}', EK_CEL_TOK_RBRACE);
    default:
        return EK_CEL_TOK_END;
    }
}

static enum ek_cel_token_kind two_octets(int c, int then)
{
    if (then == '=')
        switch (c) {
            ONE('=', EK_CEL_TOK_EQ);
            ONE('!', EK_CEL_TOK_NE);
            ONE('<', EK_CEL_TOK_LE);
            ONE('>', EK_CEL_TOK_GE);
        default:
            return EK_CEL_TOK_END;
        }
    if (c == '&' && then == '&')
        return EK_CEL_TOK_AND;
    return c == '|' && then == '|' ? EK_CEL_TOK_OR : EK_CEL_TOK_END;
}

/* An operator or bracket; END with the octet at which it cannot go on. */
static enum ek_cel_token_kind punctuation(const struct ek_cel_lexer *lx, uint32_t start,
                                          uint32_t *ret_end)
{
    int c = at(lx, start);
    enum ek_cel_token_kind kind = two_octets(c, at(lx, start + 1));

    *ret_end = start + 2;
    if (kind != EK_CEL_TOK_END)
        return kind;
    kind = one_octet(c);
    *ret_end = kind != EK_CEL_TOK_END || c == '=' || c == '&' || c == '|' ? start + 1 : start;
    return kind;
}

/* Moves to end, counting characters. */
static void move(struct ek_cel_lexer *lx, uint32_t end)
{
    if (!lx->ascii)
        for (uint32_t i = lx->at; i < end; i++)
            lx->shift += ((unsigned char)lx->text[i] & 0xc0) == 0x80;
    lx->at = end;
}

static void skip_space(struct ek_cel_lexer *lx)
{
    for (;;) {
        int c = at(lx, lx->at);
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
            lx->at++;
        } else if (c == '/' && at(lx, lx->at + 1) == '/') {
            const char *end = memchr(lx->text + lx->at, '\n', lx->len - lx->at);
            move(lx, end ? (uint32_t)(end - lx->text) : lx->len);
        } else {
            return;
        }
    }
}

/* The token at start, or END with the octet at which none can go on. */
static enum ek_cel_token_kind token(const struct ek_cel_lexer *lx, uint32_t start,
                                    uint32_t *ret_end)
{
    int c = at(lx, start);

    if (is_letter(c))
        return name(lx, start, ret_end);
    if (ek_is_digit(c) || (c == '.' && ek_is_digit(at(lx, start + 1))))
        return number(lx, start, ret_end);
    if (c == '"' || c == '\'')
        return quoted(lx, start, false, ret_end) ? EK_CEL_TOK_STRING : EK_CEL_TOK_END;
    if (c == '`')
        return quoted_name(lx, start, ret_end) ? EK_CEL_TOK_QUOTED_IDENT : EK_CEL_TOK_END;
    return punctuation(lx, start, ret_end);
}

/* Reports that there is no token between the lexer's place and bad, and skips what is there and
 * the character at bad. */
static void no_token(struct ek_cel_lexer *lx, uint32_t bad)
{
    uint32_t start = lx->at, position = start - lx->shift;

    if (bad < lx->len)
        for (bad++; bad < lx->len && ((unsigned char)lx->text[bad] & 0xc0) == 0x80;)
            bad++;
    move(lx, bad);
    lx->failed = true;
    if (!lx->issues)
        return;
    size_t shown = ek_utf8_cut((struct ek_str){lx->text + start, bad - start}, 100);
    ek_cel_issue_add(lx->issues, EK_CEL_E_SYNTAX, lx->text, lx->len, position,
                     "Syntax error: token recognition error at: '%.*s'", (int)shown,
                     lx->text + start);
}

struct ek_cel_token ek_cel_lex(struct ek_cel_lexer *lx)
{
    for (;;) {
        uint32_t end = 0;
        skip_space(lx);
        struct ek_cel_token tok = {lx->at, lx->at, lx->at - lx->shift, EK_CEL_TOK_END};
        if (lx->at == lx->len)
            return tok;
        tok.kind = token(lx, lx->at, &end);
        if (tok.kind != EK_CEL_TOK_END) {
            move(lx, end);
            tok.end = end;
            return tok;
        }
        no_token(lx, end);
    }
}
