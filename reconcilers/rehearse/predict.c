/* SPDX-License-Identifier: Apache-2.0 */
/* What plans predict of a start, as a view that compares with the server's. */
#include <string.h>

#include "reconcilers/peers/pod_flags.h"
#include "reconcilers/plan/apis.h"
#include "reconcilers/plan/start.h"
#include "reconcilers/rehearse/view.h"

static void predict_gates(const struct ek_start *start, const struct ek_feature_registry *registry,
                          struct ek_rehearse_view *view)
{
    for (size_t i = 0; i < registry->n; i++) {
        const struct ek_feature *gate = &registry->gates[i];
        const struct ek_feature_spec *spec =
            ek_feature_spec_at(gate, start->emulation, start->min_compat);
        if (spec->stage != EK_FEATURE_PRE_ALPHA)
            ek_rehearse_view_gate(view, gate->name, ek_features_on(&start->gates, gate));
    }
}

/* Returns NULL, or the sentence with which the server refuses. */
static const char *predict_types(const struct ek_plan_data *data,
                                 const struct ek_rehearse_step *step, const char *const *args,
                                 size_t n, const struct ek_start *start,
                                 struct ek_rehearse_view *view)
{
    struct ek_arena *arena = view->arena;
    bool *served = ek_arena_alloc(arena, data->n_resources + 1);
    struct ek_pod_flags flags;

    ek_pod_api_flags_read(args, n, arena, &flags);
    const struct ek_api_config config = {
        .emulation = start->emulation,
        .emulates = ek_minor_cmp(start->emulation, step->binary) < 0,
        .runtime_config = flags.apis.runtime_config ? flags.apis.runtime_config : "",
        .forward_compatible = flags.apis.forward,
        .runtime_forward_compatible = flags.apis.runtime_forward,
        .features = &start->gates,
        .no_fairness = flags.apis.no_fairness};
    const char *why = ek_api_served(data, &config, arena, served);
    view->types = ek_arena_alloc(arena, (data->n_resources + 1) * sizeof *view->types);
    view->max_types = data->n_resources + 1;
    for (size_t i = 0; i < data->n_resources && !why; i++) {
        const struct ek_api_row *row = &data->resources[i];
        if (!served[i])
            continue;
        const char *stored =
            ek_api_storage(data, row->group, row->resource, start->min_compat, arena);
        view->types[view->n_types++] = (struct ek_rehearse_type){.group = row->group,
                                                                 .version = row->version,
                                                                 .resource = row->resource,
                                                                 .kind = row->kind,
                                                                 .hash = "",
                                                                 .stored = stored ? stored : ""};
    }
    return why;
}

bool ek_rehearse_predict(const struct ek_plan_data *data, const struct ek_rehearse_step *step,
                         const char *const *args, size_t n, struct ek_arena *arena,
                         struct ek_rehearse_view *ret_view, const char *const **ret_refusals,
                         size_t *ret_n)
{
    struct ek_start start;

    *ret_view = (struct ek_rehearse_view){.arena = arena};
    *ret_refusals = NULL;
    *ret_n = 0;
    if (ek_minor_cmp(step->binary, data->binary) != 0)
        return false;
    ek_start_read(&data->features, step->binary, args, n, step->emulation, step->min_compat, arena,
                  &start);
    if (start.stage != EK_START_OK) {
        *ret_refusals = start.errors;
        *ret_n = start.n_errors;
        return true;
    }
    const char *why = predict_types(data, step, args, n, &start, ret_view);
    if (why) {
        const char **one = ek_arena_alloc(arena, sizeof *one);
        *one = why;
        *ret_refusals = one;
        *ret_n = 1;
        return true;
    }
    predict_gates(&start, &data->features, ret_view);
    ek_rehearse_view_sort(ret_view);
    return true;
}
