/* SPDX-License-Identifier: Apache-2.0 */
/* What the decision and the memory of an episode share. Pure; any thread. */
#ifndef RECONCILERS_FAILFORWARD_LADDER_INTERNAL_H
#define RECONCILERS_FAILFORWARD_LADDER_INTERNAL_H

#include "reconcilers/failforward/ladder.h"

#define EK_FF_DAY_MS (INT64_C(24) * 3600 * 1000) /* of max_hops */

/* True for the writes that move OLM from a version to one that replaces it. */
static inline bool ek_ff_leaves_version__(enum ek_ff_act act)
{
    return act == EK_FF_PIN || act == EK_FF_RELEASE || act == EK_FF_STAND_IN;
}

/* True for the writes that leave a version behind for good. The first of them in an episode counts
 * as a hop: S5 follows the deletion of S4 and S6. */
static inline bool ek_ff_is_hop__(enum ek_ff_act act)
{
    return act == EK_FF_RELEASE || act == EK_FF_CLEAR || act == EK_FF_DELETE;
}

/* True where the version that fails counts as left behind. */
static inline bool ek_ff_is_counted__(const struct ek_ff_memory *memory)
{
    return memory->acts[EK_FF_RELEASE].n || memory->acts[EK_FF_CLEAR].n ||
           memory->acts[EK_FF_DELETE].n;
}

#endif
