/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An egress proxy between the proxy and API servers: a proxy of HTTP that opens a tunnel to an
 * address when it gets CONNECT (RFC 9110, section 9.3.6), as kube-apiserver requests it for the
 * protocol HTTPConnect (apiserver 1.36, pkg/server/egressselector/egress_selector.go:
 * tunnelHTTPConnect). TLS to the API server is within the tunnel, so that the egress proxy sees
 * addresses and lengths, and can neither read nor pose as an API server.
 *
 * A tunnel has no socket and no clock: bytes of the egress proxy go in, the state comes out.
 * Threading: none; one thread at a time.
 */
#ifndef CONTROLLER_PROXY_EGRESS_H
#define CONTROLLER_PROXY_EGRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "api/base/buf.h"
#include "api/base/err.h"

/* Bytes of the head of an answer to CONNECT, at most. */
#define EK_TUNNEL_HEAD_MAX ((size_t)16 * 1024)

struct ek_egress {
    struct sockaddr_storage addr;
    char address[64]; /* "ip:port" */
};

/* Reads "http://IP:PORT", IPv6 in brackets. Names are not looked up, and credentials in the URL are
 * refused. Errors: EK_E_INVAL. */
int ek_egress_parse(const char *url, struct ek_egress *ret_egress, struct ek_err *err);

struct ek_tunnel;

enum ek_tunnel_state {
    EK_TUNNEL_WAITS, /* for (the rest of) the answer */
    EK_TUNNEL_OPEN,  /* all bytes from now on are those of the target */
    EK_TUNNEL_ENDED, /* the egress proxy refused, or its answer is none; see ret_why */
};

/* A tunnel to address, "ip:port" (copied). */
struct ek_tunnel *ek_tunnel_new(const char *address);
void ek_tunnel_free(struct ek_tunnel *tunnel); /* NULL is fine */

/* What is to be sent to the egress proxy first; borrowed. It has no credentials. */
struct ek_str ek_tunnel_request(const struct ek_tunnel *tunnel);

/*
 * Takes bytes of the egress proxy. Only a 2xx opens the tunnel, and nothing may follow its head:
 * the target of a tunnel that carries TLS never speaks first. *ret_why (borrowed) is set with
 * EK_TUNNEL_ENDED; it has no text of the egress proxy. To be called only while it WAITS.
 */
enum ek_tunnel_state ek_tunnel_read(struct ek_tunnel *tunnel, const char *data, size_t len,
                                    const char **ret_why);

#endif
