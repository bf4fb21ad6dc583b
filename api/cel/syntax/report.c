/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Syntax errors in the words of the reference's parser. That parser, made by ANTLR, looks one token
 * further to distinguish an extra token from a missing one.
 */
#include "api/base/quote.h"
#include "api/cel/syntax/parser.h"

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
    if (kind != EK_CEL_TOK_RPAREN && kind != EK_CEL_TOK_RBRACKET && kind != EK_CEL_TOK_RBRACE)
        return false;
    if (at_hand == EK_CEL_TOK_END)
        return open_brackets(p) == 1;
    return at_hand == EK_CEL_TOK_DOT || (at_hand >= EK_CEL_TOK_IN && at_hand <= EK_CEL_TOK_OR) ||
           (at_hand >= EK_CEL_TOK_PLUS && at_hand <= EK_CEL_TOK_QUESTION);
}

/* goes_on: another report of the same place follows. */
static void say(struct ek_cel_parser *p, bool goes_on, const char *what, const char *how,
                const char *expected, uint32_t from)
{
    const struct ek_cel_token *tok = &p->tok;
    struct ek_str text = {p->lexer.text + from, tok->end - from};

    if (p->stopped)
        return;
    if (tok->kind == EK_CEL_TOK_END)
        text = from == tok->start ? EK_STR("<EOF>")
                                  : (struct ek_str){p->lexer.text + from, p->lexer.len - from};
    ek_cel_issue_add(p->issues, EK_CEL_E_SYNTAX, p->lexer.text, p->lexer.len, tok->position,
                     "Syntax error: %s '%.*s'%s%s", what, (int)ek_utf8_cut(text, 100), text.p, how,
                     expected);
    if (!goes_on)
        ek_cel_stop(p);
}

static void mismatched(struct ek_cel_parser *p, bool extraneous, const char *expected)
{
    say(p, false, extraneous ? "extraneous input" : "mismatched input", " expecting ", expected,
        p->tok.start);
}

#define LITERALS "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"

/* What may stand where an operand is wanted: the token that closes, a comma and a question mark are
 * of some places. */
static const struct place {
    const char *expected;
    enum ek_cel_token_kind close; /* EK_CEL_TOK_END for none */
    bool comma, question;
} places[] = {
    [EK_CEL_AT_OPERAND] = {"{'[', '{', '(', '.', '-', '!', " LITERALS, EK_CEL_TOK_END, false,
                           false},
    [EK_CEL_AT_INDEX] = {"{'[', '{', '(', '.', '-', '!', '?', " LITERALS, EK_CEL_TOK_END, false,
                         true},
    [EK_CEL_AT_ARGS] = {"{'[', '{', '(', ')', '.', '-', '!', " LITERALS, EK_CEL_TOK_RPAREN, false,
                        false},
    [EK_CEL_AT_LIST] = {"{'[', ']', '{', '(', '.', ',', '-', '!', '?', " LITERALS,
                        EK_CEL_TOK_RBRACKET, true, true},
    [EK_CEL_AT_MAP] = {"{'[', '{', '}', '(', '.', ',', '-', '!', '?', " LITERALS, EK_CEL_TOK_RBRACE,
                       true, true},
};

bool ek_cel_want_operand(struct ek_cel_parser *p, enum ek_cel_operand_place at)
{
    const struct place *place = &places[at];

    if (ek_cel_starts_operand(p->tok.kind))
        return true;
    enum ek_cel_token_kind next = p->tok.kind == EK_CEL_TOK_END ? EK_CEL_TOK_END : after(p);
    bool extra = ek_cel_starts_operand(next) || (next != EK_CEL_TOK_END && next == place->close) ||
                 (place->comma && next == EK_CEL_TOK_COMMA) ||
                 (place->question && next == EK_CEL_TOK_QUESTION);
    mismatched(p, extra, place->expected);
    return false;
}

void ek_cel_unexpected_operand(struct ek_cel_parser *p)
{
    mismatched(p, p->tok.kind != EK_CEL_TOK_END && ek_cel_starts_operand(after(p)),
               places[EK_CEL_AT_OPERAND].expected);
}

void ek_cel_unexpected_negated(struct ek_cel_parser *p)
{
    mismatched(p, true, places[EK_CEL_AT_OPERAND].expected);
}

void ek_cel_unexpected_signed(struct ek_cel_parser *p, uint32_t minus)
{
    bool operand = ek_cel_starts_operand(p->tok.kind);

    say(p, !operand, "no viable alternative at input", "", "", minus);
    if (!operand)
        ek_cel_unexpected_operand(p);
}

static bool is_name(enum ek_cel_token_kind kind)
{
    return kind == EK_CEL_TOK_IDENT || kind == EK_CEL_TOK_QUOTED_IDENT;
}

/* Behind a question mark, where nothing but a name may stand. */
static void unexpected_optional_name(struct ek_cel_parser *p)
{
    mismatched(p, p->tok.kind != EK_CEL_TOK_END && is_name(after(p)),
               "{IDENTIFIER, ESC_IDENTIFIER}");
}

/* The reference rewrites the report of a constant directly behind a dot, and of no other (cel-go,
 * parser/parser.go:reservedIdentifier). */
static bool is_constant_behind(const struct ek_cel_token *tok, uint32_t dot)
{
    return tok->start == dot + 1 && (tok->kind == EK_CEL_TOK_TRUE ||
                                     tok->kind == EK_CEL_TOK_FALSE || tok->kind == EK_CEL_TOK_NULL);
}

void ek_cel_unexpected_field(struct ek_cel_parser *p, uint32_t dot, bool optional)
{
    if (optional)
        unexpected_optional_name(p);
    else if (is_constant_behind(&p->tok, dot))
        mismatched(p, false, "IDENTIFIER");
    else
        say(p, false, "no viable alternative at input", "", "", dot);
}

void ek_cel_unexpected_name(struct ek_cel_parser *p, bool optional)
{
    enum ek_cel_token_kind next = p->tok.kind == EK_CEL_TOK_END ? EK_CEL_TOK_END : after(p);

    if (optional)
        unexpected_optional_name(p);
    else
        mismatched(p,
                   next == EK_CEL_TOK_RBRACE || next == EK_CEL_TOK_COMMA ||
                       next == EK_CEL_TOK_QUESTION || is_name(next),
                   "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}");
}

void ek_cel_unexpected_part(struct ek_cel_parser *p, enum ek_cel_token_kind close)
{
    enum ek_cel_token_kind next = after(p);

    mismatched(p, next == close || next == EK_CEL_TOK_COMMA,
               close == EK_CEL_TOK_RBRACE ? "{'}', ','}" : "{']', ','}");
}

void ek_cel_unexpected_token(struct ek_cel_parser *p, enum ek_cel_token_kind kind, const char *name)
{
    static const char *const missing[] = {
        [EK_CEL_TOK_COLON] = "missing ':' at",
        [EK_CEL_TOK_RPAREN] = "missing ')' at",
        [EK_CEL_TOK_RBRACKET] = "missing ']' at",
        [EK_CEL_TOK_RBRACE] = "missing '}' at",
    };

    if (p->tok.kind != EK_CEL_TOK_END && after(p) == kind)
        mismatched(p, true, name);
    else if (could_follow(p, kind))
        say(p, false, missing[kind], "", "", p->tok.start);
    else
        mismatched(p, false, name);
}
