/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that field gates see of a cluster: CustomFeatureGates, the CustomResourceDefinitions that
 * they are named after, the two webhook configurations that we write, our namespace, and the
 * ConfigMap that remembers which annotations were imported.
 *
 * CRDs may be thousands, and large. So of all of them only metadata is kept, for annotations; those
 * that gates are named after are followed one by one and kept whole.
 *
 * Threading: the loop thread; changed is called from the loop.
 */
#ifndef CONTROLLER_GATES_WATCH_H
#define CONTROLLER_GATES_WATCH_H

#include "informers/informer.h"

/* Remembers imports: one entry per CRD, with its UID. In our namespace. */
#define EK_GATES_IMPORTS_NAME "evenkeel-imports"

struct ek_gates_watch;

enum ek_gates_resource {
    EK_GATES_OBJECTS,
    EK_GATES_CRDS,       /* metadata of all */
    EK_GATES_MUTATING,   /* our MutatingWebhookConfiguration alone */
    EK_GATES_VALIDATING, /* our ValidatingWebhookConfiguration alone */
    EK_GATES_NAMESPACE,  /* ours alone; not watched where it is not known */
    EK_GATES_IMPORTS,    /* likewise */
    EK_GATES_RESOURCES,
};

/* own_namespace is copied; NULL or "": not known. */
struct ek_gates_watch *ek_gates_watch_new(uv_loop_t *loop, struct ek_client *client,
                                          const char *own_namespace, void (*changed)(void *ctx),
                                          void *ctx);
void ek_gates_watch_start(struct ek_gates_watch *watch);

/* Stops everything; on_closed (may be NULL) is called from the loop, after which it is gone. */
void ek_gates_watch_close(struct ek_gates_watch *watch, void (*on_closed)(void *ctx), void *ctx);

/* Follows the CRDs with these n names, and no others. Not from inside changed. */
void ek_gates_watch_follow(struct ek_gates_watch *watch, const char *const *names, size_t n);

/* The CRD of a name that is followed; NULL when there is none. */
const struct ek_obj *ek_gates_watch_crd(const struct ek_gates_watch *watch, const char *name);

/* The informer of the i-th CRD that is followed, with its name; NULL beyond the last. */
struct ek_informer *ek_gates_watch_followed(const struct ek_gates_watch *watch, size_t i,
                                            const char **ret_name);

/* True when everything has been listed, what is followed included, or we were told why it may not
 * be. */
bool ek_gates_watch_is_settled(const struct ek_gates_watch *watch);

/* What may not be read, with what to do; NULL for nothing. Owned. *ret_blind: gates or CRDs were
 * never listed, so that nothing may be concluded from their absence. */
char *ek_gates_watch_problem(const struct ek_gates_watch *watch, bool *ret_blind);

/* True when CustomFeatureGates are served. */
bool ek_gates_watch_is_served(const struct ek_gates_watch *watch);

/* The store, the informer and the name of a resource; NULL for one that is not watched. Borrowed.
 */
const struct ek_store *ek_gates_watch_store(const struct ek_gates_watch *watch,
                                            enum ek_gates_resource resource);
struct ek_informer *ek_gates_watch_informer(const struct ek_gates_watch *watch,
                                            enum ek_gates_resource resource);
const struct ek_resource *ek_gates_watch_resource(const struct ek_gates_watch *watch,
                                                  enum ek_gates_resource resource);

/* The one object of MUTATING, VALIDATING, NAMESPACE or IMPORTS; NULL when it is not there. */
const struct ek_obj *ek_gates_watch_only(const struct ek_gates_watch *watch,
                                         enum ek_gates_resource resource);

#endif
