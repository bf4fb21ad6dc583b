/* SPDX-License-Identifier: Apache-2.0 */
#include "test/demo/replicas.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "informers/client/file.h"
#include "test/demo/stage.h"

#define CRASHES_MAX 5
#define LOG_MAX     ((size_t)16 << 20)

int ek_replicas_init(struct ek_replicas *replicas, const char *program, const char *kubeconfig,
                     const char *folder, const struct ek_replica_times *times, struct ek_err *err)
{
    *replicas = (struct ek_replicas){.program = program, .kubeconfig = kubeconfig, .times = *times};
    if (access(program, X_OK))
        return ek_err_set(err, EK_E_NOENT, "%s: %m; build it, or say --evenkeel PATH", program);
    for (size_t i = 0; i < EK_REPLICAS; i++)
        snprintf(replicas->items[i].log, sizeof replicas->items[i].log, "%s/replica-%zu.log",
                 folder, i + 1);
    return 0;
}

/* In the child: becomes evenkeel. A group of its own, because a terminal's Ctrl-C is for the demo,
 * which ends the replicas in order; and a death that follows the demo's. */
__attribute__((noreturn)) static void become(const struct ek_replicas *replicas, const char *log,
                                             pid_t parent, const sigset_t *mask)
{
    const char *const args[] = {
        replicas->program,
        "run",
        "--kubeconfig",
        replicas->kubeconfig,
        "--leader-elect",
        "--leader-election-namespace",
        EK_STAGE_NAMESPACE,
        "--leader-election-id",
        EK_STAGE_LEASE,
        "--leader-election-lease-duration",
        replicas->times.lease_duration,
        "--leader-election-renew-deadline",
        replicas->times.renew_deadline,
        "--leader-election-retry-period",
        replicas->times.retry_period,
        "--health-probe-bind-address=0",
        "--metrics-bind-address=0",
        NULL,
    };
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    setpgid(0, 0);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent || in < 0 || out < 0)
        _exit(127);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execv(replicas->program, (char *const *)(uintptr_t)args);
    dprintf(STDERR_FILENO, "%s: %m\n", replicas->program);
    _exit(127);
}

int ek_replicas_start(struct ek_replicas *replicas, size_t i, struct ek_err *err)
{
    struct ek_replica *replica = &replicas->items[i];
    pid_t parent = getpid();
    sigset_t all, mask;

    replica->wanted = true;
    if (replica->pid)
        return 0;
    /* A handler of libuv in the child would write to the pipes of the parent's loop, and hold its
     * lock: no signal is handled between fork and exec, as in uv_spawn. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    pid_t pid = fork();
    if (pid == 0)
        become(replicas, replica->log, parent, &mask);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    if (pid < 0)
        return ek_err_set(err, EK_E_IO, "starting %s: %m", replicas->program);
    replica->pid = pid;
    return 0;
}

void ek_replicas_signal(struct ek_replicas *replicas, size_t i, int signal)
{
    struct ek_replica *replica = &replicas->items[i];

    replica->wanted = false;
    if (replica->pid)
        kill(replica->pid, signal);
}

bool ek_replicas_tend(struct ek_replicas *replicas, size_t *ret_i)
{
    for (size_t i = 0; i < EK_REPLICAS; i++) {
        struct ek_replica *replica = &replicas->items[i];
        pid_t got = replica->pid ? waitpid(replica->pid, &replica->status, WNOHANG) : 0;
        if (got == 0 || (got < 0 && errno == EINTR))
            continue;
        replica->pid = 0;
        if (!replica->wanted)
            continue;
        *ret_i = i;
        if (++replica->n_crashes > CRASHES_MAX || ek_replicas_start(replicas, i, NULL))
            return false;
    }
    return true;
}

bool ek_replicas_are_gone(const struct ek_replicas *replicas)
{
    for (size_t i = 0; i < EK_REPLICAS; i++)
        if (replicas->items[i].pid)
            return false;
    return true;
}

size_t ek_replicas_find(const struct ek_replicas *replicas, const char *identity)
{
    EK_AUTOFREE char *words = ek_xasprintf("\"identity\":\"%s\"", identity);
    size_t found = EK_REPLICAS;

    for (size_t i = 0; i < EK_REPLICAS && found == EK_REPLICAS; i++) {
        char *text = NULL;
        if (!ek_file_read(replicas->items[i].log, LOG_MAX, &text, NULL, NULL) &&
            strstr(text, words))
            found = i;
        ek_free(text);
    }
    return found;
}
