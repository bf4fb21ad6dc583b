/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/gates_canary.h"

#include <stdio.h>

#include "api/mem.h"
#include "reconcilers/fieldgates/registration.h"

#define FIRST_MS     500
#define LAST_MS      60000
#define AGAIN_MS     300000
#define TIMEOUT_MS   15000
#define ANSWER_MAX   ((size_t)256 << 10)
#define TRIES_MIN    3 /* before a server counts as failing */
#define MESSAGE_SIZE 400
#define HASH_SIZE    24

#define PATH "/apis/evenkeel.dev/v1alpha1/customfeaturegates?dryRun=All&fieldManager=evenkeel"

/* Valid by itself, and the name of no CRD that can be (RFC 2606, section 2). */
#define OBJECT                                                                                     \
    "{\"apiVersion\":\"evenkeel.dev/v1alpha1\",\"kind\":\"CustomFeatureGates\",\"metadata\":{"     \
    "\"name\":\"canaries.evenkeel.invalid\",\"annotations\":{\"" EK_GATES_CANARY_ANNOTATION        \
    "\":\"%s\"}},\"spec\":{}}"

struct server {
    struct ek_canary *canary;
    char *name, *address; /* owned; address "": not known, NULL: the configured one */
    struct ek_call *call; /* under way */
    bool answered;
    bool unheard;    /* it could not be asked, so that nothing is known */
    unsigned tries;  /* without the right answer */
    uint64_t due_ms; /* by uv_now */
    char message[MESSAGE_SIZE];
};

struct ek_canary {
    uv_loop_t *loop;
    struct ek_client *client;
    void (*changed)(void *ctx);
    void *ctx;
    uv_timer_t timer;
    char hash[HASH_SIZE];
    struct server **servers;
    size_t n;
    enum ek_gates_canary told;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

/* ---- Answers ---- */

static const char *find(struct ek_str body, const char *text)
{
    size_t len = strlen(text);

    for (size_t i = 0; i + len <= body.len; i++)
        if (!memcmp(body.p + i, text, len))
            return body.p + i;
    return NULL;
}

const char *ek_canary_judge(const char *hash, int status, struct ek_str body,
                            const struct ek_err *err, char *message, size_t size)
{
    EK_AUTOFREE char *right = ek_xasprintf(EK_GATES_CANARY_TEXT "%s", hash);

    if (err && status && find(body, right))
        return NULL;
    if (err && status && find(body, EK_GATES_CANARY_TEXT))
        snprintf(message, size, "it still has an older registration");
    else if (!err)
        snprintf(message, size, "it does not call us: it has not got the registration yet");
    else
        snprintf(message, size, "%s", err->message);
    return message;
}

/* ---- Results ---- */

enum ek_gates_canary ek_canary_result(const struct ek_canary *canary, const char **ret_message)
{
    enum ek_gates_canary result = EK_CANARY_ANSWERED;

    *ret_message = NULL;
    if (!*canary->hash)
        return EK_CANARY_PENDING;
    for (size_t i = 0; i < canary->n && result != EK_CANARY_FAILED; i++) {
        const struct server *s = canary->servers[i];
        if (s->answered)
            continue;
        result = s->tries >= TRIES_MIN && !s->unheard ? EK_CANARY_FAILED : EK_CANARY_PENDING;
        if (*s->message && (!*ret_message || result == EK_CANARY_FAILED))
            *ret_message = s->message;
    }
    return result;
}

static void tell(struct ek_canary *canary)
{
    const char *message;
    enum ek_gates_canary result = ek_canary_result(canary, &message);

    if (result == canary->told)
        return;
    canary->told = result;
    canary->changed(canary->ctx);
}

/* ---- Asking ---- */

static void schedule(struct ek_canary *canary);

static void plan_next(struct server *s, bool answered)
{
    uint64_t delay = AGAIN_MS;

    if (!answered) {
        delay = s->tries < 8 ? (uint64_t)FIRST_MS << s->tries : LAST_MS;
        if (delay > LAST_MS)
            delay = LAST_MS;
        s->tries++;
    } else {
        s->tries = 0;
    }
    s->answered = answered;
    s->due_ms = uv_now(s->canary->loop) + delay;
}

static void on_answer(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct server *s = ctx;
    char why[MESSAGE_SIZE - 100];

    s->call = NULL;
    const char *wrong =
        ek_canary_judge(s->canary->hash, resp->status, resp->body, err, why, sizeof why);
    s->message[0] = '\0';
    s->unheard = resp->status == 0;
    if (wrong)
        snprintf(s->message, sizeof s->message, "API server %.80s%s: %s", s->name,
                 s->unheard ? " could not be asked" : "", wrong);
    plan_next(s, !wrong);
    schedule(s->canary);
    tell(s->canary);
}

static void ask(struct server *s)
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
                                       .connect_to = s->address};

    s->call = ek_client_send(s->canary->client, &request, on_answer, s);
}

