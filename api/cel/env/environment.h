/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the passes ask of an environment: names to declarations. Not for hosts.
 *
 * An environment is data: the table in environment.c says which library, in which version, with
 * which options belongs to which set at which compatibility version.
 */
#ifndef API_CEL_ENV_ENVIRONMENT_H
#define API_CEL_ENV_ENVIRONMENT_H

#include "api/cel/library.h"
#include "api/cel/values/type.h"

/* An overload with its types read. */
struct ek_cel_decl_overload {
    const struct ek_cel_overload *def;
    const struct ek_cel_type *const *args; /* receiver first */
    const struct ek_cel_type *result;
    uint32_t n;         /* arguments, with the receiver */
    uint32_t variables; /* type variables */
    bool generic;       /* has type variables */
};

struct ek_cel_decl_function {
    const struct ek_cel_function *def;
    const struct ek_cel_decl_overload *overloads;
    uint32_t n;
};

struct ek_cel_decl_variable {
    const char *name;
    const struct ek_cel_type *type;
    uint32_t slot;
};

struct ek_cel_env_rules {
    bool homogeneous;         /* literals of lists and maps have one element type */
    bool mixed_numeric_order; /* 1 < 2.5 */
    bool optional_syntax;
    bool backticks;
    bool keyword_fields;      /* a field declared as __namespace__ may be written namespace */
    bool validate_literals;   /* constant durations, timestamps, regexes, formats are checked */
    bool object_types;        /* Object, Object.a.b and JSONPatch exist */
    bool presence_test_costs; /* has() costs 1 (not in Kubernetes) */
    bool locals_first;        /* variables of folds hide names declared as x.y and container.x,
                                 and .x is never one (cel-spec since 2026; not in Kubernetes) */
    bool early_errors;        /* a constant conversion, regex or index that fails ends compiling */
    bool checked;             /* type checking is on */
    const char *container;    /* "" is the root */
};

const struct ek_cel_env_rules *ek_cel_env_rules(const struct ek_cel_env *env);

/* Look-ups by exact name; NULL when not declared. */
const struct ek_cel_decl_function *ek_cel_env_function(const struct ek_cel_env *env,
                                                       const char *name);
const struct ek_cel_decl_variable *ek_cel_env_variable(const struct ek_cel_env *env,
                                                       const char *name);
const struct ek_cel_macro *ek_cel_env_macro(const struct ek_cel_env *env, const char *name,
                                            bool member, uint32_t n);

/* A type that can be named in an expression ("int", "net.IP", "google.protobuf.Duration"): the
 * type that the name stands for, or NULL. */
const struct ek_cel_type *ek_cel_env_type(const struct ek_cel_env *env, const char *name);

/* A struct type that can be written T{...}; NULL when no type has that name. Object and each name
 * below it ("Object.spec") are types (apiserver/pkg/cel/mutation/typeresolver.go:
 * DynamicTypeResolver). arena holds a type that is made by the call. */
const struct ek_cel_type *ek_cel_env_struct(const struct ek_cel_env *env, const char *name,
                                            struct ek_arena *arena);

/* The type of a field of a struct type; NULL when it has no such field. */
const struct ek_cel_type *ek_cel_env_field(const struct ek_cel_env *env,
                                           const struct ek_cel_type *type, const char *field);

/* Reads a type as written in declarations and signatures into arena; NULL with err filled. */
const struct ek_cel_type *ek_cel_env_read_type(const struct ek_cel_env *env, const char *text,
                                               struct ek_arena *arena, struct ek_err *err);

/* True when a declared function (else a variable or type) has a name that begins with "head.". */
bool ek_cel_env_may_qualify(const struct ek_cel_env *env, const char *head, bool function);

/* Makes env immutable (idempotent). */
void ek_cel_env_freeze(struct ek_cel_env *env);

#endif
