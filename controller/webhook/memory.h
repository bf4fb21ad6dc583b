/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the memory for admission requests is divided, and what a request takes of it.
 *
 * By default the webhook has half of the container's memory; the other half is for the program, its
 * caches, other listeners and the kernel's socket buffers. Half of the webhook's memory is for work
 * (parsed requests, evaluations), shared by all threads; the other half is for connections, an
 * equal part for each thread (controller/http/budget.h says why). A thread's part holds the largest
 * body that is accepted; where the memory is too little for that on every thread, there are fewer
 * threads.
 *
 * Pure, but for ek_webhook_memory_default.
 */
#ifndef CONTROLLER_WEBHOOK_MEMORY_H
#define CONTROLLER_WEBHOOK_MEMORY_H

#include "api/base/buf.h"
#include "api/base/err.h"

/* API servers send objects of up to 3 MiB, an update both the old and the new one. */
#define EK_WEBHOOK_BODY_MAX ((size_t)10 << 20)

/* Less is refused: one thread, and the largest body. */
#define EK_WEBHOOK_MEMORY_MIN ((size_t)32 << 20)

/* Without a limit of the container. */
#define EK_WEBHOOK_MEMORY_DEFAULT ((size_t)128 << 20)

struct ek_webhook_memory {
    unsigned threads;   /* at least 1, at most the requested number */
    size_t work;        /* bytes for work */
    size_t connections; /* bytes for the connections of one thread */
    size_t arena;       /* the most that one evaluation may take of work */
};

/* Divides total bytes (0: the default) among at most that many threads. */
void ek_webhook_memory_plan(size_t total, unsigned threads, struct ek_webhook_memory *ret);

/* Bytes of work that a request with that body takes, at most: its document has a value for each
 * comma, colon and bracket, and policies copy parts of it. */
size_t ek_webhook_memory_of(struct ek_str body);

/* Reads a number of bytes, "134217728" or with Ki, Mi or Gi. EK_E_INVAL otherwise, or below the
 * minimum. */
int ek_webhook_memory_parse(const char *text, size_t *ret_bytes, struct ek_err *err);

/* Half of the limit of the container's cgroup (version 2 or 1) below root ("/sys/fs/cgroup"),
 * within EK_WEBHOOK_MEMORY_MIN and 1 GiB; the default without a limit. */
size_t ek_webhook_memory_default(const char *root);

#endif
