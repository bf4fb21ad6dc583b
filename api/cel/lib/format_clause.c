/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clauses of string.format, and the check of those whose format is constant.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cel/env/ref.h"
#include "api/cel/lib/format.h"
#include "api/cel/lib/strings.h"
#include "api/cel/text/number.h"
#include "api/cel/text/runes.h"

/* What a message shows of a number that is out of range. */
#define SHOWN_MAX 40

static bool read_precision(const char *s, size_t len, struct ek_cel_clause *ret, char *message,
                           size_t size)
{
    size_t n = 1;

    while (n < len && s[n] >= '0' && s[n] <= '9')
        n++;
    ret->has_precision = true;
    ret->len = n;
    if (n == len)
        return snprintf(message, size,
                        "could not parse formatting clause: error while parsing precision: could "
                        "not find end of precision specifier") < 0;
    if (ek_cel_parse_int(s + 1, n - 1, &ret->precision))
        return true;
    snprintf(message, size,
             "could not parse formatting clause: error while parsing precision: error while "
             "converting precision to integer: strconv.Atoi: parsing \"%.*s\": %s",
             (int)(n - 1 < SHOWN_MAX ? n - 1 : SHOWN_MAX), s + 1,
             n == 1 ? "invalid syntax" : "value out of range");
    return false;
}

bool ek_cel_clause_read(const char *s, size_t len, struct ek_cel_clause *ret, char *message,
                        size_t size)
{
    char verb[5] = "";

    *ret = (struct ek_cel_clause){0};
    if (s[0] == '.' && !read_precision(s, len, ret, message, size))
        return false;
    ret->verb = s[ret->len++];
    if (ret->verb && strchr("sdfebxXo", ret->verb))
        return true;
    ek_cel_rune_write((unsigned char)ret->verb, verb); /* as the reference does: one octet of it */
    snprintf(message, size,
             "could not parse formatting clause: unrecognized formatting clause "
             "\"%s\"",
             verb);
    return false;
}

const char *ek_cel_clause_complaint(char verb, bool spec)
{
    switch (verb) {
    case 'd':
        return spec ? "decimal clause can only be used on ints, uints, and doubles"
                    : "decimal clause can only be used on integers";
    case 'f':
        return spec ? "fixed-point clause can only be used on ints, uints, and doubles"
                    : "fixed-point clause can only be used on doubles";
    case 'e':
        return spec ? "scientific clause can only be used on ints, uints, and doubles"
                    : "scientific clause can only be used on doubles";
    case 'b':
        return spec ? "only ints, uints, and bools can be formatted as binary"
                    : "only integers and bools can be formatted as binary";
    case 'x':
    case 'X':
        return spec ? "only ints, uints, bytes, and strings can be formatted as hex"
                    : "only integers, byte buffers, and strings can be formatted as hex";
    case 'o':
        return spec ? "octal clause can only be used on ints and uints"
                    : "octal clause can only be used on integers";
    default:
        return "string clause can only be used on strings, bools, bytes, ints, doubles, maps, "
               "lists, types, durations, and timestamps";
    }
}

/* ---- The check of constant formats ------------------------------------------------------------
 */

#define KIND(kind) (1u << (kind))
#define INTS       (KIND(EK_CEL_T_INT) | KIND(EK_CEL_T_UINT))
#define DOUBLE     KIND(EK_CEL_T_DOUBLE)
#define STRING     KIND(EK_CEL_T_STRING)
#define BYTES      KIND(EK_CEL_T_BYTES)
#define BOOL       KIND(EK_CEL_T_BOOL)
#define TEXTUAL                                                                                    \
    (INTS | DOUBLE | STRING | BYTES | BOOL | KIND(EK_CEL_T_LIST) | KIND(EK_CEL_T_MAP) |            \
     KIND(EK_CEL_T_TIMESTAMP) | KIND(EK_CEL_T_DURATION) | KIND(EK_CEL_T_TYPE) |                    \
     KIND(EK_CEL_T_NULL))

