/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/rehearse/ask.h"

#include <signal.h>
#include <string.h>

#include "api/obj.h"
#include "controller/cli/commands.h"
#include "controller/rehearse/apart.h"
#include "informers/client/kubeconfig.h"
#include "informers/clock.h"

#define TICK_MS 50
#define ENDED   "the server or the rehearsal has ended"

/* A request under way, with what the caller gets. */
struct asked {
    struct ek_rehearse_ask *ask;
    ek_response_fn fn;
    void *ctx;
    size_t room;
    struct ek_call *call;
};

static void on_signal(uv_signal_t *handle, int number)
{
    struct ek_rehearse_ask *ask = handle->data;

    (void)number;
    ask->signaled = true;
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer; /* its wake-up is all */
}

void ek_rehearse_ask_open(struct ek_rehearse_ask *ask, unsigned most, int64_t timeout_ms)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction before;

    *ask = (struct ek_rehearse_ask){.open = true, .most = most, .timeout_ms = timeout_ms};
    uv_loop_init(&ask->loop);
    uv_timer_init(&ask->loop, &ask->tick);
    uv_timer_start(&ask->tick, on_tick, TICK_MS, TICK_MS);
    for (size_t i = 0; i < EK_ARRAY_SIZE(numbers); i++) {
        uv_signal_init(&ask->loop, &ask->signals[i]);
        ask->signals[i].data = ask;
        /* What is ignored stays ignored (nohup.1). */
        if (sigaction(numbers[i], NULL, &before) != 0 || before.sa_handler != SIG_IGN)
            uv_signal_start(&ask->signals[i], on_signal, numbers[i]);
    }
    ek_rehearse_apart_hold(false);
}

void ek_rehearse_ask_close(struct ek_rehearse_ask *ask)
{
    if (!ask->open)
        return;
    uv_close((uv_handle_t *)&ask->tick, NULL);
    for (size_t i = 0; i < EK_ARRAY_SIZE(ask->signals); i++)
        uv_close((uv_handle_t *)&ask->signals[i], NULL);
    uv_run(&ask->loop, UV_RUN_DEFAULT);
    uv_loop_close(&ask->loop);
    ask->open = false;
}

struct ek_client *ek_rehearse_ask_client(struct ek_rehearse_ask *ask, int port,
                                         const char *authority, const struct ek_cert_pair *pair,
                                         struct ek_err *err)
{
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = ek_client_config_new();
    struct ek_client *client = NULL;

    config->server = ek_xasprintf("https://127.0.0.1:%d", port);
    config->no_proxy = ek_xstrdup("*");
    config->ca_data = ek_xstrdup(authority);
    config->cert_data = ek_xstrdup(pair->cert);
    config->key_data = ek_xstrdup(pair->key);
    return ek_client_new(&ask->loop, config, ek_user_agent(), &client, err) ? NULL : client;
}

static void on_client_closed(void *ctx)
{
    *(bool *)ctx = true;
}

void ek_rehearse_ask_drop(struct ek_rehearse_ask *ask, struct ek_client *client)
{
    bool closed = client == NULL;

    if (client)
        ek_client_close(client, on_client_closed, &closed);
    while (!closed)
        uv_run(&ask->loop, UV_RUN_ONCE);
}

bool ek_rehearse_ask_ended(const struct ek_rehearse_ask *ask)
{
    return ask->signaled || (ask->deadline_ms && ek_monotonic_ms() >= ask->deadline_ms);
}

bool ek_rehearse_ask_stopped(struct ek_rehearse_ask *ask)
{
    return ek_rehearse_ask_ended(ask) || (ask->server && !ek_rehearse_child_runs(ask->server));
}

void ek_rehearse_ask_turn(struct ek_rehearse_ask *ask)
{
    uv_run(&ask->loop, UV_RUN_ONCE);
}

/* Gives the place of a request to the next one. */
static void leave(struct asked *asked)
{
    asked->ask->in_flight--;
    asked->ask->room -= asked->room;
    ek_free(asked);
}

static void on_answer(void *ctx, const struct ek_response *response, const struct ek_err *err)
{
    struct asked *asked = ctx;
    ek_response_fn fn = asked->fn;
    void *fn_ctx = asked->ctx;

    leave(asked);
    fn(fn_ctx, response, err);
}

/* Waits for the turn of the next request. */
static void pause_request(struct ek_rehearse_ask *ask)
{
    while (ek_monotonic_ms() < ask->next_ms && !ek_rehearse_ask_stopped(ask))
        ek_rehearse_ask_turn(ask);
    ask->next_ms = ek_monotonic_ms() + ask->pause_ms;
}

/* The request that was sent, which is valid until fn is called; NULL when fn was called at once. */
static struct asked *send_request(struct ek_rehearse_ask *ask, struct ek_client *client,
                                  const struct ek_request *request, ek_response_fn fn, void *ctx)
{
    static const struct ek_response none = {.content_type = "", .etag = "", .warning = ""};
    struct ek_request whole = *request;

    if (!whole.max_body)
        whole.max_body = EK_REHEARSE_BODY_MAX;
    while (ask->in_flight >= ask->most ||
           (ask->in_flight && ask->room + whole.max_body > EK_REHEARSE_BODIES_MAX))
        ek_rehearse_ask_turn(ask);
    if (ask->pause_ms)
        pause_request(ask);
    if (ek_rehearse_ask_stopped(ask)) {
        struct ek_err err = {0};
        ek_err_set(&err, EK_E_CANCELED, ENDED);
        fn(ctx, &none, &err);
        return NULL;
    }
    struct asked *asked = ek_xalloc(sizeof *asked);
    *asked = (struct asked){ask, fn, ctx, whole.max_body, NULL};
    ask->room += whole.max_body;
    whole.timeout_ms = ask->timeout_ms;
    whole.no_retry = !ask->patient;
    ask->in_flight++;
    asked->call = ek_client_send(client, &whole, on_answer, asked);
    return asked;
}

void ek_rehearse_ask_send(struct ek_rehearse_ask *ask, struct ek_client *client,
                          const struct ek_request *request, ek_response_fn fn, void *ctx)
{
    send_request(ask, client, request, fn, ctx);
}

void ek_rehearse_ask_drain(struct ek_rehearse_ask *ask)
{
    while (ask->in_flight)
        ek_rehearse_ask_turn(ask);
}

struct one {
    yyjson_doc *doc;
    struct ek_err err;
    bool done;
};

static void on_one(void *ctx, const struct ek_response *response, const struct ek_err *err)
{
    struct one *one = ctx;

    one->done = true;
    if (err)
        one->err = *err;
    else
        one->doc = ek_json_parse_envelope(response->body.p, response->body.len,
                                          EK_JSON_ENVELOPE_MAX, &one->err);
}

yyjson_doc *ek_rehearse_ask_one(struct ek_rehearse_ask *ask, struct ek_client *client,
                                const struct ek_request *request, struct ek_err *err)
{
    struct one one = {0};

    struct asked *asked = send_request(ask, client, request, on_one, &one);
    while (!one.done && !ek_rehearse_ask_ended(ask))
        ek_rehearse_ask_turn(ask);
    if (!one.done) {
        ek_call_cancel(asked->call);
        leave(asked);
        ek_err_set(&one.err, EK_E_CANCELED, ENDED);
    }
    if (!one.doc && err)
        *err = one.err;
    return one.doc;
}
