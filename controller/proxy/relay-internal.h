/* SPDX-License-Identifier: Apache-2.0 */
/* What relay.c (requests, decisions, time) and relay_response.c (responses) share. */
#ifndef CONTROLLER_PROXY_RELAY_INTERNAL_H
#define CONTROLLER_PROXY_RELAY_INTERNAL_H

#include "controller/proxy/relay.h"
#include "reconcilers/proxy/stream.h"

/* No buffer grows beyond that: what is full, one piece of input, and what framing adds. */
#define EK_RELAY_BUFFER_MAX ((size_t)256 << 20)

struct ek_relay {
    const struct ek_relay_config *config;
    const struct ek_relay_ops *ops;
    void *ctx;
    enum ek_relay_state state;
    int64_t now_ms;    /* of the call that is under way */
    int64_t since_ms;  /* that it is in the state */
    int64_t moved_ms;  /* of the last octet of a request's body that came, or was sent on */
    int64_t write_ms;  /* of the last progress to the client, or since when there is output */
    int64_t credit_ms; /* of a client that owes octets of a body, at moved_ms */
    int64_t odd;       /* octets that have raised no credit yet */
    int64_t half_ms;   /* of the last octet of a tunnel */
    struct ek_h1 request, response;
    struct ek_buf input;    /* of the client, not parsed yet */
    struct ek_buf up, down; /* to the peer, to the client */
    struct ek_buf again;    /* the head as it was forwarded */
    struct ek_buf held;     /* of a response */
    enum ek_h1_framing out; /* of the response as the client gets it */
    enum ek_relay_fate fate;
    const char *announced; /* lines of a response's head; NULL: none */
    bool running;          /* ek_relay_run__ is on the stack */
    bool busy;             /* a request is under way: done is due */
    bool request_ended;    /* its last octet has been read */
    bool upgrade;          /* it requests one */
    bool has_peer;         /* over is due */
    bool sent;             /* octets of the request went to this peer */
    bool headed;           /* the peer's response has a head */
    bool ending;           /* end the stream at the next end of an event */
    struct ek_stream body; /* of the response, as the client gets it */
    bool client_eof, peer_eof, broken;
    bool last;   /* after this response the connection ends */
    bool served; /* a response went out: silence is idleness from now on */
    int status, n_informational;
    uint64_t octets_up, octets_down;
};

/* relay.c */
void ek_relay_enter__(struct ek_relay *relay, enum ek_relay_state state);
void ek_relay_give_back__(struct ek_relay *relay, bool reusable);
void ek_relay_break__(struct ek_relay *relay, enum ek_relay_end end);
void ek_relay_answered__(struct ek_relay *relay, bool reusable);
/* The response has begun: neither head is needed any more, and a watch would hold them for hours.
 */
void ek_relay_forget_heads__(struct ek_relay *relay);
void ek_relay_run__(struct ek_relay *relay);

#endif
