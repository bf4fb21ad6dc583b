/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/evaluate.h"

#include <string.h>

#include "reconcilers/mutation/views.h"

static const char out_of_budget[] =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/* What an evaluation, or the part of one between two looks at the time, is counted as. */
#define EVALUATION_STEPS 100

static int get_variable(void *arg, const char *name, size_t len, struct ek_cel_val *ret_value,
                        uint64_t *ret_cost);

static struct ek_cel_val json_or_null(yyjson_val *v)
{
    return v ? ek_cel_from_json(v) : ek_cel_null();
}

static void authorize(void *arg, const struct ek_cel_authz_attributes *what,
                      struct ek_cel_authz_decision *ret)
{
    struct ek_run *run = arg;

    /* While it is not known, any answer will do: the run is started over. */
    if (run->world->authorize &&
        run->world->authorize(run->world->arg, what, ret) == EK_WORLD_PENDING)
        run->pending = true;
}

static void bind_authorizer(struct ek_scope *scope)
{
    struct ek_run *run = scope->run;
    const struct ek_admission_request *request = run->request;
    const struct ek_cel_authz_attributes resource = {
        .is_resource = true,
        .group = ek_str_from(request->resource.group),
        .resource = ek_str_from(request->resource.resource),
        .subresource = ek_str_from(request->subresource),
        .namespace_ = ek_str_from(request->namespace),
        .name = ek_str_from(request->name),
    };

    scope->authorizer = (struct ek_cel_authorizer){authorize, run};
    scope->vars[EK_SLOT_AUTHORIZER] = ek_cel_authorizer_val(&scope->authorizer, run->arena);
    scope->vars[EK_SLOT_REQUEST_RESOURCE] =
        ek_cel_authorizer_request_val(&scope->authorizer, &resource, run->arena);
}

void ek_scope_init(struct ek_scope *scope, struct ek_run *run,
                   const struct ek_invocation *invocation, yyjson_val *object,
                   yyjson_val *namespace_object)
{
    const struct ek_policy *policy = invocation->bound->policy;
    const struct ek_admission_request *request = run->request;
    struct ek_cel_val *vars = scope->vars;

    *scope = (struct ek_scope){.run = run, .policy = policy};
    scope->variables = (struct ek_cel_host){get_variable, scope};
    vars[EK_SLOT_OBJECT] = json_or_null(object);
    const struct ek_kind_view *view = invocation->view;
    vars[EK_SLOT_OLD_OBJECT] =
        json_or_null(view ? yyjson_doc_get_root(view->old_object) : request->old_object);
    vars[EK_SLOT_REQUEST] =
        ek_cel_from_json(view ? yyjson_doc_get_root(view->request) : request->root);
    vars[EK_SLOT_NAMESPACE_OBJECT] = json_or_null(namespace_object);
    vars[EK_SLOT_PARAMS] = json_or_null(invocation->param);
    vars[EK_SLOT_VARIABLES] = ek_cel_host_map(&scope->variables);
    bind_authorizer(scope);
    scope->objects.type = EK_SCHEMA_NONE;
    if (policy->behaviour == EK_POLICY_EXTENDED)
        vars[EK_SLOT_OBJECTS] = ek_objects_val(&scope->objects, run->arena);
    if (policy->n_variables == 0)
        return;
    scope->memo = ek_arena_try(run->arena, policy->n_variables * sizeof *scope->memo);
    if (!scope->memo)
        run->error = EK_E_LIMIT;
    for (size_t i = 0; scope->memo && i < policy->n_variables; i++)
        scope->memo[i].kind = EK_CEL_KIND_MAX;
}

/* ---- Variables ---- */

static struct ek_cel_val fault(struct ek_scope *scope, const char *message)
{
    struct ek_cel_fault *f = ek_arena_try(scope->run->arena, sizeof *f);
    static const struct ek_cel_fault no_memory = {EK_CEL_E_MEMORY, 0, "out of memory"};

    if (f)
        *f = (struct ek_cel_fault){EK_CEL_E_EVAL, 0, message};
    return ek_cel_error(f ? f : &no_memory);
}

/* The engine looks every so many iterations of loops (api/cel/eval/eval.h). */
static bool is_over(void *work)
{
    return !ek_work_do(work, EVALUATION_STEPS);
}

