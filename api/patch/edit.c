/* SPDX-License-Identifier: Apache-2.0 */
#include "api/base/hash.h"
#include "api/base/mem.h"
#include "api/patch/jsonpatch-internal.h"

int ek_edits_init(struct ek_edits *edits, struct ek_work *work)
{
    *edits = (struct ek_edits){.work = work};
    int rc = ek_table_init(&edits->null_table, 0);
    return rc ? rc : ek_table_init(&edits->opened_table, 0);
}

void ek_edits_done(struct ek_edits *edits)
{
    for (size_t i = 0; i < edits->n_opened; i++)
        ek_opened_free(edits->opened[i]);
    ek_free(edits->opened);
    ek_free(edits->nulls);
    ek_free(edits->log);
    ek_table_done(&edits->null_table);
    ek_table_done(&edits->opened_table);
}

/* Makes room in one of the arrays for n more; false without memory. */
static bool grow(void **array, size_t used, size_t *cap, size_t n, size_t size)
{
    if (*cap - used >= n)
        return true;
    size_t more = *cap ? *cap * 2 : 16;
    void *grown = ek_realloc(*array, more * size);
    if (!grown)
        return false;
    *array = grown;
    *cap = more;
    return true;
}

#define GROW(edits, array, n, cap, more)                                                           \
    grow((void **)&(edits)->array, (edits)->n, &(edits)->cap, more, sizeof *(edits)->array)

int ek_edits_reserve(struct ek_edits *edits)
{
    return GROW(edits, log, n, cap, 2) && GROW(edits, nulls, n_nulls, cap_nulls, 2) ? 0
                                                                                    : EK_E_NOMEM;
}

/* ---- Rings of nodes ---- */

/* Containers are rings that know their last node; in objects a value stands behind each key. */
static yyjson_mut_val *end_of(const yyjson_mut_val *container, yyjson_mut_val *node)
{
    return unsafe_yyjson_is_obj((void *)(uintptr_t)container) ? node->next : node;
}

static yyjson_mut_val *last_of(const yyjson_mut_val *container)
{
    return unsafe_yyjson_get_len((void *)(uintptr_t)container) ? container->uni.ptr : NULL;
}

static yyjson_mut_val *after(const yyjson_mut_val *container, yyjson_mut_val *prev)
{
    yyjson_mut_val *last = last_of(container);

    if (!last || prev == last)
        return NULL;
    return end_of(container, prev ? prev : last)->next;
}

static void link_node(yyjson_mut_val *container, yyjson_mut_val *prev, yyjson_mut_val *node)
{
    size_t n = unsafe_yyjson_get_len(container);
    yyjson_mut_val *last = last_of(container), *end = end_of(container, node);

    if (!last) {
        end->next = node;
    } else {
        yyjson_mut_val *before = end_of(container, prev ? prev : last);
        end->next = before->next;
        before->next = node;
    }
    if (!last || prev == last)
        container->uni.ptr = node;
    unsafe_yyjson_set_len(container, n + 1);
}

static void unlink_node(yyjson_mut_val *container, yyjson_mut_val *prev, yyjson_mut_val *node)
{
    size_t n = unsafe_yyjson_get_len(container);
    yyjson_mut_val *last = last_of(container);

    end_of(container, prev ? prev : last)->next = end_of(container, node)->next;
    if (node == last)
        container->uni.ptr = prev;
    unsafe_yyjson_set_len(container, n - 1);
}

/* ---- Finding ---- */

static uint64_t hash_of(const void *p)
{
    return ek_hash(&p, sizeof p);
}

static struct ek_opened *find_opened(const struct ek_edits *edits, const yyjson_mut_val *container,
                                     size_t *ret_number)
{
    struct ek_table_cursor at = ek_table_at(hash_of(container));
    size_t i;

    while (ek_table_next(&edits->opened_table, &at, &i))
        if (edits->opened[i] && ek_opened_container(edits->opened[i]) == container) {
            *ret_number = i;
            return edits->opened[i];
        }
    return NULL;
}

/* NULL for small containers, and without memory: then they are searched. */
static struct ek_opened *open_container(struct ek_edits *edits, yyjson_mut_val *container)
{
    size_t number, n = unsafe_yyjson_get_len(container);
    struct ek_opened *opened = find_opened(edits, container, &number);

