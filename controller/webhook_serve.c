/* SPDX-License-Identifier: Apache-2.0 */
/* Admission requests on a serving thread, from their bytes to their answer. */
#include <stdio.h>
#include <string.h>

#include "api/time.h"
#include "controller/webhook-internal.h"
#include "reconcilers/mutation/confirm.h"

#define MUTATE_PATH "/mutate"

/* A request is evaluated anew whenever the API server has told what was missing. Policies ask one
 * thing after the other, and each may ask several. */
#define ROUNDS_MAX 32

#define ARENA_MAX  ((size_t)64 << 20)
#define ARENA_KEEP ((size_t)4 << 20) /* what a thread keeps between requests */
#define ANSWER_MAX ((size_t)32 << 20)

/* The API server sends its own limit, at most 30 s (admissionregistration.k8s.io/v1). */
#define TIMEOUT_MS     10000
#define TIMEOUT_MAX_MS 30000

/* One request, until it is answered and all it asked for is back. */
struct job {
    struct ek_webhook_thread *thread;
    struct ek_http_reply *reply; /* NULL once it is answered */
    struct ek_admission_review review;
    struct ek_webhook_world world;
    char *set; /* whose policies */
    uint64_t start_ns;
    int64_t deadline_ms;
    unsigned rounds;
    size_t n_asked; /* asks that are not back yet */
};

static int64_t now_ms(void)
{
    return (int64_t)(uv_hrtime() / 1000000);
}

static int64_t now_ns(void *arg)
{
    (void)arg;
    return (int64_t)uv_hrtime();
}

/* ---- The end of a job ---- */

static void finish(struct job *job)
{
    if (job->n_asked > 0)
        return;
    ek_webhook_world_done(&job->world);
    ek_admission_review_done(&job->review);
    ek_free(job->set);
    ek_free(job);
}

static void count(struct ek_webhook_thread *thread, uint64_t start_ns, int status)
{
    ek_webhook_metrics_end(&thread->webhook->metrics, status,
                           (double)(uv_hrtime() - start_ns) / 1e9);
}

static void refuse(struct job *job, int status, const char *text)
{
    struct ek_http_reply *reply = job->reply;

    job->reply = NULL;
    count(job->thread, job->start_ns, status);
    ek_http_reply_text(reply, status, text);
}

static void answer(struct job *job, const struct ek_admission_response *response)
{
    EK_AUTO(ek_buf) out;
    struct ek_http_reply *reply = job->reply;

    ek_buf_init(&out, ANSWER_MAX);
    if (ek_admission_response_write(response, &out)) {
        refuse(job, 500, "the answer is too large");
        return;
    }
    job->reply = NULL;
    count(job->thread, job->start_ns, 200);
    ek_http_reply_send(reply, 200, "application/json", ek_buf_str(&out), out.len);
}

/* ---- What the engine said ---- */

static void answer_outcome(struct job *job, const struct ek_mutation_outcome *outcome)
{
    const struct ek_webhook_config *config = &job->thread->webhook->config;

    ek_webhook_metrics_checks(&job->thread->webhook->metrics, outcome);
    if (config->judged)
        config->judged(config->ctx, &job->review.request, outcome);
    answer(job, &(struct ek_admission_response){
                    .uid = job->review.request.uid,
                    .allowed = outcome->allowed,
                    .code = outcome->code,
                    .reason = outcome->reason,
                    .message = outcome->message,
                    .patch = outcome->patch ? yyjson_mut_doc_get_root(outcome->patch) : NULL,
                });
}

