/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/cel/syntax/macro.h"
#include "api/cel/syntax/parse.h"
#include "test/support/cel_tree.h"
#include "test/support/suite.h"

#define ARENA_LIMIT ((size_t)64 * 1024 * 1024)
#define OUT_MAX     ((size_t)1024 * 1024)

/* A macro of somebody else's, which wants a certain target. */
static struct ek_cel_node *expand_own(struct ek_cel_expander *x, struct ek_cel_node *target,
                                      struct ek_cel_node **args, uint32_t n)
{
    (void)target, (void)n;
    if (args[0]->kind == EK_CEL_N_LITERAL)
        return NULL; /* not for literals */
    return ek_cel_make_list(x, 2, (struct ek_cel_node *[]){args[0], args[0]});
}

static const struct ek_cel_macro own = {
    .name = "twice", .target_name = "own", .member = true, .args = 1, .expand = expand_own};

static const struct ek_cel_macro *find_macro(void *arg, const char *name, bool member, uint32_t n)
{
    (void)arg;
    if (member && n == 1 && strcmp(name, own.name) == 0)
        return &own;
    for (const struct ek_cel_macro *m = ek_cel_standard_macros; m->name; m++)
        if (m->member == member && (uint32_t)m->args == n && strcmp(m->name, name) == 0)
            return m;
    return NULL;
}

static const struct ek_cel_parse_options everything = {find_macro, NULL, true, true};
static const struct ek_cel_parse_options plain = {find_macro, NULL, false, false};
static const struct ek_cel_parse_options no_macros = {.optional_syntax = true};

/* The text's tree, or where and what the first issue is. Owned. */
static char *parsed(const char *text, size_t len, const struct ek_cel_parse_options *options)
{
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    EK_AUTO(ek_cel_issues) issues = {0};
    struct ek_cel_ast ast = {0};
    struct ek_buf out;
    /* A copy of just its size lets the sanitizer see reading beyond it. */
    EK_AUTOFREE char *copy = ek_xalloc(len + !len);

    memcpy(copy, text, len);
    ek_buf_init(&out, OUT_MAX);
    int rc = ek_cel_parse(copy, len, options, arena, &ast, &issues);
    ck_assert_int_eq(rc != 0, issues.len > 0);
    if (rc == 0) {
        ck_assert_int_eq(test_cel_tree(ast.root, &out), 0);
        ck_assert_uint_eq(ast.depth, ast.root->depth);
        ck_assert_uint_ge(ast.nodes, ast.depth);
    } else {
        const struct ek_cel_issue *issue = &issues.list[0];
        ck_assert_int_eq(rc == EK_E_LIMIT, issue->kind == EK_CEL_E_LIMIT);
        ek_buf_printf(&out, "%u:%u %s", issue->line, issue->column, issue->message);
    }
    ek_arena_free(arena);
    return ek_buf_steal(&out);
}

/* ---- Trees ----------------------------------------------------------------------------------- */

