/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of a running controller about itself: the state of every informer and
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
 * converted at the time of the request. Where the answer is an error the object has only the member
 * "error". Lists are bounded; their full length is reported beside them.
 *
 * Ownership: everything in the configuration is borrowed. Threading: the loop thread.
 */
#ifndef CONTROLLER_DEBUG_DEBUG_H
#define CONTROLLER_DEBUG_DEBUG_H

#include "api/base/buf.h"
#include "controller/certificates/certificates.h"
#include "controller/debug/loop.h"
#include "controller/election/election.h"
#include "controller/manager/manager.h"
#include "controller/manager/registry.h"
#include "controller/telemetry/log.h"
#include "controller/telemetry/section.h"
#include "controller/webhook/webhook.h"
#include "informers/probe/prober.h"

/* Members of one list at most. */
#define EK_DEBUG_LIST_MAX 256

/* The largest answer. */
#define EK_DEBUG_ANSWER_MAX ((size_t)8 << 20)

/* The longest request line, its line feed included. */
#define EK_DEBUG_REQUEST_MAX 256

/* Reads the clocks. */
struct ek_debug_now ek_debug_clock(void);

/* The parts of the report; a part that is NULL is left out. */
struct ek_debug {
    const char *version;
    const char *identity; /* of this replica */
    const char *server;   /* the configured API server */
    int64_t started_ms;   /* CLOCK_MONOTONIC */
    struct ek_log *log;
    const struct ek_registry *registry; /* whose informers and runners are reported */
    const struct ek_prober *prober;
    struct ek_webhook *webhook;
    const struct ek_webhook_certs *certs; /* of the webhook */
    const struct ek_election *election;   /* NULL: no election, everybody may write */
    const struct ek_manager *manager;
    const struct ek_debug_loop *loop;
    bool (*may_write)(void *ctx);
    /* Adds what is known of the API server at that address besides its probe. NULL: nothing is. */
    void (*peer)(void *ctx, const char *address, const struct ek_debug_doc *doc);
    /* Appends the API servers that are known and not probed to list, an array of doc; returns how
     * many. NULL: none. */
    size_t (*unprobed)(void *ctx, const struct ek_debug_doc *doc, yyjson_mut_val *list);
    void *ctx; /* of these */
};

/* The process that sent the request; for the log record of a change. */
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
