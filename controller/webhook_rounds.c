/* SPDX-License-Identifier: Apache-2.0 */
/* Policies on a serving thread: rounds of the engine, or of the check of its work, until a review
 * can be answered. */
#include "controller/webhook-internal.h"
#include "reconcilers/mutation/confirm.h"
#include "reconcilers/mutation/safety.h"

/* A request is evaluated anew whenever the API server has told what was missing. Policies ask one
 * thing after the other, and each may ask several. */
#define ROUNDS_MAX 32

/* One request, until it is answered and all it asked for is back. */
struct job {
    struct ek_webhook_exchange exchange;
    bool validates; /* checks safety, else mutates */
    struct ek_webhook_world world;
    unsigned rounds;
    size_t n_asked; /* asks that are not back yet */
};

static int64_t now_ns(void *arg)
{
    (void)arg;
    return (int64_t)uv_hrtime();
}

static void finish(struct job *job)
{
    if (job->n_asked > 0)
        return;
    ek_webhook_world_done(&job->world);
    ek_webhook_exchange_done__(&job->exchange);
    ek_free(job);
}

/* ---- What the engine said ---- */

static void answer_outcome(struct job *job, const struct ek_mutation_outcome *outcome)
{
    const struct ek_webhook_observer *observer = &job->exchange.thread->webhook->observer;

    ek_webhook_metrics_checks(&job->exchange.thread->webhook->metrics, outcome);
    if (observer->judged)
        observer->judged(observer->ctx, &job->exchange.review.request, outcome);
    ek_webhook_answer__(
        &job->exchange,
        &(struct ek_admission_response){
            .uid = job->exchange.review.request.uid,
            .allowed = outcome->allowed,
            .code = outcome->code,
            .reason = outcome->reason,
            .message = outcome->message,
            .patch = outcome->patch ? yyjson_mut_doc_get_root(outcome->patch) : NULL,
        });
}

static void answer_checked(struct job *job, const struct ek_safety_outcome *outcome)
{
    const struct ek_webhook_observer *observer = &job->exchange.thread->webhook->observer;

    ek_webhook_metrics_denials(&job->exchange.thread->webhook->metrics, outcome);
    if (observer->checked)
        observer->checked(observer->ctx, &job->exchange.review.request, outcome);
    ek_webhook_answer__(&job->exchange,
                        &(struct ek_admission_response){.uid = job->exchange.review.request.uid,
                                                        .allowed = outcome->allowed,
                                                        .code = outcome->code,
                                                        .reason = outcome->reason,
                                                        .message = outcome->message});
}

/* Whether the job may go without a policy. */
static bool counts(const struct job *job, const struct ek_bound *bound)
{
    if (bound->policy->ignore_failures || !bound->policy->rules)
        return false;
    if (job->validates)
        return bound->policy->enforcement != EK_POLICY_OBSERVE && ek_safety_wanted(bound->policy);
    return bound->apply;
}

/* Whether a policy that counts is, or may be, for the request. */
static bool is_guarded(struct job *job, const struct ek_policy_set *set)
{
    const struct ek_admission_request *request = &job->exchange.review.request;
    const struct ek_mutation_world *world = &job->world.callbacks;
    yyjson_val *namespace_object = NULL;
    struct ek_err err;

    if (*request->namespace)
        world->namespace(world->arg, request->namespace, &namespace_object, &err);
    for (size_t i = 0; i < set->n; i++) {
        const struct ek_bound *bound = &set->bound[i];
        struct ek_gvr resource;
        struct ek_gvk kind;
        if (!counts(job, bound))
            continue;
        if (ek_rules_match(bound->policy->rules, request, namespace_object, world->equivalents,
                           &resource, &kind, &err) != EK_RULES_NO &&
            ek_rules_match(bound->binding->rules, request, namespace_object, world->equivalents,
                           &resource, &kind, &err) != EK_RULES_NO)
            return true;
    }
    return false;
}

/* The engine could not go to its end: a limit, or no memory. */
static void answer_failure(struct job *job, const struct ek_policy_set *set, const char *why)
{
    const struct ek_admission_request *request = &job->exchange.review.request;
    bool guarded = is_guarded(job, set);
    const char *what = job->validates ? "cannot check what mutating policies set"
                                      : "cannot run the mutating policies";
    EK_AUTOFREE char *message = ek_xasprintf("%s: %s", what, why);
    const char *const warnings[] = {message};

    ek_log_error_limited(job->exchange.thread->webhook->config.log, NULL, 5, 60000,
                         "Cannot judge a request by its mutating policies",
                         EK_S("path", job->exchange.endpoint->path), EK_S("reason", why),
                         EK_S("resource", request->resource.resource),
                         EK_S("namespace", request->namespace), EK_S("name", request->name),
                         EK_B("denied", guarded));
    ek_webhook_answer__(&job->exchange,
                        &(struct ek_admission_response){.uid = request->uid,
                                                        .allowed = !guarded,
                                                        .code = guarded ? 500 : 0,
                                                        .reason = guarded ? "InternalError" : NULL,
                                                        .message = guarded ? message : NULL,
                                                        .warnings = guarded ? NULL : warnings,
                                                        .n_warnings = guarded ? 0 : 1});
}