static const struct {
    const char *name, *text, *want;
} tree_rows[] = {
    {"name", "a", "a"},
    {"name of the root", ".a.b", ".a.b"},
    {"precedence", "1 + 2 * 3 - 4", "_-_(_+_(1, _*_(2, 3)), 4)"},
    {"products from the left", "a / b * c % d", "_%_(_*_(_/_(a, b), c), d)"},
    {"relations from the left", "a < b == c in d", "@in(_==_(_<_(a, b), c), d)"},
    {"relation of sums", "a + b >= -c", "_>=_(_+_(a, b), -_(c))"},
    {"logic", "a && b || !c && d", "_||_(_&&_(a, b), _&&_(!_(c), d))"},
    {"chain of and", "a && b && c && d", "_&&_(a, b, c, d)"},
    {"parentheses part a chain", "a && (b && c) && d", "_&&_(a, _&&_(b, c), d)"},
    {"ternary from the right", "a ? b : c ? d : e", "_?_:_(a, b, _?_:_(c, d, e))"},
    {"ternary over logic", "a || b ? c && d : e", "_?_:_(_||_(a, b), _&&_(c, d), e)"},
    {"negative literal", "-1", "-1"},
    {"negative literal with a blank", "- 1", "-1"},
    {"smallest int", "-9223372036854775808", "-9223372036854775808"},
    {"two signs", "--1", "1"},
    {"three signs", "---1", "-_(1)"},
    {"negated in parentheses", "-(1)", "-_(1)"},
    {"negative uint", "-1u", "-_(1u)"},
    {"not not", "!!a", "a"},
    {"not not not", "!!!a", "!_(a)"},
    {"not a negative literal", "!-1", "!_(-1)"},
    {"subtraction without blanks", "a-1", "_-_(a, 1)"},
    {"call on a negative literal", "-1.abs()", "-1.abs()"},
    {"hexadecimal", "0x1F + 0xffu + -0xA", "_+_(_+_(31, 255u), -10)"},
    {"largest uint", "18446744073709551615U", "18446744073709551615u"},
    {"doubles", "[1.5, .5, 1e3, 2.5E-1, 007.5, -.5]", "[1.5, 0.5, 1000.0, 0.25, 7.5, -0.5]"},
    {"double too small", "1e-400", "0.0"},
    {"digit, dot, name", "1.e5", "1.e5"},
    {"constants", "[true, false, null]", "[true, false, null]"},
    {"strings", "'a' + \"b\" + '''c''' + \"\"\"d\"\"\"",
     "_+_(_+_(_+_(\"a\", \"b\"), \"c\"), \"d\")"},
    {"empty strings", "['', \"\", '''''', r'']", "[\"\", \"\", \"\", \"\"]"},
    {"quotes in triple quotes", "'''a'b''c'''", "\"a'b''c\""},
    {"code points", "'\\x41\\u00e9\\U0001F600\\101'",
     "\"A\xc3\xa9\xf0\x9f\x98\x80"
     "A\""},
    {"raw", "r'a\\d' + R\"\"\"b\\\"\"\"", "_+_(\"a\\\\d\", \"b\\\\\")"},
    {"bytes", "b'a\\xff\\377' + B\"\xc3\xa9\"", "_+_(b\"a\\xff\\xff\", b\"\\xc3\\xa9\")"},
    {"raw bytes", "br'\\n' + bR'x'", "_+_(b\"\\x5cn\", b\"x\")"},
    {"a prefix that is none", "rb + b", "_+_(rb, b)"},
    {"line ends in text", "'''a\r\nb\rc\nd'''", "\"a\\nb\\nc\\nd\""},
    {"select", "a.b.c", "a.b.c"},
    {"reserved names as fields", "a.namespace.for", "a.namespace.for"},
    {"backticks", "a.`b-c/d.e f`.g", "a.b-c/d.e f.g"},
    {"index", "a[0].b['c']", "_[_](_[_](a, 0).b, \"c\")"},
    {"calls", "f(1, x).g().h(2)", "f(1, x).g().h(2)"},
    {"call in a namespace", ".a.b.f(1)", ".a.b.f(1)"},
    {"optional select", "a.?b.c", "_?._(a, \"b\").c"},
    {"optional index", "a[?b]", "_[?_](a, b)"},
    {"list", "[1, [], [2,],]", "[1, [], [2]]"},
    {"only commas", "[[,], {,}, T{,}]", "[[], {}, T{}]"},
    {"optional elements", "[?a, b, ?c]", "[?a, b, ?c]"},
    {"map", "{1: 2, ?'k': v, a ? b : c: d,}", "{1: 2, ?\"k\": v, _?_:_(a, b, c): d}"},
    {"struct", "a.b.C{x: 1, ?y: 2, `z-z`: 3}", "a.b.C{x: 1, ?y: 2, z-z: 3}"},
    {"struct of the root", ".C{}", ".C{}"},
    {"struct of a reserved name", "for.let{}", "for.let{}"},
    {"select of a struct", "C{}.x", "C{}.x"},
    {"comments and line ends", "a // b\r\n+ // c\n\tb //", "_+_(a, b)"},
    {"has", "has(a.b.c)", "has(a.b.c)"},
    {"has of has", "has(has(a.b))", "has(a.b)"},
    {"all", "a.all(x, x > 1)",
     "fold(x, a, @result = true, @not_strictly_false(@result), _&&_(@result, _>_(x, 1)), @result)"},
    {"all of a conjunction", "a.all(x, x && y)",
     "fold(x, a, @result = true, @not_strictly_false(@result), _&&_(@result, _&&_(x, y)), "
     "@result)"},
    {"exists", "a.exists(x, x)",
     "fold(x, a, @result = false, @not_strictly_false(!_(@result)), _||_(@result, x), @result)"},
    {"exists_one", "a.exists_one(x, x)",
     "fold(x, a, @result = 0, true, _?_:_(x, _+_(@result, 1), @result), _==_(@result, 1))"},
    {"existsOne has no macro of one variable", "a.existsOne(x, x)", "a.existsOne(x, x)"},
    {"map", "a.map(x, x + 1)",
     "fold(x, a, @result = [], true, _+_(@result, [_+_(x, 1)]), @result)"},
    {"map with a filter", "a.map(x, x > 1, -x)",
     "fold(x, a, @result = [], true, _?_:_(_>_(x, 1), _+_(@result, [-_(x)]), @result), @result)"},
    {"filter", "a.filter(x, x > 1)",
     "fold(x, a, @result = [], true, _?_:_(_>_(x, 1), _+_(@result, [x]), @result), @result)"},
    {"macro with a target's name", "own.twice(a)", "[a, a]"},
    {"macro with another target", "other.twice(a)", "other.twice(a)"},
    {"macro that declines", "own.twice(1)", "own.twice(1)"},
    {"a macro's name with other arguments", "a.all(x) + has(a, b) + all(x, y)",
     "_+_(_+_(a.all(x), has(a, b)), all(x, y))"},
};

