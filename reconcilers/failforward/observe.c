/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/observe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/map.h"
#include "api/base/mem.h"
#include "api/base/time.h"
#include "api/cond.h"

/* CSVs of a chain at most: a chain that is longer, or a loop, is cut. */
#define CHAIN_MAX 64

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

static yyjson_val *status_of(const struct ek_obj *obj)
{
    return ek_json_get(ek_obj_root(obj), "status", NULL);
}

static bool is_here(const struct ek_ff_world *world, const struct ek_obj *obj)
{
    return !strcmp(ek_obj_namespace(obj), world->namespace);
}

static bool is_copied(const struct ek_obj *csv)
{
    return ek_obj_label(csv, "olm.copiedFrom") != NULL;
}

static enum ek_ff_phase phase_of(const char *text)
{
    static const char *const names[EK_FF_PHASE_MAX] = {
        [EK_FF_PHASE_NONE] = "",
        [EK_FF_PENDING] = "Pending",
        [EK_FF_INSTALL_READY] = "InstallReady",
        [EK_FF_INSTALLING] = "Installing",
        [EK_FF_SUCCEEDED] = "Succeeded",
        [EK_FF_FAILED] = "Failed",
        [EK_FF_REPLACING] = "Replacing",
        [EK_FF_DELETING] = "Deleting",
    };
    for (int i = 0; i < EK_FF_PHASE_MAX; i++)
        if (names[i] && !strcmp(names[i], text_or_empty(text)))
            return (enum ek_ff_phase)i;
    return EK_FF_PHASE_OTHER;
}

/* Entries of the ring status.conditions of a CSV at most (github.com/operator-framework/api at
 * 3048ccd, pkg/operators/v1alpha1/clusterserviceversion.go:ConditionsLengthLimit). */
#define RING_MAX 20

/* Counts the failures of the ring. OLM drops the oldest entry of a full ring, so that a full ring
 * does not say what the CSV did before. */
static void read_ring(yyjson_val *ring, int64_t now_ms, struct ek_ff_csv *csv)
{
    size_t i, n;
    yyjson_val *entry;

    csv->first_failed_ms = EK_TIME_UNSET;
    yyjson_arr_foreach(ring, i, n, entry)
    {
        enum ek_ff_phase phase = phase_of(ek_json_str(entry, "phase", NULL));
        const char *reason = text_or_empty(ek_json_str(entry, "reason", NULL));
        int64_t at = ek_time_parse(ek_json_str(entry, "lastTransitionTime", NULL));

        if (phase == EK_FF_INSTALL_READY || phase == EK_FF_INSTALLING || phase == EK_FF_SUCCEEDED)
            csv->has_run = true;
        if (phase != EK_FF_FAILED || at == EK_TIME_UNSET || at < now_ms - EK_FF_LOOP_WINDOW_MS)
            continue;
        csv->n_failed++;
        csv->unhealthy = csv->unhealthy || !strcmp(reason, "ComponentUnhealthy");
        csv->failed_reason = reason;
        csv->failed_message = text_or_empty(ek_json_str(entry, "message", NULL));
        if (csv->first_failed_ms == EK_TIME_UNSET || at < csv->first_failed_ms)
            csv->first_failed_ms = at;
    }
    csv->may_have_run = csv->has_run || yyjson_arr_size(ring) >= RING_MAX;
}

static bool is_text(yyjson_val *object, const char *member, const char *text)
{
    return !strcmp(text_or_empty(ek_json_str(object, member, NULL)), text);
}

static bool lacks_rights(yyjson_val *requirement)
{
    size_t i, n;
    yyjson_val *entry;

    yyjson_arr_foreach(ek_json_get(requirement, "dependents", NULL), i, n, entry)
    {
        if (is_text(entry, "kind", "PolicyRule") && is_text(entry, "status", "NotSatisfied"))
            return true;
    }
    return false;
}

