/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/safety.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/base/quote.h"
#include "reconcilers/mutation/conditions.h"
#include "reconcilers/mutation/fights.h"
#include "reconcilers/mutation/mutate.h"

#define FINDINGS_MAX   64 /* of one request; more are not listed */
#define VALUE_TEXT_MAX 200

bool ek_safety_wanted(const struct ek_policy *policy)
{
    for (size_t i = 0; i < policy->n_mutations; i++)
        if (policy->mutations[i].safety == EK_SAFETY_EXACT ||
            policy->mutations[i].safety == EK_SAFETY_CONDITION)
            return true;
    return false;
}

/* One check under way. */
struct check {
    struct ek_run run;
    struct ek_safety_finding *findings;
    size_t n;
};

/* ---- Findings ---- */

static const char *value_text(struct check *c, yyjson_val *v)
{
    EK_AUTOFREE char *text = v ? yyjson_val_write_opts(v, 0, &ek_json_alc, NULL, NULL) : NULL;
    struct ek_str all = ek_str_from(text ? text : "nothing");
    size_t len = ek_utf8_cut(all, VALUE_TEXT_MAX);

    return ek_arena_printf(c->run.arena, "%.*s%s", (int)len, all.p, len < all.len ? "..." : "");
}

/* what holds no values; detail may, "" for none. */
static void add_finding(struct check *c, const struct ek_invocation *invocation, size_t mutation,
                        const struct ek_change *change, const char *what, const char *detail)
{
    const struct ek_bound *bound = invocation->bound;

    if (c->n == FINDINGS_MAX)
        return;
    if (!c->findings)
        c->findings = ek_arena_alloc(c->run.arena, FINDINGS_MAX * sizeof *c->findings);
    c->findings[c->n++] = (struct ek_safety_finding){
        .bound = bound,
        .param = invocation->key,
        .mutation = mutation,
        .path = change ? change->path : "",
        .expected = change ? change->after : NULL,
        .found = change ? change->before : NULL,
        .message =
            ek_arena_printf(c->run.arena,
                            "policy '%s' with binding '%s' denied request: "
                            "spec.mutations[%zu]: %s%s",
                            bound->policy->name, bound->binding->name, mutation, what, detail),
        .what = ek_arena_printf(c->run.arena, "spec.mutations[%zu]: %s", mutation, what)};
}

/* A check that could not be made; it obeys failurePolicy. */
static void cannot_check(struct check *c, const struct ek_invocation *invocation, size_t mutation,
                         const char *error)
{
    if (!invocation->bound->policy->ignore_failures)
        add_finding(c, invocation, mutation, NULL, "its safety cannot be checked",
                    ek_arena_printf(c->run.arena, ": %s", error));
}

/* ---- Mutations ---- */

static bool is_over(struct check *c)
{
    if (ek_work_is_over(c->run.options->work))
        c->run.error = EK_E_CANCELED;
    return c->run.error || c->run.pending;
}

/* Runs the mutation once more, alone: it must find its work done. */
static void check_exact(struct check *c, const struct ek_invocation *invocation, size_t i)
{
    struct ek_run *run = &c->run;
    struct ek_mutation_result result = {0};
    const struct ek_change *changes;
    struct ek_working working;

    ek_working_init(&working, run->request->object);
    ek_mutate(run, invocation, i, &working, &result);
    if (run->status.code)
        result.error = ek_arena_strdup(run->arena, run->status.message);
    run->status = (struct ek_err){0};
    if (result.error) {
        cannot_check(c, invocation, i, result.error);
    } else if (!is_over(c) && ek_working_object(&working)) {
        size_t n = ek_changes_of(run->request->object, ek_working_object(&working),
                                 run->options->work, run->arena, &changes);
        if (n > 0)
            add_finding(
                c, invocation, i, &changes[0],
                ek_arena_printf(run->arena, "what it set has been changed (safety Exact): %s",
                                *changes[0].path ? changes[0].path : "the object"),
                ek_arena_printf(run->arena, ": expected %s, found %s",
                                value_text(c, changes[0].after), value_text(c, changes[0].before)));
    }
    ek_working_done(&working);
}

