/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds: the loops that macros expand to.
 *
 * Source: cel-go 0.26, interpreter/interpretable.go, folder.
 */
#include <string.h>

#include "api/cel/eval.h"
#include "api/cel/flat.h"
#include "api/cel/value.h"

struct ek_cel_val ek_cel_run_accu(struct ek_cel_eval *e, uint32_t local, uint32_t fold)
{
    if (e->locals[local].kind == EK_CEL_UNSET) {
        struct ek_cel_val v = ek_cel_run(e, e->program->folds[fold].init);
        e->locals[local] = v;
    }
    return e->locals[local];
}

static void start(struct ek_cel_eval *e, const struct ek_cel_fold *fold)
{
    e->locals[fold->accu].kind = EK_CEL_UNSET;
    if (fold->constant_init)
        e->locals[fold->accu] = e->ops[fold->init].value;
}

/* One step of a loop whose variables are set. False when the loop is over. */
static bool step(struct ek_cel_eval *e, const struct ek_cel_fold *fold)
{
    struct ek_cel_val v;

    if (!fold->always) {
        v = ek_cel_run(e, fold->condition);
        if (v.kind == EK_CEL_BOOL && !v.b)
            return false;
    }
    v = ek_cel_run(e, fold->step);
    e->locals[fold->accu] = v;
    return ek_cel_step(e);
}

static void loop(struct ek_cel_eval *e, const struct ek_cel_fold *fold,
                 const struct ek_cel_val *range)
{
    struct ek_cel_iter iter;

    ek_cel_iter_init(&iter, range);
    while (ek_cel_iter_next(&iter)) {
        if (fold->pairs) {
            e->locals[fold->var] = iter.key;
            e->locals[fold->var2] = iter.value;
        } else {
            e->locals[fold->var] = range->kind == EK_CEL_LIST ? iter.value : iter.key;
        }
        if (!step(e, fold))
            return;
    }
}

struct ek_cel_val ek_cel_run_fold(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    const struct ek_cel_fold *fold = &e->program->folds[op->a];
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
    const struct ek_cel_fold *fold = &e->program->folds[op->a];

    start(e, fold);
    return ek_cel_run(e, fold->result);
}
