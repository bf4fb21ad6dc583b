/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/engine.h"

#include <string.h>

#include "api/counted.h"
#include "api/obj.h"
#include "api/patch/jsondiff.h"
#include "reconcilers/mutation/conditions.h"
#include "reconcilers/mutation/fights.h"
#include "reconcilers/mutation/fixpoint.h"
#include "reconcilers/mutation/views.h"

/* The API server runs the chain of mutators at most twice. */
#define IN_TREE_PASSES 2

/* The work that an invocation counts, besides its evaluations and changes. */
#define INVOCATION_STEPS 16

/* ---- Invocations ---- */

/* What one pass over all invocations needs and leaves. */
struct pass {
    unsigned number;
    struct ek_views views;
    const struct ek_invocation *earlier; /* of the pass before: who may run again */
    size_t n_earlier, next_earlier;      /* next: behind the one found last */
    struct ek_fixpoint fixpoint;         /* of those that are Extended */
    size_t n_extended;                   /* invocations */
    unsigned limit;                      /* on passes */
    bool in_tree;                        /* those that are InTree have a turn */
    bool track;                          /* changes are noted */
    bool ran, changed;                   /* something did, in this pass */
};

static bool is_extended(const struct ek_invocation *invocation)
{
    return invocation->bound->policy->behaviour == EK_POLICY_EXTENDED;
}

/* Invocations come in the order of the pass before, but for those that came or went. */
static bool may_run(struct ek_run *run, struct pass *pass, const struct ek_invocation *invocation)
{
    if (pass->number == 1 || is_extended(invocation))
        return true;
    for (size_t i = 0; i < pass->n_earlier && ek_work_do(run->options->work, 1); i++) {
        size_t at = (pass->next_earlier + i) % pass->n_earlier;
        const struct ek_invocation *e = &pass->earlier[at];
        if (e->bound == invocation->bound && !strcmp(e->key, invocation->key)) {
            pass->next_earlier = at + 1;
            return e->reinvocable;
        }
    }
    return false;
}

static void fail(struct ek_run *run, const struct ek_invocation *invocation, struct ek_step *step,
                 const char *message)
{
    const struct ek_bound *bound = invocation->bound;

    step->message = step->message ? step->message : message;
    step->result = bound->policy->ignore_failures ? EK_STEP_IGNORED : EK_STEP_DENIED;
    ek_run_deny(run, bound, false, "Invalid", message);
}

/* Whether the run ends here; that its time is over counts whatever else there is. */
static bool is_over(struct ek_run *run)
{
    if (ek_work_is_over(run->options->work))
        run->error = EK_E_CANCELED;
    return run->error || run->pending || run->status.code;
}

/* The object as it is now; want of memory ends the run. */
static yyjson_val *read_object(struct ek_run *run, struct ek_working *working)
{
    yyjson_val *object = ek_working_object(working);

    if (!object && working->base)
        run->error = EK_E_NOMEM;
    return object;
}

/* The same as policies wrote it, where that is known. */
static yyjson_val *read_authored(struct ek_run *run, struct ek_working *working)
{
    yyjson_val *object = read_object(run, working);

    return object && working->authored ? working->authored : object;
}

/* One mutation, with its changes: the document before is kept until they are known. */
static void mutate_one(struct ek_run *run, struct ek_invocation *invocation, size_t i,
                       struct ek_working *working, struct ek_mutation_result *result,
                       struct ek_change_part *part)
{
    yyjson_doc *kept = NULL, **save = working->save;
    yyjson_val *before = read_authored(run, working), *after;

    if (save && *save)
        working->save = &kept;
    ek_mutate(run, invocation, i, working, result);
    working->save = save;
    after = read_authored(run, working);
    if (before && after && before != after)
        part->n = ek_changes_of(before, after, run->options->work, run->arena, &part->changes);
    yyjson_doc_free(kept);
}

/* All mutations, each on the result of the one before; one that fails does not stop the next
 * (apiserver/pkg/admission/plugin/policy/mutating/dispatcher.go: dispatchOne). parts: NULL, or one
 * per mutation. */
static void mutate_all(struct ek_run *run, struct ek_invocation *invocation,
                       struct ek_working *working, struct ek_step *step,
                       struct ek_change_part *parts)
{
    const struct ek_policy *policy = invocation->bound->policy;

