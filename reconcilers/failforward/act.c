/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/act.h"

#include <stdio.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/mem.h"
#include "api/base/time.h"

#define OLM "operators.coreos.com"

static const struct ek_resource subscriptions = {
    .group = OLM, .version = "v1alpha1", .resource = "subscriptions", .kind = "Subscription"};
static const struct ek_resource plans = {
    .group = OLM, .version = "v1alpha1", .resource = "installplans", .kind = "InstallPlan"};
static const struct ek_resource csvs = {.group = OLM,
                                        .version = "v1alpha1",
                                        .resource = "clusterserviceversions",
                                        .kind = "ClusterServiceVersion"};
static const struct ek_resource groups = {
    .group = OLM, .version = "v1", .resource = "operatorgroups", .kind = "OperatorGroup"};
static const struct ek_resource config_maps = {
    .group = "", .version = "v1", .resource = "configmaps", .kind = "ConfigMap"};

/* What the functions of one call share. */
struct work {
    const struct ek_ff_world *world;
    const struct ek_ff_state *state;
    const struct ek_ff_next *next;
    int64_t now_ms;
    struct ek_intents *intents;
    yyjson_mut_doc *doc;
};

static struct ek_obj *find(const struct work *work, const struct ek_ff_objs *objs)
{
    for (size_t i = 0; i < objs->n; i++)
        if (!strcmp(ek_obj_namespace(objs->items[i]), work->world->namespace) &&
            !strcmp(ek_obj_name(objs->items[i]), work->next->target))
            return objs->items[i];
    return NULL;
}

/* A target; resource keeps what it points to. */
static struct ek_apply_target target_of(const struct work *work, const struct ek_resource *kind,
                                        const struct ek_obj *obj, struct ek_resource *resource)
{
    *resource = *kind;
    resource->namespace = work->world->namespace;
    return (struct ek_apply_target){.resource = resource,
                                    .name = ek_obj_name(obj),
                                    .uid = ek_obj_uid(obj),
                                    .resource_version = ek_obj_resource_version(obj)};
}

static bool patch(const struct work *work, const struct ek_resource *kind, const struct ek_obj *obj,
                  bool of_status, yyjson_mut_val *content)
{
    struct ek_resource resource;

    if (!obj)
        return false;
    struct ek_apply_target target = target_of(work, kind, obj, &resource);
    struct ek_intent *intent = of_status ? ek_intents_patch_status(work->intents, &target, content)
                                         : ek_intents_patch(work->intents, &target, content);
    intent->on_failure = EK_STOP;
    intent->tag = (int)work->next->act;
    return true;
}

static yyjson_mut_val *nested(const struct work *work, const char *name, yyjson_mut_val **inner)
{
    yyjson_mut_val *root = yyjson_mut_obj(work->doc);

    *inner = yyjson_mut_obj_add_obj(work->doc, root, name);
    return root;
}

static void add_now(const struct work *work, yyjson_mut_val *obj, const char *name)
{
    char time[EK_TIME_SIZE];

    yyjson_mut_obj_add_strcpy(work->doc, obj, name, ek_time_format(work->now_ms, time));
}

/* The status of a CSV. */
static bool set_phase(const struct work *work, const char *phase, const char *reason,
                      const char *message)
{
    yyjson_mut_val *status, *root = nested(work, "status", &status);

    yyjson_mut_obj_add_str(work->doc, status, "phase", phase);
    yyjson_mut_obj_add_str(work->doc, status, "reason", reason);
    yyjson_mut_obj_add_str(work->doc, status, "message", message);
    add_now(work, status, "lastUpdateTime");
    add_now(work, status, "lastTransitionTime");
    return patch(work, &csvs, find(work, &work->world->csvs), true, root);
}

static bool poke(const struct work *work)
{
    yyjson_mut_val *metadata, *root = nested(work, "metadata", &metadata);
    yyjson_mut_val *annotations = yyjson_mut_obj_add_obj(work->doc, metadata, "annotations");

    add_now(work, annotations, "failforward.evenkeel.dev/resolve");
    return patch(work, &subscriptions, find(work, &work->world->subscriptions), false, root);
}

/* The step is that of the CSV of the plan, which was deleted, or of an object that it lost. */
static bool runs_again(const struct work *work, yyjson_val *step)
{
    const char *kind = ek_json_str(step, "resource", "kind", NULL);
    const char *name = ek_json_str(step, "resource", "name", NULL);

    if (!kind || !name)
        return false;
    if (work->next->act == EK_FF_REDO_CSV)
        return !strcmp(kind, "ClusterServiceVersion");
    return ek_ff_is_lost(&work->state->head, kind, name);
}

