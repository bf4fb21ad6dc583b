/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel check`: the skew reconciler's verdict once, from a cluster or from a recording. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "api/time.h"
#include "controller/check_report.h"
#include "controller/commands.h"
#include "controller/print.h"
#include "controller/skew_watch.h"
#include "informers/kubeconfig.h"
#include "reconcilers/skew/policy.h"

#define ARENA_MAX ((size_t)256 << 20)
#define PAUSE_MS  5

struct options {
    struct ek_cluster_options cluster;
    struct ek_print_options print;
    const char *from;
    const char *next_version;
    int64_t timeout_ms;
};

/* The checking of a live cluster: watch until everything was seen, or the time is up. */
struct live {
    uv_loop_t loop;
    uv_timer_t deadline;
    uv_timer_t pause; /* from a change to the look at it */
    struct ek_client *client;
    struct ek_skew_watch *watch;
    struct ek_obj *result; /* the verdict, a reference */
    const struct options *options;
    int exit_code;
    bool ended, failed;
    struct ek_err err;
};

static int64_t wall_clock(void)
{
    struct timeval tv;
    gettimeofday(&tv, NULL);
    return (int64_t)tv.tv_sec * 1000 + tv.tv_usec / 1000;
}

/* The ControlPlane as the cluster would show it: what the user wrote, and the new status. */
static struct ek_obj *make_object(const struct ek_skew_view *view, const struct ek_skew_plan *plan)
{
    yyjson_mut_doc *doc = plan->doc;
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_val *spec =
        view->control_plane ? yyjson_obj_get(ek_obj_root(view->control_plane), "spec") : NULL;

    yyjson_mut_obj_add_str(doc, root, "apiVersion", "evenkeel.dev/v1alpha1");
    yyjson_mut_obj_add_str(doc, root, "kind", "ControlPlane");
    yyjson_mut_val *metadata = yyjson_mut_obj_add_obj(doc, root, "metadata");
    yyjson_mut_obj_add_str(doc, metadata, "name", "cluster");
    if (spec)
        yyjson_mut_obj_add_val(doc, root, "spec", yyjson_val_mut_copy(doc, spec));
    yyjson_mut_obj_add_val(doc, root, "status", plan->status);
    return ek_obj_from_mut(root);
}

/* A ControlPlane with spec.nextVersion set to what --next-version says. */
static struct ek_obj *with_next_version(const struct ek_obj *control_plane, const char *version)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root =
        control_plane ? yyjson_val_mut_copy(doc, ek_obj_root(control_plane)) : yyjson_mut_obj(doc);
    yyjson_mut_val *spec = yyjson_mut_obj_get(root, "spec");

    if (!spec)
        spec = yyjson_mut_obj_add_obj(doc, root, "spec");
    yyjson_mut_obj_remove_key(spec, "nextVersion");
    yyjson_mut_obj_add_str(doc, spec, "nextVersion", version);
    struct ek_obj *obj = ek_obj_from_mut(root);
    yyjson_mut_doc_free(doc);
    return obj;
}

/* Judges a view, and lets watch (NULL for a recording) ask whom the plan says to ask. */
static struct ek_obj *judge(const struct options *options, struct ek_skew_view *view,
                            struct ek_skew_watch *watch, int *ret_exit_code)
{
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    EK_AUTOPTR(ek_obj, ek_obj_unref) *changed = NULL;
    struct ek_skew_plan plan;

    if (*options->next_version) {
        changed = with_next_version(view->control_plane, options->next_version);
        view->control_plane = changed;
    }
    ek_skew_plan_make(view, arena, &plan);
    if (watch)
        ek_skew_watch_set_targets(watch, &plan, false);
    struct ek_obj *object = make_object(view, &plan);
    *ret_exit_code = plan.exit_code;
    ek_skew_plan_done(&plan);
    ek_arena_free(arena);
    return object;
}

static int print_report(const struct options *options, const struct ek_obj *object)
{
    return ek_print(&options->print, ek_obj_root(object), ek_check_report, NULL);
}

static int check_recording(const struct options *options)
{
    struct ek_recording *recording = NULL;
    struct ek_skew_snapshot snapshot;
    struct ek_err err = {0};
    int exit_code;

    if (ek_recording_open(options->from, &recording, &err)) {
        ek_complain(&err);
        return EK_EXIT_FAILED;
    }
    ek_skew_snapshot_from_recording(recording, &snapshot);
    struct ek_obj *object = judge(options, &snapshot.view, NULL, &exit_code);
    if (print_report(options, object) != EK_EXIT_OK)
        exit_code = EK_EXIT_FAILED;
    ek_obj_unref(object);
    ek_skew_snapshot_done(&snapshot);
    ek_recording_close(recording);
    return exit_code;
}

/* Informers must be gone before their client goes. */
static void on_stopped(void *ctx)
{
    struct live *live = ctx;
    ek_client_close(live->client, NULL, NULL);
}

static void end(struct live *live)
{
    if (live->ended)
        return;
    live->ended = true;
    uv_close((uv_handle_t *)&live->deadline, NULL);
    uv_close((uv_handle_t *)&live->pause, NULL);
    ek_skew_watch_close(live->watch, on_stopped, live);
}

static void look(struct live *live)
{
    struct ek_skew_snapshot snapshot;

    ek_skew_watch_snapshot(live->watch, &snapshot);
    ek_obj_unref(live->result);
    live->result = judge(live->options, &snapshot.view, live->watch, &live->exit_code);
    ek_skew_snapshot_done(&snapshot);
}

static void on_deadline(uv_timer_t *timer)
{
    struct live *live = timer->data;
    const char *failure = ek_skew_watch_failure(live->watch);

    /* What was seen so far is worth more than nothing, unless nothing was. */
    if (!ek_skew_watch_is_settled(live->watch)) {
        live->failed = true;
        ek_err_set(&live->err, EK_E_TIMEOUT, "%s: %s", ek_client_server(live->client),
                   failure ? failure : "the cluster did not answer in time (see --timeout)");
    }
    look(live);
    end(live);
}

static void on_pause_end(uv_timer_t *timer)
{
    struct live *live = timer->data;
    const char *failure = ek_skew_watch_failure(live->watch);

    if (failure) {
        live->failed = true;
        ek_err_set(&live->err, EK_E_NET, "%s: %s", ek_client_server(live->client), failure);
        end(live);
        return;
    }
    if (!ek_skew_watch_is_settled(live->watch))
        return;
    /* The first look says whom to ask; what the certificates tell may add nobody, so once all
     * have answered the next look is the last. */
    bool last = ek_skew_watch_is_probed(live->watch);
    look(live);
    if (last && ek_skew_watch_is_probed(live->watch))
        end(live);
}

/* A list of nodes is one change for each of them: one look serves all. */
static void on_change(void *ctx)
{
    struct live *live = ctx;

    if (!live->ended && !uv_is_active((uv_handle_t *)&live->pause))
        uv_timer_start(&live->pause, on_pause_end, PAUSE_MS, 0);
}

static void warn_config(const struct ek_client_config *config)
{
    for (size_t i = 0; i < config->warnings.n; i++)
        fprintf(stderr, "evenkeel: warning: %s\n", config->warnings.items[i]);
}

static int start(struct live *live, const struct options *options)
{
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = NULL;
    const char *path = *options->cluster.kubeconfig ? options->cluster.kubeconfig : NULL;
    const char *context = *options->cluster.context ? options->cluster.context : NULL;

    int rc = ek_kubeconfig_load(path, context, NULL, &config, &live->err);
    if (rc)
        return rc;
    warn_config(config);
    rc = ek_client_new(&live->loop, config, ek_user_agent(), &live->client, &live->err);
    if (rc)
        return rc;
    live->options = options;
    live->watch = ek_skew_watch_new(&live->loop, live->client, wall_clock, on_change, live);
    uv_timer_init(&live->loop, &live->pause);
    live->pause.data = live;
    uv_timer_init(&live->loop, &live->deadline);
    live->deadline.data = live;
    uv_timer_start(&live->deadline, on_deadline, (uint64_t)options->timeout_ms, 0);
    ek_skew_watch_start(live->watch);
    return 0;
}

static int check_cluster(const struct options *options)
{
    struct live live = {.exit_code = EK_EXIT_FAILED};

    uv_loop_init(&live.loop);
    live.failed = start(&live, options) != 0;
    uv_run(&live.loop, UV_RUN_DEFAULT);
    uv_loop_close(&live.loop);
    if (live.failed) {
        ek_complain(&live.err);
        live.exit_code = EK_EXIT_FAILED;
    } else if (print_report(options, live.result) != EK_EXIT_OK) {
        live.exit_code = EK_EXIT_FAILED;
    }
    ek_obj_unref(live.result);
    return live.exit_code;
}

static int check(void *options, char **args, int n_args)
{
    const struct options *o = options;

    (void)args;
    (void)n_args;
    return *o->from ? check_recording(o) : check_cluster(o);
}

static int check_version(const char *value, struct ek_err *err)
{
    if (ek_policy_usable(ek_minor_parse(value)).known)
        return 0;
    return ek_err_set(err, EK_E_INVAL, "%s is not a version such as \"1.37\"", value);
}

static int check_positive(const char *value, struct ek_err *err)
{
    int64_t ms;

    /* What is no duration at all is told by the parser. */
    if (ek_duration_parse(value, &ms) != 0 || ms > 0)
        return 0;
    return ek_err_set(err, EK_E_INVAL, "%s is not above zero", value);
}

static int check_folder(const char *value, struct ek_err *err)
{
    return *value ? 0 : ek_err_set(err, EK_E_INVAL, "the folder's name is empty");
}

static const struct ek_flag flags[] = {
    EK_CLUSTER_FLAGS(struct options, cluster),
    EK_PRINT_FLAGS(struct options, print),
    {.name = "from",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct options, from),
     .help = "Read a recording in `DIR` instead of a cluster",
     .check = check_folder},
    {.name = "next-version",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct options, next_version),
     .help = "Judge NextVersionSafe for this `version` (\"1.37\") instead of spec.nextVersion",
     .check = check_version},
    {.name = "timeout",
     .type = EK_FLAG_DURATION,
     .offset = offsetof(struct options, timeout_ms),
     .initial = "30s",
     .help = "How long to wait for answers",
     .check = check_positive},
};
static const struct ek_flag_group group = {"Flags", flags, EK_ARRAY_SIZE(flags)};
static const struct ek_flag_group *const groups[] = {&group};

static int run_check(void *unused, int argc, char **argv)
{
    struct options options = {0};
    (void)unused;
    return ek_command_run(&ek_check_command, argc, argv, &options, check);
}

const struct ek_command ek_check_command = {
    .name = "check",
    .usage = "",
    .summary = "Judge the version skew of a control plane once and print a report",
    .text = "Asks every API server of the cluster, one by one, finds the other components and "
            "judges what they run by the compatibility-version skew rules (KEP-4330). Nothing is "
            "written to the cluster.\n\n"
            "Exit codes: 0 supported, 2 violations, 3 no violation but something could not be "
            "judged, 1 the check could not be made.",
    .groups = groups,
    .n_groups = EK_ARRAY_SIZE(groups),
    .max_args = 0,
    .run = run_check,
};