    step->result = EK_STEP_APPLIED;
    for (size_t i = 0; i < policy->n_mutations && working->base; i++) {
        struct ek_mutation_result result = {0};
        if (parts)
            mutate_one(run, invocation, i, working, &result, &parts[i]);
        else
            ek_mutate(run, invocation, i, working, &result);
        if (is_over(run))
            return;
        step->cost += result.cost;
        if (result.error) {
            step->error = result.kind;
            fail(run, invocation, step, result.error);
        }
    }
    invocation->reinvocable = policy->reinvoke;
}

/* The same, with the changes that come of it. */
static void mutate_and_track(struct ek_run *run, struct ek_invocation *invocation,
                             struct ek_working *working, struct ek_step *step)
{
    yyjson_doc *kept = NULL;
    yyjson_val *before = read_authored(run, working), *after;
    size_t n = invocation->bound->policy->n_mutations;
    struct ek_change_part *parts =
        run->options->trace ? ek_arena_alloc(run->arena, n * sizeof *parts) : NULL;

    working->save = &kept;
    mutate_all(run, invocation, working, step, parts);
    working->save = NULL;
    after = read_authored(run, working);
    if (before && after && before != after)
        step->n_changes =
            ek_changes_of(before, after, run->options->work, run->arena, &step->changes);
    if (parts && step->n_changes)
        step->changes = ek_changes_attribute(step->changes, step->n_changes, parts, n, run->arena);
    yyjson_doc_free(kept);
}

/* What a policy that is only observed would do, on a copy. */
static void observe(struct ek_run *run, struct ek_invocation *invocation,
                    struct ek_working *working, struct ek_step *step)
{
    struct ek_working copy;

    ek_working_init(&copy, read_object(run, working));
    mutate_and_track(run, invocation, &copy, step);
    if (run->status.code) { /* would end the request, were it more than observed */
        step->message = ek_arena_strdup(run->arena, run->status.message);
        step->error = EK_STEP_INVALID_ERROR;
        step->result = EK_STEP_DENIED;
        run->status = (struct ek_err){0};
    }
    if (step->result == EK_STEP_APPLIED)
        step->result = EK_STEP_OBSERVED;
    ek_working_done(&copy);
}

static void invoke(struct ek_run *run, struct ek_invocation *invocation, struct pass *pass)
{
    struct ek_step *step = ek_run_step(run, invocation->bound, invocation->key, pass->number);
    const struct ek_engine_options *options = run->options;

    if (!step || !ek_work_do(options->work, INVOCATION_STEPS))
        return;
    int64_t start = options->now_ns ? options->now_ns(options->now_arg) : 0;
    struct ek_working *working = ek_views_working(&pass->views, invocation, false);
    enum ek_conditions conditions =
        ek_judge_conditions(run, invocation, read_object(run, working), step);
    if (run->error)
        return;
    if (conditions == EK_CONDITIONS_FAILED)
        fail(run, invocation, step, step->message);
    else if (conditions == EK_CONDITIONS_FALSE || !may_run(run, pass, invocation))
        step->result = EK_STEP_SKIPPED;
    else if (!invocation->bound->apply)
        observe(run, invocation, working, step);
    else if (pass->track)
        mutate_and_track(run, invocation, ek_views_working(&pass->views, invocation, true), step);
    else
        mutate_all(run, invocation, ek_views_working(&pass->views, invocation, true), step, NULL);
    if (pass->track && !run->error && !run->pending && !ek_work_is_over(options->work))
        ek_fixpoint_note(run, &pass->fixpoint, invocation, step);
    pass->changed = pass->changed || (step->n_changes && invocation->bound->apply);
    if (options->now_ns)
        step->duration_ns = options->now_ns(options->now_arg) - start;
}

/* ---- Passes ---- */

/* No policy can judge a namespaced object without its Namespace: a missing Namespace is the error
 * of the API server; one that could not be read counts by each policy's failurePolicy. */
