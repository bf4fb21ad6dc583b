/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects and schemas that the policies of a state need: the kinds of their params, and the
 * group versions of the resources that they match. Pure.
 */
#ifndef RECONCILERS_MUTATION_NEEDS_H
#define RECONCILERS_MUTATION_NEEDS_H

#include "reconcilers/mutation/state.h"

/* A kind of params, as spec.paramKind names it. */
struct ek_param_kind {
    const char *api_version, *kind;
};

/* A group version whose schemas matter; "*" stands for any group, or version. */
struct ek_schema_want {
    const char *group, *version;
};

/* The lists are owned, the texts are the policies'. */
struct ek_mutation_needs {
    struct ek_param_kind *params; /* one for each binding with a paramRef, in running order */
    size_t n_params;
    struct ek_schema_want *schemas; /* each once, by group and version */
    size_t n_schemas;
};

/* Params are needed by bound policies; schemas by all, because types are checked without a binding
 * too. Release with ek_mutation_needs_done. */
void ek_mutation_needs_plan(const struct ek_mutation_state *state,
                            struct ek_mutation_needs *ret_needs);
void ek_mutation_needs_done(struct ek_mutation_needs *needs);

EK_CLEANUP(ek_mutation_needs, ek_mutation_needs_done)

#endif
