/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's side of one HTTP/2 connection (RFC 9113), without sockets: bytes, ends and times go
 * in, bytes and a deadline come out. The frames, HPACK and the rules of messages are nghttp2's.
 *
 * Each stream is to its owner a connection of HTTP/1.1 with one request: the request comes in as
 * text, and the owner's output is a response as text. So one implementation (relay.h) decides,
 * limits and relays for both versions. The text is written from what nghttp2 and this file have
 * checked (h2_request.c), is read by the strict reader (h1.h), and its length is counted: no client
 * can end a message where the other reader does not.
 *
 * Back-pressure: octets of a request's body return to the stream's window and to the connection's
 * window when the owner wants more; octets of a response are taken from the owner when the client's
 * windows and the socket have room.
 *
 * Against abuse: streams at once, bytes and fields of a head, CONTINUATION frames of a head, resets
 * and frames that ask for work without a request are limited; beyond that the connection ends with
 * GOAWAY ENHANCE_YOUR_CALM (CVE-2023-44487, CVE-2024-28182, CVE-2019-9511 to -9513, -9515 and
 * -9518). Resets are counted whoever sends them (CVE-2025-8671), but for those that the owner
 * decides.
 *
 * Not offered: server push, priorities, CONNECT in any form. Upgrades belong to HTTP/1.1.
 *
 * Ownership: config and ops are borrowed for the life. Times are monotonic milliseconds. Threading:
 * one thread.
 */
#ifndef CONTROLLER_PROXY_H2_H
#define CONTROLLER_PROXY_H2_H

#include "controller/proxy/wire.h"

/* At once, of a connection (net/http of Go: 250). */
#define EK_H2_STREAMS 250u

/* What may come of the bodies of requests beyond what owners take, of a connection and of a stream
 * (RFC 9113, 6.9.2: the initial window). */
#define EK_H2_WINDOW        ((size_t)1 << 20)
#define EK_H2_STREAM_WINDOW ((size_t)65535)

/* Responses of a connection that wait are full with so much; see ek_h2_is_full. */
#define EK_H2_WAITING_MAX ((size_t)1 << 20)

/* Limits of stream resets by a client: the number at once, and the number per second. A client that
 * ends all its watches resets as many streams as it has. */
#define EK_H2_RESETS          500
#define EK_H2_RESETS_A_SECOND 50

/* PING, SETTINGS, PRIORITY, frames of unknown types, empty DATA and small steps of a stream's
 * window, likewise. */
#define EK_H2_CONTROLS          1000
#define EK_H2_CONTROLS_A_SECOND 100

/* CONTINUATION frames of one head. */
#define EK_H2_CONTINUATIONS 6

struct ek_h2_conn;
struct ek_h2_stream;

struct ek_h2_config {
    size_t max_head;  /* of a request, bytes */
    int64_t head_ms;  /* from the birth to the first request, and for a head in several frames */
    int64_t idle_ms;  /* without a stream */
    int64_t write_ms; /* without progress of the socket */
};

struct ek_h2_ops {
    /* A request begins: returns the owner of its stream, which is the ctx of the functions below,
     * or NULL to have the client send it elsewhere (REFUSED_STREAM). ctx: of the connection. */
    void *(*open)(void *ctx, struct ek_h2_stream *stream);
    /* The request is no good, before a byte of it came: answer with that status. */
    void (*refuse)(void *owner, int status);
    /* wants, input, lost (the stream is over, or reset), output and sent of a wire. */
    const struct ek_wire_ops *stream;
};

/*
 * OPEN     Exits: shut down, time, or the client's end (CLOSING); bytes that are no HTTP/2, time
 *          (CLOSED).
 * CLOSING  no stream is left, nothing is read; what is in the output is sent. Exits: the owner
 *          closes; time (CLOSED).
 * CLOSED   to be closed at once, with a reset.
 */
enum ek_h2_state { EK_H2_OPEN, EK_H2_CLOSING, EK_H2_CLOSED };

/* NULL without memory. */
struct ek_h2_conn *ek_h2_conn_new(const struct ek_h2_config *config, const struct ek_h2_ops *ops,
                                  void *ctx, int64_t now_ms);

/* Each stream must have been closed. NULL is fine. */
void ek_h2_conn_free(struct ek_h2_conn *h2);

enum ek_h2_state ek_h2_state(const struct ek_h2_conn *h2);

/* No stream is open. */
bool ek_h2_is_idle(const struct ek_h2_conn *h2);

/* Why the connection is at its end by a limit, a word for a metric; NULL when it is not. */
const char *ek_h2_abuse(const struct ek_h2_conn *h2);

/* Octets that are kept of a head that is not complete; none once the head is refused. */
size_t ek_h2_head_octets(const struct ek_h2_conn *h2);

/* Forgets the head that is not complete: the owner refuses the request with that status once the
 * head ends. Other streams go on. */
void ek_h2_refuse_head(struct ek_h2_conn *h2, int status);

/* Responses that wait have EK_H2_WAITING_MAX octets or more: a stream that has some gets no more
 * from its owner. */
bool ek_h2_is_full(const struct ek_h2_conn *h2);

bool ek_h2_wants(const struct ek_h2_conn *h2);
void ek_h2_input(struct ek_h2_conn *h2, const char *data, size_t len, int64_t now_ms);
struct ek_str ek_h2_output(struct ek_h2_conn *h2, int64_t now_ms);
/* Octets of frames that were made and not sent. */
size_t ek_h2_waiting(const struct ek_h2_conn *h2);
void ek_h2_sent(struct ek_h2_conn *h2, size_t n, int64_t now_ms);

/* When ek_h2_timeout is due, INT64_MAX for never. */
int64_t ek_h2_deadline(const struct ek_h2_conn *h2);
void ek_h2_timeout(struct ek_h2_conn *h2, int64_t now_ms);

/* Has the client open no further stream (RFC 9113, 6.8: a warning, then the last stream's number);
 * those that are open go on. */
void ek_h2_shutdown(struct ek_h2_conn *h2, int64_t now_ms);

/* ---- A stream, for its owner ---- */

/* The owner has more output, or wants more input. */
void ek_h2_stream_go_on(struct ek_h2_stream *stream);

/* Takes the stream from its owner, of whom nothing is called any more. When the response is not
 * complete the stream is reset, so that the client sees that something is missing. */
void ek_h2_stream_close(struct ek_h2_stream *stream);

#endif
