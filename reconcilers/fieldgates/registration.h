/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What API servers are asked to send us for gated resources: the webhooks of a mutating and of a
 * validating configuration.
 *
 * Per gated CRD there is one entry (two when gates differ in failurePolicy, or some are deprecated
 * and on: what is only warned about never fails), updated in place, for the storage version with
 * matchPolicy Equivalent, with each resource and subresource listed by itself. Match conditions ask
 * whether a gated path differs between old and new object, so that all other writes, finalizers
 * included, never wait for us. The names come late in the order in which API servers call webhooks;
 * the validating ones are the backstop for those who come later still.
 *
 * One more entry of the mutating configuration is the canary: it matches only our own dry-run
 * creates of CustomFeatureGates, and its path has the hash of the registration, so that its answer
 * proves which registration an API server has, and that it reaches us. It fails rather than being
 * ignored, so that what keeps an API server from reaching us is told in its own words.
 *
 * Pure. Source: fieldgates sheet, sections 5, 7 and 10; admissionregistration.k8s.io/v1.
 */
#ifndef RECONCILERS_FIELDGATES_REGISTRATION_H
#define RECONCILERS_FIELDGATES_REGISTRATION_H

#include "reconcilers/fieldgates/resolve.h"

/* Names of the two configurations. */
#define EK_GATES_MUTATING_NAME   "zz-evenkeel-field-gates"
#define EK_GATES_VALIDATING_NAME "evenkeel-field-gates"

/* Paths below which they are served: /gates/<crd>, /gates-verify/<crd>, /gates-canary/<hash>;
 * and /gates-definition, which validates CustomFeatureGates themselves (V1-V12). */
#define EK_GATES_PATH            "/gates"
#define EK_GATES_VERIFY_PATH     "/gates-verify"
#define EK_GATES_CANARY_PATH     "/gates-canary"
#define EK_GATES_DEFINITION_PATH "/gates-definition"

/* Put on the canary's object. */
#define EK_GATES_CANARY_ANNOTATION "evenkeel.dev/canary"

#define EK_GATES_REGISTERED_MAX 512 /* CRDs */

struct ek_gates_registered {
    const struct ek_gates *gates; /* without what is refused */
    const struct ek_gates_crd *crd;
};

/* As ek_registration_options. NULL and "" are the same. */
struct ek_gates_registration_options {
    const char *url; /* "https://10.0.0.7:9443": called there; "": by the service */
    const char *service_namespace, *service_name;
    int service_port;              /* 0: 443 */
    const char *ca_bundle;         /* PEM */
    const char *own_namespace;     /* never called for */
    const char *own_namespace_uid; /* the configurations belong to the namespace */
    bool with_kube_system;
    bool with_definitions; /* CustomFeatureGates are served, and are to be validated by us */
    int timeout_s;         /* 0: 5 */
};

/*
 * The two configurations as contents for server-side apply, values of doc. Entries are in the order
 * given. Without gates that need us the mutating one has no webhooks, and the validating one at
 * most that of definitions. *ret_hash (in doc) is the canary's; "" when there is none. What is
 * beyond EK_GATES_REGISTERED_MAX, or beyond what fits into one object of the cluster, is left out:
 * see ek_gates_registration_digest. evenkeel.dev's own kinds never need us.
 */
void ek_gates_registration_write(const struct ek_gates_registered *registered, size_t n,
                                 const struct ek_gates_registration_options *options,
                                 yyjson_mut_doc *doc, yyjson_mut_val **ret_mutating,
                                 yyjson_mut_val **ret_validating, const char **ret_hash);

/* Whether any write of the kind is to be sent to us: a gate is closed, or deprecated and in use. */
bool ek_gates_need_registration(const struct ek_gates_registered *registered);

/* What the two contents say for one CRD, as a number that changes with it; the CA bundle does not
 * count. 0: it is not registered. */
uint64_t ek_gates_registration_digest(yyjson_mut_val *mutating, yyjson_mut_val *validating,
                                      const char *crd);

/* True when live, the configuration in the cluster (NULL: none), says what content does, in
 * whatever order. */
bool ek_gates_registration_is_current(yyjson_mut_val *content, yyjson_val *live);

/* How the canary's answer is told from anything else: the text that the denial holds, before the
 * hash. */
#define EK_GATES_CANARY_TEXT "evenkeel canary "

#endif
