/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/client/client.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "informers/client/client-internal.h"
#include "informers/clock.h"

static void move(struct ek_call *call, struct call_list *list)
{
    if (call->list)
        TAILQ_REMOVE(call->list, call, link);
    call->list = list;
    if (list)
        TAILQ_INSERT_TAIL(list, call, link);
}

static void on_timer(uv_timer_t *timer);

/* Makes sure that the timer goes off at the loop time at, or sooner. */
static void arm(struct ek_client *client, uint64_t at)
{
    uint64_t now = uv_now(client->loop);

    if (client->closing || at >= client->timer_at)
        return;
    client->timer_at = at;
    uv_timer_start(&client->timer, on_timer, at > now ? at - now : 0, 0);
}

static void wait_until(struct ek_call *call, uint64_t at)
{
    call->wake_at = at < call->deadline ? at : call->deadline;
    move(call, &call->client->waiting);
    arm(call->client, call->wake_at);
}

static void observe(const struct ek_call *call, CURLcode result)
{
    struct ek_client *client = call->client;
    char code[16] = "<error>";

    if (!client->observer)
        return;
    if (call->answer.status && (result == CURLE_OK || call->request.on_data))
        snprintf(code, sizeof code, "%d", call->answer.status);
    client->observer(client->observer_ctx, call->request.method, code, call->host,
                     (double)(uv_hrtime() - call->started_ns) / 1e9);
}

/* Reports the outcome and releases the call. */
/* The certificate of the connection, or of another API server that answered in place of the one
 * that was called. */
static const struct ek_server_cert *shown_cert(const struct call_answer *answer)
{
    const struct tls_note *note = answer->note;

    if (answer->cert)
        return &answer->cert->shown;
    return note && note->seen && note->verify_error == X509_V_ERR_APPLICATION_VERIFICATION
               ? &note->seen->shown
               : NULL;
}

static void finish(struct ek_call *call, const struct ek_err *err)
{
    const struct call_answer *answer = &call->answer;
    struct ek_response response = {
        .status = answer->status,
        .body = {ek_buf_str(&answer->body), answer->body.len},
        .content_type = answer->content_type ? answer->content_type : "",
        .etag = answer->etag ? answer->etag : "",
        .warning = answer->warning ? answer->warning : "",
        .cert = shown_cert(answer),
    };

    move(call, NULL);
    if (call->on_done)
        call->on_done(call->ctx, &response, err);
    call_free__(call);
}

static void fail(struct ek_call *call, const struct ek_err *err)
{
    call_attempt_done__(call);
    finish(call, err);
}

static void on_transfer_done(void *transfer, CURLcode result);
static void sweep(void *ctx);
static void part_closed(void *ctx);

/* The pool for new transfers of a lane. New certificates and authorities get a new one. */
static struct ek_http *lane(struct ek_client *client, int which, const struct ek_auth *auth)
{
    struct ek_http_hooks hooks = {on_transfer_done, sweep, part_closed, client};

    if (client->lanes[which] && client->lane_tls[which] != auth->tls_generation) {
        ek_http_retire(client->lanes[which]);
        client->lanes[which] = NULL;
    }
    if (!client->lanes[which]) {
        client->lanes[which] = ek_http_new(client->loop, &hooks);
        client->lane_tls[which] = auth->tls_generation;
        client->n_open++;
    }
    return client->lanes[which];
}

static void start(struct ek_call *call)
{
    struct ek_client *client = call->client;
    struct ek_err err = {0};

    call->tries++;
    fallback_aim__(call);
    if (call_attempt__(call, &err)) {
        fallback_note__(call, CURLE_FAILED_INIT);
        fail(call, &err);
        return;
    }
    call->http = lane(client, call->request.fresh_connection ? LANE_OWN : LANE_SHARED, call->auth);
    if (!ek_http_add(call->http, call->easy)) {
        ek_err_set(&err, EK_E_NOMEM, "cannot start a request");
        fail(call, &err);
        return;
    }
    move(call, &client->running);
}

/* Starts a call whose time has come, or lets it wait for credentials. */
static void proceed(struct ek_call *call)
{
    struct ek_client *client = call->client;
    struct ek_err err = {0};
    bool waited = call->awaits_credentials;

    if (call_check__(&call->request, &err)) {
        fail(call, &err);
        return;
    }
    if (call->deadline <= uv_now(client->loop)) {
        ek_err_set(&err, EK_E_TIMEOUT, "%s %s: %s", call->request.method, call->host,
                   waited ? "no credentials in time" : "timed out");
        fail(call, &err);
        return;
    }
    call->awaits_credentials = false;
    switch (ek_credentials_get(client->credentials, ek_wall_ms(), &call->auth, &err)) {
    case EK_CREDENTIALS_READY:
        start(call);
        break;
    case EK_CREDENTIALS_PENDING:
        call->awaits_credentials = true;
        wait_until(call, EK_NEVER);
        break;
    default:
        fail(call, &err);
        break;
    }
}

