/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/intents.h"

#define NAME "cluster"

static const struct ek_resource control_planes = {.group = "evenkeel.dev",
                                                  .version = "v1alpha1",
                                                  .resource = "controlplanes",
                                                  .kind = "ControlPlane"};

static void fail_unreadable(const struct ek_skew_view *view, struct ek_intents *intents)
{
    struct ek_err err;

    ek_err_set(&err, EK_E_FORBIDDEN, "controlplanes.evenkeel.dev could not be read: %s",
               view->control_plane_why);
    ek_intents_fail(intents, &err);
}

static void create(struct ek_intents *intents)
{
    const struct ek_apply_target target = {.resource = &control_planes, .name = NAME};
    yyjson_mut_val *content = yyjson_mut_obj(ek_intents_doc(intents));

    yyjson_mut_obj_add_obj(ek_intents_doc(intents), content, "spec");
    ek_intents_create(intents, &target, content);
    ek_intents_again(intents, EK_SKEW_CREATED_MS);
}

static void apply_status(const struct ek_skew_view *view, const struct ek_skew_plan *plan,
                         struct ek_intents *intents)
{
    const struct ek_apply_target target = {
        .resource = &control_planes, .name = NAME, .uid = ek_obj_uid(view->control_plane)};

    ek_intents_apply_status(intents, &target,
                            yyjson_mut_val_mut_copy(ek_intents_doc(intents), plan->status));
    for (size_t i = 0; i < plan->n_events; i++) {
        const struct ek_skew_event *e = &plan->events[i];
        /* uid and resourceVersion become those of the object with the new status. */
        const struct ek_event event = {
            .regarding = {.api_version = "evenkeel.dev/v1alpha1",
                          .kind = "ControlPlane",
                          .namespace = "",
                          .name = NAME},
            .warning = e->warning,
            .reason = e->reason,
            .action = e->action,
            .note = e->note,
        };
        ek_intents_depend(ek_intents_event(intents, &event));
    }
}

void ek_skew_intents(const struct ek_skew_view *view, const struct ek_skew_plan *plan,
                     struct ek_intents *intents)
{
    if (view->control_plane_why)
        fail_unreadable(view, intents);
    else if (plan->create)
        create(intents);
    else if (plan->status_changed)
        apply_status(view, plan, intents);
}

void ek_skew_explain(const struct ek_intent *intent, struct ek_err *err)
{
    if (intent->verb == EK_CREATE && ek_apply_classify(err) == EK_APPLY_ABSENT)
        ek_err_set(err, err->code,
                   "the cluster does not serve controlplanes.evenkeel.dev: install the "
                   "CustomResourceDefinition (kubectl apply -k deploy)");
}
