/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/failforward/watch.h"

#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/failforward/report.h"

static void on_here(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                    const struct ek_obj *obj, bool initial)
{
    (void)change;
    (void)initial;
    ek_ff_on_change(ctx, ek_obj_namespace(obj ? obj : old), false);
}

static void on_catalog(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                       const struct ek_obj *obj, bool initial)
{
    (void)change;
    (void)initial;
    ek_ff_on_source(ctx, ek_obj_key(obj ? obj : old));
}

static void on_hook(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                    const struct ek_obj *obj, bool initial)
{
    (void)change;
    (void)initial;
    ek_ff_on_change(ctx, ek_ff_hook_namespace(obj ? obj : old), false);
}

/* What consent is read out of: policies, the labels of namespaces, subscriptions. */

static void on_policy(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                      const struct ek_obj *obj, bool initial)
{
    (void)change;
    (void)old;
    (void)obj;
    (void)initial;
    ek_ff_on_change(ctx, NULL, true);
}

static void on_namespace(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                         const struct ek_obj *obj, bool initial)
{
    (void)change;
    (void)initial;
    ek_ff_on_change(ctx, ek_obj_name(obj ? obj : old), true);
}

static void on_subscription(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                            const struct ek_obj *obj, bool initial)
{
    (void)change;
    (void)initial;
    ek_ff_on_change(ctx, ek_obj_namespace(obj ? obj : old), true);
}

/* The version of OLM is read out of a CSV. */
static void on_csv(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                   const struct ek_obj *obj, bool initial)
{
    const struct ek_obj *csv = obj ? obj : old;

    (void)change;
    (void)initial;
    ek_ff_on_change(
        ctx, ek_ff_is_olm_namespace(ek_obj_namespace(csv)) ? NULL : ek_obj_namespace(csv), false);
}

/* What the resources of a group have in common. */
#define OF_OLM .group = EK_FF_OLM_GROUP, .version = "v1alpha1", .optional = true
#define OWN    .group = "evenkeel.dev", .version = "v1alpha1", .optional = true
#define FLAGS  (EK_WATCH_BLIND | EK_WATCH_LATER)
#define HOOKS                                                                                      \
    .group = "admissionregistration.k8s.io", .version = "v1", .optional = true,                    \
    .label_selector = EK_FF_HOOK_SELECTOR

const struct ek_watch_row ek_ff_watch_rows[EK_FF_ROWS] = {
    [EK_FF_POLICIES] = {.resource = {OWN, .resource = "failforwardpolicies",
                                     .kind = "FailForwardPolicy"},
                        .flags = FLAGS,
                        .seen = on_policy},
    [EK_FF_REPORTS] = {.resource = {OWN, .resource = EK_FF_REPORTS_RESOURCE,
                                    .kind = "FailForwardStatus"},
                       .flags = FLAGS,
                       .seen = on_here},
    [EK_FF_NAMESPACES] = {.resource = {.group = "",
                                       .version = "v1",
                                       .resource = "namespaces",
                                       .kind = "Namespace",
                                       .metadata_only = true},
                          .flags = FLAGS,
                          .seen = on_namespace},
    [EK_FF_SUBSCRIPTIONS] = {.resource = {OF_OLM, .resource = "subscriptions",
                                          .kind = "Subscription"},
                             .flags = FLAGS,
                             .seen = on_subscription},
    [EK_FF_PLANS] = {.resource = {OF_OLM, .resource = "installplans", .kind = "InstallPlan"},
                     .flags = FLAGS,
                     .seen = on_here},
    [EK_FF_CSVS] = {.resource = {OF_OLM, .resource = "clusterserviceversions",
                                 .kind = "ClusterServiceVersion",
                                 .label_selector = "!olm.copiedFrom"},
                    .flags = FLAGS,
                    .seen = on_csv},
    [EK_FF_GROUPS] = {.resource = {OF_OLM, .resource = "operatorgroups", .kind = "OperatorGroup"},
                      .flags = FLAGS,
                      .seen = on_here},
    [EK_FF_CONDITIONS] = {.resource = {OF_OLM, .resource = "operatorconditions",
                                       .kind = "OperatorCondition"},
                          .flags = FLAGS,
                          .seen = on_here},
    [EK_FF_CATALOGS] = {.resource = {OF_OLM, .resource = "catalogsources", .kind = "CatalogSource"},
                        .flags = FLAGS,
                        .seen = on_catalog},
    /* A report without them says less. */
    [EK_FF_VALIDATING] = {.resource = {HOOKS, .resource = "validatingwebhookconfigurations",
                                       .kind = "ValidatingWebhookConfiguration"},
                          .name = "olmvalidatingwebhookconfigurations",
                          .flags = EK_WATCH_LATER,
                          .seen = on_hook},
    [EK_FF_MUTATING] = {.resource = {HOOKS, .resource = "mutatingwebhookconfigurations",
                                     .kind = "MutatingWebhookConfiguration"},
                        .name = "olmmutatingwebhookconfigurations",
                        .flags = EK_WATCH_LATER,
                        .seen = on_hook},
};

void ek_ff_watch_set(struct ek_watchset *set, const struct ek_ff_served *served)
{
    for (size_t row = 0; row < EK_FF_ROWS; row++) {
        struct ek_resource resource = ek_ff_watch_rows[row].resource;
        if (served && row == EK_FF_GROUPS)
            resource.version = served->groups_version;
        if (served && row == EK_FF_CONDITIONS)
            resource.version = served->conditions_version;
        ek_watchset_set(set, row, served && resource.version ? &resource : NULL, NULL);
    }
}

enum ek_ff_row ek_ff_row_of(const char *resource)
{
    int row = 0;

    while (row < EK_FF_ROWS && strcmp(ek_ff_watch_rows[row].resource.resource, resource) != 0)
        row++;
    return (enum ek_ff_row)row;
}

void ek_ff_lists_take(struct ek_ff_lists *lists, const struct ek_watchset *set)
{
    for (size_t row = 0; row < EK_FF_ROWS; row++) {
        const struct ek_store *store = ek_watchset_store(set, row);
        if (store)
            lists->items[row] = ek_store_snapshot(store, &lists->n[row]);
    }
}

void ek_ff_lists_done(struct ek_ff_lists *lists)
{
    for (size_t row = 0; row < EK_FF_ROWS; row++)
        ek_snapshot_free(lists->items[row], lists->n[row]);
    *lists = (struct ek_ff_lists){0};
}

struct ek_ff_objs ek_ff_lists_all(const struct ek_ff_lists *lists, enum ek_ff_row row)
{
    return (struct ek_ff_objs){lists->items[row], lists->n[row]};
}

/* Lists are in the order of keys, "namespace/name". */
struct ek_ff_objs ek_ff_lists_in(const struct ek_ff_lists *lists, enum ek_ff_row row,
                                 const char *namespace)
{
    struct ek_obj *const *items = lists->items[row];
    EK_AUTOFREE char *prefix = ek_xasprintf("%s/", namespace);
    size_t len = strlen(prefix), low = 0, high = lists->n[row], end;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (strcmp(ek_obj_key(items[mid]), prefix) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    for (end = low; end < lists->n[row] && !strncmp(ek_obj_key(items[end]), prefix, len); end++)
        ;
    return (struct ek_ff_objs){items ? items + low : NULL, end - low};
}
