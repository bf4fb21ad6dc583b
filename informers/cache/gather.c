/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/cache/gather.h"

#include <string.h>

#include "informers/cache/store.h"

#define CAP_MIN 16

void ek_gather_init(struct ek_gather *gather)
{
    *gather = (struct ek_gather){0};
}

void ek_gather_clear(struct ek_gather *gather)
{
    ek_snapshot_free(gather->row, gather->n);
    ek_store_free(gather->store);
    ek_gather_init(gather);
}

static void use_store(struct ek_gather *gather)
{
    struct ek_store *store = gather->store;

    if (store)
        return;
    store = ek_store_new();
    ek_store_replace(store, gather->row, gather->n, "");
    ek_gather_clear(gather);
    gather->store = store;
}

/* True when obj belongs behind the row's end. */
static bool is_next(const struct ek_gather *gather, const struct ek_obj *obj)
{
    return !gather->n || strcmp(ek_obj_key(gather->row[gather->n - 1]), ek_obj_key(obj)) < 0;
}

void ek_gather_put(struct ek_gather *gather, struct ek_obj *obj)
{
    if (gather->store || !is_next(gather, obj)) {
        use_store(gather);
        ek_store_put(gather->store, obj);
        return;
    }
    if (gather->n == gather->cap) {
        gather->cap = gather->cap ? gather->cap * 2 : CAP_MIN;
        gather->row = ek_xrealloc(gather->row, gather->cap, sizeof(struct ek_obj *));
    }
    gather->row[gather->n++] = ek_obj_ref(obj);
}

void ek_gather_remove(struct ek_gather *gather, const struct ek_obj *obj)
{
    if (!gather->store && is_next(gather, obj))
        return; /* nothing there */
    use_store(gather);
    ek_store_remove(gather->store, obj);
}

size_t ek_gather_size(const struct ek_gather *gather)
{
    return gather->store ? ek_store_size(gather->store) : gather->n;
}

struct ek_obj **ek_gather_take(struct ek_gather *gather, size_t *ret_n)
{
    struct ek_obj **row = gather->row;

    *ret_n = gather->n;
    if (gather->store) {
        row = ek_store_snapshot(gather->store, ret_n);
        ek_gather_clear(gather);
    }
    ek_gather_init(gather);
    return row;
}
