/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One HTTP/1.1 server connection without the socket: bytes and times go in, bytes and a deadline
 * come out (RFC 9112; parsing by llhttp in its strict mode). The same engine serves plain and TLS
 * connections, tests and the fuzzer.
 *
 * One request is handled at a time. While a handler works, further bytes of the client
 * (pipelining) wait in a small buffer; when that is full, wants_input tells the owner to stop
 * reading. Anything that is not a well-formed request within the limits is answered with a 4xx or
 * 5xx and the connection ends, because what follows could be anything.
 *
 * The owner: calls input, eof, run, sent and timeout as things happen; after each call it looks at
 * output, state, deadline and wants_input. wake is called when an answer arrives later, outside of
 * these calls: the owner then calls run. Threading: one thread.
 */
#ifndef CONTROLLER_HTTP_CONN_H
#define CONTROLLER_HTTP_CONN_H

#include "controller/http.h"

/*
 * The states. Every one but the last two ends early with ek_http_conn_free.
 *
 * IDLE     entered at birth and after a reply that keeps the connection; waits for the first byte
 *          of a request. Exits: a byte (HEAD); end of input, drain or the idle time (CLOSED).
 * HEAD     waits for the end of the headers. Exits: complete (BODY or HANDLER); refused or the
 *          head time is over (CLOSING, with an error reply); end of input (CLOSED).
 * BODY     waits for the end of the body. Exits: as HEAD, with the body time.
 * HANDLER  a handler has the request; waits for its reply. Exits: replied (IDLE or CLOSING); the
 *          reply time is over (CLOSING, with 503).
 * CLOSING  nothing is read any more; waits until the output is sent. Exits: the owner closes; no
 *          progress in sending (CLOSED).
 * CLOSED   to be closed at once.
 */
#define EK_HTTP_CONN_STATES(X)                                                                     \
    X(IDLE)                                                                                        \
    X(HEAD)                                                                                        \
    X(BODY)                                                                                        \
    X(HANDLER)                                                                                     \
    X(CLOSING)                                                                                     \
    X(CLOSED)

enum ek_http_conn_state {
#define X(name) EK_HTTP_CONN_##name,
    EK_HTTP_CONN_STATES(X)
#undef X
        EK_HTTP_CONN_STATE_MAX,
};

struct ek_http_conn;

/* Borrowed for the life of the connection. */
struct ek_http_conn_config {
    struct ek_http_limits limits; /* no zeros: see ek_http_limits_default */
    const struct ek_http_route *routes;
    size_t n_routes;
    int64_t (*wall_ms)(void *ctx); /* for the Date header; NULL leaves it out */
    void *wall_ctx;
};

/* Replaces zeros in limits by the defaults. */
void ek_http_limits_default(struct ek_http_limits *limits);

/* remote is copied; wake (may be NULL) is called with ctx as described above. */
struct ek_http_conn *ek_http_conn_new(const struct ek_http_conn_config *config, const char *remote,
                                      void (*wake)(void *ctx), void *ctx, int64_t now_ms);

/* Ends it; a reply that is still due becomes an orphan. NULL is fine. */
void ek_http_conn_free(struct ek_http_conn *conn);

/* Takes len bytes from the client. */
void ek_http_conn_input(struct ek_http_conn *conn, const char *data, size_t len, int64_t now_ms);

/* The client will send no more; a request that is being handled is still answered. */
void ek_http_conn_eof(struct ek_http_conn *conn, int64_t now_ms);

/* Goes on with what has been waiting. */
void ek_http_conn_run(struct ek_http_conn *conn, int64_t now_ms);

/* To be called when now_ms has reached the deadline; harmless at other times. */
void ek_http_conn_timeout(struct ek_http_conn *conn, int64_t now_ms);

/* Ends the connection after the request that is under way, at once when there is none. */
void ek_http_conn_drain(struct ek_http_conn *conn, int64_t now_ms);

/* Makes the next reply the last one, which tells the client so. Unlike by drain, a connection that
 * waits for a request goes on waiting: whoever is about to send one gets an answer. */
void ek_http_conn_last(struct ek_http_conn *conn);

/* Bytes to send; borrowed until the next call. ek_http_conn_sent takes n of them off. */
struct ek_str ek_http_conn_output(const struct ek_http_conn *conn);
void ek_http_conn_sent(struct ek_http_conn *conn, size_t n, int64_t now_ms);

enum ek_http_conn_state ek_http_conn_state(const struct ek_http_conn *conn);
const char *ek_http_conn_state_name(enum ek_http_conn_state state);

/* When ek_http_conn_timeout is due, INT64_MAX for never. */
int64_t ek_http_conn_deadline(const struct ek_http_conn *conn);

/* False while the owner should not read from the socket. */
bool ek_http_conn_wants_input(const struct ek_http_conn *conn);

#endif
