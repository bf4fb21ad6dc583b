/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/election/election.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/election/lease.h"
#include "controller/manager/apply.h"
#include "controller/manager/uuid.h"
#include "informers/clock.h"

#define LEASE_BODY_MAX ((size_t)1 << 20)

struct ek_election {
    struct ek_election_fsm fsm;
    struct ek_client *client;
    struct ek_election_observer observer;
    void *ctx;
    char *name, *namespace;
    char *collection, *path; /* of the Lease */
    uv_timer_t timer;
    struct ek_call *call;  /* under way, NULL for none */
    bool reading;          /* call is a GET */
    struct ek_obj *lease;  /* as last seen: what an update is made of */
    struct ek_err failure; /* of the last request that failed */
    int64_t failure_ms;
    unsigned long long n_failures;
    bool stepping, closing;
    bool stop_wanted, stop_release;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

static struct ek_election_now now(void)
{
    return (struct ek_election_now){ek_boot_ms(), ek_wall_ms()};
}

const char *ek_election_identity(char buf[EK_ELECTION_NAME_SIZE])
{
    char host[128] = "", uuid[EK_UUID_SIZE];

    if (gethostname(host, sizeof host - 1))
        host[0] = '\0';
    snprintf(buf, EK_ELECTION_NAME_SIZE, "%s_%s", host, ek_uuid_make(uuid));
    return buf;
}

static void step(struct ek_election *e, const struct ek_election_event *event);

static void note_failure(struct ek_election *e, const struct ek_err *err)
{
    e->failure = *err;
    e->failure_ms = ek_boot_ms();
    e->n_failures++;
    if (e->observer.failed)
        e->observer.failed(e->ctx, err);
}

/* An answer becomes an event; whatever is no Lease is a failed request. */
static void on_answer(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct ek_election *e = ctx;
    struct ek_election_record record;
    struct ek_obj *lease = NULL;
    struct ek_err local = {0};
    bool reading = e->reading;

    e->call = NULL;
    if (err)
        local = *err;
    else if (ek_obj_parse(resp->body.p, resp->body.len, &lease, &local) == 0)
        ek_election_lease_read(lease, &record, &local);
    if (local.code) {
        ek_obj_unref(lease);
        bool absent = reading && local.code == EK_E_NOENT;
        ek_apply_explain(&local);
        ek_err_prefix(&local, "lease %s/%s", e->namespace, e->name);
        if (!absent)
            note_failure(e, &local);
        step(e, &(struct ek_election_event){.type = EK_ELECTION_FAILED, .code = local.code});
        return;
    }
    ek_obj_unref(e->lease);
    e->lease = lease;
    step(e, &(struct ek_election_event){.type = reading ? EK_ELECTION_GOT : EK_ELECTION_WRITTEN,
                                        .record = &record});
}

static void send_request(struct ek_election *e, const struct ek_election_action *action)
{
    size_t size = 0;
    bool create = action->type == EK_ELECTION_DO_CREATE;
    struct ek_request request = {
        .path = create ? e->collection : e->path,
        .timeout_ms = ek_election_request_timeout_ms(&e->fsm.settings),
        .max_body = LEASE_BODY_MAX,
        .no_retry = true,
        .user_agent_suffix = "leader-election",
        .fresh_connection = true,
    };
    EK_AUTOFREE char *body = NULL;

    e->reading = action->type == EK_ELECTION_DO_GET;
    if (!e->reading) {
        body = ek_election_lease_write(create ? NULL : e->lease, e->namespace, e->name,
                                       &action->record, &size);
        request.method = create ? "POST" : "PUT";
        request.content_type = "application/json";
        request.body = body ? body : "";
        request.body_size = size;
    }
    e->call = ek_client_send(e->client, &request, on_answer, e);
}

static void on_timer(uv_timer_t *timer)
{
    step(timer->data, &(struct ek_election_event){.type = EK_ELECTION_TIMER});
}

static void set_timer(struct ek_election *e, int64_t at_ms)
{
    if (at_ms < 0) {
        uv_timer_stop(&e->timer);
        return;
    }
    int64_t delay = at_ms - ek_boot_ms();
    uv_update_time(e->timer.loop);
    uv_timer_start(&e->timer, on_timer, delay > 0 ? (uint64_t)delay : 0, 0);
}

static void cancel(struct ek_election *e)
{
    ek_call_cancel(e->call);
    e->call = NULL;
}

static void perform(struct ek_election *e, const struct ek_election_action *action)
{
    const struct ek_election_observer *o = &e->observer;

    switch (action->type) {
    case EK_ELECTION_DO_GET:
    case EK_ELECTION_DO_CREATE:
    case EK_ELECTION_DO_UPDATE:
        send_request(e, action);
        return;
    case EK_ELECTION_DO_CANCEL:
        cancel(e);
        return;
    case EK_ELECTION_DO_SET_TIMER:
        set_timer(e, action->at_ms);
        return;
    case EK_ELECTION_DO_STARTED:
        if (o->started)
            o->started(e->ctx);
        return;
    case EK_ELECTION_DO_STOPPED:
        if (o->stopped)
            o->stopped(e->ctx, e->fsm.lost);
        return;
    case EK_ELECTION_DO_NEW_LEADER:
        if (o->new_leader)
            o->new_leader(e->ctx, action->record.holder);
        return;
    case EK_ELECTION_DO_SLOWPATH:
        if (o->slowpath)
            o->slowpath(e->ctx);
        return;
    case EK_ELECTION_DO_END:
        uv_timer_stop(&e->timer);
        return;
    default:
        return;
    }
}

static void step_once(struct ek_election *e, const struct ek_election_event *event)
{
    struct ek_election_actions actions;

    ek_election_fsm_step(&e->fsm, event, now(), &actions);
    for (size_t i = 0; i < actions.n && !e->closing; i++)
        perform(e, &actions.items[i]);
}

/* A callback may ask to stop or to close: both wait until the actions under way are done. */
static void step(struct ek_election *e, const struct ek_election_event *event)
{
    e->stepping = true;
    step_once(e, event);
    while (e->stop_wanted && !e->closing) {
        e->stop_wanted = false;
        step_once(
            e, &(struct ek_election_event){.type = EK_ELECTION_STOP, .release = e->stop_release});
    }
    e->stepping = false;
}

int ek_election_new(uv_loop_t *loop, const struct ek_election_config *config,
                    struct ek_election **ret_election, struct ek_err *err)
{
    int rc = ek_election_settings_check(&config->settings, err);
    if (rc)
        return rc;
    struct ek_election *e = ek_xalloc(sizeof *e);
    ek_election_fsm_init(&e->fsm, &config->settings);
    e->client = config->client;
    e->observer = config->observer;
    e->ctx = config->ctx;
    e->namespace = ek_xstrdup(config->namespace);
    e->name = ek_xstrdup(config->name);
    struct ek_buf path;
    ek_buf_init(&path, 2048);
    ek_buf_puts(&path, "/apis/coordination.k8s.io/v1/namespaces/");
    ek_uri_escape(&path, config->namespace);
    ek_buf_puts(&path, "/leases");
    e->collection = ek_xstrdup(ek_buf_str(&path));
    ek_buf_puts(&path, "/");
    ek_uri_escape(&path, config->name);
    e->path = ek_buf_steal(&path);
    uv_timer_init(loop, &e->timer);
    e->timer.data = e;
    *ret_election = e;
    return 0;
}

void ek_election_start(struct ek_election *election)
{
    step(election, &(struct ek_election_event){.type = EK_ELECTION_START});
}

static void on_stop_turn(uv_timer_t *timer)
{
    struct ek_election *e = timer->data;
    bool wanted = e->stop_wanted;

    e->stop_wanted = false;
    step(e, &(struct ek_election_event){.type = wanted ? EK_ELECTION_STOP : EK_ELECTION_TIMER,
                                        .release = e->stop_release});
}

void ek_election_stop(struct ek_election *election, bool release)
{
    election->stop_wanted = true;
    election->stop_release = release;
    if (!election->stepping)
        uv_timer_start(&election->timer, on_stop_turn, 0, 0);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct ek_election *e = handle->data;
    void (*on_closed)(void *ctx) = e->on_closed;
    void *ctx = e->closed_ctx;

    ek_obj_unref(e->lease);
    ek_free(e->name);
    ek_free(e->namespace);
    ek_free(e->collection);
    ek_free(e->path);
    ek_free(e);
    if (on_closed)
        on_closed(ctx);
}

void ek_election_close(struct ek_election *election, void (*on_closed)(void *ctx), void *ctx)
{
    if (!election)
        return;
    cancel(election);
    election->closing = true;
    election->on_closed = on_closed;
    election->closed_ctx = ctx;
    uv_close((uv_handle_t *)&election->timer, on_timer_closed);
}

bool ek_election_leads(const struct ek_election *election)
{
    return ek_election_fsm_leads(&election->fsm, ek_boot_ms());
}

void ek_election_status(const struct ek_election *election, struct ek_election_status *ret_status)
{
    *ret_status = (struct ek_election_status){.machine = &election->fsm,
                                              .namespace = election->namespace,
                                              .name = election->name,
                                              .failure = &election->failure,
                                              .failure_ms = election->failure_ms,
                                              .n_failures = election->n_failures};
}

int ek_election_check(const struct ek_election *election, int64_t tolerance_ms, struct ek_err *err)
{
    if (ek_election_fsm_healthy(&election->fsm, ek_boot_ms(), tolerance_ms))
        return 0;
    return ek_err_set(err, EK_E_TIMEOUT, "lease %s/%s is held but was not renewed in time",
                      election->namespace, election->name);
}
