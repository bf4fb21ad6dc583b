/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/base/mem.h"
#include "api/members.h"
#include "api/obj.h"
#include "api/schema/merge-internal.h"

struct merger {
    const struct ek_schema *schema;
    yyjson_mut_doc *doc;
    struct ek_work *work;
    struct ek_buf *why; /* what is wrong with live, when it is not what the caller promised */
};

/* One item of a merged list: a live item, an item of the patch, or both. UINT32_MAX is none. */
struct slot {
    uint32_t live, patch;
};

/* Two lists being brought into one order. */
struct weave {
    struct ek_list_index live, patch;
    uint32_t *in_patch; /* for each live item, the patch's item with its key */
    uint32_t *in_live;  /* for each item of the patch, the first live one with its key */
    bool *twice;        /* for each item of the patch: several live ones have its key */
    bool *placed;       /* for each item of the patch */
    struct slot *slots;
    uint32_t n_slots;
    void *block; /* owned: all but the two indexes */
};

static int merge(const struct merger *m, uint32_t type, yyjson_mut_val *live,
                 yyjson_mut_val *patch);

/* Makes live, where it stands, a copy of patch. */
static int overwrite(const struct merger *m, yyjson_mut_val *live, yyjson_mut_val *patch)
{
    yyjson_mut_val *copy;

    if (!unsafe_yyjson_is_ctn(patch) && live->tag == patch->tag && !unsafe_yyjson_is_str(patch) &&
        live->uni.u64 == patch->uni.u64)
        return 0;
    if (unsafe_yyjson_is_str(patch) && yyjson_mut_equals(live, patch))
        return 0;
    copy = yyjson_mut_val_mut_copy(m->doc, patch);
    if (!copy)
        return EK_E_NOMEM;
    live->tag = copy->tag;
    live->uni = copy->uni;
    return 0;
}

/* Adds a member that live lacks. */
static int add_member(const struct merger *m, yyjson_mut_val *live, struct ek_str name,
                      yyjson_mut_val *value)
{
    yyjson_mut_val *key = yyjson_mut_strncpy(m->doc, name.p, name.len);
    bool added = yyjson_mut_obj_add(live, key, yyjson_mut_val_mut_copy(m->doc, value));

    return added ? 0 : EK_E_NOMEM;
}

static int merge_map(const struct merger *m, const struct ek_schema_type *type,
                     yyjson_mut_val *live, yyjson_mut_val *patch)
{
    struct ek_members in_live;
    yyjson_mut_val *key, *val;
    size_t i, max;
    int rc = 0;

    ek_members_init_mut(&in_live, live, m->work);
    in_live.strict = true;
    yyjson_mut_obj_foreach(patch, i, max, key, val)
    {
        struct ek_str name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
        yyjson_mut_val *old = ek_members_find_mut(&in_live, name);
        rc = old ? merge(m, ek_schema_member(m->schema, type, name), old, val)
                 : add_member(m, live, name, val);
        if (rc)
            break;
    }
    ek_members_done(&in_live);
    return rc;
}

static int weave_init(struct weave *w, const struct merger *m, const struct ek_schema_type *type,
                      yyjson_mut_val *live, yyjson_mut_val *patch)
{
    *w = (struct weave){0};
    int rc = ek_list_index(m->schema, type, live, &w->live, m->why);
    rc = rc ? rc : ek_list_index(m->schema, type, patch, &w->patch, m->why);
    if (rc)
        return rc;
    size_t n = w->live.n, k = w->patch.n;
    ek_work_do(m->work, 4 * (n + k));
    size_t size = (n + k) * (sizeof(struct slot) + sizeof(uint32_t)) + 2 * k * sizeof(bool);
    w->block = ek_alloc(size);
    if (!w->block)
        return EK_E_NOMEM;
    w->slots = w->block;
    w->in_patch = (void *)(w->slots + n + k);
    w->in_live = w->in_patch + n;
    w->twice = (void *)(w->in_live + k);
    w->placed = w->twice + k;
    for (uint32_t i = 0; i < n; i++)
        w->in_patch[i] = ek_list_find(&w->patch, &w->live.parts[(size_t)i * w->live.n_parts], NULL);
    for (uint32_t i = 0; i < k; i++)
        w->in_live[i] =
            ek_list_find(&w->live, &w->patch.parts[(size_t)i * w->patch.n_parts], &w->twice[i]);
    return 0;
}

static void weave_done(struct weave *w)
{
    ek_list_index_done(&w->live);
    ek_list_index_done(&w->patch);
    ek_free(w->block);
}

static void place(struct weave *w, uint32_t live, uint32_t patch)
{
    w->slots[w->n_slots++] = (struct slot){live, patch};
    if (patch != UINT32_MAX)
        w->placed[patch] = true;
}

/* The first item of the patch, from the one at i on, that live has too; the number of items when
 * there is none. */
static uint32_t next_shared(const struct weave *w, uint32_t i)
{
    while (i < w->patch.n && w->in_live[i] == UINT32_MAX)
        i++;
    return i;
}

/*
 * Brings the items of both lists into one order, as the reference does: both are read in step. The
 * shared items, those in both lists, come in the patch's order; a live-only item is placed when its
 * turn comes in the live list, a patch-only one when its turn comes in the patch. A shared item met
 * in the live list before its turn in the patch is left for then, and one met afterwards is passed
 * over: it, and any other with its key, has its place.
 */
