/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/extended.h"

#include <string.h>

#include "api/obj.h"
#include "reconcilers/mutation/objects.h"

#define REMOVALS_MAX 100000

/* The way from the root to what is being converted. */
struct trail {
    const struct trail *up;
    struct ek_merge_step step;
    size_t n; /* steps with this one */
};

struct conversion {
    const struct ek_schema *schema;
    yyjson_mut_doc *doc;
    struct ek_arena *arena;
    struct ek_merge_removal *removals;
    size_t n, cap;
    unsigned depth;
    struct ek_work *work;
    struct ek_err *err;
};

/* What became of a value. */
enum made {
    MADE,      /* a value */
    MADE_NONE, /* it only takes away: there is no value to set */
    FAILED,
};

static enum made convert(struct conversion *c, const struct ek_cel_val *value, uint32_t type,
                         const struct trail *trail, bool replaced, yyjson_mut_val **ret);

static enum made fail(struct conversion *c, int code, const char *message)
{
    ek_err_set(c->err, code, "%s", message);
    return FAILED;
}

static enum made no_memory(struct conversion *c)
{
    return fail(c, EK_E_NOMEM, "out of memory");
}

/* ---- Removals ---- */

static bool grow(struct conversion *c)
{
    size_t cap = c->cap ? c->cap * 2 : 8;
    struct ek_merge_removal *removals = ek_arena_try(c->arena, cap * sizeof *removals);

    if (!removals || cap > REMOVALS_MAX)
        return false;
    if (c->n)
        memcpy(removals, c->removals, c->n * sizeof *removals);
    c->removals = removals;
    c->cap = cap;
    return true;
}

/* Notes that step, below trail, is to go. */
static enum made take_away(struct conversion *c, const struct trail *trail,
                           struct ek_merge_step step)
{
    size_t n = (trail ? trail->n : 0) + 1;
    struct ek_merge_step *steps = ek_arena_try(c->arena, n * sizeof *steps);

    if (!steps || (c->n == c->cap && !grow(c)))
        return fail(c, EK_E_LIMIT, "the patch removes too much");
    if (n == 1 && (ek_str_eq(step.field, ek_str_from("apiVersion")) ||
                   ek_str_eq(step.field, ek_str_from("kind"))))
        return fail(c, EK_E_INVAL, "may not remove apiVersion or kind");
    steps[n - 1] = step;
    for (size_t i = n - 1; i > 0; i--, trail = trail->up)
        steps[i - 1] = trail->step;
    c->removals[c->n++] = (struct ek_merge_removal){steps, n};
    return MADE_NONE;
}

/* ---- Objects and maps ---- */

static const struct ek_schema_type *type_at(const struct conversion *c, uint32_t type)
{
    return type == EK_SCHEMA_NONE ? NULL : ek_schema_type(c->schema, type);
}

/* An object under way; list is the type of the list that it is an item of, or NULL. */
struct members {
    yyjson_mut_val *object;
    const struct ek_schema_type *type, *list;
    const struct trail *trail;
    bool replaced; /* part of something that is set as a whole */
    bool sets;     /* more than the keys of its list */
    bool removes;
};

static bool is_list_key(const struct conversion *c, const struct ek_schema_type *list,
                        struct ek_str name)
{
    for (uint32_t i = 0; list && list->list == EK_LIST_MAP && i < list->n_keys; i++)
        if (ek_str_eq(ek_schema_key(c->schema, list, i), name))
            return true;
    return false;
}

static bool is_nothing(const struct ek_cel_val *value)
{
    return value->kind == EK_CEL_OPTIONAL && !value->some;
}

static enum made add_member(struct conversion *c, struct members *m, struct ek_str name,
                            const struct ek_cel_val *value)
{
    uint32_t type = m->type ? ek_schema_member(c->schema, m->type, name) : EK_SCHEMA_NONE;
    const struct trail here = {m->trail, {.field = name}, (m->trail ? m->trail->n : 0) + 1};
    bool replaced = m->replaced || (m->type && m->type->map == EK_MAP_ATOMIC);
    yyjson_mut_val *made = NULL;

    if (is_nothing(value)) { /* a member that is to go: see remove_members */
        m->removes = true;
        return MADE_NONE;
    }
    enum made result = convert(c, value, type, &here, replaced, &made);
    if (result == MADE_NONE)
        m->removes = true;
    if (result != MADE)
        return result;
    m->sets = m->sets || !is_list_key(c, m->list, name);
    yyjson_mut_val *key = yyjson_mut_strncpy(c->doc, name.p, name.len);
    return yyjson_mut_obj_add(m->object, key, made) ? MADE : no_memory(c);
}

