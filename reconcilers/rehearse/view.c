/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/rehearse/view.h"

#include <stdlib.h>
#include <string.h>

#include "api/obj.h"

#define LONGEST 253

static void *grown(struct ek_arena *arena, void *list, size_t n, size_t *max, size_t size)
{
    if (n < *max)
        return list;
    *max = *max ? *max * 2 : 64;
    void *ret = ek_arena_alloc(arena, *max * size);
    if (n)
        memcpy(ret, list, n * size);
    return ret;
}

static bool has_verb(yyjson_val *resource, const char *verb)
{
    yyjson_val *v;
    size_t i, n;
    bool has = false;

    yyjson_arr_foreach(yyjson_obj_get(resource, "verbs"), i, n, v)
    {
        has |= yyjson_is_str(v) && !strcmp(yyjson_get_str(v), verb);
    }
    return has;
}

/* No server that is one has such names (RFC 1123). */
static bool is_too_long(yyjson_val *resource)
{
    static const char *const members[] = {"name", "kind", "storageVersionHash"};
    bool is = false;

    for (size_t i = 0; i < EK_ARRAY_SIZE(members); i++)
        is |= strlen(ek_json_text(resource, members[i])) > LONGEST;
    return is;
}

static void add_type(struct ek_rehearse_view *view, const struct ek_rehearse_type *type)
{
    view->types = grown(view->arena, view->types, view->n_types, &view->max_types, sizeof *type);
    view->types[view->n_types++] = *type;
}

bool ek_rehearse_view_add(struct ek_rehearse_view *view, yyjson_val *root)
{
    const char *gv = ek_json_str(root, "groupVersion", NULL);
    yyjson_val *list = yyjson_obj_get(root, "resources"), *v;
    size_t i, n;

    if (!gv || strlen(gv) > (size_t)2 * LONGEST || !yyjson_is_arr(list))
        return false;
    const char *slash = strchr(gv, '/');
    const char *group = slash ? ek_arena_strndup(view->arena, gv, (size_t)(slash - gv)) : "";
    const char *version = ek_arena_strdup(view->arena, slash ? slash + 1 : gv);
    yyjson_arr_foreach(list, i, n, v)
    {
        const char *name = ek_json_text(v, "name");
        if (!*name || strchr(name, '/') || is_too_long(v))
            continue;
        if (view->n_types == EK_REHEARSE_TYPES_MAX) {
            view->beyond++;
            continue;
        }
        add_type(view,
                 &(struct ek_rehearse_type){
                     .group = group,
                     .version = version,
                     .resource = ek_arena_strdup(view->arena, name),
                     .kind = ek_arena_strdup(view->arena, ek_json_text(v, "kind")),
                     .namespaced = yyjson_get_bool(yyjson_obj_get(v, "namespaced")),
                     .can_list = has_verb(v, "list"),
                     .can_update = has_verb(v, "update"),
                     .can_create = has_verb(v, "create"),
                     .hash = ek_arena_strdup(view->arena, ek_json_text(v, "storageVersionHash")),
                     .stored = ""});
    }
    return true;
}

void ek_rehearse_view_gate(struct ek_rehearse_view *view, const char *name, bool on)
{
    if (view->n_gates == EK_REHEARSE_GATES_MAX || strlen(name) > LONGEST)
        return;
    view->gates =
        grown(view->arena, view->gates, view->n_gates, &view->max_gates, sizeof *view->gates);
    view->gates[view->n_gates++] =
        (struct ek_rehearse_gate){ek_arena_strdup(view->arena, name), on};
}

/* ---- Order ---- */

static int by_resource(const struct ek_rehearse_type *a, const struct ek_rehearse_type *b)
{
    int order = strcmp(a->group, b->group);

    return order ? order : strcmp(a->resource, b->resource);
}

static int by_type(const struct ek_rehearse_type *a, const struct ek_rehearse_type *b)
{
    int order = by_resource(a, b);

    return order ? order : strcmp(a->version, b->version);
}

/* The arrays are in their first order, which stays the order of versions of one resource. */
static int type_order(const void *a, const void *b)
{
    const struct ek_rehearse_type *x = *(struct ek_rehearse_type *const *)a;
    const struct ek_rehearse_type *y = *(struct ek_rehearse_type *const *)b;
    int order = by_resource(x, y);

    return order ? order : x < y ? -1 : x > y;
}

static int gate_order(const void *a, const void *b)
{
    return strcmp(((const struct ek_rehearse_gate *)a)->name,
                  ((const struct ek_rehearse_gate *)b)->name);
}

void ek_rehearse_view_sort(struct ek_rehearse_view *view)
{
    size_t n = view->n_types;
    struct ek_rehearse_type **order =
        ek_arena_alloc(view->arena, (n + 1) * sizeof(struct ek_rehearse_type *));
    struct ek_rehearse_type *sorted = ek_arena_alloc(view->arena, (n + 1) * sizeof *sorted);

    for (size_t i = 0; i < n; i++)
        order[i] = &view->types[i];
    if (n)
        qsort(order, n, sizeof(struct ek_rehearse_type *), type_order);
    for (size_t i = 0; i < n; i++)
        sorted[i] = *order[i];
    view->types = sorted;
    view->max_types = n;
    if (view->n_gates)
        qsort(view->gates, view->n_gates, sizeof *view->gates, gate_order);
}