static void check_condition(struct check *c, const struct ek_invocation *invocation, size_t i)
{
    const struct ek_mutation *m = &invocation->bound->policy->mutations[i];
    uint64_t budget = EK_CEL_MATCH_CONDITION_BUDGET;
    struct ek_scope scope;
    struct ek_evaluation e;

    ek_scope_init(&scope, &c->run, invocation, c->run.request->object, c->run.namespace_object);
    ek_scope_evaluate(&scope, &m->condition, &budget, &e);
    if (is_over(c))
        return;
    if (e.error)
        cannot_check(c, invocation, i, e.error);
    else if (e.value.kind != EK_CEL_BOOL || !e.value.b)
        add_finding(c, invocation, i, NULL, "its safety condition is not true",
                    ek_arena_printf(c->run.arena, ": %s", m->condition.text));
}

static void check_invocation(struct check *c, const struct ek_invocation *invocation)
{
    const struct ek_policy *policy = invocation->bound->policy;
    struct ek_step step = {0};

    if (c->run.namespace_failure.code && ek_run_lacks_namespace(&c->run)) {
        cannot_check(c, invocation, 0, c->run.namespace_failure.message);
        return;
    }
    switch (ek_judge_conditions(&c->run, invocation, c->run.request->object, &step)) {
    case EK_CONDITIONS_FALSE:
        return;
    case EK_CONDITIONS_FAILED:
        if (!is_over(c))
            cannot_check(c, invocation, 0, step.message);
        return;
    case EK_CONDITIONS_TRUE:
        break;
    }
    for (size_t i = 0; i < policy->n_mutations && !is_over(c); i++) {
        if (policy->mutations[i].safety == EK_SAFETY_EXACT)
            check_exact(c, invocation, i);
        else if (policy->mutations[i].safety == EK_SAFETY_CONDITION)
            check_condition(c, invocation, i);
    }
}

/* ---- All of them ---- */

/* Those that have something to check. */
static struct ek_policy_set select_wanted(const struct ek_policy_set *set, struct ek_arena *arena)
{
    struct ek_bound *bound = ek_arena_alloc(arena, (set->n + 1) * sizeof *bound);
    size_t n = 0;

    for (size_t i = 0; i < set->n; i++)
        if (ek_safety_wanted(set->bound[i].policy) &&
            set->bound[i].policy->enforcement != EK_POLICY_OBSERVE)
            bound[n++] = set->bound[i];
    return (struct ek_policy_set){bound, n};
}

static void check_all(struct check *c)
{
    struct ek_invocation *invocations;

    ek_run_find_namespace(&c->run);
    if (is_over(c))
        return;
    size_t n = ek_run_invocations(&c->run, c->run.request, &invocations);
    /* What is matched as another version is not looked at: see README.md. */
    for (size_t i = 0; i < n && !is_over(c); i++)
        if (!strcmp(invocations[i].kind.version, c->run.request->kind.version) &&
            !strcmp(invocations[i].kind.group, c->run.request->kind.group))
            check_invocation(c, &invocations[i]);
}

/* Matching has failed for a policy that may not be left out. */
static void report_status(struct ek_run *run, struct ek_safety_outcome *ret)
{
    *ret = (struct ek_safety_outcome){.code = run->status.http_status,
                                      .reason = ek_arena_strdup(run->arena, run->status.reason),
                                      .message = ek_arena_strdup(run->arena, run->status.message)};
}

int ek_safety_check(const struct ek_policy_set *set, const struct ek_admission_request *request,
                    const struct ek_mutation_world *world, const struct ek_engine_options *options,
                    struct ek_arena *arena, struct ek_safety_outcome *ret)
{
    const struct ek_policy_set wanted = select_wanted(set, arena);
    struct check c = {.run = {.set = &wanted,
                              .request = request,
                              .world = world,
                              .options = options,
                              .arena = arena}};

    *ret = (struct ek_safety_outcome){.allowed = true};
    if (wanted.n == 0 || !request->object || ek_run_is_exempt(request))
        return 0;
    check_all(&c);
    if (is_over(&c) && c.run.error)
        return c.run.error;
    ret->pending = c.run.pending;
    if (!c.run.pending && c.run.status.code)
        report_status(&c.run, ret);
    if (c.run.pending || c.run.status.code || c.n == 0)
        return 0;
    *ret = (struct ek_safety_outcome){.code = 403,
                                      .reason = "Invalid",
                                      .message = c.findings[0].message,
                                      .findings = c.findings,
                                      .n_findings = c.n};
    return 0;
}
