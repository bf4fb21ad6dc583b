/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One HTTP/1.1 server connection without the socket: bytes and times go in, bytes and a deadline
 * come out (RFC 9112; parsing by llhttp in its strict mode). The same engine serves plain and TLS
 * connections, tests and the fuzzer.
 *
 * One request is handled at a time, and none is begun before the client has taken the reply to the
 * one before: each call handles at most one. Meanwhile further bytes of the client (pipelining)
 * wait in a small buffer; when that is full, wants_input requires the owner to stop reading.
 * Anything that is not a well-formed request within the limits is answered with a 4xx or 5xx and
 * the connection ends, because what follows could be anything.
 *
 * The owner: calls input, eof, run, sent and timeout as things happen; after each call it looks at
 * output, state, deadline and wants_input, and calls run once output has been sent. An owner that
 * has many connections calls came instead of input, and run when it is the connection's turn, which
 * work asks for. wake is called when an answer arrives later, outside of these calls: the owner
 * then calls run, or timeout. Threading: one thread.
 *
 * A handler may take long. So the times of a client that has an answer, to read it and to send the
 * next request, begin with the call after the reply, and each call needs the time that it is.
 */
#ifndef CONTROLLER_HTTP_CONN_H
#define CONTROLLER_HTTP_CONN_H

#include "controller/http/evict.h"
#include "controller/http/handler.h"
#include "controller/http/meter.h"

/*
 * The states. Every one but the last two ends early with ek_http_conn_free.
 *
 * HANDSHAKE  entered at birth below TLS; waits for ek_http_conn_shaken. Exits: that (IDLE); the
 *          handshake time is over (CLOSED).
 * IDLE     entered at birth and after a reply that keeps the connection; waits for the first byte
 *          of a request. Exits: a byte (HEAD); end of input, drain or the idle time (CLOSED).
 * HEAD     waits for the end of the headers. Exits: complete (BODY or HANDLER); refused or the
 *          head time is over (CLOSING, with an error reply); end of input (CLOSED).
 * BODY     waits for the end of the body. Exits: as HEAD, with the body time, which a body that
 *          comes below the minimum rate does not get.
 * HANDLER  a handler has the request, or gets it by run; waits for its reply. Exits: replied (IDLE
 *          or CLOSING); the reply time is over (CLOSING, with 503).
 * CLOSING  nothing is read any more; waits until the output is sent. Exits: the owner closes; no
 *          progress in sending (CLOSED).
 * CLOSED   to be closed at once.
 */
#define EK_HTTP_CONN_STATES(X)                                                                     \
    X(HANDSHAKE)                                                                                   \
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

/* The owner sends in pieces of at most this many bytes, and has a copy of one at a time. */
#define EK_HTTP_PIECE ((size_t)64 * 1024)

struct ek_http_conn;

/* Borrowed for the life of the connection. */
struct ek_http_conn_config {
    struct ek_http_limits limits; /* no zeros: see ek_http_limits_default */
    const struct ek_http_route *routes;
    size_t n_routes;
    int64_t (*wall_ms)(void *ctx); /* for the Date header; NULL leaves it out */
    void *wall_ctx;
    bool handshake; /* begins with one */
    /* The memory that connections hold counts against this budget; NULL: it is not counted. */
    struct ek_http_budget *budget;
    size_t base_bytes; /* held by the owner for each, besides what ek_http_conn_hold says */
    /* A request with a body of at least this many bytes is handed over by run alone; 0: by the call
     * that completes it, as all others. */
    size_t costly_bytes;
    /* Called with the connection's ctx when n bytes do not fit for a holder of held bytes: frees
     * some of another connection (ek_http_conn_shed). False when there are none. NULL: there never
     * are. */
    bool (*make_room)(void *ctx, size_t n, size_t held);
};

/* Replaces zeros in limits by the defaults. */
void ek_http_limits_default(struct ek_http_limits *limits);

/* remote is copied; wake (may be NULL) is called with ctx as described above. Without room in the
 * budget the connection is CLOSED from the start. */
