/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of `evenkeel discovery`, and its differences as an object:
 *
 *   {"apiServers": [{"name": "cp-a"}, {"name": "cp-c", "error": "Unreachable: .."}],
 *    "differences": [
 *      {"groupVersion": "apps/v1", "resource": "deployments/scale", "servedBy": ["cp-a"],
 *       "staleAt": ["cp-b"], "missingFrom": ["cp-d"],
 *       "differs": {"verbs": {"cp-a": "get,update", "cp-b": "get"}}}]}
 *
 * "error" is only of an API server whose documents were not read; it is in no list of a difference.
 * Pure.
 */
#ifndef CONTROLLER_COMMANDS_DISCOVERY_REPORT_H
#define CONTROLLER_COMMANDS_DISCOVERY_REPORT_H

#include "api/base/buf.h"
#include "api/obj.h"
#include "reconcilers/peers/served.h"

/* What is shown. Borrowed. */
struct ek_discovery_shown {
    const struct ek_view *view;
    const struct ek_served_row *rows; /* of view, n_rows of them */
    size_t n_rows;
    const struct ek_view_peer *peer; /* of view, whose resources alone are shown; NULL: of all */
    bool differences;                /* only what differs; for peer NULL */
    bool wide;
    const char *const *unread; /* for each peer why its documents are not known; NULL where they
                                  are */
};

/* Writes the table of ctx, a struct ek_discovery_shown; root is not used. An ek_print_table_fn. */
int ek_discovery_table(void *ctx, yyjson_val *root, bool color, struct ek_buf *out);

/* Makes the object of the differences, one reference. */
struct ek_obj *ek_discovery_differences(const struct ek_discovery_shown *shown);

#endif
