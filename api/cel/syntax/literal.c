/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Literals: numbers, quoted text, lists, maps and structs.
 */
#include <stdlib.h>
#include <string.h>

#include "api/cel/syntax/parser.h"

/* A whole number, decimal or after 0x hexadecimal; false beyond 64 bits. */
static bool read_whole(const char *s, const char *end, uint64_t *ret)
{
    bool hex = end - s > 2 && s[1] == 'x';
    uint64_t value = 0, base = hex ? 16 : 10;

    for (s += hex ? 2 : 0; s < end; s++) {
        uint64_t digit = (uint64_t)(*s <= '9' ? *s - '0' : (*s | 0x20) - 'a' + 10);
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *ret = value;
    return true;
}

static bool read_int(const char *s, const char *end, bool negative, int64_t *ret)
{
    uint64_t magnitude = 0;

    if (!read_whole(s, end, &magnitude) || magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    *ret = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

/* The nearest double by yyjson, which knows no locale; false beyond the range. JSON wants a digit
 * before the dot and none that means nothing. */
static bool read_double(struct ek_cel_parser *p, const char *s, const char *end, double *ret)
{
    char small[64], *copy = small;
    yyjson_val value = {0};

    while (*s == '0' && s + 1 < end)
        s++;
    bool bare = *s < '0' || *s > '9';
    size_t len = (size_t)(end - s);
    if (len + bare + 1 > sizeof small)
        copy = ek_cel_take(p, len + bare + 1);
    if (!copy)
        return true;
    *copy = '0';
    memcpy(copy + bare, s, len);
    copy[bare + len] = '\0';
    if (!yyjson_read_number(copy, &value, 0, NULL, NULL))
        return false;
    *ret = yyjson_get_num(&value);
    return true;
}

/* The text of a STRING or BYTES token into *ret; NULL or what is wrong with it. */
static const char *read_text(struct ek_cel_parser *p, const struct ek_cel_token *tok,
                             struct ek_cel_val *ret)
{
    size_t n = 0, len = tok->end - tok->start;
    bool bytes = tok->kind == EK_CEL_TOK_BYTES;
    char *text = ek_cel_take(p, len + 1);

    if (!text)
        return NULL;
    const char *wrong = ek_cel_unescape(p->lexer.text + tok->start, len, bytes, text, &n);
    *ret = bytes ? ek_cel_bytes(text, n) : ek_cel_string(text, n);
    return wrong;
}

static const char *read_literal(struct ek_cel_parser *p, bool negative, struct ek_cel_val *ret)
{
    const struct ek_cel_token tok = p->tok;
    const char *s = p->lexer.text + tok.start, *end = p->lexer.text + tok.end;
    int64_t i = 0;
    uint64_t u = 0;
    double d = 0;

    ek_cel_next(p);
    switch (tok.kind) {
    case EK_CEL_TOK_INT:
        if (!read_int(s, end, negative, &i))
            return "invalid int literal";
        *ret = ek_cel_int(i);
        return NULL;
    case EK_CEL_TOK_UINT:
        if (!read_whole(s, end - 1, &u))
            return "invalid uint literal";
        *ret = ek_cel_uint(u);
        return NULL;
    case EK_CEL_TOK_DOUBLE:
        if (!read_double(p, s, end, &d))
            return "invalid double literal";
        *ret = ek_cel_double(negative ? -d : d);
        return NULL;
    case EK_CEL_TOK_STRING:
    case EK_CEL_TOK_BYTES:
        return read_text(p, &tok, ret);
    default:
        return NULL; /* was reported */
    }
}

struct ek_cel_part ek_cel_parse_literal(struct ek_cel_parser *p, uint32_t position, bool negative)
{
    struct ek_cel_val value = ek_cel_null();
    const char *wrong = read_literal(p, negative, &value);

    if (wrong)
        return (struct ek_cel_part){ek_cel_complain(p, position, wrong), 0};
    struct ek_cel_node *node = ek_cel_node_new(p, EK_CEL_N_LITERAL, position);
    if (node)
        node->literal = value;
    return (struct ek_cel_part){node, 0};
}

char *ek_cel_field_name(struct ek_cel_parser *p)
{
    struct ek_cel_token tok = p->tok;

    if (tok.kind == EK_CEL_TOK_QUOTED_IDENT) {
        if (!p->options->backticks)
            ek_cel_complain(p, tok.position, "unsupported syntax: '`'");
        tok.start++;
        tok.end--;
    }
    ek_cel_next(p);
    return ek_cel_text_of(p, &tok);
}

/* Reads a question mark if there is one, and complains where there may be none. */
static bool parse_optional(struct ek_cel_parser *p)
{
    if (p->tok.kind != EK_CEL_TOK_QUESTION)
        return false;
    if (!p->options->optional_syntax)
        ek_cel_complain(p, p->tok.position, "unsupported syntax '?'");
    ek_cel_next(p);
    return true;
}

static void parse_value(struct ek_cel_parser *p, struct ek_cel_item *item, uint32_t *height)
{
    struct ek_cel_part value = ek_cel_parse_expr(p);

    item->value = value.node;
    *height = value.height > *height ? value.height : *height;
}

static void parse_element(struct ek_cel_parser *p, struct ek_cel_item *item, uint32_t *height)
{
    item->optional = parse_optional(p);
    parse_value(p, item, height);
}

static void parse_entry(struct ek_cel_parser *p, struct ek_cel_item *item, uint32_t *height)
{
    item->optional = parse_optional(p);
    struct ek_cel_part key = ek_cel_parse_expr(p);
    item->key = key.node;
    *height = key.height > *height ? key.height : *height;
    item->position = p->tok.position;
    ek_cel_expect(p, EK_CEL_TOK_COLON);
    parse_value(p, item, height);
}

static void parse_field(struct ek_cel_parser *p, struct ek_cel_item *item, uint32_t *height)
{
    item->optional = parse_optional(p);
    if (p->tok.kind == EK_CEL_TOK_IDENT || p->tok.kind == EK_CEL_TOK_QUOTED_IDENT)
        item->name = ek_cel_field_name(p);
    else
        ek_cel_unexpected_name(p, item->optional);
    item->position = p->tok.position;
    ek_cel_expect(p, EK_CEL_TOK_COLON);
    parse_value(p, item, height);
}

/* Whether another part follows a comma, which else was the last one that there may be. */
static bool starts_part(const struct ek_cel_parser *p, bool field)
{
    enum ek_cel_token_kind kind = p->tok.kind;

    if (kind == EK_CEL_TOK_QUESTION)
        return true;
    return field ? kind == EK_CEL_TOK_IDENT || kind == EK_CEL_TOK_QUOTED_IDENT
                 : ek_cel_starts_operand(kind);
}

/*
 * What is between brackets, from the opening one to behind the closing one: parts with commas
 * between them, and maybe one more comma. Leaves the parts on the stack; returns their height.
 */
static uint32_t parse_parts(struct ek_cel_parser *p, enum ek_cel_token_kind close,
                            void (*parse)(struct ek_cel_parser *p, struct ek_cel_item *item,
                                          uint32_t *height))
{
    uint32_t height = 0, base = p->items_len;
    bool more = true;

    ek_cel_next(p);
    if (parse != parse_field && p->tok.kind != EK_CEL_TOK_COMMA && p->tok.kind != close &&
        p->tok.kind != EK_CEL_TOK_QUESTION)
        ek_cel_want_operand(p, close == EK_CEL_TOK_RBRACE ? EK_CEL_AT_MAP : EK_CEL_AT_LIST);
    while (more && p->tok.kind != EK_CEL_TOK_COMMA && p->tok.kind != close) {
        struct ek_cel_item item = {0};
        parse(p, &item, &height);
        if (!ek_cel_push(p, &item))
            return height;
        more = p->tok.kind == EK_CEL_TOK_COMMA;
        if (more)
            ek_cel_next(p);
        else if (p->tok.kind != close)
            ek_cel_unexpected_part(p, close);
        more = more && starts_part(p, parse == parse_field);
    }
    if (p->items_len == base && p->tok.kind == EK_CEL_TOK_COMMA)
        ek_cel_next(p);
    ek_cel_expect(p, close);
    return height;
}

/* One flag per item, or NULL when none is set or there is no memory. */
static bool *optional_flags(struct ek_cel_parser *p, uint32_t base, uint32_t n)
{
    bool any = false;

    for (uint32_t i = 0; i < n; i++)
        any |= p->items[base + i].optional;
    bool *flags = any ? ek_cel_take(p, n) : NULL;
    for (uint32_t i = 0; flags && i < n; i++)
        flags[i] = p->items[base + i].optional;
    return flags;
}

struct ek_cel_part ek_cel_parse_list(struct ek_cel_parser *p)
{
    struct ek_cel_expander x = {.parser = p, .position = p->tok.position};
    uint32_t base = p->items_len, height = parse_parts(p, EK_CEL_TOK_RBRACKET, parse_element);
    uint32_t n = p->items_len - base;
    struct ek_cel_node **items = ek_cel_values(p, base, n);
    bool *optional = optional_flags(p, base, n);

    p->items_len = base;
    struct ek_cel_node *node = ek_cel_dead(p) ? NULL : ek_cel_make_list(&x, n, items);
    if (node)
        node->list.optional = optional;
    return (struct ek_cel_part){node, height};
}

struct ek_cel_part ek_cel_parse_map(struct ek_cel_parser *p)
{
    struct ek_cel_expander x = {.parser = p, .position = p->tok.position};
    uint32_t base = p->items_len, height = parse_parts(p, EK_CEL_TOK_RBRACE, parse_entry);
    uint32_t n = p->items_len - base;
    struct ek_cel_map_entry *entries = ek_cel_take(p, (n + !n) * sizeof *entries);

    p->items_len = base;
    if (ek_cel_dead(p))
        return (struct ek_cel_part){0};
    for (uint32_t i = 0; i < n; i++) {
        const struct ek_cel_item *item = &p->items[base + i];
        entries[i] =
            (struct ek_cel_map_entry){item->key, item->value, item->position, item->optional};
    }
    return (struct ek_cel_part){ek_cel_make_map(&x, n, entries), height};
}

struct ek_cel_part ek_cel_parse_struct(struct ek_cel_parser *p, const char *name)
{
    uint32_t position = p->tok.position, base = p->items_len;
    uint32_t height = parse_parts(p, EK_CEL_TOK_RBRACE, parse_field), n = p->items_len - base;
    struct ek_cel_field_init *fields = ek_cel_take(p, (n + !n) * sizeof *fields);
    struct ek_cel_node *node = ek_cel_node_new(p, EK_CEL_N_STRUCT, position);

    p->items_len = base;
    if (ek_cel_dead(p))
        return (struct ek_cel_part){0};
    node->object.name = name;
    node->object.fields = fields;
    node->object.n = n;
    for (uint32_t i = 0; i < n; i++) {
        const struct ek_cel_item *item = &p->items[base + i];
        fields[i] =
            (struct ek_cel_field_init){item->name, item->value, item->position, item->optional};
        ek_cel_deepen(node, item->value);
    }
    return (struct ek_cel_part){node, height};
}
