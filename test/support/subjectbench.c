/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/subjectbench.h"

#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "controller/certificates/certificates.h"
#include "controller/debug/debug.h"
#include "controller/webhook/webhook.h"

#define START INT64_C(1795172400000)

int64_t subjectbench_now = START;

static int64_t now_ms(void)
{
    return subjectbench_now;
}

static bool may_write(void *ctx)
{
    return ((const struct subjectbench_slot *)ctx)->leads;
}

static void on_closed(void *ctx)
{
    ((struct subjectbench_slot *)ctx)->n_closed++;
}

static void on_event_lost(void *ctx, enum ek_event_loss why, const struct ek_err *err)
{
    struct subjectbench_slot *slot = ctx;

    (void)why;
    if (err)
        slot->lost = *err;
}

/* ---- Life ---- */

void subjectbench_start(struct subjectbench *bench, const char *rules,
                        const struct ek_subject *const *subjects, size_t n)
{
    *bench = (struct subjectbench){.n = n};
    subjectbench_now = START;
    ck_assert_uint_le(n, SUBJECTBENCH_MAX);
    apiworld_start(&bench->world, rules);
    bench->metrics = ek_metrics_new();
    ek_standard_metrics_init(&bench->standard, bench->metrics);
    bench->recorder = ek_recorder_new(
        &bench->world.bench.loop, &(struct ek_recorder_config){.client = bench->world.bench.client,
                                                               .instance = "test",
                                                               .may_record = may_write,
                                                               .lost = on_event_lost,
                                                               .ctx = &bench->slots[0]});
    for (size_t i = 0; i < n; i++) {
        bench->slots[i] = (struct subjectbench_slot){.subject = subjects[i], .leads = true};
        bench->rows[i] = ek_subject_registry_row(subjects[i]);
    }
    bench->registry = ek_registry_new(bench->rows, n, &bench->standard, NULL);
}

static void on_bundle(void *ctx)
{
    subjectbench_write_registrations(ctx);
}

void subjectbench_serve(struct subjectbench *bench)
{
    static const char *const names[] = {"evenkeel-webhook.default.svc"};

    bench->identity = ek_tls_identity_new();
    bench->certs =
        ek_webhook_certs_new(&(struct ek_webhook_certs_config){.loop = &bench->world.bench.loop,
                                                               .identity = bench->identity,
                                                               .namespace = "default",
                                                               .secret = "evenkeel-webhook-cert",
                                                               .names = names,
                                                               .n_names = 1,
                                                               .now_ms = now_ms,
                                                               .changed = on_bundle,
                                                               .ctx = bench});
    bench->webhook = ek_webhook_new(&(struct ek_webhook_config){.loop = &bench->world.bench.loop,
                                                                .bind_address = "127.0.0.1:0",
                                                                .threads = 1,
                                                                .identity = bench->identity});
    ek_webhook_runnable(bench->webhook, &bench->serving);
}

void subjectbench_write_registrations(struct subjectbench *bench)
{
    for (size_t i = 0; i < bench->n; i++) {
        const struct ek_subject *subject = bench->slots[i].subject;
        if (bench->slots[i].controller && (subject->registers || subject->joins))
            ek_controller_write(bench->slots[i].controller, 0);
    }
}

static void on_stopped(void *token)
{
    ++*(int *)token;
}

static void stop_serving(struct subjectbench *bench)
{
    int n_stopped = 0;

    if (!bench->webhook)
        return;
    bench->serving.stop(bench->serving.ctx, on_stopped, &n_stopped);
    clientbench_run_until(&bench->world.bench, &n_stopped);
}

struct ek_subject_env subjectbench_env(struct subjectbench *bench, size_t i)
{
    const struct ek_subject_serving serving = {.webhook = bench->webhook,
                                               .certs = bench->certs,
                                               .needs_bundle = bench->certs != NULL,
                                               .url = bench->webhook ? "https://127.0.0.1:1" : ""};
    return (struct ek_subject_env){.loop = &bench->world.bench.loop,
                                   .client = bench->world.bench.client,
                                   .metrics = bench->metrics,
                                   .recorder = bench->recorder,
                                   .serving = serving,
                                   .now_ms = now_ms,
                                   .may_write = may_write,
                                   .ctx = &bench->slots[i],
                                   .observer = ek_registry_observer(bench->registry, i),
                                   .queue = ek_registry_queue(bench->registry, i)};
}

