/* SPDX-License-Identifier: Apache-2.0 */
/* Policies on a serving thread: rounds of the engine, of the check of its work, or of the check of
 * policies that are written, until a review can be answered. */
#include "controller/webhook/webhook-internal.h"
#include "reconcilers/mutation/confirm.h"
#include "reconcilers/mutation/safety.h"

/* A request is evaluated again whenever the API server has answered. Policies ask one
 * thing after the other, and each may ask several. */
#define ROUNDS_MAX 32

enum job_kind {
    MUTATE,
    VALIDATE, /* checks safety */
    DEFINE,   /* checks a policy or a binding */
};

#define TIME_IS_OVER "the time for the request is over"

/* One request, until it is answered and all its requests have ended. */
struct job {
    struct ek_webhook_exchange exchange;
    enum job_kind kind;
    struct ek_work work; /* of all rounds */
    struct ek_webhook_world world;
    unsigned rounds;
    size_t n_asked; /* asks without an answer yet */
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
    const struct ek_admission_request *request = &job->exchange.review.request;
    const struct ek_admission_response response = {
        .uid = request->uid,
        .allowed = outcome->allowed,
        .code = outcome->code,
        .reason = outcome->reason,
        .message = outcome->message,
        .patch = outcome->patch ? yyjson_mut_doc_get_root(outcome->patch) : NULL,
    };
    EK_AUTO(ek_buf) out = {0};

    if (!ek_webhook_write__(&job->exchange, &response, &out))
        return;
    if (!request->unproven)
        ek_webhook_metrics_checks(&job->exchange.thread->webhook->metrics, outcome);
    if (observer->judged && !request->unproven)
        observer->judged(observer->ctx, request, outcome);
    ek_webhook_send__(&job->exchange, &out);
}

static void answer_checked(struct job *job, const struct ek_safety_outcome *outcome)
{
    const struct ek_webhook_observer *observer = &job->exchange.thread->webhook->observer;

    if (!job->exchange.review.request.unproven)
        ek_webhook_metrics_denials(&job->exchange.thread->webhook->metrics, outcome);
    if (observer->checked && !job->exchange.review.request.unproven)
        observer->checked(observer->ctx, &job->exchange.review.request, outcome);
    ek_webhook_answer__(&job->exchange,
                        &(struct ek_admission_response){.uid = job->exchange.review.request.uid,
                                                        .allowed = outcome->allowed,
                                                        .code = outcome->code,
                                                        .reason = outcome->reason,
                                                        .message = outcome->message});
}

/* Whether the job is about a policy at all. */
static bool counts(const struct job *job, const struct ek_bound *bound)
{
    if (job->kind == VALIDATE)
        return bound->policy->enforcement != EK_POLICY_OBSERVE && ek_safety_wanted(bound->policy);
    return bound->apply;
}

/* The first policy of this failurePolicy that is, or may be, for the request; NULL: none. */
static const struct ek_policy *find_concerned(struct job *job, const struct ek_policy_set *set,
                                              bool ignore_failures)
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
        if (bound->policy->ignore_failures != ignore_failures || !counts(job, bound))
            continue;
        if (ek_rules_match(bound->policy->rules, request, namespace_object, world->equivalents,
                           &resource, &kind, &err) != EK_RULES_NO &&
            ek_rules_match(bound->binding->rules, request, namespace_object, world->equivalents,
                           &resource, &kind, &err) != EK_RULES_NO)
            return bound->policy;
    }
    return NULL;
}

/* Says of a policy that a request went through without it. */
static void report_undecided(struct job *job, const struct ek_policy_set *set, const char *why)
{
    const struct ek_webhook_observer *observer = &job->exchange.thread->webhook->observer;
    const struct ek_admission_request *request = &job->exchange.review.request;
    const struct ek_policy *policy = find_concerned(job, set, true);

    if (observer->undecided && policy && !request->unproven)
        observer->undecided(observer->ctx, request, policy, why, job->kind == VALIDATE);
}

/* The engine could not go to its end: a limit, or no memory. */
static void answer_failure(struct job *job, const struct ek_policy_set *set, int code,
                           const char *why)
{
    const struct ek_admission_request *request = &job->exchange.review.request;
    bool guarded = find_concerned(job, set, false) != NULL;
    const char *what = job->kind == VALIDATE ? "cannot check what mutating policies set"
                                             : "cannot run the mutating policies";
    EK_AUTOFREE char *message = ek_xasprintf("%s: %s", what, why);
    const char *const warnings[] = {message}, *const annotations[] = {"undecided", why};

    ek_webhook_undecided__(&job->exchange, why, code, guarded);
    if (!guarded)
        report_undecided(job, set, why);
    ek_webhook_answer__(&job->exchange,
                        &(struct ek_admission_response){.uid = request->uid,
                                                        .allowed = !guarded,
                                                        .code = guarded ? 500 : 0,
                                                        .reason = guarded ? "InternalError" : NULL,
                                                        .message = guarded ? message : NULL,
                                                        .warnings = guarded ? NULL : warnings,
                                                        .n_warnings = guarded ? 0 : 1,
                                                        .audit_annotations = annotations,
                                                        .n_audit_annotations = 1});
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
        wanted->unproven = job->exchange.review.request.unproven;
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
    if (rc) {
        answer_failure(job, set, rc, rc == EK_E_CANCELED ? TIME_IS_OVER : ek_strerror(rc));
    } else if (job->rounds >= ROUNDS_MAX) {
        answer_failure(job, set, EK_E_LIMIT,
                       "the policies need too many requests to the API server");
    } else if (!ask(job) && ek_webhook_snapshot_is_loading(job->world.snapshot)) {
        ek_webhook_refuse__(&job->exchange, 503, "params or schemas are still being read");
    } else if (job->n_asked == 0) {
        answer_failure(job, set, EK_E_SERVER, "the policies need data that no request can provide");
    }
}

