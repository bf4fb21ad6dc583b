/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/probe/prober.h"

#include <string.h>

#include "informers/probe/session.h"

/* Questions of one round under way at once: all fixed ones and some legacy lists. */
#define CALLS_MAX 16

struct target;

struct asked {
    struct target *target; /* NULL while the slot is free */
    struct ek_call *call;
    int id;
    const char *path; /* of the session */
};

struct target {
    struct ek_prober *prober;
    struct target *next;
    char *component, *address;
    char *tls_name; /* NULL for API servers, which get our own credentials */
    char *host;     /* of an API server; "" where it is not known */
    struct ek_probe *probe;
    struct ek_probe_session *session; /* NULL between rounds */
    struct asked asked[CALLS_MAX];
    uv_timer_t timer;
    int64_t full_at_ms;  /* wall clock of the last full round */
    int64_t round_at_ms; /* wall clock of the newest round */
    uint64_t round_at;   /* the same by uv_now */
    uint64_t took_ms;    /* of the last round that ended */
    unsigned long long rounds;
    bool again;        /* kicked while a round was under way */
    bool again_full;   /* the next round is a full one */
    bool awaits_token; /* the round begins when there is one, or its want is known */
    bool kept;         /* named by the set that is being taken */
};

struct ek_prober {
    uv_loop_t *loop;
    struct ek_client *client;
    int64_t (*now)(void);
    struct ek_token *token; /* for other components than API servers */
    void (*observer)(void *ctx);
    void *ctx;
    struct ek_prober_options options;
    struct ek_probe_tap tap; /* its functions are NULL where there is none */
    struct target *targets;
    size_t n_open; /* targets whose timer is not closed yet, gone ones included */
    bool closing;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

static void start_round(struct target *target, bool full);

static void free_prober(struct ek_prober *prober)
{
    void (*on_closed)(void *) = prober->on_closed;
    void *ctx = prober->closed_ctx;

    ek_free(prober);
    if (on_closed)
        on_closed(ctx);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct target *target = handle->data;
    struct ek_prober *prober = target->prober;

    ek_free(target->component);
    ek_free(target->address);
    ek_free(target->tls_name);
    ek_free(target->host);
    ek_free(target);
    prober->n_open--;
    if (prober->closing && prober->n_open == 0)
        free_prober(prober);
}

static void drop_target(struct target *target)
{
    for (size_t i = 0; i < CALLS_MAX; i++)
        if (target->asked[i].target)
            ek_call_cancel(target->asked[i].call);
    ek_probe_session_free(target->session);
    ek_probe_unref(target->probe);
    uv_close((uv_handle_t *)&target->timer, on_timer_closed);
}

static void on_timer(uv_timer_t *timer)
{
    struct target *target = timer->data;
    int64_t age = target->prober->now() - target->full_at_ms;

    if (!target->session)
        start_round(target, age < 0 || age >= target->prober->options.full_interval_ms);
}

static void finish_round(struct target *target)
{
    struct ek_prober *prober = target->prober;

    ek_probe_unref(target->probe);
    target->probe = ek_probe_session_finish(target->session);
    ek_probe_session_free(target->session);
    target->session = NULL;
    target->awaits_token = false;
    target->rounds++;
    target->took_ms = uv_now(prober->loop) - target->round_at;
    if (target->again) {
        bool full = target->again_full;
        target->again = target->again_full = false;
        start_round(target, full);
    } else if (prober->options.interval_ms > 0) {
        uv_timer_start(&target->timer, on_timer, (uint64_t)prober->options.interval_ms, 0);
    }
    if (prober->observer)
        prober->observer(prober->ctx);
}

static void ask_more(struct target *target);

static int on_data(void *ctx, const char *data, size_t len)
{
    struct asked *asked = ctx;
    struct target *target = asked->target;
    const struct ek_probe_tap *tap = &target->prober->tap;

    if (tap->data)
        tap->data(tap->ctx, target->component, target->address, data, len);
    return ek_probe_session_data(target->session, asked->id, data, len);
}

static void on_answer(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct asked *asked = ctx;
    struct target *target = asked->target;
    const struct ek_probe_tap *tap = &target->prober->tap;

    asked->target = NULL;
    asked->call = NULL;
    if (tap->answer)
        tap->answer(tap->ctx, target->component, target->address, asked->path, resp, err);
    if (target->tls_name && resp->status == 401)
        ek_token_refused(target->prober->token);
    ek_probe_session_answer(target->session, asked->id, resp, err);
    if (ek_probe_session_is_over(target->session))
        finish_round(target);
    else
        ask_more(target);
}

/* bearer is NULL for API servers. */
static void ask(struct target *target, struct asked *asked, const struct ek_probe_question *q,
                const char *bearer)
{
    struct ek_request request = {
        .path = q->path,
        .accept = q->accept,
        .if_none_match = q->etag,
        .timeout_ms = target->prober->options.timeout_ms,
        .max_body = q->max_body,
        .on_data = q->stream ? on_data : NULL,
        .no_retry = true,
        .connect_to = target->address,
        .tls_name = target->tls_name,
        .own_name = target->prober->options.own_only && !target->tls_name ? target->host : NULL,
        .bearer = bearer,
    };
    asked->target = target;
    asked->id = q->id;
    asked->path = q->path;
    asked->call = ek_client_send(target->prober->client, &request, on_answer, asked);
}

static void on_no_token(uv_timer_t *timer)
{
    struct target *target = timer->data;
    const char *token;
    struct ek_err err = {0};

    if (ek_token_get(target->prober->token, &token, &err) == EK_CREDENTIALS_FAILED)
        ek_probe_session_no_token(target->session, &err);
    if (ek_probe_session_is_over(target->session))
        finish_round(target);
    else
        ask_more(target);
}

/* The token to show in *ret_bearer, NULL for API servers; false when the round has to wait. */
static bool has_credential(struct target *target, const char **ret_bearer)
{
    *ret_bearer = NULL;
    if (!target->tls_name)
        return true;
    /* The client contacts nobody then and says why: no token is needed for that. */
    if (!ek_client_verifies(target->prober->client)) {
        *ret_bearer = "";
        return true;
    }
    enum ek_credentials_state state = ek_token_get(target->prober->token, ret_bearer, NULL);
    target->awaits_token = state == EK_CREDENTIALS_PENDING;
    /* The observer is called from the loop, not from the inside of ek_prober_set. */
    if (state == EK_CREDENTIALS_FAILED)
        uv_timer_start(&target->timer, on_no_token, 0, 0);
    return state == EK_CREDENTIALS_READY;
}

static void on_token(void *ctx)
{
    struct ek_prober *prober = ctx;

    for (struct target *t = prober->targets; t; t = t->next)
        if (t->awaits_token)
            ask_more(t);
}

static void ask_more(struct target *target)
{
    struct ek_probe_question question;
    const char *bearer;

    if (!has_credential(target, &bearer))
        return;
    for (size_t i = 0; i < CALLS_MAX; i++) {
        if (target->asked[i].target)
            continue;
        if (!ek_probe_session_next(target->session, &question))
            return;
        ask(target, &target->asked[i], &question, bearer);
    }
}

static void start_round(struct target *target, bool full)
{
    int64_t now_ms = target->prober->now();

    uv_timer_stop(&target->timer);
    if (full)
        target->full_at_ms = now_ms;
    target->round_at_ms = now_ms;
    target->round_at = uv_now(target->prober->loop);
    target->session = ek_probe_session_new(target->component, target->probe, full, now_ms);
    if (target->prober->options.documents_only)
        ek_probe_session_documents_only(target->session);
    if (target->prober->options.flagz)
        ek_probe_session_ask_flagz(target->session);
    ask_more(target);
}

/* "10.0.0.1:10257" gives "10.0.0.1", "[::1]:443" gives "::1". */
static char *host_of(const char *address)
{
    const char *colon = strrchr(address, ':');
    size_t len = colon ? (size_t)(colon - address) : strlen(address);

    if (len > 2 && address[0] == '[' && address[len - 1] == ']')
        return ek_xstrndup(address + 1, len - 2);
    return ek_xstrndup(address, len);
}

static bool is_apiserver(const struct ek_prober_target *wanted)
{
    return !strcmp(wanted->component, "kube-apiserver");
}

/* Each kind of process has one credential; whoever mistakes it gets none. */
static bool may_be_asked(const struct ek_prober_target *wanted)
{
    return wanted->credential == (is_apiserver(wanted) ? EK_PROBE_OWN : EK_PROBE_METRICS);
}

static struct target *find(struct ek_prober *prober, const struct ek_prober_target *wanted)
{
    for (struct target *t = prober->targets; t; t = t->next)
        if (!strcmp(t->address, wanted->address) && !strcmp(t->component, wanted->component))
            return t;
    return NULL;
}

static void add_target(struct ek_prober *prober, const struct ek_prober_target *wanted)
{
    struct target *target = ek_xalloc(sizeof *target);

    target->prober = prober;
    target->component = ek_xstrdup(wanted->component);
    target->address = ek_xstrdup(wanted->address);
    if (!is_apiserver(wanted))
        target->tls_name = host_of(wanted->address);
    target->host = ek_xstrdup(wanted->host ? wanted->host : "");
    target->kept = true;
    uv_timer_init(prober->loop, &target->timer);
    target->timer.data = target;
    prober->n_open++;
    target->next = prober->targets;
    prober->targets = target;
    start_round(target, true);
}

struct ek_prober *ek_prober_new(uv_loop_t *loop, struct ek_client *client, const char *namespace,
                                const char *account, int64_t (*now)(void),
                                void (*observer)(void *ctx), void *ctx)
{
    struct ek_prober *prober = ek_xalloc(sizeof *prober);

    prober->loop = loop;
    prober->client = client;
    prober->now = now;
    prober->token = ek_token_new(client, namespace, account, now, on_token, prober);
    prober->observer = observer;
    prober->ctx = ctx;
    return prober;
}

void ek_prober_set_tap(struct ek_prober *prober, const struct ek_probe_tap *tap)
{
    prober->tap = *tap;
}

/* Its Lease may become known after its address: the next round calls it by the new name. */
static void keep_target(struct target *target, const struct ek_prober_target *wanted)
{
    char *host = ek_xstrdup(wanted->host ? wanted->host : "");

    ek_free(target->host);
    target->host = host;
    target->kept = true;
}

static void drop_unkept(struct ek_prober *prober)
{
    for (struct target **slot = &prober->targets; *slot;) {
        struct target *target = *slot;
        if (target->kept) {
            slot = &target->next;
            continue;
        }
        *slot = target->next;
        drop_target(target);
    }
}

void ek_prober_set(struct ek_prober *prober, const struct ek_prober_target *targets, size_t n,
                   const struct ek_prober_options *options)
{
    bool faster = options->interval_ms < prober->options.interval_ms;

    prober->options = *options;
    for (struct target *t = prober->targets; t; t = t->next)
        t->kept = false;
    for (size_t i = 0; i < n; i++) {
        if (!may_be_asked(&targets[i]))
            continue;
        struct target *known = find(prober, &targets[i]);
        if (known)
            keep_target(known, &targets[i]);
        else
            add_target(prober, &targets[i]);
    }
    drop_unkept(prober);
    for (struct target *t = prober->targets; faster && t; t = t->next)
        if (!t->session)
            uv_timer_start(&t->timer, on_timer, (uint64_t)options->interval_ms, 0);
}

void ek_prober_kick(struct ek_prober *prober)
{
    for (struct target *t = prober->targets; t; t = t->next) {
        if (t->session)
            t->again = t->again_full = true;
        else
            start_round(t, true);
    }
}

static bool is_absent(const struct ek_probe *probe)
{
    return !probe || probe->reach.error.code || !ek_probe_is_ready(probe) || !probe->core ||
           !probe->groups;
}

void ek_prober_kick_absent(struct ek_prober *prober)
{
    for (struct target *t = prober->targets; t; t = t->next) {
        if (!is_absent(t->probe))
            continue;
        if (t->session)
            t->again = true;
        else
            start_round(t, false);
    }
}

void ek_prober_close(struct ek_prober *prober, void (*on_closed)(void *ctx), void *ctx)
{
    if (!prober)
        return;
    prober->closing = true;
    ek_token_free(prober->token);
    prober->token = NULL;
    prober->on_closed = on_closed;
    prober->closed_ctx = ctx;
    for (struct target *t = prober->targets; t; t = t->next)
        t->kept = false;
    if (prober->n_open == 0)
        free_prober(prober);
    else
        drop_unkept(prober);
}

bool ek_prober_is_synced(const struct ek_prober *prober)
{
    for (const struct target *t = prober->targets; t; t = t->next)
        if (!t->probe)
            return false;
    return true;
}

size_t ek_prober_size(const struct ek_prober *prober)
{
    size_t n = 0;
    for (const struct target *t = prober->targets; t; t = t->next)
        n++;
    return n;
}

const struct ek_probe *ek_prober_at(const struct ek_prober *prober, size_t i,
                                    const char **ret_address)
{
    const struct target *t = prober->targets;
    while (i-- > 0)
        t = t->next;
    *ret_address = t->address;
    return t->probe;
}

void ek_prober_each(const struct ek_prober *prober,
                    void (*fn)(void *ctx, const struct ek_prober_state *state), void *ctx)
{
    for (const struct target *t = prober->targets; t; t = t->next) {
        bool planned = uv_is_active((const uv_handle_t *)&t->timer);
        uint64_t took = t->session ? uv_now(prober->loop) - t->round_at : t->took_ms;
        fn(ctx, &(struct ek_prober_state){
                    .component = t->component,
                    .address = t->address,
                    .probe = t->probe,
                    .asking = t->session != NULL,
                    .rounds = t->rounds,
                    .round_ms = t->round_at_ms,
                    .took_ms = (int64_t)took,
                    .full_ms = t->full_at_ms,
                    .next_in_ms = planned ? (int64_t)uv_timer_get_due_in(&t->timer) : -1});
    }
}