static void order(struct weave *w)
{
    uint32_t l = 0, p = 0, shared = next_shared(w, 0);

    while (l < w->live.n || p < w->patch.n) {
        bool both = l < w->live.n && p < w->patch.n;
        uint32_t peer = l < w->live.n ? w->in_patch[l] : UINT32_MAX;
        if (both && peer == p) {
            place(w, w->in_live[p], p);
            l++;
            p++;
            shared = next_shared(w, shared + 1);
            continue;
        }
        if (both && peer != UINT32_MAX && shared < w->patch.n && shared != peer) {
            l++;
            continue;
        }
        if (l < w->live.n && peer == UINT32_MAX) {
            place(w, l++, UINT32_MAX);
            continue;
        }
        if (l < w->live.n && w->placed[peer])
            l++;
        if (p < w->patch.n) {
            bool was_next = shared == p;
            place(w, w->in_live[p], p);
            p++;
            if (was_next)
                shared = next_shared(w, shared + 1);
        }
    }
}

/* The item for a slot: a live one, changed by the patch's if there is one, or a copy of that. Where
 * several live items have the key, none is continued. */
static int slot_item(const struct merger *m, const struct ek_schema_type *type,
                     const struct weave *w, struct slot slot, yyjson_mut_val **ret_item)
{
    bool fresh = slot.live == UINT32_MAX || (slot.patch != UINT32_MAX && w->twice[slot.patch]);

    *ret_item = fresh ? yyjson_mut_val_mut_copy(m->doc, w->patch.items[slot.patch])
                      : w->live.items[slot.live];
    if (!*ret_item)
        return EK_E_NOMEM;
    if (fresh || slot.patch == UINT32_MAX)
        return 0;
    return merge(m, type->item, *ret_item, w->patch.items[slot.patch]);
}

/* True when the slots are the live items as they stand. */
static bool same_order(const struct weave *w)
{
    bool same = w->n_slots == w->live.n;

    for (uint32_t i = 0; same && i < w->n_slots; i++)
        same = w->slots[i].live == i &&
               (w->slots[i].patch == UINT32_MAX || !w->twice[w->slots[i].patch]);
    return same;
}

static int merge_list(const struct merger *m, const struct ek_schema_type *type,
                      yyjson_mut_val *live, yyjson_mut_val *patch)
{
    struct weave w;
    int rc = weave_init(&w, m, type, live, patch);

    if (!rc)
        order(&w);
    bool rebuild = !rc && !same_order(&w);
    if (rebuild)
        yyjson_mut_arr_clear(live);
    for (uint32_t i = 0; !rc && i < w.n_slots; i++) {
        yyjson_mut_val *item = NULL;
        rc = slot_item(m, type, &w, w.slots[i], &item);
        if (!rc && rebuild && !yyjson_mut_arr_append(live, item))
            rc = EK_E_NOMEM;
    }
    weave_done(&w);
    return rc;
}

static bool has_parts(yyjson_mut_val *value, enum ek_value_form form)
{
    return ek_form_of(value) == form && unsafe_yyjson_get_len(value) > 0;
}

/*
 * Merges patch into live; both are valid for the type. Containers without members or items do not
 * differ from null here: among themselves the patch's wins, against others they change nothing.
 */
static int merge(const struct merger *m, uint32_t type, yyjson_mut_val *live, yyjson_mut_val *patch)
{
    const struct ek_schema_type *t = ek_schema_type(m->schema, type);

    if (!ek_work_octets(m->work, yyjson_mut_get_len(patch)))
        return EK_E_CANCELED;
    switch (ek_type_form(t, ek_form_of(patch))) {
    case EK_AS_MAP:
        if (t->map == EK_MAP_ATOMIC || !has_parts(live, EK_FORM_MAP))
            return overwrite(m, live, patch);
        return has_parts(patch, EK_FORM_MAP) ? merge_map(m, t, live, patch) : 0;
    case EK_AS_LIST:
        if (t->list == EK_LIST_ATOMIC || !has_parts(live, EK_FORM_LIST))
            return overwrite(m, live, patch);
        return has_parts(patch, EK_FORM_LIST) ? merge_list(m, t, live, patch) : 0;
    default:
        return overwrite(m, live, patch);
    }
}

/* All checks of a patch; live is not touched. */
static int check_patch(const struct ek_schema *schema, uint32_t type,
                       const struct ek_merge_patch *patch, unsigned flags, struct ek_buf *text,
                       struct ek_err *err)
{
    const char *prefix = "failed to convert patch object to typed object: ";
    EK_AUTO(ek_buf) out;
    int rc = 0;

    ek_buf_init(&out, EK_MERGE_TEXT_MAX);
    if (patch->value)
        rc = ek_check_value(schema, type, patch->value, 0, patch->work, &out);
    if (!rc) {
        prefix = "invalid ApplyConfiguration: ";
        if (patch->value && !(flags & EK_MERGE_ATOMIC))
            rc = ek_check_atomics(schema, type, patch->value, &out);
        rc = rc ? rc : ek_check_removals(schema, type, patch, flags, &out);
    }
    return ek_merge_say(rc, prefix, &out, text, err);
}

int ek_merge_apply(const struct ek_schema *schema, uint32_t type, yyjson_mut_doc *doc,
                   yyjson_mut_val *live, const struct ek_merge_patch *patch, unsigned flags,
                   struct ek_buf *text, struct ek_err *err)
{
    EK_AUTO(ek_buf) why;
    struct merger m = {schema, doc, patch->work, &why};
    int rc = check_patch(schema, type, patch, flags, text, err);

    ek_buf_init(&why, EK_MERGE_TEXT_MAX);
    if (rc)
        return rc;
    if (patch->value)
        rc = merge(&m, type, live, patch->value);
    if (!rc)
        rc = ek_merge_remove(schema, type, live, patch);
    return ek_merge_say(rc, "failed to merge patch: ", &why, text, err);
}
