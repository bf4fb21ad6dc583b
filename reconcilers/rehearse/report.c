/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/rehearse/report.h"

#include <string.h>

#include "api/base/line.h"

const char *ek_rehearse_severity_name(enum ek_rehearse_severity severity)
{
    static const char *const names[] = {"error", "warning", "unknown"};

    return severity < EK_REHEARSE_SEVERITY_MAX ? names[severity] : "";
}

void ek_rehearse_report_done(struct ek_rehearse_report *report)
{
    ek_map_done(&report->by_text);
}

static struct ek_rehearse_finding *append(struct ek_rehearse_report *report)
{
    if (report->n == report->max) {
        size_t max = report->max ? report->max * 2 : 64;
        struct ek_rehearse_finding *list = ek_arena_alloc(report->arena, max * sizeof *list);
        if (report->n)
            memcpy(list, report->list, report->n * sizeof *list);
        report->list = list;
        report->max = max;
    }
    return &report->list[report->n++];
}

void ek_rehearse_report_add(struct ek_rehearse_report *report, size_t step,
                            enum ek_rehearse_severity severity, const char *rule,
                            const char *object, const char *message)
{
    char text[EK_REHEARSE_MESSAGE_MAX], name[EK_REHEARSE_OBJECT_MAX];
    EK_AUTOFREE char *key = NULL;

    ek_line_copy(message, strlen(message), text, sizeof text);
    ek_line_copy(object, strlen(object), name, sizeof name);
    key = ek_xasprintf("%s\n%s\n%s", rule, name, text);
    /* The list may move: the map has positions, from 1. */
    size_t at = (size_t)ek_map_get(&report->by_text, key);
    if (!at && report->n == EK_REHEARSE_FINDINGS_MAX) {
        report->dropped++;
        return;
    }
    if (!at) {
        *append(report) =
            (struct ek_rehearse_finding){.severity = severity,
                                         .rule = rule,
                                         .object = ek_arena_strdup(report->arena, name),
                                         .message = ek_arena_strdup(report->arena, text)};
        at = report->n;
        ek_map_put(&report->by_text, ek_arena_strdup(report->arena, key), (void *)at);
    }
    report->list[at - 1].steps |= 1U << step;
}

void ek_rehearse_report_settle(struct ek_rehearse_report *report, bool has_before)
{
    for (size_t i = 0; i < report->n && has_before; i++) {
        struct ek_rehearse_finding *f = &report->list[i];
        f->before = f->steps & 1U;
        if (f->before && f->severity == EK_REHEARSE_ERROR)
            f->severity = EK_REHEARSE_WARNING;
    }
}

bool ek_rehearse_is_gap(const struct ek_rehearse_finding *finding)
{
    return !strcmp(finding->rule, "not-answered") || !strcmp(finding->rule, "not-discovered") ||
           !strcmp(finding->rule, "not-copied");
}

size_t ek_rehearse_report_count(const struct ek_rehearse_report *report,
                                enum ek_rehearse_severity severity)
{
    size_t n = 0;

    for (size_t i = 0; i < report->n; i++)
        n += report->list[i].severity == severity;
    return n;
}