static bool owns_definition(const struct ek_ff_csv *csv, const char *name)
{
    yyjson_val *owned =
        ek_json_get(ek_obj_root(csv->obj), "spec", "customresourcedefinitions", "owned", NULL);
    size_t i, n;
    yyjson_val *entry;

    yyjson_arr_foreach(owned, i, n, entry)
    {
        if (is_text(entry, "name", name))
            return true;
    }
    return false;
}

/* The object of the requirement is lost, and a step makes it again. */
static bool is_lost_here(const struct ek_ff_csv *csv, yyjson_val *requirement)
{
    const char *name = text_or_empty(ek_json_str(requirement, "name", NULL));

    if (is_text(requirement, "kind", "ServiceAccount"))
        return is_text(requirement, "status", "NotPresent") || lacks_rights(requirement);
    return is_text(requirement, "kind", "CustomResourceDefinition") &&
           is_text(requirement, "status", "NotPresent") &&
           is_text(requirement, "message", "CRD is not present") && owns_definition(csv, name);
}

static bool is_right(const char *kind)
{
    return !strcmp(kind, "Role") || !strcmp(kind, "RoleBinding") || !strcmp(kind, "ClusterRole") ||
           !strcmp(kind, "ClusterRoleBinding");
}

bool ek_ff_is_lost(const struct ek_ff_csv *csv, const char *kind, const char *name)
{
    yyjson_val *requirements = ek_json_get(status_of(csv->obj), "requirementStatus", NULL);
    size_t i, n;
    yyjson_val *entry;

    yyjson_arr_foreach(requirements, i, n, entry)
    {
        bool is_it = is_text(entry, "kind", kind) && is_text(entry, "name", name) &&
                     is_text(entry, "status", "NotPresent");
        if (is_lost_here(csv, entry) && (is_it || (is_right(kind) && lacks_rights(entry))))
            return true;
    }
    return false;
}

static void read_requirements(yyjson_val *requirements, struct ek_ff_csv *csv)
{
    size_t i, n;
    yyjson_val *entry;

    yyjson_arr_foreach(requirements, i, n, entry)
    {
        const char *status = text_or_empty(ek_json_str(entry, "status", NULL));

        if (!strcmp(status, "Present") || !strcmp(status, "Satisfied") ||
            !strcmp(status, "DependentsSatisfied"))
            continue;
        if (!csv->unmet)
            csv->unmet = ek_json_str(entry, "message", NULL);
        csv->has_lost = csv->has_lost || is_lost_here(csv, entry);
    }
}

static bool has_conversion(yyjson_val *webhooks)
{
    size_t i, n;
    yyjson_val *webhook;

    yyjson_arr_foreach(webhooks, i, n, webhook)
    {
        if (!strcmp(text_or_empty(ek_json_str(webhook, "type", NULL)), "ConversionWebhook"))
            return true;
    }
    return false;
}

static void read_csv(struct ek_obj *obj, int64_t now_ms, struct ek_ff_csv *csv)
{
    yyjson_val *root = ek_obj_root(obj), *status = status_of(obj);

    *csv = (struct ek_ff_csv){
        .obj = obj,
        .name = ek_obj_name(obj),
        .replaces = text_or_empty(ek_json_str(root, "spec", "replaces", NULL)),
        .phase = phase_of(ek_json_str(status, "phase", NULL)),
        .reason = text_or_empty(ek_json_str(status, "reason", NULL)),
        .message = text_or_empty(ek_json_str(status, "message", NULL)),
        .failed_reason = "",
        .converts = has_conversion(ek_json_get(root, "spec", "webhookdefinitions", NULL)),
        .failed_message = "",
        .since_ms = ek_time_parse(ek_json_str(status, "lastTransitionTime", NULL)),
        .created_ms = ek_time_parse(ek_json_str(root, "metadata", "creationTimestamp", NULL)),
    };
    read_ring(ek_json_get(status, "conditions", NULL), now_ms, csv);
    read_requirements(ek_json_get(status, "requirementStatus", NULL), csv);
}

static const char *replaces_of(const struct ek_obj *csv)
{
    return text_or_empty(ek_json_str(ek_obj_root(csv), "spec", "replaces", NULL));
}

