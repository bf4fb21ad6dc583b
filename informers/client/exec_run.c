/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of a credential plugin as a child process.
 *
 * It ends when the process has exited and its standard output is at its end, or by the deadline,
 * the output limit or a close, which kill the plugin's whole process group. The struct lives until
 * all its handles are closed and its owner has closed it.
 */
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "api/base/buf.h"
#include "api/base/line.h"
#include "informers/client/exec_credential.h"

struct ek_exec_run {
    const struct ek_client_config *config;
    uv_process_t process;
    uv_pipe_t out, err_out;
    uv_timer_t deadline;
    struct ek_buf stdout_text, stderr_text;
    char chunk[8192];
    ek_exec_fn fn; /* NULL once called or closed */
    void *ctx;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
    unsigned n_handles; /* not yet closed */
    bool exited, out_ended, killed, timed_out, closed;
    bool io_closing;
    int64_t exit_status;
    int signal;
};

static void maybe_free(struct ek_exec_run *run)
{
    if (run->n_handles || !run->closed)
        return;
    if (run->stdout_text.data)
        explicit_bzero(run->stdout_text.data, run->stdout_text.len);
    ek_buf_done(&run->stdout_text);
    ek_buf_done(&run->stderr_text);
    if (run->on_closed)
        run->on_closed(run->closed_ctx);
    ek_free(run);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct ek_exec_run *run = handle->data;
    run->n_handles--;
    maybe_free(run);
}

static void close_io(struct ek_exec_run *run)
{
    if (run->io_closing)
        return;
    run->io_closing = true;
    uv_close((uv_handle_t *)&run->out, on_handle_closed);
    uv_close((uv_handle_t *)&run->err_out, on_handle_closed);
    uv_close((uv_handle_t *)&run->deadline, on_handle_closed);
}

static void kill_plugin(struct ek_exec_run *run)
{
    if (run->killed || run->exited)
        return;
    run->killed = true;
    /* The plugin leads a process group of its own; its child processes end with it. */
    if (uv_kill(-run->process.pid, SIGKILL))
        uv_process_kill(&run->process, SIGKILL);
}

static int judge_exit(struct ek_exec_run *run, struct ek_err *err)
{
    char words[320];
    ek_line_copy(ek_buf_str(&run->stderr_text), run->stderr_text.len, words, sizeof words);
    const char *colon = *words ? ": " : "";

    if (run->timed_out)
        return ek_err_set(err, EK_E_TIMEOUT, "it did not finish in time%s%s", colon, words);
    if (run->stdout_text.failed)
        return ek_err_set(err, EK_E_LIMIT, "it printed more than %zu bytes", EK_EXEC_OUTPUT_MAX);
    if (run->signal)
        return ek_err_set(err, EK_E_UNAUTHORIZED, "it was ended by signal %d%s%s", run->signal,
                          colon, words);
    if (run->exit_status)
        return ek_err_set(err, EK_E_UNAUTHORIZED, "it failed with exit code %d%s%s",
                          (int)run->exit_status, colon, words);
    return 0;
}

static void report(struct ek_exec_run *run, const struct ek_exec_credential *credential,
                   struct ek_err *err)
{
    ek_exec_fn fn = run->fn;

    run->fn = NULL;
    close_io(run);
    if (err) {
        ek_err_prefix(err, "credential plugin %s", run->config->exec->command);
        ek_line_clean(err->message);
    }
    if (fn)
        fn(run->ctx, credential, err);
}

static void maybe_finish(struct ek_exec_run *run)
{
    EK_AUTO(ek_exec_credential) credential = {0};
    struct ek_err err = {0};

    if (!run->fn || !run->exited || !(run->out_ended || run->killed))
        return;
    int rc = judge_exit(run, &err);
    if (!rc)
        rc = ek_exec_credential_parse(ek_buf_str(&run->stdout_text), run->stdout_text.len,
                                      run->config->exec->api_version, &credential, &err);
    report(run, rc ? NULL : &credential, rc ? &err : NULL);
}

static void on_exit_status(uv_process_t *process, int64_t exit_status, int term_signal)
{
    struct ek_exec_run *run = process->data;

    run->exited = true;
    run->exit_status = exit_status;
    run->signal = term_signal;
    uv_close((uv_handle_t *)process, on_handle_closed);
    maybe_finish(run);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct ek_exec_run *run = handle->data;
    (void)suggested;
    *buf = uv_buf_init(run->chunk, sizeof run->chunk);
}

static void on_stdout(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct ek_exec_run *run = stream->data;

    if (n > 0 && ek_buf_append(&run->stdout_text, buf->base, (size_t)n))
        kill_plugin(run);
    if (n < 0) {
        uv_read_stop(stream);
        run->out_ended = true;
    }
    maybe_finish(run);
}

static void on_stderr(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct ek_exec_run *run = stream->data;
    size_t room = EK_EXEC_STDERR_MAX - run->stderr_text.len;

    if (n > 0)
        ek_buf_append(&run->stderr_text, buf->base, (size_t)n < room ? (size_t)n : room);
    if (n < 0)
        uv_read_stop(stream);
}

