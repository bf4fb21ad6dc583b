/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One client connection and the API server ("peer") that answers its present request, without
 * sockets: bytes, ends and times go in on both sides, bytes and a deadline come out.
 *
 * A relay reads the client's requests one after the other. It hands each head to its owner, who
 * answers, or has the relay forward the request; the body is then framed again and streamed to the
 * peer, the response is streamed to the client, and nothing is held whole. Back-pressure: each
 * direction has one buffer; while that has EK_RELAY_HIGH bytes or more, the side that fills the
 * buffer is not read. A response of status 101 to an upgrade makes the connection a tunnel.
 *
 * What a client may conclude: a response that is complete is whole. When a peer is lost in the
 * middle of a response, the client's connection is broken, without the last chunk or byte, so that
 * truncation is visible. Before the first byte of a response, the owner may have the request
 * repeated on another peer.
 *
 * The owner calls input, eof, lost, sent and timeout as things happen, and after each call looks at
 * outputs, state, deadline and what is wanted. A new peer is given by ek_relay_forward and
 * ek_relay_repeat, and belongs to the relay until ops->over.
 *
 * Ownership: config and ops are borrowed for the relay's life. Times are monotonic milliseconds.
 * Threading: one thread.
 */
#ifndef CONTROLLER_PROXY_RELAY_H
#define CONTROLLER_PROXY_RELAY_H

#include "controller/proxy/h1.h"

/* A direction is full with so many bytes; a buffer has at most one piece of input more. */
#define EK_RELAY_HIGH ((size_t)64 * 1024)

/* The body of a response that the owner wants to see before the client does. */
#define EK_RELAY_HELD_MAX    ((size_t)8 * 1024)
#define EK_RELAY_COLLECT_MAX ((size_t)1 << 20)
#define EK_RELAY_GATHER_MAX  ((size_t)16 << 20)

/*
 * IDLE     waits for the first byte of a request. Exits: a byte (HEAD); end, drain, idle time
 *          (CLOSED).
 * HEAD     waits for the end of the head. Exits: complete (DECIDE); refused or head time over
 *          (CLOSING, with an answer); end (CLOSED).
 * DECIDE   the owner has the request. Exits: ek_relay_answer (IDLE or CLOSING), ek_relay_forward
 *          (SEND); end (CLOSED).
 * SEND     the request goes to the peer, and no byte of its response went to the client. Exits: the
 *          head of a response (ANSWER, TUNNEL), ek_relay_answer; end (CLOSED).
 * ANSWER   the response goes to the client. Exits: complete (IDLE or CLOSING); a peer that is lost,
 *          end (CLOSED).
 * TUNNEL   bytes pass in both directions; each may end by itself. Exits: both have ended (CLOSED).
 * CLOSING  nothing is read any more; what is in the output is sent. Exits: the owner closes.
 * CLOSED   to be closed at once, with a reset where ek_relay_is_broken.
 */
enum ek_relay_state {
    EK_RELAY_IDLE,
    EK_RELAY_HEAD,
    EK_RELAY_DECIDE,
    EK_RELAY_SEND,
    EK_RELAY_ANSWER,
    EK_RELAY_TUNNEL,
    EK_RELAY_CLOSING,
    EK_RELAY_CLOSED,
};

/* Whose failure ended a request. */
enum ek_relay_end {
    EK_RELAY_COMPLETE,  /* the response, or the tunnel, is over */
    EK_RELAY_PEER_LOST, /* in the middle of a response or a tunnel */
    EK_RELAY_CLIENT_GONE,
    EK_RELAY_SLOW, /* the client did not read, or owed its body, for too long */
};

struct ek_relay;

struct ek_relay_config {
    size_t max_head; /* of a request and of a response, bytes */
    int64_t idle_ms; /* between requests */
    int64_t head_ms; /* from the first byte of a head, or the start of the connection, to the end of
                        the head */
    /* A client that owes octets of a body has a credit of body_ms, which falls with the time and
     * rises by a second for each body_rate octets that come (mod_reqtimeout of Apache httpd:
     * MinRate); with body_rate 0 any octet restores the credit. The client owes nothing while
     * octets wait for the peer. */
    int64_t body_ms;
    int64_t body_rate; /* octets a second */
    int64_t write_ms;  /* without progress in sending to the client */
    int64_t half_ms;   /* without a byte in a tunnel of which one direction has ended */
};

/* What becomes of a response. */
enum ek_relay_fate {
    EK_RELAY_STREAM,  /* goes to the client */
    EK_RELAY_HOLD,    /* is held back and handed over by held, at most EK_RELAY_HELD_MAX octets; a
                         longer one goes to the client */
    EK_RELAY_COLLECT, /* as EK_RELAY_HOLD, at most EK_RELAY_COLLECT_MAX octets */
    EK_RELAY_GATHER,  /* as EK_RELAY_HOLD, at most EK_RELAY_GATHER_MAX octets; a longer one becomes
                         EK_RELAY_DISCARD */
    EK_RELAY_DISCARD, /* is read and dropped; then held is called without a body */
};

/* All are called from within calls of the relay, with its ctx. */
struct ek_relay_ops {
    /* A request has come; borrowed until it is over. Answer or forward it, now or later. */
    void (*request)(void *ctx, const struct ek_h1_head *head);
    /* The head of the peer's response, 1xx and 101 excluded. */
    enum ek_relay_fate (*response)(void *ctx, const struct ek_h1_head *head);
    /* The response that was held is complete (head is that of response): the owner calls
     * ek_relay_pass, ek_relay_repeat or ek_relay_answer, and after EK_RELAY_DISCARD ek_relay_answer
     * or ek_relay_forward; now or later. The peer has been given back by over before. */
    void (*held)(void *ctx, const struct ek_h1_head *head, struct ek_str body);
    /* No byte of a response has come, and none will: call ek_relay_repeat or ek_relay_answer. The
     * peer has been given back by over before. why is for the log. */
    void (*failed)(void *ctx, const char *why);
    /* The peer is no longer the relay's. reusable: its connection may be kept for another request.
     */
    void (*over)(void *ctx, bool reusable);
    /* The request is over. status is that of the response, 0 for none. */
    void (*done)(void *ctx, int status, enum ek_relay_end end);
};

