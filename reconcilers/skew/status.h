/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ControlPlane's .status, built whole from a report each time.
 *
 * Every field here is described in deploy/crd/evenkeel.dev_controlplanes.yaml, and a test walks
 * one against the other. The object stays small whatever the cluster holds: each list has a
 * maximum, what does not fit is counted under omitted, names and messages are cut. Nothing in it
 * moves with the clock alone (no ages, no "last probed"), so that an unchanged world is an equal
 * status and costs no write. Pure.
 */
#ifndef RECONCILERS_SKEW_STATUS_H
#define RECONCILERS_SKEW_STATUS_H

#include "reconcilers/skew/conditions.h"

#define EK_STATUS_PEERS_MAX      100
#define EK_STATUS_COMPONENTS_MAX 50
#define EK_STATUS_NODES_MAX      40
#define EK_STATUS_VIOLATIONS_MAX 40
#define EK_STATUS_PROBLEMS_MAX   16

/* Returns the status of report as a value of doc. */
yyjson_mut_val *ek_skew_status(const struct ek_skew_report *report, struct ek_arena *arena,
                               yyjson_mut_doc *doc);

/* Where the lists are written, in status_lists.c: each adds its member to status and what it left
 * out to omitted. */
struct ek_status_out {
    const struct ek_skew_report *report;
    struct ek_arena *arena;
    yyjson_mut_doc *doc;
    yyjson_mut_val *status, *omitted;
};
void ek_status_peers__(const struct ek_status_out *out);
void ek_status_components__(const struct ek_status_out *out);
void ek_status_nodes__(const struct ek_status_out *out);
void ek_status_differences__(const struct ek_status_out *out);

/* Adds a string member, cleaned and cut to max; nothing for "". key is not copied. */
void ek_status_str__(const struct ek_status_out *out, yyjson_mut_val *obj, const char *key,
                     const char *value, size_t max);
void ek_status_minor__(const struct ek_status_out *out, yyjson_mut_val *obj, const char *key,
                       struct ek_minor value);
void ek_status_time__(const struct ek_status_out *out, yyjson_mut_val *obj, const char *key,
                      int64_t ms);

/* Adds how many of n did not fit into max to omitted under key. */
void ek_status_omitted__(const struct ek_status_out *out, const char *key, size_t n, size_t max);

#endif
