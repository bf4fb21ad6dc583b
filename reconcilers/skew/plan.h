/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan's second half, from facts on: what ek_skew_plan_make (view.h) does once the facts are
 * collected. Apart, so that everything that is said about facts can be tested without objects.
 */
#ifndef RECONCILERS_SKEW_PLAN_H
#define RECONCILERS_SKEW_PLAN_H

#include "reconcilers/skew/spec.h"

/* Fills ret_plan but for its targets. Of view only now, control_plane, probing_done and
 * nodes.available are read. Ownership as ek_skew_plan_make. */
void ek_skew_plan_from_facts__(const struct ek_skew_view *view, const struct ek_skew_facts *facts,
                               const struct ek_skew_spec *spec, struct ek_arena *arena,
                               struct ek_skew_plan *ret_plan);

#endif
