/* SPDX-License-Identifier: Apache-2.0 */
/* The order of an upgrade between two versions, and what each step of the API servers changes. */
#include <string.h>

#include "controller/commands/plan-internal.h"
#include "reconcilers/plan/apis.h"
#include "reconcilers/plan/guard.h"

static const enum ek_component components[] = {EK_KUBE_APISERVER, EK_KUBE_CONTROLLER_MANAGER,
                                               EK_KUBE_SCHEDULER, EK_KUBELET, EK_KUBE_PROXY};

/* An API server with its feature gates, at the versions before or after a step. */
struct side {
    struct ek_minor min_compat;
    struct ek_features gates;
    bool *served;
};

struct changes {
    const struct ek_plan_data *data;
    struct ek_arena *arena;
    yyjson_mut_doc *doc;
    const struct ek_plan_instance *server;
    struct side before, after;
};

static void open_side(const struct changes *c, const struct ek_part_versions *at, struct side *ret)
{
    struct ek_feature_problems problems; /* findings of their own */

    ret->min_compat = at->min_compat;
    ek_features_init(&ret->gates, &c->data->features, c->arena, at->emulation, at->min_compat);
    ek_features_set(&ret->gates, ek_str_from(c->server->gates), &problems);
    ret->served = ek_arena_alloc(c->arena, c->data->n_resources + 1);
    struct ek_api_config config = ek_plan_api_config(c->server, at, &ret->gates);
    ek_api_served(c->data, &config, c->arena, ret->served);
}

/* The gates whose default or lock is another one after the step. */
static void add_gates(const struct changes *c, yyjson_mut_val *list)
{
    const struct side *a = &c->before, *b = &c->after;

    for (size_t i = 0; i < c->data->features.n; i++) {
        const struct ek_feature *gate = &c->data->features.gates[i];
        const struct ek_feature_spec *was =
            ek_feature_spec_at(gate, a->gates.emulation, a->min_compat);
        const struct ek_feature_spec *is =
            ek_feature_spec_at(gate, b->gates.emulation, b->min_compat);
        if (ek_features_on(&a->gates, gate) == ek_features_on(&b->gates, gate) &&
            was->locked == is->locked)
            continue;
        yyjson_mut_val *v = yyjson_mut_arr_add_obj(c->doc, list);
        yyjson_mut_obj_add_strcpy(c->doc, v, "name", gate->name);
        yyjson_mut_obj_add_str(c->doc, v, "stage", ek_feature_stage_name(is->stage));
        yyjson_mut_obj_add_bool(c->doc, v, "wasOn", ek_features_on(&a->gates, gate));
        yyjson_mut_obj_add_bool(c->doc, v, "on", ek_features_on(&b->gates, gate));
        yyjson_mut_obj_add_bool(c->doc, v, "locked", is->locked);
    }
}

static void add_served(const struct changes *c, yyjson_mut_val *list, bool starts)
{
    for (size_t i = 0; i < c->data->n_resources; i++) {
        const struct ek_api_row *row = &c->data->resources[i];
        if (c->before.served[i] == c->after.served[i] || c->after.served[i] != starts)
            continue;
        yyjson_mut_arr_add_strcpy(c->doc, list,
                                  ek_arena_printf(c->arena, "%s%s%s/%s", row->group,
                                                  *row->group ? "/" : "", row->version,
                                                  row->resource));
    }
}

/* Resources of which the API servers store new objects in another version after the step. */
static void add_stored(const struct changes *c, yyjson_mut_val *list)
{
    for (size_t i = 0; i < c->data->n_resources; i++) {
        const struct ek_api_row *row = &c->data->resources[i];
        if (!row->stored ||
            (i && !strcmp(row[-1].group, row->group) && !strcmp(row[-1].resource, row->resource)))
            continue;
        const char *was =
            ek_api_storage(c->data, row->group, row->resource, c->before.min_compat, c->arena);
        const char *is =
            ek_api_storage(c->data, row->group, row->resource, c->after.min_compat, c->arena);
        if (!was || !is || !strcmp(was, is))
            continue;
        yyjson_mut_val *v = yyjson_mut_arr_add_obj(c->doc, list);
        yyjson_mut_obj_add_strcpy(c->doc, v, "resource", row->resource);
        yyjson_mut_obj_add_strcpy(c->doc, v, "from", was);
        yyjson_mut_obj_add_strcpy(c->doc, v, "to", is);
    }
}

static bool has_version(const struct ek_plan_data *data, struct ek_minor v)
{
    return ek_minor_cmp(v, data->oldest) >= 0 && ek_minor_cmp(v, data->binary) <= 0;
}

/* True for a step on the binary of the data, of which the data has all changes. */
static bool is_known(const struct ek_plan_data *data, const struct ek_upgrade_step *step)
{
    return step->kind != EK_UPGRADE_BINARY && !ek_minor_cmp(step->after.binary, data->binary);
}

/* True for a step of which the data has the changes but for the versions in which objects are
 * stored: between emulation versions of the data, on any binary. */
