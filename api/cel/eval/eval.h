/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One evaluation in progress. Not for hosts, and not for libraries beyond what library.h offers.
 */
#ifndef API_CEL_EVAL_EVAL_H
#define API_CEL_EVAL_EVAL_H

#include "api/cel/values/account.h"

struct ek_cel_op;
struct ek_cel_call;

/* Expressions compiled during the evaluation that are kept at once. */
#define EK_CEL_EVAL_REGEXES 8u

/* One evaluation of a program. The account is the first member: every caller that runs ops has a
 * frame.
 */
struct ek_cel_frame {
    struct ek_cel_eval account;
    const struct ek_cel_program *program; /* NULL while a constant is folded */
    const struct ek_cel_op *ops;          /* the program's */
    const struct ek_cel_val *vars;
    struct ek_cel_val *locals;         /* of folds; kind EK_CEL_UNSET: not initialised yet */
    const struct ek_cel_call *call;    /* at work, for its compiled regular expression */
    struct ek_cel_json_items *arrays;  /* of large JSON arrays that were indexed (attr.c) */
    struct ek_cel_regex_kept *regexes; /* compiled by this evaluation (regex.c) */
};

/* The frame of an account that the evaluator or the planner made. */
static inline struct ek_cel_frame *ek_cel_frame_of(struct ek_cel_eval *account)
{
    return (struct ek_cel_frame *)account;
}

/* A local that no value was written to yet. */
#define EK_CEL_UNSET EK_CEL_KIND_MAX

/* Evaluates an op as an operand. */
struct ek_cel_val ek_cel_run(struct ek_cel_eval *e, uint32_t op);

/* The value of an attribute's op, without the cost of evaluating it as an operand. */
struct ek_cel_val ek_cel_resolve(struct ek_cel_eval *e, const struct ek_cel_op *op);

/* Applies the qualifiers from first (1 + index) on to value (eval/attr.c). */
struct ek_cel_val ek_cel_qualify(struct ek_cel_eval *e, struct ek_cel_val value, uint32_t first);

/* The name by which the reference's messages call the type of a value. */
const char *ek_cel_go_type(const struct ek_cel_val *value);

/* Calls with n arguments, none of them an error unless the call is non-strict (eval/call.c). */
struct ek_cel_val ek_cel_call_apply(struct ek_cel_eval *e, const struct ek_cel_call *call,
                                    const struct ek_cel_val *args, uint32_t n);
/* The same, then charges what the call cost. */
struct ek_cel_val ek_cel_call_charged(struct ek_cel_eval *e, const struct ek_cel_call *call,
                                      const struct ek_cel_val *args, uint32_t n);
/* Charges the cost of a call that is not made because an argument is an error. */
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

/* Releases the regular expressions that the evaluation compiled. */
void ek_cel_eval_release(struct ek_cel_frame *frame);

/* Looks a value up in a set of constants, by Go's rules for the keys of a map. */
bool ek_cel_set_same(const struct ek_cel_val *a, const struct ek_cel_val *b);
uint32_t ek_cel_set_hash(const struct ek_cel_val *value);

#endif
