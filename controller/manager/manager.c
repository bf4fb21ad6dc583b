/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/manager/manager.h"

#include <stdio.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/mem.h"

/* How often a group that is not ready is looked at (client-go's cache sync poll). */
#define READY_POLL_MS 100

static const enum ek_manager_group stop_order[EK_GROUP_MAX] = {
    EK_GROUP_OTHERS, EK_GROUP_LEADER, EK_GROUP_CACHES, EK_GROUP_WEBHOOKS, EK_GROUP_HTTP};

struct part {
    struct ek_runnable runnable;
    struct ek_manager *manager;
    bool started, stopping, stopped;
    struct part *next;
};

struct ek_manager {
    struct ek_manager_config config;
    struct part *parts; /* in order of addition */
    struct part **tail;
    enum ek_manager_phase phase;
    enum ek_manager_group group; /* STARTING: the one being started */
    bool group_started;
    int64_t group_since;
    size_t stop_index; /* STOPPING: into stop_order */
    int64_t stop_since;
    bool stop_wanted, stop_now;
    bool election_started, elected, election_ended;
    bool failed, abrupt;
    struct ek_err error;
    void (*wake)(void *ctx);
    void *wake_ctx;
};

const char *ek_manager_phase_name(enum ek_manager_phase phase)
{
    static const char *const names[] = {
#define X(name, text) text,
        EK_MANAGER_PHASES(X)
#undef X
    };
    return (unsigned)phase < EK_MANAGER_PHASE_MAX ? names[phase] : "?";
}

struct ek_manager *ek_manager_new(const struct ek_manager_config *config)
{
    struct ek_manager *m = ek_xalloc(sizeof *m);

    m->config = *config;
    if (m->config.sync_limit_ms == 0)
        m->config.sync_limit_ms = EK_MANAGER_SYNC_LIMIT_MS;
    if (m->config.grace_ms == 0)
        m->config.grace_ms = EK_MANAGER_GRACE_MS;
    m->tail = &m->parts;
    return m;
}

void ek_manager_free(struct ek_manager *manager)
{
    if (!manager)
        return;
    while (manager->parts) {
        struct part *next = manager->parts->next;
        ek_free(manager->parts);
        manager->parts = next;
    }
    ek_free(manager);
}

void ek_manager_set_wake(struct ek_manager *manager, void (*wake)(void *ctx), void *ctx)
{
    manager->wake = wake;
    manager->wake_ctx = ctx;
}

static void wake(const struct ek_manager *m)
{
    if (m->wake)
        m->wake(m->wake_ctx);
}

int ek_manager_add(struct ek_manager *manager, const struct ek_runnable *runnable)
{
    if (manager->phase != EK_MANAGER_NEW || (unsigned)runnable->group >= EK_GROUP_MAX)
        return EK_E_INVAL;
    struct part *p = ek_xalloc(sizeof *p);
    p->runnable = *runnable;
    p->manager = manager;
    *manager->tail = p;
    manager->tail = &p->next;
    return 0;
}

static void enter(struct ek_manager *m, enum ek_manager_phase phase)
{
    m->phase = phase;
    if (m->config.on_phase)
        m->config.on_phase(m->config.ctx, phase);
}

static void keep_error(struct ek_manager *m, const struct ek_err *err)
{
    if (m->failed)
        return;
    m->failed = true;
    m->error = *err;
}

static void finish(struct ek_manager *m, bool abrupt)
{
    m->abrupt = abrupt;
    enter(m, EK_MANAGER_FINISHED);
}

static bool part_ready(const struct part *p)
{
    return p->started && (!p->runnable.ready || p->runnable.ready(p->runnable.ctx));
}

/* Appends the names of the parts of a group that are not ready (or not stopped). */
static void name_waiting(const struct ek_manager *m, enum ek_manager_group group, bool stopping,
                         struct ek_buf *out)
{
    for (const struct part *p = m->parts; p; p = p->next) {
        bool waiting = stopping ? p->started && !p->stopped : !part_ready(p);
        if (p->runnable.group == group && waiting)
            ek_buf_printf(out, "%s%s", out->len ? ", " : "", p->runnable.name);
    }
}

static bool group_ready(const struct ek_manager *m, enum ek_manager_group group)
{
    for (const struct part *p = m->parts; p; p = p->next)
        if (p->runnable.group == group && !part_ready(p))
            return false;
    return true;
}