static bool is_served_known(const struct ek_plan_data *data, const struct ek_upgrade_step *step)
{
    bool newer =
        step->kind == EK_UPGRADE_EMULATION && ek_minor_cmp(step->after.binary, data->binary) > 0;

    return step->kind != EK_UPGRADE_MIN_COMPAT &&
           (newer ||
            (has_version(data, step->before.binary) && has_version(data, step->after.binary))) &&
           has_version(data, step->before.emulation) && has_version(data, step->after.emulation);
}

/* What a step changes on an API server with these flags; nothing where the data does not have the
 * changes. */
static void add_changes(const struct ek_plan_data *data, const struct ek_upgrade_step *step,
                        const struct ek_plan_instance *server, struct ek_arena *arena,
                        yyjson_mut_doc *doc, yyjson_mut_val *object)
{
    struct changes c = {.data = ek_plan_data_at(data, step->after.binary),
                        .arena = arena,
                        .doc = doc,
                        .server = server};

    if (!is_known(c.data, step) && !is_served_known(c.data, step))
        return;
    open_side(&c, &step->before, &c.before);
    open_side(&c, &step->after, &c.after);
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(doc, object, "changes");
    add_gates(&c, yyjson_mut_obj_add_arr(doc, v, "featureGates"));
    add_served(&c, yyjson_mut_obj_add_arr(doc, v, "served"), true);
    add_served(&c, yyjson_mut_obj_add_arr(doc, v, "notServed"), false);
    if (is_known(c.data, step))
        add_stored(&c, yyjson_mut_obj_add_arr(doc, v, "stored"));
}

static void add_step(const struct ek_plan_data *data, const struct ek_plan_cluster *cluster,
                     const struct ek_upgrade_step *step, struct ek_arena *arena,
                     yyjson_mut_doc *doc, yyjson_mut_val *list)
{
    const struct ek_part *part = &cluster->parts[step->part];
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, list);
    char text[EK_MINOR_SIZE];

    yyjson_mut_obj_add_str(doc, v, "component", part->name);
    yyjson_mut_obj_add_str(doc, v, "change", ek_upgrade_step_name(step->kind));
    yyjson_mut_obj_add_strcpy(
        doc, v, "from", ek_minor_format(ek_upgrade_step_version(&step->before, step->kind), text));
    yyjson_mut_obj_add_strcpy(
        doc, v, "to", ek_minor_format(ek_upgrade_step_version(&step->after, step->kind), text));
    if (ek_upgrade_step_is_marked(part, step))
        yyjson_mut_obj_add_bool(doc, v, "canBeUndone", !step->lost.known);
    if (step->lost.known)
        yyjson_mut_obj_add_strcpy(doc, v, "endsWayBackTo", ek_minor_format(step->lost, text));
    if (part->component == EK_KUBE_APISERVER)
        add_changes(data, step, &cluster->instances[step->part], arena, doc, v);
}

void ek_plan_uniform(struct ek_minor version, struct ek_arena *arena,
                     struct ek_plan_cluster *ret_cluster)
{
    size_t n = EK_ARRAY_SIZE(components);

    *ret_cluster = (struct ek_plan_cluster){
        .parts = ek_arena_alloc(arena, n * sizeof(struct ek_part)),
        .instances = ek_arena_alloc(arena, n * sizeof(struct ek_plan_instance)),
        .n = n,
        .complete = true,
    };
    for (size_t i = 0; i < n; i++) {
        ret_cluster->parts[i] = (struct ek_part){
            .component = components[i],
            .name = ek_component_name(components[i]),
            .count = 2, /* instances of two versions run side by side during a step */
            .at = {version, version, ek_policy_default_min_compat(version, version)},
            .nodes = components[i] == EK_KUBELET || components[i] == EK_KUBE_PROXY,
        };
        ret_cluster->instances[i] = (struct ek_plan_instance){.gates = "", .by_default = true};
    }
}

static void add_way_back(const struct ek_plan_cluster *cluster, yyjson_mut_doc *doc,
                         yyjson_mut_val *object)
{
    struct ek_minor back, newest;
    char text[EK_MINOR_SIZE];

    ek_guard_window(cluster, &back, &newest);
    if (back.known && ek_minor_cmp(newest, EK_STEPS_OLDEST_WAY_BACK) > 0)
        yyjson_mut_obj_add_strcpy(doc, object, "wayBackTo", ek_minor_format(back, text));
}

yyjson_mut_val *ek_plan_steps(const struct ek_plan_data *data,
                              const struct ek_plan_cluster *cluster,
                              const struct ek_steps_goal *goal, struct ek_plan_report *report,
                              yyjson_mut_doc *doc)
{
    yyjson_mut_val *ret = yyjson_mut_obj(doc);
    struct ek_steps steps = {0};
    bool found = ek_plan_route(cluster, goal, data, report, &steps);

    if (goal->back)
        add_way_back(cluster, doc, ret);
    yyjson_mut_obj_add_val(
        doc, ret, "components",
        ek_plan_components(cluster, found ? &steps : NULL, goal->policy, report->arena, doc));
    if (!found)
        return ret;
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, ret, "steps");
    for (size_t i = 0; i < steps.n; i++)
        add_step(data, cluster, &steps.list[i], report->arena, doc, list);
    return ret;
}
