/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process of its own for a rehearsal, because a namespace of a user is for processes with one
 * thread alone (unshare.2), and commands run on a thread with a stack of its own
 * (api/base/stack.h).
 */
#ifndef CONTROLLER_REHEARSE_APART_H
#define CONTROLLER_REHEARSE_APART_H

#include <stdbool.h>

#include "api/base/err.h"

/*
 * Calls body(ctx) in a child process, which is killed with this one, waits, and sets *ret_code to
 * what body returned. SIGINT, SIGTERM and SIGHUP go on to the child, which holds these signals back
 * until ek_rehearse_apart_hold(false), so that body can set its handlers first. In this process,
 * they are held back afterwards as before. Returns 0, or EK_E_IO where no process can be made or
 * the child was killed. To be called once at a time.
 */
int ek_rehearse_apart(int (*body)(void *ctx), void *ctx, int *ret_code, struct ek_err *err);

/*
 * Inside body: moves on into a new process namespace, as its first process (pid_namespaces.7), so
 * that whatever is started later ends with this process, also what leaves its process group or its
 * session. Call with one thread. Returns 0 in the first process of the namespace, which holds
 * SIGINT, SIGTERM and SIGHUP back until ek_rehearse_apart_hold(false); the calling process does not
 * return but waits, passes these signals on, and ends as the first process ends. EK_E_FORBIDDEN
 * where the system permits no namespace: the process is where it was. EK_E_IO: it can go no
 * further.
 */
int ek_rehearse_apart_processes(struct ek_err *err);

/* Holds SIGINT, SIGTERM and SIGHUP back for the calling thread, or no longer. */
void ek_rehearse_apart_hold(bool hold);

#endif
