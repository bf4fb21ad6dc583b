/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The type checker: annotates a syntax tree with types and what its names mean. Not for hosts.
 *
 * Source: cel-spec, langdef.md, "Gradual Type Checking"; cel-go 0.26 checker.
 */
#ifndef API_CEL_CHECK_CHECK_H
#define API_CEL_CHECK_CHECK_H

#include "api/cel/env/environment.h"
#include "api/cel/env/ref.h"
#include "api/cel/syntax/ast.h"

/* Checks ast against env; annotations live in arena. Returns 0, EK_E_INVAL with issues filled, or
 * EK_E_LIMIT when the arena's limit is reached. */
int ek_cel_check(const struct ek_cel_env *env, struct ek_cel_ast *ast, struct ek_arena *arena,
                 struct ek_cel_issues *issues);

/*
 * The names that name may stand for in container, most specific first ("a.b" and "x" give
 * "a.b.x", "a.x", "x"; a leading dot gives just the rest). Calls fn with each until it returns
 * true; returns whether one did. Source: cel-spec, "Name Resolution".
 */
bool ek_cel_candidates(const char *container, const char *name,
                       bool (*fn)(void *arg, const char *candidate), void *arg);

/* Checks constant arguments that can be seen to be invalid (durations, timestamps, regular
 * expressions, format strings), where the environment validates literals. Same returns. */
int ek_cel_validate(const struct ek_cel_env *env, const struct ek_cel_ast *ast,
                    struct ek_cel_issues *issues);

#endif
