/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/cel/eval/eval.h"
#include "api/cel/eval/flat.h"
#include "api/cel/values/value.h"

struct ek_cel_program *ek_cel_program_ref(struct ek_cel_program *program)
{
    atomic_fetch_add_explicit(&program->refs, 1, memory_order_relaxed);
    return program;
}

void ek_cel_program_unref(struct ek_cel_program *program)
{
    if (!program || atomic_fetch_sub_explicit(&program->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (uint32_t i = 0; i < program->n_regexes; i++)
        ek_cel_regex_free(program->regexes[i]);
    ek_cel_env_unref(program->env);
    ek_free(program);
}

const char *ek_cel_program_type(const struct ek_cel_program *program)
{
    return program->type;
}

const char *ek_cel_program_text(const struct ek_cel_program *program)
{
    return program->text;
}

bool ek_cel_program_uses(const struct ek_cel_program *program, size_t slot)
{
    for (uint32_t i = 0; i < program->n_reads; i++)
        if (program->reads[i].slot == slot)
            return true;
    return false;
}

size_t ek_cel_program_reads(const struct ek_cel_program *program, const struct ek_cel_read **ret)
{
    *ret = program->reads;
    return program->n_reads;
}

size_t ek_cel_program_size(const struct ek_cel_program *program)
{
    return program->size;
}

/* ---- Evaluating ------------------------------------------------------------------------------ */

/* Locals that need no memory of the arena. */
#define LOCALS_INLINE 12u

static uint64_t limit_of(const struct ek_cel_limits *limits)
{
    uint64_t limit = UINT64_MAX;

    if (limits && limits->cost)
        limit = limits->cost;
    if (limits && limits->budget && *limits->budget < limit)
        limit = *limits->budget;
    return limit;
}

static struct ek_cel_val evaluate(struct ek_cel_frame *frame, const struct ek_cel_program *program)
{
    struct ek_cel_eval *e = &frame->account;
    struct ek_cel_val v;

    if (program->n_locals > LOCALS_INLINE) {
        frame->locals = ek_cel_alloc(e, program->n_locals * sizeof *frame->locals);
        if (!frame->locals)
            return ek_cel_no_memory(e);
    }
    v = ek_cel_run(e, program->root);
    if (e->cost > e->cost_limit)
        return ek_cel_cost_exceeded(e);
    return e->ended ? ek_cel_error(&e->final) : v;
}

/* The final error lives in the evaluation, which ends now: the result gets a copy. */
static struct ek_cel_val keep_final(struct ek_cel_eval *e, struct ek_cel_val v)
{
    static const struct ek_cel_fault no_memory = {
        .kind = EK_CEL_E_MEMORY,
        .message = "memory limit of the evaluation exceeded",
    };
    struct ek_cel_fault *copy;

    if (v.kind != EK_CEL_ERROR || v.fault != &e->final)
        return v;
    copy = ek_arena_try(e->arena, sizeof *copy);
    if (!copy) {
        static const struct ek_cel_fault others[] = {
            {EK_CEL_E_COST, 0, "operation cancelled: actual cost limit exceeded"},
            {EK_CEL_E_CANCELED, 0, "operation interrupted"},
        };
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            if (others[i].kind == e->final.kind)
                return ek_cel_error(&others[i]);
        return ek_cel_error(&no_memory);
    }
    *copy = e->final;
    return ek_cel_error(copy);
}

bool ek_cel_eval(const struct ek_cel_program *program, const struct ek_cel_val *vars,
                 struct ek_arena *arena, const struct ek_cel_limits *limits,
                 struct ek_cel_result *ret)
{
    struct ek_cel_val locals[LOCALS_INLINE];
    struct ek_cel_frame frame = {
        .account = {.arena = arena,
                    .cost_limit = limit_of(limits),
                    .limits = limits,
                    .compare_steps = EK_CEL_COMPARE_STEPS_MAX},
        .program = program,
        .ops = program->ops,
        .vars = vars,
        .locals = locals,
    };
    struct ek_cel_eval *e = &frame.account;

    ret->value = keep_final(e, evaluate(&frame, program));
    ret->cost = e->cost;
    ek_cel_eval_release(&frame);
    if (limits && limits->budget)
        *limits->budget -= e->cost < *limits->budget ? e->cost : *limits->budget;
    return ret->value.kind != EK_CEL_ERROR;
}