/* ---- Differences ---- */

struct compare {
    const struct ek_rehearse_view *a, *b;
    const struct ek_plan_data *known;
    struct ek_arena *arena;
    struct ek_rehearse_differences *out;
    size_t max;
};

static void differ(struct compare *c, const char *what, const char *name, const char *a,
                   const char *b)
{
    c->out->list = grown(c->arena, c->out->list, c->out->n, &c->max, sizeof *c->out->list);
    c->out->list[c->out->n++] = (struct ek_rehearse_difference){what, name, a, b};
}

static bool is_known_group(const struct compare *c, const char *group)
{
    bool is = !c->known;

    for (size_t i = 0; !is && i < c->known->n_resources; i++)
        is = !strcmp(c->known->resources[i].group, group);
    return is;
}

static const struct ek_rehearse_type *
find_type(const struct ek_rehearse_view *view, const struct ek_rehearse_type *type,
          int (*order)(const struct ek_rehearse_type *, const struct ek_rehearse_type *))
{
    const struct ek_rehearse_type *ret = NULL;
    size_t low = 0, high = view->n_types;

    while (low < high) { /* the first of the resource */
        size_t mid = low + (high - low) / 2;
        if (by_resource(&view->types[mid], type) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < view->n_types && !ret && !by_resource(&view->types[low], type); low++)
        if (!order(&view->types[low], type))
            ret = &view->types[low];
    return ret;
}

static const char *type_name(struct compare *c, const struct ek_rehearse_type *t)
{
    return ek_arena_printf(c->arena, "%s%s%s %s", t->group, *t->group ? "/" : "", t->version,
                           t->resource);
}

static void compare_types(struct compare *c)
{
    for (size_t i = 0; i < c->a->n_types; i++) {
        const struct ek_rehearse_type *t = &c->a->types[i];
        if (!is_known_group(c, t->group))
            continue;
        if (find_type(c->b, t, by_type))
            c->out->same++;
        else
            differ(c, "api", type_name(c, t), "served", "not served");
    }
    for (size_t i = 0; i < c->b->n_types; i++) {
        const struct ek_rehearse_type *t = &c->b->types[i];
        if (is_known_group(c, t->group) && !find_type(c->a, t, by_type))
            differ(c, "api", type_name(c, t), "not served", "served");
    }
}

static void compare_storage(struct compare *c)
{
    for (size_t i = 0; i < c->a->n_types; i++) {
        const struct ek_rehearse_type *t = &c->a->types[i], *other;
        bool first = !i || by_resource(t, t - 1) != 0;
        other = first && is_known_group(c, t->group) ? find_type(c->b, t, by_resource) : NULL;
        if (!other || !*t->stored || !*other->stored)
            continue;
        if (!strcmp(t->stored, other->stored))
            c->out->same++;
        else
            differ(c, "storage",
                   ek_arena_printf(c->arena, "%s%s%s", t->group, *t->group ? " " : "", t->resource),
                   t->stored, other->stored);
    }
}

static const char *gate_text(const struct ek_rehearse_gate *gate)
{
    return !gate ? "absent" : gate->on ? "on" : "off";
}

static void compare_gate(struct compare *c, const struct ek_rehearse_gate *a,
                         const struct ek_rehearse_gate *b)
{
    const char *name = a ? a->name : b ? b->name : ""; /* one of them is there */

    if (c->known && !ek_feature_find(&c->known->features, ek_str_from(name)))
        return;
    if (a && b && a->on == b->on)
        c->out->same++;
    else
        differ(c, "gate", name, gate_text(a), gate_text(b));
}

static void compare_gates(struct compare *c)
{
    size_t i = 0, k = 0;

    while (i < c->a->n_gates || k < c->b->n_gates) {
        const struct ek_rehearse_gate *a = i < c->a->n_gates ? &c->a->gates[i] : NULL;
        const struct ek_rehearse_gate *b = k < c->b->n_gates ? &c->b->gates[k] : NULL;
        int order = !a ? 1 : !b ? -1 : strcmp(a->name, b->name);
        compare_gate(c, order <= 0 ? a : NULL, order >= 0 ? b : NULL);
        i += order <= 0;
        k += order >= 0;
    }
}

void ek_rehearse_view_compare(const struct ek_rehearse_view *a, const struct ek_rehearse_view *b,
                              const struct ek_plan_data *known, struct ek_arena *arena,
                              struct ek_rehearse_differences *ret_differences)
{
    struct compare c = {a, b, known, arena, ret_differences, 0};

    *ret_differences = (struct ek_rehearse_differences){0};
    compare_types(&c);
    compare_storage(&c);
    compare_gates(&c);
}