/* ---- Rounds ---- */

static bool is_over(void *arg)
{
    const struct job *job = arg;

    return ek_webhook_is_over__(&job->exchange);
}

/* Sends out what the engine wants to know. False when there is nothing to wait for. */
static bool ask(struct job *job)
{
    struct ek_webhook_thread *thread = job->exchange.thread;
    struct ek_webhook_ask *wanted;

    while ((wanted = ek_webhook_world_want(&job->world)) != NULL) {
        wanted->owner = job;
        wanted->inbox = &thread->inbox;
        wanted->timeout_ms = job->exchange.deadline_ms - ek_webhook_now_ms__();
        if (wanted->timeout_ms < 1)
            wanted->timeout_ms = 1;
        job->n_asked++;
        ek_webhook_asker_post(thread->webhook->asker, wanted);
    }
    if (job->n_asked > 0)
        thread->n_waiting++;
    return job->n_asked > 0;
}

/* What a round came to, when that is no answer. */
static void go_on(struct job *job, const struct ek_policy_set *set, int rc)
{
    if (rc == EK_E_CANCELED) {
        ek_webhook_refuse__(&job->exchange, 504, "the time for the request is over");
    } else if (rc) {
        answer_failure(job, set, ek_strerror(rc));
    } else if (job->rounds >= ROUNDS_MAX) {
        answer_failure(job, set, "they ask the API server for too much");
    } else if (!ask(job) && ek_webhook_snapshot_is_loading(job->world.snapshot)) {
        ek_webhook_refuse__(&job->exchange, 503, "params or schemas are still being read");
    } else if (job->n_asked == 0) {
        answer_failure(job, set, "they wait for what nobody tells");
    }
}

static void evaluate(struct job *job, const struct ek_policy_set *set)
{
    const struct ek_engine_options options = {
        .now_ns = now_ns, .canceled = is_over, .canceled_arg = job};
    struct ek_mutation_outcome outcome;

    int rc = ek_confirm_run(set, &job->exchange.review.request, &job->world.callbacks, &options,
                            ek_webhook_arena__(job->exchange.thread), &outcome);
    if (!rc && !outcome.pending)
        answer_outcome(job, &outcome);
    else
        go_on(job, set, rc);
    if (!rc)
        ek_mutation_outcome_done(&outcome);
}

static void check(struct job *job, const struct ek_policy_set *set)
{
    const struct ek_engine_options options = {.canceled = is_over, .canceled_arg = job};
    struct ek_safety_outcome outcome;

    int rc = ek_safety_check(set, &job->exchange.review.request, &job->world.callbacks, &options,
                             ek_webhook_arena__(job->exchange.thread), &outcome);
    if (!rc && !outcome.pending)
        answer_checked(job, &outcome);
    else
        go_on(job, set, rc);
}

/* Goes one round, by the newest snapshot: a run starts from the beginning anyway. */
static void run(struct job *job)
{
    EK_AUTOPTR(ek_webhook_snapshot, ek_webhook_snapshot_unref) *snapshot =
        ek_webhook_snapshot__(job->exchange.thread->webhook);
    const struct ek_policy_set *set =
        snapshot ? ek_webhook_snapshot_policies(snapshot, job->exchange.name) : NULL;

    job->rounds++;
    if (!snapshot) {
        ek_webhook_refuse__(&job->exchange, 503, "not yet ready to handle request");
    } else if (!set) {
        /* Who registered it was faster than we: we are about to know it, or another replica does.
         */
        ek_webhook_refuse__(&job->exchange, 503, "there are no policies under this path yet");
    } else if (is_over(job)) {
        ek_webhook_refuse__(&job->exchange, 504, "the time for the request is over");
    } else {
        ek_webhook_world_begin(&job->world, snapshot, ek_webhook_now_ms__());
        if (job->validates)
            check(job, set);
        else
            evaluate(job, set);
        job->world.snapshot = NULL;
    }
    if (!job->exchange.reply)
        finish(job);
}

void ek_webhook_resume__(struct ek_webhook_thread *thread, struct ek_webhook_ask *ask)
{
    struct job *job = ask->owner;

    ek_webhook_world_learn(&job->world, ask, ek_webhook_now_ms__());
    ek_webhook_ask_free(ask);
    if (--job->n_asked > 0)
        return;
    thread->n_waiting--;
    run(job);
    ek_webhook_idle__(thread);
}

static void begin(struct ek_webhook_exchange *exchange, bool validates)
{
    struct job *job = ek_xalloc(sizeof *job);

    job->exchange = *exchange;
    job->validates = validates;
    ek_webhook_world_init(&job->world, &job->exchange.review.request, &exchange->thread->reviews);
    run(job);
}

void ek_webhook_mutate__(struct ek_webhook_exchange *exchange)
{
    begin(exchange, false);
}

void ek_webhook_validate__(struct ek_webhook_exchange *exchange)
{
    begin(exchange, true);
}
