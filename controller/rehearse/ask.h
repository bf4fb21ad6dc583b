/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of a rehearsal to its servers. The number of concurrent requests is limited. Each
 * request has a time limit and, except in a live cluster, no retries, so that a server that hangs
 * or refuses a kind does not delay the other requests.
 *
 * The requests stop at a signal (SIGINT, SIGTERM, SIGHUP), at the end of the server, and at the end
 * of the time: after that no request is sent, and no function waits. Threading: one thread, with a
 * loop of its own.
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
    bool patient;             /* requests are repeated after the Retry-After of a busy server */
    unsigned in_flight, most; /* requests under way, and their maximum */
    size_t room;              /* sum of the limits of the answers under way */
    int64_t timeout_ms;       /* of one request */
    int64_t pause_ms;         /* minimum time between two requests; 0: none */
    int64_t next_ms;          /* time on ek_monotonic_ms before which no request is sent */
    int64_t deadline_ms;      /* end of the time, on ek_monotonic_ms; 0: none */
    struct ek_rehearse_child *server; /* the requests stop when it ends; NULL: none */
};

/* Makes the loop, and begins to handle the signals that apart.h has held back.
 * ek_rehearse_ask_close must be called in any case. */
void ek_rehearse_ask_open(struct ek_rehearse_ask *ask, unsigned most, int64_t timeout_ms);
void ek_rehearse_ask_close(struct ek_rehearse_ask *ask);

/* Makes a client for https://127.0.0.1:port with the client certificate pair, which trusts
 * authority (PEM). Returns NULL with err. */
struct ek_client *ek_rehearse_ask_client(struct ek_rehearse_ask *ask, int port,
                                         const char *authority, const struct ek_cert_pair *pair,
                                         struct ek_err *err);

/* Closes a client, whose requests have all ended; NULL is fine. */
void ek_rehearse_ask_drop(struct ek_rehearse_ask *ask, struct ek_client *client);

/* True when no request is sent any more: a signal, the end of the time or of the server. */
bool ek_rehearse_ask_stopped(struct ek_rehearse_ask *ask);

/* True when the rehearsal as a whole has to end: a signal or the end of the time. */
bool ek_rehearse_ask_ended(const struct ek_rehearse_ask *ask);

/* Sends request and calls fn once with the result. Waits first until fewer than most requests are
 * under way, until the limit of the answer (max_body; 0: EK_REHEARSE_BODY_MAX) fits into
 * EK_REHEARSE_BODIES_MAX, and until pause_ms have passed since the last request. Sets the time
 * limit of the request. When the requests have stopped, calls fn at once with EK_E_CANCELED. */
void ek_rehearse_ask_send(struct ek_rehearse_ask *ask, struct ek_client *client,
                          const struct ek_request *request, ek_response_fn fn, void *ctx);

/* Waits until no request is under way. */
void ek_rehearse_ask_drain(struct ek_rehearse_ask *ask);

/* Runs the loop until an event, at most some milliseconds. */
void ek_rehearse_ask_turn(struct ek_rehearse_ask *ask);

/* Sends one request and waits for the answer, at most until the end of the time. Returns the answer
 * as a document, owned; NULL with err (EK_E_PARSE for an answer that is not JSON). */
yyjson_doc *ek_rehearse_ask_one(struct ek_rehearse_ask *ask, struct ek_client *client,
                                const struct ek_request *request, struct ek_err *err);

#endif