    if (opened || n <= EK_OPENED_SMALL)
        return opened;
    if (!GROW(edits, opened, n_opened, cap_opened, 1)) // NOLINT(*-sizeof-expression)
        return NULL;
    ek_work_do(edits->work, n);
    opened = ek_opened_new(container);
    if (opened && ek_table_add(&edits->opened_table, hash_of(container), edits->n_opened)) {
        ek_opened_free(opened);
        opened = NULL;
    }
    if (opened)
        edits->opened[edits->n_opened++] = opened;
    return opened;
}

struct ek_patch_place ek_edit_find(struct ek_edits *edits, yyjson_mut_val *object,
                                   struct ek_str name)
{
    struct ek_opened *opened = open_container(edits, object);
    struct ek_patch_place place = {0};

    if (opened)
        return ek_opened_find(opened, name, edits->work);
    while ((place.node = after(object, place.prev)) != NULL) {
        ek_work_do(edits->work, 1);
        if (yyjson_mut_equals_strn(place.node, name.p ? name.p : "", name.len))
            break;
        place.prev = place.node;
    }
    return place;
}

struct ek_patch_place ek_edit_item(struct ek_edits *edits, yyjson_mut_val *array, size_t at)
{
    struct ek_opened *opened = open_container(edits, array);
    struct ek_patch_place place = {0};

    if (opened)
        return ek_opened_item(opened, at, edits->work);
    ek_work_do(edits->work, at + 1);
    place.node = after(array, NULL);
    for (size_t i = 0; i < at && place.node; i++) {
        place.prev = place.node;
        place.node = after(array, place.prev);
    }
    return place;
}

yyjson_mut_val *ek_edit_value(const yyjson_mut_val *container, const struct ek_patch_place *place)
{
    return place->node ? end_of(container, place->node) : NULL;
}

/* ---- Changing ---- */

static void note(struct ek_edits *edits, yyjson_mut_val *container,
                 const struct ek_patch_place *place, bool put)
{
    edits->log[edits->n++] = (struct ek_edit){container, place->prev, place->node, put};
}

/* What an opened container cannot follow without memory is searched from then on. */
static void close_container(struct ek_edits *edits, size_t number)
{
    ek_opened_free(edits->opened[number]);
    edits->opened[number] = NULL;
}

void ek_edit_take(struct ek_edits *edits, yyjson_mut_val *container, struct ek_patch_place *place)
{
    size_t number;
    struct ek_opened *opened = find_opened(edits, container, &number);

    unlink_node(container, place->prev, place->node);
    if (opened)
        ek_opened_take(opened, place);
    note(edits, container, place, false);
    place->node = NULL;
}

static struct ek_marked *find_null(const struct ek_edits *edits, const yyjson_mut_val *value)
{
    struct ek_table_cursor at = ek_table_at(hash_of(value));
    size_t i;

    while (ek_table_next(&edits->null_table, &at, &i))
        if (edits->nulls[i].value == value)
            return &edits->nulls[i];
    return NULL;
}

/* Only of nulls anybody wants to know whether they are marked. */
static void mark_null(struct ek_edits *edits, const yyjson_mut_val *value)
{
    struct ek_marked *known = find_null(edits, value);

    if (known) {
        known->marked = edits->mark;
        return;
    }
    edits->nulls[edits->n_nulls] = (struct ek_marked){value, edits->mark};
    if (ek_table_add(&edits->null_table, hash_of(value), edits->n_nulls))
        edits->failed = true;
    else
        edits->n_nulls++;
}

void ek_edit_put(struct ek_edits *edits, yyjson_mut_val *container,
                 const struct ek_patch_place *place, yyjson_mut_val *node)
{
    struct ek_patch_place made = *place;
    size_t number;
    struct ek_opened *opened = find_opened(edits, container, &number);

    made.node = node;
    link_node(container, place->prev, node);
    if (opened && ek_opened_put(opened, place, node))
        close_container(edits, number);
    note(edits, container, &made, true);
    yyjson_mut_val *value = end_of(container, node);
    if (yyjson_mut_is_null(value))
        mark_null(edits, value);
}

bool ek_edits_marked(const struct ek_edits *edits, const yyjson_mut_val *value)
{
    const struct ek_marked *known = find_null(edits, value);

    return known && known->marked;
}

void ek_edits_undo(struct ek_edits *edits)
{
    while (edits->n > 0) {
        struct ek_edit *e = &edits->log[--edits->n];
        if (e->put)
            unlink_node(e->container, e->prev, e->node);
        else
            link_node(e->container, e->prev, e->node);
    }
}
