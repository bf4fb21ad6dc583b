/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that mutating admission sees of a cluster: policies and bindings of both groups, the
 * PolicyStatuses and the webhook registrations that we write, Namespaces, and params and schemas of
 * the kinds that policies name.
 *
 * Policies of admissionregistration.k8s.io are watched in the best version that any API server
 * serves. Which that is comes from two sources: what the peers were asked (set_version), and the
 * configured address, asked every minute. On a control plane of mixed versions an address may lead
 * to a server that knows less; so a peer that serves that version is asked directly, and these
 * informers take 404 for a failure to try again, and keep what they have.
 *
 * Threading: the loop thread; changed is called from the loop.
 */
#ifndef CONTROLLER_MUTATION_WATCH_H
#define CONTROLLER_MUTATION_WATCH_H

#include "controller/mutation_params.h"
#include "controller/mutation_schemas.h"
#include "controller/webhook_snapshot.h"
#include "informers/informer.h"

struct ek_mutation_watch;

enum ek_mutation_resource {
    EK_MUTATION_OWN_POLICIES,
    EK_MUTATION_OWN_BINDINGS,
    EK_MUTATION_STATUSES,
    EK_MUTATION_NAMESPACES,
    EK_MUTATION_MUTATING,   /* our MutatingWebhookConfiguration alone */
    EK_MUTATION_VALIDATING, /* our ValidatingWebhookConfiguration alone */
    EK_MUTATION_NATIVE_POLICIES,
    EK_MUTATION_NATIVE_BINDINGS,
    EK_MUTATION_RESOURCES,
};

struct ek_mutation_watch *ek_mutation_watch_new(uv_loop_t *loop, struct ek_client *client,
                                                void (*changed)(void *ctx), void *ctx);
void ek_mutation_watch_start(struct ek_mutation_watch *watch);

/* Stops everything; on_closed (may be NULL) is called from the loop, after which it is gone. */
void ek_mutation_watch_close(struct ek_mutation_watch *watch, void (*on_closed)(void *ctx),
                             void *ctx);

/* The best version that peers serve (constant text; NULL: none); all: every peer has told, so that
 * what was seen otherwise is of the past. server: "ip:port" (copied) of one that serves it, when
 * others do not: the configured address may lead to those; NULL: any will do. */
void ek_mutation_watch_set_version(struct ek_mutation_watch *watch, const char *version, bool all,
                                   const char *server);

/* The server that was set, NULL for any; borrowed. */
const char *ek_mutation_watch_server(const struct ek_mutation_watch *watch);

/* The version of the group's own kind that is watched, NULL for none; constant. */
const char *ek_mutation_watch_version(const struct ek_mutation_watch *watch);

/* True when policies, bindings, namespaces and statuses have been listed, or we were told why they
 * may not be. Params and schemas say so for themselves. */
bool ek_mutation_watch_is_settled(const struct ek_mutation_watch *watch);

/* What may not be read, with what to do; NULL for nothing. Owned. *ret_blind: policies or bindings
 * were never listed, so that nothing may be concluded from their absence. */
char *ek_mutation_watch_problem(const struct ek_mutation_watch *watch, bool *ret_blind);

/* The store of a resource; NULL for one that is not watched. */
const struct ek_store *ek_mutation_watch_store(const struct ek_mutation_watch *watch,
                                               enum ek_mutation_resource resource);

/* The informer likewise, for metrics and debugging. */
struct ek_informer *ek_mutation_watch_informer(const struct ek_mutation_watch *watch,
                                               enum ek_mutation_resource resource);

/* What a resource is called, with the version that is watched. Borrowed. */
const struct ek_resource *ek_mutation_watch_resource(const struct ek_mutation_watch *watch,
                                                     enum ek_mutation_resource resource);

/* All Namespaces: made when they change, then shared. One reference for the caller. */
struct ek_object_list *ek_mutation_watch_namespaces(struct ek_mutation_watch *watch);

struct ek_mutation_params *ek_mutation_watch_params(const struct ek_mutation_watch *watch);
struct ek_mutation_schemas *ek_mutation_watch_schemas(const struct ek_mutation_watch *watch);

#endif
