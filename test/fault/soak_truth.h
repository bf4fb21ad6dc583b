/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The truth that the published status is held against.
 *
 * A second observer, made anew each time with informers and probes of its own, sees the cluster as
 * it is; the plan that it makes must be what is published, so that nothing would be written. And
 * the published status must say what the world knows by itself: who is reachable at which version,
 * how many nodes there are. Threading: the main thread.
 */
#ifndef TEST_FAULT_SOAK_TRUTH_H
#define TEST_FAULT_SOAK_TRUTH_H

#include "test/fault/soak_world.h"

/*
 * Lets time pass until the published status is the truth, at most limit_ms. Returns how long it
 * took, or -1 with the reason in why.
 */
int64_t soak_converge(struct soak_world *world, int64_t limit_ms, char why[4096]);

#endif
