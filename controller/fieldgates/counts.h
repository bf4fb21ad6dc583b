/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often gates were felt: writes that were suppressed and uses of deprecated fields, per kind
 * and gate, counted where requests are judged. They go to metrics at once,
 *
 *   evenkeel_gate_suppressed_writes_total{crd,gate,operation}
 *   evenkeel_gate_deprecated_uses_total{crd,gate,operation}
 *
 * without names of objects; and to status by and by. An API server may send two reviews of one
 * request, and each replica counts its own reviews, so that status is a lower bound and metrics are
 * summed over replicas.
 *
 * Threading: ek_gates_counts_add on any thread, all else on the loop's; changed is called from the
 * loop.
 */
#ifndef CONTROLLER_FIELDGATES_COUNTS_H
#define CONTROLLER_FIELDGATES_COUNTS_H

#include <uv.h>

#include "controller/telemetry/metrics.h"
#include "reconcilers/fieldgates/tally.h"

#define EK_GATES_COUNTED_MAX EK_GATES_TALLY_MAX /* gates; more are not counted for status */

struct ek_gates_counts;

/* metrics may be NULL and must outlive it. changed is called when something was counted, once until
 * ek_gates_counts_settle. */
struct ek_gates_counts *ek_gates_counts_new(uv_loop_t *loop, struct ek_metrics *metrics,
                                            void (*changed)(void *ctx), void *ctx);

/* One use of a gate of crd. operation: "CREATE" or "UPDATE". Everything is copied. */
void ek_gates_counts_add(struct ek_gates_counts *counts, const char *crd, const char *gate,
                         const char *operation, bool deprecated);

/* What has been counted since ek_gates_counts_new. */
struct ek_gate_count ek_gates_counts_get(struct ek_gates_counts *counts, const char *crd,
                                         const char *gate);

/* True when something was counted since ek_gates_counts_settle. */
bool ek_gates_counts_are_waiting(struct ek_gates_counts *counts);

/* changed is to be called again at the next count. */
void ek_gates_counts_settle(struct ek_gates_counts *counts);

/* Releases it, when nobody adds any more; on_closed (may be NULL) is called from the loop. */
void ek_gates_counts_close(struct ek_gates_counts *counts, void (*on_closed)(void *ctx), void *ctx);

#endif
