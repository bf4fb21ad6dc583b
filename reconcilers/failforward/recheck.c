/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/recheck.h"

#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/failforward/consent.h"

#define NAMES_MAX 4096

static const struct ek_resource resources[EK_FF_FRESH_MAX] = {
    [EK_FF_FRESH_POLICIES] = {.group = "evenkeel.dev",
                              .version = "v1alpha1",
                              .resource = "failforwardpolicies",
                              .kind = "FailForwardPolicy"},
    [EK_FF_FRESH_NAMESPACES] = {.group = "",
                                .version = "v1",
                                .resource = "namespaces",
                                .kind = "Namespace"},
    [EK_FF_FRESH_SUBSCRIPTIONS] = {.group = "operators.coreos.com",
                                   .version = "v1alpha1",
                                   .resource = "subscriptions",
                                   .kind = "Subscription"},
};

void ek_ff_recheck(const char *namespace, struct ek_intents *intents)
{
    EK_AUTOFREE char *by_name = ek_xasprintf("metadata.name=%s", namespace);

    for (int kind = 0; kind < EK_FF_FRESH_MAX; kind++) {
        struct ek_resource resource = resources[kind];
        if (kind == EK_FF_FRESH_NAMESPACES)
            resource.field_selector = by_name;
        if (kind == EK_FF_FRESH_SUBSCRIPTIONS)
            resource.namespace = namespace;
        ek_intents_depend(ek_intents_list(intents, &resource))->on_failure = EK_GO_ON;
    }
}

enum ek_ff_fresh ek_ff_fresh_of(const char *resource)
{
    int kind = 0;

    while (kind < EK_FF_FRESH_MAX && strcmp(resources[kind].resource, resource) != 0)
        kind++;
    return (enum ek_ff_fresh)kind;
}

/* The items of a list; both are owned. */
static struct ek_ff_objs items_of(const struct ek_obj *list, const char *kind)
{
    yyjson_val *item, *items = ek_json_get(ek_obj_root(list), "items", NULL);
    struct ek_obj **objs = ek_xalloc((yyjson_arr_size(items) + 1) * sizeof(struct ek_obj *));
    size_t i, n, count = 0;

    yyjson_arr_foreach(items, i, n, item)
    {
        struct ek_obj *obj = ek_obj_from_item(item, ek_obj_api_version(list), kind);
        if (obj)
            objs[count++] = obj;
    }
    return (struct ek_ff_objs){objs, count};
}

static void release(const struct ek_ff_objs *objs)
{
    for (size_t i = 0; i < objs->n; i++)
        ek_obj_unref(objs->items[i]);
    ek_free((void *)(uintptr_t)objs->items);
}

/* True where now allows all that was allowed. */
static bool covers(const struct ek_ff_consent *now, const struct ek_ff_consent *was)
{
    return now->mode >= was->mode && now->shared <= was->shared && !(now->denied & ~was->denied) &&
           now->approve >= was->approve && now->any_olm >= was->any_olm;
}

bool ek_ff_is_still_given(const struct ek_ff_verdict *v,
                          const struct ek_obj *const lists[EK_FF_FRESH_MAX])
{
    struct ek_ff_objs objs[EK_FF_FRESH_MAX];
    bool given = false;
    EK_AUTO(ek_buf) names;

    ek_buf_init(&names, NAMES_MAX);
    for (int kind = 0; kind < EK_FF_FRESH_MAX; kind++)
        objs[kind] = items_of(lists[kind], resources[kind].kind);
    const struct ek_ff_objs *subs = &objs[EK_FF_FRESH_SUBSCRIPTIONS];
    const struct ek_ff_world world = {.namespace = ek_obj_namespace(v->subscription),
                                      .subscriptions = *subs};
    const struct ek_ff_rules rules = {objs[EK_FF_FRESH_POLICIES], objs[EK_FF_FRESH_NAMESPACES]};
    struct ek_ff_consented *all = ek_xalloc((subs->n + 1) * sizeof *all);
    ek_ff_consent_all(&rules, &world, all, &names);
    for (size_t i = 0; i < subs->n; i++)
        if (!strcmp(ek_obj_uid(subs->items[i]), ek_obj_uid(v->subscription)))
            given = covers(&all[i].consent, &v->consent);
    ek_free(all);
    for (int kind = 0; kind < EK_FF_FRESH_MAX; kind++)
        release(&objs[kind]);
    return given;
}
