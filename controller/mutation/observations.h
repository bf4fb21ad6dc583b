/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of requests (reconcilers/mutation/results.h) behind one short lock, so that serving
 * threads can note them and the control loop can take them over. Each function is that of
 * results.h with the same name; its contract is there.
 *
 * Threading: any thread.
 */
#ifndef CONTROLLER_MUTATION_OBSERVATIONS_H
#define CONTROLLER_MUTATION_OBSERVATIONS_H

#include "reconcilers/mutation/results.h"

struct ek_observations;

/* rung is called without the lock, on the thread that notes something, when ek_observations_due has
 * become earlier. NULL: never. */
struct ek_observations *ek_observations_new(void (*rung)(void *ctx), void *ctx);
void ek_observations_free(struct ek_observations *observations); /* NULL is fine */

/* ---- Serving threads ---- */

void ek_observations_judged(struct ek_observations *observations,
                            const struct ek_admission_request *request,
                            const struct ek_mutation_outcome *outcome, int64_t now_ms);
void ek_observations_checked(struct ek_observations *observations,
                             const struct ek_admission_request *request,
                             const struct ek_safety_outcome *outcome);
void ek_observations_undecided(struct ek_observations *observations,
                               const struct ek_admission_request *request,
                               const struct ek_policy *policy, const char *why, bool validate);

/* ---- The control loop ---- */

void ek_observations_sync(struct ek_observations *observations,
                          const struct ek_results_policy *policies, size_t n);
int64_t ek_observations_due(struct ek_observations *observations, int64_t now_ms);
bool ek_observations_take(struct ek_observations *observations, int64_t now_ms,
                          struct ek_results_news *ret_news);
void ek_observations_read(struct ek_observations *observations, struct ek_arena *arena,
                          struct ek_policy_facts *facts);

#endif