/* Whether a policy that counts is, or may be, for the request and does not ignore failures. */
static bool is_guarded(struct job *job, const struct ek_policy_set *set)
{
    const struct ek_admission_request *request = &job->review.request;
    const struct ek_mutation_world *world = &job->world.callbacks;
    yyjson_val *namespace_object = NULL;
    struct ek_err err;

    if (*request->namespace)
        world->namespace(world->arg, request->namespace, &namespace_object, &err);
    for (size_t i = 0; i < set->n; i++) {
        const struct ek_bound *bound = &set->bound[i];
        struct ek_gvr resource;
        struct ek_gvk kind;
        if (!bound->apply || bound->policy->ignore_failures || !bound->policy->rules)
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
    const struct ek_admission_request *request = &job->review.request;
    bool guarded = is_guarded(job, set);
    EK_AUTOFREE char *message = ek_xasprintf("cannot run the mutating policies: %s", why);
    const char *const warnings[] = {message};

    ek_log_error_limited(job->thread->webhook->config.log, NULL, 5, 60000,
                         "Cannot run the mutating policies", EK_S("reason", why),
                         EK_S("resource", request->resource.resource),
                         EK_S("namespace", request->namespace), EK_S("name", request->name),
                         EK_B("denied", guarded));
    answer(job, &(struct ek_admission_response){.uid = request->uid,
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

    return now_ms() >= job->deadline_ms || (job->reply && ek_http_reply_is_orphan(job->reply));
}

/* Sends out what the engine wants to know. False when there is nothing to wait for. */
static bool ask(struct job *job)
{
    struct ek_webhook_thread *thread = job->thread;
    struct ek_webhook_ask *wanted;

    while ((wanted = ek_webhook_world_want(&job->world)) != NULL) {
        wanted->owner = job;
        wanted->inbox = &thread->inbox;
        wanted->timeout_ms = job->deadline_ms - now_ms();
        if (wanted->timeout_ms < 1)
            wanted->timeout_ms = 1;
        job->n_asked++;
        ek_webhook_asker_post(thread->webhook->asker, wanted);
    }
    if (job->n_asked > 0)
        thread->n_waiting++;
    return job->n_asked > 0;
}

/* An arena for one run: the thread's, which remembers its memory as long as that is little. */
static struct ek_arena *fresh_arena(struct ek_webhook_thread *thread)
{
    if (thread->arena && ek_arena_used(thread->arena) > ARENA_KEEP) {
        ek_arena_free(thread->arena);
        thread->arena = NULL;
    }
    if (thread->arena)
        ek_arena_reset(thread->arena);
    else
        thread->arena = ek_arena_new(ARENA_MAX);
    return thread->arena;
}

static void evaluate(struct job *job, const struct ek_policy_set *set)
{
    const struct ek_engine_options options = {
        .now_ns = now_ns, .canceled = is_over, .canceled_arg = job};
    struct ek_mutation_outcome outcome;

    int rc = ek_confirm_run(set, &job->review.request, &job->world.callbacks, &options,
                            fresh_arena(job->thread), &outcome);
    if (rc == EK_E_CANCELED) {
        refuse(job, 504, "the time for the request is over");
    } else if (rc) {
        answer_failure(job, set, ek_strerror(rc));
    } else if (!outcome.pending) {
        answer_outcome(job, &outcome);
    } else if (job->rounds >= ROUNDS_MAX) {
        answer_failure(job, set, "they ask the API server for too much");
    } else if (!ask(job)) {
        answer_failure(job, set, "they wait for what nobody tells");
    }
    if (!rc)
        ek_mutation_outcome_done(&outcome);
}

/* Goes one round, by the newest snapshot: a run starts from the beginning anyway. */
static void run(struct job *job)
{
    EK_AUTOPTR(ek_webhook_snapshot, ek_webhook_snapshot_unref) *snapshot =
        ek_webhook_snapshot__(job->thread->webhook);
    const struct ek_policy_set *set =
        snapshot ? ek_webhook_snapshot_policies(snapshot, job->set) : NULL;

    job->rounds++;
    if (!snapshot) {
        refuse(job, 503, "not yet ready to handle request");
    } else if (!set) {
        refuse(job, 404, "there are no policies under this path");
    } else if (is_over(job)) {
        refuse(job, 504, "the time for the request is over");
    } else {
        ek_webhook_world_begin(&job->world, snapshot, now_ms());
        evaluate(job, set);
        job->world.snapshot = NULL;
    }
    if (!job->reply)
        finish(job);
}

void ek_webhook_resume__(struct ek_webhook_thread *thread, struct ek_webhook_ask *ask)
{
    struct job *job = ask->owner;

    ek_webhook_world_learn(&job->world, ask, now_ms());
    ek_webhook_ask_free(ask);
    if (--job->n_asked > 0)
        return;
    thread->n_waiting--;
    run(job);
    ek_webhook_idle__(thread);
}

/* ---- Requests ---- */

static void read_timeout(void *ctx, const char *name, const char *value)
{
    int64_t *timeout_ms = ctx;
    int64_t ms;

    if (!strcmp(name, "timeout") && !ek_duration_parse(value, &ms) && ms > 0)
        *timeout_ms = ms < TIMEOUT_MAX_MS ? ms : TIMEOUT_MAX_MS;
}

/* "/mutate" is "", "/mutate/a" is "a". */
static char *set_of(const char *path)
{
    const char *rest = path + strlen(MUTATE_PATH);

    return ek_xstrdup(*rest == '/' ? rest + 1 : rest);
}

static bool is_json(const struct ek_http_request *request)
{
    const char *type = ek_http_request_header(request, "content-type");
    size_t len = strlen("application/json");

    return type && !strncmp(type, "application/json", len) &&
           (!type[len] || type[len] == ';' || type[len] == ' ');
}

static void turn_away(struct ek_webhook_thread *thread, uint64_t start_ns,
                      struct ek_http_reply *reply, int status, const char *text)
{
    count(thread, start_ns, status);
    ek_http_reply_text(reply, status, text);
}

void ek_webhook_serve__(void *ctx, const struct ek_http_request *request,
                        struct ek_http_reply *reply)
{
    struct ek_webhook_thread *thread = ctx;
    struct ek_admission_review review;
    struct ek_err err;
    int64_t timeout_ms = TIMEOUT_MS;
    uint64_t start_ns = uv_hrtime();

    ek_webhook_metrics_begin(&thread->webhook->metrics);
    if (!is_json(request)) {
        turn_away(thread, start_ns, reply, 415, "the body must be application/json");
        return;
    }
    if (ek_admission_review_parse(request->body.p, request->body.len, &review, &err)) {
        turn_away(thread, start_ns, reply, 400, err.message);
        return;
    }
    ek_http_query_each(request->query, read_timeout, &timeout_ms);
    struct job *job = ek_xalloc(sizeof *job);
    *job = (struct job){.thread = thread,
                        .reply = reply,
                        .review = review,
                        .set = set_of(request->path),
                        .start_ns = start_ns,
                        .deadline_ms = now_ms() + timeout_ms};
    ek_webhook_world_init(&job->world, &job->review.request, &thread->reviews);
    run(job);
}
