/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An admission policy, mutating or validating, and its binding, read and compiled.
 *
 * Both groups' kinds are read: admissionregistration.k8s.io (v1alpha1, v1beta1, v1) and, of
 * mutating policies, evenkeel.dev/v1alpha1, which has the same shape and the fields of ours that
 * the annotations below stand for on the other. A policy that does not compile is still a policy:
 * it says why, and running it is a configuration error, as in the API server.
 *
 * Both are immutable, refcounted and may be shared between threads: serving threads read them while
 * the control loop makes new ones. Source: KEP-3962; KEP-3488;
 * admissionregistration.k8s.io/v1.
 */
#ifndef RECONCILERS_MUTATION_POLICY_H
#define RECONCILERS_MUTATION_POLICY_H

#include "api/cel/cel.h"
#include "api/obj.h"
#include "reconcilers/mutation/rules.h"

/* The annotations of a policy of the cluster's own kind, which has no fields for these settings. */
#define EK_POLICY_BEHAVIOUR_ANNOTATION   "evenkeel.dev/behaviour"   /* InTree (default), Extended */
#define EK_POLICY_ENFORCEMENT_ANNOTATION "evenkeel.dev/enforcement" /* Auto, Observe, Enforce */
#define EK_POLICY_ATOMICS_ANNOTATION     "evenkeel.dev/atomics"     /* Refuse (default), Replace */
#define EK_POLICY_SAFETY_ANNOTATION                                                                \
    "evenkeel.dev/safety" /* Exact, Overwritable, or CEL; of all                                   \
                             mutations */

enum ek_policy_behaviour {
    EK_POLICY_IN_TREE,  /* what the API server would do, quirks included */
    EK_POLICY_EXTENDED, /* what KEP-3962 promised */
};

enum ek_policy_enforcement {
    EK_POLICY_AUTO,    /* enforced by us where the API servers do not */
    EK_POLICY_OBSERVE, /* evaluated and reported, never applied */
    EK_POLICY_ENFORCE, /* applied by us whatever the API servers do */
};

/* "Auto", "Observe" or "Enforce". */
const char *ek_policy_enforcement_name(enum ek_policy_enforcement enforcement);

enum ek_mutation_type { EK_MUTATION_APPLY, EK_MUTATION_JSON_PATCH };

/* What must still hold of a mutation when all mutators have run (KEP-3962, "Safety"). */
enum ek_mutation_safety {
    EK_SAFETY_NONE,         /* no check: the in-tree behaviour */
    EK_SAFETY_EXACT,        /* each value that it set is unchanged */
    EK_SAFETY_OVERWRITABLE, /* others may change it */
    EK_SAFETY_CONDITION,    /* a CEL expression over the final object is true */
};

struct ek_expression {
    const char *name;                     /* of a variable or match condition; NULL otherwise */
    const char *text;                     /* as written */
    const char *field;                    /* "spec.mutations[0].applyConfiguration.expression" */
    const struct ek_cel_program *program; /* NULL when it does not compile */
    const char *error;                    /* then why, in the API server's words; else NULL */
};

struct ek_mutation {
    enum ek_mutation_type type;
    struct ek_expression expression;
    enum ek_mutation_safety safety;
    struct ek_expression condition; /* of EK_SAFETY_CONDITION */
    bool replace_atomics;           /* atomics: Replace; Extended only */
};

/* One of a validating policy's validations. */
struct ek_policy_validation {
    struct ek_expression expression;
    struct ek_expression message_expression; /* text "" for none */
    const char *message;                     /* without blanks around it; "" for none */
    const char *reason;                      /* "" for none, which is Invalid */
};

struct ek_audit_annotation {
    const char *key;
    struct ek_expression value; /* of a string, or null */
};

/* Slots of the variables that expressions of policies are compiled with. */
enum ek_policy_slot {
    EK_SLOT_OBJECT,
    EK_SLOT_OLD_OBJECT,
    EK_SLOT_REQUEST,
    EK_SLOT_NAMESPACE_OBJECT,
    EK_SLOT_AUTHORIZER,
    EK_SLOT_REQUEST_RESOURCE, /* authorizer.requestResource */
    EK_SLOT_VARIABLES,        /* not in match conditions */
    EK_SLOT_PARAMS,           /* declared only with a paramKind */
    EK_SLOT_OBJECTS,          /* objects.apply(), objects.remove(): Extended, not in conditions */
    EK_SLOT_MAX,
};

struct ek_scopes;

struct ek_policy {
    const char *name, *uid;
    int64_t generation;
    bool native;     /* of admissionregistration.k8s.io */
    bool validating; /* a ValidatingAdmissionPolicy: it has no mutations */
    enum ek_policy_behaviour behaviour;
    enum ek_policy_enforcement enforcement;
    bool ignore_failures; /* failurePolicy: Ignore */
    bool reinvoke;        /* reinvocationPolicy: IfNeeded */
    bool has_params;
    const char *param_api_version, *param_kind; /* "" without params */
    const struct ek_rules *rules;               /* NULL without matchConstraints */
    const struct ek_expression *variables, *conditions;
    size_t n_variables, n_conditions;
    const struct ek_mutation *mutations;
    size_t n_mutations;
    const struct ek_policy_validation *validations;
    size_t n_validations;
    const struct ek_audit_annotation *annotations;
    size_t n_annotations;
    const struct ek_scopes *scopes; /* reconcilers/mutation/scopes.h */
    /* What is wrong with it, in the order of the fields: "spec.failurePolicy: ..."; empty for a
     * policy that an API server would accept. */
    const char *const *problems;
    size_t n_problems;
};

/* Reads and compiles obj; compat_minor 0 compiles for stored expressions, NN as new ones of
 * compatibility version 1.NN. Never fails: see problems. */
const struct ek_policy *ek_policy_new(const struct ek_obj *obj, int compat_minor);
const struct ek_policy *ek_policy_ref(const struct ek_policy *policy);
void ek_policy_unref(const struct ek_policy *policy); /* NULL is fine */

/* What to do about a selector of matchResources that cannot be read, and about a param_problem. */
#define EK_BINDING_SELECTOR_REMEDY "correct the selector in spec.matchResources of the binding"
#define EK_BINDING_PARAMS_REMEDY   "correct spec.paramRef of the binding"

struct ek_binding {
    const char *name, *policy_name;
    bool native;
    bool validating;            /* a ValidatingAdmissionPolicyBinding */
    const char *const *actions; /* then its validationActions, as written */
    size_t n_actions;
    const struct ek_rules *rules; /* never NULL; everything when it has no matchResources */
    bool has_param_ref;
    const char *param_name, *param_namespace; /* "" where absent */
    const struct ek_selector *param_selector; /* NULL where absent */
    const char *param_problem; /* why the paramRef names no params, whatever there is; or NULL */
    bool allow_missing_params; /* parameterNotFoundAction: Allow */
    const char *const *problems;
    size_t n_problems;
};

const struct ek_binding *ek_binding_new(const struct ek_obj *obj);
const struct ek_binding *ek_binding_ref(const struct ek_binding *binding);
void ek_binding_unref(const struct ek_binding *binding);

/*
 * The answer an API server gives to creating obj, a policy or a binding: 0 when it is accepted,
 * else the HTTP status with the Status message appended to out and the reason in *ret_reason
 * (constant): 422 Invalid, or 400 BadRequest for fields that the kind does not have, if strict.
 * compat_minor as in ek_policy_new: a server of 1.NN takes what 1.NN-1 can run.
 */
int ek_policy_validate(const struct ek_obj *obj, bool strict, int compat_minor, struct ek_buf *out,
                       const char **ret_reason);

#endif
