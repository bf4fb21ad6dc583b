/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/mutation/reporter.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"

struct ek_mutation_reporter {
    struct ek_mutation_reporter_config config;
    struct ek_observations *observations;
    uv_async_t async;
    uv_timer_t timer;
    int n_closing;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

/* ---- On serving threads ---- */

static void on_rung(void *ctx)
{
    struct ek_mutation_reporter *r = ctx;

    uv_async_send(&r->async);
}

static void on_judged(void *ctx, const struct ek_admission_request *request,
                      const struct ek_mutation_outcome *outcome)
{
    const struct ek_mutation_reporter *r = ctx;

    ek_observations_judged(r->observations, request, outcome, r->config.now_ms());
}

static void on_checked(void *ctx, const struct ek_admission_request *request,
                       const struct ek_safety_outcome *outcome)
{
    const struct ek_mutation_reporter *r = ctx;

    ek_observations_checked(r->observations, request, outcome);
}

static void on_undecided(void *ctx, const struct ek_admission_request *request,
                         const struct ek_policy *policy, const char *why, bool validate)
{
    const struct ek_mutation_reporter *r = ctx;

    ek_observations_undecided(r->observations, request, policy, why, validate);
}

/* ---- Events ---- */

static const struct ek_obj *find_object(const struct ek_mutation_state *state, const char *uid)
{
    for (size_t i = 0; i < state->n_policies; i++)
        if (!strcmp(state->policies[i].policy->uid, uid))
            return state->policies[i].obj;
    return NULL;
}

static void record(const struct ek_mutation_reporter *r, const struct ek_results_note *news)
{
    const struct ek_obj *obj = find_object(r->config.state, news->uid);

    if (!obj)
        return;
    struct ek_event event = {
        .regarding = {.api_version = ek_obj_api_version(obj),
                      .kind = ek_obj_kind(obj),
                      .name = ek_obj_name(obj),
                      .uid = ek_obj_uid(obj),
                      .resource_version = ek_obj_resource_version(obj)},
        .warning = true,
        .reason = news->reason,
        .action = news->action,
        .note = news->note,
    };
    ek_recorder_record(r->config.recorder, &event);
}

/* ---- The pace ---- */

static void on_timer(uv_timer_t *timer);

static void wait_for_due(struct ek_mutation_reporter *r)
{
    int64_t now_ms = r->config.now_ms(), due_ms = ek_observations_due(r->observations, now_ms);

    if (due_ms == EK_TIME_UNSET)
        uv_timer_stop(&r->timer);
    else
        uv_timer_start(&r->timer, on_timer, (uint64_t)(due_ms - now_ms), 0);
}

static void on_timer(uv_timer_t *timer)
{
    struct ek_mutation_reporter *r = timer->data;
    EK_AUTO(ek_results_news) news;

    bool changed = ek_observations_take(r->observations, r->config.now_ms(), &news);
    for (size_t i = 0; r->config.recorder && i < news.n; i++)
        record(r, &news.items[i]);
    wait_for_due(r);
    if (changed)
        r->config.changed(r->config.ctx);
}

static void on_async(uv_async_t *async)
{
    wait_for_due(async->data);
}

/* ---- What others ask ---- */

void ek_mutation_reporter_sync(struct ek_mutation_reporter *reporter)
{
    const struct ek_mutation_state *state = reporter->config.state;
    struct ek_results_policy *policies = ek_xalloc((state->n_policies + 1) * sizeof *policies);

    for (size_t i = 0; i < state->n_policies; i++)
        policies[i] = (struct ek_results_policy){.policy = state->policies[i].policy,
                                                 .bound = state->policies[i].n_bindings > 0};
    ek_observations_sync(reporter->observations, policies, state->n_policies);
    ek_free(policies);
}

void ek_mutation_reporter_read(struct ek_mutation_reporter *reporter, struct ek_arena *arena,
                               struct ek_policy_facts *facts)
{
    if (reporter)
        ek_observations_read(reporter->observations, arena, facts);
}

/* ---- Life ---- */

struct ek_mutation_reporter *
ek_mutation_reporter_new(const struct ek_mutation_reporter_config *config)
{
    struct ek_mutation_reporter *r = ek_xalloc(sizeof *r);

    r->config = *config;
    r->observations = ek_observations_new(on_rung, r);
    uv_async_init(config->loop, &r->async, on_async);
    r->async.data = r;
    uv_timer_init(config->loop, &r->timer);
    r->timer.data = r;
    ek_webhook_set_observer(
        config->webhook,
        &(struct ek_webhook_observer){
            .judged = on_judged, .checked = on_checked, .undecided = on_undecided, .ctx = r});
    return r;
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct ek_mutation_reporter *r = handle->data;

    if (--r->n_closing > 0)
        return;
    if (r->on_closed)
        r->on_closed(r->closed_ctx);
    ek_observations_free(r->observations);
    ek_free(r);
}

void ek_mutation_reporter_close(struct ek_mutation_reporter *reporter, void (*on_closed)(void *ctx),
                                void *ctx)
{
    reporter->on_closed = on_closed;
    reporter->closed_ctx = ctx;
    reporter->n_closing = 2;
    uv_close((uv_handle_t *)&reporter->async, on_handle_closed);
    uv_close((uv_handle_t *)&reporter->timer, on_handle_closed);
}
