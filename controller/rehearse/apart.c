/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/rehearse/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/base/mem.h"

static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP};

static volatile sig_atomic_t child;

static void forward(int number)
{
    int saved = errno;

    if (child > 0)
        kill((pid_t)child, number);
    errno = saved;
}

/* Sets the handlers, and keeps what was there. A signal that is ignored stays so (nohup.1). */
static void set_handlers(struct sigaction before[EK_ARRAY_SIZE(forwarded)])
{
    struct sigaction action = {.sa_handler = forward, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < EK_ARRAY_SIZE(forwarded); i++) {
        sigaction(forwarded[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(forwarded[i], &action, NULL);
    }
}

static void reset_handlers(const struct sigaction before[EK_ARRAY_SIZE(forwarded)])
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(forwarded); i++)
        sigaction(forwarded[i], &before[i], NULL);
}

void ek_rehearse_apart_hold(bool hold)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < EK_ARRAY_SIZE(forwarded); i++)
        sigaddset(&set, forwarded[i]);
    sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/* Forks with the handlers set in the parent. Signals between are held, and reach the child. The
 * child goes on with held signals, and with the handlers of before. */
static pid_t fork_forwarding(struct sigaction before[EK_ARRAY_SIZE(forwarded)])
{
    pid_t pid;

    fflush(NULL);
    ek_rehearse_apart_hold(true);
    set_handlers(before);
    pid = fork();
    if (pid == 0) {
        reset_handlers(before);
        return 0;
    }
    int saved = errno;
    child = pid;
    ek_rehearse_apart_hold(false);
    errno = saved;
    return pid;
}

/* The status of the end of pid; -1 when there is no such process. */
static int wait_for(pid_t pid)
{
    int status = -1;

    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    child = 0;
    return status;
}

int ek_rehearse_apart(int (*body)(void *ctx), void *ctx, int *ret_code, struct ek_err *err)
{
    struct sigaction before[EK_ARRAY_SIZE(forwarded)];
    sigset_t mask;

    sigprocmask(SIG_BLOCK, NULL, &mask);
    pid_t parent = getpid(), pid = fork_forwarding(before);
    if (pid == 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
            _exit(1);
        int code = body(ctx);
        fflush(NULL);
        _exit(code);
    }
    int number = errno, status = wait_for(pid);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    reset_handlers(before);
    if (pid < 0)
        return ek_err_set(err, EK_E_IO, "fork: %s", strerror(number));
    if (!WIFEXITED(status))
        return ek_err_set(err, EK_E_IO, "the rehearsal was ended by signal %d", WTERMSIG(status));
    *ret_code = WEXITSTATUS(status);
    return 0;
}

/* ---- A process namespace ---- */

/* Waits for the first process of the namespace and the other children, and ends as that does. */
__attribute__((noreturn)) static void stand_in(pid_t first)
{
    int status = wait_for(first);

    while (wait(NULL) > 0 || errno == EINTR)
        ;
    if (WIFEXITED(status))
        _exit(WEXITSTATUS(status));
    signal(WTERMSIG(status), SIG_DFL);
    kill(getpid(), WTERMSIG(status));
    _exit(1);
}

/* The first process of a namespace does not see its parent (pid_namespaces.7): a pipe, whose other
 * end the parent alone has, says whether that has ended before the request was in place. */
static bool dies_with_parent(const int alive[2])
{
    struct pollfd end = {.fd = alive[0]};

    close(alive[1]);
    bool good = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && poll(&end, 1, 0) == 0;
    close(alive[0]);
    return good;
}

int ek_rehearse_apart_processes(struct ek_err *err)
{
    struct sigaction before[EK_ARRAY_SIZE(forwarded)];
    int alive[2];

    if (pipe2(alive, O_CLOEXEC) != 0)
        return ek_err_set(err, EK_E_IO, "a pipe: %s", strerror(errno));
    if (unshare(CLONE_NEWPID) != 0) {
        ek_err_set(err, EK_E_FORBIDDEN, "no process namespace: %s", strerror(errno));
        close(alive[0]);
        close(alive[1]);
        return EK_E_FORBIDDEN;
    }
    pid_t pid = fork_forwarding(before);
    if (pid == 0) {
        if (!dies_with_parent(alive))
            _exit(1);
        return 0;
    }
    if (pid < 0) {
        reset_handlers(before);
        close(alive[0]);
        close(alive[1]);
        return ek_err_set(err, EK_E_IO, "fork: %s", strerror(errno));
    }
    /* The pipe of the keeper (folder.h) belongs to the first process; alive[1] ends with this. */
    for (int fd = 3; fd < alive[1]; fd++)
        close(fd);
    close_range((unsigned)alive[1] + 1, ~0U, 0);
    stand_in(pid);
}
