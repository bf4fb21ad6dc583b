/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of a rehearsal to its servers: many at once but not too many, each with a time limit
 * and, but for a live cluster, without retries, so that a server that hangs or refuses a kind holds
 * up nothing else.
 *
 * Signals (SIGINT, SIGTERM, SIGHUP), the end of the server and the end of the time stop it: from
 * then on nothing is sent, and all waiting ends. Threading: one thread, and a loop of its own.
 */
#ifndef CONTROLLER_REHEARSE_ASK_H
#define CONTROLLER_REHEARSE_ASK_H

#include <stdbool.h>
#include <uv.h>
#include <yyjson.h>

#include "controller/certificates/make.h"
#include "controller/rehearse/child.h"
#include "informers/client/client.h"

#define EK_REHEARSE_BODY_MAX   ((size_t)64 << 20) /* of an answer, where the request has no limit */
#define EK_REHEARSE_BODIES_MAX ((size_t)128 << 20) /* of the answers under way together */

struct ek_rehearse_ask {
    uv_loop_t loop;
    uv_timer_t tick;
    uv_signal_t signals[3];
    bool open, signaled;
    bool patient;             /* requests that a busy server postpones are sent again, as it says */
    unsigned in_flight, most; /* requests; at most so many at once */
    size_t room;              /* the limits of their answers together */
    int64_t timeout_ms;       /* of one request */
    int64_t pause_ms;         /* from one request to the next, at least; 0: none */
    int64_t next_ms;          /* on ek_monotonic_ms, before which no request is sent */
    int64_t deadline_ms;      /* of all, on ek_monotonic_ms; 0: none */
    struct ek_rehearse_child *server; /* whose end stops; NULL: none */
};

/* Makes the loop, and begins to handle the signals that apart.h has held back.
 * ek_rehearse_ask_close must be called in any case. */
void ek_rehearse_ask_open(struct ek_rehearse_ask *ask, unsigned most, int64_t timeout_ms);
void ek_rehearse_ask_close(struct ek_rehearse_ask *ask);

/* A client for https://127.0.0.1:port that shows pair and trusts authority (PEM); NULL with err. */
struct ek_client *ek_rehearse_ask_client(struct ek_rehearse_ask *ask, int port,
                                         const char *authority, const struct ek_cert_pair *pair,
                                         struct ek_err *err);

/* Closes a client, whose requests have all ended; NULL is fine. */
void ek_rehearse_ask_drop(struct ek_rehearse_ask *ask, struct ek_client *client);

/* True when nothing more is to be done: a signal, the end of the time or of the server. */
bool ek_rehearse_ask_stopped(struct ek_rehearse_ask *ask);

/* True when the rehearsal as a whole has to end: a signal or the end of the time. */
bool ek_rehearse_ask_ended(const struct ek_rehearse_ask *ask);

/* Sends request once fewer than the most are under way, whose answers leave room for that of
 * request (max_body; 0: EK_REHEARSE_BODY_MAX), and pause_ms after the request before, and calls fn
 * once. The time limit is set here. When stopped, fn is called at once with EK_E_CANCELED. */
void ek_rehearse_ask_send(struct ek_rehearse_ask *ask, struct ek_client *client,
                          const struct ek_request *request, ek_response_fn fn, void *ctx);

/* Waits until nothing is under way. */
void ek_rehearse_ask_drain(struct ek_rehearse_ask *ask);

/* Runs the loop until something happens, at most some milliseconds. */
void ek_rehearse_ask_turn(struct ek_rehearse_ask *ask);

/* Sends one request and waits, no longer than the rehearsal as a whole. Returns the answer as a
 * document for the caller to free, NULL with err (EK_E_PARSE for an answer that is no JSON). */
yyjson_doc *ek_rehearse_ask_one(struct ek_rehearse_ask *ask, struct ek_client *client,
                                const struct ek_request *request, struct ek_err *err);

#endif
