/* SPDX-License-Identifier: Apache-2.0 */
#include "test/fuzz/blocks.h"

static uint64_t blocks, limit = UINT64_MAX;
static void (*exceeded)(void);

/* Called by each basic block that was compiled with -fsanitize-coverage=trace-pc. */
void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_pc(void)
{
    if (++blocks <= limit)
        return;
    limit = UINT64_MAX;
    exceeded();
}

void blocks_begin(uint64_t most, void (*too_many)(void))
{
    blocks = 0;
    exceeded = too_many;
    limit = most;
}

uint64_t blocks_end(void)
{
    limit = UINT64_MAX;
    return blocks;
}