/* The steps of the plan, with those that are run again. */
static yyjson_mut_val *steps_again(const struct work *work, const struct ek_obj *plan)
{
    yyjson_val *steps = ek_json_get(ek_obj_root(plan), "status", "plan", NULL);
    yyjson_mut_val *copy = yyjson_mut_arr(work->doc);
    size_t i, n;
    yyjson_val *step;

    yyjson_arr_foreach(steps, i, n, step)
    {
        yyjson_mut_val *again = yyjson_val_mut_copy(work->doc, step);
        if (runs_again(work, step))
            yyjson_mut_obj_put(again, yyjson_mut_str(work->doc, "status"),
                               yyjson_mut_str(work->doc, "Unknown"));
        yyjson_mut_arr_append(copy, again);
    }
    return copy;
}

static bool reopen(const struct work *work)
{
    struct ek_obj *plan = find(work, &work->world->plans);
    yyjson_mut_val *status, *root = nested(work, "status", &status);
    char now[EK_TIME_SIZE], message[sizeof EK_FF_RETRY_MESSAGE + EK_TIME_SIZE];

    snprintf(message, sizeof message, "%s%s", EK_FF_RETRY_MESSAGE,
             ek_time_format(work->now_ms, now));
    yyjson_mut_obj_add_str(work->doc, status, "phase", "Installing");
    yyjson_mut_obj_add_strcpy(work->doc, status, "message", message);
    yyjson_mut_obj_add_null(work->doc, status, "startTime");
    if (plan && work->next->act != EK_FF_REOPEN)
        yyjson_mut_obj_add_val(work->doc, status, "plan", steps_again(work, plan));
    return patch(work, &plans, plan, true, root);
}

static bool approve(const struct work *work)
{
    yyjson_mut_val *spec, *root = nested(work, "spec", &spec);

    yyjson_mut_obj_add_bool(work->doc, spec, "approved", true);
    return patch(work, &plans, find(work, &work->world->plans), false, root);
}

/* The mark says whose the switch is also after the memory is gone with its subscription. A change
 * of the spec adds one to the generation; the patch names the version that was read. */
static bool switch_group(const struct work *work, const char *strategy, bool mark)
{
    const struct ek_obj *group = find(work, &work->world->groups);
    yyjson_mut_val *spec, *root = nested(work, "spec", &spec);
    yyjson_mut_val *metadata = yyjson_mut_obj_add_obj(work->doc, root, "metadata");
    yyjson_mut_val *annotations = yyjson_mut_obj_add_obj(work->doc, metadata, "annotations");
    char generation[32];

    if (!group)
        return false;
    snprintf(generation, sizeof generation, "%lld",
             (long long)yyjson_get_sint(
                 ek_json_get(ek_obj_root(group), "metadata", "generation", NULL)) +
                 1);
    yyjson_mut_obj_add_str(work->doc, spec, "upgradeStrategy", strategy);
    if (mark)
        yyjson_mut_obj_add_strcpy(work->doc, annotations, EK_FF_SWITCH_MARK, generation);
    else
        yyjson_mut_obj_add_null(work->doc, annotations, EK_FF_SWITCH_MARK);
    return patch(work, &groups, group, false, root);
}

static bool clear(const struct work *work)
{
    yyjson_mut_val *status, *root = nested(work, "status", &status);
    const char *running = work->state->running.obj ? work->state->running.name : "";

    yyjson_mut_obj_add_str(work->doc, status, "state", "");
    yyjson_mut_obj_add_strcpy(work->doc, status, "currentCSV", running);
    yyjson_mut_obj_add_null(work->doc, status, "installPlanRef");
    yyjson_mut_obj_add_null(work->doc, status, "installplan");
    return patch(work, &subscriptions, find(work, &work->world->subscriptions), true, root);
}

static void add_owner(const struct work *work, yyjson_mut_val *metadata)
{
    yyjson_mut_val *owners = yyjson_mut_obj_add_arr(work->doc, metadata, "ownerReferences");
    yyjson_mut_val *owner = yyjson_mut_arr_add_obj(work->doc, owners);

    yyjson_mut_obj_add_str(work->doc, owner, "apiVersion", OLM "/v1alpha1");
    yyjson_mut_obj_add_str(work->doc, owner, "kind", "Subscription");
    yyjson_mut_obj_add_strcpy(work->doc, owner, "name", work->state->name);
    yyjson_mut_obj_add_strcpy(work->doc, owner, "uid", ek_obj_uid(work->state->sub));
}

/* Keeps the manifest in a ConfigMap. Its name has the uid: another CSV of the same name is kept
 * beside. */
static void keep(const struct work *work, const struct ek_obj *csv)
{
    struct ek_resource resource = config_maps;
    EK_AUTO(ek_buf) name;
    yyjson_mut_val *metadata, *root = nested(work, "metadata", &metadata);
    yyjson_mut_val *data = yyjson_mut_obj_add_obj(work->doc, root, "data");
    char *manifest =
        yyjson_val_write_opts(ek_obj_root(csv), YYJSON_WRITE_PRETTY, &ek_json_xalc, NULL, NULL);

    ek_buf_init(&name, 1024);
    ek_buf_printf(&name, "failforward-%s", ek_obj_uid(csv));
    add_owner(work, metadata);
    yyjson_mut_obj_add_strcpy(work->doc, data, "clusterserviceversion.json", manifest);
    ek_free(manifest);
    resource.namespace = work->world->namespace;
    struct ek_apply_target target = {.resource = &resource, .name = ek_buf_str(&name)};
    ek_intents_apply(work->intents, &target, root)->on_failure = EK_STOP;
}

