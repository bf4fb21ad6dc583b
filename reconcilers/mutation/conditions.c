/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/conditions.h"

static const char *add_error(struct ek_run *run, const char *errors, const char *error)
{
    return errors ? ek_arena_printf(run->arena, "%s, %s", errors, error) : error;
}

enum ek_conditions ek_judge_conditions(struct ek_run *run, const struct ek_invocation *invocation,
                                       yyjson_val *object, struct ek_step *step)
{
    const struct ek_policy *policy = invocation->bound->policy;
    uint64_t budget = EK_CEL_MATCH_CONDITION_BUDGET;
    const char *errors = NULL;
    size_t n_errors = 0;
    struct ek_scope scope;

    if (policy->n_conditions == 0)
        return EK_CONDITIONS_TRUE;
    ek_scope_init(&scope, run, invocation, object, NULL);
    for (size_t i = 0; i < policy->n_conditions && !run->error && !run->pending; i++) {
        struct ek_evaluation e;
        ek_scope_evaluate(&scope, &policy->conditions[i], &budget, &e);
        step->cost += e.cost;
        if (e.error) {
            errors = add_error(run, errors, e.error);
            n_errors++;
            step->error = e.kind;
        } else if (e.value.kind == EK_CEL_BOOL && !e.value.b) {
            step->error = EK_STEP_NO_ERROR;
            return EK_CONDITIONS_FALSE;
        }
    }
    if (!errors)
        return EK_CONDITIONS_TRUE;
    step->message = n_errors > 1 ? ek_arena_printf(run->arena, "[%s]", errors) : errors;
    return EK_CONDITIONS_FAILED;
}
