/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/cache/store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/map.h"

struct handler {
    ek_store_handler_fn fn;
    void *ctx;
};

struct ek_store {
    struct ek_map objects;  /* key -> object, one reference each */
    char *resource_version; /* owned, never NULL */
    struct handler *handlers;
    size_t n_handlers;
    bool notifying; /* handlers are being called */
};

struct ek_store *ek_store_new(void)
{
    struct ek_store *store = ek_xalloc(sizeof *store);

    store->resource_version = ek_xstrdup("");
    return store;
}

static void objects_clear(struct ek_map *objects)
{
    size_t cursor = 0;
    void *obj;

    while (ek_map_next(objects, &cursor, NULL, &obj))
        ek_obj_unref(obj);
    ek_map_done(objects);
}

void ek_store_free(struct ek_store *store)
{
    if (!store)
        return;
    objects_clear(&store->objects);
    ek_free(store->handlers);
    ek_free(store->resource_version);
    ek_free(store);
}

static void notify(struct ek_store *store, enum ek_store_change change, const struct ek_obj *old,
                   const struct ek_obj *obj, bool initial)
{
    store->notifying = true;
    for (size_t i = 0; i < store->n_handlers; i++)
        store->handlers[i].fn(store->handlers[i].ctx, change, old, obj, initial);
    store->notifying = false;
}

static bool same_uid(const struct ek_obj *a, const struct ek_obj *b)
{
    return !strcmp(ek_obj_uid(a), ek_obj_uid(b));
}

/* An owned array of a map's objects in key order, without references of its own. */
static struct ek_obj **sorted(const struct ek_map *objects)
{
    struct ek_obj **items = ek_xrealloc(NULL, objects->n, sizeof(struct ek_obj *));
    size_t cursor = 0, n = 0;
    void *obj;

    while (ek_map_next(objects, &cursor, NULL, &obj))
        items[n++] = obj;
    qsort(items, n, sizeof(struct ek_obj *), ek_obj_by_key);
    return items;
}

/* What before holds and the store does not, or not with the same uid, in key order. */
static struct ek_obj **gone(const struct ek_store *store, const struct ek_map *before,
                            size_t *ret_n)
{
    struct ek_map lost;
    size_t cursor = 0;
    void *obj;

    ek_map_init(&lost);
    while (ek_map_next(before, &cursor, NULL, &obj)) {
        const struct ek_obj *now = ek_map_get(&store->objects, ek_obj_key(obj));
        if (!now || !same_uid(obj, now))
            ek_map_put(&lost, ek_obj_key(obj), obj);
    }
    struct ek_obj **items = sorted(&lost);
    *ret_n = lost.n;
    ek_map_done(&lost);
    return items;
}

/* Reports a replace: deletions in before's order, then the objects in here, in key order. */
static void report_replaced(struct ek_store *store, const struct ek_map *before,
                            struct ek_obj *const *here)
{
    size_t n_lost;
    struct ek_obj **lost = gone(store, before, &n_lost);

    for (size_t i = 0; i < n_lost; i++)
        notify(store, EK_STORE_DELETED, lost[i], NULL, true);
    for (size_t i = 0; i < store->objects.n; i++) {
        const struct ek_obj *old = ek_map_get(before, ek_obj_key(here[i]));
        if (old && same_uid(old, here[i]))
            notify(store, EK_STORE_UPDATED, old, here[i], true);
        else
            notify(store, EK_STORE_ADDED, NULL, here[i], true);
    }
    ek_free(lost);
}

/* True for strictly ascending keys. */
static bool in_order(struct ek_obj *const *items, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (strcmp(ek_obj_key(items[i - 1]), ek_obj_key(items[i])) >= 0)
            return false;
    return true;
}

