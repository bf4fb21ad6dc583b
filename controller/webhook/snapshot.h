/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the cluster for the serving threads of the admission webhook: policies, namespaces,
 * params, schemas. A snapshot is the state at one instant, made on the control loop and published
 * as a whole by ek_webhook_publish. A request is judged by one snapshot from its beginning to its
 * end.
 *
 * A snapshot is immutable once it is published, and refcounted; its lists are refcounted too, so
 * that the next snapshot shares the lists that have not changed:
 *
 *     snapshot = ek_webhook_snapshot_new();
 *     ek_webhook_snapshot_set_namespaces(snapshot, namespaces);   a list made when they changed
 *     ek_webhook_snapshot_add_policies(snapshot, "", bound, n);
 *     ek_webhook_publish(webhook, snapshot);                      takes the reference
 *
 * Ownership: arguments are referenced or copied, and not taken, unless a comment says so.
 * Threading: one thread fills a snapshot; after that any thread reads, references and releases it.
 */
#ifndef CONTROLLER_WEBHOOK_SNAPSHOT_H
#define CONTROLLER_WEBHOOK_SNAPSHOT_H

#include "api/obj.h"
#include "reconcilers/mutation/engine.h"

/* ---- Lists of objects ---- */

/* Objects of one kind, in the order of their keys. */
struct ek_object_list;

/* A list of n objects (each reference is shared; any order); one reference for the caller. */
struct ek_object_list *ek_object_list_new(struct ek_obj *const *items, size_t n);
size_t ek_object_list_size(const struct ek_object_list *list);
struct ek_object_list *ek_object_list_ref(const struct ek_object_list *list);
void ek_object_list_unref(struct ek_object_list *list); /* NULL is fine */

/* The object under a key ("namespace/name", or "name"), borrowed; NULL when there is none. */
const struct ek_obj *ek_object_list_find(const struct ek_object_list *list, const char *key);

/* The i-th object, NULL beyond the last; and the first whose key is not below key. */
const struct ek_obj *ek_object_list_at(const struct ek_object_list *list, size_t i);
size_t ek_object_list_seek(const struct ek_object_list *list, const char *key);

EK_CLEANUP_PTR(ek_object_list, ek_object_list_unref)

/* ---- Snapshots ---- */

struct ek_webhook_snapshot;

/* An empty snapshot: no policies, namespaces not known. One reference for the caller. */
struct ek_webhook_snapshot *ek_webhook_snapshot_new(void);
struct ek_webhook_snapshot *ek_webhook_snapshot_ref(const struct ek_webhook_snapshot *snapshot);
void ek_webhook_snapshot_unref(struct ek_webhook_snapshot *snapshot); /* NULL is fine */

EK_CLEANUP_PTR(ek_webhook_snapshot, ek_webhook_snapshot_unref)

/*
 * Adds a set of policies under a name: requests to /mutate/<name> run it, "" is /mutate. A name has
 * one set. bound is copied, in the order in which it is to run; policies and bindings are
 * referenced. A name that the registration still uses should keep an empty set when its last
 * policy has gone: requests for names without a set are refused.
 */
void ek_webhook_snapshot_add_policies(struct ek_webhook_snapshot *snapshot, const char *name,
                                      const struct ek_bound *bound, size_t n);

/* The Namespaces. NULL: not known, each is requested. One that is missing in list is requested
 * too. */
void ek_webhook_snapshot_set_namespaces(struct ek_webhook_snapshot *snapshot,
                                        const struct ek_object_list *list);

/* Params or schemas are still being read, and another snapshot will have them soon: until then one
 * that is missing says nothing. */
void ek_webhook_snapshot_set_loading(struct ek_webhook_snapshot *snapshot);

/* A kind that policies use for params. objects NULL: it is known, but not synced yet. Kinds that
 * were not added are not known. */
void ek_webhook_snapshot_add_params(struct ek_webhook_snapshot *snapshot, const char *api_version,
                                    const char *kind, bool namespaced,
                                    const struct ek_object_list *objects);

/* The schema of a group version: all its kinds. Of several for one group version the first that
 * has the kind counts. */
void ek_webhook_snapshot_add_schema(struct ek_webhook_snapshot *snapshot, const char *group,
                                    const char *version, const struct ek_schema *schema);

/* ---- Reading ---- */

/* What is known of a kind of params. */
struct ek_webhook_params {
    const char *api_version, *kind;
    bool namespaced;
    const struct ek_object_list *objects; /* NULL while not synced */
};

bool ek_webhook_snapshot_is_loading(const struct ek_webhook_snapshot *snapshot);

/* All of these return borrowed values, NULL where there is none. */
const struct ek_policy_set *ek_webhook_snapshot_policies(const struct ek_webhook_snapshot *snapshot,
                                                         const char *name);
/* The i-th set, with its name; the i-th kind of params; NULL beyond the last. For debugging. */
const struct ek_policy_set *
ek_webhook_snapshot_policies_at(const struct ek_webhook_snapshot *snapshot, size_t i,
                                const char **ret_name);
const struct ek_webhook_params *
ek_webhook_snapshot_params_at(const struct ek_webhook_snapshot *snapshot, size_t i);
size_t ek_webhook_snapshot_n_schemas(const struct ek_webhook_snapshot *snapshot);
const struct ek_object_list *
ek_webhook_snapshot_namespaces(const struct ek_webhook_snapshot *snapshot);
const struct ek_webhook_params *
ek_webhook_snapshot_params(const struct ek_webhook_snapshot *snapshot, const char *api_version,
                           const char *kind);
const struct ek_schema *ek_webhook_snapshot_schema(const struct ek_webhook_snapshot *snapshot,
                                                   const struct ek_gvk *kind);

#endif
