/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two webhook configurations as they should be (reconcilers/mutation/registration.h), beside
 * what the cluster has: which of them are to be written. Threading: the loop thread.
 */
#ifndef CONTROLLER_MUTATION_REGISTRATIONS_H
#define CONTROLLER_MUTATION_REGISTRATIONS_H

#include "controller/mutation/state.h"
#include "reconcilers/mutation/registered.h"

/* Which rows of the watch the two are. */
extern const enum ek_mutation_resource ek_registration_resources[EK_REGISTRATION_KINDS];

struct ek_registration_write {
    yyjson_mut_doc *doc;     /* owned: of content */
    yyjson_mut_val *content; /* for server-side apply */
    bool current;            /* the cluster has it already */
    bool carries;            /* the cluster's has the authorities, if there is one */
    bool withdraws;          /* there is nothing to be registered */
};

/* Compares registration kind of state with the store of watch. options are all but the owner's uid,
 * which is looked up. Release with ek_registration_write_done. */
void ek_registration_write_plan(const struct ek_mutation_state *state,
                                const struct ek_mutation_watch *watch,
                                const struct ek_webhooks_options *options,
                                enum ek_registration_kind kind,
                                struct ek_registration_write *ret_write);
void ek_registration_write_done(struct ek_registration_write *write);

/* Reads how registration kind of state, which could not be written, stands beside the store of
 * watch. ret_standing: its content is a value of doc, its live belongs to the store; error and
 * waits are the caller's. */
void ek_registration_standing_read(const struct ek_mutation_state *state,
                                   const struct ek_mutation_watch *watch,
                                   const struct ek_webhooks_options *options,
                                   enum ek_registration_kind kind, yyjson_mut_doc *doc,
                                   struct ek_registration_standing *ret_standing);

EK_CLEANUP(ek_registration_write, ek_registration_write_done)

#endif
