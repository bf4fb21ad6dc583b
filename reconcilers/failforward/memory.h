/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of an episode in the status of a FailForwardStatus, so that another replica goes on
 * with it. Times are kept to the second. Pure; any thread.
 */
#ifndef RECONCILERS_FAILFORWARD_MEMORY_H
#define RECONCILERS_FAILFORWARD_MEMORY_H

#include "reconcilers/failforward/ladder.h"

/* Reads status.episode (NULL: an empty memory). A member that is not valid counts as absent; a time
 * after now_ms counts as now. */
void ek_ff_memory_read(yyjson_val *episode, int64_t now_ms, struct ek_ff_memory *ret_memory);

/* The value of status.episode; NULL for an empty memory. */
yyjson_mut_val *ek_ff_memory_write(yyjson_mut_doc *doc, const struct ek_ff_memory *memory);

/* "Hold", "Release" and so on: a name of a write; "" for NO_ACT. */
const char *ek_ff_act_name(enum ek_ff_act act);

#endif