/* The CSVs of the namespace, without copies, found in a time that does not grow with their number:
 * a chain has many, and a user of the namespace chooses how many. */
struct csvs {
    const struct ek_ff_world *world;
    struct ek_map by_name, by_replaced; /* struct ek_obj; the first one of several */
};

static void put_first(struct ek_map *map, const char *key, struct ek_obj *csv)
{
    if (*key && !ek_map_get(map, key))
        ek_map_put(map, key, csv);
}

static void index_csvs(const struct ek_ff_world *world, struct csvs *csvs)
{
    *csvs = (struct csvs){.world = world};
    for (size_t i = 0; i < world->csvs.n; i++) {
        struct ek_obj *csv = world->csvs.items[i];
        if (!is_here(world, csv) || is_copied(csv))
            continue;
        put_first(&csvs->by_name, ek_obj_name(csv), csv);
        put_first(&csvs->by_replaced, replaces_of(csv), csv);
    }
}

static void forget_csvs(struct csvs *csvs)
{
    ek_map_done(&csvs->by_name);
    ek_map_done(&csvs->by_replaced);
}

static struct ek_obj *find_csv(const struct csvs *csvs, const char *name)
{
    return ek_map_get(&csvs->by_name, name);
}

/* The CSV that replaces name; NULL for none. */
static struct ek_obj *find_replacer(const struct csvs *csvs, const char *name)
{
    return ek_map_get(&csvs->by_replaced, name);
}

/* The error of a plan. A plan that retries has a prefix before the error; a message without the
 * prefix was written by the one who re-opened the plan. OLM does not begin with a plan while the
 * namespace does not have one operator group whose ServiceAccount exists: the condition says so
 * until it ends (operator-lifecycle-manager at 992bb097, pkg/controller/operators/catalog/
 * operator.go:syncInstallPlans). */
static const char *plan_message(yyjson_val *status, bool failed)
{
    static const char retrying[] = "retrying execution due to error: ";
    const char *message = text_or_empty(ek_json_str(status, "message", NULL));
    yyjson_val *installed = ek_cond_find(ek_json_get(status, "conditions", NULL), "Installed");

    if (!strcmp(text_or_empty(ek_json_str(installed, "reason", NULL)), "InstallCheckFailed"))
        return text_or_empty(ek_json_str(installed, "message", NULL));
    if (!strncmp(message, retrying, sizeof retrying - 1))
        return message + sizeof retrying - 1;
    if (failed && *message)
        return message;
    return failed ? text_or_empty(ek_json_str(installed, "message", NULL)) : "";
}

/* When S1 re-opened the plan. OLM sets startTime when it begins with a plan. */
static int64_t retry_time(yyjson_val *status)
{
    const size_t size = sizeof EK_FF_RETRY_MESSAGE - 1;
    const char *message = text_or_empty(ek_json_str(status, "message", NULL));

    if (ek_json_str(status, "startTime", NULL) || strncmp(message, EK_FF_RETRY_MESSAGE, size) != 0)
        return EK_TIME_UNSET;
    return ek_time_parse(message + size);
}

static void read_plan(struct ek_obj *obj, struct ek_ff_plan *plan)
{
    static const struct {
        const char *name;
        enum ek_ff_plan_phase phase;
    } phases[] = {{"RequiresApproval", EK_FF_PLAN_APPROVAL},
                  {"Installing", EK_FF_PLAN_INSTALLING},
                  {"Complete", EK_FF_PLAN_COMPLETE},
                  {"Failed", EK_FF_PLAN_FAILED}};
    yyjson_val *root = ek_obj_root(obj), *status = status_of(obj);
    yyjson_val *installed = ek_cond_find(ek_json_get(status, "conditions", NULL), "Installed");
    const char *phase = text_or_empty(ek_json_str(status, "phase", NULL));

    *plan = (struct ek_ff_plan){
        .obj = obj,
        .name = ek_obj_name(obj),
        .generation = yyjson_get_sint(ek_json_get(root, "spec", "generation", NULL)),
        .message = plan_message(status, !strcmp(phase, "Failed")),
        .created_ms = ek_time_parse(ek_json_str(root, "metadata", "creationTimestamp", NULL)),
        .start_ms = ek_time_parse(ek_json_str(status, "startTime", NULL)),
        .done_ms = ek_time_parse(ek_json_str(installed, "lastTransitionTime", NULL)),
        .retried_ms = retry_time(status),
    };
    for (size_t i = 0; i < EK_ARRAY_SIZE(phases); i++)
        if (!strcmp(phase, phases[i].name))
            plan->phase = phases[i].phase;
}

