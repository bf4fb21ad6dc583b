/* SPDX-License-Identifier: Apache-2.0 */
/* ek-demo: a control plane, and Evenkeel watching it, without a cluster. */
#include <execinfo.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "controller/cli/flags.h"
#include "test/demo/acts.h"

#define PAUSE_MS   2500
#define STOP_MS    60000 /* more than the grace period of a replica, which reports what hangs */
#define STUCK_S    300   /* more than all that follows the last act may take */
#define HELP_MAX   ((size_t)64 * 1024)
#define FRAMES_MAX 64

struct options {
    bool fast, keep, patient, no_color;
    int64_t port;
    const char *program, *crd;
};

#define AT(member) .offset = offsetof(struct options, member)

static const struct ek_flag flags[] = {
    {.name = "fast", .type = EK_FLAG_BOOL, AT(fast), .help = "No pauses for reading"},
    {.name = "keep",
     .type = EK_FLAG_BOOL,
     AT(keep),
     .help = "Stay up after the last act, until Ctrl-C"},
    {.name = "patient",
     .type = EK_FLAG_BOOL,
     AT(patient),
     .help = "Longer timeouts, for a machine that is busy"},
    {.name = "port",
     .type = EK_FLAG_INT,
     AT(port),
     .initial = "0",
     .help = "`port` of the API servers at 127.0.0.11, .12 and .13; 0 finds a free one"},
    {.name = "no-color", .type = EK_FLAG_BOOL, AT(no_color), .help = "No colors on the terminal"},
    {.name = "evenkeel",
     .type = EK_FLAG_STRING,
     AT(program),
     .initial = EK_DEMO_EVENKEEL,
     .help = "`path` of the program to run"},
    {.name = "crd",
     .type = EK_FLAG_STRING,
     AT(crd),
     .initial = EK_DEMO_CRD,
     .help = "`path` of the definition of ControlPlane"},
};

static const struct ek_flag_group group = {"Flags", flags, EK_ARRAY_SIZE(flags)};
static const struct ek_flag_group *const groups[] = {&group};
static const struct ek_command command = {
    .name = "",
    .usage = "",
    .summary = "Shows Evenkeel at work on a small control plane that exists in this process only: "
               "three API servers of different versions, two replicas, ten acts in a minute.\n\n"
               "Exit code 0 when everything happened as it should, 1 otherwise.",
    .groups = groups,
    .n_groups = EK_ARRAY_SIZE(groups),
};
/* How long everything may take. */
static const struct timing {
    const char *probe_timeout;
    struct ek_replica_times election;
    int64_t deadline_ms;
} usual = {"3s", {"5s", "4s", "500ms"}, 60000}, patient = {"20s", {"15s", "10s", "1s"}, 180000};

static const struct ek_program program = {.name = "ek-demo", .commands = &command, .n_commands = 1};

/* --- reports of the loop ------------------------------------------------------------------ */

static void on_tick(void *ctx)
{
    struct ek_show *show = ctx;
    size_t i = 0;

    if (show->failed || ek_replicas_tend(&show->replicas, &i))
        return;
    show->failed = EK_E_IO;
    ek_screen_say(&show->screen, EK_SCREEN_FAILURE,
                  "replica %zu ended again and again: see its log", i + 1);
}

static void on_status(void *ctx, const struct ek_obj *control_plane)
{
    struct ek_show *show = ctx;
    ek_screen_status(&show->screen, control_plane);
}

static void signal_replicas(struct ek_show *show, int signal)
{
    for (size_t i = 0; i < EK_REPLICAS; i++)
        ek_replicas_signal(&show->replicas, i, signal);
}

static void on_killed(void *ctx)
{
    signal_replicas(ctx, SIGKILL);
}

/* --- the run ------------------------------------------------------------------------------ */

static bool are_gone(void *ctx)
{
    const struct ek_show *show = ctx;
    return ek_replicas_are_gone(&show->replicas);
}

/* True for a replica that has stopped in order, or was stopped before it could handle signals. */
static bool is_in_order(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGTERM;
}

