/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One evaluation in progress. Not for hosts, and not for libraries beyond what library.h offers.
 */
#ifndef API_CEL_EVAL_H
#define API_CEL_EVAL_H

#include "api/cel/library.h"

struct ek_cel_eval {
    struct ek_arena *arena;
    uint64_t cost, cost_limit; /* so far; beyond the limit the evaluation ends */
    uint32_t position;         /* of the call at work, for its errors */
    bool ended;                /* cost, memory or cancellation: final says which */
    struct ek_cel_fault final; /* not absorbed by && and || */
    const struct ek_cel_limits *limits;
    const struct ek_cel_program *program;
    const struct ek_cel_val *vars;
    struct ek_cel_json_index *indexes; /* of large JSON objects that were looked into (value.h) */
    struct ek_cel_zone *zones;         /* time zones that were asked for (time.h) */
};

#endif