/* Starts in HEAD time: a client that never sends a byte owes its first request. */
struct ek_relay *ek_relay_new(const struct ek_relay_config *config, const struct ek_relay_ops *ops,
                              void *ctx, int64_t now_ms);

/* Ends what is under way, by over and done: the client's connection is of no use any more. */
void ek_relay_abort(struct ek_relay *relay, int64_t now_ms);

/* As ek_relay_abort, and releases the relay. NULL is fine. */
void ek_relay_free(struct ek_relay *relay);

enum ek_relay_state ek_relay_state(const struct ek_relay *relay);

/* CLOSED, and the client must see that the last response is not whole. */
bool ek_relay_is_broken(const struct ek_relay *relay);

/* When ek_relay_timeout is due, INT64_MAX for never. */
int64_t ek_relay_deadline(const struct ek_relay *relay);
void ek_relay_timeout(struct ek_relay *relay, int64_t now_ms);

/* ---- The client's side ---- */

/* What the client has sent is to be read: input has room. */
bool ek_relay_wants_client(const struct ek_relay *relay);
void ek_relay_client_input(struct ek_relay *relay, const char *data, size_t len, int64_t now_ms);
void ek_relay_client_eof(struct ek_relay *relay, int64_t now_ms);

/* Octets of a head that is not complete, and of what has come behind the request under way. */
size_t ek_relay_head_octets(const struct ek_relay *relay);

/* Octets of the client that the peer has not taken. */
size_t ek_relay_waiting(const struct ek_relay *relay);

/* Answers a request that its reader has refused, or of which the head is not complete. With 503 the
 * heads of all requests are too large (Retry-After). */
void ek_relay_refuse(struct ek_relay *relay, int status, int64_t now_ms);

/* What is to be sent to the client, and how much of that has been sent. */
struct ek_str ek_relay_client_output(const struct ek_relay *relay);
void ek_relay_client_sent(struct ek_relay *relay, size_t n, int64_t now_ms);

/* A tunnel's direction to the client has ended, and all is sent: its stream is to be ended. */
bool ek_relay_client_ends(const struct ek_relay *relay);

/* ---- The peer's side ---- */

bool ek_relay_wants_peer(const struct ek_relay *relay);
void ek_relay_peer_input(struct ek_relay *relay, const char *data, size_t len, int64_t now_ms);

/* The peer has ended its side, orderly; or its connection is lost (why for the log). */
void ek_relay_peer_eof(struct ek_relay *relay, int64_t now_ms);
void ek_relay_peer_lost(struct ek_relay *relay, const char *why, int64_t now_ms);

struct ek_str ek_relay_peer_output(const struct ek_relay *relay);
void ek_relay_peer_sent(struct ek_relay *relay, size_t n, int64_t now_ms);
bool ek_relay_peer_ends(const struct ek_relay *relay);

/* ---- What the owner decides ---- */

/*
 * Forwards the request of DECIDE. head (copied) has the request line and the fields, including
 * those of the framing, each with its end of line, without the empty line. upgrade: the request
 * asks for another protocol; bytes of the client wait until the peer has accepted the protocol.
 * expects: the client waits for 100 before it sends a body.
 */
struct ek_relay_forward {
    struct ek_str head;
    bool upgrade;
    bool expects;
};
void ek_relay_forward(struct ek_relay *relay, const struct ek_relay_forward *forward,
                      int64_t now_ms);

/* True when the request can go to another peer: no byte of a response went to the client, and all
 * bytes of the request are still here. sent: bytes have gone to a peer, so it may have been carried
 * out. */
bool ek_relay_can_repeat(const struct ek_relay *relay);
bool ek_relay_has_sent(const struct ek_relay *relay);

/* Sends the request to another peer; after held or failed, where ek_relay_can_repeat. */
void ek_relay_repeat(struct ek_relay *relay, int64_t now_ms);

/* Hands the response that was held to the client. */
void ek_relay_pass(struct ek_relay *relay, int64_t now_ms);

/* Answers in the peer's stead. fields are complete lines, without length and connection; the status
 * 304 has no body. A request of which octets are due ends the connection. */
void ek_relay_answer(struct ek_relay *relay, int status, struct ek_str fields, struct ek_str body,
                     int64_t now_ms);

/* Adds complete lines (borrowed until the request is over) to the head of the peer's response;
 * ek_relay_answer does not send them. */
void ek_relay_announce(struct ek_relay *relay, const char *lines);

/* The next response says that it is the last; an idle connection is closed at once. */
void ek_relay_drain(struct ek_relay *relay, int64_t now_ms);

/*
 * Ends the response under way as if the peer had, once what went to the client is a number of whole
 * events (reconcilers/proxy/stream.h) or is none. For watches: a client resumes after the last
 * event that it has seen.
 */
void ek_relay_end_stream(struct ek_relay *relay, int64_t now_ms);

/* Octets of the request under way, bodies and heads: to the peer, to the client. */
uint64_t ek_relay_octets_up(const struct ek_relay *relay);
uint64_t ek_relay_octets_down(const struct ek_relay *relay);

#endif
