/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the basic blocks that run: work that does not depend on the machine or its load. What
 * libraries do is not counted. One thread.
 */
#ifndef TEST_FUZZ_BLOCKS_H
#define TEST_FUZZ_BLOCKS_H

#include <stdint.h>

/* Counts from zero. too_many is called from the middle of the work when it takes more than most
 * blocks. */
void blocks_begin(uint64_t most, void (*too_many)(void));

/* Ends the counting; returns the blocks since blocks_begin. */
uint64_t blocks_end(void);

#endif
