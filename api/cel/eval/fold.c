/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds: the loops that macros expand to.
 *
 * Source: cel-go 0.26, interpreter/interpretable.go, folder.
 */
#include <string.h>

#include "api/cel/eval/eval.h"
#include "api/cel/eval/flat.h"
#include "api/cel/values/value.h"

struct ek_cel_val ek_cel_run_accu(struct ek_cel_eval *e, uint32_t local, uint32_t fold)
{
    if (ek_cel_frame_of(e)->locals[local].kind == EK_CEL_UNSET) {
        struct ek_cel_val v = ek_cel_run(e, ek_cel_frame_of(e)->program->folds[fold].init);
        ek_cel_frame_of(e)->locals[local] = v;
    }
    return ek_cel_frame_of(e)->locals[local];
}

static void start(struct ek_cel_eval *e, const struct ek_cel_fold *fold)
{
    ek_cel_frame_of(e)->locals[fold->accu].kind = EK_CEL_UNSET;
    if (fold->constant_init)
        ek_cel_frame_of(e)->locals[fold->accu] = ek_cel_frame_of(e)->ops[fold->init].value;
}

/* One step of a loop whose variables are set. False when the loop is over. */
static bool any_step(struct ek_cel_eval *e, const struct ek_cel_fold *fold)
{
    struct ek_cel_val v;

    if (!fold->always) {
        v = ek_cel_run(e, fold->condition);
        if (v.kind == EK_CEL_BOOL && !v.b)
            return false;
    }
    v = ek_cel_run(e, fold->step);
    ek_cel_frame_of(e)->locals[fold->accu] = v;
    return ek_cel_step(e);
}

/*
 * The same for all and exists, whose accumulator is a bool or the first error: what its ops would
 * cost is known. The condition costs 2 (@result, @not_strictly_false), with exists 3 (and !), the
 * step's @result 1.
 */
static bool quantifier_step(struct ek_cel_eval *e, const struct ek_cel_fold *fold)
{
    bool exists = fold->kind == EK_CEL_FOLD_EXISTS;
    struct ek_cel_val *accu = &ek_cel_frame_of(e)->locals[fold->accu], v;

    e->cost += exists ? 3 : 2;
    if (accu->kind == EK_CEL_BOOL && accu->b == exists)
        return false;
    e->cost++;
    v = ek_cel_run(e, fold->pred);
    if (v.kind == EK_CEL_BOOL) {
        if (v.b == exists || accu->kind == EK_CEL_BOOL)
            *accu = v;
    } else if (accu->kind == EK_CEL_BOOL) {
        *accu = v.kind == EK_CEL_ERROR ? v : ek_cel_no_overload(e, NULL, NULL, 0);
    }
    return ek_cel_step(e);
}

static inline bool step(struct ek_cel_eval *e, const struct ek_cel_fold *fold)
{
    return fold->kind == EK_CEL_FOLD_ANY ? any_step(e, fold) : quantifier_step(e, fold);
}

static void loop_items(struct ek_cel_eval *e, const struct ek_cel_fold *fold,
                       const struct ek_cel_val *range)
{
    for (uint32_t i = 0; i < range->n; i++) {
        ek_cel_frame_of(e)->locals[fold->var] = range->items->v[i];
        if (!step(e, fold))
            return;
    }
}

static void loop(struct ek_cel_eval *e, const struct ek_cel_fold *fold,
                 const struct ek_cel_val *range)
{
    struct ek_cel_iter iter;

    if (range->kind == EK_CEL_LIST && range->form == EK_CEL_NATIVE && !fold->pairs) {
        loop_items(e, fold, range);
        return;
    }
    ek_cel_iter_init(&iter, range);
    while (ek_cel_iter_next(&iter)) {
        if (fold->pairs) {
            ek_cel_frame_of(e)->locals[fold->var] = iter.key;
            ek_cel_frame_of(e)->locals[fold->var2] = iter.value;
        } else {
            ek_cel_frame_of(e)->locals[fold->var] =
                range->kind == EK_CEL_LIST ? iter.value : iter.key;
        }
        if (!step(e, fold))
            return;
    }
}

struct ek_cel_val ek_cel_run_fold(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    const struct ek_cel_fold *fold = &ek_cel_frame_of(e)->program->folds[op->a];
    struct ek_cel_val range = ek_cel_run(e, fold->range);

    if (range.kind == EK_CEL_ERROR)
        return range;
    if (range.kind != EK_CEL_LIST && range.kind != EK_CEL_MAP) {
        e->position = op->position;
        return ek_cel_fail(e,
                           fold->pairs ? "unsupported comprehension range type: %s"
                                       : "got '%s', expected iterable type",
                           ek_cel_go_type(&range));
    }
    start(e, fold);
    loop(e, fold, &range);
    if (e->ended)
        return ek_cel_error(&e->final);
    return ek_cel_run(e, fold->result);
}

struct ek_cel_val ek_cel_run_bind(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    const struct ek_cel_fold *fold = &ek_cel_frame_of(e)->program->folds[op->a];

    start(e, fold);
    return ek_cel_run(e, fold->result);
}
