/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/rehearse/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/base/mem.h"
#include "informers/client/kubeconfig.h"

/* ---- In the child, between fork and exec ---- */

struct start {
    char *const *argv;
    const char *folder;
    char *const *env;
    int out, failed; /* the log; where the number of an error goes */
    pid_t parent;
};

/* Calls only what is safe after fork in a process with threads (signal-safety.7). */
__attribute__((noreturn)) static void become(const struct start *s)
{
    const struct rlimit no_core = {0, 0};
    sigset_t none;

    sigemptyset(&none);
    setpgid(0, 0);
    int null = open("/dev/null", O_RDONLY);
    bool good = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == s->parent && null >= 0 &&
                dup2(null, 0) == 0 && dup2(s->out, 1) == 1 && dup2(s->out, 2) == 2 &&
                chdir(s->folder) == 0 && setrlimit(RLIMIT_CORE, &no_core) == 0;
    for (int i = 1; good && i < NSIG; i++)
        signal(i, SIG_DFL);
    good = good && sigprocmask(SIG_SETMASK, &none, NULL) == 0;
    if (good) {
        close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
        execve(s->argv[0], s->argv, s->env);
    }
    int number = errno;
    _exit(write(s->failed, &number, sizeof number) == sizeof number ? 127 : 126);
}

/* ---- In the parent ---- */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct ek_rehearse_child *child = handle->data;

    (void)suggested;
    *buf = uv_buf_init(child->chunk, sizeof child->chunk);
}

static void on_closed(uv_handle_t *handle)
{
    struct ek_rehearse_child *child = handle->data;

    child->out_open = false;
}

static void close_out(struct ek_rehearse_child *child)
{
    if (child->out_open && !uv_is_closing((uv_handle_t *)&child->out))
        uv_close((uv_handle_t *)&child->out, on_closed);
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct ek_rehearse_child *child = stream->data;

    if (n > 0)
        ek_rehearse_log_feed(&child->log, buf->base, (size_t)n);
    if (n < 0) {
        ek_rehearse_log_end(&child->log);
        close_out(child);
    }
}

/* The number of the error of the child; 0 when the program runs. */
static int read_error(int end)
{
    int number = 0;
    ssize_t n;

    do
        n = read(end, &number, sizeof number);
    while (n < 0 && errno == EINTR);
    close(end);
    return n == sizeof number ? number : 0;
}

static int spawn(struct ek_rehearse_child *child, const struct start *s, int error_end)
{
    sigset_t all, mask;

    fflush(NULL);
    /* A handler of libuv in the child would write to the pipes of the parent's loop, and hold its
     * lock (libuv: src/unix/signal.c: uv__signal_handler). */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    pid_t pid = fork();
    if (pid == 0)
        become(s);
    int number = errno;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(s->out);
    close(s->failed);
    if (pid < 0) {
        close(error_end);
        return number;
    }
    setpgid(pid, pid); /* both sides, so that neither is late */
    number = read_error(error_end);
    if (number)
        waitpid(pid, NULL, 0);
    else
        child->pid = pid;
    child->running = !number;
    return number;
}

/* As execve takes arguments; owned. */
static struct ek_strings copy_args(const char *const *argv)
{
    struct ek_strings copy = {NULL, 0};

    for (; *argv; argv++)
        ek_strings_add(&copy, *argv);
    ek_strings_add(&copy, NULL);
    return copy;
}

int ek_rehearse_child_start(struct ek_rehearse_child *child, uv_loop_t *loop,
                            const char *const *argv, const char *folder, struct ek_err *err)
{
    EK_AUTOFREE char *home = ek_xasprintf("HOME=%s", folder);
    EK_AUTOFREE char *temporary = ek_xasprintf("TMPDIR=%s", folder);
    char path[] = "PATH=/usr/bin:/bin";
    char *const env[] = {path, home, temporary, NULL};
    int out[2], failed[2];

    *child = (struct ek_rehearse_child){0};
    if (pipe2(out, O_CLOEXEC) != 0)
        return ek_err_set(err, EK_E_IO, "a pipe: %s", strerror(errno));
    if (pipe2(failed, O_CLOEXEC) != 0) {
        close(out[0]);
        close(out[1]);
        return ek_err_set(err, EK_E_IO, "a pipe: %s", strerror(errno));
    }
    struct ek_strings args = copy_args(argv);
    int number = spawn(child, &(struct start){args.items, folder, env, out[1], failed[1], getpid()},
                       failed[0]);
    ek_strings_done(&args);
    if (number) {
        close(out[0]);
        return ek_err_set(err, EK_E_IO, "%s: %s", argv[0], strerror(number));
    }
    uv_pipe_init(loop, &child->out, 0);
    child->out.data = child;
    child->out_open = true;
    uv_pipe_open(&child->out, out[0]);
    uv_read_start((uv_stream_t *)&child->out, on_alloc, on_output);
    return 0;
}

bool ek_rehearse_child_runs(struct ek_rehearse_child *child)
{
    if (child->running && waitpid(child->pid, &child->status, WNOHANG) == child->pid)
        child->running = false;
    return child->running;
}

void ek_rehearse_child_end(struct ek_rehearse_child *child)
{
    if (child->pid) { /* a leader that has ended may have left others of its group */
        kill(-child->pid, SIGKILL);
        while (child->running && waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
            ;
    }
    child->running = false;
    child->pid = 0;
    close_out(child);
}