START_TEST(texts_become_trees)
{
    const char *text = tree_rows[_i].text;
    EK_AUTOFREE char *got = parsed(text, strlen(text), &everything);

    ck_assert_msg(strcmp(got, tree_rows[_i].want) == 0, "%s: %s", tree_rows[_i].name, got);
}
END_TEST

START_TEST(macros_are_calls_without_macros)
{
    const char text[] = "has(a.b) && [1].all(x, x)";
    EK_AUTOFREE char *got = parsed(text, strlen(text), &no_macros);

    ck_assert_str_eq(got, "_&&_(has(a.b), [1].all(x, x))");
}
END_TEST

START_TEST(text_may_hold_nul)
{
    const char text[] = "'a\0b'";
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    EK_AUTO(ek_cel_issues) issues = {0};
    struct ek_cel_ast ast = {0};

    ck_assert_int_eq(ek_cel_parse(text, sizeof text - 1, &plain, arena, &ast, &issues), 0);
    ck_assert_uint_eq(ast.root->literal.n, 3);
    ck_assert_mem_eq(ast.root->literal.s, "a\0b", 4);
    ek_arena_free(arena);
}
END_TEST

START_TEST(escapes_stand_for_octets)
{
    const char text[] = "'\\a\\b\\f\\n\\r\\t\\v\\\\\\'\\\"\\?\\`\\x7f\\u007f\\177'";
    const char want[] = "\a\b\f\n\r\t\v\\'\"?`\x7f\x7f\x7f";
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    EK_AUTO(ek_cel_issues) issues = {0};
    struct ek_cel_ast ast = {0};

    ck_assert_int_eq(ek_cel_parse(text, strlen(text), &plain, arena, &ast, &issues), 0);
    ck_assert_uint_eq(ast.root->literal.n, sizeof want - 1);
    ck_assert_mem_eq(ast.root->literal.s, want, sizeof want);
    ek_arena_free(arena);
}
END_TEST

/* ---- Positions ------------------------------------------------------------------------------- */

/* Writes each node's position in the order of the text form, a bar before a call's arguments. */
static void positions(const struct ek_cel_node *node, struct ek_buf *out)
{
    ek_buf_printf(out, "%s%u", out->len > 0 ? " " : "", node->position);
    switch (node->kind) {
    case EK_CEL_N_SELECT:
        positions(node->select.operand, out);
        break;
    case EK_CEL_N_CALL:
        if (node->call.target)
            positions(node->call.target, out);
        for (uint32_t i = 0; i < node->call.n; i++)
            positions(node->call.args[i], out);
        break;
    case EK_CEL_N_LIST:
        for (uint32_t i = 0; i < node->list.n; i++)
            positions(node->list.items[i], out);
        break;
    case EK_CEL_N_MAP:
        for (uint32_t i = 0; i < node->map.n; i++) {
            ek_buf_printf(out, " :%u", node->map.entries[i].position);
            positions(node->map.entries[i].key, out);
            positions(node->map.entries[i].value, out);
        }
        break;
    case EK_CEL_N_STRUCT:
        for (uint32_t i = 0; i < node->object.n; i++) {
            ek_buf_printf(out, " :%u", node->object.fields[i].position);
            positions(node->object.fields[i].value, out);
        }
        break;
    default:
        break;
    }
}

static const struct {
    const char *name, *text, *want;
} position_rows[] = {
    {"operators stand at their sign", " a + b * 2", "3 1 7 5 9"},
    {"relation", "a  in b", "3 0 6"},
    {"unary at the first sign", "!!!a", "0 3"},
    {"negative literal at its sign", " - 1", "1"},
    {"ternary at the question mark", "a ? b : c", "2 0 4 8"},
    {"chain of two", "a && b", "2 0 5"},
    {"chain of three at the second", "a && b && c", "7 0 5 10"},
    {"chain of four at the second", "a && b && c && d", "7 0 5 10 15"},
    {"chain of five at the third", "a||b||c||d||e", "7 0 3 6 9 12"},
    {"select at the dot", "ab .c . d", "6 3 0"},
    {"optional select at the dot", "ab.?c", "2 0 4"},
    {"index at the bracket", "ab[c]", "2 0 3"},
    {"call at the parenthesis", "abc (d)", "4 5"},
    {"member call at the parenthesis", "a.bc(d)", "4 0 5"},
    {"name of the root at the name", " . a", "3"},
    {"parentheses are nothing", "((a))", "2"},
    {"list and elements", " [a, ?b]", "1 2 6"},
    {"map at the brace", "{a : b}", "0 :3 1 5"},
    {"struct at the brace", "a.b{c : d}", "3 :6 8"},
    {"has at the parenthesis", "has(a.b)", "3 4"},
    {"macro at the parenthesis", "a.map(x, y)", "5"},
    {"characters are counted, not octets", "'\xc3\xa9\xf0\x9f\x98\x80' + b", "5 0 7"},
    {"line ends count", "a\r\n+ b", "3 0 5"},
    {"comments count", "// \xc3\xa9\na", "5"},
};

