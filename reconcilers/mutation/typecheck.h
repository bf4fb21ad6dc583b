/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions of policies held against the schemas of the kinds they are for: a misspelt field is
 * named before it ever runs.
 *
 * To CEL every object is dynamic, so that `object.spec.replcas` compiles and fails at run time.
 * Here the same expressions are followed through the schemas: variables `object`, `oldObject`,
 * `params` and what `variables` make of them, elements in loops, Object{...} literals, and the
 * constant paths of JSONPatch{...} literals. What the expression may be depends on data, or what
 * has no schema, is taken to be right: every finding is a mistake for that kind, but not every
 * mistake is a finding.
 *
 * A policy may be for several kinds and ask which one it sees; a finding tells the kinds it holds
 * for, and whether these are all of them.
 *
 * Pure; any thread, with its own arena. Not: the API server's checks at creation, which are
 * ek_policy_validate, nor a judgement of values (formats, enums, bounds).
 */
#ifndef RECONCILERS_MUTATION_TYPECHECK_H
#define RECONCILERS_MUTATION_TYPECHECK_H

#include "api/admission.h"
#include "api/arena.h"
#include "api/schema/schema.h"
#include "reconcilers/mutation/policy.h"

/* More kinds of one policy are not looked at, more findings of one policy are dropped. */
#define EK_TYPECHECK_KINDS_MAX    64
#define EK_TYPECHECK_FINDINGS_MAX 200

/* A kind that a policy matches. schema may be NULL when it is not known: nothing is checked. */
struct ek_typecheck_kind {
    struct ek_gvk kind;
    const struct ek_schema *schema;
};

enum ek_type_problem {
    EK_TYPE_UNKNOWN_FIELD, /* the schema has no such field */
    EK_TYPE_ATOMIC,        /* an ApplyConfiguration sets what is replaced as a whole */
    EK_TYPE_KEYS,          /* an item of a keyed list lacks a key that has no default */
    EK_TYPE_NAME,          /* Object.a.b{} does not stand at .a.b */
    EK_TYPE_MISMATCH,      /* a text where a list is wanted, and the like */
};

struct ek_type_finding {
    const char *field;   /* "spec.mutations[0].applyConfiguration.expression" */
    uint32_t position;   /* code points before the place; UINT32_MAX for the whole text */
    const char *message; /* one line: `"spec" has no field "replcas"; did you mean "replicas"?` */
    enum ek_type_problem problem;
    const char *kinds; /* "apps/v1 Deployment, apps/v1 StatefulSet": those it holds for */
    bool all_kinds;    /* of the kinds that were given; else the policy may ask before it reads */
};

/* A path that a mutation sets or removes, as far as its text tells. */
struct ek_type_write {
    size_t mutation;   /* which of the policy's */
    const char *path;  /* "spec.template.spec.containers[name=\"proxy\"].image"; items of lists by
                          index in a JSONPatch ("[0]", "[-]"); a path that goes on with data ends
                          before that */
    uint32_t position; /* in its expression, code points */
    const char *value; /* a constant as JSON; NULL for all else */
    bool removes;
};

struct ek_type_findings {
    const struct ek_type_finding *list; /* in the order of the policy, then of the text */
    size_t n;
    const struct ek_type_write *writes; /* of all kinds, each once */
    size_t n_writes;
    size_t n_kinds; /* that had a schema: 0 means that nothing could be checked */
};

/*
 * Checks all expressions of policy that compile. params is the schema of its paramKind, with the
 * kind; NULL when there is none or it is not known. All of *ret lives in arena, which bounds the
 * memory. Returns 0; EK_E_LIMIT when the arena is used up.
 */
int ek_typecheck_policy(const struct ek_policy *policy, const struct ek_typecheck_kind *kinds,
                        size_t n_kinds, const struct ek_typecheck_kind *params,
                        struct ek_arena *arena, struct ek_type_findings *ret);

#endif
