/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who calls the API versions that go with a target, by the audit log of an API server: JSON lines
 * of audit.k8s.io/v1 Events (apiserver/pkg/apis/audit/v1/types.go at 1.36), or EventLists as the
 * webhook backend sends them.
 *
 * The log is read as a stream: a line is kept until its end and then counted by API version, user
 * and user agent. Memory has a bound, whoever writes the log: a line of EK_PLAN_AUDIT_LINE_MAX
 * octets, and EK_PLAN_AUDIT_CLIENTS_MAX clients of each API version; further clients are counted
 * together. A request has an Event for each stage; of ResponseStarted and
 * ResponseComplete (or Panic) the higher count counts. RequestReceived does not count, and neither
 * does a list or a watch that is answered with 404: the server does not serve the version.
 *
 * Pure; threading: one thread.
 */
#ifndef RECONCILERS_PLAN_AUDIT_H
#define RECONCILERS_PLAN_AUDIT_H

#include "api/base/buf.h"
#include "reconcilers/plan/objects.h"

/* Octets of a line; API servers write about 1 KiB without objects. A parsed line takes about eight
 * times its octets at worst. */
#define EK_PLAN_AUDIT_LINE_MAX ((size_t)4 << 20)

/* Clients of one API version of a kind that are kept apart. */
#define EK_PLAN_AUDIT_CLIENTS_MAX 64

struct ek_plan_audit_kind;

struct ek_plan_audit {
    struct ek_plan_target target;
    struct ek_arena *arena;           /* owned: of what is kept */
    struct ek_plan_audit_kind *kinds; /* that are removed or become deprecated */
    size_t n_kinds;
    struct ek_buf line;        /* the one that is read */
    bool skips;                /* the rest of a line that was too long */
    uint64_t n_events;         /* Events that were read */
    uint64_t n_answers;        /* of these: of a response */
    uint64_t n_lines;          /* that are not empty */
    uint64_t n_unread;         /* of these: too long, or no Event */
    const char *name;          /* of the log that is read */
    uint64_t number;           /* of its lines that ended */
    const char *unread_in;     /* the log of the first of n_unread; NULL: none */
    uint64_t unread_at;        /* the number of that line, from 1 */
    int64_t first_ms, last_ms; /* of the oldest and of the newest Event, in ms since the epoch;
                                  EK_TIME_UNSET: none has a time */
};

/* target is copied, its data borrowed; without target->from, all that is removed or deprecated at
 * the target counts. */
void ek_plan_audit_init(struct ek_plan_audit *audit, const struct ek_plan_target *target);
void ek_plan_audit_done(struct ek_plan_audit *audit);
EK_CLEANUP(ek_plan_audit, ek_plan_audit_done)

/* Begins a log; its name, for findings, is copied. */
void ek_plan_audit_begin(struct ek_plan_audit *audit, const char *name);

/* Takes the next len octets of a log; nothing of them is borrowed. */
void ek_plan_audit_octets(struct ek_plan_audit *audit, const char *octets, size_t len);

/* Ends a log: its last line may have no line feed. Another log may follow. */
void ek_plan_audit_end(struct ek_plan_audit *audit);

/* Adds the findings: rule api-called (README.md, "Findings") for each API version and client, the
 * most frequent client of a version first, and audit-unread for lines that were not read. */
void ek_plan_audit_report(const struct ek_plan_audit *audit, struct ek_plan_report *report);

#endif
