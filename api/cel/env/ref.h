/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The declaration that a name in a syntax tree stands for: the checker finds it, the planner and
 * the check of constant formats read it. Not for hosts.
 */
#ifndef API_CEL_ENV_REF_H
#define API_CEL_ENV_REF_H

#include "api/cel/env/environment.h"

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

#endif
