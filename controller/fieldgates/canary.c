/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fieldgates/canary.h"

#include <stdio.h>

#include "api/base/mem.h"
#include "reconcilers/fieldgates/registration.h"

#define TIMEOUT_MS 15000
#define ANSWER_MAX ((size_t)256 << 10)

#define PATH "/apis/evenkeel.dev/v1alpha1/customfeaturegates?dryRun=All&fieldManager=evenkeel"

/* Valid by itself, and the name of no CRD that can be (RFC 2606, section 2). */
#define OBJECT                                                                                     \
    "{\"apiVersion\":\"evenkeel.dev/v1alpha1\",\"kind\":\"CustomFeatureGates\",\"metadata\":{"     \
    "\"name\":\"canaries.evenkeel.invalid\",\"annotations\":{\"" EK_GATES_CANARY_ANNOTATION        \
    "\":\"%s\"}},\"spec\":{}}"

struct server {
    struct ek_canary *canary;
    struct ek_canary_server is; /* its strings are owned */
    struct ek_canary_state state;
    struct ek_call *call; /* under way */
};

struct ek_canary {
    uv_loop_t *loop;
    struct ek_client *client;
    void (*changed)(void *ctx);
    void *ctx;
    uv_timer_t timer;
    char hash[EK_CANARY_HASH_SIZE];
    struct server **servers;
    size_t n;
    enum ek_gates_canary reported;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

static int64_t now_ms(const struct ek_canary *canary)
{
    return (int64_t)uv_now(canary->loop);
}

/* ---- Results ---- */

enum ek_gates_canary ek_canary_look(const struct ek_canary *canary, const char **ret_message)
{
    const struct ek_canary_state *states[EK_CANARY_SERVERS_MAX];

    for (size_t i = 0; i < canary->n; i++)
        states[i] = &canary->servers[i]->state;
    return ek_canary_result(states, canary->n, canary->hash, ret_message);
}

static void report(struct ek_canary *canary)
{
    const char *message;
    enum ek_gates_canary result = ek_canary_look(canary, &message);

    if (result == canary->reported)
        return;
    canary->reported = result;
    canary->changed(canary->ctx);
}

/* ---- Requests ---- */

static void schedule(struct ek_canary *canary);

static void on_answer(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct server *s = ctx;
    struct ek_canary *canary = s->canary;
    const struct ek_canary_answer answer = {.status = resp->status, .body = resp->body, .err = err};

    s->call = NULL;
    ek_canary_heard(&s->state, &s->is, canary->hash, &answer, now_ms(canary));
    schedule(canary);
    report(canary);
}

static void send_canary(struct server *s)
{
    char body[512];
    int len = snprintf(body, sizeof body, OBJECT, s->canary->hash);
    const struct ek_request request = {.method = "POST",
                                       .path = PATH,
                                       .content_type = "application/json",
                                       .body = body,
                                       .body_size = (size_t)len,
                                       .timeout_ms = TIMEOUT_MS,
                                       .max_body = ANSWER_MAX,
                                       .no_retry = true,
                                       .connect_to = s->is.address};

    s->call = ek_client_send(s->canary->client, &request, on_answer, s);
}

static bool may_send(const struct server *s)
{
    return !s->call && ek_canary_is_reachable(&s->is);
}

static void on_timer(uv_timer_t *timer)
{
    struct ek_canary *canary = timer->data;
    int64_t now = now_ms(canary);

    for (size_t i = 0; i < canary->n; i++)
        if (may_send(canary->servers[i]) && canary->servers[i]->state.due_ms <= now)
            send_canary(canary->servers[i]);
    schedule(canary);
}

static void schedule(struct ek_canary *canary)
{
    int64_t now = now_ms(canary), next = INT64_MAX;

    for (size_t i = 0; i < canary->n; i++)
        if (may_send(canary->servers[i]) && canary->servers[i]->state.due_ms < next)
            next = canary->servers[i]->state.due_ms;
    if (!*canary->hash || next == INT64_MAX)
        uv_timer_stop(&canary->timer);
    else
        uv_timer_start(&canary->timer, on_timer, next > now ? (uint64_t)(next - now) : 0, 0);
}

static void begin_anew(struct server *s)
{
    ek_call_cancel(s->call);
    s->call = NULL;
    ek_canary_begin(&s->state, &s->is, now_ms(s->canary));
}

void ek_canary_expect(struct ek_canary *canary, const char *hash)
{
    if (!strcmp(canary->hash, hash))
        return;
    snprintf(canary->hash, sizeof canary->hash, "%s", hash);
    for (size_t i = 0; i < canary->n; i++)
        begin_anew(canary->servers[i]);
    canary->reported = EK_CANARY_PENDING;
    schedule(canary);
}

/* ---- Servers ---- */

static void server_free(struct server *s)
{
    if (!s)
        return;
    ek_call_cancel(s->call);
    ek_free((char *)(uintptr_t)s->is.name);
    ek_free((char *)(uintptr_t)s->is.address);
    ek_free(s);
}

static struct server *server_new(struct ek_canary *canary, const struct ek_canary_server *is)
{
    struct server *s = ek_xalloc(sizeof *s);