/* A pool whose connection went silent, or the own lane after any failure, is not used again. */
static void doubt_connection(struct ek_call *call, CURLcode result)
{
    struct ek_client *client = call->client;
    long n_connects = 1;

    if (result == CURLE_OK || call->answer.stream_rc || call->answer.too_large)
        return;
    curl_easy_getinfo(call->easy, CURLINFO_NUM_CONNECTS, &n_connects);
    bool silent = result == CURLE_OPERATION_TIMEDOUT && !n_connects && !call->answer.status;
    for (int i = 0; i < LANE_MAX; i++)
        if (client->lanes[i] == call->http && (silent || i == LANE_OWN)) {
            ek_http_retire(client->lanes[i]);
            client->lanes[i] = NULL;
        }
}

static void on_transfer_done(void *transfer, CURLcode result)
{
    struct ek_call *call = transfer;
    struct ek_client *client = call->client;
    struct ek_err err = {0};

    observe(call, result);
    doubt_connection(call, result);
    fallback_note__(call, result);
    struct next_step step = answer_next_step__(call, result);
    if (step.what == STEP_REAUTHENTICATE &&
        ek_credentials_refused(client->credentials, call->auth)) {
        call->reauthenticated = true;
        call_attempt_done__(call);
        wait_until(call, uv_now(client->loop));
    } else if (step.what == STEP_RETRY) {
        call->reset_retried = call->reset_retried || result != CURLE_OK;
        call_attempt_done__(call);
        wait_until(call, uv_now(client->loop) + (uint64_t)step.wait_ms);
    } else {
        int rc = answer_error__(call, result, &err);
        call_attempt_done__(call);
        finish(call, rc ? &err : NULL);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct ek_client *client = timer->data;
    uint64_t now = uv_now(client->loop);
    struct ek_call *call, *next;

    client->timer_at = EK_NEVER;
    for (call = TAILQ_FIRST(&client->waiting); call; call = next) {
        next = TAILQ_NEXT(call, link);
        if (call->wake_at <= now)
            move(call, &client->ready);
        else
            arm(client, call->wake_at);
    }
    /* Callers may send, cancel and close meanwhile; the list is true at every turn. */
    while (!client->closing && (call = TAILQ_FIRST(&client->ready)))
        proceed(call);
}

static void on_credentials(void *ctx)
{
    struct ek_client *client = ctx;
    struct ek_call *call;
    uint64_t now = uv_now(client->loop);

    for (call = TAILQ_FIRST(&client->waiting); call; call = TAILQ_NEXT(call, link))
        if (call->awaits_credentials)
            call->wake_at = now;
    arm(client, now);
}

/* Releases what was cancelled while libcurl was at work. */
static void sweep(void *ctx)
{
    struct ek_client *client = ctx;
    struct ek_call *call;

    while (!client->n_inside && (call = TAILQ_FIRST(&client->doomed))) {
        if (call->http)
            ek_http_remove(call->http, call->easy);
        move(call, NULL);
        call_free__(call);
    }
}

void ek_call_cancel(struct ek_call *call)
{
    if (!call || !call->list || call->list == &call->client->doomed)
        return; /* over, or about to be */
    struct ek_client *client = call->client;
    move(call, &client->doomed);
    sweep(client);
}

static const char *dup_field(const char *s)
{
    return ek_xstrdup(s);
}

static void copy_request(struct ek_call *call, const struct ek_request *request)
{
    struct ek_request *copy = &call->request;

    *copy = *request;
    copy->method = dup_field(request->method ? request->method : "GET");
    copy->path = dup_field(request->path ? request->path : "");
    copy->accept = dup_field(request->accept);
    copy->content_type = dup_field(request->content_type);
    copy->if_none_match = dup_field(request->if_none_match);
    copy->connect_to = dup_field(request->connect_to);
    copy->tls_name = dup_field(request->tls_name);
    copy->own_name = dup_field(request->own_name);
    copy->bearer = dup_field(request->bearer);
    copy->user_agent_suffix = dup_field(request->user_agent_suffix);
    copy->body = request->body ? ek_xstrndup(request->body, request->body_size) : NULL;
}

struct ek_call *ek_client_send(struct ek_client *client, const struct ek_request *request,
                               ek_response_fn on_done, void *ctx)
{
    struct ek_call *call = ek_xalloc(sizeof *call);
    uint64_t now = uv_now(client->loop);

    call->client = client;
    call->on_done = on_done;
    call->ctx = ctx;
    copy_request(call, request);
    call_answer_reset__(call);
    call->falls_back = !request->connect_to && !request->bearer && !request->tls_name;
    call->host = ek_xstrdup(request->connect_to ? request->connect_to : client->server.host_port);
    call->deadline = request->timeout_ms > 0 ? now + (uint64_t)request->timeout_ms : EK_NEVER;
    wait_until(call, now);
    return call;
}

/* Headers and the like of the configuration that could break a request; said once, at birth. */
static int check_config(const struct ek_client_config *config, const char *user_agent,
                        struct ek_err *err)
{
    const char *const values[] = {config->as_user, config->as_uid, config->tls_server_name,
                                  config->proxy_url, user_agent};

    for (size_t i = 0; i < EK_ARRAY_SIZE(values); i++)
        for (const char *p = values[i]; p && *p; p++)
            if ((unsigned char)*p < 0x20 || *p == 0x7f)
                return ek_err_set(err, EK_E_INVAL,
                                  "the configuration holds control characters in a name");
    for (size_t i = 0; i < config->as_groups.n; i++)
        if (strpbrk(config->as_groups.items[i], "\r\n"))
            return ek_err_set(err, EK_E_INVAL, "as-groups holds a line end");
    for (size_t i = 0; i < config->as_extra.n; i++)
        if (strpbrk(config->as_extra.items[i].value, "\r\n"))
            return ek_err_set(err, EK_E_INVAL, "as-user-extra holds a line end");
    if (config->exec && config->exec->interactive == EK_EXEC_ALWAYS)
        return ek_err_set(err, EK_E_INVAL,
                          "the credential plugin %.200s requires a terminal (interactiveMode "
                          "Always), which Evenkeel does not provide",
                          config->exec->command);
    return 0;
}

/* Once per process: writing to a closed connection is an error to handle, not a signal. */
static void ignore_sigpipe(void)
{
    signal(SIGPIPE, SIG_IGN);
}

static void client_free(struct ek_client *client)
{
    server_address_done__(&client->server);
    ek_client_config_free(client->config);
    ek_free(client->user_agent);
    ek_free(client->egress);
    fallback_done__(client);
    ek_free(client);
    curl_global_cleanup(); /* libcurl counts */
}

int ek_client_new(uv_loop_t *loop, const struct ek_client_config *config, const char *user_agent,
                  struct ek_client **ret_client, struct ek_err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int rc = check_config(config, user_agent, err);

    if (rc)
        return rc;
    if (curl_global_init(CURL_GLOBAL_DEFAULT))
        return ek_err_set(err, EK_E_NOMEM, "cannot initialise libcurl");
    pthread_once(&once, ignore_sigpipe);
    struct ek_client *client = ek_xalloc(sizeof *client);
    client->loop = loop;
    client->config = ek_client_config_dup(config);
    client->user_agent = ek_xstrdup(user_agent);
    client->timer_at = EK_NEVER;
    TAILQ_INIT(&client->waiting);
    TAILQ_INIT(&client->ready);
    TAILQ_INIT(&client->running);
    TAILQ_INIT(&client->doomed);
    rc = server_address_parse__(client->config, &client->server, err);
    if (!rc)
        rc = ek_credentials_new(loop, client->config, ek_wall_ms(), &client->credentials, err);
    if (rc) {
        if (config->source)
            ek_err_prefix(err, "%s", config->source);
        client_free(client);
        return rc;
    }
    ek_credentials_set_observer(client->credentials, on_credentials, client);
    uv_timer_init(loop, &client->timer);
    client->timer.data = client;
    client->n_open = 2; /* credentials and timer */
    *ret_client = client;
    return 0;
}

static void part_closed(void *ctx)
{
    struct ek_client *client = ctx;

    if (--client->n_open)
        return;
    void (*on_closed)(void *ctx) = client->on_closed;
    void *closed_ctx = client->closed_ctx;
    client_free(client);
    if (on_closed)
        on_closed(closed_ctx);
}

static void on_timer_closed(uv_handle_t *handle)
{
    part_closed(handle->data);
}

static void cancel_all(struct ek_client *client, struct call_list *list)
{
    struct ek_call *call;

    while ((call = TAILQ_FIRST(list)))
        move(call, &client->doomed);
}

void ek_client_close(struct ek_client *client, void (*on_closed)(void *ctx), void *ctx)
{
    if (!client || client->closing)
        return;
    client->closing = true;
    client->on_closed = on_closed;
    client->closed_ctx = ctx;
    cancel_all(client, &client->waiting);
    cancel_all(client, &client->ready);
    cancel_all(client, &client->running);
    sweep(client);
    for (int i = 0; i < LANE_MAX; i++)
        if (client->lanes[i])
            ek_http_retire(client->lanes[i]); /* closes after the last doomed transfer */
    ek_credentials_close(client->credentials, part_closed, client);
    uv_close((uv_handle_t *)&client->timer, on_timer_closed);
}

const char *ek_client_server(const struct ek_client *client)
{
    return client->server.origin;
}

int64_t ek_client_cert_not_after(const struct ek_client *client)
{
    return ek_credentials_not_after(client->credentials);
}

void ek_client_set_egress(struct ek_client *client, const char *url)
{
    ek_free(client->egress);
    client->egress = ek_xstrdup(url);
}

void ek_client_set_observer(struct ek_client *client, ek_client_observer_fn fn, void *ctx)
{
    client->observer = fn;
    client->observer_ctx = ctx;
}
