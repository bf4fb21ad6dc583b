/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser's state, limits and operators. Recursive descent along cel-go's grammar: open rules
 * are counted as its ANTLR parser counts them, so that the same texts are too deep. A part's
 * height is what cel-go counts when it walks the parse tree.
 */
#include <stdio.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/cel/syntax/parser.h"

#define ITEMS_AT_FIRST 32
#define OCTETS_MAX     ((size_t)EK_CEL_TEXT_MAX * 4) /* no character has more than four */

void *ek_cel_take(struct ek_cel_parser *p, size_t size)
{
    void *memory = ek_arena_try(p->arena, size);

    if (!memory) {
        p->no_memory = p->stopped = true;
        p->tok.kind = EK_CEL_TOK_END;
        p->lexer.at = p->lexer.len;
    }
    return memory;
}

char *ek_cel_text_of(struct ek_cel_parser *p, const struct ek_cel_token *tok)
{
    size_t len = tok->end - tok->start;
    char *copy = ek_cel_take(p, len + 1);

    if (copy) {
        memcpy(copy, p->lexer.text + tok->start, len);
        copy[len] = '\0';
    }
    return copy;
}

struct ek_cel_node *ek_cel_node_new(struct ek_cel_parser *p, enum ek_cel_node_kind kind,
                                    uint32_t position)
{
    struct ek_cel_node *node = ek_cel_take(p, sizeof *node);

    if (!node)
        return NULL;
    memset(node, 0, sizeof *node);
    node->kind = (uint8_t)kind;
    node->depth = 1;
    node->position = position;
    p->nodes++;
    return node;
}

void ek_cel_deepen(struct ek_cel_node *node, const struct ek_cel_node *child)
{
    if (child->depth >= node->depth)
        node->depth = child->depth < UINT16_MAX ? child->depth + 1 : UINT16_MAX;
}

/* Lets the parser see the end of the text from now on. */
void ek_cel_stop(struct ek_cel_parser *p)
{
    p->failed = p->stopped = true;
    p->tok.kind = EK_CEL_TOK_END;
    p->lexer.at = p->lexer.len;
}

void ek_cel_next(struct ek_cel_parser *p)
{
    if (!p->stopped)
        p->tok = ek_cel_lex(&p->lexer);
}

struct ek_cel_node *ek_cel_complain(struct ek_cel_parser *p, uint32_t position, const char *message)
{
    p->failed = true;
    ek_cel_issue_add(p->issues, EK_CEL_E_SYNTAX, p->lexer.text, p->lexer.len, position, "%s",
                     message);
    return ek_cel_node_new(p, EK_CEL_N_LITERAL, position);
}

/* Ends the parsing because of a limit. */
static void too_deep(struct ek_cel_parser *p, const char *message)
{
    if (!p->limit)
        ek_cel_issue_add(p->issues, EK_CEL_E_LIMIT, p->lexer.text, p->lexer.len, EK_CEL_NOWHERE,
                         "%s: %u", message, EK_CEL_DEPTH_MAX);
    p->limit = true;
    ek_cel_stop(p);
}

bool ek_cel_expect(struct ek_cel_parser *p, enum ek_cel_token_kind kind)
{
    static const char *const names[] = {
        [EK_CEL_TOK_IDENT] = "IDENTIFIER", [EK_CEL_TOK_COLON] = "':'",  [EK_CEL_TOK_RPAREN] = "')'",
        [EK_CEL_TOK_RBRACKET] = "']'",     [EK_CEL_TOK_RBRACE] = "'}'", [EK_CEL_TOK_END] = "<EOF>",
    };

    if (p->tok.kind != kind) {
        ek_cel_unexpected_token(p, kind, names[kind]);
        return false;
    }
    ek_cel_next(p);
    return true;
}

