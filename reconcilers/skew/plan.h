/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second half of ek_skew_plan_make (view.h), after the facts are collected. The function is
 * separate, so that tests of verdicts and of the status need facts and no objects.
 */
#ifndef RECONCILERS_SKEW_PLAN_H
#define RECONCILERS_SKEW_PLAN_H

#include "reconcilers/skew/spec.h"

/* Fills ret_plan, except for its targets. Reads only now_ms, control_plane, probing_done and
 * nodes.available of view. Ownership as ek_skew_plan_make. */
void ek_skew_plan_from_facts__(const struct ek_skew_view *view, const struct ek_skew_facts *facts,
                               const struct ek_skew_spec *spec, struct ek_arena *arena,
                               struct ek_skew_plan *ret_plan);

#endif
