/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text to program: parse, check, validate, demand, plan.
 */
#include <string.h>

#include "api/cel/check/check.h"
#include "api/cel/plan/plan.h"
#include "api/cel/syntax/parse.h"

/* What compiling len octets may take: so much, and so much for each octet. */
#define MEMORY_BASE ((size_t)4 * 1024 * 1024)
#define MEMORY_EACH ((size_t)4 * 1024)

/* Deeper trees than this are refused: passes and evaluation recur as deep, and their native stack
 * stays below 1 MB. The parser's own limit is met first but by the oddest of texts. */
#define TREE_DEPTH_MAX 1500u

static const struct ek_cel_macro *find_macro(void *arg, const char *name, bool member, uint32_t n)
{
    return ek_cel_env_macro(arg, name, member, n);
}

static int demand(struct ek_cel_env *env, const struct ek_cel_ast *ast, const char *want,
                  struct ek_arena *arena, struct ek_cel_issues *issues)
{
    struct ek_err err;
    const struct ek_cel_type *type;

    if (!want)
        return 0;
    type = ek_cel_env_read_type(env, want, arena, &err);
    if (!type) {
        ek_cel_issue_add(issues, EK_CEL_E_TYPE, ast->text, ast->len, EK_CEL_NOWHERE, "%s",
                         err.message);
        return EK_E_INVAL;
    }
    if (ast->root->type && ek_cel_type_equal(ast->root->type, type))
        return 0;
    ek_cel_issue_add(issues, EK_CEL_E_TYPE, ast->text, ast->len, EK_CEL_NOWHERE,
                     "must evaluate to %s", want);
    return EK_E_INVAL;
}

static struct ek_cel_program *compile(struct ek_cel_env *env, const char *text, size_t len,
                                      const char *want, struct ek_arena *arena,
                                      struct ek_cel_issues *issues)
{
    const struct ek_cel_env_rules *rules = ek_cel_env_rules(env);
    struct ek_cel_parse_options options = {
        .find_macro = find_macro,
        .find_macro_arg = env,
        .optional_syntax = rules->optional_syntax,
        .backticks = rules->backticks,
    };
    struct ek_cel_ast ast;

    if (ek_cel_parse(text, len, &options, arena, &ast, issues))
        return NULL;
    if (ast.depth > TREE_DEPTH_MAX) {
        ek_cel_issue_add(issues, EK_CEL_E_LIMIT, text, len, EK_CEL_NOWHERE,
                         "expression is nested deeper than %u", TREE_DEPTH_MAX);
        return NULL;
    }
    if (rules->checked &&
        (ek_cel_check(env, &ast, arena, issues) || ek_cel_validate(env, &ast, issues) ||
         demand(env, &ast, want, arena, issues)))
        return NULL;
    return ek_cel_plan(env, &ast, arena, issues);
}

struct ek_cel_program *ek_cel_compile(struct ek_cel_env *env, const char *text, size_t len,
                                      const char *want, struct ek_cel_issues *issues)
{
    EK_AUTO(ek_cel_issues) ignored = {0};
    struct ek_arena *arena;
    struct ek_cel_program *program;

    if (!issues)
        issues = &ignored;
    if (len > EK_CEL_TEXT_MAX * (size_t)4) {
        ek_cel_issue_add(issues, EK_CEL_E_LIMIT, "", 0, 0,
                         "expression code point size exceeds limit: size: %zu, limit %u", len,
                         EK_CEL_TEXT_MAX);
        return NULL;
    }
    ek_cel_env_freeze(env);
    arena = ek_arena_new(MEMORY_BASE + len * MEMORY_EACH);
    program = compile(env, text, len, want, arena, issues);
    ek_arena_free(arena);
    if (!program && !issues->len)
        ek_cel_issue_add(issues, EK_CEL_E_LIMIT, text, len, EK_CEL_NOWHERE,
                         "expression needs too much memory");
    return program;
}
