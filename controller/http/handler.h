/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP as handlers see it: a request, a reply, and the table of routes. Used by every listener of
 * the process (metrics, health, webhooks); how bytes travel is in conn.h and server.h.
 *
 * A handler gets a whole request with its body in memory, within the limits of the server, and
 * answers exactly once by ek_http_reply_send or ek_http_reply_text: before it returns, or later
 * from the same thread. Until then request and reply are valid, even when the client has gone;
 * after it neither may be touched. Everything in a request is remote input. Threading: the loop
 * thread of the server; another thread may read the request but for remote, and call
 * ek_http_reply_is_orphan, until the reply is sent.
 */
#ifndef CONTROLLER_HTTP_HANDLER_H
#define CONTROLLER_HTTP_HANDLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/base/buf.h"

struct ek_http_header {
    const char *name; /* in lower case */
    const char *value;
};

/* All strings live as long as the request. */
struct ek_http_request {
    const char *method; /* "GET" */
    const char *path;   /* as it was sent, percent-encoded, without the query; starts with "/" */
    const char *query;  /* what follows "?", "" for none */
    const char *remote; /* the client, "127.0.0.1:4711"; "" when not known, and of an orphan */
    const char *user;   /* that a filter has authenticated (ek_http_reply_user); "" for none */
    const struct ek_http_header *headers;
    size_t n_headers;
    struct ek_str body; /* NUL-terminated all the same */
    bool cut;           /* the body was too long, and only its beginning is here: see routes */
    int64_t began_ms;   /* when its first byte was seen, on the monotonic clock of the loop */
};

/* What a handler gets of a body that was cut. */
#define EK_HTTP_CUT_MAX ((size_t)4096)

struct ek_http_reply;

typedef void (*ek_http_handler_fn)(void *ctx, const struct ek_http_request *request,
                                   struct ek_http_reply *reply);

/* A row of the table. The longest matching path wins. All is borrowed for the server's life. */
struct ek_http_route {
    const char *path;    /* "/metrics" */
    bool subtree;        /* also serves what is below path ("/metrics/...") */
    const char *methods; /* "GET" or "POST PUT"; GET includes HEAD; NULL allows any */
    size_t max_body;     /* largest request body; 0 means the server's limit */
    /* Of a longer body, up to 16 times as long, the handler gets the first octets (at most
     * EK_HTTP_CUT_MAX), and the rest is read and dropped; else it is refused with 413. For handlers
     * whose clients take a refusal for consent. */
    bool cut_body;
    ek_http_handler_fn handler;
    void *ctx;
};

/* What a server allows a client; 0 in any member means the default in brackets. */
struct ek_http_limits {
    size_t max_head;              /* request line and headers, bytes [64 KiB] */
    size_t max_body;              /* request body, bytes [1 MiB] */
    int64_t handshake_timeout_ms; /* for the whole TLS handshake [10 s]: Go's TLSHandshakeTimeout */
    int64_t head_timeout_ms;      /* from the first byte, or the end of the handshake, to the end of
                                     the headers [10 s] */
    int64_t body_timeout_ms;      /* for the whole body [30 s] */
    int64_t reply_timeout_ms;     /* for the handler; then 503 is answered [60 s] */
    int64_t idle_timeout_ms;      /* between requests [90 s] */
    int64_t write_timeout_ms;     /* without progress in sending [10 s] */
    int64_t rate_grace_ms;        /* a body or reply may take this long at any rate [5 s], */
    size_t min_rate;              /* and as long as its bytes take at this many a second [64 KiB] */
};

/* The first header of that name (lower case), NULL when there is none. */
const char *ek_http_request_header(const struct ek_http_request *request, const char *name);

/* Calls fn for each name=value of a query, decoded (application/x-www-form-urlencoded); a name
 * without "=" has the value "". */
void ek_http_query_each(const char *query,
                        void (*fn)(void *ctx, const char *name, const char *value), void *ctx);

/* Notes the user (copied) of the request, for handlers behind the filter that has authenticated the
 * client. To be called once, before the handler. */
void ek_http_reply_user(struct ek_http_reply *reply, const char *user);

/* Says of a request that its client is known: new connections and requests from its address go
 * before those of strangers for a while (turns.h). To be called before the reply is sent. */
void ek_http_reply_vouch(struct ek_http_reply *reply);

/* Adds a header to the reply; call it before sending. Control characters become blanks. Length,
 * type, date and connection are set by the server. */
void ek_http_reply_header(struct ek_http_reply *reply, const char *name, const char *value);

/* Whether the listener may hold an answer of size bytes until the client has read it. If not,
 * ek_http_reply_send would answer 503 in its place. True for an orphan. */
bool ek_http_reply_fits(struct ek_http_reply *reply, size_t size);

/* Answers; content_type NULL means none. body is copied. What does not fit becomes a 503. */
void ek_http_reply_send(struct ek_http_reply *reply, int status, const char *content_type,
                        const void *body, size_t size);

/* Answers with a line of plain text (a new line is added), as Go's http.Error does. */
void ek_http_reply_text(struct ek_http_reply *reply, int status, const char *text);

/* True when the client of the reply has gone; long work may be cut short. The reply must be sent
 * all the same. Any thread. */
bool ek_http_reply_is_orphan(const struct ek_http_reply *reply);

/* The route for a path, NULL when none matches. */
const struct ek_http_route *ek_http_route_find(const struct ek_http_route *routes, size_t n,
                                               const char *path);

/* True when the route serves the method. */
bool ek_http_route_allows(const struct ek_http_route *route, const char *method);

#endif