static void evaluate(struct job *job, const struct ek_policy_set *set)
{
    const struct ek_engine_options options = {.now_ns = now_ns, .work = &job->work};
    struct ek_mutation_outcome outcome;
    struct ek_arena *arena = ek_webhook_arena__(job->exchange.thread);

    int rc = ek_confirm_run(set, &job->exchange.review.request, &job->world.callbacks, &options,
                            arena, &outcome);
    if (ek_webhook_is_starved__(&job->exchange))
        ;
    else if (ek_arena_starved(arena))
        answer_failure(job, set, EK_E_NOMEM, EK_WEBHOOK_NO_ROOM);
    else if (!rc && !outcome.pending)
        answer_outcome(job, &outcome);
    else
        go_on(job, set, rc);
    if (!rc)
        ek_mutation_outcome_done(&outcome);
}

static void check(struct job *job, const struct ek_policy_set *set)
{
    const struct ek_engine_options options = {.work = &job->work};
    struct ek_safety_outcome outcome;
    struct ek_arena *arena = ek_webhook_arena__(job->exchange.thread);

    int rc = ek_safety_check(set, &job->exchange.review.request, &job->world.callbacks, &options,
                             arena, &outcome);
    if (ek_webhook_is_starved__(&job->exchange))
        ;
    else if (ek_arena_starved(arena))
        answer_failure(job, set, EK_E_NOMEM, EK_WEBHOOK_NO_ROOM);
    else if (!rc && !outcome.pending)
        answer_checked(job, &outcome);
    else
        go_on(job, set, rc);
}

/* A policy or a binding of evenkeel.dev is checked whatever the snapshot is. */
static void define(struct job *job)
{
    struct ek_arena *arena = ek_webhook_arena__(job->exchange.thread);
    const struct ek_admission_request *request = &job->exchange.review.request;
    struct ek_definition_outcome outcome;

    ek_webhook_world_begin(&job->world, NULL, ek_webhook_now_ms__());
    int rc = ek_definition_check(request, &job->world.definitions, arena, &outcome);
    if (ek_webhook_is_starved__(&job->exchange))
        ;
    else if (rc == EK_E_INVAL)
        ek_webhook_refuse__(&job->exchange, 404,
                            "only policies and bindings of evenkeel.dev are reviewed here");
    else if (rc || ek_arena_exhausted(arena) || ek_arena_starved(arena))
        ek_webhook_deny__(&job->exchange, request->uid, EK_UNDECIDED_MEMORY, EK_WEBHOOK_NO_ROOM);
    else if (outcome.pending && job->rounds >= ROUNDS_MAX)
        ek_webhook_refuse__(&job->exchange, 500,
                            "the review needs too many requests to the API server");
    else if (!outcome.pending)
        ek_webhook_answer__(&job->exchange,
                            &(struct ek_admission_response){.uid = request->uid,
                                                            .allowed = outcome.allowed,
                                                            .code = outcome.code,
                                                            .reason = outcome.reason,
                                                            .message = outcome.message});
    else if (!ask(job))
        ek_webhook_refuse__(&job->exchange, 500,
                            "the review needs data that no request can provide");
}

/* Goes one round, by the newest snapshot: a run starts from the beginning anyway. */
static void judge(struct job *job)
{
    EK_AUTOPTR(ek_webhook_snapshot, ek_webhook_snapshot_unref) *snapshot =
        ek_webhook_snapshot__(job->exchange.thread->webhook);
    const struct ek_policy_set *set =
        snapshot ? ek_webhook_snapshot_policies(snapshot, job->exchange.name) : NULL;

    if (!snapshot) {
        ek_webhook_refuse__(&job->exchange, 503, "not yet ready to handle request");
    } else if (!set) {
        /* Who registered it was faster than we: we are about to know it, or another replica does.
         */
        ek_webhook_refuse__(&job->exchange, 503, "there are no policies under this path yet");
    } else if (is_over(job)) {
        ek_webhook_world_begin(&job->world, snapshot, ek_webhook_now_ms__());
        answer_failure(job, set, EK_E_CANCELED, TIME_IS_OVER);
        job->world.snapshot = NULL;
    } else {
        ek_webhook_world_begin(&job->world, snapshot, ek_webhook_now_ms__());
        if (job->kind == VALIDATE)
            check(job, set);
        else
            evaluate(job, set);
        job->world.snapshot = NULL;
    }
}

static void run(struct job *job)
{
    struct ek_webhook_thread *thread = job->exchange.thread;

    job->rounds++;
    if (job->kind != DEFINE)
        judge(job);
    else if (is_over(job))
        ek_webhook_refuse__(&job->exchange, 504, TIME_IS_OVER);
    else
        define(job);
    if (!job->exchange.reply)
        finish(job);
    ek_webhook_rest__(thread);
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

static void begin(struct ek_webhook_exchange *exchange, enum job_kind kind)
{
    struct job *job = ek_xalloc(sizeof *job);

    job->exchange = *exchange;
    job->kind = kind;
    job->work = (struct ek_work){.is_over = is_over, .arg = job};
    ek_webhook_world_init(&job->world, &job->exchange.review.request, &exchange->thread->reviews);
    run(job);
}

void ek_webhook_mutate__(struct ek_webhook_exchange *exchange)
{
    begin(exchange, MUTATE);
}

void ek_webhook_validate__(struct ek_webhook_exchange *exchange)
{
    begin(exchange, VALIDATE);
}

void ek_webhook_define__(struct ek_webhook_exchange *exchange)
{
    begin(exchange, DEFINE);
}