struct ek_cel_part ek_cel_level(struct ek_cel_parser *p, struct ek_cel_node *node, uint32_t height)
{
    if (height >= EK_CEL_DEPTH_MAX)
        too_deep(p, "max recursion depth exceeded");
    return (struct ek_cel_part){node, height + 1};
}

bool ek_cel_push(struct ek_cel_parser *p, const struct ek_cel_item *item)
{
    if (p->items_len == p->items_cap) {
        uint32_t cap = p->items_cap ? p->items_cap * 2 : ITEMS_AT_FIRST;
        struct ek_cel_item *more = ek_cel_take(p, cap * sizeof *more);
        if (!more)
            return false;
        if (p->items_len > 0)
            memcpy(more, p->items, p->items_len * sizeof *more);
        p->items = more;
        p->items_cap = cap;
    }
    p->items[p->items_len++] = *item;
    return true;
}

struct ek_cel_node **ek_cel_values(struct ek_cel_parser *p, uint32_t base, uint32_t n)
{
    struct ek_cel_node **values = ek_cel_take(p, (n + !n) * sizeof(struct ek_cel_node *));

    for (uint32_t i = 0; values && i < n; i++)
        values[i] = p->items[base + i].value;
    return values;
}

/* Opens a rule of the grammar; false when that is one too many. */
static bool enter(struct ek_cel_parser *p, uint32_t *open)
{
    if (++*open > EK_CEL_DEPTH_MAX)
        too_deep(p, "expression recursion limit exceeded");
    return *open <= EK_CEL_DEPTH_MAX;
}

static struct ek_cel_part call(struct ek_cel_parser *p, uint32_t position, const char *function,
                               uint32_t n, struct ek_cel_node *const *args)
{
    struct ek_cel_expander x = {.parser = p, .position = position};

    return (struct ek_cel_part){ek_cel_make_call(&x, function, n, args), 0};
}

static struct ek_cel_part binary(struct ek_cel_parser *p, uint32_t position, const char *function,
                                 const struct ek_cel_part *left, const struct ek_cel_part *right)
{
    struct ek_cel_node *args[] = {left->node, right->node};
    struct ek_cel_part part = call(p, position, function, 2, args);

    return ek_cel_level(p, part.node, left->height > right->height ? left->height : right->height);
}

/* unary: any number of one sign; an even number means nothing, and one before a number is part
 * of it. */
static struct ek_cel_part parse_unary(struct ek_cel_parser *p)
{
    enum ek_cel_token_kind sign = p->tok.kind;
    uint32_t position = p->tok.position, n = 0, last = 0;

    if (sign != EK_CEL_TOK_NOT && sign != EK_CEL_TOK_MINUS)
        return ek_cel_parse_member(p);
    for (; p->tok.kind == sign; n++) {
        last = p->tok.start;
        ek_cel_next(p);
    }
    bool number = p->tok.kind == EK_CEL_TOK_INT || p->tok.kind == EK_CEL_TOK_DOUBLE;
    if (sign == EK_CEL_TOK_MINUS && n == 1 && number)
        return ek_cel_parse_negative(p, position);
    if (sign == EK_CEL_TOK_NOT && !ek_cel_starts_operand(p->tok.kind))
        ek_cel_unexpected_negated(p);
    if (sign == EK_CEL_TOK_MINUS &&
        (!ek_cel_starts_operand(p->tok.kind) || p->tok.kind == EK_CEL_TOK_NOT))
        ek_cel_unexpected_signed(p, last);
    struct ek_cel_part operand = ek_cel_parse_member(p);
    if (n % 2 == 0)
        return operand;
    struct ek_cel_part part = call(
        p, position, sign == EK_CEL_TOK_NOT ? EK_CEL_OP_NOT : EK_CEL_OP_NEGATE, 1, &operand.node);
    part.height = operand.height;
    return part;
}

static const char *product(enum ek_cel_token_kind kind)
{
    switch (kind) {
    case EK_CEL_TOK_STAR:
        return EK_CEL_OP_MUL;
    case EK_CEL_TOK_SLASH:
        return EK_CEL_OP_DIV;
    case EK_CEL_TOK_PERCENT:
        return EK_CEL_OP_MOD;
    default:
        return NULL;
    }
}