static bool namespace_is_missing(struct ek_run *run, const struct ek_invocation *invocations,
                                 size_t n)
{
    if (!ek_run_lacks_namespace(run))
        return false;
    if (run->namespace_failure.code) {
        for (size_t i = 0; i < n && !ek_run_needs_namespace(run, invocations[i].bound);)
            i++;
        return true;
    }
    ek_err_set(&run->status, EK_E_NOENT, "namespaces \"%s\" not found", run->request->namespace);
    run->status.http_status = 404;
    snprintf(run->status.reason, sizeof run->status.reason, "NotFound");
    return true;
}

/* The request as it is now, for matching by the labels that the object has by then. */
static struct ek_admission_request current(struct ek_run *run, struct ek_working *working)
{
    struct ek_admission_request request = *run->request;

    if (request.object)
        request.object = read_object(run, working);
    return request;
}

/* Brings the object back to what the next pass, and the answer, start from. */
static void finish_pass(struct ek_run *run, struct pass *pass)
{
    struct ek_working *working = pass->views.main;
    int rc = ek_views_finish(&pass->views, run);

    if (!rc && working->dirty && working->tree && !is_over(run) && !run->n_denials)
        rc = ek_working_convert(working, run);
    if (rc)
        run->error = rc;
}

static size_t count_extended(const struct ek_invocation *invocations, size_t n)
{
    size_t extended = 0;

    for (size_t i = 0; i < n; i++)
        extended += is_extended(&invocations[i]);
    return extended;
}

/* All invocations that have a turn. */
static void run_pass(struct ek_run *run, struct pass *pass, struct ek_invocation *invocations,
                     size_t n)
{
    struct ek_working *working = pass->views.main;

    pass->ran = pass->changed = false;
    for (size_t i = 0; i < n && !is_over(run); i++) {
        bool turn = is_extended(&invocations[i])
                        ? ek_fixpoint_wants(&pass->fixpoint, &invocations[i])
                        : pass->in_tree;
        if (!turn)
            continue;
        if (!pass->ran && pass->n_extended && pass->number > 1)
            ek_fixpoint_keep(run, &pass->fixpoint, pass->number - 1, read_object(run, working));
        pass->ran = true;
        invoke(run, &invocations[i], pass);
    }
    finish_pass(run, pass);
}

/* Reports that policies did not come to rest. */
static void report_fights(struct ek_run *run, unsigned first_pass, size_t least,
                          struct ek_mutation_outcome *ret)
{
    ret->n_fights =
        ek_fights_of(run->steps, run->n_steps, first_pass, least, run->arena, &ret->fights);
    if (least == 1 || ret->n_fights)
        ret->converged = false;
}

/*
 * Whether there is a pass after this one. In tree there are at most two, and any mutation that ran
 * requires the second, even one that changed nothing; two policies that change one path in it
 * fight.
 */
static bool goes_on(struct ek_run *run, struct pass *pass, struct ek_mutation_outcome *ret)
{
    struct ek_working *working = pass->views.main;

    pass->in_tree = pass->number < IN_TREE_PASSES && working->dirty;
    if (!pass->n_extended) {
        if (pass->number == IN_TREE_PASSES && pass->track)
            report_fights(run, IN_TREE_PASSES, 2, ret);
        return pass->in_tree;
    }
    if (!pass->changed)
        return pass->in_tree;
    unsigned seen = ek_fixpoint_seen(&pass->fixpoint, pass->number, read_object(run, working));
    if (!seen && pass->number < pass->limit)
        return true;
    report_fights(run, seen ? seen + 1 : pass->limit, 1, ret);
    return false;
}

/* Lists the invocations of the next pass; false when the run ends here. */
static bool begin_pass(struct ek_run *run, struct pass *pass, struct ek_working *working,
                       struct ek_invocation **ret, size_t *ret_n)
{
    struct ek_admission_request request = current(run, working);

    pass->number++;
    *ret_n = ek_run_invocations(run, &request, ret);
    pass->n_extended = count_extended(*ret, *ret_n);
    pass->track = run->options->trace || pass->n_extended;
    if (pass->number == 1)
        pass->limit = ek_fixpoint_limit(pass->n_extended);
    if (is_over(run) || (*ret_n > 0 && namespace_is_missing(run, *ret, *ret_n)))
        return false;
    working->dirty = false;
    run->error = ek_views_init(&pass->views, run, working, *ret, *ret_n);
    return true;
}

