/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong with a text, in the words of the reference's parser. That one, made by ANTLR, looks
 * one token further to tell a token too many from one that is missing.
 */
#include "api/cel/parser.h"
#include "api/quote.h"

static enum ek_cel_token_kind after(const struct ek_cel_parser *p)
{
    struct ek_cel_lexer lexer = p->lexer;

    lexer.issues = NULL;
    return ek_cel_lex(&lexer).kind;
}

bool ek_cel_starts_operand(enum ek_cel_token_kind kind)
{
    switch (kind) {
    case EK_CEL_TOK_LBRACKET:
    case EK_CEL_TOK_LBRACE:
    case EK_CEL_TOK_LPAREN:
    case EK_CEL_TOK_DOT:
    case EK_CEL_TOK_MINUS:
    case EK_CEL_TOK_NOT:
        return true;
    default:
        return kind == EK_CEL_TOK_IDENT || (kind >= EK_CEL_TOK_INT && kind <= EK_CEL_TOK_NULL);
    }
}

/* How many brackets are open before the token at hand. */
static uint32_t open_brackets(const struct ek_cel_parser *p)
{
    struct ek_cel_lexer lexer = {
        .text = p->lexer.text, .len = p->tok.start, .ascii = p->lexer.ascii};
    uint32_t open = 0;

    for (;;) {
        switch (ek_cel_lex(&lexer).kind) {
        case EK_CEL_TOK_END:
            return open;
        case EK_CEL_TOK_LPAREN:
        case EK_CEL_TOK_LBRACKET:
        case EK_CEL_TOK_LBRACE:
            open++;
            break;
        case EK_CEL_TOK_RPAREN:
        case EK_CEL_TOK_RBRACKET:
        case EK_CEL_TOK_RBRACE:
            open -= open > 0;
            break;
        default:
            break;
        }
    }
}

/* Whether the token at hand could stand behind one of that kind, which is not there. */
static bool could_follow(const struct ek_cel_parser *p, enum ek_cel_token_kind kind)
{
    enum ek_cel_token_kind at_hand = p->tok.kind;

    if (kind == EK_CEL_TOK_COLON)
        return ek_cel_starts_operand(at_hand);
    if (kind != EK_CEL_TOK_RPAREN && kind != EK_CEL_TOK_RBRACKET)
        return false;
    if (at_hand == EK_CEL_TOK_END)
        return open_brackets(p) == 1;
    return at_hand == EK_CEL_TOK_DOT || (at_hand >= EK_CEL_TOK_IN && at_hand <= EK_CEL_TOK_OR) ||
           (at_hand >= EK_CEL_TOK_PLUS && at_hand <= EK_CEL_TOK_QUESTION);
}

static void say(struct ek_cel_parser *p, const char *what, const char *how, const char *expected,
                uint32_t from)
{
    const struct ek_cel_token *tok = &p->tok;
    struct ek_str text = {p->lexer.text + from, tok->end - from};

    if (p->stopped)
        return;
    if (tok->kind == EK_CEL_TOK_END)
        text = from == tok->start ? EK_STR("<EOF>") : (struct ek_str){p->lexer.text + from, 1};
    ek_cel_issue_add(p->issues, EK_CEL_E_SYNTAX, p->lexer.text, p->lexer.len, tok->position,
                     "Syntax error: %s '%.*s'%s%s", what, (int)ek_utf8_cut(text, 100), text.p, how,
                     expected);
    ek_cel_stop(p);
}

static void mismatched(struct ek_cel_parser *p, bool extraneous, const char *expected)
{
    say(p, extraneous ? "extraneous input" : "mismatched input", " expecting ", expected,
        p->tok.start);
}

void ek_cel_unexpected(struct ek_cel_parser *p, const char *expected)
{
    mismatched(p, false, expected);
}

void ek_cel_unexpected_operand(struct ek_cel_parser *p)
{
    mismatched(p, p->tok.kind != EK_CEL_TOK_END && ek_cel_starts_operand(after(p)),
               "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, "
               "NUM_UINT, STRING, BYTES, IDENTIFIER}");
}

void ek_cel_unexpected_field(struct ek_cel_parser *p, uint32_t dot)
{
    say(p, "no viable alternative at input", "", "", dot);
}

void ek_cel_unexpected_part(struct ek_cel_parser *p, enum ek_cel_token_kind close)
{
    enum ek_cel_token_kind next = after(p);

    mismatched(p, next == close || next == EK_CEL_TOK_COMMA,
               close == EK_CEL_TOK_RBRACE ? "{'}', ','}" : "{']', ','}");
}

void ek_cel_unexpected_token(struct ek_cel_parser *p, enum ek_cel_token_kind kind, const char *name)
{
    if (p->tok.kind != EK_CEL_TOK_END && after(p) == kind)
        mismatched(p, true, name);
    else if (could_follow(p, kind))
        say(p,
            kind == EK_CEL_TOK_COLON    ? "missing ':' at"
            : kind == EK_CEL_TOK_RPAREN ? "missing ')' at"
                                        : "missing ']' at",
            "", "", p->tok.start);
    else
        mismatched(p, false, name);
}
