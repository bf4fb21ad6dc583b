/* SPDX-License-Identifier: Apache-2.0 */
/* What proxy.c (the listener), connection.c (one client), front.c (its requests), exchange.c (one
 * request) and discovery.c share. */
#ifndef CONTROLLER_PROXY_PROXY_INTERNAL_H
#define CONTROLLER_PROXY_PROXY_INTERNAL_H

#include "api/base/map.h"
#include "controller/proxy/cap.h"
#include "controller/proxy/grants.h"
#include "controller/proxy/h2.h"
#include "controller/proxy/pool.h"
#include "controller/proxy/proxy.h"
#include "controller/proxy/relay.h"
#include "controller/proxy/remakes.h"
#include "reconcilers/proxy/openapi_view.h"

/* An address from which clients come. */
struct ek_proxy_client {
    char *ip; /* owned; the key */
    size_t connections, requests, streams;
    size_t head_octets, body_octets; /* its part of the proxy's */
};

/* An API server as this loop knows it. */
struct ek_proxy_load {
    char *name; /* owned; the key */
    size_t in_flight;
    unsigned long long requests;
};

/* The request of a front that is under way. Zeroed between requests. */
struct ek_proxy_exchange {
    bool busy;
    struct ek_proxy_request request;
    struct ek_negotiate_choice choice;
    struct ek_remakes_wait remake;       /* of discovery, while it is being made */
    struct ek_openapi_document document; /* of OpenAPI */
    bool indexing;                       /* for the index of OpenAPI, which is merged */
    struct ek_proxy_gather *gather; /* for /openapi/v2, which is merged; owned. NULL: it is not */
    char *accept, *accept_encoding, *if_none_match, *user_agent; /* owned */
    struct ek_identity_result identity;
    struct ek_buf head;               /* as it is forwarded */
    struct ek_view *view;             /* of the whole request */
    uint8_t marks[EK_VIEW_PEERS_MAX]; /* enum ek_route_mark */
    bool asking;                      /* for the permission to see discovery */
    struct ek_grants_key grant;       /* of the request by which that is asked for */
    bool unaccepted;                  /* the API server answered 401 to our credentials */
    size_t head_octets;               /* counted in the proxy's */
    size_t field_octets;     /* of these: the client's lines, split into names and values */
    bool forwarded;          /* the relay has the head */
    bool relayed;            /* an API server's response went to the client */
    bool unrouted;           /* no API server could be asked */
    bool counted;            /* in the client's requests */
    size_t peer;             /* of the view; the one that has it, or had it last */
    char *peer_name;         /* owned */
    bool tried;              /* peer is set */
    char *content_type;      /* of a response that is held; owned */
    const char *limit;       /* that forbids to collect the response; NULL: none */
    enum ek_route_mark held; /* what that response says; EK_ROUTE_UNTRIED: none is held */
    char method[24];
    uint64_t start_ns;
    unsigned attempts;
};

/* One connection of a client. It has the wire, whose bytes are those of its front (HTTP/1.1) or of
 * h2. */
struct ek_proxy_conn {
    struct ek_proxy *proxy;
    struct ek_proxy_conn *prev, *next;
    struct ek_wire *wire;
    struct ek_h2_conn *h2;         /* NULL: HTTP/1.1, or not known yet */
    struct ek_proxy_front *fronts; /* one for HTTP/1.1, one for each stream of HTTP/2 */
    uv_timer_t timer;
    struct ek_proxy_client *client;
    char remote[64]; /* "ip:port" */
    struct ek_tls_subject subject;
    bool has_subject;
    bool unverified; /* its certificate could not be verified */
    bool outdated;   /* the authorities of clients have changed since */
    struct ek_route_memory memory;
    int64_t due_ms; /* of the handshake, and of the end of HTTP/2; INT64_MAX: none */
    int64_t idle_since_ms;
    size_t head_octets; /* of HTTP/2: of a head that is not complete; counted in the proxy's */
    size_t waiting;     /* of its wire, h2 and fronts; counted in the proxy's */
    size_t own_waiting; /* of these: of its wire and h2 */
    int64_t moved_ms;   /* when some of these moved on last, or since when there are some */
    bool closing;
    int n_open; /* wire, timer and fronts */
};