struct ek_http_conn *ek_http_conn_new(const struct ek_http_conn_config *config, const char *remote,
                                      void (*wake)(void *ctx), void *ctx, int64_t now_ms);

/* Ends it; a reply that is still due becomes an orphan. NULL is fine. */
void ek_http_conn_free(struct ek_http_conn *conn);

/* The TLS handshake is complete. Harmless later on. */
void ek_http_conn_shaken(struct ek_http_conn *conn, int64_t now_ms);

/* Takes len bytes from the client and goes on with them. */
void ek_http_conn_input(struct ek_http_conn *conn, const char *data, size_t len, int64_t now_ms);

/* Takes len bytes from the client, for run to go on with; 0: bytes have come that input gets later.
 * now_ms is the time that the next request to be begun began at. */
void ek_http_conn_came(struct ek_http_conn *conn, const char *data, size_t len, int64_t now_ms);

/* The client will send no more; a request that is being handled, or that came, is still answered.
 */
void ek_http_conn_eof(struct ek_http_conn *conn, int64_t now_ms);

/* Goes on with what has been waiting: one request at most. */
void ek_http_conn_run(struct ek_http_conn *conn, int64_t now_ms);

/* What run would do. */
enum ek_http_work {
    EK_HTTP_WORK_NONE,   /* no byte of the client waits */
    EK_HTTP_WORK_LATER,  /* bytes wait for a handler, or until the client has read the reply */
    EK_HTTP_WORK_CHEAP,  /* would parse, and hand over at most one request */
    EK_HTTP_WORK_COSTLY, /* would hand a costly request over */
};

enum ek_http_work ek_http_conn_work(const struct ek_http_conn *conn);

/* True when a handler has called ek_http_reply_vouch for the client since the last call. */
bool ek_http_conn_vouched(struct ek_http_conn *conn);

/* To be called when now_ms has reached the deadline; harmless at other times. */
void ek_http_conn_timeout(struct ek_http_conn *conn, int64_t now_ms);

/* Ends the connection after the request that is under way, at once when there is none. */
void ek_http_conn_drain(struct ek_http_conn *conn, int64_t now_ms);

/* Makes the next reply the last one, and announces that to the client. Unlike by drain, a
 * connection that waits for a request goes on waiting, so that a request already under way gets an
 * answer. */
void ek_http_conn_last(struct ek_http_conn *conn);

/* Bytes to send; borrowed until the next call. ek_http_conn_sent takes n of them off. */
struct ek_str ek_http_conn_output(const struct ek_http_conn *conn);
void ek_http_conn_sent(struct ek_http_conn *conn, size_t n, int64_t now_ms);

/* The owner was busy elsewhere for so many milliseconds, in which it neither read nor sent: they
 * are not the client's, whose times end so much later. */
void ek_http_conn_excuse(struct ek_http_conn *conn, int64_t ms);

enum ek_http_conn_state ek_http_conn_state(const struct ek_http_conn *conn);
/* The time at which ek_http_conn_timeout is due, INT64_MAX for never. After a reply the time is in
 * the past until the next call that passes the present time. */
int64_t ek_http_conn_deadline(const struct ek_http_conn *conn);

/* The owner holds n bytes for the connection now (its TLS session). Without room for them an
 * unfinished request is shed. */
void ek_http_conn_hold(struct ek_http_conn *conn, size_t n);

/* Gives up what the connection holds, because others need the room: an unfinished request is
 * answered by 503, in other states the connection is CLOSED. Not for HANDLER. */
void ek_http_conn_shed(struct ek_http_conn *conn, int64_t now_ms);

/* The state of the connection, since when, and the memory that shedding would free (EK_HTTP_ENDING,
 * EK_HTTP_OWED ...); the source is not set. */
void ek_http_conn_candidate(const struct ek_http_conn *conn, struct ek_http_candidate *ret);

/* Why the engine ended the connection; EK_HTTP_FAULT_NONE while it has not, or by the rules. */
enum ek_http_fault ek_http_conn_fault(const struct ek_http_conn *conn);

/* False while the owner should not read from the socket. */
bool ek_http_conn_wants_input(const struct ek_http_conn *conn);

#endif
