/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text to syntax tree: lexer, parser and macro expansion in one pass.
 *
 * Limits are the reference's: 100,000 code points, nesting 250 counted per grammar rule as ANTLR
 * does, a bounded number of errors. The arena's limit bounds what macros may blow a text up to.
 * Not for hosts. Pure; any thread. Source: cel-spec, langdef.md, "Syntax"; cel-go 0.26 parser.
 */
#ifndef API_CEL_SYNTAX_PARSE_H
#define API_CEL_SYNTAX_PARSE_H

#include "api/cel/library.h"
#include "api/cel/syntax/ast.h"

#define EK_CEL_TEXT_MAX  100000u
#define EK_CEL_DEPTH_MAX 250u

struct ek_cel_parse_options {
    /* Finds the macro that a call may be: name, whether it has a target, number of arguments.
     * NULL for no macros. */
    const struct ek_cel_macro *(*find_macro)(void *arg, const char *name, bool member, uint32_t n);
    void *find_macro_arg;
    bool optional_syntax; /* a.?b, a[?i], [?e], {?k: v}, T{?f: v} */
    bool backticks;       /* a.`b-c`, T{`b-c`: v} */
};

/* Parses len octets into *ret, all of it in arena. Returns 0; or EK_E_PARSE or EK_E_LIMIT with
 * issues (may not be NULL) filled, or EK_E_NOMEM. text must outlive *ret. */
int ek_cel_parse(const char *text, size_t len, const struct ek_cel_parse_options *options,
                 struct ek_arena *arena, struct ek_cel_ast *ret, struct ek_cel_issues *issues);

#define EK_CEL_NOWHERE UINT32_MAX /* the position of what is wrong with a text as a whole */

/* Adds an issue at position of text by printf rules (columns and lines are worked out here),
 * keeping the list in order of position; counted as dropped beyond EK_CEL_ISSUES_MAX. */
void ek_cel_issue_add(struct ek_cel_issues *issues, enum ek_cel_error_kind kind, const char *text,
                      size_t len, uint32_t position, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));

#endif
