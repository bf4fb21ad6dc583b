/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an upgrade changes for an object of a file: whether the target serves the API version, knows
 * the fields, compiles the expressions, and accepts the flags of a kube-apiserver.
 *
 * Only what changes between the two versions is reported: not what went before the first, not what
 * goes after the second. Without a first version everything up to the target counts. Pure.
 */
#ifndef RECONCILERS_PLAN_OBJECTS_H
#define RECONCILERS_PLAN_OBJECTS_H

#include "api/base/work.h"
#include "api/schema/schema.h"
#include "reconcilers/plan/data.h"
#include "reconcilers/plan/report.h"

struct ek_plan_target {
    const struct ek_plan_data *data;
    struct ek_minor from; /* unknown: any */
    struct ek_minor to;
};

/* An object and its source. */
struct ek_plan_object {
    yyjson_val *value;
    const char *source;
    size_t (*line)(void *ctx, const char *path); /* of a path in the object; NULL: not known */
    void *ctx;
    bool is_served; /* read from an API server, in the version of the request: the version says
                       nothing about what clients use, and is not checked */
    struct ek_work *work; /* limit for the compilation of expressions, which ends with it; NULL: no
                             limit */
};

/* Adds to report what the target changes for object. Returns true when the kind belongs to
 * Kubernetes itself or to kubeadm, so that the object was checked. */
bool ek_plan_check_object(const struct ek_plan_target *target, const struct ek_plan_object *object,
                          struct ek_plan_report *report);

/* Adds only the fields of object that the target does not know, at whatever version they were
 * removed, and, on a way back, the fields that target->from does not know. */
void ek_plan_check_fields(const struct ek_plan_target *target, const struct ek_plan_object *object,
                          struct ek_plan_report *report);

/*
 * The API version that may replace that of object without any other change: the schema (of the
 * target's built-in kinds; NULL: not known) accepts the object, the object means the same, and both
 * versions of the target serve the new API version. NULL with the reason in *ret_why otherwise. The
 * texts live in arena.
 */
const char *ek_plan_rewrite(const struct ek_plan_target *target, const struct ek_schema *schema,
                            yyjson_val *object, struct ek_arena *arena, const char **ret_why);

#endif