int ek_manager_check_ready(const struct ek_manager *manager, struct ek_err *err)
{
    if (manager->phase == EK_MANAGER_NEW)
        return ek_err_set(err, EK_E_TIMEOUT, "not started yet");
    if (group_ready(manager, EK_GROUP_CACHES))
        return 0;
    EK_AUTO(ek_buf) names;
    ek_buf_init(&names, 512);
    name_waiting(manager, EK_GROUP_CACHES, false, &names);
    return ek_err_set(err, EK_E_TIMEOUT, "not synced: %s", ek_buf_str(&names));
}

/* Starts the parts of the group; stops at the first that fails. */
static void start_group(struct ek_manager *m, int64_t now_ms)
{
    m->group_started = true;
    m->group_since = now_ms;
    for (struct part *p = m->parts; p && !m->stop_wanted; p = p->next) {
        struct ek_err err = {0};
        if (p->runnable.group != m->group)
            continue;
        int rc = p->runnable.start(p->runnable.ctx, &err);
        if (rc == 0) {
            p->started = true;
            continue;
        }
        if (!err.code)
            ek_err_set(&err, rc, "%s", ek_strerror(rc));
        ek_manager_fail(m, p->runnable.name, &err);
    }
}

static int64_t wait_ready(struct ek_manager *m, int64_t now_ms)
{
    int64_t limit = m->group_since + m->config.sync_limit_ms;
    struct ek_err err = {0};

    if (now_ms < limit)
        return now_ms + READY_POLL_MS < limit ? now_ms + READY_POLL_MS : limit;
    EK_AUTO(ek_buf) names;
    ek_buf_init(&names, 512);
    name_waiting(m, m->group, false, &names);
    ek_err_set(&err, EK_E_TIMEOUT, "not ready after %lld s: %s",
               (long long)(m->config.sync_limit_ms / 1000), ek_buf_str(&names));
    keep_error(m, &err);
    m->stop_wanted = true;
    return now_ms;
}

static int64_t step_starting(struct ek_manager *m, int64_t now_ms)
{
    if (!m->group_started) {
        start_group(m, now_ms);
        return now_ms;
    }
    if (!group_ready(m, m->group))
        return wait_ready(m, now_ms);
    m->group_started = false;
    if (m->group == EK_GROUP_LEADER) {
        enter(m, EK_MANAGER_RUNNING);
        return -1;
    }
    m->group++;
    if (m->group < EK_GROUP_LEADER || !m->config.election.start)
        return now_ms;
    enter(m, EK_MANAGER_ELECTING);
    m->election_started = true;
    m->config.election.start(m->config.election.ctx);
    return now_ms;
}

static int64_t step_electing(struct ek_manager *m, int64_t now_ms)
{
    if (!m->elected)
        return -1;
    enter(m, EK_MANAGER_STARTING);
    return now_ms;
}

static void on_part_stopped(void *token)
{
    struct part *p = token;
    p->stopped = true;
    wake(p->manager);
}

static void stop_part(struct part *p)
{
    if (!p->started || p->stopping)
        return;
    p->stopping = true;
    if (p->runnable.stop)
        p->runnable.stop(p->runnable.ctx, on_part_stopped, p);
    else
        p->stopped = true;
}

/* Requests the stop of all of a group; true when they have stopped. */
static bool group_stopped(struct ek_manager *m, enum ek_manager_group group)
{
    bool all = true;
    for (struct part *p = m->parts; p; p = p->next)
        if (p->runnable.group == group)
            stop_part(p);
    for (struct part *p = m->parts; p; p = p->next)
        if (p->runnable.group == group && p->started && !p->stopped)
            all = false;
    return all;
}

static void out_of_grace(struct ek_manager *m)
{
    struct ek_err err = {0};
    EK_AUTO(ek_buf) names;

    ek_buf_init(&names, 512);
    name_waiting(m, stop_order[m->stop_index], true, &names);
    ek_err_set(&err, EK_E_TIMEOUT, "still running after the grace period of %lld s: %s",
               (long long)(m->config.grace_ms / 1000), ek_buf_str(&names));
    keep_error(m, &err);
    finish(m, true);
}

