/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plan says of objects, flags and servers: findings, each with the place, the consequence
 * and what to do. Pure; everything lives in the arena of the report.
 */
#ifndef RECONCILERS_PLAN_REPORT_H
#define RECONCILERS_PLAN_REPORT_H

#include <stdbool.h>

#include "api/base/arena.h"
#include "api/version.h"

enum ek_plan_severity {
    EK_PLAN_ERROR,   /* blocks: something is refused, lost or not served at the target */
    EK_PLAN_UNKNOWN, /* not known */
    EK_PLAN_WARNING, /* works at the target, and needs attention */
    EK_PLAN_FIXED,   /* was an error or a warning; the file was rewritten */
    EK_PLAN_SEVERITY_MAX,
};

/* "error", "unknown", "warning", "fixed". */
const char *ek_plan_severity_name(enum ek_plan_severity severity);

struct ek_plan_finding {
    enum ek_plan_severity severity;
    const char *rule;    /* constant: "api-removed" */
    const char *source;  /* a file, an API server; "" without */
    size_t line;         /* of the source, from 1; 0 without */
    const char *object;  /* "apps/v1 Deployment shop/web"; "" without */
    const char *field;   /* "spec.template.spec.containers[0].x"; "" without */
    const char *message; /* what is so */
    const char *remedy;  /* what to do; "" without */
    /* The same for programs; "" and unknown where it does not apply. */
    const char *api_version, *kind; /* of the object of a manifest */
    struct ek_minor since;          /* the release that removes, deprecates or brings it */
    const char *replacement; /* the API version to use, with the kind where that is another */
    const char *fix;         /* the API version that --fix has written */
};

/* "removed", "deprecated", "field", "expression", "flag" or "unknown"; "" for other rules. */
const char *ek_plan_what(const struct ek_plan_finding *finding);

struct ek_plan_report {
    struct ek_arena *arena;
    struct ek_plan_finding *list;
    size_t n, max;
    struct ek_plan_finding dropped; /* takes the findings for which the arena has no room */
};

/* Appends a finding; its texts are copied (NULL is ""). Returns the finding, good until the next.
 * When the arena is exhausted, the finding is dropped: the report is void then, and the caller of
 * the checks looks at ek_arena_exhausted at the end. */
struct ek_plan_finding *ek_plan_report_add(struct ek_plan_report *report,
                                           const struct ek_plan_finding *finding);

size_t ek_plan_report_count(const struct ek_plan_report *report, enum ek_plan_severity severity);

#endif
