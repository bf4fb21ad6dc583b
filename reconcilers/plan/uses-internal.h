/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of uses: collected in uses.c, reported in uses_report.c. */
#ifndef RECONCILERS_PLAN_USES_INTERNAL_H
#define RECONCILERS_PLAN_USES_INTERNAL_H

#include "reconcilers/plan/uses.h"

enum ek_plan_use_rule {
    EK_PLAN_USE_WRITTEN,
    EK_PLAN_USE_APPLIED,
    EK_PLAN_USE_OWNER,
    EK_PLAN_USE_TARGET,
    EK_PLAN_USE_RULE,
    EK_PLAN_USE_APISERVICE,
};

/* One client, or one kind of reference, and an API version. Texts are of the collection. */
struct ek_plan_use {
    enum ek_plan_use_rule rule;
    const struct ek_api_lifecycle *life; /* that goes; of an APIService any of the version */
    const char *who;                     /* the manager, or the kind of the object that refers */
    size_t n, n_current; /* objects; of EK_PLAN_USE_WRITTEN, those whose manager wrote no other
                            version since */
    const char *object;  /* the one of the newest time, or the first */
    const char *field;   /* in that object; "" */
    const char *time;    /* of the newest write; "" */
    bool serves; /* of EK_PLAN_USE_APISERVICE: a service serves a version that becomes built-in */
};

/* The plural of a kind, from any version of the kind or of the kind that replaces it; NULL when no
 * version has one. */
const char *ek_plan_uses_plural__(const struct ek_plan_target *target,
                                  const struct ek_api_lifecycle *life);

/* True when the group still serves the resource at the target; resource NULL: anything. */
bool ek_plan_uses_remains__(const struct ek_plan_target *target, const char *group,
                            const char *resource);

#endif