START_TEST(nodes_have_the_positions_of_the_reference)
{
    const char *text = position_rows[_i].text;
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    EK_AUTO(ek_cel_issues) issues = {0};
    struct ek_cel_ast ast = {0};
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 4096);
    ck_assert_int_eq(ek_cel_parse(text, strlen(text), &everything, arena, &ast, &issues), 0);
    positions(ast.root, &out);
    ck_assert_msg(strcmp(ek_buf_str(&out), position_rows[_i].want) == 0, "%s: %s",
                  position_rows[_i].name, ek_buf_str(&out));
    ek_arena_free(arena);
}
END_TEST

/* ---- Errors ---------------------------------------------------------------------------------- */

#define MISMATCH   "Syntax error: mismatched input "
#define EXTRANEOUS "Syntax error: extraneous input "
#define NO_WAY     "Syntax error: no viable alternative at input "
#define NO_TOKEN   "Syntax error: token recognition error at: "

static const struct {
    const char *name, *text;
    const char *want; /* the start of what is said */
    const struct ek_cel_parse_options *options;
} error_rows[] = {
    {"nothing", "", "1:1 " MISMATCH "'<EOF>'", &everything},
    {"only a line end", "\n", "2:1 " MISMATCH "'<EOF>'", &everything},
    {"operand missing at the end", "1 +", "1:4 " MISMATCH "'<EOF>'", &everything},
    {"operand missing in parentheses", "(1 + )", "1:6 " MISMATCH "')'", &everything},
    {"on the third line", "a\r\n+\r\n)", "3:1 " MISMATCH "')'", &everything},
    {"two operands", "a b", "1:3 " EXTRANEOUS "'b' expecting <EOF>", &everything},
    {"three operands", "a b c", "1:3 " MISMATCH "'b' expecting <EOF>", &everything},
    {"two operators", "1 ++ 2", "1:4 " EXTRANEOUS "'+' expecting {'['", &everything},
    {"open parenthesis", "(a", "1:3 Syntax error: missing ')' at '<EOF>'", &everything},
    {"open parentheses", "((a", "1:4 " MISMATCH "'<EOF>' expecting ')'", &everything},
    {"open index", "a[0", "1:4 Syntax error: missing ']' at '<EOF>'", &everything},
    {"open list", "[a", "1:3 " MISMATCH "'<EOF>' expecting {']', ','}", &everything},
    {"list without a comma", "[a b]", "1:4 " EXTRANEOUS "'b' expecting {']', ','}", &everything},
    {"open struct", "A{", "1:3 " MISMATCH "'<EOF>' expecting {'}', ',', '?', IDENTIFIER",
     &everything},
    {"open map", "{1: 2", "1:6 " MISMATCH "'<EOF>' expecting {'}', ','}", &everything},
    {"field without a colon", "A{a 1}", "1:5 Syntax error: missing ':' at '1'", &everything},
    {"two commas", "[a,,]", "1:4 " EXTRANEOUS "',' expecting ']'", &everything},
    {"comma before an element", "[,a]", "1:3 " EXTRANEOUS "'a' expecting ']'", &everything},
    {"comma after arguments", "f(a,)", "1:5 " MISMATCH "')'", &everything},
    {"map without a value", "{a}", "1:3 " MISMATCH "'}' expecting ':'", &everything},
    {"ternary in a ternary", "a ? b ? c : d : e", "1:7 " MISMATCH "'?' expecting ':'", &everything},
    {"ternary without an end", "a ? b", "1:6 " MISMATCH "'<EOF>' expecting ':'", &everything},
    {"select of a constant", "a.true", "1:3 " MISMATCH "'true' expecting IDENTIFIER", &everything},
    {"a constant behind the dot of the root", ".null.x",
     "1:2 " MISMATCH "'null' expecting IDENTIFIER", &everything},
    {"a call of a constant", "[.false(1)]", "1:3 " MISMATCH "'false' expecting IDENTIFIER",
     &everything},
    {"a constant behind a dot and a blank", "a. true", "1:4 " NO_WAY "'. true'", &everything},
    {"select of an operator", "a.in", "1:3 " NO_WAY "'.in'", &everything},
    {"an optional select of a constant", "a.?true",
     "1:4 " MISMATCH "'true' expecting {IDENTIFIER, ESC_IDENTIFIER}", &everything},
    {"a sign between an optional dot and a field", "a.?*b",
     "1:4 " EXTRANEOUS "'*' expecting {IDENTIFIER, ESC_IDENTIFIER}", &everything},
    {"nothing behind the question mark of a field", "A{?",
     "1:4 " MISMATCH "'<EOF>' expecting {IDENTIFIER, ESC_IDENTIFIER}", &everything},
    {"a sign between a question mark and a field", "A{?+a: 1}",
     "1:4 " EXTRANEOUS "'+' expecting {IDENTIFIER, ESC_IDENTIFIER}", &everything},
    {"two dots", "a..b", "1:3 Syntax error: no viable alternative at input '..'", &everything},
    {"not a minus", "-!a", "1:2 " NO_WAY "'-!'", &everything},
    {"a minus after not", "!-a", "1:3 " NO_WAY "'-a'", &everything},
    {"nothing after not", "!!",
     "1:3 " EXTRANEOUS "'<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true'", &everything},
    {"a bracket after not", "(!)", "1:3 " EXTRANEOUS "')' expecting {'[', '{', '(', '.', '-'",
     &everything},
    {"nothing after a minus", "--", "1:3 " NO_WAY "'-'", &everything},
    {"a blank after a minus", "- ", "1:3 " NO_WAY "'- '", &everything},
    {"a bracket after a minus", "[-]", "1:3 " NO_WAY "'-]'", &everything},
    {"a plus after a minus", "-+a", "1:2 " NO_WAY "'-+'", &everything},
    {"nothing behind a dot", ". ", "1:3 " NO_WAY "'. '", &everything},
    {"a sign behind a dot", ".*b", "1:2 " NO_WAY "'.*'", &everything},
    {"nothing behind the dot of a name", "a . ", "1:5 " NO_WAY "'. '", &everything},
    {"a list that only begins", "[",
     "1:2 " MISMATCH "'<EOF>' expecting {'[', ']', '{', '(', '.', ',', '-', '!', '?', 'true'",
     &everything},
    {"a list of a sign", "[+]",
     "1:2 " EXTRANEOUS "'+' expecting {'[', ']', '{', '(', '.', ',', '-', '!', '?', 'true'",
     &everything},
    {"a map that only begins", "{",
     "1:2 " MISMATCH "'<EOF>' expecting {'[', '{', '}', '(', '.', ',', '-', '!', '?', 'true'",
     &everything},
    {"a map of a sign", "{+:1}",
     "1:2 " MISMATCH "'+' expecting {'[', '{', '}', '(', '.', ',', '-', '!', '?', 'true'",
     &everything},
    {"a call that only begins", "f(",
     "1:3 " MISMATCH "'<EOF>' expecting {'[', '{', '(', ')', '.', '-', '!', 'true'", &everything},
    {"a comma before an argument", "f(,a)",
     "1:3 " EXTRANEOUS "',' expecting {'[', '{', '(', ')', '.', '-', '!', 'true'", &everything},
    {"an index that only begins", "a[",
     "1:3 " MISMATCH "'<EOF>' expecting {'[', '{', '(', '.', '-', '!', '?', 'true'", &everything},
    {"an index of a sign", "a[+a]",
     "1:3 " EXTRANEOUS "'+' expecting {'[', '{', '(', '.', '-', '!', '?', 'true'", &everything},
    {"an optional index of nothing", "a[?]",
     "1:4 " MISMATCH "']' expecting {'[', '{', '(', '.', '-', '!', 'true'", &everything},
    {"a map that ends behind a comma", "{1:2,", "1:6 Syntax error: missing '}' at '<EOF>'",
     &everything},
    {"a struct of a sign", "A{+}",
     "1:3 " EXTRANEOUS "'+' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}", &everything},
    {"nothing behind an optional dot", "a.?",
     "1:4 " MISMATCH "'<EOF>' expecting {IDENTIFIER, ESC_IDENTIFIER}", &everything},
    {"struct of a call", "f(){}", "1:4 " MISMATCH "'{' expecting <EOF>", &everything},
    {"struct of parentheses", "(a){}", "1:4 " MISMATCH "'{'", &everything},
    {"optional call", "a.?b()", "1:5 " MISMATCH "'('", &everything},
    {"quoted name alone", "`a`", "1:1 " MISMATCH "'`a`'", &everything},
    {"optional argument", "f(?a)", "1:3 " EXTRANEOUS "'?'", &everything},
    {"hexadecimal without digits", "0x", "1:2 " EXTRANEOUS "'x'", &everything},
    {"name after a number", "1.5u", "1:4 " EXTRANEOUS "'u'", &everything},
    {"one equals sign", "a = b", "1:3 " NO_TOKEN "'= '", &everything},
    {"one ampersand", "a & b", "1:3 " NO_TOKEN "'& '", &everything},
    {"not a character of the language", "a # b", "1:3 " NO_TOKEN "'#'", &everything},
    {"byte order mark",
     "\xef\xbb\xbf"
     "1",
     "1:1 " NO_TOKEN "'\xef\xbb\xbf'", &everything},
    {"emoji", "\xf0\x9f\x98\x80", "1:1 " NO_TOKEN "'\xf0\x9f\x98\x80'", &everything},
    {"open string", "1 + 'abc", "1:5 " NO_TOKEN "''abc'", &everything},
    {"string over the end of a line", "'a\nb'", "1:1 " NO_TOKEN "''a '", &everything},
    {"unknown escape", "'a\\q'", "1:1 " NO_TOKEN "''a\\q'", &everything},
    {"short escape", "'\\x4'", "1:1 " NO_TOKEN "''\\x4''", &everything},
    {"octal escape too large", "'\\400'", "1:1 " NO_TOKEN "''\\4'", &everything},
    {"unknown escape in triple quotes", "'''\\q'''", "1:3 " NO_TOKEN "''\\q'", &everything},
    {"open triple quotes", "'''a'", "1:3 " EXTRANEOUS "''a''", &everything},
    {"four quotes at the end", "'''a''''", "1:8 " NO_TOKEN "'''", &everything},
    {"empty quoted name", "a.``", "1:3 " NO_TOKEN "'``'", &everything},
    {"int too large", "9223372036854775808", "1:1 invalid int literal", &everything},
    {"int too small", "1 - -9223372036854775809", "1:5 invalid int literal", &everything},
    {"two signs before the smallest int", "--9223372036854775808", "1:3 invalid int literal",
     &everything},
    {"uint too large", "18446744073709551616u", "1:1 invalid uint literal", &everything},
    {"double too large", "1e400", "1:1 invalid double literal", &everything},
    {"surrogate", "a + '\\ud800'", "1:5 invalid unicode code point", &everything},
    {"beyond Unicode", "'\\U00110000'", "1:1 invalid unicode code point", &everything},
    {"code point in bytes", "b'\\u00ff'", "1:1 unable to unescape string", &everything},
    {"reserved name", "a + for", "1:5 reserved identifier: for", &everything},
    {"reserved function", "loop(1)", "1:1 reserved identifier: loop", &everything},
    {"reserved name of the root", " .if", "1:2 reserved identifier: if", &everything},
    {"has of a name", "has(a)", "1:5 invalid argument to has() macro", &everything},
    {"has of an optional field", "has(a.?b)", "1:6 invalid argument to has() macro", &everything},
    {"quantifier over no name", "a.all(1, x)", "1:7 argument must be a simple name", &everything},
    {"map over no name", "a.map(b.c, x)", "1:8 argument is not an identifier", &everything},
    {"the accumulator's old name", "a.map(__result__, x)",
     "1:7 iteration variable overwrites accumulator variable", &everything},
    {"macro before the end", "a.map(1 + 1, 2", "1:9 argument is not an identifier", &everything},
    {"no UTF-8", "a\xff", "1:2 the text is not valid UTF-8 from octet 1 on", &everything},
    {"overlong form", "'\xc0\x80'", "1:2 the text is not valid UTF-8 from octet 1 on", &everything},
    {"cut character", "'\xc3", "1:2 the text is not valid UTF-8 from octet 1 on", &everything},
    {"optional select without it", "a.?b", "1:2 unsupported syntax '.?'", &plain},
    {"optional index without it", "a[?b]", "1:2 unsupported syntax '[?'", &plain},
    {"optional element without it", "[?b]", "1:2 unsupported syntax '?'", &plain},
    {"optional key without it", "{?b: 1}", "1:2 unsupported syntax '?'", &plain},
    {"optional field without it", "T{?b: 1}", "1:3 unsupported syntax '?'", &plain},
    {"backticks without them", "a.`b`", "1:3 unsupported syntax: '`'", &plain},
    {"backticks in a struct without them", "T{`b`: 1}", "1:3 unsupported syntax: '`'", &plain},
};

