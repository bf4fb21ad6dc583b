/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members: names, literals and brackets, and what is selected from, indexed or called on them.
 */
#include <stdio.h>
#include <string.h>

#include "api/cel/syntax/parser.h"

/* Names that the language keeps for itself, but for those that are tokens of their own. */
static bool is_reserved(const char *name)
{
    static const char *const names[] = {
        "as",  "break", "const",   "continue",  "else",   "for", "function", "if",   "import",
        "let", "loop",  "package", "namespace", "return", "var", "void",     "while"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* True when what follows the name just read makes it the start of a struct's: ".b.c{". */
static bool names_struct(const struct ek_cel_parser *p)
{
    struct ek_cel_lexer ahead = p->lexer;
    struct ek_cel_token tok = p->tok;

    ahead.issues = NULL;
    while (tok.kind == EK_CEL_TOK_DOT) {
        if (ek_cel_lex(&ahead).kind != EK_CEL_TOK_IDENT)
            return false;
        tok = ek_cel_lex(&ahead);
    }
    return tok.kind == EK_CEL_TOK_LBRACE;
}

/* The arguments of a call, behind its parenthesis: left on the stack of items. */
static uint32_t parse_args(struct ek_cel_parser *p)
{
    uint32_t height = 0;

    ek_cel_next(p);
    if (p->tok.kind != EK_CEL_TOK_RPAREN && ek_cel_want_operand(p, EK_CEL_AT_ARGS))
        for (;;) {
            struct ek_cel_part arg = ek_cel_parse_expr(p);
            height = arg.height > height ? arg.height : height;
            struct ek_cel_item item = {.value = arg.node};
            if (!ek_cel_push(p, &item) || p->tok.kind != EK_CEL_TOK_COMMA)
                break;
            ek_cel_next(p);
        }
    ek_cel_expect(p, EK_CEL_TOK_RPAREN);
    return height;
}

static bool is_macro(const struct ek_cel_macro *macro, const struct ek_cel_node *target)
{
    if (!macro || !macro->target_name)
        return macro != NULL;
    const char *name = target ? ek_cel_simple_name(target) : NULL;
    return name && strcmp(name, macro->target_name) == 0;
}

/* The call of function, or what the macro of that name makes of it. */
static struct ek_cel_node *make_call(struct ek_cel_parser *p, uint32_t position,
                                     const char *function, struct ek_cel_node *target, bool member,
                                     uint32_t base)
{
    struct ek_cel_expander x = {.parser = p, .position = position};
    const struct ek_cel_parse_options *options = p->options;
    const struct ek_cel_macro *macro = NULL;
    uint32_t n = p->items_len - base;
    struct ek_cel_node **args = ek_cel_values(p, base, n), *made = NULL;

    p->items_len = base;
    if (ek_cel_dead(p))
        return NULL;
    if (options->find_macro)
        macro = options->find_macro(options->find_macro_arg, function, member, n);
    if (is_macro(macro, target))
        made = macro->expand(&x, target, args, n);
    if (made)
        return made;
    if (x.reported)
        return ek_cel_node_new(p, EK_CEL_N_LITERAL, position);
    return member ? ek_cel_make_member(&x, function, target, n, args)
                  : ek_cel_make_call(&x, function, n, args);
}

static struct ek_cel_part parse_global_call(struct ek_cel_parser *p, const char *function)
{
    uint32_t position = p->tok.position, base = p->items_len, height = parse_args(p);

    return (struct ek_cel_part){make_call(p, position, function, NULL, false, base), height};
}

static struct ek_cel_part parse_member_call(struct ek_cel_parser *p, struct ek_cel_part target,
                                            const char *function)
{
    uint32_t position = p->tok.position, base = p->items_len, height = parse_args(p);
    struct ek_cel_node *node = make_call(p, position, function, target.node, true, base);

    return ek_cel_level(p, node, target.height > height ? target.height : height);
}

/* A name, from its leading dot on, or a call of it. */
static struct ek_cel_part parse_name(struct ek_cel_parser *p)
{
    uint32_t start = p->tok.position;
    bool dotted = p->tok.kind == EK_CEL_TOK_DOT;
    char message[64];

    uint32_t dot = p->tok.start;
    if (dotted)
        ek_cel_next(p);
    struct ek_cel_token tok = p->tok;
    if (dotted && tok.kind != EK_CEL_TOK_IDENT)
        ek_cel_unexpected_field(p, dot, false);
    if (!ek_cel_expect(p, EK_CEL_TOK_IDENT))
        return (struct ek_cel_part){ek_cel_node_new(p, EK_CEL_N_LITERAL, start), 0};
    char *name = ek_cel_take(p, tok.end - tok.start + dotted + 1);
    if (!name)
        return (struct ek_cel_part){0};
    *name = '.';
    memcpy(name + dotted, p->lexer.text + tok.start, tok.end - tok.start);
    name[tok.end - tok.start + dotted] = '\0';
    if (is_reserved(name + dotted) && !names_struct(p)) {
        snprintf(message, sizeof message, "reserved identifier: %s", name + dotted);
        struct ek_cel_part part = {ek_cel_complain(p, start, message), 0};
        return p->tok.kind == EK_CEL_TOK_LPAREN ? parse_global_call(p, name) : part;
    }
    if (p->tok.kind == EK_CEL_TOK_LPAREN)
        return parse_global_call(p, name);
    struct ek_cel_node *node = ek_cel_node_new(p, EK_CEL_N_IDENT, tok.position);
    if (node)
        node->ident = name;
    return (struct ek_cel_part){node, 0};
}

static struct ek_cel_part parse_nested(struct ek_cel_parser *p)
{
    ek_cel_next(p);
    struct ek_cel_part part = ek_cel_parse_expr(p);
    ek_cel_expect(p, EK_CEL_TOK_RPAREN);
    return part;
}

static struct ek_cel_part parse_signed(struct ek_cel_parser *p)
{
    uint32_t position = p->tok.position, minus = p->tok.start;

    ek_cel_next(p);
    if (p->tok.kind != EK_CEL_TOK_INT && p->tok.kind != EK_CEL_TOK_DOUBLE)
        ek_cel_unexpected_signed(p, minus);
    return ek_cel_parse_literal(p, position, true);
}

static struct ek_cel_part parse_constant(struct ek_cel_parser *p)
{
    struct ek_cel_node *node = ek_cel_node_new(p, EK_CEL_N_LITERAL, p->tok.position);

    if (node && p->tok.kind == EK_CEL_TOK_NULL)
        node->literal = ek_cel_null();
    else if (node)
        node->literal = ek_cel_bool(p->tok.kind == EK_CEL_TOK_TRUE);
    ek_cel_next(p);
    return (struct ek_cel_part){node, 0};
}

static struct ek_cel_part parse_primary(struct ek_cel_parser *p)
{
    switch (p->tok.kind) {
    case EK_CEL_TOK_DOT:
    case EK_CEL_TOK_IDENT:
        return parse_name(p);
    case EK_CEL_TOK_LPAREN:
        return parse_nested(p);
    case EK_CEL_TOK_LBRACKET:
        return ek_cel_parse_list(p);
    case EK_CEL_TOK_LBRACE:
        return ek_cel_parse_map(p);
    case EK_CEL_TOK_MINUS:
        return parse_signed(p);
    case EK_CEL_TOK_TRUE:
    case EK_CEL_TOK_FALSE:
    case EK_CEL_TOK_NULL:
        return parse_constant(p);
    case EK_CEL_TOK_INT:
    case EK_CEL_TOK_UINT:
    case EK_CEL_TOK_DOUBLE:
    case EK_CEL_TOK_STRING:
    case EK_CEL_TOK_BYTES:
        return ek_cel_parse_literal(p, p->tok.position, false);
    default:
        ek_cel_unexpected_operand(p);
        return (struct ek_cel_part){ek_cel_node_new(p, EK_CEL_N_LITERAL, p->tok.position), 0};
    }
}

/* operand.?field */
static struct ek_cel_node *optional_select(struct ek_cel_parser *p, uint32_t position,
                                           struct ek_cel_node *operand, const char *field,
                                           uint32_t field_position)
{
    struct ek_cel_expander x = {.parser = p, .position = position};
    struct ek_cel_node *name = ek_cel_node_new(p, EK_CEL_N_LITERAL, field_position);

    if (!name)
        return NULL;
    if (!p->options->optional_syntax)
        return ek_cel_complain(p, position, "unsupported syntax '.?'");
    name->literal = ek_cel_string(field, strlen(field));
    return ek_cel_make_call(&x, EK_CEL_OP_OPT_SELECT, 2, (struct ek_cel_node *[]){operand, name});
}

static struct ek_cel_node *select_field(struct ek_cel_parser *p, uint32_t position,
                                        struct ek_cel_node *operand, const char *field)
{
    struct ek_cel_node *node = operand ? ek_cel_node_new(p, EK_CEL_N_SELECT, position) : NULL;

    if (!node)
        return NULL;
    node->select.operand = operand;
    node->select.field = field;
    ek_cel_deepen(node, operand);
    return node;
}

/* What follows a dot. *plain stays true while all is a dotted name. */
static struct ek_cel_part parse_select(struct ek_cel_parser *p, struct ek_cel_part operand,
                                       bool *plain)
{
    uint32_t position = p->tok.position, dot = p->tok.start;

    ek_cel_next(p);
    bool optional = p->tok.kind == EK_CEL_TOK_QUESTION;
    if (optional)
        ek_cel_next(p);
    struct ek_cel_token tok = p->tok;
    bool is_quoted = tok.kind == EK_CEL_TOK_QUOTED_IDENT;
    *plain = *plain && !optional && !is_quoted;
    if (!is_quoted && tok.kind != EK_CEL_TOK_IDENT) {
        ek_cel_unexpected_field(p, dot, optional);
        return operand;
    }
    const char *field = ek_cel_field_name(p);
    if (!field)
        return (struct ek_cel_part){0};
    if (p->tok.kind == EK_CEL_TOK_LPAREN && !optional && !is_quoted) {
        *plain = false;
        return parse_member_call(p, operand, field);
    }
    operand.node = optional ? optional_select(p, position, operand.node, field, tok.position)
                            : select_field(p, position, operand.node, field);
    operand.height++;
    return operand;
}

static struct ek_cel_part parse_index(struct ek_cel_parser *p, struct ek_cel_part operand)
{
    struct ek_cel_expander x = {.parser = p, .position = p->tok.position};

    ek_cel_next(p);
    bool optional = p->tok.kind == EK_CEL_TOK_QUESTION;
    if (optional)
        ek_cel_next(p);
    else
        ek_cel_want_operand(p, EK_CEL_AT_INDEX);
    struct ek_cel_part index = ek_cel_parse_expr(p);
    ek_cel_expect(p, EK_CEL_TOK_RBRACKET);
    if (optional && !p->options->optional_syntax)
        ek_cel_complain(p, x.position, "unsupported syntax '[?'");
    struct ek_cel_node *node =
        ek_cel_make_call(&x, optional ? EK_CEL_OP_OPT_INDEX : EK_CEL_OP_INDEX, 2,
                         (struct ek_cel_node *[]){operand.node, index.node});
    return ek_cel_level(p, node, operand.height > index.height ? operand.height : index.height);
}

/* The dotted name that node was read from, in the arena. */
static const char *dotted_name(struct ek_cel_parser *p, const struct ek_cel_node *node)
{
    size_t len = 0;
    const struct ek_cel_node *part = node;

    for (; part->kind == EK_CEL_N_SELECT; part = part->select.operand)
        len += strlen(part->select.field) + 1;
    if (part->kind != EK_CEL_N_IDENT) /* an error was reported there */
        return "";
    if (part == node)
        return node->ident;
    size_t head = strlen(part->ident);
    char *name = ek_cel_take(p, head + len + 1);
    if (!name)
        return NULL;
    memcpy(name, part->ident, head);
    char *end = name + head + len;
    *end = '\0';
    for (part = node; part->kind == EK_CEL_N_SELECT; part = part->select.operand) {
        size_t n = strlen(part->select.field);
        end -= n;
        memcpy(end, part->select.field, n);
        *--end = '.';
    }
    return name;
}

/* Selections may turn out to be the name of a struct, which has no height: so they are judged when
 * no more follows. */
static struct ek_cel_part finished(struct ek_cel_parser *p, struct ek_cel_part part)
{
    return part.height > EK_CEL_DEPTH_MAX ? ek_cel_level(p, part.node, part.height) : part;
}

static struct ek_cel_part parse_rest(struct ek_cel_parser *p, struct ek_cel_part part, bool plain)
{
    while (part.node) {
        switch (p->tok.kind) {
        case EK_CEL_TOK_DOT:
            part = parse_select(p, part, &plain);
            break;
        case EK_CEL_TOK_LBRACKET:
            part = parse_index(p, part);
            plain = false;
            break;
        case EK_CEL_TOK_LBRACE:
            if (!plain)
                return finished(p, part);
            part = ek_cel_parse_struct(p, dotted_name(p, part.node));
            plain = false;
            break;
        default:
            return finished(p, part);
        }
    }
    return part;
}

struct ek_cel_part ek_cel_parse_member(struct ek_cel_parser *p)
{
    bool named = p->tok.kind == EK_CEL_TOK_IDENT || p->tok.kind == EK_CEL_TOK_DOT;
    struct ek_cel_part part = parse_primary(p);

    return parse_rest(p, part, named && part.node && part.node->kind == EK_CEL_N_IDENT);
}

struct ek_cel_part ek_cel_parse_negative(struct ek_cel_parser *p, uint32_t position)
{
    return parse_rest(p, ek_cel_parse_literal(p, position, true), false);
}
