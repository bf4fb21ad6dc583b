/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/base/quote.h"
#include "api/obj.h"
#include "api/schema/merge-internal.h"

/* A removal being checked: where its steps have come to. */
struct check {
    const struct ek_schema *schema;
    unsigned flags;
    struct ek_buf *out;
    uint32_t type;
    const struct ek_schema_type *list; /* of which the last step chose items, else NULL */
    struct ek_buf path;                /* the steps so far, as in other messages */
};

struct removal {
    const struct ek_schema *schema;
    struct ek_work *work;
    const struct ek_merge_step *steps;
    size_t n;
};

static int refuse(struct check *c, const char *what)
{
    ek_buf_printf(c->out, "may not remove %s: %s", ek_buf_str(&c->path), what);
    return EK_E_INVAL;
}

static bool is_key(const struct ek_schema *schema, const struct ek_schema_type *list,
                   struct ek_str name)
{
    for (uint32_t i = 0; list && list->list == EK_LIST_MAP && i < list->n_keys; i++)
        if (ek_str_eq(ek_schema_key(schema, list, i), name))
            return true;
    return false;
}

static int check_member(struct check *c, struct ek_str name, bool last)
{
    const struct ek_schema_type *t = ek_schema_type(c->schema, c->type);
    struct ek_trail here = EK_TRAIL_FIELD(NULL, name);
    bool atomic = t->map == EK_MAP_ATOMIC && !(c->flags & EK_MERGE_ATOMIC);

    if (atomic) {
        ek_buf_printf(c->out, "may not mutate atomic arrays, maps or structs: %s",
                      ek_buf_str(&c->path));
        return EK_E_INVAL;
    }
    ek_trail_print_step(&c->path, c->schema, &here);
    c->type = t->map == EK_MAP_NONE ? EK_SCHEMA_NONE : ek_schema_member(c->schema, t, name);
    if (c->type == EK_SCHEMA_NONE)
        return refuse(c, "field not declared in schema");
    if (last && is_key(c->schema, c->list, name))
        return refuse(c, "the field is a key of the items of its list");
    c->list = NULL;
    return 0;
}

static int check_items(struct check *c, yyjson_mut_val *item)
{
    const struct ek_schema_type *t = ek_schema_type(c->schema, c->type);
    struct ek_item_key key;

    if (t->list != EK_LIST_SET && t->list != EK_LIST_MAP)
        return refuse(c, "its items have no keys");
    struct ek_trail here = EK_TRAIL_ITEM(NULL, t, key.parts);
    ek_buf_printf(c->out, "may not remove from %s: ", ek_buf_str(&c->path));
    if (ek_item_key(c->schema, t, item, &key, c->out))
        return EK_E_INVAL;
    ek_buf_reset(c->out);
    ek_trail_print_step(&c->path, c->schema, &here);
    c->type = t->item;
    c->list = t;
    return 0;
}

static int check_removal(struct check *c, const struct ek_merge_removal *removal)
{
    int rc = 0;

    if (removal->n_steps == 0)
        return refuse(c, "the object as a whole");
    if (removal->n_steps > EK_JSON_DEPTH_MAX)
        return EK_E_LIMIT;
    for (size_t i = 0; rc == 0 && i < removal->n_steps; i++) {
        const struct ek_merge_step *step = &removal->steps[i];
        rc = step->item ? check_items(c, step->item)
                        : check_member(c, step->field, i + 1 == removal->n_steps);
    }
    return rc;
}

int ek_check_removals(const struct ek_schema *schema, uint32_t type,
                      const struct ek_merge_patch *patch, unsigned flags, struct ek_buf *out)
{
    int rc = patch->n_removals > EK_MERGE_REMOVALS_MAX ? EK_E_LIMIT : 0;

    for (size_t i = 0; rc == 0 && i < patch->n_removals; i++) {
        struct check c = {.schema = schema, .flags = flags, .out = out, .type = type};
        ek_buf_init(&c.path, EK_MERGE_TEXT_MAX);
        rc = check_removal(&c, &patch->removals[i]);
        ek_buf_done(&c.path);
    }
    return rc;
}

static void remove_from(const struct removal *r, uint32_t type, yyjson_mut_val *node, size_t at);

static void remove_member(const struct removal *r, uint32_t type, yyjson_mut_val *map, size_t at)
{
    struct ek_str name = r->steps[at].field;
    const struct ek_schema_type *t = ek_schema_type(r->schema, type);
    uint32_t member = ek_schema_member(r->schema, t, name);
    yyjson_mut_val *value = yyjson_mut_obj_getn(map, name.p, name.len);

    ek_work_do(r->work, yyjson_mut_obj_size(map));
    if (!value || member == EK_SCHEMA_NONE)
        return;
    if (at + 1 == r->n)
        yyjson_mut_obj_remove_keyn(map, name.p, name.len);
    else
        remove_from(r, member, value, at + 1);
}

static bool same_key(const struct ek_item_key *a, const struct ek_item_key *b, uint32_t n)
{
    bool same = true;

    for (uint32_t i = 0; same && i < n; i++)
        same = ek_part_compare(&a->parts[i], &b->parts[i]) == 0;
    return same;
}

static void remove_items(const struct removal *r, uint32_t type, yyjson_mut_val *list, size_t at)
{
    const struct ek_schema_type *t = ek_schema_type(r->schema, type);
    uint32_t n_parts = t->list == EK_LIST_MAP ? t->n_keys : 1;
    size_t n = yyjson_mut_arr_size(list);
    yyjson_mut_val *next = yyjson_mut_arr_get_first(list);
    struct ek_item_key wanted, key;
    struct ek_buf why;

    ek_buf_init(&why, 0); /* the removal was checked; live items without a key are left alone */
    if (ek_item_key(r->schema, t, r->steps[at].item, &wanted, &why))
        return;
    ek_work_do(r->work, n);
    yyjson_mut_arr_clear(list);
    for (size_t i = 0; i < n; i++) {
        yyjson_mut_val *item = next;
        next = item->next;
        bool hit = !ek_item_key(r->schema, t, item, &key, &why) && same_key(&key, &wanted, n_parts);
        if (hit && at + 1 < r->n)
            remove_from(r, t->item, item, at + 1);
        if (!hit || at + 1 < r->n)
            yyjson_mut_arr_append(list, item);
    }
}

/* What is of another form than the steps need has nothing to remove. */
static void remove_from(const struct removal *r, uint32_t type, yyjson_mut_val *node, size_t at)
{
    if (r->steps[at].item && yyjson_mut_is_arr(node))
        remove_items(r, type, node, at);
    else if (!r->steps[at].item && yyjson_mut_is_obj(node))
        remove_member(r, type, node, at);
}

int ek_merge_remove(const struct ek_schema *schema, uint32_t type, yyjson_mut_val *live,
                    const struct ek_merge_patch *patch)
{
    for (size_t i = 0; i < patch->n_removals; i++) {
        struct removal r = {schema, patch->work, patch->removals[i].steps,
                            patch->removals[i].n_steps};
        if (!ek_work_do(patch->work, 1))
            return EK_E_CANCELED;
        remove_from(&r, type, live, 0);
    }
    return 0;
}
