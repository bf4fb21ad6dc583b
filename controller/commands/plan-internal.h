/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `evenkeel plan`: manifests, steps, the report. One thread. */
#ifndef CONTROLLER_COMMANDS_PLAN_INTERNAL_H
#define CONTROLLER_COMMANDS_PLAN_INTERNAL_H

#include <yyjson.h>

#include "api/base/buf.h"
#include "api/base/map.h"
#include "controller/cli/commands.h"
#include "controller/cli/print.h"
#include "controller/commands/live.h"
#include "controller/commands/plan_fix.h"
#include "controller/commands/wait.h"
#include "reconcilers/plan/audit.h"
#include "reconcilers/plan/cluster.h"
#include "reconcilers/plan/objects.h"
#include "reconcilers/plan/route.h"

struct ek_plan_options {
    struct ek_live_options live;
    struct ek_print_options print; /* also "markdown", "html" and "sarif" */
    struct ek_flag_list files, audit_logs;
    const char *to, *from, *since, *data; /* from and since: at most one */
    bool fix, guard, rollback;
};

/* Counts for the summary. */
struct ek_plan_counts {
    size_t objects; /* that were checked */
    size_t others;  /* of kinds that Kubernetes does not bring */
    size_t skipped; /* documents that are no objects */
};

/* A kind of which nothing is known. All texts are owned. */
struct ek_plan_kind {
    struct ek_plan_kind *next;
    char *shown; /* "example.com/v1 Thing" */
    size_t version_len;
    char *group_kind; /* "example.com/Thing" */
    size_t n;         /* objects */
    char *source;     /* of the first object; set by the caller of ek_plan_kinds_note */
    size_t line;
};

/* All of them in the order of the manifests, and the kinds that CustomResourceDefinitions among the
 * manifests define. Zero-initialise. */
struct ek_plan_kinds {
    struct ek_map seen, defined;
    struct ek_plan_kind *first, *last;
};

/* Counts an object of a kind that was not checked. Returns the kind, borrowed: n is 1 for the
 * first. */
struct ek_plan_kind *ek_plan_kinds_note(struct ek_plan_kinds *kinds, yyjson_val *object);

/* Notes the kind that a CustomResourceDefinition defines. */
void ek_plan_kinds_define(struct ek_plan_kinds *kinds, yyjson_val *definition);

/* Adds a finding for each kind that no definition among the manifests defines. */
void ek_plan_kinds_say(const struct ek_plan_kinds *kinds, struct ek_plan_report *report);

void ek_plan_kinds_done(struct ek_plan_kinds *kinds);

/* Checks the manifests of the options, and collects what --fix changes in fixes (NULL: nothing). No
 * file is written. EK_E_* with err when a file cannot be used. */
int ek_plan_check_files(const struct ek_plan_options *options, const struct ek_plan_target *target,
                        struct ek_plan_report *report, struct ek_plan_counts *counts,
                        struct ek_plan_fixes *fixes, struct ek_err *err);

/* EK_E_INVAL with err when the options name the standard input twice. */
int ek_plan_audit_check(const struct ek_plan_options *options, struct ek_err *err);

/* Reads the audit logs of the options one after the other, and adds to report who calls API
 * versions that are removed. Does nothing without logs. Blocking. Returns an EK_E_* error with err
 * when a log cannot be read. */
int ek_plan_audit_read(const struct ek_plan_options *options, struct ek_plan_audit *audit,
                       struct ek_plan_report *report, struct ek_err *err);

/* What was read, as a value of doc: {"events", "unreadLines", "firstEvent", "lastEvent"}. */
yyjson_mut_val *ek_plan_audit_value(const struct ek_plan_audit *audit, yyjson_mut_doc *doc);

/* A cluster whose components all run a version with default flags; lives in arena. */
void ek_plan_uniform(struct ek_minor version, struct ek_arena *arena,
                     struct ek_plan_cluster *ret_cluster);

/*
 * The components of a cluster and the steps to goal, members of doc for the document: "components"
 * (ek_plan_components) and "steps", [{"component", "change", "from", "to", "canBeUndone",
 * "endsWayBackTo", "changes"}]; for the way back also "wayBackTo", the oldest version that it leads
 * to. Adds what the steps break to report. "steps" is absent when the cluster is not complete, or
 * with a finding when no order was found.
 */
yyjson_mut_val *ek_plan_steps(const struct ek_plan_data *data,
                              const struct ek_plan_cluster *cluster,
                              const struct ek_steps_goal *goal, struct ek_plan_report *report,
                              yyjson_mut_doc *doc);

/*
 * The parts of a cluster before the first step and, with steps (NULL: none are known), after the
 * last one, a list of doc: {"name", "component", "instances", "before": {"binary", "emulation",
 * "minCompatibility", "window": {"from", "to"}}, "after": {...}}. The window of an API server is
 * what the binary can emulate, that of another component what the skew rules allow beside the API
 * servers; absent while these are not all known.
 */
