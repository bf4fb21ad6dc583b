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

#endif
