/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that mutating admission reads of a cluster: policies and bindings of both groups,
 * PolicyStatuses, the webhook configurations that Evenkeel writes, Namespaces (all in the watch set
 * of the subject), and the params and schemas of the kinds that policies name.
 *
 * Policies of admissionregistration.k8s.io are watched in the version, and of the API server, of
 * reconcilers/mutation/native.h. The table of peers reports versions; the configured
 * address is queried for versions every minute. An informer with a server of its own treats 404 as
 * a failure, tries again, and keeps its objects.
 *
 * Threading: the loop thread; changed is called from the loop.
 */
#ifndef CONTROLLER_MUTATION_WATCH_H
#define CONTROLLER_MUTATION_WATCH_H

#include "controller/manager/watchset.h"
#include "controller/mutation/params.h"
#include "controller/mutation/schemas.h"
#include "controller/webhook/snapshot.h"
#include "reconcilers/mutation/native.h"

struct ek_mutation_watch;

enum ek_mutation_resource {
    EK_MUTATION_OWN_POLICIES,
    EK_MUTATION_OWN_BINDINGS,
    EK_MUTATION_STATUSES,
    EK_MUTATION_NAMESPACES,
    EK_MUTATION_MUTATING,   /* Evenkeel's MutatingWebhookConfiguration alone */
    EK_MUTATION_VALIDATING, /* Evenkeel's ValidatingWebhookConfiguration alone */
    EK_MUTATION_NATIVE_POLICIES,
    EK_MUTATION_NATIVE_BINDINGS,
    EK_MUTATION_RESOURCES,
};

/* The rows of the watch set. */
extern const struct ek_watch_row ek_mutation_rows[EK_MUTATION_RESOURCES];

/* All is borrowed until the watch is gone. */
struct ek_mutation_watch_config {
    uv_loop_t *loop;
    struct ek_client *client;
    struct ek_watchset *set;    /* of ek_mutation_rows */
    void (*changed)(void *ctx); /* params, schemas or the version have changed */
    void *ctx;
};

struct ek_mutation_watch *ek_mutation_watch_new(const struct ek_mutation_watch_config *config);
void ek_mutation_watch_start(struct ek_mutation_watch *watch);

/* Stops everything; on_closed is called from the loop, after which the watch is gone. */
void ek_mutation_watch_close(struct ek_mutation_watch *watch, void (*on_closed)(void *ctx),
                             void *ctx);

/* Takes over what the table of peers reports. */
void ek_mutation_watch_set_peers(struct ek_mutation_watch *watch,
                                 const struct ek_native_peers *peers);

/* The API server that policies of admissionregistration.k8s.io are read of; NULL: the configured
 * address. Borrowed. */
const char *ek_mutation_watch_server(const struct ek_mutation_watch *watch);

/* True when it is known in which version these policies are read, if in any. */
bool ek_mutation_watch_is_known(const struct ek_mutation_watch *watch);

/* The store of a resource; NULL for one that is not watched. */
const struct ek_store *ek_mutation_watch_store(const struct ek_mutation_watch *watch,
                                               enum ek_mutation_resource resource);

/* The name of a resource, with the version that is watched. Borrowed. */
const struct ek_resource *ek_mutation_watch_resource(const struct ek_mutation_watch *watch,
                                                     enum ek_mutation_resource resource);

/* All Namespaces: made when they change, then shared. One reference for the caller. */
struct ek_object_list *ek_mutation_watch_namespaces(struct ek_mutation_watch *watch);

struct ek_mutation_params *ek_mutation_watch_params(const struct ek_mutation_watch *watch);
struct ek_mutation_schemas *ek_mutation_watch_schemas(const struct ek_mutation_watch *watch);

#endif
