/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/commands/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/base/time.h"
#include "controller/cli/print.h"
#include "controller/commands/record.h"
#include "informers/client/kubeconfig.h"
#include "informers/clock.h"

#define PAUSE_MS 5

struct many;

/* The reading of a live cluster: watch until everything was seen, or the time is up. */
struct live {
    struct many *many;
    struct ek_live_job *job;
    uv_timer_t deadline;
    uv_timer_t pause; /* from a change to the look at it */
    struct ek_client *client;
    struct ek_skew_watch *watch;
    struct ek_record *record; /* NULL: none is written */
    bool ended;
};

/* The readings of all clusters, on one loop. */
struct many {
    uv_loop_t loop;
    struct live *lives;
    size_t n, next, running, at_once;
    struct ek_strings warned;
};

static void start_more(struct many *many);

/* Informers must be gone before their client goes; the next cluster takes the place. */
static void on_client_closed(void *ctx)
{
    struct live *live = ctx;

    live->many->running--;
    start_more(live->many);
}

static void on_stopped(void *ctx)
{
    struct live *live = ctx;
    ek_client_close(live->client, on_client_closed, live);
}

static void end(struct live *live)
{
    if (live->ended)
        return;
    live->ended = true;
    uv_close((uv_handle_t *)&live->deadline, NULL);
    uv_close((uv_handle_t *)&live->pause, NULL);
    ek_skew_watch_close(live->watch, on_stopped, live);
    ek_record_close(live->record);
    live->record = NULL;
}

static void note_instance(void *ctx, const struct ek_prober_state *state)
{
    ek_record_instance(ctx, state->component, state->address, state->probe);
}

/* The recording has what the last look was taken at. */
static void write_record(struct live *live, const struct ek_skew_snapshot *snapshot)
{
    if (!live->record || live->job->err.code)
        return;
    ek_prober_each(ek_skew_watch_prober(live->watch), note_instance, live->record);
    ek_record_write(live->record, snapshot, &live->job->err);
}

/* Takes a look, the last one when may_end is true and it names nothing new, or when it names
 * nothing at all: then no answer comes that would cause another look. */
static void take_look(struct live *live, bool may_end, bool must_end)
{
    struct ek_skew_snapshot snapshot;

    ek_skew_watch_snapshot(live->watch, &snapshot);
    live->job->look(live->job->ctx, &snapshot.view, live->watch);
    may_end |= ek_prober_size(ek_skew_watch_prober(live->watch)) == 0;
    bool last = must_end || (may_end && ek_skew_watch_is_probed(live->watch));
    if (last)
        write_record(live, &snapshot);
    ek_skew_snapshot_done(&snapshot);
    if (last)
        end(live);
}

static void on_deadline(uv_timer_t *timer)
{
    struct live *live = timer->data;
    const char *failure = ek_watchset_failure(ek_skew_watch_set(live->watch));

    /* What was seen so far is worth more than nothing, unless nothing was. */
    if (!ek_watchset_is_synced(ek_skew_watch_set(live->watch)))
        ek_err_set(&live->job->err, EK_E_TIMEOUT, "%s: %s", ek_client_server(live->client),
                   failure ? failure : "the cluster did not answer in time (see --timeout)");
    take_look(live, true, true);
}

static void on_pause_end(uv_timer_t *timer)
{
    struct live *live = timer->data;
    const char *failure = ek_watchset_failure(ek_skew_watch_set(live->watch));

    if (failure) {
        ek_err_set(&live->job->err, EK_E_NET, "%s: %s", ek_client_server(live->client), failure);
        end(live);
        return;
    }
    if (!ek_watchset_is_synced(ek_skew_watch_set(live->watch)))
        return;
    /* The first look finds the targets; certificates must not add targets, so once all have
     * answered the next look is the last. */
    take_look(live, ek_skew_watch_is_probed(live->watch), false);
}

/* A list of nodes is one change for each of them: one look serves all. */
static void on_change(void *ctx)
{
    struct live *live = ctx;

    if (!live->ended && !uv_is_active((uv_handle_t *)&live->pause))
        uv_timer_start(&live->pause, on_pause_end, PAUSE_MS, 0);
}

/* Contexts of one kubeconfig have most of their warnings in common. */
static void warn_config(struct many *many, const struct ek_client_config *config)
{
    for (size_t i = 0; i < config->warnings.n; i++) {
        bool is_new = true;
        for (size_t k = 0; k < many->warned.n && is_new; k++)
            is_new = strcmp(many->warned.items[k], config->warnings.items[i]) != 0;
        if (!is_new)
            continue;
        ek_print_stderr("evenkeel: ", "warning: %s", config->warnings.items[i]);
        ek_strings_add(&many->warned, config->warnings.items[i]);
    }
}

