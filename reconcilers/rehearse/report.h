/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of a rehearsal, each once, with all steps that have the finding. Pure; everything
 * lives in the arena of the report. */
#ifndef RECONCILERS_REHEARSE_REPORT_H
#define RECONCILERS_REHEARSE_REPORT_H

#include <stdbool.h>

#include "api/base/arena.h"
#include "api/base/map.h"
#include "api/base/mem.h"

/* Findings beyond are counted alone. */
#define EK_REHEARSE_FINDINGS_MAX 5000
/* Octets of a message that are kept; of an object EK_REHEARSE_OBJECT_MAX. */
#define EK_REHEARSE_MESSAGE_MAX 1500
#define EK_REHEARSE_OBJECT_MAX  700

enum ek_rehearse_severity {
    EK_REHEARSE_ERROR,   /* breaks with the upgrade */
    EK_REHEARSE_WARNING, /* needs attention, or is so before the upgrade, too */
    EK_REHEARSE_UNKNOWN, /* the rehearsal cannot say */
    EK_REHEARSE_SEVERITY_MAX,
};

/* "error", "warning", "unknown". */
const char *ek_rehearse_severity_name(enum ek_rehearse_severity severity);

struct ek_rehearse_finding {
    enum ek_rehearse_severity severity;
    const char *rule;    /* constant: "undecodable" */
    const char *object;  /* "v1 configmaps shop/web"; "" without */
    const char *message; /* as the server says it, one line */
    unsigned steps;      /* a bit for each step, the first step is bit 0 */
    bool before;         /* also in the step before the upgrade */
};

/* Zero-initialise with arena; ek_rehearse_report_done at the end. */
struct ek_rehearse_report {
    struct ek_arena *arena;
    struct ek_rehearse_finding *list;
    size_t n, max;
    size_t dropped; /* findings beyond the limit */
    struct ek_map by_text;
};

void ek_rehearse_report_done(struct ek_rehearse_report *report);
EK_CLEANUP(ek_rehearse_report, ek_rehearse_report_done)

/* Adds a finding of a step (from 0), or the step to the finding that has the same rule, object and
 * message. Texts but rule are copied and made one line. */
void ek_rehearse_report_add(struct ek_rehearse_report *report, size_t step,
                            enum ek_rehearse_severity severity, const char *rule,
                            const char *object, const char *message);

/* After the last step: an error that the first step has is a warning where the first step is the
 * old binary (has_before), because the upgrade does not cause the error. */
void ek_rehearse_report_settle(struct ek_rehearse_report *report, bool has_before);

/* True for a finding that says that a part was not rehearsed, so that the result is not clean.
 * Objects that cannot be read without a key or a webhook are no gap, but a limit of the copy. */
bool ek_rehearse_is_gap(const struct ek_rehearse_finding *finding);

size_t ek_rehearse_report_count(const struct ek_rehearse_report *report,
                                enum ek_rehearse_severity severity);

#endif