static bool plan_names(const struct ek_obj *plan, const char *csv)
{
    yyjson_val *names = ek_json_get(ek_obj_root(plan), "spec", "clusterServiceVersionNames", NULL);
    size_t i, n;
    yyjson_val *name;

    yyjson_arr_foreach(names, i, n, name)
    {
        if (yyjson_equals_str(name, csv))
            return true;
    }
    return false;
}

static bool is_step_of(yyjson_val *step, const char *csv)
{
    yyjson_val *resource = ek_json_get(step, "resource", NULL);

    return is_text(resource, "kind", "ClusterServiceVersion") && is_text(resource, "name", csv);
}

/* A step of the plan says that the CSV was made. A step has the state Unknown before. */
static bool has_made(const struct ek_obj *plan, const char *csv)
{
    size_t i, n;
    yyjson_val *step;

    yyjson_arr_foreach(ek_json_get(status_of(plan), "plan", NULL), i, n, step)
    {
        if (is_step_of(step, csv) &&
            (is_text(step, "status", "Created") || is_text(step, "status", "Present")))
            return true;
    }
    return false;
}

struct ek_obj *ek_ff_plan_csv(const struct ek_ff_plan *plan, const char *csv)
{
    size_t i, n;
    yyjson_val *step;

    if (!plan->obj)
        return NULL;
    yyjson_arr_foreach(ek_json_get(status_of(plan->obj), "plan", NULL), i, n, step)
    {
        const char *manifest = ek_json_str(step, "resource", "manifest", NULL);
        struct ek_err err = {0};
        struct ek_obj *obj = NULL;
        if (!manifest || !is_step_of(step, csv) ||
            ek_obj_parse(manifest, strlen(manifest), &obj, &err))
            continue;
        if (!strcmp(ek_obj_name(obj), csv) &&
            ek_json_str(ek_obj_root(obj), "spec", "version", NULL) &&
            ek_obj_annotation(obj, "operatorframework.io/properties"))
            return obj;
        ek_obj_unref(obj);
    }
    return NULL;
}

/* The plan of a CSV with the highest generation. */
static void find_plan(const struct ek_ff_world *world, const char *csv, struct ek_ff_plan *newest)
{
    *newest = (struct ek_ff_plan){0};
    for (size_t i = 0; *csv && i < world->plans.n; i++) {
        struct ek_ff_plan plan;
        struct ek_obj *obj = world->plans.items[i];
        if (!is_here(world, obj) || !plan_names(obj, csv))
            continue;
        read_plan(obj, &plan);
        plan.has_made = has_made(obj, csv);
        if (!newest->obj || plan.generation > newest->generation)
            *newest = plan;
    }
}

static bool owns_plan(const struct ek_ff_state *state, const struct ek_obj *plan)
{
    yyjson_val *owners = ek_json_get(ek_obj_root(plan), "metadata", "ownerReferences", NULL);
    size_t i, n;
    yyjson_val *owner;

    yyjson_arr_foreach(owners, i, n, owner)
    {
        if (!strcmp(text_or_empty(ek_json_str(owner, "kind", NULL)), "Subscription") &&
            !strcmp(text_or_empty(ek_json_str(owner, "uid", NULL)), ek_obj_uid(state->sub)))
            return true;
    }
    return false;
}

