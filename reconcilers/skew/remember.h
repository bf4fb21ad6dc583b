/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peers that were known a moment ago and that nothing names any more.
 *
 * An API server that is stopped takes its identity Lease and its endpoint with it, so on a cluster
 * without control plane pods it is gone from every source within seconds, upgrade or not. It would
 * be absent where it should be unreachable. The last status is the memory: a peer in it that no
 * source names stays in the facts, not live and reason "Gone", for spec.peers.forgetAfter. It is
 * not called (no trusted source names its address) and does not count for the rules. With a static
 * list nothing is remembered: what the user takes off the list is off.
 *
 * Remembered too is the name of a peer that is still there but has lost the Lease that named it: it
 * keeps the name unless its certificate says that another server has its address now. Pure.
 */
#ifndef RECONCILERS_SKEW_REMEMBER_H
#define RECONCILERS_SKEW_REMEMBER_H

#include "reconcilers/skew/spec.h"

/* At most this many. */
#define EK_SKEW_REMEMBERED_MAX 16

/*
 * Adds to facts->peers the departed ones of old_status (may be NULL), keeping the order by name.
 * Returns, per peer, when it was last seen (milliseconds since the epoch; EK_TIME_UNSET where it
 * answers now or where it is not known). ret_forget_ms is when the next of the departed will be
 * forgotten, EK_TIME_UNSET without any.
 */
int64_t *ek_skew_remember(struct ek_skew_facts *facts, const struct ek_skew_spec *spec,
                          yyjson_val *old_status, int64_t now_ms, struct ek_arena *arena,
                          int64_t *ret_forget_ms);

#endif