static bool may_be_asked(const struct server *s)
{
    return !s->call && !(s->address && !*s->address);
}

static void on_timer(uv_timer_t *timer)
{
    struct ek_canary *canary = timer->data;
    uint64_t now = uv_now(canary->loop);

    for (size_t i = 0; i < canary->n; i++)
        if (may_be_asked(canary->servers[i]) && canary->servers[i]->due_ms <= now)
            ask(canary->servers[i]);
    schedule(canary);
}

static void schedule(struct ek_canary *canary)
{
    uint64_t now = uv_now(canary->loop), next = UINT64_MAX;

    for (size_t i = 0; i < canary->n; i++)
        if (may_be_asked(canary->servers[i]) && canary->servers[i]->due_ms < next)
            next = canary->servers[i]->due_ms;
    if (!*canary->hash || next == UINT64_MAX)
        uv_timer_stop(&canary->timer);
    else
        uv_timer_start(&canary->timer, on_timer, next > now ? next - now : 0, 0);
}

/* What was heard is of the past; the next question is due at once. */
static void begin_anew(struct server *s)
{
    ek_call_cancel(s->call);
    s->call = NULL;
    s->answered = false;
    s->tries = 0;
    s->due_ms = uv_now(s->canary->loop);
    s->message[0] = '\0';
    s->unheard = s->address && !*s->address;
    if (s->unheard)
        snprintf(s->message, sizeof s->message,
                 "API server %.80s cannot be asked: its address is not known", s->name);
}

void ek_canary_expect(struct ek_canary *canary, const char *hash)
{
    if (!strcmp(canary->hash, hash))
        return;
    snprintf(canary->hash, sizeof canary->hash, "%s", hash);
    for (size_t i = 0; i < canary->n; i++)
        begin_anew(canary->servers[i]);
    canary->told = EK_CANARY_PENDING;
    schedule(canary);
}

/* ---- Servers ---- */

static void server_free(struct server *s)
{
    if (!s)
        return;
    ek_call_cancel(s->call);
    ek_free(s->name);
    ek_free(s->address);
    ek_free(s);
}

static struct server *server_new(struct ek_canary *canary, const char *name, const char *address)
{
    struct server *s = ek_xalloc(sizeof *s);

    s->canary = canary;
    s->name = ek_xstrdup(name);
    s->address = ek_xstrdup(address);
    begin_anew(s);
    return s;
}

static bool same_server(const struct server *s, const struct ek_canary_server *wanted)
{
    if (!s || !s->address || !wanted->address)
        return s && !s->address && !wanted->address;
    return !strcmp(s->address, wanted->address) && !strcmp(s->name, wanted->name);
}

/* Takes a server that is known out of the old list. */
static struct server *take(struct ek_canary *canary, const struct ek_canary_server *wanted)
{
    for (size_t i = 0; i < canary->n; i++) {
        struct server *s = canary->servers[i];
        if (same_server(s, wanted)) {
            canary->servers[i] = NULL;
            return s;
        }
    }
    return server_new(canary, wanted->name, wanted->address);
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
    tell(canary);
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
