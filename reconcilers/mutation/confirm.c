/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/confirm.h"

#include <string.h>

#include "api/obj.h"

/* A run's arguments, passed on. */
struct call {
    const struct ek_policy_set *set;
    const struct ek_admission_request *request;
    const struct ek_mutation_world *world;
    const struct ek_engine_options *options;
    struct ek_arena *arena;
};

static int run_engine(const struct call *call, const struct ek_policy_set *set, yyjson_val *object,
                      struct ek_mutation_outcome *ret)
{
    struct ek_admission_request request = *call->request;

    request.object = object;
    return ek_engine_run(set, &request, call->world, call->options, call->arena, ret);
}

static bool has_confirm(const struct ek_policy_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->bound[i].apply && set->bound[i].confirm)
            return true;
    return false;
}

/* The bound policies for which keep is true, in an array of the arena. */
static int select_bound(const struct call *call, const struct ek_policy_set *from,
                        bool (*keep)(const struct ek_bound *bound, void *arg), void *arg,
                        struct ek_policy_set *ret_set)
{
    struct ek_bound *bound = ek_arena_try(call->arena, (from->n + 1) * sizeof *bound);
    size_t n = 0;

    if (!bound)
        return EK_E_LIMIT;
    for (size_t i = 0; i < from->n; i++)
        if (keep(&from->bound[i], arg))
            bound[n++] = from->bound[i];
    *ret_set = (struct ek_policy_set){.bound = bound, .n = n};
    return 0;
}

static bool is_one(const struct ek_bound *bound, void *arg)
{
    return bound->policy == arg;
}

/* Not the policy, if it is one to confirm. */
static bool is_other(const struct ek_bound *bound, void *arg)
{
    return bound->policy != arg || !bound->confirm;
}

/* Whether a policy, run alone, changes object; *ret_result (owned, may be NULL) is the
 * result. A policy that denies is at rest: the whole run reports the denial. */
static int changes(const struct call *call, const struct ek_policy_set *alone, yyjson_val *object,
                   bool *ret_changes, bool *ret_pending, yyjson_doc **ret_result)
{
    struct ek_mutation_outcome outcome;

    int rc = run_engine(call, alone, object, &outcome);
    if (rc)
        return rc;
    *ret_pending = outcome.pending;
    *ret_changes = !outcome.pending && outcome.allowed && outcome.patch;
    *ret_result = outcome.result;
    outcome.result = NULL;
    ek_mutation_outcome_done(&outcome);
    return 0;
}

/* Whether a policy changes the object that came, and its own result again. */
static int is_restless(const struct call *call, const struct ek_policy *policy, bool *ret_restless,
                       bool *ret_pending)
{
    yyjson_doc *first = NULL, *second = NULL;
    struct ek_policy_set alone;

    int rc = select_bound(call, call->set, is_one, (void *)(uintptr_t)policy, &alone);
    if (!rc)
        rc = changes(call, &alone, call->request->object, ret_restless, ret_pending, &first);
    if (!rc && *ret_restless && !*ret_pending)
        rc = changes(call, &alone, yyjson_doc_get_root(first), ret_restless, ret_pending, &second);
    yyjson_doc_free(first);
    yyjson_doc_free(second);
    return rc;
}

/* The first policy to confirm that is restless; NULL when all rest. *ret_pending as in the engine.
 * Each policy is run alone: changes of others prove nothing about it. */
static int find_restless(const struct call *call, const struct ek_policy **ret_policy,
                         bool *ret_pending)
{
    const struct ek_policy_set *set = call->set;

    *ret_policy = NULL;
    for (size_t i = 0; i < set->n; i++) {
        const struct ek_bound *bound = &set->bound[i];
        bool restless = false;
        if (!bound->apply || !bound->confirm)
            continue;
        int rc = is_restless(call, bound->policy, &restless, ret_pending);
        if (restless)
            *ret_policy = bound->policy;
        if (rc || restless || *ret_pending)
            return rc;
    }
    return 0;
}

/* The steps, those of policy with what came of them. */
static const struct ek_step *denied_steps(const struct call *call, const struct ek_policy *policy,
                                          const char *message,
                                          const struct ek_mutation_outcome *outcome)
{
    struct ek_step *steps = ek_arena_alloc(call->arena, (outcome->n_steps + 1) * sizeof *steps);

    for (size_t i = 0; i < outcome->n_steps; i++) {
        steps[i] = outcome->steps[i];
        if (steps[i].bound->policy == policy && steps[i].result == EK_STEP_APPLIED) {
            steps[i].result = EK_STEP_DENIED;
            steps[i].error = EK_STEP_RESTLESS;
            steps[i].message = message;
        }
    }
    return steps;
}

static void deny(const struct call *call, const struct ek_policy *policy,
                 struct ek_mutation_outcome *ret)
{
    const char **causes = ek_arena_alloc(call->arena, sizeof *causes);

    ek_mutation_outcome_done(ret);
    causes[0] = ek_arena_printf(
        call->arena,
        "policy '%s' denied request: it changes objects each time that it runs, and some API "
        "servers of this cluster run it while others do not, so that whether it has run is not "
        "known; make it change nothing on its own result (a match condition does), or use a policy "
        "of evenkeel.dev",
        policy->name);
    ret->allowed = false;
    ret->code = 403;
    ret->reason = "Invalid";
    ret->message = causes[0];
    ret->causes = causes;
    ret->n_causes = 1;
    ret->steps = denied_steps(call, policy, causes[0], ret);
}

/* One round: runs what is left of the set; *ret_again when a policy was taken out of it. */
static int run_round(struct call *call, struct ek_policy_set *left, bool *ret_again,
                     struct ek_mutation_outcome *ret)
{
    const struct ek_policy *policy = NULL;
    bool pending = false;

    *ret_again = false;
    int rc = run_engine(call, call->set, call->request->object, ret);
    if (rc || ret->pending || !ret->allowed || !ret->patch || !has_confirm(call->set))
        return rc;
    rc = find_restless(call, &policy, &pending);
    if (!rc && pending) {
        ret->pending = true;
    } else if (!rc && policy && !policy->ignore_failures) {
        deny(call, policy, ret);
    } else if (!rc && policy) {
        rc = select_bound(call, call->set, is_other, (void *)(uintptr_t)policy, left);
        *ret_again = !rc;
    }
    if (rc || pending || *ret_again)
        ek_mutation_outcome_done(ret);
    return rc;
}

int ek_confirm_run(const struct ek_policy_set *set, const struct ek_admission_request *request,
                   const struct ek_mutation_world *world, const struct ek_engine_options *options,
                   struct ek_arena *arena, struct ek_mutation_outcome *ret)
{
    struct call call = {
        .set = set, .request = request, .world = world, .options = options, .arena = arena};
    struct ek_policy_set left = {0};
    bool again = true;
    int rc = 0;

    while (again && !rc) {
        rc = run_round(&call, &left, &again, ret);
        call.set = &left;
    }
    return rc;
}