/* The requests of a connection of HTTP/1.1, or a stream of HTTP/2. */
struct ek_proxy_front {
    struct ek_proxy *proxy;
    struct ek_proxy_conn *conn;
    struct ek_proxy_front *prev, *next;
    struct ek_h2_stream *stream; /* NULL: HTTP/1.1, on the wire of the connection */
    struct ek_relay *relay;
    uv_timer_t timer;
    struct ek_proxy_exchange exchange;
    struct ek_pool_conn *peer; /* of the request under way */
    bool peer_ready;
    int64_t dial_due_ms, answer_due_ms; /* INT64_MAX: none */
    int64_t look_due_ms;                /* while there is a peer */
    int64_t linger_due_ms;              /* INT64_MAX: does not */
    size_t head_octets; /* of HTTP/1.1: of heads that are not complete; counted in the proxy's */
    size_t body_octets; /* of what is collected, or waits whole; counted in the proxy's */
    size_t waiting;     /* octets in both directions, body_octets excluded; counted in its conn's */
    bool watch;         /* the response under way is one of a watch */
    bool upgrade_counted;
    bool closing;
    int n_open; /* the timer, and the wire of HTTP/1.1 */
    bool running, again;
};

struct ek_proxy {
    uv_loop_t *loop;
    const struct ek_proxy_config *config;
    struct ek_proxy_options options; /* no zeros */
    struct ek_relay_config relay_config;
    struct ek_h2_config h2_config;
    uv_tcp_t listener;
    uv_timer_t grace;
    struct ek_cap cap;     /* of octets to and from API servers */
    uv_timer_t cap_timer;  /* runs while the cap holds somebody back */
    uv_timer_t room_timer; /* runs when too many octets wait */
    char address[64];
    struct ek_pool *pool;
    struct ek_grants *grants;    /* NULL: none are kept */
    struct ek_proxy_conn *conns; /* the newest first */
    struct ek_map clients;       /* struct ek_proxy_client by IP */
    struct ek_map loads;         /* struct ek_proxy_load by name */
    struct ek_proxy_stats stats;
    struct ek_remakes *remakes;
    size_t upgrades, streams, head_octets, body_octets, waiting, gathers; /* under way */
    size_t turn;
    bool draining, listening, closing, pool_closed;
    int n_handles;
    void (*on_closed)(void *ctx);
    void *ctx;
};

static inline int64_t ek_proxy_now__(const struct ek_proxy *proxy)
{
    return (int64_t)uv_now(proxy->loop);
}

/* ---- connection.c ---- */
void ek_conn_accept__(struct ek_proxy *proxy);
void ek_conn_drain__(struct ek_proxy_conn *conn);
void ek_conn_close__(struct ek_proxy_conn *conn, bool reset);
/* Goes on with the wire of HTTP/2. */
void ek_conn_go_on__(struct ek_proxy_conn *conn);
/* Counts the octets that wait in the wire and in h2. */
void ek_conn_count_waiting__(struct ek_proxy_conn *conn);
/* One of n_open is gone. */
void ek_conn_released__(struct ek_proxy_conn *conn);

/* ---- front.c ---- */
/* Goes on with both sides. */
void ek_front_go_on__(struct ek_proxy_front *front);
extern const struct ek_wire_ops ek_front_client_ops__; /* ctx: the front */
/* stream: NULL for HTTP/1.1. */
struct ek_proxy_front *ek_front_new__(struct ek_proxy_conn *conn, struct ek_h2_stream *stream);
/* ctx: the front, whose request HTTP/2 refuses with that status. */
void ek_front_refuse__(void *ctx, int status);
void ek_front_drain__(struct ek_proxy_front *front);
void ek_front_close__(struct ek_proxy_front *front, bool reset);
/* Takes a connection for the request; false with *ret_why when there is none. */
bool ek_front_connect__(struct ek_proxy_front *front, const struct ek_pool_target *target,
                        const char **ret_why);

/* ---- proxy.c ---- */
/* One of n_handles is gone. */
void ek_proxy_released__(struct ek_proxy *proxy);
void ek_proxy_gone__(struct ek_proxy *proxy, struct ek_proxy_conn *conn);
/* Whether octets to (up) or from API servers must wait; then the fronts go on later. */
bool ek_proxy_holds__(struct ek_proxy *proxy, bool up);
/* Replaces what somebody of the client counts in the heads; false when that is more than before,
 * and beyond the limit of the client or of the proxy, which is counted. */
bool ek_proxy_count_heads__(struct ek_proxy *proxy, struct ek_proxy_client *client, size_t *counted,
                            size_t now);
/* Replaces what the front counts in the bodies that are in memory whole. Returns NULL, or the limit
 * that forbids more; then nothing changes. */
