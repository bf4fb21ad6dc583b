/* SPDX-License-Identifier: Apache-2.0 */
/* What http_conn.c (states), http_parse.c (requests) and http_reply.c (replies) share. */
#ifndef CONTROLLER_HTTP_CONN_INTERNAL_H
#define CONTROLLER_HTTP_CONN_INTERNAL_H

#include <llhttp.h>

#include "controller/http_conn.h"

/* Headers beyond this many are refused. */
#define EK_HTTP_HEADERS_MAX 100

/* A request and the reply to it. Owned by its connection until that ends or the reply is sent;
 * from then on by whoever has the reply. */
struct ek_http_reply {
    struct ek_http_conn *conn; /* NULL when it is gone or has given up waiting */
    struct ek_http_request request;
    const struct ek_http_route *route;
    struct ek_buf head; /* target, then names and values, each with its NUL */
    struct ek_buf body;
    size_t starts[2 * EK_HTTP_HEADERS_MAX]; /* offsets in head of names and values */
    struct ek_http_header headers[EK_HTTP_HEADERS_MAX];
    size_t n_headers;
    size_t head_size;    /* bytes that count against the limit */
    struct ek_buf extra; /* header lines of the reply */
    char method[24];
    bool keep_alive;
    bool in_handler; /* the handler has not returned yet */
    bool sent;
};

struct ek_http_conn {
    const struct ek_http_conn_config *config;
    enum ek_http_conn_state state;
    int64_t deadline_ms;       /* of the state */
    int64_t write_deadline_ms; /* while there is output */
    llhttp_t parser;
    struct ek_http_reply *reply; /* the request under way; NULL in IDLE, CLOSING and CLOSED */
    int reject;                  /* status that the parser's callbacks chose, 0 for none */
    bool in_name;                /* the parser is in a header's name */
    bool in_body;                /* headers are complete: what comes as headers are trailers */
    bool eof, draining;
    bool last;            /* after the next reply it ends */
    struct ek_buf input;  /* not parsed yet */
    struct ek_buf output; /* to be sent */
    size_t n_sent;        /* bytes of output that are already sent */
    char *remote;         /* owned */
    void (*wake)(void *ctx);
    void *ctx;
    int64_t now_ms; /* of the call that is under way */
};

/* http_parse.c: makes conn ready for a new request. */
void ek_http_parse_begin__(struct ek_http_conn *conn);

/* http_parse.c: parses bytes of one request. Returns how many were used; *ret_done is set when the
 * request is complete, conn->reject when it must be refused. */
size_t ek_http_parse__(struct ek_http_conn *conn, const char *data, size_t len, bool *ret_done);

/* http_reply.c */
struct ek_http_reply *ek_http_reply_new__(struct ek_http_conn *conn);
void ek_http_reply_free__(struct ek_http_reply *reply);

/* http_reply.c: appends an error reply that ends the connection. */
void ek_http_put_error__(struct ek_http_conn *conn, int status);

/* http_conn.c: the reply to the request under way is in the output. */
void ek_http_replied__(struct ek_http_conn *conn);

#endif
