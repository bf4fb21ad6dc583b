/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store: the last known state of one resource, key -> object.
 *
 * Keys are those of ek_obj_key. A replace is atomic: first the whole content is swapped, then
 * handlers are called for deletions, then for adds and updates (as in client-go since 1.36,
 * tools/cache/the_real_fifo.go). An object that comes back under its key with another UID is
 * reported as a deletion and an addition, never as an update.
 *
 * Ownership: the store holds one reference per object; ek_store_get and iteration lend it until
 * the next change, ek_store_snapshot gives references. Threading: the loop thread only. Handlers
 * may read the store but not change it.
 */
#ifndef INFORMERS_CACHE_STORE_H
#define INFORMERS_CACHE_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/obj.h"

struct ek_store;

enum ek_store_change {
    EK_STORE_ADDED,
    EK_STORE_UPDATED,
    EK_STORE_DELETED,
    EK_STORE_CHANGE_MAX,
};

/* Called after the store holds the new state. old is NULL for an addition, obj is
 * NULL for a deletion. initial is true while a replace, or a new handler's first view, is being
 * reported, in key order. */
typedef void (*ek_store_handler_fn)(void *ctx, enum ek_store_change change,
                                    const struct ek_obj *old, const struct ek_obj *obj,
                                    bool initial);

struct ek_store *ek_store_new(void);
void ek_store_free(struct ek_store *store);

/* Replaces the content by n objects (each reference is shared, the caller keeps its own) as of
 * resource_version. Of several objects with one key the last counts. */
void ek_store_replace(struct ek_store *store, struct ek_obj *const *items, size_t n,
                      const char *resource_version);

/* Applies one watch event. Removing an absent object does nothing. */
void ek_store_put(struct ek_store *store, struct ek_obj *obj);
void ek_store_remove(struct ek_store *store, const struct ek_obj *obj);

/* Sets the resourceVersion that the store has reached (bookmarks advance it without an object). */
void ek_store_set_resource_version(struct ek_store *store, const char *resource_version);
const char *ek_store_resource_version(const struct ek_store *store);

/* The object under key, lent; NULL when there is none. */
const struct ek_obj *ek_store_get(const struct ek_store *store, const char *key);

size_t ek_store_size(const struct ek_store *store);

/*
 * Orders two resourceVersions as the integers they are, of any length (KEP-5504;
 * apimachinery/pkg/util/resourceversion: CompareResourceVersion): *ret_order becomes <0, 0 or >0.
 * EK_E_PARSE when either is not a decimal number without leading zeros.
 */
int ek_resource_version_compare(const char *a, const char *b, int *ret_order);

/* True when the store is known to hold everything up to resource_version: the guard with which a
 * writer waits to read its own writes. False when the two cannot be compared. */
bool ek_store_has_reached(const struct ek_store *store, const char *resource_version);

/* Returns an owned array of *ret_n references in key order; release each, then ek_free the
 * array. Two snapshots of one state are in the same order, whatever order events came in. */
struct ek_obj **ek_store_snapshot(const struct ek_store *store, size_t *ret_n);

/* Adds a handler for the life of the store; it is first called for each object in the store. */
void ek_store_add_handler(struct ek_store *store, ek_store_handler_fn fn, void *ctx);

/* Releases what ek_store_snapshot returned. */
void ek_snapshot_free(struct ek_obj **items, size_t n);

#endif