START_TEST(errors_have_the_positions_of_the_reference)
{
    const char *text = error_rows[_i].text, *want = error_rows[_i].want;
    EK_AUTOFREE char *got = parsed(text, strlen(text), error_rows[_i].options);

    ck_assert_msg(strncmp(got, want, strlen(want)) == 0, "%s: %s", error_rows[_i].name, got);
}
END_TEST

START_TEST(more_than_one_error_is_told)
{
    const char text[] = "1 #\n'\xc3\xa9' $ +\t[1].map(2, 3) +";
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    EK_AUTO(ek_cel_issues) issues = {0};
    struct ek_cel_ast ast = {0};
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 4096);
    ck_assert_int_eq(ek_cel_parse(text, strlen(text), &plain, arena, &ast, &issues), EK_E_PARSE);
    ck_assert_int_eq(ek_cel_issues_format(&issues, text, strlen(text), &out), 0);
    ck_assert_str_eq(ek_buf_str(&out),
                     "ERROR: <input>:1:3: " NO_TOKEN "'#'\n"
                     " | 1 #\n"
                     " | ..^\n"
                     "ERROR: <input>:2:1: " MISMATCH "''\xc3\xa9'' expecting <EOF>\n"
                     " | '\xc3\xa9' $ + [1].map(2, 3) +\n"
                     " | ^");
    ek_arena_free(arena);
}
END_TEST