struct ek_controller *subjectbench_make(struct subjectbench *bench, size_t i,
                                        const struct ek_subject_env *env)
{
    struct subjectbench_slot *slot = &bench->slots[i];
    const struct ek_subject_env usual = subjectbench_env(bench, i);

    slot->controller = ek_controller_new(slot->subject, env ? env : &usual);
    ek_registry_set(bench->registry, i, slot->controller);
    ek_controller_runnables(slot->controller, &slot->watch, &slot->runner);
    return slot->controller;
}

void subjectbench_start_runnable(const struct ek_runnable *runnable)
{
    struct ek_err err = {0};
    ck_assert_msg(runnable->start(runnable->ctx, &err) == 0, "%s", err.message);
}

struct ek_controller *subjectbench_run(struct subjectbench *bench, size_t i,
                                       const struct ek_subject_env *env)
{
    struct ek_controller *controller = subjectbench_make(bench, i, env);

    subjectbench_start_runnable(&bench->slots[i].watch);
    subjectbench_start_runnable(&bench->slots[i].runner);
    return controller;
}

void subjectbench_close(struct subjectbench *bench, size_t i)
{
    struct subjectbench_slot *slot = &bench->slots[i];

    if (!slot->controller)
        return;
    ek_registry_set(bench->registry, i, NULL);
    slot->n_closed = 0;
    ek_controller_close(slot->controller, on_closed, slot);
    clientbench_run_until(&bench->world.bench, &slot->n_closed);
    slot->controller = NULL;
}

void subjectbench_stop(struct subjectbench *bench)
{
    for (size_t i = 0; i < bench->n; i++)
        subjectbench_close(bench, i);
    stop_serving(bench);
    ek_recorder_close(bench->recorder, NULL, NULL);
    apiworld_stop(&bench->world);
    ek_metrics_free(bench->metrics);
    ek_registry_free(bench->registry);
    ek_webhook_free(bench->webhook);
    ek_webhook_certs_free(bench->certs);
    ek_tls_identity_free(bench->identity);
}

/* ---- Texts ---- */

void subjectbench_turn(struct subjectbench *bench)
{
    apiworld_request(&bench->world, "GET", "/version", NULL, NULL);
}

void subjectbench_metrics(struct subjectbench *bench, struct ek_buf *out)
{
    ek_registry_collect(bench->registry);
    ck_assert_int_eq(ek_metrics_write(bench->metrics, EK_METRICS_TEXT, out), 0);
}

void subjectbench_debug(struct subjectbench *bench, struct ek_buf *out)
{
    const struct ek_debug debug = {.registry = bench->registry};
    const struct ek_debug_now now = {0};

    ek_debug_answer(&debug, "all", 3, &now, NULL, out);
}

static void wait_for(struct subjectbench *bench,
                     void (*write)(struct subjectbench *bench, struct ek_buf *out),
                     const char *piece)
{
    for (bool found = false; !found;) {
        EK_AUTO(ek_buf) out;
        ek_buf_init(&out, SUBJECTBENCH_TEXT_MAX);
        write(bench, &out);
        found = strstr(ek_buf_str(&out), piece) != NULL;
        if (!found)
            subjectbench_turn(bench);
    }
}

void subjectbench_wait_for_metrics(struct subjectbench *bench, const char *piece)
{
    wait_for(bench, subjectbench_metrics, piece);
}

void subjectbench_wait_for_debug(struct subjectbench *bench, const char *piece)
{
    wait_for(bench, subjectbench_debug, piece);
}

/* ---- Objects ---- */

void subjectbench_post(struct subjectbench *bench, const char *path, const char *body)
{
    ck_assert_msg(apiworld_request(&bench->world, "POST", path, body, NULL) == 201, "%s: %s", path,
                  body);
}

void subjectbench_check_absent(struct subjectbench *bench, const char *path, const char *piece)
{
    EK_AUTOFREE char *body = NULL;

    apiworld_request(&bench->world, "GET", path, NULL, &body);
    ck_assert_msg(!strstr(body, piece), "%s: %s", path, body);
}