/* The newest plan of the subscription, where it waits for approval; and whether any plan runs. */
static void find_waiting(const struct ek_ff_world *world, struct ek_ff_state *state)
{
    struct ek_ff_plan newest = {0};

    for (size_t i = 0; i < world->plans.n; i++) {
        struct ek_ff_plan plan;
        struct ek_obj *obj = world->plans.items[i];
        if (!is_here(world, obj))
            continue;
        read_plan(obj, &plan);
        state->busy =
            state->busy || plan.phase == EK_FF_PLAN_APPROVAL || plan.phase == EK_FF_PLAN_INSTALLING;
        if (!owns_plan(state, obj))
            continue;
        if (!newest.obj || plan.generation > newest.generation)
            newest = plan;
    }
    if (newest.phase == EK_FF_PLAN_APPROVAL)
        state->waiting = newest;
}

static const char *true_message(yyjson_val *conditions, const char *type)
{
    if (ek_cond_status(conditions, type) != EK_COND_TRUE)
        return NULL;
    return text_or_empty(ek_json_str(ek_cond_find(conditions, type), "message", NULL));
}

static int64_t since(yyjson_val *conditions, const char *type)
{
    return ek_time_parse(ek_json_str(ek_cond_find(conditions, type), "lastTransitionTime", NULL));
}

static void read_subscription(struct ek_obj *sub, struct ek_ff_state *state)
{
    yyjson_val *root = ek_obj_root(sub), *status = status_of(sub);
    yyjson_val *conditions = ek_json_get(status, "conditions", NULL);

    state->sub = sub;
    state->name = ek_obj_name(sub);
    state->package = text_or_empty(ek_json_str(root, "spec", "name", NULL));
    state->starting = text_or_empty(ek_json_str(root, "spec", "startingCSV", NULL));
    state->current = text_or_empty(ek_json_str(status, "currentCSV", NULL));
    state->installed = text_or_empty(ek_json_str(status, "installedCSV", NULL));
    state->state = text_or_empty(ek_json_str(status, "state", NULL));
    state->resolution = true_message(conditions, "ResolutionFailed");
    state->resolution_ms = since(conditions, "ResolutionFailed");
    state->unpack_failed = true_message(conditions, "BundleUnpackFailed");
    state->unpack_ms = since(conditions, "BundleUnpackFailed");
}

/* The message says that the catalog lacks the package, the channel or the version of the
 * subscription (operator-lifecycle-manager at 992bb097, pkg/controller/registry/resolver/
 * resolver.go:getSubscriptionInstallables). */
static bool blames(const char *message, const char *name)
{
    static const char words[] = "in the catalog referenced by subscription ";
    size_t len = strlen(name);

    for (const char *at = message; (at = strstr(at, words));) {
        at += sizeof words - 1;
        if (!strncmp(at, name, len) && (at[len] == ',' || !at[len]))
            return true;
    }
    return false;
}

static void find_culprit(const struct ek_ff_world *world, struct ek_ff_state *state)
{
    for (size_t i = 0; state->resolution && i < world->subscriptions.n; i++) {
        struct ek_obj *sub = world->subscriptions.items[i];
        if (is_here(world, sub) && blames(state->resolution, ek_obj_name(sub)))
            state->culprit = ek_obj_name(sub);
    }
}

static bool is_on(const struct ek_obj *group)
{
    const char *strategy = ek_json_str(ek_obj_root(group), "spec", "upgradeStrategy", NULL);

    return !strcmp(text_or_empty(strategy), "TechPreviewUnsafeFailForward");
}

bool ek_ff_is_switched(const struct ek_obj *group)
{
    const char *mark = ek_obj_annotation(group, EK_FF_SWITCH_MARK);
    int64_t generation =
        yyjson_get_sint(ek_json_get(ek_obj_root(group), "metadata", "generation", NULL));

    return is_on(group) && mark && strtoll(mark, NULL, 10) == generation;
}

static void read_groups(const struct ek_ff_world *world, struct ek_ff_state *state)
{
    for (size_t i = 0; i < world->groups.n; i++) {
        struct ek_obj *group = world->groups.items[i];
        if (!is_here(world, group))
            continue;
        state->n_groups++;
        state->group = state->n_groups == 1 ? group : NULL;
        state->switched_on = state->group && is_on(group);
        state->marked = state->group && ek_ff_is_switched(group);
    }
}

