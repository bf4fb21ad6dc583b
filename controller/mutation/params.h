/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects that policies take as params: one informer for each kind that some policy names,
 * started and stopped as policies come and go.
 *
 * A kind is looked up in the discovery document of its group version, for its resource and its
 * scope; one that is not served is looked for again every few seconds, because definitions are
 * often applied right after the policies that use them. Reading objects of any kind needs
 * permission: deploy/components/policies/role.yaml.
 *
 * Threading: the loop thread; changed is called from the loop.
 */
#ifndef CONTROLLER_MUTATION_PARAMS_H
#define CONTROLLER_MUTATION_PARAMS_H

#include "informers/cache/informer.h"
#include "reconcilers/mutation/needs.h"

#define EK_MUTATION_PARAMS_MAX 64 /* kinds; further kinds are not read */

struct ek_mutation_params;

/* What is known of one kind; borrowed. */
struct ek_param_state {
    const char *api_version, *kind;
    bool known; /* served, so that the next two say something */
    bool namespaced;
    const struct ek_store *store; /* NULL while nothing is listed */
    unsigned long version;        /* of the store: another number after each change */
    const char *error;            /* why it is not known or listed; "" while nothing is wrong */
    int error_code;               /* of error: EK_E_NOENT for a kind that is not served */
};

struct ek_mutation_params *ek_mutation_params_new(uv_loop_t *loop, struct ek_client *client,
                                                  void (*changed)(void *ctx), void *ctx);

/* Says what is wanted, as a whole; strings are copied. */
void ek_mutation_params_want(struct ek_mutation_params *params, const struct ek_param_kind *kinds,
                             size_t n);

/* Fills *ret with the i-th kind; false beyond the last. */
bool ek_mutation_params_at(const struct ek_mutation_params *params, size_t i,
                           struct ek_param_state *ret);

/* The informer of the i-th kind, for metrics and debugging; NULL while it has none, and beyond the
 * last, where *ret_end is set. Borrowed. */
struct ek_informer *ek_mutation_params_informer(const struct ek_mutation_params *params, size_t i,
                                                bool *ret_end);

/* True when each required kind is listed, or has an error that explains why it is not. */
bool ek_mutation_params_are_settled(const struct ek_mutation_params *params);

/* Ends everything; on_closed is called from the loop when it is gone. */
void ek_mutation_params_close(struct ek_mutation_params *params, void (*on_closed)(void *ctx),
                              void *ctx);

#endif
