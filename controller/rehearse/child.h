/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server under rehearsal as a child process: it leads a process group, is killed with the
 * process that started it (PR_SET_PDEATHSIG), has an environment of its own, and writes into a
 * bounded log. Threading: the thread that starts it lives as long as the process; one loop.
 */
#ifndef CONTROLLER_REHEARSE_CHILD_H
#define CONTROLLER_REHEARSE_CHILD_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#include "api/base/err.h"
#include "reconcilers/rehearse/log.h"

struct ek_rehearse_child {
    pid_t pid; /* 0 while none was started */
    bool running;
    int status; /* of waitpid, once it does not run */
    uv_pipe_t out;
    bool out_open;
    struct ek_rehearse_log log;
    char chunk[16384];
};

/* Starts argv (ends at NULL, argv[0] is the path) in folder. child is zeroed or was ended before,
 * and stays where it is until ek_rehearse_child_end. Errors: EK_E_IO with the reason. */
int ek_rehearse_child_start(struct ek_rehearse_child *child, uv_loop_t *loop,
                            const char *const *argv, const char *folder, struct ek_err *err);

/* Notes whether the process still runs; returns that. */
bool ek_rehearse_child_runs(struct ek_rehearse_child *child);

/* Kills the process group, and closes the log's pipe, which the loop has to finish
 * (child->out_open). Without a process: nothing. */
void ek_rehearse_child_end(struct ek_rehearse_child *child);

#endif
