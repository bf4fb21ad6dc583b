/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/prober.h"

#include <string.h>

#include "informers/probe_session.h"

/* Questions of one round under way at once: all fixed ones and some legacy lists. */
#define CALLS_MAX 16

struct target;

struct asked {
    struct target *target; /* NULL while the slot is free */
    struct ek_call *call;
    int id;
};

struct target {
    struct ek_prober *prober;
    struct target *next;
    char *component, *address;
    char *tls_name; /* NULL for API servers */
    struct ek_probe *probe;
    struct ek_probe_session *session; /* NULL between rounds */
    struct asked asked[CALLS_MAX];
    uv_timer_t timer;
    int64_t full_at_ms;  /* wall clock of the last full round */
    int64_t round_at_ms; /* wall clock of the newest round */
    uint64_t round_at;   /* the same by uv_now */
    uint64_t took_ms;    /* of the last round that ended */
    unsigned long long rounds;
    bool again; /* kicked while a round was under way */
    bool kept;  /* named by the set that is being taken */
};

struct ek_prober {
    uv_loop_t *loop;
    struct ek_client *client;
    int64_t (*now)(void);
    void (*observer)(void *ctx);
    void *ctx;
    struct ek_prober_options options;
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
    target->rounds++;
    target->took_ms = uv_now(prober->loop) - target->round_at;
    if (target->again) {
        target->again = false;
        start_round(target, true);
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
    return ek_probe_session_data(asked->target->session, asked->id, data, len);
}

static void on_answer(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct asked *asked = ctx;
    struct target *target = asked->target;

    asked->target = NULL;
    asked->call = NULL;
    ek_probe_session_answer(target->session, asked->id, resp, err);
    if (ek_probe_session_is_over(target->session))
        finish_round(target);
    else
        ask_more(target);
}

static void ask(struct target *target, struct asked *asked, const struct ek_probe_question *q)
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
    };
    asked->target = target;
    asked->id = q->id;
    asked->call = ek_client_send(target->prober->client, &request, on_answer, asked);
}

static void ask_more(struct target *target)
{
    struct ek_probe_question question;

    for (size_t i = 0; i < CALLS_MAX; i++) {
        if (target->asked[i].target)
            continue;
        if (!ek_probe_session_next(target->session, &question))
            return;
        ask(target, &target->asked[i], &question);
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
    if (strcmp(wanted->component, "kube-apiserver") != 0)
        target->tls_name = host_of(wanted->address);
    target->kept = true;
    uv_timer_init(prober->loop, &target->timer);
    target->timer.data = target;
    prober->n_open++;
    target->next = prober->targets;
    prober->targets = target;
    start_round(target, true);
}

struct ek_prober *ek_prober_new(uv_loop_t *loop, struct ek_client *client, int64_t (*now)(void),
                                void (*observer)(void *ctx), void *ctx)
{
    struct ek_prober *prober = ek_xalloc(sizeof *prober);

    prober->loop = loop;
    prober->client = client;
    prober->now = now;
    prober->observer = observer;
    prober->ctx = ctx;
    return prober;
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
        struct target *known = find(prober, &targets[i]);
        if (known)
            known->kept = true;
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
            t->again = true;
        else
            start_round(t, true);
    }
}

void ek_prober_close(struct ek_prober *prober, void (*on_closed)(void *ctx), void *ctx)
{
    if (!prober)
        return;
    prober->closing = true;
    prober->on_closed = on_closed;
    prober->closed_ctx = ctx;
    for (struct target *t = prober->targets; t; t = t->next)
        t->kept = false;
    if (prober->n_open == 0)
        free_prober(prober);
    else
        drop_unkept(prober);
}

bool ek_prober_is_settled(const struct ek_prober *prober)
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
