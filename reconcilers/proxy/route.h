/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which API server (peer) answers a request.
 *
 * The rules, in their order:
 *
 *   1. A request that carries the loop marker has been forwarded once and is not forwarded again:
 *      503 (KEP-4020, "at most one hop").
 *   2. A client connection keeps its peer while that can serve the request. A connection that
 *      requires a second peer, for a resource that the first does not serve, keeps that one too. A
 *      client therefore never reads backwards in time.
 *   3. Otherwise the capable peer with the fewest requests in flight; among equals, in turn.
 *   4. Stale group versions are routed as all others: what a merged document lists can be reached.
 *   5. When a peer serves the resource but cannot be reached, or a peer is not known yet: 503 with
 *      Retry-After. Controllers take a 404 as "gone" and a 503 as "later" (KEP-4020, user stories).
 *   6. When every known peer has said that it does not serve the resource, a peer is asked all the
 *      same: it authenticates, authorizes and audits, and may know a type that is a moment old.
 *   7. An answer 404 that says that the type is unknown (ek_route_is_unknown_type) is not passed on
 *      while another peer may serve the type. It is passed on once every known peer has said so. A
 *      request whose body has gone to the peer goes to no other one: 503 with Retry-After.
 *   8. A request whose peer failed before a byte of its answer came goes to one more peer, once:
 *      any request of which nothing was sent; one that was sent only if it reads and does not run
 *      anything (as net/http:Request.isReplayable of Go, less strict for no method).
 *   9. Requests that name no resource follow the connection's peer.
 *  10. A peer that refuses a request because it starts or stops (ek_route_is_refusal) has failed
 *      before it did anything: any request of which all bytes are at hand goes to one more peer,
 *      once. Where there is none, the client gets the peer's answer.
 *
 * ek_route_decide is called for each request, and again after each attempt with what is known then.
 * Pure. Threading: the memory belongs to one connection.
 */
#ifndef RECONCILERS_PROXY_ROUTE_H
#define RECONCILERS_PROXY_ROUTE_H

#include <stdint.h>

#include "reconcilers/proxy/request.h"

/* Peers that one request considers; more are never capable. The same as EK_VIEW_PEERS_MAX. */
#define EK_ROUTE_PEERS_MAX 64

/* Whether the documents of a peer list the resource of the request. */
enum ek_route_serves { EK_ROUTE_NO, EK_ROUTE_YES, EK_ROUTE_UNKNOWN };

/* The result of this request at a peer. */
enum ek_route_mark {
    EK_ROUTE_UNTRIED,
    EK_ROUTE_NOT_SENT,     /* no connection, or it ended before a byte of the request was written */
    EK_ROUTE_SENT,         /* it ended after that, and before a byte of the answer */
    EK_ROUTE_UNKNOWN_TYPE, /* the peer answered that it does not know the type */
    EK_ROUTE_REFUSED,      /* the peer answered that it starts or stops, and did nothing */
};

struct ek_route_peer {
    const char *name;            /* unique in the table; borrowed */
    bool routable;               /* requests may go there */
    enum ek_route_serves serves; /* EK_ROUTE_YES for a request that names no resource */
    size_t in_flight;            /* requests that it has now */
    enum ek_route_mark mark;     /* of this request */
};

/* The peers that a client connection keeps, the oldest first. A zeroed struct is empty. */
#define EK_ROUTE_KEPT_MAX 4
struct ek_route_memory {
    char *names[EK_ROUTE_KEPT_MAX]; /* owned; NULL behind the last */
};
void ek_route_memory_done(struct ek_route_memory *memory);

struct ek_route_input {
    const struct ek_proxy_request *request;
    const struct ek_route_peer *peers;
    size_t n_peers;
    const struct ek_route_memory *memory;
    enum ek_route_mark held; /* what the answer that is at hand says, of the last attempt;
                                EK_ROUTE_UNTRIED: none is */
    bool marked;             /* the client sent the loop marker */
    bool can_resend; /* all bytes of the request that were sent to a peer are still at hand; true
                        for a request without a body */
    bool upgrade;    /* the client requests an upgrade of the connection */
    size_t turn;     /* any number; it breaks a tie, and is to be another one after that (turned) */
};

enum ek_route_kind {
    EK_ROUTE_FORWARD, /* to peers[peer] */
    EK_ROUTE_PASS_ON, /* the answer that is at hand goes to the client */
    EK_ROUTE_ANSWER,  /* answer goes to the client */
};

struct ek_route_decision {
    enum ek_route_kind kind;
    size_t peer;
    bool turned; /* the turn has chosen among peers with the same load. Were the turn to advance
                    with each request, connections of as many requests as there are peers would all
                    begin at the same one */
    struct ek_proxy_answer answer;
};

void ek_route_decide(const struct ek_route_input *input, struct ek_route_decision *ret);

/*
 * Notes that the connection uses peers[peer] now, which ek_route_decide has chosen. Peers that are
 * not routable are forgotten: a server that comes back may be behind.
 */
void ek_route_remember(struct ek_route_memory *memory, const struct ek_route_peer *peers,
                       size_t n_peers, size_t peer);

/* At most so many octets of an answer are to be held back for ek_route_is_unknown_type and
 * ek_route_is_refusal; a longer one is not of these kinds. */
#define EK_ROUTE_HELD_MAX ((size_t)8 * 1024)

/*
 * True when an answer with status 404 says that the type is unknown, not the object: the text
 * "404 page not found" (apiserver 1.36, pkg/server/mux/pathrecorder.go), or a Status of reason
 * NotFound whose details name no kind (apimachinery, NewGenericServerResponse), in JSON or
 * protobuf. False for requests that name no resource, and for answers of servers behind the API
 * server. body is the whole body, without a content encoding.
 */
bool ek_route_is_unknown_type(const struct ek_proxy_request *request, const char *content_type,
                              struct ek_str body);

/*
 * True when an answer with the status 503 or 429 says that the API server starts or stops and did
 * nothing about the request: "apiserver is shutting down" (apiserver 1.36,
 * pkg/server/filters/waitgroup.go:waitGroupWriteRetryAfterToResponse), "The apiserver is shutting
 * down, please try again later." (pkg/server/filters/with_retry_after.go:WithRetryAfter), "the
 * request has been made before all known HTTP paths have been installed, please try again"
 * (pkg/util/notfoundhandler/not_found_handler.go:Handler.ServeHTTP), "apiserver not ready" (k3s,
 * pkg/util/apierrors.go:ErrAPINotReady); a Status in JSON or protobuf, the second one as text.
 * False for answers of servers behind the API server. body is the whole body, without a content
 * encoding.
 */
bool ek_route_is_refusal(const struct ek_proxy_request *request, int status,
                         const char *content_type, struct ek_str body);

#endif
