/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One TCP connection, plain or TLS, of which somebody else owns the bytes: a wire moves them
 * between the socket and its owner, and reads only what the owner wants. Sending is in pieces, one
 * at a time; the owner learns that a piece is sent when the system has taken it, which may be at
 * once, so back-pressure reaches the owner.
 *
 * The owner calls ek_wire_go_on whenever there may be more to send, to read, or to end. All
 * functions of the table are called from the loop or from within ek_wire_go_on; they may call
 * ek_wire_close and ek_wire_go_on. After ek_wire_close only closed is called, once, from the loop.
 *
 * Threading: the loop's thread.
 */
#ifndef CONTROLLER_PROXY_WIRE_H
#define CONTROLLER_PROXY_WIRE_H

#include <uv.h>

#include "api/base/buf.h"
#include "controller/http/tls.h"
#include "controller/proxy/egress.h"

struct ek_wire;

struct ek_wire_ops {
    void (*ready)(void *ctx);                             /* connected, and the handshake is over */
    bool (*wants)(void *ctx);                             /* input may be called */
    void (*input)(void *ctx, const char *data, size_t n); /* bytes have come */
    void (*eof)(void *ctx);                               /* the other side has ended its stream */
    void (*lost)(void *ctx, const char *why);             /* the wire is of no use; close it */
    struct ek_str (*output)(void *ctx);                   /* what is to be sent; borrowed */
    void (*sent)(void *ctx, size_t n);                    /* so much of it was */
    bool (*ends)(void *ctx);   /* when all output is sent, the stream is to be ended */
    void (*closed)(void *ctx); /* nothing of the wire is left */
};

/* One wire holds a TLS session and at most one piece in each direction (ek_wire_held); who owns
 * many wires limits what all of them hold. */
#define EK_WIRE_PIECE ((size_t)32 * 1024)

/* Takes the next connection of a listener; tls (taken) is NULL for plain TCP. NULL when accepting
 * fails, and then tls is freed. */
struct ek_wire *ek_wire_accept(uv_stream_t *listener, struct ek_tls_session *tls,
                               const struct ek_wire_ops *ops, void *ctx);

/* Connects; a failure is reported by lost, from the loop. tls (taken) is NULL for plain TCP. */
struct ek_wire *ek_wire_dial(uv_loop_t *loop, const struct sockaddr *addr,
                             struct ek_tls_session *tls, const struct ek_wire_ops *ops, void *ctx);

/* As ek_wire_dial, by a tunnel (taken; egress.h) that the proxy at addr opens: ready is called when
 * the tunnel is open and the handshake within it is over. */
struct ek_wire *ek_wire_dial_tunnel(uv_loop_t *loop, const struct sockaddr *addr,
                                    struct ek_tunnel *tunnel, struct ek_tls_session *tls,
                                    const struct ek_wire_ops *ops, void *ctx);

/* Hands the wire to another owner. */
void ek_wire_give(struct ek_wire *wire, const struct ek_wire_ops *ops, void *ctx);

/* Has the wire be lost when the other side has not taken for so long what TLS itself sends, such as
 * answers to changes of keys (RFC 8446, 4.6.3); without a call, or with 0, there is no limit. The
 * owner sees to the time of its own output. */
void ek_wire_limit(struct ek_wire *wire, int64_t own_ms);

/* The address of the other side. */
bool ek_wire_remote(const struct ek_wire *wire, struct sockaddr_storage *ret_addr);

/* The session of TLS, NULL for none; borrowed. */
const struct ek_tls_session *ek_wire_tls(const struct ek_wire *wire);

/* Connected, and the handshake is over. */
bool ek_wire_is_ready(const struct ek_wire *wire);

/* Octets that the wire has copied for the system to send, and those that wait in TLS. */
size_t ek_wire_held(const struct ek_wire *wire);

/* A piece is being sent. */
bool ek_wire_is_sending(const struct ek_wire *wire);

void ek_wire_go_on(struct ek_wire *wire);

/* Closes; reset: so that the other side sees that something is missing. */
void ek_wire_close(struct ek_wire *wire, bool reset);

#endif