START_TEST(excerpts_are_as_wide_as_the_text)
{
    const char text[] = "'\xc3\xa9\t' + \xe6\x9c\xac";
    EK_AUTO(ek_cel_issues) issues = {0};
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 4096);
    ek_cel_issue_add(&issues, EK_CEL_E_TYPE, text, strlen(text), 7, "second\nline");
    ek_cel_issue_add(&issues, EK_CEL_E_TYPE, text, strlen(text), EK_CEL_NOWHERE, "%s", "first");
    ek_cel_issue_add(&issues, EK_CEL_E_TYPE, text, strlen(text), 8, "end");
    ck_assert_int_eq(ek_cel_issues_format(&issues, text, strlen(text), &out), 0);
    ck_assert_str_eq(ek_buf_str(&out), "ERROR: <input>:-1:0: first\n"
                                       "ERROR: <input>:1:8: second line\n"
                                       " | '\xc3\xa9 ' + \xe6\x9c\xac\n"
                                       " | .\xef\xbc\x8e.....\xef\xbc\xbe\n"
                                       "ERROR: <input>:1:9: end\n"
                                       " | '\xc3\xa9 ' + \xe6\x9c\xac\n"
                                       " | .\xef\xbc\x8e.....\xef\xbc\x8e^");
}
END_TEST

