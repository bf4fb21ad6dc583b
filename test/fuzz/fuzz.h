/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry point that each fuzz/<parser>_fuzz.c defines: libFuzzer calls it in a fuzz build,
 * replay.c with every file of a corpus in any other.
 */
#ifndef TEST_FUZZ_FUZZ_H
#define TEST_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* A property that must hold for every input. */
static inline void fuzz_require(bool truth)
{
    if (!truth)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
