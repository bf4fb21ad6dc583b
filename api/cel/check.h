/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The type checker: annotates a syntax tree with types and what its names mean. Not for hosts.
 *
 * Source: cel-spec, langdef.md, "Gradual Type Checking"; cel-go 0.26 checker.
 */
#ifndef API_CEL_CHECK_H
#define API_CEL_CHECK_H

#include "api/cel/ast.h"
#include "api/cel/environment.h"

enum ek_cel_ref_kind {
    EK_CEL_REF_VARIABLE, /* an identifier, or a select that is a dotted variable name */
    EK_CEL_REF_LOCAL,    /* a variable of an enclosing fold */
    EK_CEL_REF_TYPE,     /* a type's name: the node is that type value */
    EK_CEL_REF_CALL,
    EK_CEL_REF_STRUCT, /* the qualified name of a struct literal's type */
};

struct ek_cel_ref {
    enum ek_cel_ref_kind kind;
    const struct ek_cel_decl_variable *variable;
    const struct ek_cel_type *type;                /* the type named, or the struct's */
    const struct ek_cel_decl_function *function;   /* of a call */
    const struct ek_cel_decl_overload **overloads; /* candidates that remain, in order */
    uint32_t n;
    bool namespaced; /* the call's target was a namespace ("sets" of sets.contains): not a value */
};

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
