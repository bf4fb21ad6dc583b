/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps Evenkeel from answering matching requests as a policy is written, although the policy
 * compiles, is bound and is enforced: its params cannot be read or are not there, or it never comes
 * to rest on a control plane where only some API servers run the plug-in. Such requests are denied,
 * or, with failurePolicy Ignore, answered without the policy.
 *
 * Pure. Source: apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go: CollectParams
 * at v1.36; README.md here, "Who enforces".
 */
#ifndef RECONCILERS_MUTATION_BLOCKED_H
#define RECONCILERS_MUTATION_BLOCKED_H

#include "reconcilers/mutation/policy.h"

enum ek_params_trouble {
    EK_PARAMS_FINE,
    EK_PARAMS_FORBIDDEN,  /* they cannot be listed for want of a permission */
    EK_PARAMS_NOT_SERVED, /* the cluster has no such kind */
    EK_PARAMS_UNREADABLE, /* another failure, and nothing is listed */
    EK_PARAMS_NO_ROOM,    /* other policies have as many kinds as Evenkeel reads */
};

/* Which params a binding names: by name or by selector; namespace "" is any. */
struct ek_params_wanted {
    const char *namespace, *name;       /* "" where absent */
    const struct ek_selector *selector; /* NULL where absent */
};

/* A kind of params. Borrowed. */
struct ek_params_source {
    const char *api_version, *kind;
    enum ek_params_trouble trouble;
    const char *error; /* one line; "" without trouble */
    bool namespaced;
    /* Whether such an object is listed; NULL while nothing is listed. */
    bool (*holds)(void *ctx, const struct ek_params_wanted *wanted);
    void *ctx;
};

struct ek_policy_block {
    const char *reason;  /* CamelCase, constant; NULL: nothing blocks the policy */
    const char *message; /* with the consequence and the remedy; in arena */
};

/* The consequence for matching requests while policy cannot be evaluated, by its failurePolicy:
 * "matching requests are denied", for example. Constant. */
const char *ek_policy_consequence(const struct ek_policy *policy);

/* Judges policy with its n bindings. source is its kind of params (NULL: it has none, or nothing is
 * known of the kind yet). restless: a request was denied because the policy did not come to rest
 * (confirm.h). */
struct ek_policy_block ek_policy_blocked(const struct ek_policy *policy,
                                         const struct ek_binding *const *bindings, size_t n,
                                         const struct ek_params_source *source, bool restless,
                                         struct ek_arena *arena);

#endif
