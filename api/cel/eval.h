/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One evaluation in progress. Not for hosts, and not for libraries beyond what library.h offers.
 */
#ifndef API_CEL_EVAL_H
#define API_CEL_EVAL_H

#include "api/cel/library.h"

struct ek_cel_op;
struct ek_cel_call;

/* Expressions compiled during the evaluation that are kept at once. */
#define EK_CEL_EVAL_REGEXES 8u

struct ek_cel_eval {
    struct ek_arena *arena;
    uint64_t cost, cost_limit; /* so far; beyond the limit the evaluation ends */
    uint32_t position;         /* of the call at work, for its errors */
    bool ended;                /* cost, memory or cancellation: final says which */
    struct ek_cel_fault final; /* not absorbed by && and || */
    const struct ek_cel_limits *limits;
    const struct ek_cel_program *program; /* NULL while a constant is folded */
    const struct ek_cel_op *ops;          /* the program's */
    const struct ek_cel_val *vars;
    struct ek_cel_val *locals;         /* of folds; kind EK_CEL_UNSET: not initialised yet */
    uint64_t steps;                    /* of all loops, for cancellation */
    uint64_t compare_steps;            /* left for all comparisons of values (value.h) */
    const struct ek_cel_call *call;    /* at work, for its compiled regular expression */
    struct ek_cel_json_index *indexes; /* of large JSON objects that were looked into (value.h) */
    struct ek_cel_json_items *arrays;  /* of large JSON arrays that were indexed (eval_attr.c) */
    struct ek_cel_zone *zones;         /* time zones that were asked for (time.h) */
    struct ek_cel_regex_kept *regexes; /* compiled by this evaluation (eval_regex.c) */
};

/* A local that no value was written to yet. */
#define EK_CEL_UNSET EK_CEL_KIND_MAX

/* Loops ask whether they are cancelled once in this many steps (Kubernetes, CheckFrequency). */
#define EK_CEL_CHECK_FREQUENCY 100u

/* Evaluates an op as an operand. */
struct ek_cel_val ek_cel_run(struct ek_cel_eval *e, uint32_t op);

/* The value of an attribute's op, without the cost of evaluating it as an operand. */
struct ek_cel_val ek_cel_resolve(struct ek_cel_eval *e, const struct ek_cel_op *op);

/* Applies the qualifiers from first (1 + index) on to value (eval_attr.c). */
struct ek_cel_val ek_cel_qualify(struct ek_cel_eval *e, struct ek_cel_val value, uint32_t first);

/* The name by which the reference's messages call the type of a value. */
const char *ek_cel_go_type(const struct ek_cel_val *value);

/* Calls with n arguments, none of them an error unless the call is non-strict (eval_call.c). */
struct ek_cel_val ek_cel_call_apply(struct ek_cel_eval *e, const struct ek_cel_call *call,
                                    const struct ek_cel_val *args, uint32_t n);
/* The same, then charges what the call cost. */
struct ek_cel_val ek_cel_call_charged(struct ek_cel_eval *e, const struct ek_cel_call *call,
                                      const struct ek_cel_val *args, uint32_t n);
/* Charges for a call that an error among its arguments kept from happening. */
void ek_cel_call_charge(struct ek_cel_eval *e, const struct ek_cel_call *call,
                        const struct ek_cel_val *args, uint32_t n, const struct ek_cel_val *result);

/* Lists, maps, structs, folds. */
struct ek_cel_val ek_cel_run_list(struct ek_cel_eval *e, const struct ek_cel_op *op);
struct ek_cel_val ek_cel_run_map(struct ek_cel_eval *e, const struct ek_cel_op *op);
struct ek_cel_val ek_cel_run_append(struct ek_cel_eval *e, const struct ek_cel_op *op);
struct ek_cel_val ek_cel_run_struct(struct ek_cel_eval *e, const struct ek_cel_op *op);
struct ek_cel_val ek_cel_run_fold(struct ek_cel_eval *e, const struct ek_cel_op *op);
struct ek_cel_val ek_cel_run_bind(struct ek_cel_eval *e, const struct ek_cel_op *op);
/* The value of an accumulator, initialised now when it was not yet. */
struct ek_cel_val ek_cel_run_accu(struct ek_cel_eval *e, uint32_t local, uint32_t fold);

/* Ends the evaluation with an error that nothing absorbs (the first one counts). */
struct ek_cel_val ek_cel_end(struct ek_cel_eval *e, enum ek_cel_error_kind kind,
                             const char *message);
/* The error of an exceeded cost limit; ends the evaluation. */
struct ek_cel_val ek_cel_cost_exceeded(struct ek_cel_eval *e);
/* Counts a loop's step. False when the evaluation has ended: cancelled, or too costly. */
bool ek_cel_step(struct ek_cel_eval *e);

/* Releases the regular expressions that the evaluation compiled. */
void ek_cel_eval_release(struct ek_cel_eval *e);

/* Looks a value up in a set of constants, by Go's rules for the keys of a map. */
bool ek_cel_set_same(const struct ek_cel_val *a, const struct ek_cel_val *b);
uint32_t ek_cel_set_hash(const struct ek_cel_val *value);

#endif
