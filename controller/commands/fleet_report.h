/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of `evenkeel check` about several clusters: one object, from which each form is made.
 *
 *   {"exitCode": 2, "clusters": [
 *     {"cluster": "a", "exitCode": 2, "controlPlane": {..}},
 *     {"cluster": "b", "exitCode": 1, "error": "https://..: connection refused"}]}
 *
 * Pure.
 */
#ifndef CONTROLLER_COMMANDS_FLEET_REPORT_H
#define CONTROLLER_COMMANDS_FLEET_REPORT_H

#include "api/base/buf.h"
#include "api/obj.h"

/* What is known of a cluster. Borrowed. */
struct ek_fleet_cluster {
    const char *name;                   /* of the context */
    int exit_code;                      /* enum ek_exit, as of a check of this cluster alone */
    const struct ek_obj *control_plane; /* NULL where the cluster could not be read */
    const char *error;                  /* why not; "" where it could */
};

/*
 * The exit code of several clusters: the worst. A violation is worse than a cluster that could not
 * be read, because it is known; that is worse than versions that are not known, because nothing is
 * known of the cluster. So 2 means that some cluster has a violation, whatever else failed. 0 for
 * no clusters; a code that is none counts as a failure.
 */
int ek_fleet_exit_code(const struct ek_fleet_cluster *clusters, size_t n);

/* Makes the object, one reference. */
struct ek_obj *ek_fleet_object(const struct ek_fleet_cluster *clusters, size_t n);

/* The object as tables, with a column for the cluster; ctx is not used. An ek_print_table_fn. */
int ek_fleet_report(void *ctx, yyjson_val *root, bool color, struct ek_buf *out);

/* The same as an HTML page; ctx as of ek_skew_report_html. */
int ek_fleet_html(void *ctx, yyjson_val *root, bool color, struct ek_buf *out);

#endif
