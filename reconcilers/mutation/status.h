/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of the PolicyStatus of one policy: its conditions and the facts behind them, built
 * whole each time.
 *
 * A PolicyStatus has the name of its policy. Where policies of both groups have one name, the
 * PolicyStatus is about the policy of evenkeel.dev and lists the other one under problems: see
 * ek_policy_has_status.
 *
 *   Compiled      every expression compiles and every field is valid. The message names the API
 *                 servers that refuse the policy as a new one, and a list has them
 *   TypesChecked  expressions fit the schemas of the matched kinds; findings are listed
 *   Bound         a binding names the policy
 *   Enforced      an API server or Evenkeel applies the policy; the reason names which. False when
 *                 Evenkeel cannot answer matching requests as the policy is written (blocked.h), or
 *                 gets no requests for the policy (registered.h)
 *   Converging    no policy undoes the changes of another; fights are listed
 *   Ready         Compiled, Bound and Enforced are True, and neither TypesChecked nor Converging is
 *                 False
 *
 * deploy/crd/evenkeel.dev_policystatuses.yaml describes every field; a test compares the two. Lists
 * are bounded, and omitted counts the rest; long texts are cut. No field depends on the clock
 * alone, so that an unchanged cluster gives an equal status and no write. Pure: facts in, a value
 * out.
 */
#ifndef RECONCILERS_MUTATION_STATUS_H
#define RECONCILERS_MUTATION_STATUS_H

#include "reconcilers/mutation/blocked.h"
#include "reconcilers/mutation/engine.h"
#include "reconcilers/mutation/refusals.h"

#define EK_POLICY_STATUS_BINDINGS_MAX 32
#define EK_POLICY_STATUS_PATHS_MAX    64
#define EK_POLICY_STATUS_FINDINGS_MAX 32
#define EK_POLICY_STATUS_FIGHTS_MAX   16
#define EK_POLICY_STATUS_PARTIES_MAX  16
#define EK_POLICY_STATUS_PROBLEMS_MAX 32
#define EK_POLICY_STATUS_SERVERS_MAX  16
#define EK_POLICY_STATUS_SAFETY_MAX   32

/* What the type check found in one expression. */
struct ek_policy_finding {
    const char *field;   /* "spec.mutations[0].applyConfiguration.expression" */
    const char *kind;    /* matched kind that it is about, "apps/v1, Kind=Deployment"; "" for all */
    const char *message; /* one line: `"spec" has no field "replcas"; did you mean "replicas"?` */
    bool warning;        /* worth knowing, but it will run */
};

/* The result of the type check of one policy (reconcilers/policylint/policy_types.h). Zero: there
 * is none yet. */
struct ek_policy_types {
    bool made;
    bool checked;           /* the schema of a matched kind was known */
    unsigned long version;  /* of the schemas that it was made of */
    struct ek_arena *arena; /* owned: of the findings; NULL without any */
    const struct ek_policy_finding *findings;
    size_t n_findings;
};

void ek_policy_types_done(struct ek_policy_types *types);

enum ek_types_check {
    EK_TYPES_PENDING, /* not checked yet, or a schema is missing; see types_message */
    EK_TYPES_CHECKED, /* findings are what there is to say */
};

/* The component that applies a policy to requests. */
enum ek_enforcer {
    EK_ENFORCER_UNKNOWN, /* not known yet which servers run the plug-in */
    EK_ENFORCER_NOBODY,
    EK_ENFORCER_API_SERVERS,
    EK_ENFORCER_EVENKEEL,
    EK_ENFORCER_MIXED, /* some API servers do, and Evenkeel for the others */
    EK_ENFORCER_MAX,
};

/* A fight as it is kept between requests: texts, for the objects it was seen on are gone. */
struct ek_fight_party {
    const char *policy;
    const char *value_hash; /* differs between the values of one fight; "" for absent */
};

struct ek_fight_seen {
    const char *path; /* JSON pointer */
    const char *kind; /* of the objects it was seen on: "apps/v1, Kind=Deployment" */
    const struct ek_fight_party *parties;
    size_t n_parties;
    int64_t since_ms; /* first seen */
};

/* What requests came to, as the caller counts them. */
struct ek_policy_counts {
    bool known;
    uint64_t applied, ignored, denied, observed;
};

/* Why API servers do not call Evenkeel for a policy: see registered.h. */
struct ek_policy_unregistered {
    const char *reason;  /* CamelCase, constant; NULL: they do, or need not */
    const char *message; /* with the consequence and the remedy; borrowed */
    bool unknown;        /* it may be over in a moment: the condition is Unknown, not False */
};

struct ek_policy_facts {
    const struct ek_policy *policy;
    const struct ek_binding *const *bindings; /* those that name it, in order of their names */
    size_t n_bindings;
    const char *after; /* policy that runs directly before; "": it is the first. NULL: the policy is
                          not bound */

    const struct ek_policy_refusal *refusal; /* with servers; NULL: not known */
    const struct ek_refusal_servers *servers;

    enum ek_types_check types;
    const char *types_message; /* why it is pending; NULL otherwise */
    const struct ek_policy_finding *findings;
    size_t n_findings;

    enum ek_enforcer enforcer;
    const char *enforcer_message; /* for people: which servers; NULL for a general sentence */
    bool restless;                /* it was denied for not coming to rest (confirm.h) */
    struct ek_policy_block block; /* why Evenkeel cannot answer as it is written */
    struct ek_policy_unregistered unregistered;

    const struct ek_fight_seen *fights; /* that it is a party of, and that are not over */
    size_t n_fights;
    struct ek_policy_counts counts;
    bool shadows_native; /* a policy of admissionregistration.k8s.io has the same name */
};

/*
 * Returns the status of facts as a value of doc. old_status (NULL: none) is what the object holds:
 * it decides transition times. Strings are copied into doc. NULL without memory.
 */
yyjson_mut_val *ek_policy_status(const struct ek_policy_facts *facts, yyjson_val *old_status,
                                 int64_t now_ms, struct ek_arena *arena, yyjson_mut_doc *doc);

/* False for a policy of admissionregistration.k8s.io when one of evenkeel.dev has its name. */
bool ek_policy_has_status(const struct ek_policy *policy, bool other_group_has_name);

#endif