static const char *sum(enum ek_cel_token_kind kind)
{
    return kind == EK_CEL_TOK_PLUS    ? EK_CEL_OP_ADD
           : kind == EK_CEL_TOK_MINUS ? EK_CEL_OP_SUB
                                      : NULL;
}

/* calc: sums of products, or for an operand of a sum a product, or of a product a unary. */
enum binding { SUM, PRODUCT, UNARY };

static struct ek_cel_part parse_calc(struct ek_cel_parser *p, enum binding binding)
{
    struct ek_cel_part left = {0};

    if (!enter(p, &p->calcs))
        return left;
    left = parse_unary(p);
    for (;;) {
        uint32_t position = p->tok.position;
        const char *op = binding < UNARY ? product(p->tok.kind) : NULL;
        enum binding below = UNARY;
        if (!op && binding < PRODUCT) {
            op = sum(p->tok.kind);
            below = PRODUCT;
        }
        if (!op)
            break;
        ek_cel_next(p);
        struct ek_cel_part right = parse_calc(p, below);
        left = binary(p, position, op, &left, &right);
    }
    p->calcs--;
    return left;
}

static const char *relation(enum ek_cel_token_kind kind)
{
    switch (kind) {
    case EK_CEL_TOK_EQ:
        return EK_CEL_OP_EQ;
    case EK_CEL_TOK_NE:
        return EK_CEL_OP_NE;
    case EK_CEL_TOK_LT:
        return EK_CEL_OP_LT;
    case EK_CEL_TOK_LE:
        return EK_CEL_OP_LE;
    case EK_CEL_TOK_GT:
        return EK_CEL_OP_GT;
    case EK_CEL_TOK_GE:
        return EK_CEL_OP_GE;
    case EK_CEL_TOK_IN:
        return EK_CEL_OP_IN;
    default:
        return NULL;
    }
}

static struct ek_cel_part parse_relation(struct ek_cel_parser *p)
{
    struct ek_cel_part left = {0}, right = {0};
    const char *op = NULL;

    if (!enter(p, &p->relations))
        return left;
    left = parse_calc(p, SUM);
    while ((op = relation(p->tok.kind))) {
        uint32_t position = p->tok.position;
        ek_cel_next(p);
        if (!enter(p, &p->relations))
            return left;
        right = parse_calc(p, SUM);
        p->relations--;
        left = binary(p, position, op, &left, &right);
    }
    p->relations--;
    return left;
}

/* conditionalOr and conditionalAnd: a chain is one call of all its terms. The reference makes a
 * balanced tree of it, whose root is the operator in the middle. */
static struct ek_cel_part parse_chain(struct ek_cel_parser *p, enum ek_cel_token_kind op)
{
    bool is_or = op == EK_CEL_TOK_OR;
    struct ek_cel_part part = is_or ? parse_chain(p, EK_CEL_TOK_AND) : parse_relation(p);
    uint32_t base = p->items_len, position = 0;

    if (p->tok.kind != op)
        return part;
    for (;;) {
        struct ek_cel_item item = {.value = part.node, .position = position};
        if (!ek_cel_push(p, &item) || p->tok.kind != op)
            break;
        position = p->tok.position;
        ek_cel_next(p);
        struct ek_cel_part term = is_or ? parse_chain(p, EK_CEL_TOK_AND) : parse_relation(p);
        part.node = term.node;
        part.height = term.height > part.height ? term.height : part.height;
    }
    uint32_t n = p->items_len - base;
    struct ek_cel_node **terms = ek_cel_dead(p) ? NULL : ek_cel_values(p, base, n);
    p->items_len = base;
    if (!terms)
        return (struct ek_cel_part){0};
    part.node = call(p, p->items[base + 1 + (n - 1) / 2].position,
                     is_or ? EK_CEL_OP_OR : EK_CEL_OP_AND, n, terms)
                    .node;
    return part;
}

