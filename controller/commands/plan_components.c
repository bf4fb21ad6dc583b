/* SPDX-License-Identifier: Apache-2.0 */
/* The components of a plan, before the first step and after the last one, with their windows. */
#include "controller/commands/plan-internal.h"
#include "reconcilers/plan/start.h"

/* The versions of all parts at one time. */
struct state {
    const struct ek_plan_cluster *cluster;
    const struct ek_part_versions *at; /* as many as parts */
    const struct ek_skew_policy *policy;
    struct ek_bounds bounds;
};

static void add_minor(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name,
                      struct ek_minor v)
{
    char text[EK_MINOR_SIZE];

    if (v.known)
        yyjson_mut_obj_add_strcpy(doc, object, name, ek_minor_format(v, text));
}

static struct ek_bounds bounds_of(const struct ek_plan_cluster *cluster,
                                  const struct ek_part_versions *at, struct ek_arena *arena)
{
    struct ek_server *servers = ek_arena_alloc(arena, (cluster->n + 1) * sizeof *servers);
    size_t n = 0;

    for (size_t i = 0; i < cluster->n; i++)
        if (cluster->parts[i].component == EK_KUBE_APISERVER)
            servers[n++] = (struct ek_server){cluster->parts[i].name, at[i].binary, at[i].emulation,
                                              at[i].min_compat};
    return ek_policy_bounds(servers, n);
}

/* Binaries below the floor do not emulate. */
static struct ek_range emulated_by(struct ek_minor binary)
{
    struct ek_minor floor = ek_start_floor(binary);

    return (struct ek_range){.min = {.at = ek_minor_cmp(floor, binary) < 0 ? floor : binary},
                             .max = {.at = binary}};
}

static void add_window(const struct state *s, size_t i, yyjson_mut_doc *doc, yyjson_mut_val *object)
{
    enum ek_component component = s->cluster->parts[i].component;
    bool is_server = component == EK_KUBE_APISERVER;

    if (!is_server && !s->cluster->complete)
        return;
    struct ek_range range =
        is_server ? emulated_by(s->at[i].binary)
                  : ek_policy_range(component, s->at[i].binary, &s->bounds, s->policy);
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(doc, object, "window");
    add_minor(doc, v, "from", range.min.at);
    add_minor(doc, v, "to", range.max.at);
}

static void add_state(const struct state *s, size_t i, const char *name, yyjson_mut_doc *doc,
                      yyjson_mut_val *object)
{
    enum ek_component component = s->cluster->parts[i].component;
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(doc, object, name);

    add_minor(doc, v, "binary", s->at[i].binary);
    if (component <= EK_KUBE_SCHEDULER) {
        add_minor(doc, v, "emulation", s->at[i].emulation);
        add_minor(doc, v, "minCompatibility", s->at[i].min_compat);
    }
    add_window(s, i, doc, v);
}

yyjson_mut_val *ek_plan_components(const struct ek_plan_cluster *cluster,
                                   const struct ek_steps *steps,
                                   const struct ek_skew_policy *policy, struct ek_arena *arena,
                                   yyjson_mut_doc *doc)
{
    size_t size = (cluster->n + 1) * sizeof(struct ek_part_versions);
    struct ek_part_versions *before = ek_arena_alloc(arena, size),
                            *after = ek_arena_alloc(arena, size);
    yyjson_mut_val *list = yyjson_mut_arr(doc);

    for (size_t i = 0; i < cluster->n; i++)
        before[i] = after[i] = cluster->parts[i].at;
    for (size_t i = 0; steps && i < steps->n; i++)
        after[steps->list[i].part] = steps->list[i].after;
    const struct state states[] = {
        {cluster, before, policy, bounds_of(cluster, before, arena)},
        {cluster, after, policy, bounds_of(cluster, after, arena)},
    };
    for (size_t i = 0; i < cluster->n; i++) {
        const struct ek_part *part = &cluster->parts[i];
        yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, list);
        yyjson_mut_obj_add_strcpy(doc, v, "name", part->name);
        yyjson_mut_obj_add_str(doc, v, "component", ek_component_name(part->component));
        yyjson_mut_obj_add_uint(doc, v, "instances", part->count);
        add_state(&states[0], i, "before", doc, v);
        if (steps)
            add_state(&states[1], i, "after", doc, v);
    }
    return list;
}
