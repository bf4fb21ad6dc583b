/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of plans as texts, and random ones. For tests; one thread. Failures end the program. */
#ifndef TEST_SUPPORT_PLAN_PARTS_H
#define TEST_SUPPORT_PLAN_PARTS_H

#include "api/base/buf.h"
#include "reconcilers/plan/steps.h"

#define TEST_PARTS_MAX 12

/* The policy without options. */
extern const struct ek_skew_policy test_parts_defaults;

/* A kubelet or a kube-proxy. */
bool test_parts_is_node(const struct ek_part *part);

/* "cp 36/36/35; cp*2 36/36/35; kubelet 34": minors of binary, emulation, minimum compatibility.
 * Returns the number of parts, whose names are good until the next call. */
size_t test_parts_parse(const char *text, struct ek_part parts[TEST_PARTS_MAX]);

/* "cp-0 b36 e35": the part, what changed, to which minor; "!34" when 1.34 is lost. */
void test_parts_print(const struct ek_part *parts, const struct ek_steps *steps,
                      struct ek_buf *out);

/* Starts the row of random numbers. */
void test_parts_seed(uint64_t seed);

/* Some API servers, a controller manager, and nodes, of 1.33 to 1.36; returns their number. */
size_t test_parts_random(struct ek_part parts[TEST_PARTS_MAX]);

/* A policy that is sometimes narrower than the default. */
struct ek_skew_policy test_parts_random_policy(void);

/* What all orders are made of. */
struct test_moves {
    /* True when one instance may become so in one step, without regard to the rules of skew. The
     * minimum compatibility version of what is no API server is never changed. */
    bool (*may_become)(const struct ek_part *part, const struct ek_part_versions *to,
                       struct ek_minor target);
    bool (*is_there)(const struct ek_part *parts, size_t n, struct ek_minor target);
};

/* True when any order of moves leads from parts to the goal, each instance on its own, and keeps
 * the rules after each move. Tries all of them, with versions of 1.31 to 1.36. */
bool test_parts_reachable(const struct ek_part *parts, size_t n, const struct ek_steps_goal *goal,
                          const struct test_moves *moves);

#endif