static bool eval(struct ek_scope *scope, const struct ek_cel_program *program,
                 struct ek_cel_result *ret)
{
    struct ek_work *work = scope->run->options->work;

    ek_work_do(work, EVALUATION_STEPS);
    return ek_cel_eval(program, scope->vars, scope->run->arena,
                       &(struct ek_cel_limits){.cost = EK_CEL_PER_CALL_LIMIT,
                                               .canceled = work ? is_over : NULL,
                                               .canceled_arg = work},
                       ret);
}

static struct ek_cel_val compute(struct ek_scope *scope, const struct ek_expression *e)
{
    struct ek_arena *arena = scope->run->arena;
    struct ek_cel_result result;

    if (!e->program)
        return fault(scope,
                     ek_arena_printf(arena, "composited variable \"%s\" fails to compile: %s",
                                     e->name, e->error));
    if (scope->depth == EK_VARIABLE_DEPTH_MAX)
        return fault(scope, ek_arena_printf(arena,
                                            "composited variable \"%s\" fails to evaluate: more "
                                            "than %d variables deep",
                                            e->name, EK_VARIABLE_DEPTH_MAX));
    scope->depth++;
    bool ok = eval(scope, e->program, &result);
    scope->depth--;
    scope->variable_cost += result.cost;
    if (ok)
        return result.value;
    if (result.value.fault->kind == EK_CEL_E_MEMORY)
        scope->run->error = EK_E_LIMIT;
    return fault(scope, ek_arena_printf(arena, "composited variable \"%s\" fails to evaluate: %s",
                                        e->name, result.value.fault->message));
}

static int get_variable(void *arg, const char *name, size_t len, struct ek_cel_val *ret_value,
                        uint64_t *ret_cost)
{
    struct ek_scope *scope = arg;
    const struct ek_policy *policy = scope->policy;

    *ret_cost = 0; /* billed to the mutation, not to the expression that reads */
    /* Of several variables with one name the last counts. */
    for (size_t i = policy->n_variables; scope->memo && i-- > 0;) {
        const struct ek_expression *e = &policy->variables[i];
        if (strlen(e->name) != len || memcmp(e->name, name, len) != 0)
            continue;
        if (scope->memo[i].kind == EK_CEL_KIND_MAX)
            scope->memo[i] = compute(scope, e);
        *ret_value = scope->memo[i];
        return ret_value->kind == EK_CEL_ERROR ? -1 : 1;
    }
    return 0;
}

/* ---- Expressions ---- */

static bool pay(uint64_t *budget, uint64_t cost)
{
    bool enough = cost <= *budget;

    *budget = enough ? *budget - cost : 0;
    return enough;
}

static enum ek_step_error step_error(const struct ek_cel_fault *f)
{
    return f->kind == EK_CEL_E_COST ? EK_STEP_OUT_OF_BUDGET : EK_STEP_INVALID_ERROR;
}

void ek_scope_evaluate(struct ek_scope *scope, const struct ek_expression *e, uint64_t *budget,
                       struct ek_evaluation *ret)
{
    struct ek_arena *arena = scope->run->arena;
    struct ek_cel_result result;

    *ret = (struct ek_evaluation){.value = ek_cel_null()};
    if (!e->program) {
        ret->error = e->error;
        ret->kind = EK_STEP_COMPILE_ERROR;
        return;
    }
    bool ok = eval(scope, e->program, &result);
    ret->cost = result.cost + scope->variable_cost;
    scope->variable_cost = 0;
    if (!pay(budget, ret->cost)) {
        ret->error = out_of_budget;
        ret->ends = true;
        ret->kind = EK_STEP_OUT_OF_BUDGET;
    } else if (ok) {
        ret->value = result.value;
    } else {
        ret->error = ek_arena_printf(arena, "expression '%s' resulted in error: %s", e->text,
                                     result.value.fault->message);
        ret->kind = step_error(result.value.fault);
    }
    if (!ok && result.value.fault->kind == EK_CEL_E_MEMORY)
        scope->run->error = EK_E_LIMIT;
    if (!ok && result.value.fault->kind == EK_CEL_E_CANCELED)
        scope->run->error = EK_E_CANCELED;
}