yyjson_mut_val *ek_plan_components(const struct ek_plan_cluster *cluster,
                                   const struct ek_steps *steps,
                                   const struct ek_skew_policy *policy, struct ek_arena *arena,
                                   yyjson_mut_doc *doc);

/* Reads the cluster of the options, or the recording, and prints the plan; an exit code. */
int ek_plan_of_cluster(const struct ek_plan_options *options, const struct ek_plan_data *data);

/* Reads webhooks, admission policies and CustomResourceDefinitions of the cluster, and adds what
 * the target changes for them; what may not be read is unknown. */
void ek_plan_check_cluster(const struct ek_cluster_options *cluster,
                           const struct ek_plan_target *target, struct ek_plan_report *report);

/* Reads who uses the API versions that go with the target (reconcilers/plan/uses.h); what may not
 * be read is unknown. Nothing is read when no API version goes. */
void ek_plan_check_uses(const struct ek_cluster_options *cluster,
                        const struct ek_plan_target *target, struct ek_plan_report *report);

/* Adds the stored objects that use what target->from, the version that API servers may go back to,
 * does not know (reconcilers/plan/guard.h); what may not be read is unknown. */
void ek_plan_check_guard(const struct ek_cluster_options *cluster,
                         const struct ek_plan_target *target, struct ek_plan_report *report);

/* A service that converts the objects of a CustomResourceDefinition; the texts live in an arena. */
struct ek_plan_service {
    const char *namespace, *name, *definition;
    int64_t port;
};

struct ek_plan_services {
    struct ek_plan_service *list; /* owned */
    size_t n;
};

/* Notes the conversion webhook of a definition with several versions; texts in arena. */
void ek_plan_services_note(struct ek_plan_services *services, yyjson_val *definition,
                           struct ek_arena *arena);

/* Reads the services one by one, and adds those that do not exist. Returns NULL, or why one of
 * them, and those behind it, cannot be read (in the arena of report). */
const char *ek_plan_services_check(const struct ek_plan_services *services, struct ek_wait *wait,
                                   struct ek_plan_report *report);

/* Adds that a recording has no such objects. */
void ek_plan_say_no_objects(struct ek_plan_report *report);

/*
 * Adds to each of the steps (an array of doc, or NULL) that a finding is about: "errors" and
 * "unknown", their numbers, "blocks", the messages of errors, and "first", what to do before the
 * step. A finding is about the step that it names; one about a release, about the first step of an
 * API server that reaches the release.
 */
void ek_plan_add_blocks(const struct ek_plan_report *report, yyjson_mut_doc *doc,
                        yyjson_mut_val *steps);

/*
 * The report as data: {"verdict", "from", "to", "data", "findings": [...]}; steps is an object of
 * doc whose members are added (ek_plan_steps), or NULL; audit, a value of doc, becomes the member
 * "audit" (NULL: no log was read). Owned.
 */
yyjson_doc *ek_plan_document(const struct ek_plan_target *target,
                             const struct ek_plan_report *report,
                             const struct ek_plan_counts *counts, yyjson_mut_doc *doc,
                             yyjson_mut_val *steps, yyjson_mut_val *audit);

/* The place of a finding of the document, "file:12" or "-"; owned. */
char *ek_plan_place(yyjson_val *finding);

/* "gates: 4, APIs served: +2 -1, storage versions: 3" of a step of the document, in buf; "" where
 * the data does not have the changes. */
const char *ek_plan_changes_of(yyjson_val *step, char *buf, size_t size);

/* "2 errors, 1 unknown", what blocks a step of the document, in buf; "" without. */
const char *ek_plan_blocks_of(yyjson_val *step, char *buf, size_t size);

/* What to do before the step, in buf: "remove the gate (and 2 more)"; "" without. */
const char *ek_plan_first_of(yyjson_val *step, char *buf, size_t size);

/* Appends the line with the counts of the document. */
void ek_plan_put_summary(struct ek_buf *out, yyjson_val *root);

/* Appends "Not checked: values that ...; ....". */
void ek_plan_put_limits(struct ek_buf *out, yyjson_val *root);

/* Appends whether API servers can go back to the version before; nothing without steps. */
void ek_plan_put_way_back(struct ek_buf *out, yyjson_val *root);

/* Appends the document as Markdown (ek_print_table_fn). */
int ek_plan_markdown(void *ctx, yyjson_val *root, bool color, struct ek_buf *out);

/* Appends the document as an HTML page (ek_print_table_fn); ctx is the time for the footer, an
 * int64_t in milliseconds since the epoch. */
int ek_plan_html(void *ctx, yyjson_val *root, bool color, struct ek_buf *out);

/* The findings of the document as SARIF 2.1.0; owned. */
yyjson_doc *ek_plan_sarif(yyjson_val *root);

/* Prints root in the output format of options. Returns an exit code. */
int ek_plan_print(const struct ek_plan_options *options, yyjson_val *root);

/* 2 with errors, 3 with something unknown, else 0. */
int ek_plan_exit(const struct ek_plan_report *report);

#endif