static int check_ends(struct ek_show *show)
{
    int rc = 0;

    for (size_t i = 0; i < EK_REPLICAS; i++) {
        int status = show->replicas.items[i].status;
        if (is_in_order(status))
            continue;
        ek_screen_say(&show->screen, EK_SCREEN_FAILURE, "replica %zu did not stop in order: %s %d",
                      i + 1, WIFEXITED(status) ? "exit code" : "signal",
                      WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
        rc = EK_E_IO;
    }
    return rc;
}

/* The API servers stay up meanwhile: the leader gives its Lease back. */
static int stop_replicas(struct ek_show *show)
{
    ek_stage_ignore_signal(show->stage);
    show->failed = 0; /* ends are to be noticed */
    for (size_t i = 0; i < EK_REPLICAS; i++)
        show->replicas.items[i].status = 0; /* what has ended before was no stop */
    signal_replicas(show, SIGTERM);
    if (ek_stage_wait(show->stage, are_gone, show, STOP_MS)) {
        signal_replicas(show, SIGKILL);
        ek_stage_wait(show->stage, are_gone, show, STOP_MS);
    }
    return check_ends(show);
}

static void invite(struct ek_show *show)
{
    ek_screen_say(&show->screen, EK_SCREEN_NOTE,
                  "Three API servers run in this process, on 127.0.0.11 to 127.0.0.13. To look for "
                  "yourself:\n\n    export KUBECONFIG=%s\n    kubectl get ekcp -w",
                  ek_stage_kubeconfig(show->stage));
}

static int finish(struct ek_show *show, bool keep)
{
    int64_t ms = ek_show_now() - show->screen.began_ms;
    int rc = 0;

    ek_screen_say(&show->screen, EK_SCREEN_NOTE,
                  "\nAll is well after %lld.%lld s:", (long long)ms / 1000,
                  (long long)ms / 100 % 10);
    ek_screen_summary(&show->screen, ek_stage_control_plane(show->stage));
    if (!keep)
        return 0;
    ek_screen_say(&show->screen, EK_SCREEN_NOTE, "\nIt stays up until Ctrl-C. KUBECONFIG=%s",
                  ek_stage_kubeconfig(show->stage));
    while (!rc && !show->failed)
        rc = ek_stage_wait(show->stage, NULL, NULL, 1000);
    return show->failed;
}

/* Plays on a stage that is open. */
static int perform(struct ek_show *show, const struct options *options)
{
    const struct timing *timing = options->patient ? &patient : &usual;
    struct ek_err err = {0};

    show->deadline_ms = timing->deadline_ms;
    int rc = ek_replicas_init(&show->replicas, options->program,
                              ek_stage_replica_kubeconfig(show->stage),
                              ek_stage_folder(show->stage), &timing->election, &err);
    if (!rc)
        rc = ek_stage_set(show->stage, options->crd, timing->probe_timeout, &err);
    if (rc) {
        ek_screen_say(&show->screen, EK_SCREEN_FAILURE, "%s", err.message);
        return rc;
    }
    invite(show);
    rc = ek_show_play(show);
    if (!rc)
        rc = finish(show, options->keep);
    alarm(STUCK_S);
    int stopped = stop_replicas(show);
    return rc ? rc : stopped;
}

/* The demo does not come back from a callback of its loop. */
__attribute__((noreturn)) static void on_stuck(int signum)
{
    void *frames[FRAMES_MAX];

    (void)signum;
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES_MAX), STDERR_FILENO);
    _exit(EXIT_FAILURE);
}

static int run(const struct options *options)
{
    struct ek_show show = {.pause_ms = options->fast ? 0 : PAUSE_MS};
    struct ek_stage_hooks hooks = {on_tick, on_status, on_killed, &show};
    bool color = !options->no_color && !getenv("NO_COLOR") && isatty(STDOUT_FILENO);
    struct ek_err err = {0};

    signal(SIGALRM, on_stuck);
    ek_screen_init(&show.screen, stdout, color, ek_show_now());
    int rc = ek_stage_open((uint16_t)options->port, &hooks, &show.stage, &err);
    if (rc) {
        ek_screen_say(&show.screen, EK_SCREEN_FAILURE, "%s", err.message);
        return EXIT_FAILURE;
    }
    rc = perform(&show, options);
    bool keep_files = rc && rc != EK_E_CANCELED && !access(show.replicas.items[0].log, R_OK);
    if (keep_files)
        ek_screen_say(&show.screen, EK_SCREEN_FAILURE, "The logs are in %s",
                      ek_stage_folder(show.stage));
    else if (rc == EK_E_CANCELED)
        ek_screen_say(&show.screen, EK_SCREEN_NOTE, "\nStopped.");
    bool closed = ek_stage_close(show.stage, keep_files);
    ek_screen_done(&show.screen);
    return rc || !closed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int complain(const struct ek_err *err)
{
    fprintf(stderr, "ek-demo: %s\n", err->message);
    return EXIT_FAILURE;
}

static int help(void)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, HELP_MAX);
    ek_flags_help(&program, &command, 80, &text);
    fputs(ek_buf_str(&text), stdout);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct options options;
    struct ek_flags_result result = {0};
    struct ek_err err = {0};
    int code;

    if (ek_flags_parse(&command, argc - 1, argv + 1, &options, &result, &err))
        code = complain(&err);
    else if (result.help)
        code = help();
    else if (options.port < 0 || options.port > UINT16_MAX)
        code = (ek_err_set(&err, EK_E_INVAL, "--port: between 0 and 65535"), complain(&err));
    else
        code = run(&options);
    ek_flags_done(&command, &options, &result);
    return code;
}