static void read_catalog(const struct ek_ff_world *world, struct ek_ff_state *state)
{
    yyjson_val *root = ek_obj_root(state->sub);
    const char *name = text_or_empty(ek_json_str(root, "spec", "source", NULL));
    const char *namespace = text_or_empty(ek_json_str(root, "spec", "sourceNamespace", NULL));

    for (size_t i = 0; i < world->catalogs.n; i++) {
        struct ek_obj *catalog = world->catalogs.items[i];
        yyjson_val *connection = ek_json_get(status_of(catalog), "connectionState", NULL);
        if (strcmp(ek_obj_name(catalog), name) != 0 ||
            strcmp(ek_obj_namespace(catalog), namespace) != 0)
            continue;
        state->catalog_ready =
            !strcmp(text_or_empty(ek_json_str(connection, "lastObservedState", NULL)), "READY");
    }
}

/* The message of Upgradeable=False of the CSV; an override of an administrator counts first
 * (operator-lifecycle-manager at 992bb097, pkg/controller/operators/olm/
 * operatorconditions.go:isOperatorUpgradeable). */
static const char *refuses_upgrade(const struct ek_ff_world *world, const char *csv)
{
    for (size_t i = 0; i < world->conditions.n; i++) {
        struct ek_obj *condition = world->conditions.items[i];
        if (!is_here(world, condition) || strcmp(ek_obj_name(condition), csv) != 0)
            continue;
        yyjson_val *spec = ek_json_get(ek_obj_root(condition), "spec", NULL);
        yyjson_val *overrides = ek_json_get(spec, "overrides", NULL);
        yyjson_val *conditions = ek_json_get(spec, "conditions", NULL);
        if (!ek_cond_find(conditions, "Upgradeable")) /* operators.coreos.com/v1 */
            conditions = ek_json_get(status_of(condition), "conditions", NULL);
        if (ek_cond_find(overrides, "Upgradeable"))
            conditions = overrides;
        if (ek_cond_status(conditions, "Upgradeable") == EK_COND_FALSE)
            return text_or_empty(
                ek_json_str(ek_cond_find(conditions, "Upgradeable"), "message", NULL));
    }
    return NULL;
}

/* True for a CSV that is in the way of the one that replaces it. A healthy CSV moves by itself. */
static bool blocks_replacer(const struct ek_ff_csv *csv)
{
    return csv->phase == EK_FF_PENDING || csv->phase == EK_FF_INSTALL_READY ||
           csv->phase == EK_FF_INSTALLING || csv->phase == EK_FF_FAILED;
}

/* Walks from the newest CSV to the oldest. */
static void read_chain(const struct csvs *csvs, struct ek_obj *newest, int64_t now_ms,
                       struct ek_ff_state *state)
{
    const struct ek_ff_world *world = csvs->world;
    struct ek_obj *csv = newest;

    for (int i = 0; csv && i < CHAIN_MAX; i++) {
        read_csv(csv, now_ms, &state->running);
        if (i > 0 && blocks_replacer(&state->running))
            state->stuck = state->running;
        if (!state->not_upgradeable)
            state->not_upgradeable = refuses_upgrade(world, ek_obj_name(csv));
        csv = find_csv(csvs, replaces_of(csv));
    }
    if (state->stuck.obj)
        find_plan(world, state->stuck.name, &state->stuck_plan);
}

/* The newest CSV of the chain that a CSV belongs to. */
static struct ek_obj *newest_of(const struct csvs *csvs, struct ek_obj *csv)
{
    for (int i = 0; csv && i < CHAIN_MAX; i++) {
        struct ek_obj *next = find_replacer(csvs, ek_obj_name(csv));
        if (!next)
            break;
        csv = next;
    }
    return csv;
}

#define LABEL_PREFIX "operators.coreos.com/"
#define LABEL_MAX    (sizeof LABEL_PREFIX + 63) /* with the NUL */