static void on_deadline(uv_timer_t *timer)
{
    struct ek_exec_run *run = timer->data;

    run->timed_out = true;
    kill_plugin(run);
    run->out_ended = true; /* a child that kept the pipe open does not hold us up */
    maybe_finish(run);
}

/* The plugin's environment: ours, then the kubeconfig's, then the protocol's variable. */
static char **make_env(const struct ek_client_config *config, const char *ca_pem)
{
    struct ek_strings list = {NULL, 0};
    const struct ek_name_values *extra = &config->exec->env;
    EK_AUTOFREE char *info = ek_exec_info_format(config, ca_pem);

    for (char **p = environ; p && *p; p++) {
        size_t name_len = strcspn(*p, "=");
        bool replaced = !strncmp(*p, "KUBERNETES_EXEC_INFO=", 21);
        for (size_t i = 0; i < extra->n && !replaced; i++)
            replaced = strlen(extra->items[i].name) == name_len &&
                       !strncmp(*p, extra->items[i].name, name_len);
        if (!replaced)
            ek_strings_add(&list, *p);
    }
    for (size_t i = 0; i < extra->n; i++) {
        EK_AUTOFREE char *line = ek_xasprintf("%s=%s", extra->items[i].name, extra->items[i].value);
        ek_strings_add(&list, line);
    }
    EK_AUTOFREE char *line = ek_xasprintf("KUBERNETES_EXEC_INFO=%s", info);
    ek_strings_add(&list, line);
    ek_strings_add(&list, NULL);
    return list.items;
}

static void free_env(char **env)
{
    for (char **p = env; *p; p++)
        ek_secret_free(*p);
    ek_free(env);
}

static int spawn(uv_loop_t *loop, struct ek_exec_run *run, const char *ca_pem)
{
    const struct ek_exec_config *exec = run->config->exec;
    const char **args = ek_xrealloc(NULL, exec->args.n + 2, sizeof *args);
    char **env = make_env(run->config, ca_pem);
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_IGNORE},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&run->out},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&run->err_out},
    };

    args[0] = exec->command;
    for (size_t i = 0; i < exec->args.n; i++)
        args[i + 1] = exec->args.items[i];
    args[exec->args.n + 1] = NULL;
    uv_process_options_t options = {
        .exit_cb = on_exit_status,
        .file = exec->command,
        .args = (char **)(void *)args,
        .env = env,
        .flags = UV_PROCESS_DETACHED,
        .stdio_count = 3,
        .stdio = stdio,
    };
    int rc = uv_spawn(loop, &run->process, &options);
    free_env(env);
    ek_free(args);
    return rc;
}

/* A plugin that could not be started is reported from the loop like any other outcome. */
static void on_not_started(uv_timer_t *timer)
{
    struct ek_exec_run *run = timer->data;
    const char *hint = run->config->exec->install_hint;
    struct ek_err err;

    if (run->exit_status == UV_ENOENT)
        ek_err_set(&err, EK_E_UNAUTHORIZED, "the command was not found%s%.400s",
                   hint ? ": " : "; install it or correct exec.command in the kubeconfig",
                   hint ? hint : "");
    else
        ek_err_set(&err, EK_E_UNAUTHORIZED, "cannot start it: %s",
                   uv_strerror((int)run->exit_status));
    report(run, NULL, &err);
}

struct ek_exec_run *ek_exec_run_start(uv_loop_t *loop, const struct ek_client_config *config,
                                      const char *ca_pem, int64_t deadline_ms, ek_exec_fn fn,
                                      void *ctx)
{
    struct ek_exec_run *run = ek_xalloc(sizeof *run);

    run->config = config;
    run->fn = fn;
    run->ctx = ctx;
    ek_buf_init(&run->stdout_text, EK_EXEC_OUTPUT_MAX);
    ek_buf_init(&run->stderr_text, EK_EXEC_STDERR_MAX);
    uv_pipe_init(loop, &run->out, 0);
    uv_pipe_init(loop, &run->err_out, 0);
    uv_timer_init(loop, &run->deadline);
    run->out.data = run->err_out.data = run->deadline.data = run->process.data = run;
    run->n_handles = 4;
    int rc = spawn(loop, run, ca_pem);
    if (rc) {
        if (uv_is_active((uv_handle_t *)&run->process)) /* running, but without its pipes */
            kill_plugin(run);
        run->exited = true;
        run->exit_status = rc;
        uv_close((uv_handle_t *)&run->process, on_handle_closed);
        uv_timer_start(&run->deadline, on_not_started, 0, 0);
        return run;
    }
    uv_read_start((uv_stream_t *)&run->out, on_alloc, on_stdout);
    uv_read_start((uv_stream_t *)&run->err_out, on_alloc, on_stderr);
    uv_timer_start(&run->deadline, on_deadline, (uint64_t)deadline_ms, 0);
    return run;
}

void ek_exec_run_close(struct ek_exec_run *run, void (*on_closed)(void *ctx), void *ctx)
{
    run->fn = NULL;
    run->closed = true;
    run->on_closed = on_closed;
    run->closed_ctx = ctx;
    kill_plugin(run);
    close_io(run);
    maybe_free(run);
}