static bool delete_csv(const struct work *work)
{
    struct ek_obj *csv = find(work, &work->world->csvs);
    struct ek_resource resource;

    if (!csv)
        return false;
    keep(work, csv);
    struct ek_apply_target target = target_of(work, &csvs, csv, &resource);
    struct ek_intent *intent = ek_intents_depend(ek_intents_delete(work->intents, &target));
    intent->on_failure = EK_STOP;
    intent->tag = EK_FF_DELETE;
    return true;
}

/* A CSV of the failing version that can never install: what the running version has, under the
 * name, the version and the properties of the failing one. */
static bool stand_in(const struct work *work)
{
    static const char *const taken[] = {"displayName", "installModes", "install",
                                        "customresourcedefinitions"};
    EK_AUTOPTR(ek_obj, ek_obj_unref) *bundle =
        ek_ff_plan_csv(&work->state->plan, work->next->target);
    const struct ek_obj *running = work->state->running.obj;
    struct ek_resource resource = csvs;

    if (!bundle || !running)
        return false;
    yyjson_mut_val *metadata, *root = nested(work, "metadata", &metadata);
    yyjson_mut_val *annotations = yyjson_mut_obj_add_obj(work->doc, metadata, "annotations");
    yyjson_mut_val *spec = yyjson_mut_obj_add_obj(work->doc, root, "spec");
    yyjson_mut_obj_add_strcpy(work->doc, annotations, "operatorframework.io/properties",
                              ek_obj_annotation(bundle, "operatorframework.io/properties"));
    yyjson_mut_obj_add_str(work->doc, annotations, "failforward.evenkeel.dev/stand-in", "true");
    yyjson_mut_obj_add_strcpy(work->doc, spec, "version",
                              ek_json_str(ek_obj_root(bundle), "spec", "version", NULL));
    yyjson_mut_obj_add_strcpy(work->doc, spec, "replaces", ek_obj_name(running));
    yyjson_mut_obj_add_str(work->doc, spec, "minKubeVersion", "99.0.0");
    for (size_t i = 0; i < EK_ARRAY_SIZE(taken); i++) {
        yyjson_val *member = ek_json_get(ek_obj_root(running), "spec", taken[i], NULL);
        if (member)
            yyjson_mut_obj_add_val(work->doc, spec, taken[i],
                                   yyjson_val_mut_copy(work->doc, member));
    }
    resource.namespace = work->world->namespace;
    struct ek_apply_target target = {.resource = &resource, .name = work->next->target};
    struct ek_intent *intent = ek_intents_create(work->intents, &target, root);
    intent->on_failure = EK_STOP;
    intent->tag = EK_FF_STAND_IN;
    return true;
}

bool ek_ff_act(const struct ek_ff_world *world, const struct ek_ff_state *state,
               const struct ek_ff_next *next, int64_t now_ms, struct ek_intents *intents)
{
    const struct work work = {world, state, next, now_ms, intents, ek_intents_doc(intents)};

    if (next->act != EK_FF_NO_ACT && !next->target)
        return false;
    switch (next->act) {
    case EK_FF_POKE:
        return poke(&work);
    case EK_FF_REOPEN:
    case EK_FF_REDO_LOST:
    case EK_FF_REDO_CSV:
        return reopen(&work);
    case EK_FF_SWITCH:
        return switch_group(&work, "TechPreviewUnsafeFailForward", true);
    case EK_FF_UNSWITCH:
        return switch_group(&work, "Default", false);
    case EK_FF_PIN:
        return set_phase(&work, "Failed", "InstallComponentFailedNoRetry", EK_FF_PIN_MESSAGE);
    case EK_FF_RELEASE:
        return set_phase(&work, "Replacing", "BeingReplaced",
                         "released by failforward.evenkeel.dev to the version that replaces it");
    case EK_FF_UNPIN:
        return set_phase(&work, "Pending", "DetectedClusterChange",
                         "no longer held by failforward.evenkeel.dev");
    case EK_FF_REINSTATE:
        return set_phase(&work, "Succeeded", "InstallSucceeded",
                         "the upgrade was undone by failforward.evenkeel.dev");
    case EK_FF_APPROVE:
        return approve(&work);
    case EK_FF_CLEAR:
        return clear(&work);
    case EK_FF_DELETE:
        return delete_csv(&work);
    case EK_FF_STAND_IN:
        return stand_in(&work);
    default:
        return true;
    }
}