    s->canary = canary;
    s->is = (struct ek_canary_server){ek_xstrdup(is->name), ek_xstrdup(is->address)};
    begin_anew(s);
    return s;
}

static bool is_server(const struct server *s, const struct ek_canary_server *is)
{
    if (!s || !s->is.address || !is->address)
        return s && !s->is.address && !is->address;
    return !strcmp(s->is.address, is->address) && !strcmp(s->is.name, is->name);
}

/* Takes a server that is known out of the old list. */
static struct server *take(struct ek_canary *canary, const struct ek_canary_server *is)
{
    for (size_t i = 0; i < canary->n; i++) {
        struct server *s = canary->servers[i];
        if (is_server(s, is)) {
            canary->servers[i] = NULL;
            return s;
        }
    }
    return server_new(canary, is);
}

void ek_canary_set_servers(struct ek_canary *canary, const struct ek_canary_server *servers,
                           size_t n)
{
    const struct ek_canary_server configured = {.name = ek_client_server(canary->client)};

    if (n == 0) {
        servers = &configured;
        n = 1;
    }
    if (n > EK_CANARY_SERVERS_MAX)
        n = EK_CANARY_SERVERS_MAX;
    struct server **list = ek_xalloc(n * sizeof(struct server *));
    for (size_t i = 0; i < n; i++)
        list[i] = take(canary, &servers[i]);
    for (size_t i = 0; i < canary->n; i++)
        server_free(canary->servers[i]);
    ek_free(canary->servers);
    canary->servers = list;
    canary->n = n;
    schedule(canary);
    report(canary);
}

/* ---- Life ---- */

struct ek_canary *ek_canary_new(uv_loop_t *loop, struct ek_client *client,
                                void (*changed)(void *ctx), void *ctx)
{
    struct ek_canary *canary = ek_xalloc(sizeof *canary);

    canary->loop = loop;
    canary->client = client;
    canary->changed = changed;
    canary->ctx = ctx;
    uv_timer_init(loop, &canary->timer);
    canary->timer.data = canary;
    ek_canary_set_servers(canary, NULL, 0);
    return canary;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct ek_canary *canary = handle->data;

    if (canary->on_closed)
        canary->on_closed(canary->closed_ctx);
    ek_free(canary);
}

void ek_canary_close(struct ek_canary *canary, void (*on_closed)(void *ctx), void *ctx)
{
    canary->on_closed = on_closed;
    canary->closed_ctx = ctx;
    for (size_t i = 0; i < canary->n; i++)
        server_free(canary->servers[i]);
    ek_free(canary->servers);
    canary->servers = NULL;
    canary->n = 0;
    uv_close((uv_handle_t *)&canary->timer, on_timer_closed);
}