START_TEST(issues_are_bounded_and_in_order)
{
    EK_AUTO(ek_cel_issues) issues = {0};
    EK_AUTO(ek_buf) out;
    char text[200];

    memset(text, 'a', sizeof text);
    for (uint32_t i = 0; i < EK_CEL_ISSUES_MAX + 3; i++)
        ek_cel_issue_add(&issues, EK_CEL_E_TYPE, text, sizeof text, 150 - i, "%u", i);
    ck_assert_uint_eq(issues.len, EK_CEL_ISSUES_MAX);
    ck_assert_uint_eq(issues.dropped, 3);
    for (size_t i = 1; i < issues.len; i++)
        ck_assert_uint_lt(issues.list[i - 1].position, issues.list[i].position);
    ek_buf_init(&out, OUT_MAX);
    ck_assert_int_eq(ek_cel_issues_format(&issues, text, sizeof text, &out), 0);
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&out), "\n3 more errors were truncated"));
}
END_TEST

START_TEST(long_messages_are_cut_between_characters)
{
    EK_AUTO(ek_cel_issues) issues = {0};
    char text[3001];

    for (size_t i = 0; i < sizeof text - 1; i += 3)
        memcpy(text + i, "\xe6\x9c\xac", 3);
    text[sizeof text - 1] = '\0';
    ek_cel_issue_add(&issues, EK_CEL_E_TYPE, text, sizeof text - 1, 0, "%s", text);
    size_t len = strlen(issues.list[0].message);
    ck_assert_uint_gt(len, 900);
    ck_assert_uint_eq(len % 3, 0);
}
END_TEST

/* ---- Limits ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const char *before, *middle, *after; /* before and after are repeated */
    int most;                            /* repetitions that the reference accepts */
} depth_rows[] = {
    {"parentheses", "(", "1", ")", 249},
    {"lists", "[", "", "]", 250},
    {"maps", "{1:", "1", "}", 249},
    {"structs", "T{a:", "1", "}", 249},
    {"calls", "f(", "1", ")", 249},
    {"macros", "a.map(x,", "1", ")", 249},
    {"indexes in indexes", "a[", "1", "]", 249},
    {"negated parentheses", "-(1", "", ")", 125},
    {"not and parentheses", "!(", "a", ")", 249},
    {"sums on the right", "(1+", "1", ")", 124},
    {"products in sums", "(1+2*", "1", ")", 83},
    {"relations on the right", "(a==", "a", ")", 124},
    {"sums", "1+", "1", "", 250},
    {"relations", "1==", "1", "", 250},
    {"ternaries", "a?b:", "c", "", 249},
    {"ternaries in conditions", "(a?b:", "c", ")", 124},
    {"selects", "", "a", ".a", 250},
    {"optional selects", "", "a", ".?a", 250},
    {"indexes", "", "a", "[0]", 250},
    {"member calls", "", "a", ".f()", 250},
};

/* before n times, middle, and after n times; owned. */
static char *tower(int row, int n)
{
    struct ek_buf out;

    ek_buf_init(&out, OUT_MAX);
    for (int i = 0; i < n; i++)
        ek_buf_puts(&out, depth_rows[row].before);
    ek_buf_puts(&out, depth_rows[row].middle);
    for (int i = 0; i < n; i++)
        ek_buf_puts(&out, depth_rows[row].after);
    return ek_buf_steal(&out);
}

