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
 * A policy may be for several kinds and test which one it sees: by object.kind and
 * object.apiVersion, request.kind and request.resource, variables of these, or has() of a field
 * that not all have. What a kind does not come to is no finding of that kind. A finding lists the
 * kinds it holds for, and whether these are all kinds that come to the place.
 *
 * Pure; any thread, with its own arena. Not: the API server's checks at creation, which are
 * ek_policy_validate, nor a judgement of values (formats, enums, bounds).
 */
#ifndef RECONCILERS_POLICYLINT_TYPECHECK_H
#define RECONCILERS_POLICYLINT_TYPECHECK_H

#include "api/admission.h"
#include "api/base/arena.h"
#include "api/schema/schema.h"
#include "api/version.h"
#include "reconcilers/mutation/policy.h"

/* More kinds of one policy are not looked at, more findings of one policy are dropped. */
#define EK_TYPECHECK_KINDS_MAX    64
#define EK_TYPECHECK_FINDINGS_MAX 200

/* A kind that a policy matches. schema may be NULL when it is not known: nothing is checked. */
struct ek_typecheck_kind {
    struct ek_gvk kind;
    const struct ek_schema *schema;
};

/* A field that API servers of the required version, or of a version that one may go back to, do not
 * have, although the schema has the field. */
struct ek_type_gap {
    struct ek_minor at; /* the release that brought the field, or the first one without the field */
    enum {
        EK_TYPE_GAP_LATER, /* the required version is older than the field */
        EK_TYPE_GAP_GONE,  /* the field is gone from the required version */
        EK_TYPE_GAP_BACK,  /* the version to go back to is older than the field */
    } why;
};

/* Source of gaps. find gets a path in the form of the data of releases: "spec.containers[].name",
 * "{}" for the value of a map. Pure; kind and path are valid during the call. */
struct ek_type_gaps {
    bool (*find)(void *ctx, const struct ek_gvk *kind, const char *path,
                 struct ek_type_gap *ret_gap);
    void *ctx;
};

enum ek_type_problem {
    EK_TYPE_UNKNOWN_FIELD, /* the schema has no such field */
    EK_TYPE_ATOMIC,        /* an ApplyConfiguration sets what is replaced as a whole */
    EK_TYPE_KEYS,          /* an item of a keyed list lacks a key that has no default */
    EK_TYPE_NAME,          /* Object.a.b{} does not stand at .a.b */
    EK_TYPE_MISMATCH,      /* a text where a list is wanted, and the like */
    EK_TYPE_CRASH,         /* the value of a JSONPatch that API servers cannot convert */
    EK_TYPE_ABSENT,        /* a JSONPatch below what may be absent */
    EK_TYPE_GROWS,         /* a JSONPatch that adds an item on each run */
    EK_TYPE_LATER_WRITE,   /* sets a field that is newer than the required version */
    EK_TYPE_LATER_READ,    /* reads such a field, and not by has() */
    EK_TYPE_GONE,          /* a field that is gone from the required version */
    EK_TYPE_BACK,          /* sets a field that the version to go back to does not have */
};

struct ek_type_finding {
    const char *field;   /* "spec.mutations[0].applyConfiguration.expression" */
    uint32_t position;   /* code points before the place; UINT32_MAX for the whole text */
    const char *message; /* one line: `"spec" has no field "replcas"; did you mean "replicas"?` */
    enum ek_type_problem problem;
    const char *kinds; /* "apps/v1 Deployment, apps/v1 StatefulSet": those it holds for */
    bool all_kinds;    /* of the kinds that were given; else the policy may ask before it reads */
    bool denies;       /* of atomic: each object of one of these kinds is denied */
};

/* A path that a mutation sets or removes, as far as its text shows. */
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
 * Checks all expressions of policy that compile. gaps may be NULL: the schemas have what API
 * servers have. params is the schema of its paramKind, with the
 * kind; NULL when there is none or it is not known. All of *ret lives in arena, which bounds the
 * memory. Returns 0; EK_E_LIMIT when the arena is used up.
 */
int ek_typecheck_policy_at(const struct ek_policy *policy, const struct ek_typecheck_kind *kinds,
                           size_t n_kinds, const struct ek_typecheck_kind *params,
                           const struct ek_type_gaps *gaps, struct ek_arena *arena,
                           struct ek_type_findings *ret);

/* The same without gaps. */
static inline int ek_typecheck_policy(const struct ek_policy *policy,
                                      const struct ek_typecheck_kind *kinds, size_t n_kinds,
                                      const struct ek_typecheck_kind *params,
                                      struct ek_arena *arena, struct ek_type_findings *ret)
{
    return ek_typecheck_policy_at(policy, kinds, n_kinds, params, NULL, arena, ret);
}

#endif
