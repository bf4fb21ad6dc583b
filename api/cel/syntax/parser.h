/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the files of the parser share: tokens, the lexer, the parser's state, and the
 * makers of nodes that macros use too. For the parser alone.
 *
 * The lexer stops at the first syntax error: from then on the parser sees the end of the text,
 * reports no further syntax error, and completes the current rule, so that macros with complete
 * arguments still report their errors, as in cel-go.
 */
#ifndef API_CEL_SYNTAX_PARSER_H
#define API_CEL_SYNTAX_PARSER_H

#include "api/cel/syntax/macro.h"
#include "api/cel/syntax/parse.h"

enum ek_cel_token_kind {
    EK_CEL_TOK_END,
    EK_CEL_TOK_IDENT,
    EK_CEL_TOK_QUOTED_IDENT, /* in backticks */
    EK_CEL_TOK_INT,
    EK_CEL_TOK_UINT,
    EK_CEL_TOK_DOUBLE,
    EK_CEL_TOK_STRING,
    EK_CEL_TOK_BYTES,
    EK_CEL_TOK_TRUE,
    EK_CEL_TOK_FALSE,
    EK_CEL_TOK_NULL,
    EK_CEL_TOK_IN,
    EK_CEL_TOK_EQ,
    EK_CEL_TOK_NE,
    EK_CEL_TOK_LT,
    EK_CEL_TOK_LE,
    EK_CEL_TOK_GT,
    EK_CEL_TOK_GE,
    EK_CEL_TOK_AND,
    EK_CEL_TOK_OR,
    EK_CEL_TOK_NOT,
    EK_CEL_TOK_PLUS,
    EK_CEL_TOK_MINUS,
    EK_CEL_TOK_STAR,
    EK_CEL_TOK_SLASH,
    EK_CEL_TOK_PERCENT,
    EK_CEL_TOK_QUESTION,
    EK_CEL_TOK_COLON,
    EK_CEL_TOK_DOT,
    EK_CEL_TOK_COMMA,
    EK_CEL_TOK_LPAREN,
    EK_CEL_TOK_RPAREN,
    EK_CEL_TOK_LBRACKET,
    EK_CEL_TOK_RBRACKET,
    EK_CEL_TOK_LBRACE,
    EK_CEL_TOK_RBRACE,
};

struct ek_cel_token {
    uint32_t start, end; /* octets */
    uint32_t position;   /* code points before it */
    enum ek_cel_token_kind kind;
};

/* A reader of tokens over len octets of valid UTF-8. */
struct ek_cel_lexer {
    const char *text;
    uint32_t len, at;
    uint32_t shift;               /* octets before at that continue a character */
    bool ascii;                   /* there are none in the text */
    bool failed;                  /* something was no token */
    struct ek_cel_issues *issues; /* NULL when looking ahead: says nothing */
};

/* The next token. Characters that form no token are reported and skipped: those that could begin a
 * token, and the character that could not continue it, as in ANTLR's lexers. */
struct ek_cel_token ek_cel_lex(struct ek_cel_lexer *lexer);

/* A part of the list, map, struct or chain of operators being read. */
struct ek_cel_item {
    struct ek_cel_node *key, *value;
    const char *name;
    uint32_t position;
    bool optional;
};

struct ek_cel_parser {
    struct ek_cel_lexer lexer;
    struct ek_cel_token tok; /* the one to be read next */
    const struct ek_cel_parse_options *options;
    struct ek_arena *arena;
    struct ek_cel_issues *issues;
    uint32_t exprs, relations, calcs; /* grammar rules that are open, by name */
    uint32_t nodes;
    bool failed; /* an issue was reported */
    bool limit;  /* it was that the text is too large or deep */
    bool stopped;
    bool no_memory;
    struct ek_cel_item *items; /* a stack of what is being read */
    uint32_t items_len, items_cap;
};

/* A parsed part: its node (NULL without memory) and how many operators, selections, member calls
 * and indexes are above each other in it, which the reference limits too. */
struct ek_cel_part {
    struct ek_cel_node *node;
    uint32_t height;
};

/* One macro call being expanded, or any node that is made at a position. */
struct ek_cel_expander {
    struct ek_cel_parser *parser;
    uint32_t position;
    bool reported; /* the expansion said what is wrong */
};

/* True when nodes may be missing, because there is no memory or a limit was met: then nothing more
 * is made. (After other errors every part has a node, if only one that stands for it.) */
static inline bool ek_cel_dead(const struct ek_cel_parser *p)
{
    return p->no_memory || p->limit;
}