START_TEST(depth_is_limited_as_in_the_reference)
{
    const char *name = depth_rows[_i].name;
    EK_AUTOFREE char *good = tower(_i, depth_rows[_i].most);
    EK_AUTOFREE char *bad = tower(_i, depth_rows[_i].most + 1);
    EK_AUTOFREE char *far = tower(_i, 5000);
    EK_AUTOFREE char *got_good = parsed(good, strlen(good), &everything);
    EK_AUTOFREE char *got_bad = parsed(bad, strlen(bad), &everything);
    EK_AUTOFREE char *got_far = parsed(far, strlen(far), &everything);

    ck_assert_msg(strstr(got_good, "exceeded") == NULL, "%s: %s", name, got_good);
    ck_assert_msg(strstr(got_bad, "0:0 ") == got_bad, "%s: %s", name, got_bad);
    ck_assert_msg(strstr(got_bad, "recursion"), "%s: %s", name, got_bad);
    ck_assert_msg(strstr(got_far, "recursion"), "%s: %s", name, got_far);
}
END_TEST

static const struct {
    const char *name;
    const char *unit, *end;
    int n;
    bool good;
} size_rows[] = {
    {"signs", "!", "a", 99999, true},
    {"negations", "-", "1", 99999, true},
    {"blanks", " ", "1", 99999, true},
    {"characters, not octets", "\xc3\xa9", "", 100000, false}, /* no tokens, but not too long */
    {"a conjunction", "a&&", "a", 33333, true},
    {"a disjunction", "a||", "a", 33333, true},
    {"one more", " ", "1", 100000, false},
    {"far more", " ", "1", 500000, false},
    {"a struct's name", "a.", "a{}", 49997, true},
};

START_TEST(size_is_limited_as_in_the_reference)
{
    struct ek_buf text;

    ek_buf_init(&text, OUT_MAX);
    for (int i = 0; i < size_rows[_i].n; i++)
        ek_buf_puts(&text, size_rows[_i].unit);
    ek_buf_puts(&text, size_rows[_i].end);
    EK_AUTOFREE char *got = parsed(text.data, text.len, &everything);
    bool too_long = strstr(got, "code point size exceeds limit") != NULL;
    ck_assert_msg((strstr(got, "error") || too_long) == !size_rows[_i].good, "%s: %.200s",
                  size_rows[_i].name, got);
    if (strcmp(size_rows[_i].unit, "\xc3\xa9") != 0)
        ck_assert_msg(too_long == !size_rows[_i].good, "%s: %.200s", size_rows[_i].name, got);
    ek_buf_done(&text);
}
END_TEST

/* With too little room the answer is that there is none, whatever the room. */
START_TEST(lack_of_memory_is_an_error)
{
    const char text[] = "a.b.map(x, [1, ?x.?y, {'k': -z}], T{f: 'v'}).all(y, has(y.z) ? 1.5 : "
                        "b'x' + y[0]) && own.twice(c) || d";
    bool done = false;

    for (size_t limit = 0; !done; limit += 16) {
        struct ek_arena *arena = ek_arena_new(limit);
        EK_AUTO(ek_cel_issues) issues = {0};
        struct ek_cel_ast ast = {0};
        int rc = ek_cel_parse(text, strlen(text), &everything, arena, &ast, &issues);
        ck_assert_msg(rc == 0 || rc == EK_E_NOMEM, "%zu octets: %d", limit, rc);
        done = rc == 0;
        ck_assert_uint_lt(limit, 100000);
        ek_arena_free(arena);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("parse");

    tcase_add_loop_test(tc, texts_become_trees, 0, EK_ARRAY_SIZE(tree_rows));
    tcase_add_test(tc, macros_are_calls_without_macros);
    tcase_add_test(tc, text_may_hold_nul);
    tcase_add_test(tc, escapes_stand_for_octets);
    tcase_add_loop_test(tc, nodes_have_the_positions_of_the_reference, 0,
                        EK_ARRAY_SIZE(position_rows));
    tcase_add_loop_test(tc, errors_have_the_positions_of_the_reference, 0,
                        EK_ARRAY_SIZE(error_rows));
    tcase_add_test(tc, more_than_one_error_is_told);
    tcase_add_test(tc, excerpts_are_as_wide_as_the_text);
    tcase_add_test(tc, issues_are_bounded_and_in_order);
    tcase_add_test(tc, long_messages_are_cut_between_characters);
    tcase_add_loop_test(tc, depth_is_limited_as_in_the_reference, 0, EK_ARRAY_SIZE(depth_rows));
    tcase_add_loop_test(tc, size_is_limited_as_in_the_reference, 0, EK_ARRAY_SIZE(size_rows));
    tcase_add_test(tc, lack_of_memory_is_an_error);
    return ek_test_run("cel_parse", tc);
}