static void run_passes(struct ek_run *run, struct ek_working *working,
                       struct ek_mutation_outcome *ret)
{
    struct pass pass = {.in_tree = true};
    struct ek_invocation *invocations;
    size_t n;

    do {
        if (!begin_pass(run, &pass, working, &invocations, &n))
            return;
        run_pass(run, &pass, invocations, n);
        if (pass.ran || pass.number == 1)
            ret->passes = pass.number;
        /* The server stops at the first pass that denies. */
        if (is_over(run) || run->n_denials)
            return;
        pass.earlier = invocations;
        pass.next_earlier = 0;
        pass.n_earlier = n;
    } while (goes_on(run, &pass, ret));
}

/* ---- The answer ---- */

static void answer_status(struct ek_run *run, struct ek_mutation_outcome *ret)
{
    ret->allowed = false;
    ret->code = run->status.http_status;
    ret->reason = ek_arena_strdup(run->arena, run->status.reason);
    ret->message = ek_arena_strdup(run->arena, run->status.message);
}

static void answer_denials(struct ek_run *run, struct ek_mutation_outcome *ret)
{
    const char **causes = ek_arena_alloc(run->arena, run->n_denials * sizeof *causes);

    for (size_t i = 0; i < run->n_denials; i++)
        causes[i] = run->denials[i].message;
    ret->allowed = false;
    ret->code = 403;
    ret->reason = run->denials[0].reason;
    ret->message = run->denials[0].message;
    ret->causes = causes;
    ret->n_causes = run->n_denials;
}

/* The patch from the object as it came; none when nothing has changed. */
static int answer_patch(struct ek_run *run, struct ek_working *working,
                        struct ek_mutation_outcome *ret)
{
    const yyjson_alc alc = ek_json_alc_in(run->arena);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&alc);
    yyjson_mut_val *patch = NULL;

    int rc = doc ? ek_jsondiff(run->request->object, yyjson_mut_doc_get_root(working->tree), doc,
                               run->options->work, &patch, NULL)
                 : EK_E_NOMEM;
    if (rc || yyjson_mut_arr_size(patch) == 0) {
        yyjson_mut_doc_free(doc);
        return rc;
    }
    yyjson_mut_doc_set_root(doc, patch);
    ret->patch = doc;
    return 0;
}

static int answer_object(struct ek_run *run, struct ek_working *working,
                         struct ek_mutation_outcome *ret)
{
    ret->allowed = true;
    if (!working->base)
        return 0;
    if (ek_working_open(working))
        return EK_E_NOMEM;
    ret->result = yyjson_mut_doc_imut_copy(working->tree, &ek_json_alc);
    if (!ret->result)
        return EK_E_NOMEM;
    ret->authored = working->authored;
    return working->changed ? answer_patch(run, working, ret) : 0;
}

int ek_engine_run(const struct ek_policy_set *set, const struct ek_admission_request *request,
                  const struct ek_mutation_world *world, const struct ek_engine_options *options,
                  struct ek_arena *arena, struct ek_mutation_outcome *ret)
{
    struct ek_run run = {
        .set = set, .request = request, .world = world, .options = options, .arena = arena};
    struct ek_working working;
    int rc = 0;

    ek_working_init(&working, request->object);
    *ret = (struct ek_mutation_outcome){.allowed = true, .converged = true};
    if (!ek_run_is_exempt(request)) {
        ek_run_find_namespace(&run);
        if (!run.pending)
            run_passes(&run, &working, ret);
    }
    ret->steps = run.steps;
    ret->n_steps = run.n_steps;
    if (is_over(&run))
        rc = run.error;
    if (!rc && run.pending)
        ret->pending = true;
    else if (!rc && run.status.code)
        answer_status(&run, ret);
    else if (!rc && run.n_denials)
        answer_denials(&run, ret);
    else if (!rc)
        rc = answer_object(&run, &working, ret);
    ek_working_done(&working);
    if (rc)
        ek_mutation_outcome_done(ret);
    return rc;
}

void ek_mutation_outcome_done(struct ek_mutation_outcome *outcome)
{
    yyjson_doc_free(outcome->result);
    yyjson_mut_doc_free(outcome->patch);
    outcome->result = NULL;
    outcome->patch = NULL;
}
