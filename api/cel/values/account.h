/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of one evaluation that functions of libraries may use: the arena of its values, the
 * cost so far, the error that ends the evaluation, and the indexes of large objects. The evaluator
 * embeds this struct in its own state (api/cel/eval/eval.h). For api/cel alone. One thread per
 * evaluation.
 */
#ifndef API_CEL_VALUES_ACCOUNT_H
#define API_CEL_VALUES_ACCOUNT_H

#include "api/cel/library.h"

struct ek_cel_eval {
    struct ek_arena *arena;
    uint64_t cost, cost_limit;          /* cost so far; the evaluation ends beyond the limit */
    uint32_t position;                  /* of the call that runs, for its errors */
    bool ended;                         /* cost, memory or cancellation: final says which */
    struct ek_cel_fault final;          /* not absorbed by && and || */
    const struct ek_cel_limits *limits; /* NULL: no cancellation */
    uint64_t steps;                     /* of all loops, for cancellation */
    uint64_t compare_steps;             /* left for all comparisons of values (value.h) */
    struct ek_cel_json_index *indexes;  /* of large JSON objects that were searched (value.h) */
    struct ek_cel_zone *zones;          /* time zones that were read (api/cel/text/time.h) */
};

/* A loop checks for cancellation once in this number of steps (Kubernetes, CheckFrequency). */
#define EK_CEL_CHECK_FREQUENCY 100u

/* Ends the evaluation with an error, which && and || do not absorb. The first such error counts. */
struct ek_cel_val ek_cel_end(struct ek_cel_eval *e, enum ek_cel_error_kind kind,
                             const char *message);
/* The error of an exceeded cost limit; ends the evaluation. */
struct ek_cel_val ek_cel_cost_exceeded(struct ek_cel_eval *e);
/* Counts a step of a loop. False when the evaluation has ended: canceled, or too costly. */
bool ek_cel_step(struct ek_cel_eval *e);

#endif