/* The kinds of types that verb takes. */
static unsigned kinds_of(char verb, bool spec)
{
    switch (verb) {
    case 'd':
        return spec ? INTS | DOUBLE : INTS;
    case 'f':
    case 'e': /* the strings are "NaN" and "Infinity" */
        return spec ? INTS | DOUBLE : DOUBLE | STRING;
    case 'b':
        return INTS | BOOL;
    case 'x':
    case 'X':
        return INTS | STRING | BYTES;
    case 'o':
        return INTS;
    default:
        return TEXTUAL;
    }
}

static bool is_of(const struct ek_cel_node *node, unsigned kinds)
{
    return !node->type || node->type->kind == EK_CEL_T_DYN || (KIND(node->type->kind) & kinds);
}

/* What in node, looking into literals, can't be written as a string; NULL when all can. */
static const struct ek_cel_node *not_textual(const struct ek_cel_node *node)
{
    const struct ek_cel_node *bad = NULL;

    if (!is_of(node, TEXTUAL))
        return node;
    if (node->kind == EK_CEL_N_LIST)
        for (uint32_t i = 0; i < node->list.n && !bad; i++)
            bad = not_textual(node->list.items[i]);
    if (node->kind == EK_CEL_N_MAP) {
        for (uint32_t i = 0; i < node->map.n && !bad; i++) {
            bad = not_textual(node->map.entries[i].key);
            if (!bad)
                bad = not_textual(node->map.entries[i].value);
        }
    }
    return bad;
}

/* The overload that call resolved to, when it is format on a constant with a list literal. */
static const struct ek_cel_overload *constant_format(const struct ek_cel_node *call)
{
    const struct ek_cel_overload *def;

    if (call->kind != EK_CEL_N_CALL || !call->call.target || call->call.n != 1 || !call->ref ||
        call->ref->n != 1)
        return NULL;
    def = call->ref->overloads[0]->def;
    if (strcmp(def->id, EK_CEL_FORMAT_ID) != 0)
        return NULL;
    if (call->call.target->kind != EK_CEL_N_LITERAL ||
        call->call.target->literal.kind != EK_CEL_STRING ||
        call->call.args[0]->kind != EK_CEL_N_LIST)
        return NULL;
    return def;
}

/* One clause, at s behind the percent sign, against items[at]; ret_len is set to its length. */
static bool check_clause(const char *s, size_t len, const struct ek_cel_node *item, bool spec,
                         size_t *ret_len, char *message, size_t size,
                         const struct ek_cel_node **ret_node)
{
    struct ek_cel_clause clause;
    const struct ek_cel_node *bad;

    if (!ek_cel_clause_read(s, len, &clause, message, size))
        return false;
    *ret_len = clause.len;
    if (clause.verb == 's')
        bad = not_textual(item);
    else
        bad = is_of(item, kinds_of(clause.verb, spec)) ? NULL : item;
    if (!bad)
        return true;
    *ret_node = bad;
    snprintf(message, size, "error during formatting: %s, was given %s",
             ek_cel_clause_complaint(clause.verb, spec), bad->type->name);
    return false;
}

bool ek_cel_format_check(const struct ek_cel_node *call, char *message, size_t size,
                         const struct ek_cel_node **ret_node)
{
    const struct ek_cel_overload *def = constant_format(call);
    const struct ek_cel_node *list = def ? call->call.args[0] : NULL;
    const char *s = def ? call->call.target->literal.s : NULL;
    const char *end = def ? s + call->call.target->literal.n : NULL;
    uint32_t at = 0;
    size_t len;

    *ret_node = call;
    if (!def)
        return true;
    while (s < end && (s = memchr(s, '%', (size_t)(end - s)))) {
        s++;
        if (s < end && *s == '%') {
            s++;
            continue;
        }
        if (s == end)
            return snprintf(message, size, "unexpected end of string") < 0;
        if (at >= list->list.n)
            return snprintf(message, size, "index %u out of range", at) < 0;
        if (!check_clause(s, (size_t)(end - s), list->list.items[at++],
                          def->version >= EK_CEL_FORMAT_SPEC_VERSION, &len, message, size,
                          ret_node))
            return false;
        s += len;
    }
    if (list->list.n > at)
        return snprintf(message, size,
                        "too many arguments supplied to string.format (expected %u, got %u)", at,
                        list->list.n) < 0;
    return true;
}
