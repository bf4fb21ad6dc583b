/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions of policies to programs: which environment, which variables, which errors. Not for
 * those outside this folder. Source: Kubernetes 1.36,
 * apiserver/pkg/admission/plugin/cel/compile.go: CompileCELExpression, whose texts are kept.
 */
#ifndef RECONCILERS_MUTATION_COMPILE_H
#define RECONCILERS_MUTATION_COMPILE_H

#include "reconcilers/mutation/policy.h"

/* One environment per place that an expression may stand in; slots are those of enum
 * ek_policy_slot, and a variable that is not declared there has none. */
struct ek_policy_envs {
    struct ek_cel_env *condition; /* match conditions: no variables */
    struct ek_cel_env *variable;  /* variables: those before it */
    struct ek_cel_env *mutation;  /* mutations: all variables, and the patch types */
    /* Of validating policies: messages have no authorizer; with and without variables. */
    struct ek_cel_env *message, *plain_message;
};

/* Makes the environments of a policy with or without params, extended for behaviour Extended.
 * compat_minor as in ek_policy_new. Returns 0 or an error of ek_cel_env_new. */
int ek_policy_envs_init(struct ek_policy_envs *envs, bool has_params, bool extended,
                        int compat_minor, struct ek_err *err);

/* The same for a validating policy, which has no mutations. */
int ek_policy_envs_init_validating(struct ek_policy_envs *envs, bool has_params, int compat_minor,
                                   struct ek_err *err);
void ek_policy_envs_done(struct ek_policy_envs *envs);

/* The name of a variable in expressions. Constant. */
const char *ek_policy_slot_name(enum ek_policy_slot slot);

/* Declares a compiled variable to what follows it. */
int ek_policy_envs_add(struct ek_policy_envs *envs, const char *name, const char *type,
                       struct ek_err *err);

enum ek_compile_error {
    EK_COMPILE_OK,
    EK_COMPILE_INVALID,  /* the expression is wrong */
    EK_COMPILE_INTERNAL, /* it is right, but no program can be made of it: a constant conversion
                            that fails, for instance */
};

/*
 * Compiles text in env for a result of type want (NULL: any; "string null_type": one of these). On
 * failure *ret_error is why, in arena: "compilation failed: ...", "must evaluate to Object but got
 * string". The program is owned by the caller.
 */
enum ek_compile_error ek_policy_compile(struct ek_cel_env *env, const char *text, const char *want,
                                        struct ek_arena *arena,
                                        const struct ek_cel_program **ret_program,
                                        const char **ret_error);

#endif
