/* SPDX-License-Identifier: Apache-2.0 */
/* What the decision and the memory of an episode share. Pure; any thread. */
#ifndef RECONCILERS_FAILFORWARD_LADDER_INTERNAL_H
#define RECONCILERS_FAILFORWARD_LADDER_INTERNAL_H

#include "reconcilers/failforward/ladder.h"

#define EK_FF_DAY_MS (INT64_C(24) * 3600 * 1000) /* of max_hops */

/* True for the writes that leave a version behind: they count as hops. */
static inline bool ek_ff_leaves_version__(enum ek_ff_act act)
{
    return act == EK_FF_PIN || act == EK_FF_RELEASE || act == EK_FF_STAND_IN;
}

#endif