const char *ek_proxy_count_body__(struct ek_proxy_front *front, size_t octets);
/* Replaces what a part of the connection counts in the octets that wait. Too many of them end
 * connections soon, from the loop. */
void ek_proxy_count_waiting__(struct ek_proxy_conn *conn, size_t *counted, size_t now);
/* So many octets wait that who has some gets no more. */
bool ek_proxy_is_filled__(const struct ek_proxy *proxy);
struct ek_proxy_load *ek_proxy_load__(struct ek_proxy *proxy, const char *name);

/* ---- exchange.c, identify.c ---- */
extern const struct ek_relay_ops ek_exchange_ops__; /* ctx: the front */
void ek_exchange_forward__(struct ek_proxy_front *front);
/* Counts the request in the limits of its client; false at one of them, which is answered. */
bool ek_exchange_is_allowed__(struct ek_proxy_front *front);
/* Hands the request to that API server of the view; false when there is no connection. */
bool ek_exchange_send__(struct ek_proxy_front *front, size_t i);
/* Answers at a limit, and counts that. */
void ek_exchange_refuse__(struct ek_proxy_front *front, int code, const char *limit,
                          const char *text);
void ek_exchange_answer__(struct ek_proxy_front *front, const struct ek_proxy_answer *answer);

/* As ek_exchange_answer__. After a 400 nothing more is read of the connection: what follows may be
 * a body to another reader (RFC 9112, 11.2). */
void ek_exchange_answer_ambiguous__(struct ek_proxy_front *front,
                                    const struct ek_proxy_answer *answer);
/* Answers by a document, whose octets wait for the client whole; by 429 where too many do. */
void ek_exchange_answer_document__(struct ek_proxy_front *front, int code, struct ek_str fields,
                                   struct ek_str body);
/* Appends the header lines for the API server; false when the request is refused, which is
 * answered. headers: as they came, or changed. */
bool ek_exchange_identify__(struct ek_proxy_front *front, const struct ek_identity_pair *headers,
                            size_t n_headers);
/* The response says that the API server does not accept the account that impersonates. The client
 * gets 503: it is not to believe that its certificate is refused. */
bool ek_exchange_is_unaccepted__(const struct ek_proxy_front *front, int status);
void ek_exchange_unaccepted__(struct ek_proxy_front *front);
/* The request has a connection, which is ready. */
void ek_exchange_sent__(struct ek_proxy_front *front);
/* The newest view says that the API server of the request is down. */
bool ek_exchange_peer_is_down__(const struct ek_proxy_front *front);

/* ---- discovery.c ---- */

/* Begins to answer the request, if it is one for discovery; false when it is not. */
bool ek_discovery_begin__(struct ek_proxy_front *front, const struct ek_h1_head *head);
/* The API server has granted it now. */
void ek_discovery_granted__(struct ek_proxy_front *front);

/* ---- openapi.c ---- */

/* Notes what a request for OpenAPI is about; true when it is answered already. */
bool ek_openapi_begin__(struct ek_proxy_front *front, const struct ek_h1_head *head);
/* Decides how the index that an API server sends is relayed. */
enum ek_relay_fate ek_openapi_collect__(struct ek_proxy_front *front,
                                        const struct ek_h1_head *head);
/* The API server has sent its index: answers with the merged one; false when it is none. */
bool ek_openapi_answer__(struct ek_proxy_front *front, struct ek_str index);
/* Adds a Warning header to a response that goes to the client unmerged, if the API servers serve
 * different resources. */
void ek_openapi_announce__(struct ek_proxy_front *front);

/* ---- gather.c ---- */

/* Notes that a request for /openapi/v2 needs several API servers; true when it is answered already.
 */
bool ek_proxy_gather_begin__(struct ek_proxy_front *front, const struct ek_h1_head *head);
/* Whether the response belongs to the document, and then what becomes of it. */
bool ek_proxy_gather_response__(struct ek_proxy_front *front, const struct ek_h1_head *head,
                                enum ek_relay_fate *ret_fate);
/* An API server has granted the document: what others say goes to no client. */
bool ek_proxy_gather_is_granted__(const struct ek_proxy_exchange *exchange);
/* The response is complete: takes it, and goes on with the next API server. */
void ek_proxy_gather_held__(struct ek_proxy_front *front, struct ek_str body);
/* Goes on with the next API server, or merges. */
void ek_proxy_gather_next__(struct ek_proxy_front *front);
/* The request is over. NULL is fine. */
void ek_proxy_gather_end__(struct ek_proxy_gather *gather);

#endif
