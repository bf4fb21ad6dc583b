/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/plan/report.h"

#include <string.h>

const char *ek_plan_severity_name(enum ek_plan_severity severity)
{
    static const char *const names[] = {"error", "unknown", "warning", "fixed"};

    return severity < EK_PLAN_SEVERITY_MAX ? names[severity] : "";
}

const char *ek_plan_what(const struct ek_plan_finding *finding)
{
    static const struct {
        const char *start, *what; /* of the rule */
    } rows[] = {
        {"api-removed", "removed"},
        {"api-deprecated", "deprecated"},
        {"field-", "field"},
        {"expression", "expression"},
        {"flag", "flag"},
        {"alpha-emulated", "flag"},
        {"kind-unknown", "unknown"},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++)
        if (!strncmp(finding->rule, rows[i].start, strlen(rows[i].start)))
            return rows[i].what;
    return finding->severity == EK_PLAN_UNKNOWN ? "unknown" : "";
}

static const char *copy(struct ek_arena *arena, const char *text)
{
    return text ? ek_arena_strdup(arena, text) : "";
}

struct ek_plan_finding *ek_plan_report_add(struct ek_plan_report *report,
                                           const struct ek_plan_finding *finding)
{
    struct ek_arena *arena = report->arena;

    if (ek_arena_exhausted(arena)) {
        report->dropped = (struct ek_plan_finding){.severity = finding->severity,
                                                   .rule = finding->rule,
                                                   .source = "",
                                                   .object = "",
                                                   .field = "",
                                                   .message = "",
                                                   .remedy = "",
                                                   .api_version = "",
                                                   .kind = "",
                                                   .replacement = "",
                                                   .fix = ""};
        return &report->dropped;
    }
    if (report->n == report->max) {
        size_t max = report->max ? report->max * 2 : 32;
        struct ek_plan_finding *list = ek_arena_alloc(arena, max * sizeof *list);
        if (report->n)
            memcpy(list, report->list, report->n * sizeof *list);
        report->list = list;
        report->max = max;
    }
    struct ek_plan_finding *ret = &report->list[report->n++];
    *ret = *finding;
    ret->source = copy(arena, finding->source);
    ret->object = copy(arena, finding->object);
    ret->field = copy(arena, finding->field);
    ret->message = copy(arena, finding->message);
    ret->remedy = copy(arena, finding->remedy);
    ret->api_version = copy(arena, finding->api_version);
    ret->kind = copy(arena, finding->kind);
    ret->replacement = copy(arena, finding->replacement);
    ret->fix = copy(arena, finding->fix);
    return ret;
}

size_t ek_plan_report_count(const struct ek_plan_report *report, enum ek_plan_severity severity)
{
    size_t n = 0;

    for (size_t i = 0; i < report->n; i++)
        n += report->list[i].severity == severity;
    return n;
}
