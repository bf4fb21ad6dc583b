/* SPDX-License-Identifier: Apache-2.0 */
/* What conn.c (states), conn_parse.c (requests) and conn_reply.c (replies) share. */
#ifndef CONTROLLER_HTTP_CONN_INTERNAL_H
#define CONTROLLER_HTTP_CONN_INTERNAL_H

#include <llhttp.h>
#include <stdatomic.h>

#include "controller/http/conn.h"

/* Headers beyond this many are refused. */
#define EK_HTTP_HEADERS_MAX 100

/* A request and the reply to it. Owned by its connection until that ends or the reply is sent;
 * from then on by the owner of the reply. */
struct ek_http_reply {
    struct ek_http_conn *conn; /* NULL when it is gone or has given up waiting */
    struct ek_http_request request;
    char *user; /* owned; NULL for none */
    const struct ek_http_route *route;
    struct ek_buf head; /* target, then names and values, each with its NUL */
    struct ek_buf body;
    size_t body_size; /* octets of the body so far, including dropped octets */
    size_t starts[2 * EK_HTTP_HEADERS_MAX]; /* offsets in head of names and values */
    struct ek_http_header headers[EK_HTTP_HEADERS_MAX];
    size_t n_headers;
    size_t head_size;    /* bytes that count against the limit */
    struct ek_buf extra; /* header lines of the reply */
    char method[24];
    bool keep_alive;
    bool in_handler; /* the handler has not returned yet */
    bool sent;
    atomic_bool orphan;            /* conn is NULL; for any thread */
    struct ek_http_budget *budget; /* of an orphan: where its bytes go back to */
    size_t charged;                /* of an orphan: its bytes in there */
};

struct ek_http_conn {
    const struct ek_http_conn_config *config;
    enum ek_http_conn_state state;
    int64_t deadline_ms;       /* of the state; 0: its time begins with the next call */
    int64_t since_ms;          /* that it is in the state; in BODY: that it is in HEAD */
    int64_t body_ms;           /* that it is in BODY */
    int64_t write_ms;          /* since when there is output */
    int64_t write_deadline_ms; /* while there is output; 0: its time has not begun */
    llhttp_t parser;
    struct ek_http_reply *reply; /* the request under way; NULL in IDLE, CLOSING and CLOSED */
    int reject;                  /* status that the parser's callbacks chose, 0 for none */
    bool in_name;                /* the parser is in a header's name */
    size_t body_max;             /* of the request under way */
    bool in_body;                /* headers are complete: what comes as headers are trailers */
    bool eof, draining;
    bool served;    /* a request has been answered: silence is idleness from now on */
    bool held;      /* in HANDLER: the request is costly, and run hands it over */
    bool vouched;   /* a handler has vouched for the client */
    size_t charged; /* bytes taken from the budget */
    size_t outside; /* of which the owner holds, besides base_bytes */
    enum ek_http_fault fault;
    bool last;            /* after the next reply it ends */
    struct ek_buf input;  /* not parsed yet */
    struct ek_buf output; /* to be sent */
    size_t n_sent;        /* bytes of output that are already sent */
    char *remote;         /* owned */
    void (*wake)(void *ctx);
    void *ctx;
    int64_t now_ms;  /* of the call that is under way */
    int64_t came_ms; /* when the owner read what came last; 0: not known */
};

/* conn_parse.c: makes conn ready for a new request. */
void ek_http_parse_begin__(struct ek_http_conn *conn);

/* conn_parse.c: parses bytes of one request. Returns how many were used; *ret_done is set when the
 * request is complete, conn->reject when it must be refused. */
size_t ek_http_parse__(struct ek_http_conn *conn, const char *data, size_t len, bool *ret_done);

/* conn_reply.c */
struct ek_http_reply *ek_http_reply_new__(struct ek_http_conn *conn);
void ek_http_reply_free__(struct ek_http_reply *reply);

/* conn_reply.c: appends an error reply that ends the connection. */
void ek_http_put_error__(struct ek_http_conn *conn, int status);

/* hold.c: of so much output, the copy that the owner makes to send it. */
size_t ek_http_sending__(size_t pending);

/* hold.c: takes n bytes more for the connection, making room if need be. */
bool ek_http_room__(struct ek_http_conn *conn, size_t n);

/* hold.c: whether n bytes more may come, of a body or an answer: there is room, or can be made. */
bool ek_http_expect__(struct ek_http_conn *conn, size_t n);

/* hold.c: makes what is taken what is held. False when that is more than there is room for. */
bool ek_http_settle__(struct ek_http_conn *conn);

/* hold.c: the reply leaves the connection, with its bytes. */
void ek_http_part__(struct ek_http_conn *conn, struct ek_http_reply *reply);

/* conn.c: the reply to the request under way is in the output. */
void ek_http_replied__(struct ek_http_conn *conn);

#endif