static enum made remove_member(struct conversion *c, const struct members *m, struct ek_str name)
{
    /* An atomic value is replaced as a whole. */
    if (m->replaced || (m->type && m->type->map == EK_MAP_ATOMIC && m->sets))
        return MADE_NONE;
    return take_away(c, m->trail, (struct ek_merge_step){.field = name});
}

static enum made add_fields(struct conversion *c, struct members *m, const struct ek_cel_val *value)
{
    enum made result = MADE;

    for (size_t i = 0; result != FAILED && i < ek_cel_struct_len(value); i++) {
        const char *name;
        struct ek_cel_val field;
        ek_cel_struct_at(value, i, &name, &field);
        result = add_member(c, m, ek_str_from(name), &field);
    }
    for (size_t i = 0; result != FAILED && i < ek_cel_struct_len(value); i++) {
        const char *name;
        struct ek_cel_val field;
        ek_cel_struct_at(value, i, &name, &field);
        if (is_nothing(&field))
            result = remove_member(c, m, ek_str_from(name));
    }
    return result;
}

static enum made add_entries(struct conversion *c, struct members *m,
                             const struct ek_cel_val *value)
{
    struct ek_cel_iter iter;
    enum made result = MADE;

    ek_cel_iter_init(&iter, value);
    while (result != FAILED && ek_cel_iter_next(&iter)) {
        if (iter.key.kind != EK_CEL_STRING)
            return fail(c, EK_E_INVAL, "a key of a map is no string");
        result = add_member(c, m, (struct ek_str){iter.key.s, iter.key.n}, &iter.value);
    }
    ek_cel_iter_init(&iter, value);
    while (result != FAILED && ek_cel_iter_next(&iter))
        if (is_nothing(&iter.value))
            result = remove_member(c, m, (struct ek_str){iter.key.s, iter.key.n});
    return result;
}

static enum made convert_members(struct conversion *c, const struct ek_cel_val *value,
                                 struct members *m)
{
    enum made result =
        value->kind == EK_CEL_STRUCT ? add_fields(c, m, value) : add_entries(c, m, value);

    for (size_t i = 0; result != FAILED && i < ek_cel_unset_len(value); i++) {
        struct ek_cel_val key = ek_cel_unset_at(value, i);
        if (key.kind != EK_CEL_STRING)
            return fail(c, EK_E_INVAL, "a key of a map is no string");
        m->removes = true;
        result = remove_member(c, m, (struct ek_str){key.s, key.n});
    }
    if (result == FAILED)
        return FAILED;
    return m->removes && !m->sets && !m->replaced ? MADE_NONE : MADE;
}

static enum made convert_object(struct conversion *c, const struct ek_cel_val *value, uint32_t type,
                                const struct trail *trail, bool replaced, yyjson_mut_val **ret)
{
    struct members m = {.object = yyjson_mut_obj(c->doc),
                        .type = type_at(c, type),
                        .trail = trail,
                        .replaced = replaced};

    *ret = m.object;
    return m.object ? convert_members(c, value, &m) : no_memory(c);
}

/* ---- Lists ---- */

static enum made remove_item(struct conversion *c, const struct ek_cel_val *item,
                             const struct ek_schema_type *list, const struct trail *trail,
                             bool replaced)
{
    bool keyed = list && (list->list == EK_LIST_SET || list->list == EK_LIST_MAP);
    yyjson_mut_val *made;

    if (list && (replaced || !keyed))
        return fail(c, EK_E_INVAL,
                    "objects.remove(): the items of this list have no keys; set it as a whole, "
                    "without the item, with atomics: Replace");
    made = ek_cel_to_json(item, EK_CEL_JSON_PLAIN, c->doc, c->work, c->err);
    return made ? take_away(c, trail, (struct ek_merge_step){.item = made}) : FAILED;
}

static bool is_own_object(const struct ek_cel_val *value)
{
    return value->kind == EK_CEL_STRUCT ||
           (value->kind == EK_CEL_MAP && value->form == EK_CEL_NATIVE);
}