static int64_t step_stopping(struct ek_manager *m, int64_t now_ms)
{
    while (m->stop_index < EK_GROUP_MAX) {
        if (!group_stopped(m, stop_order[m->stop_index])) {
            int64_t limit = m->stop_since + m->config.grace_ms;
            if (now_ms < limit)
                return limit;
            out_of_grace(m);
            return -1;
        }
        m->stop_index++;
    }
    if (!m->election_started || m->election_ended) {
        finish(m, false);
        return -1;
    }
    enter(m, EK_MANAGER_RELEASING);
    m->config.election.stop(m->config.election.ctx, m->config.election.release_on_cancel);
    return now_ms;
}

/* The phases in which work may be going on that needs the lease. */
static bool lost_matters(const struct ek_manager *m)
{
    return m->phase != EK_MANAGER_RELEASING && m->phase != EK_MANAGER_FINISHED;
}

static int64_t step_once(struct ek_manager *m, int64_t now_ms)
{
    if (m->stop_now) {
        finish(m, true);
        return -1;
    }
    if (m->stop_wanted && m->phase < EK_MANAGER_STOPPING) {
        m->stop_since = now_ms;
        enter(m, EK_MANAGER_STOPPING);
    }
    switch (m->phase) {
    case EK_MANAGER_NEW:
        enter(m, EK_MANAGER_STARTING);
        return now_ms;
    case EK_MANAGER_STARTING:
        return step_starting(m, now_ms);
    case EK_MANAGER_ELECTING:
        return step_electing(m, now_ms);
    case EK_MANAGER_STOPPING:
        return step_stopping(m, now_ms);
    case EK_MANAGER_RELEASING:
        if (m->election_ended)
            finish(m, false);
        return -1;
    default:
        return -1;
    }
}

int64_t ek_manager_step(struct ek_manager *manager, int64_t now_ms)
{
    int64_t next = now_ms;
    while (next == now_ms && manager->phase != EK_MANAGER_FINISHED)
        next = step_once(manager, now_ms);
    return manager->phase == EK_MANAGER_FINISHED ? -1 : next;
}

void ek_manager_stop(struct ek_manager *manager)
{
    if (manager->stop_wanted) {
        struct ek_err err = {0};
        ek_err_set(&err, EK_E_CANCELED, "stopped without waiting");
        keep_error(manager, &err);
        manager->stop_now = true;
    }
    manager->stop_wanted = true;
    wake(manager);
}

void ek_manager_fail(struct ek_manager *manager, const char *name, const struct ek_err *err)
{
    struct ek_err copy = *err;

    ek_err_prefix(&copy, "%s", name);
    keep_error(manager, &copy);
    manager->stop_wanted = true;
    wake(manager);
}

void ek_manager_elected(struct ek_manager *manager)
{
    manager->elected = true;
    wake(manager);
}

void ek_manager_election_ended(struct ek_manager *manager, bool lost)
{
    manager->election_ended = true;
    if (lost && lost_matters(manager)) {
        struct ek_err err = {0};
        ek_err_set(&err, EK_E_CANCELED, "leader election lost");
        keep_error(manager, &err);
        manager->stop_now = true;
    }
    wake(manager);
}

enum ek_manager_phase ek_manager_phase(const struct ek_manager *manager)
{
    return manager->phase;
}

int ek_manager_exit_code(const struct ek_manager *manager)
{
    return manager->failed || manager->phase != EK_MANAGER_FINISHED ? 1 : 0;
}

const struct ek_err *ek_manager_error(const struct ek_manager *manager)
{
    return manager->failed ? &manager->error : NULL;
}

bool ek_manager_is_abrupt(const struct ek_manager *manager)
{
    return manager->abrupt;
}

const char *ek_manager_group_name(enum ek_manager_group group)
{
    static const char *const names[EK_GROUP_MAX] = {
        [EK_GROUP_HTTP] = "http",     [EK_GROUP_WEBHOOKS] = "webhooks",
        [EK_GROUP_CACHES] = "caches", [EK_GROUP_OTHERS] = "others",
        [EK_GROUP_LEADER] = "leader",
    };
    return (unsigned)group < EK_GROUP_MAX ? names[group] : "?";
}

void ek_manager_each(const struct ek_manager *manager,
                     void (*fn)(void *ctx, const struct ek_manager_part *part), void *ctx)
{
    for (const struct part *p = manager->parts; p; p = p->next)
        fn(ctx, &(struct ek_manager_part){.name = p->runnable.name,
                                          .group = p->runnable.group,
                                          .started = p->started,
                                          .ready = part_ready(p),
                                          .stopping = p->stopping,
                                          .stopped = p->stopped});
}
