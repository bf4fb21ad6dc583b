/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a fixture, for view_fixture.c and view_script.c only. */
#ifndef TEST_SUPPORT_VIEW_FIXTURE_INTERNAL_H
#define TEST_SUPPORT_VIEW_FIXTURE_INTERNAL_H

#include "test/support/view_fixture.h"

enum fixture_kind {
    FIXTURE_LEASES,
    FIXTURE_CANDIDATES,
    FIXTURE_SLICES,
    FIXTURE_NODES,
    FIXTURE_PODS,
    FIXTURE_CONTROL_PLANE,
    FIXTURE_LISTS,
};

struct fixture_list {
    struct ek_obj **items; /* owned, with a reference each */
    size_t n;
};

struct ek_view_fixture {
    struct ek_skew_view view;
    struct fixture_list lists[FIXTURE_LISTS];
    char *why[FIXTURE_LISTS]; /* owned; "" when available */
    struct ek_probe_at *probes;
    size_t n_probes;
    char configured[64];
    bool reversed;
};

#endif
