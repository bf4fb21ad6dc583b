/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/clientbench.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WATCHDOG_MS 600000 /* ends a hang; no result depends on it */

static void on_watchdog(uv_timer_t *timer)
{
    (void)timer;
    fprintf(stderr, "the loop was not done after %d ms\n", WATCHDOG_MS);
    exit(3);
}

void clientbench_start(struct clientbench *bench, const struct ek_client_config *config)
{
    struct ek_err err = {0};

    *bench = (struct clientbench){0};
    uv_loop_init(&bench->loop);
    uv_timer_init(&bench->loop, &bench->watchdog);
    uv_timer_start(&bench->watchdog, on_watchdog, WATCHDOG_MS, 0);
    uv_unref((uv_handle_t *)&bench->watchdog);
    ck_assert_msg(ek_client_new(&bench->loop, config, "evenkeel/test (linux/amd64)", &bench->client,
                                &err) == 0,
                  "client: %s", err.message);
}

static void on_closed(void *ctx)
{
    struct clientbench *bench = ctx;
    bench->closed = true;
}

void clientbench_close(struct clientbench *bench)
{
    if (bench->client && !bench->closing)
        ek_client_close(bench->client, on_closed, bench);
    bench->closing = true;
}

void clientbench_stop(struct clientbench *bench)
{
    clientbench_close(bench);
    while (bench->client && !bench->closed)
        uv_run(&bench->loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&bench->watchdog, NULL);
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    ck_assert_msg(uv_loop_close(&bench->loop) == 0, "handles are left on the loop");
}

void clientbench_run_until(struct clientbench *bench, const int *flag)
{
    while (!*flag)
        ck_assert_msg(uv_run(&bench->loop, UV_RUN_ONCE) || *flag, "the loop ran dry");
}

static void join_names(const struct ek_server_cert *cert, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < cert->n_names && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", i ? "," : "", cert->names[i]);
}

void outcome_keep(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct outcome *out = ctx;

    out->n_done++;
    out->status = resp->status;
    out->body = ek_xstrndup(resp->body.p, resp->body.len);
    out->body_size = resp->body.len;
    out->content_type = ek_xstrdup(resp->content_type);
    out->etag = ek_xstrdup(resp->etag);
    out->warning = ek_xstrdup(resp->warning);
    if (resp->cert) {
        snprintf(out->fingerprint, sizeof out->fingerprint, "%s", resp->cert->fingerprint);
        join_names(resp->cert, out->names, sizeof out->names);
        out->not_after_ms = resp->cert->not_after_ms;
    }
    if (err)
        out->err = *err;
}

void outcome_done(struct outcome *out)
{
    ek_free(out->body);
    ek_free(out->content_type);
    ek_free(out->etag);
    ek_free(out->warning);
    *out = (struct outcome){0};
}

struct ek_call *clientbench_send(struct clientbench *bench, const struct ek_request *request,
                                 struct outcome *out)
{
    *out = (struct outcome){0};
    return ek_client_send(bench->client, request, outcome_keep, out);
}

void clientbench_do(struct clientbench *bench, const struct ek_request *request,
                    struct outcome *out)
{
    clientbench_send(bench, request, out);
    ck_assert_msg(out->n_done == 0, "on_done was called before send returned");
    clientbench_run_until(bench, &out->n_done);
}