/* expr: the whole grammar. */
struct ek_cel_part ek_cel_parse_expr(struct ek_cel_parser *p);
/* member: a primary and what is applied to it. */
struct ek_cel_part ek_cel_parse_member(struct ek_cel_parser *p);
/* A member that begins with the number at hand, negated; position is the sign's. */
struct ek_cel_part ek_cel_parse_negative(struct ek_cel_parser *p, uint32_t position);
/* Lists, maps and structs, from their opening bracket on. */
struct ek_cel_part ek_cel_parse_list(struct ek_cel_parser *p);
struct ek_cel_part ek_cel_parse_map(struct ek_cel_parser *p);
struct ek_cel_part ek_cel_parse_struct(struct ek_cel_parser *p, const char *name);
/* The number or quoted text at hand; position is its own or that of the sign before it. */
struct ek_cel_part ek_cel_parse_literal(struct ek_cel_parser *p, uint32_t position, bool negative);
/* The name at hand, which may be in backticks. */
char *ek_cel_field_name(struct ek_cel_parser *p);

void ek_cel_next(struct ek_cel_parser *p);
/* Reads a token of that kind or reports that it is missing. */
bool ek_cel_expect(struct ek_cel_parser *p, enum ek_cel_token_kind kind);
/* Whether an operand may begin with such a token. */
bool ek_cel_starts_operand(enum ek_cel_token_kind kind);
/* Ends the parsing: nothing more is read. */
void ek_cel_stop(struct ek_cel_parser *p);
/* Where an expression is to begin. */
enum ek_cel_operand_place {
    EK_CEL_AT_OPERAND, /* anywhere else */
    EK_CEL_AT_INDEX,   /* behind the bracket of an index */
    EK_CEL_AT_ARGS,    /* behind the parenthesis of a call */
    EK_CEL_AT_LIST,    /* behind the opening bracket */
    EK_CEL_AT_MAP,
};
/* True when the token at hand may begin an operand; reports what may stand at that place else. */
bool ek_cel_want_operand(struct ek_cel_parser *p, enum ek_cel_operand_place at);
/* Report the token at hand, unless something was wrong before (syntax/report.c): where an operand
 * was wanted, a field behind the dot at an octet, the name of a struct's field (optional: behind a
 * question mark), the end of a part before close or another part, or a token of that kind, which is
 * called name. */
void ek_cel_unexpected_operand(struct ek_cel_parser *p);
/* Behind an exclamation mark, and behind the minus at an octet. */
void ek_cel_unexpected_negated(struct ek_cel_parser *p);
void ek_cel_unexpected_signed(struct ek_cel_parser *p, uint32_t minus);
void ek_cel_unexpected_field(struct ek_cel_parser *p, uint32_t dot, bool optional);
void ek_cel_unexpected_name(struct ek_cel_parser *p, bool optional);
void ek_cel_unexpected_part(struct ek_cel_parser *p, enum ek_cel_token_kind close);
void ek_cel_unexpected_token(struct ek_cel_parser *p, enum ek_cel_token_kind kind,
                             const char *name);
/* Reports something that does not keep the rest from being read; returns a node in its place. */
struct ek_cel_node *ek_cel_complain(struct ek_cel_parser *p, uint32_t position,
                                    const char *message);
/* The part that node is, one level above height. */
struct ek_cel_part ek_cel_level(struct ek_cel_parser *p, struct ek_cel_node *node, uint32_t height);

/* Appends a part of the list, map, struct or chain being parsed; the caller resets items_len at its
 * end. */
bool ek_cel_push(struct ek_cel_parser *p, const struct ek_cel_item *item);
/* The values of the n items from base, in the arena. */
struct ek_cel_node **ek_cel_values(struct ek_cel_parser *p, uint32_t base, uint32_t n);

/* size octets of the arena, or NULL, noting that there is no memory. */
void *ek_cel_take(struct ek_cel_parser *p, size_t size);
char *ek_cel_text_of(struct ek_cel_parser *p, const struct ek_cel_token *tok);
/* A zeroed node. */
struct ek_cel_node *ek_cel_node_new(struct ek_cel_parser *p, enum ek_cel_node_kind kind,
                                    uint32_t position);
/* Makes node at least one deeper than child. */
void ek_cel_deepen(struct ek_cel_node *node, const struct ek_cel_node *child);

/* Reads the quoted text of a STRING or BYTES token (prefixes and all) into out, which has room for
 * len + 1. Returns NULL, or what is wrong. Source: langdef.md, "String and Bytes Values". */
const char *ek_cel_unescape(const char *s, size_t len, bool bytes, char *out, size_t *ret_len);

#endif