struct ek_cel_part ek_cel_parse_expr(struct ek_cel_parser *p)
{
    struct ek_cel_part condition = {0};

    if (!enter(p, &p->exprs))
        return condition;
    condition = parse_chain(p, EK_CEL_TOK_OR);
    if (p->tok.kind == EK_CEL_TOK_QUESTION) {
        uint32_t position = p->tok.position, height = condition.height;
        ek_cel_next(p);
        struct ek_cel_part yes = parse_chain(p, EK_CEL_TOK_OR);
        ek_cel_expect(p, EK_CEL_TOK_COLON);
        struct ek_cel_part no = ek_cel_parse_expr(p);
        struct ek_cel_node *args[] = {condition.node, yes.node, no.node};
        height = yes.height > height ? yes.height : height;
        height = no.height > height ? no.height : height;
        condition = ek_cel_level(p, call(p, position, EK_CEL_OP_CONDITIONAL, 3, args).node, height);
    }
    p->exprs--;
    return condition;
}

/* Counts the characters of text and finds out whether all of them are ASCII. Returns the octet at
 * which it is no UTF-8, or len. */
static size_t survey(const char *text, size_t len, size_t *ret_points)
{
    size_t i = 0, points = 0;

    while (i < len) {
        uint64_t eight = 0;
        unsigned rune = 0;
        if (len - i >= sizeof eight) {
            memcpy(&eight, text + i, sizeof eight);
            if ((eight & UINT64_C(0x8080808080808080)) == 0) {
                i += sizeof eight;
                points += sizeof eight;
                continue;
            }
        }
        size_t n = ek_utf8_decode((struct ek_str){text + i, len - i}, &rune);
        if (n == 0)
            break;
        i += n;
        points++;
    }
    *ret_points = points;
    return i;
}

/* Refuses what is no text or too long. */
static int admit(const char *text, size_t len, struct ek_cel_issues *issues, bool *ret_ascii)
{
    size_t points = 0, valid = 0;

    if (len <= OCTETS_MAX)
        valid = survey(text, len, &points);
    if (points > EK_CEL_TEXT_MAX || len > OCTETS_MAX) {
        ek_cel_issue_add(issues, EK_CEL_E_LIMIT, text, len, EK_CEL_NOWHERE,
                         "expression code point size exceeds limit: size: %zu, limit %u",
                         points ? points : len, EK_CEL_TEXT_MAX);
        return EK_E_LIMIT;
    }
    if (valid < len) {
        ek_cel_issue_add(issues, EK_CEL_E_SYNTAX, text, valid, (uint32_t)points,
                         "the text is not valid UTF-8 from octet %zu on", valid);
        return EK_E_PARSE;
    }
    *ret_ascii = points == len;
    return 0;
}

int ek_cel_parse(const char *text, size_t len, const struct ek_cel_parse_options *options,
                 struct ek_arena *arena, struct ek_cel_ast *ret, struct ek_cel_issues *issues)
{
    struct ek_cel_parser p = {.options = options, .arena = arena, .issues = issues};

    int rc = admit(text, len, issues, &p.lexer.ascii);
    if (rc)
        return rc;
    p.lexer.text = text;
    p.lexer.len = (uint32_t)len;
    p.lexer.issues = issues;
    ek_cel_next(&p);
    struct ek_cel_part root = ek_cel_parse_expr(&p);
    ek_cel_expect(&p, EK_CEL_TOK_END);
    if (p.no_memory)
        return EK_E_NOMEM;
    if (p.limit)
        return EK_E_LIMIT;
    if (p.failed || p.lexer.failed || !root.node)
        return EK_E_PARSE;
    *ret = (struct ek_cel_ast){root.node, text, len, root.node->depth, p.nodes};
    return 0;
}