/* The label of the CSVs of a package. OLM cuts the name of the label after 63 bytes, and the
 * separators at the end off (operator-lifecycle-manager at 992bb097,
 * pkg/controller/operators/decorators/operator.go:ComponentLabelKey). */
static void label_of(const char *package, const char *namespace, char label[LABEL_MAX])
{
    snprintf(label, LABEL_MAX, LABEL_PREFIX "%s.%s", package, namespace);
    if (strlen(package) + 1 + strlen(namespace) <= 63)
        return;
    for (size_t len = strlen(label); len && strchr("._-", label[len - 1]); len--)
        label[len - 1] = '\0';
}

/* What is left when the installed CSV was deleted: a CSV with the label of the package that nobody
 * replaces, or else the CSV that the deleted one replaced, as the plan of the deleted one says. OLM
 * sets the label after it has made the CSV, and a user can remove the label. */
static struct ek_obj *find_rest(const struct csvs *csvs, const struct ek_ff_state *state)
{
    const struct ek_ff_world *world = csvs->world;
    char label[LABEL_MAX];

    label_of(state->package, world->namespace, label);
    for (size_t i = 0; i < world->csvs.n; i++) {
        struct ek_obj *csv = world->csvs.items[i];
        if (is_here(world, csv) && !is_copied(csv) && ek_obj_label(csv, label) &&
            !find_replacer(csvs, ek_obj_name(csv)))
            return csv;
    }
    EK_AUTOPTR(ek_obj, ek_obj_unref) *bundle = ek_ff_plan_csv(&state->plan, state->current);
    return bundle ? find_csv(csvs, replaces_of(bundle)) : NULL;
}

static void observe_csvs(const struct csvs *csvs, int64_t now_ms, struct ek_ff_state *state)
{
    struct ek_obj *head = find_csv(csvs, state->current);
    struct ek_obj *installed = find_csv(csvs, state->installed);

    /* The version of a new plan is the current one before the plan is approved: recorded in
     * test/data/failforward/manual. */
    state->offered = !head && installed && state->plan.phase == EK_FF_PLAN_APPROVAL;
    if (state->offered) {
        head = installed;
        find_plan(csvs->world, state->installed, &state->plan);
    }
    if (head) {
        read_csv(head, now_ms, &state->head);
        state->alone = !find_csv(csvs, state->head.replaces);
        state->wedged =
            state->head.phase == EK_FF_REPLACING && !find_replacer(csvs, state->head.name);
        read_chain(csvs, newest_of(csvs, head), now_ms, state);
        return;
    }
    if (!installed)
        installed = find_rest(csvs, state);
    state->alone = !installed;
    if (installed) {
        struct ek_obj *newest = newest_of(csvs, installed);
        state->moving = newest != installed;
        read_chain(csvs, newest, now_ms, state);
        read_csv(newest, now_ms, &state->running);
    }
}

void ek_ff_observe(const struct ek_ff_world *world, struct ek_obj *subscription, int64_t now_ms,
                   struct ek_ff_state *ret_state)
{
    struct csvs csvs;

    *ret_state = (struct ek_ff_state){.hooks = world->hooks};
    read_subscription(subscription, ret_state);
    find_culprit(world, ret_state);
    read_groups(world, ret_state);
    read_catalog(world, ret_state);
    find_plan(world, ret_state->current, &ret_state->plan);
    find_waiting(world, ret_state);
    if (!ret_state->plan.obj) {
        const char *ref =
            ek_json_str(ek_obj_root(subscription), "status", "installPlanRef", "name", NULL);
        ret_state->plan_missing = ref != NULL;
        for (size_t i = 0; ref && i < world->plans.n; i++)
            if (is_here(world, world->plans.items[i]) &&
                !strcmp(ek_obj_name(world->plans.items[i]), ref))
                ret_state->plan_missing = false;
    }
    index_csvs(world, &csvs);
    observe_csvs(&csvs, now_ms, ret_state);
    forget_csvs(&csvs);
}