static int make_client(struct live *live, struct ek_probe_account *account)
{
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = NULL;
    const struct ek_live_options *options = live->job->options;
    const char *path = *options->cluster.kubeconfig ? options->cluster.kubeconfig : NULL;
    const char *context = *options->cluster.context ? options->cluster.context : NULL;
    struct ek_err *err = &live->job->err;

    int rc = ek_kubeconfig_load(path, context, NULL, &config, err);
    if (!rc)
        rc = ek_probe_account_parse(options->probe_account, NULL, account, err);
    if (!rc && options->record && *options->record)
        rc = ek_record_open(options->record, &live->record, err);
    if (rc)
        return rc;
    warn_config(live->many, config);
    return ek_client_new(&live->many->loop, config, ek_user_agent(), &live->client, err);
}

static int start(struct live *live)
{
    struct ek_probe_account account;
    uv_loop_t *loop = &live->many->loop;
    int64_t documents_ms = live->job->options->documents_only ? 1 : 0;
    int rc = make_client(live, &account);

    if (rc) {
        ek_record_close(live->record);
        live->record = NULL;
        return rc;
    }
    live->watch =
        ek_skew_watch_new(&(struct ek_skew_watch_config){.loop = loop,
                                                         .client = live->client,
                                                         .account = &account,
                                                         .now = ek_wall_ms,
                                                         .documents_ms = documents_ms,
                                                         .flagz = live->job->options->flagz,
                                                         .changed = on_change,
                                                         .ctx = live});
    if (live->record)
        ek_prober_set_tap(ek_skew_watch_prober(live->watch), ek_record_tap(live->record));
    uv_timer_init(loop, &live->pause);
    live->pause.data = live;
    uv_timer_init(loop, &live->deadline);
    live->deadline.data = live;
    uv_update_time(loop);
    uv_timer_start(&live->deadline, on_deadline, (uint64_t)live->job->options->timeout_ms, 0);
    ek_skew_watch_start(live->watch);
    return 0;
}

static void start_more(struct many *many)
{
    while (many->running < many->at_once && many->next < many->n) {
        struct live *live = &many->lives[many->next++];
        many->running++;
        if (start(live))
            many->running--;
    }
}

void ek_live_read_all(struct ek_live_job *jobs, size_t n, size_t at_once)
{
    struct many many = {.n = n, .at_once = at_once};

    many.lives = ek_xalloc((n + 1) * sizeof *many.lives);
    for (size_t i = 0; i < n; i++) {
        jobs[i].err = (struct ek_err){0};
        many.lives[i].many = &many;
        many.lives[i].job = &jobs[i];
    }
    uv_loop_init(&many.loop);
    start_more(&many);
    uv_run(&many.loop, UV_RUN_DEFAULT);
    uv_loop_close(&many.loop);
    ek_strings_done(&many.warned);
    ek_free(many.lives);
}

static int record_recording(const struct ek_live_options *options, struct ek_recording *recording,
                            ek_live_look_fn look, void *ctx, struct ek_err *err)
{
    struct ek_record *record = NULL;
    struct ek_skew_snapshot snapshot;
    int rc = 0;

    if (options->record && *options->record) {
        rc = ek_record_open(options->record, &record, err);
        if (rc)
            return rc;
        ek_recording_set_tap(recording, ek_record_tap(record));
    }
    ek_skew_snapshot_from_recording(recording, &snapshot);
    look(ctx, &snapshot.view, NULL);
    for (size_t i = 0; record && i < snapshot.n_probes; i++)
        ek_record_instance(record, ek_recording_component(recording, i), snapshot.probes[i].address,
                           snapshot.probes[i].probe);
    if (record)
        rc = ek_record_write(record, &snapshot, err);
    ek_skew_snapshot_done(&snapshot);
    ek_record_close(record);
    return rc;
}

static int read_recording(const struct ek_live_options *options, ek_live_look_fn look, void *ctx,
                          struct ek_err *err)
{
    struct ek_recording *recording = NULL;
    int rc = ek_recording_open(options->recording, &recording, err);

    if (!rc)
        rc = record_recording(options, recording, look, ctx, err);
    ek_recording_close(recording);
    return rc;
}

static int read_cluster(const struct ek_live_options *options, ek_live_look_fn look, void *ctx,
                        struct ek_err *err)
{
    struct ek_live_job job = {.options = options, .look = look, .ctx = ctx};

    ek_live_read_all(&job, 1, 1);
    if (job.err.code)
        *err = job.err;
    return job.err.code;
}

int ek_live_read(const struct ek_live_options *options, ek_live_look_fn look, void *ctx,
                 struct ek_err *err)
{
    return *options->recording ? read_recording(options, look, ctx, err)
                               : read_cluster(options, look, ctx, err);
}

int ek_live_timeout_check(const char *value, struct ek_err *err)
{
    int64_t ms;

    /* The parser reports a text that is no duration. */
    if (ek_duration_parse(value, &ms) != 0 || ms > 0)
        return 0;
    return ek_err_set(err, EK_E_INVAL, "%s is not above zero", value);
}

int ek_live_folder_check(const char *value, struct ek_err *err)
{
    return *value ? 0 : ek_err_set(err, EK_E_INVAL, "the folder's name is empty");
}
