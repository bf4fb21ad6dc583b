/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/plan/guard.h"

#include <pthread.h>
#include <stdatomic.h>

#include "api/base/mem.h"

struct ek_plan_guard {
    const struct ek_plan_data *data;
    struct ek_metric_family *writes;
    pthread_mutex_t lock;
    struct ek_guard_rules rules; /* under lock */
    bool ready;                  /* under lock: there are rules */
    _Atomic uint64_t counts[EK_GUARD_RESULT_MAX];
};

struct ek_plan_guard *ek_plan_guard_new(const struct ek_plan_data *data, struct ek_metrics *metrics)
{
    static const struct ek_metric_desc desc = {
        .name = "evenkeel_plan_guard_writes_total",
        .help = "Writes that the guard for the way back judged, by the result.",
        .type = EK_METRIC_COUNTER,
        .labels = {"result"},
        .max_series = EK_GUARD_RESULT_MAX};
    struct ek_plan_guard *guard = ek_xalloc(sizeof *guard);

    guard->data = data;
    guard->writes = metrics ? ek_metrics_register(metrics, &desc) : NULL;
    pthread_mutex_init(&guard->lock, NULL);
    return guard;
}

void ek_plan_guard_publish(struct ek_plan_guard *guard, const struct ek_guard_rules *rules)
{
    pthread_mutex_lock(&guard->lock);
    guard->rules = *rules;
    guard->ready = true;
    pthread_mutex_unlock(&guard->lock);
}

static bool take_rules(struct ek_plan_guard *guard, struct ek_guard_rules *ret)
{
    pthread_mutex_lock(&guard->lock);
    bool ready = guard->ready;
    *ret = guard->rules;
    pthread_mutex_unlock(&guard->lock);
    return ready;
}

static void count(struct ek_plan_guard *guard, const struct ek_admission_request *request,
                  enum ek_guard_result result)
{
    if (request->dry_run || request->unproven)
        return;
    atomic_fetch_add_explicit(&guard->counts[result], 1, memory_order_relaxed);
    if (guard->writes)
        ek_metric_add(ek_metric_with(guard->writes, ek_guard_result_name(result), NULL), 1);
}

/* Nothing is known yet: a write that other replicas would warn of or deny goes through, as while no
 * replica answers. */
static int answer_unready(struct ek_admission_response *response, struct ek_err *err)
{
    static const char *const warnings[] = {
        "Evenkeel has just started: the write is not checked for the way back"};

    response->allowed = true;
    response->warnings = warnings;
    response->n_warnings = 1;
    ek_err_set(err, EK_E_TIMEOUT, "the guards of CompatibilityPlans are not known yet");
    return 0;
}

static int review(void *ctx, const char *name, const struct ek_admission_request *request,
                  struct ek_arena *arena, struct ek_work *work,
                  struct ek_admission_response *response, yyjson_mut_doc **ret_patch,
                  struct ek_err *err)
{
    struct ek_plan_guard *guard = ctx;
    struct ek_guard_rules rules;

    (void)ret_patch;
    if (*name) {
        ek_err_set(err, EK_E_INVAL, "the guard for the way back has one path");
        return 404;
    }
    if (!take_rules(guard, &rules))
        return answer_unready(response, err);
    enum ek_guard_result result =
        ek_guard_review(&rules, guard->data, request, arena, work, response);
    if (result == EK_GUARD_UNDECIDED)
        ek_err_set(err, EK_E_LIMIT, "the write cannot be judged for the way back in time");
    count(guard, request, result);
    return 0;
}

struct ek_webhook_handler ek_plan_guard_handler(struct ek_plan_guard *guard)
{
    return (struct ek_webhook_handler){EK_GUARD_PATH, review, guard};
}

void ek_plan_guard_counts(const struct ek_plan_guard *guard, uint64_t ret[EK_GUARD_RESULT_MAX])
{
    for (int i = 0; i < EK_GUARD_RESULT_MAX; i++)
        ret[i] = atomic_load_explicit(&guard->counts[i], memory_order_relaxed);
}

void ek_plan_guard_free(struct ek_plan_guard *guard)
{
    if (!guard)
        return;
    pthread_mutex_destroy(&guard->lock);
    ek_free(guard);
}
