/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a running controller tells about itself when somebody asks: the state of every informer and
 * how it came to it, the queues and their last runs, the election, what each probe target answered,
 * what the webhook answers by, the parts of the manager, the process, and the log level, which can
 * be changed.
 *
 * It is for a person with a sick controller, or a support case; metrics are for machines, and the
 * verdict about the cluster is in the ControlPlane's status. Nothing secret is in it: names,
 * addresses, times, numbers and error texts, never a body, a header or a credential.
 *
 * Model. A request is one line, "TOPIC" or "log-level LEVEL"; the answer is one JSON object. A
 * topic is a member of the object; "all" gives every member. "time" is always there, and every
 * time in the object is a wall-clock time (MicroTime): those that are kept by other clocks are
 * converted at the moment of asking. Where the answer is an error the object has only the member
 * "error". Lists are bounded; how many there are in truth is told beside them.
 *
 * Ownership: everything in the configuration is borrowed. Threading: the loop thread.
 */
#ifndef CONTROLLER_DEBUG_H
#define CONTROLLER_DEBUG_H

#include "api/buf.h"
#include "controller/debug_loop.h"
#include "controller/election.h"
#include "controller/log.h"
#include "controller/manager.h"
#include "controller/registry.h"
#include "controller/webhook.h"
#include "controller/webhook_certs.h"
#include "informers/prober.h"

/* Members of one list at most. */
#define EK_DEBUG_LIST_MAX 256

/* The largest answer. */
#define EK_DEBUG_ANSWER_MAX ((size_t)8 << 20)

/* The longest request line, its line feed included. */
#define EK_DEBUG_REQUEST_MAX 256

/* One moment by the three clocks that times are kept by, in milliseconds. */
struct ek_debug_now {
    int64_t wall_ms; /* since the epoch */
    int64_t mono_ms; /* CLOCK_MONOTONIC, which is also uv_now's and the runner's */
    int64_t boot_ms; /* CLOCK_BOOTTIME: the election's */
};

/* Reads the clocks. */
struct ek_debug_now ek_debug_clock(void);

/* What can be told; a part that is NULL is left out of the answer. */
struct ek_debug {
    const char *version;
    const char *identity; /* of this replica */
    const char *server;   /* the configured API server */
    int64_t started_ms;   /* CLOCK_MONOTONIC */
    struct ek_log *log;
    const struct ek_registry *registry; /* whose informers and runners are told */
    const struct ek_prober *prober;
    struct ek_webhook *webhook;
    const struct ek_webhook_certs *certs; /* of the webhook */
    const struct ek_election *election;   /* NULL: no election, everybody may write */
    const struct ek_manager *manager;
    const struct ek_debug_loop *loop;
    bool (*may_write)(void *ctx);
    void *ctx; /* of may_write */
};

/* Who asks; for the log record of a change. */
struct ek_debug_peer {
    unsigned uid;
    int pid;
};

/*
 * Answers the request in the first len bytes of line (without the line feed): appends one JSON
 * object and a line feed to out. What cannot be answered is an object with "error". peer may be
 * NULL.
 */
void ek_debug_answer(const struct ek_debug *debug, const char *line, size_t len,
                     const struct ek_debug_now *now, const struct ek_debug_peer *peer,
                     struct ek_buf *out);

#endif
