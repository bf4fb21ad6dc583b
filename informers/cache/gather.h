/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a list under way has brought so far: objects by key, no handlers, no indexes, no order of
 * time. Where the content of a store comes together before it replaces the old.
 *
 * API servers list in key order, with few exceptions. As long as objects come so, they are only
 * put in a row; the first one out of order, or a removal, moves them into a store (informers/
 * store.h), which takes any order and costs more.
 *
 * Ownership: holds one reference per object. Threading: none.
 */
#ifndef INFORMERS_CACHE_GATHER_H
#define INFORMERS_CACHE_GATHER_H

#include <stddef.h>

#include "api/obj.h"

struct ek_store;

struct ek_gather {
    struct ek_obj **row; /* in strictly ascending order of keys */
    size_t n, cap;
    struct ek_store *store; /* holds them instead of row; NULL while row will do */
};

/* An empty one; the same as all zeros. Allocates nothing. */
void ek_gather_init(struct ek_gather *gather);

/* Drops what was gathered. It may be used again. */
void ek_gather_clear(struct ek_gather *gather);

/* Adds obj (sharing the reference) in place of another under its key, or removes its key. */
void ek_gather_put(struct ek_gather *gather, struct ek_obj *obj);
void ek_gather_remove(struct ek_gather *gather, const struct ek_obj *obj);

size_t ek_gather_size(const struct ek_gather *gather);

/* Returns all objects in key order and forgets them: an owned array of *ret_n references, for
 * ek_snapshot_free. */
struct ek_obj **ek_gather_take(struct ek_gather *gather, size_t *ret_n);

#endif