void ek_store_replace(struct ek_store *store, struct ek_obj *const *items, size_t n,
                      const char *resource_version)
{
    struct ek_map before = store->objects;

    assert(!store->notifying);
    ek_map_init(&store->objects);
    ek_map_reserve(&store->objects, n);
    for (size_t i = 0; i < n; i++)
        ek_obj_unref(ek_map_put(&store->objects, ek_obj_key(items[i]), ek_obj_ref(items[i])));
    ek_store_set_resource_version(store, resource_version);
    if (store->n_handlers) {
        struct ek_obj **here = in_order(items, n) ? NULL : sorted(&store->objects);
        report_replaced(store, &before, here ? here : items);
        ek_free(here);
    }
    objects_clear(&before);
}

void ek_store_put(struct ek_store *store, struct ek_obj *obj)
{
    assert(!store->notifying);
    struct ek_obj *old = ek_map_put(&store->objects, ek_obj_key(obj), ek_obj_ref(obj));
    if (old && same_uid(old, obj)) {
        notify(store, EK_STORE_UPDATED, old, obj, false);
    } else {
        if (old)
            notify(store, EK_STORE_DELETED, old, NULL, false);
        notify(store, EK_STORE_ADDED, NULL, obj, false);
    }
    ek_obj_unref(old);
}

void ek_store_remove(struct ek_store *store, const struct ek_obj *obj)
{
    assert(!store->notifying);
    struct ek_obj *old = ek_map_take(&store->objects, ek_obj_key(obj));
    if (!old)
        return;
    notify(store, EK_STORE_DELETED, old, NULL, false);
    ek_obj_unref(old);
}

void ek_store_set_resource_version(struct ek_store *store, const char *resource_version)
{
    char *copy = ek_xstrdup(resource_version ? resource_version : "");

    ek_free(store->resource_version);
    store->resource_version = copy;
}

const char *ek_store_resource_version(const struct ek_store *store)
{
    return store->resource_version;
}

const struct ek_obj *ek_store_get(const struct ek_store *store, const char *key)
{
    return ek_map_get(&store->objects, key);
}

size_t ek_store_size(const struct ek_store *store)
{
    return store->objects.n;
}

static bool is_number(const char *s)
{
    size_t digits = strspn(s, "0123456789");
    return digits > 0 && s[digits] == '\0' && (s[0] != '0' || digits == 1);
}

int ek_resource_version_compare(const char *a, const char *b, int *ret_order)
{
    if (!is_number(a) || !is_number(b))
        return EK_E_PARSE;
    size_t a_len = strlen(a), b_len = strlen(b);
    *ret_order = a_len == b_len ? strcmp(a, b) : a_len < b_len ? -1 : 1;
    return 0;
}

bool ek_store_has_reached(const struct ek_store *store, const char *resource_version)
{
    int order;
    return ek_resource_version_compare(store->resource_version, resource_version, &order) == 0 &&
           order >= 0;
}

static struct ek_obj **snapshot(const struct ek_map *objects, size_t *ret_n)
{
    struct ek_obj **items = sorted(objects);

    for (size_t i = 0; i < objects->n; i++)
        ek_obj_ref(items[i]);
    *ret_n = objects->n;
    return items;
}

struct ek_obj **ek_store_snapshot(const struct ek_store *store, size_t *ret_n)
{
    return snapshot(&store->objects, ret_n);
}

void ek_snapshot_free(struct ek_obj **items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ek_obj_unref(items[i]);
    ek_free(items);
}

void ek_store_add_handler(struct ek_store *store, ek_store_handler_fn fn, void *ctx)
{
    assert(!store->notifying);
    store->handlers = ek_xrealloc(store->handlers, store->n_handlers + 1, sizeof *store->handlers);
    store->handlers[store->n_handlers++] = (struct handler){fn, ctx};
    struct ek_obj **items = sorted(&store->objects);
    store->notifying = true;
    for (size_t i = 0; i < store->objects.n; i++)
        fn(ctx, EK_STORE_ADDED, NULL, items[i], true);
    store->notifying = false;
    ek_free(items);
}
