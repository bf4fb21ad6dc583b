/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/apitest.h"

#include <check.h>
#include <stdio.h>

#include "informers/client/kubeconfig.h"
#include "test/support/testserver.h"

static void note(struct apitest *t, const char *what, const char *got, const char *want)
{
    if (!*t->problem)
        snprintf(t->problem, sizeof t->problem, "exchange %zu: %s is \"%.600s\", not \"%.600s\"",
                 t->done + 1, what, got, want);
}

static void compare(struct apitest *t, const struct apitest_exchange *want,
                    const struct testserver_request *request)
{
    char got[1024], type[128];

    snprintf(got, sizeof got, "%s %s", request->method, request->target);
    if (strcmp(got, want->request) != 0)
        note(t, "request", got, want->request);
    testserver_header(request, "Content-Type", type, sizeof type);
    if (want->content_type && strcmp(type, want->content_type) != 0)
        note(t, "content type", type, want->content_type);
    EK_AUTOFREE char *body = ek_xstrndup(request->body, request->body_size);
    if (want->contains && !strstr(body, want->contains))
        note(t, "body", body, want->contains);
    testserver_header(request, "User-Agent", t->user_agent, sizeof t->user_agent);
    t->connections = request->connection;
}

static void handle(void *ctx, const struct testserver_request *request,
                   struct testserver_conn *conn)
{
    struct apitest *t = ctx;
    const struct apitest_exchange *e = NULL;

    uv_mutex_lock(&t->lock);
    if (t->done < t->n) {
        e = &t->script[t->done];
        compare(t, e, request);
        t->done++;
    } else {
        note(t, "request", request->target, "(nothing)");
    }
    uv_mutex_unlock(&t->lock);
    testserver_reply(conn, e ? e->status : 500, e && e->headers ? e->headers : "",
                     e ? e->body : "{}");
}

void apitest_init(struct apitest *test, const struct apitest_exchange *script, size_t n)
{
    struct ek_err err = {0};

    *test = (struct apitest){.script = script, .n = n};
    uv_loop_init(&test->loop);
    uv_mutex_init(&test->lock);
    test->server = testserver_start(&(struct testserver_options){.handler = handle, .ctx = test});
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = ek_client_config_new();
    config->server = ek_xasprintf("http://127.0.0.1:%u", testserver_port(test->server));
    if (ek_client_new(&test->loop, config, "evenkeel/test", &test->client, &err))
        ck_abort_msg("%s", err.message);
}

static void on_late(uv_timer_t *timer)
{
    struct apitest *t = timer->data;
    ck_abort_msg("nothing for ten minutes; %zu of %zu exchanges, %s", t->done, t->n, t->problem);
}

/* Before the loop waits, and after everything that was due has run. */
static void on_prepare(uv_prepare_t *prepare)
{
    const unsigned *flag = prepare->data;
    if (*flag)
        uv_stop(prepare->loop);
}

void apitest_run_until(struct apitest *test, unsigned *flag)
{
    uv_timer_t timer;
    uv_prepare_t prepare;

    uv_timer_init(&test->loop, &timer);
    timer.data = test;
    uv_timer_start(&timer, on_late, 600000, 0);
    uv_prepare_init(&test->loop, &prepare);
    prepare.data = flag;
    uv_prepare_start(&prepare, on_prepare);
    uv_run(&test->loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_close((uv_handle_t *)&prepare, NULL);
    uv_run(&test->loop, UV_RUN_NOWAIT);
}

void apitest_done(struct apitest *test)
{
    ek_client_close(test->client, NULL, NULL);
    uv_run(&test->loop, UV_RUN_DEFAULT);
    testserver_stop(test->server);
    ck_assert_msg(!*test->problem, "%s", test->problem);
    ck_assert_msg(test->done == test->n, "only %zu of %zu exchanges", test->done, test->n);
    ck_assert_int_eq(uv_loop_close(&test->loop), 0);
    uv_mutex_destroy(&test->lock);
}
