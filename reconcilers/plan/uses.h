/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who uses the API versions that go with a target, which is newer, or older on the way back: what
 * the objects of a cluster record of their clients, and name of other objects.
 *
 *   managedFields      the manager, the API version of the write and its time
 *                      (apimachinery/pkg/apis/meta/v1/types.go:ManagedFieldsEntry at 1.36)
 *   last-applied       the annotation of kubectl: a hint, and no use, because it stays until the
 *                      next apply
 *   ownerReferences    the garbage collector finds an owner by its API version
 *                      (pkg/controller/garbagecollector/garbagecollector.go:apiResource at 1.36)
 *   scaleTargetRef     autoscalers find the target by group and kind
 *                      (pkg/controller/podautoscaler/horizontal.go:reconcileAutoscaler at 1.36)
 *   rules of RBAC      grant nothing for a resource that has gone from its group
 *   APIServices        go before the versions that an API server has itself
 *
 * The caller reads the lists that ek_plan_uses_lists names, page by page, gives each item to
 * ek_plan_uses_item, and takes the findings at the end: one for each client and API version, not
 * one for each object. Pure; threading: one thread.
 */
#ifndef RECONCILERS_PLAN_USES_H
#define RECONCILERS_PLAN_USES_H

#include "reconcilers/plan/objects.h"

/* Clients and references that are kept apart; of further ones only the number is reported. */
#define EK_PLAN_USES_MAX 128

enum ek_plan_use_what {
    EK_PLAN_USE_METADATA, /* PartialObjectMetadata is enough */
    EK_PLAN_USE_SCALERS,
    EK_PLAN_USE_ROLES,
    EK_PLAN_USE_APISERVICES,
};

/* A list to read. Strings are constant or of the data. */
struct ek_plan_use_list {
    const char *group, *version, *resource, *kind;
    enum ek_plan_use_what what;
    bool goes; /* an API version of the resource goes; else the list is read for what its objects
                  name */
};

struct ek_plan_use;

struct ek_plan_uses {
    struct ek_plan_target target;
    struct ek_arena *arena; /* owned: of what is kept */
    struct ek_plan_use *list;
    size_t n;
    size_t n_more; /* uses for which there was no room */
};

/*
 * The lists to read for a target whose from is known; they live in arena. Returns their number: 0
 * when no API version goes. A list is requested in a version that stays, because a request in the
 * version that goes would count as a use of it; a resource without such a version has no list.
 */
size_t ek_plan_uses_lists(const struct ek_plan_target *target, struct ek_arena *arena,
                          struct ek_plan_use_list **ret_lists);

/* target is copied, its data borrowed. */
void ek_plan_uses_init(struct ek_plan_uses *uses, const struct ek_plan_target *target);
void ek_plan_uses_done(struct ek_plan_uses *uses);
EK_CLEANUP(ek_plan_uses, ek_plan_uses_done)

/* Takes what an item of a list records; nothing of it is borrowed. */
void ek_plan_uses_item(struct ek_plan_uses *uses, const struct ek_plan_use_list *list,
                       yyjson_val *item);

/* Adds the findings for what goes up to the version: rules api-written, api-applied, owner-version,
 * scale-target, rbac-rule and apiservice (README.md, "Findings"). */
void ek_plan_uses_report(const struct ek_plan_uses *uses, struct ek_plan_report *report);

#endif