/* An item of a list with keys: the keys that it names select the parts to remove below it. */
static enum made convert_keyed(struct conversion *c, const struct ek_cel_val *value,
                               const struct ek_schema_type *list, const struct trail *trail,
                               yyjson_mut_val **ret)
{
    yyjson_mut_val *object = yyjson_mut_obj(c->doc);
    const struct trail here = {trail, {.item = object}, (trail ? trail->n : 0) + 1};
    struct members m = {
        .object = object, .type = type_at(c, list->item), .list = list, .trail = &here};

    *ret = object;
    return object ? convert_members(c, value, &m) : no_memory(c);
}

static enum made convert_item(struct conversion *c, const struct ek_cel_val *value,
                              const struct ek_schema_type *list, const struct trail *trail,
                              bool replaced, yyjson_mut_val **ret)
{
    const struct ek_cel_val *removed = ek_objects_removed(value);

    if (removed)
        return remove_item(c, removed, list, trail, replaced);
    if (list && list->list == EK_LIST_MAP && !replaced && is_own_object(value))
        return convert_keyed(c, value, list, trail, ret);
    return convert(c, value, list ? list->item : EK_SCHEMA_NONE, trail, true, ret);
}

static enum made convert_list(struct conversion *c, const struct ek_cel_val *value, uint32_t type,
                              const struct trail *trail, bool replaced, yyjson_mut_val **ret)
{
    const struct ek_schema_type *list = type_at(c, type);
    struct ek_cel_iter iter;
    bool removes = false;

    *ret = yyjson_mut_arr(c->doc);
    if (!*ret)
        return no_memory(c);
    ek_cel_iter_init(&iter, value);
    while (ek_cel_iter_next(&iter)) {
        yyjson_mut_val *made = NULL;
        enum made result = convert_item(c, &iter.value, list, trail, replaced, &made);
        if (result == FAILED || (result == MADE && !yyjson_mut_arr_append(*ret, made)))
            return FAILED;
        removes = removes || result == MADE_NONE;
    }
    return removes && yyjson_mut_arr_size(*ret) == 0 ? MADE_NONE : MADE;
}

/* ---- Values ---- */

static enum made convert_kind(struct conversion *c, const struct ek_cel_val *value, uint32_t type,
                              const struct trail *trail, bool replaced, yyjson_mut_val **ret)
{
    if (is_own_object(value))
        return convert_object(c, value, type, trail, replaced, ret);
    if (value->kind == EK_CEL_LIST && value->form == EK_CEL_NATIVE)
        return convert_list(c, value, type, trail, replaced, ret);
    if (value->kind == EK_CEL_OPTIONAL && value->some)
        return convert(c, value->some, type, trail, replaced, ret);
    if (ek_objects_removed(value))
        return fail(c, EK_E_INVAL,
                    "objects.remove() is for items of lists; to remove a field, "
                    "write ?name: optional.none()");
    *ret = ek_cel_to_json(value, EK_CEL_JSON_PLAIN, c->doc, c->work, c->err);
    return *ret ? MADE : FAILED;
}

static enum made convert(struct conversion *c, const struct ek_cel_val *value, uint32_t type,
                         const struct trail *trail, bool replaced, yyjson_mut_val **ret)
{
    if (c->depth == EK_JSON_DEPTH_MAX)
        return fail(c, EK_E_LIMIT, "the patch nests too deeply");
    if (!ek_work_do(c->work, 1))
        return fail(c, EK_E_CANCELED, "the time is over");
    c->depth++;
    enum made result = convert_kind(c, value, type, trail, replaced, ret);
    c->depth--;
    return result;
}

int ek_extended_patch(const struct ek_cel_val *value, const struct ek_schema *schema, uint32_t type,
                      yyjson_mut_doc *doc, struct ek_arena *arena, struct ek_work *work,
                      struct ek_merge_patch *ret, struct ek_err *err)
{
    struct ek_err own = {0};
    struct conversion c = {
        .schema = schema, .doc = doc, .arena = arena, .work = work, .err = err ? err : &own};
    yyjson_mut_val *made = NULL;

    *ret = (struct ek_merge_patch){0};
    enum made result = convert_object(&c, value, type, NULL, false, &made);
    if (result == FAILED)
        return c.err->code ? c.err->code : ek_err_set(c.err, EK_E_NOMEM, "out of memory");
    ret->value = result == MADE ? made : NULL;
    ret->removals = c.removals;
    ret->n_removals = c.n;
    return 0;
}
