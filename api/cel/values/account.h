/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The account of one evaluation: what a value is made from (arena), what it costs, the error that
 * ends the evaluation, and the indexes that values keep for it. Functions of libraries get this and
 * see nothing of the program; the evaluator puts its own state around it (api/cel/eval/eval.h). Not
 * for hosts. One thread per evaluation.
 */
#ifndef API_CEL_VALUES_ACCOUNT_H
#define API_CEL_VALUES_ACCOUNT_H

#include "api/cel/library.h"

struct ek_cel_eval {
    struct ek_arena *arena;
    uint64_t cost, cost_limit;          /* so far; beyond the limit the evaluation ends */
    uint32_t position;                  /* of the call at work, for its errors */
    bool ended;                         /* cost, memory or cancellation: final says which */
    struct ek_cel_fault final;          /* not absorbed by && and || */
    const struct ek_cel_limits *limits; /* NULL: no cancellation */
    uint64_t steps;                     /* of all loops, for cancellation */
    uint64_t compare_steps;             /* left for all comparisons of values (value.h) */
    struct ek_cel_json_index *indexes;  /* of large JSON objects that were looked into (value.h) */
    struct ek_cel_zone *zones;          /* time zones that were read (api/cel/text/time.h) */
};

/* A loop looks for cancellation once in this many steps (Kubernetes, CheckFrequency). */
#define EK_CEL_CHECK_FREQUENCY 100u

/* Ends the evaluation with an error that nothing absorbs (the first one counts). */
struct ek_cel_val ek_cel_end(struct ek_cel_eval *e, enum ek_cel_error_kind kind,
                             const char *message);
/* The error of an exceeded cost limit; ends the evaluation. */
struct ek_cel_val ek_cel_cost_exceeded(struct ek_cel_eval *e);
/* Counts a step of a loop. False when the evaluation has ended: canceled, or too costly. */
bool ek_cel_step(struct ek_cel_eval *e);

#endif
