/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests for gated resources that API servers send to Evenkeel: the webhooks of a mutating
 * and of a validating configuration.
 *
 * Per gated CRD there is one entry (two when gates differ in failurePolicy, or some are deprecated
 * and on: what is only warned about never fails), updated in place, for the storage version with
 * matchPolicy Equivalent, with each resource and subresource listed by itself. Match conditions ask
 * whether a gated path differs between old and new object, so that all other writes, finalizers
 * included, never wait for us. The names come late in the order in which API servers call webhooks;
 * the validating ones are the backstop for webhooks that come later still.
 *
 * One more entry of the mutating configuration is the canary: it matches only our own dry-run
 * creates of CustomFeatureGates, and its path has the hash of the registration, so that its answer
 * proves which registration an API server has, and that it reaches us. It fails rather than being
 * ignored, so that an API server that cannot reach us reports the reason in its own words.
 *
 * Pure. Source: admissionregistration.k8s.io/v1.
 */
#ifndef RECONCILERS_FIELDGATES_REGISTRATION_H
#define RECONCILERS_FIELDGATES_REGISTRATION_H

#include "reconcilers/fieldgates/resolve.h"
#include "reconcilers/webhooks/configuration.h"

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

/*
 * The two configurations as contents for server-side apply, values of doc. Entries are in the order
 * given. Without gates that need us the mutating one has no webhooks, and the validating one at
 * most that of definitions. *ret_hash (in doc) is the canary's; "" when there is none. What is
 * beyond EK_GATES_REGISTERED_MAX, or beyond what fits into one object of the cluster, is left out:
 * see ek_gates_registration_digest. evenkeel.dev's own kinds never need us.
 */
void ek_gates_registration_write(const struct ek_gates_registered *registered, size_t n,
                                 const struct ek_webhooks_options *options, yyjson_mut_doc *doc,
                                 yyjson_mut_val **ret_mutating, yyjson_mut_val **ret_validating,
                                 const char **ret_hash);

/* Whether any write of the kind is to be sent to us: a gate is closed, or deprecated and in use. */
bool ek_gates_need_registration(const struct ek_gates_registered *registered);

/* What the two contents say for one CRD, as a number that changes with it; the CA bundle does not
 * count. 0: it is not registered. */
uint64_t ek_gates_registration_digest(yyjson_mut_val *mutating, yyjson_mut_val *validating,
                                      const char *crd);

/* The text that identifies an answer of the canary: the denial contains it, before the hash. */
#define EK_GATES_CANARY_TEXT "evenkeel canary "

#endif
