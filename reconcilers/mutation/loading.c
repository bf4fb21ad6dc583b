/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/loading.h"

void ek_loading_plan(struct ek_loading *loading, bool synced, bool published, int64_t now_ms,
                     struct ek_loading_plan *ret)
{
    if (!synced && !loading->waits)
        loading->since_ms = now_ms;
    loading->waits = !synced;
    bool waits = !synced && now_ms - loading->since_ms < EK_LOADING_PATIENCE_MS;
    /* The first snapshot is what readiness waits for, so it should be able to judge; and API
     * servers call for a policy once it can be carried out. */
    *ret = (struct ek_loading_plan){.loading = waits,
                                    .publish = published || !waits,
                                    .write = !waits,
                                    .again_ms = waits ? EK_LOADING_AGAIN_MS : 0};
}
