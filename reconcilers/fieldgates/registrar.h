/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registration of gated kinds beside what the cluster has of it: what to write, and for which
 * kinds API servers have been shown to act by it.
 *
 * A kind whose entries are those that a canary was answered for stays proven while other kinds come
 * and go: otherwise each change would put all of them in doubt.
 *
 * Pure: objects in, intents out; a registrar remembers the last contents and what was proven.
 * Threading: one thread.
 */
#ifndef RECONCILERS_FIELDGATES_REGISTRAR_H
#define RECONCILERS_FIELDGATES_REGISTRAR_H

#include "reconcilers/fieldgates/kinds.h"
#include "reconcilers/fieldgates/status.h"
#include "reconcilers/intent.h"
#include "reconcilers/webhooks/compare.h"

/* The two configurations, in the order in which they are written. */
enum ek_gates_configuration {
    EK_GATES_MUTATING,
    EK_GATES_VALIDATING,
    EK_GATES_CONFIGURATIONS,
};

struct ek_gates_proof {
    char *crd;
    uint64_t digest;
};

/* Zero before the first ek_gates_registrar_make. Everything is owned. */
struct ek_gates_registrar {
    yyjson_mut_doc *doc;
    yyjson_mut_val *contents[EK_GATES_CONFIGURATIONS];
    struct ek_webhooks_standing standings[EK_GATES_CONFIGURATIONS];
    bool current;     /* the cluster has both */
    bool carries;     /* all that the cluster has registered carries the CA bundle */
    bool empty;       /* nothing is to be registered */
    const char *hash; /* of the canary */
    char *exempt[EK_WEBHOOKS_EXEMPT_MAX]; /* namespaces whose objects are not gated */
    size_t n_exempt;
    char *failure; /* why it is not registered; NULL: nothing is known to be wrong */
    struct ek_gates_proof *proofs;
    size_t n_proofs;
};

/* Makes the contents for kinds, or without serving those of no gates, and compares them with live,
 * the two configurations of the cluster (NULL: there is none). */
void ek_gates_registrar_make(struct ek_gates_registrar *registrar,
                             const struct ek_gated_kinds *kinds,
                             yyjson_val *const live[EK_GATES_CONFIGURATIONS],
                             const struct ek_webhooks_options *options, bool serving);
void ek_gates_registrar_done(struct ek_gates_registrar *registrar);

/*
 * Appends the applies of what differs. resources are those of the two kinds. not_ready says why
 * requests cannot be answered yet (NULL: they can): then nothing is registered, and the plan is
 * made again; what is only withdrawn does not wait. Returns false when it waits.
 */
bool ek_gates_registrar_plan(struct ek_gates_registrar *registrar,
                             const struct ek_resource *const resources[EK_GATES_CONFIGURATIONS],
                             const char *not_ready, struct ek_intents *intents);

/* A write failed: why is copied. Holds until the configurations are seen to be current, or can be
 * written again. */
void ek_gates_registrar_fail(struct ek_gates_registrar *registrar, const char *why);

/* The hash to request from the canary, once the cluster has both configurations; NULL: as
 * before. */
const char *ek_gates_registrar_expects(const struct ek_gates_registrar *registrar);

/* Takes the canary's result: when all have answered, what is registered now is proven. */
void ek_gates_registrar_prove(struct ek_gates_registrar *registrar,
                              const struct ek_gated_kinds *kinds, enum ek_gates_canary canary);

/* Fills in of facts, for kind, what the registration says: registered, registration_message,
 * canary, canary_message and, of a namespaced kind, exempt. The canary is the result for all;
 * strings are borrowed. */
void ek_gates_registrar_facts(const struct ek_gates_registrar *registrar,
                              const struct ek_gated_kind *kind, enum ek_gates_canary canary,
                              const char *canary_message, struct ek_gates_facts *facts);

/* The names of kinds that live, the mutating configuration of the cluster, still has, and for which
 * there is no CustomFeatureGates any more: each once, in arena. */
const char *const *ek_gates_orphans(const struct ek_gated_kinds *kinds, yyjson_val *live,
                                    struct ek_arena *arena, size_t *ret_n);

/* Appends the Event for an orphan's crd. */
void ek_gates_plan_orphan(const struct ek_obj *crd, struct ek_intents *intents);

#endif
