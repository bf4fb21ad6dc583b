/* SPDX-License-Identifier: Apache-2.0 */
/* What h2.c (the connection), h2_request.c and h2_response.c (the text of a stream) share. */
#ifndef CONTROLLER_PROXY_H2_INTERNAL_H
#define CONTROLLER_PROXY_H2_INTERNAL_H

#include <nghttp2/nghttp2.h>

#include "controller/proxy/h1.h"
#include "controller/proxy/h2.h"

/* Events in time: a bucket that empties by itself. Zeroed at first. */
struct ek_h2_bucket {
    int64_t level; /* thousandths of an event */
    int64_t at_ms;
};

/* The head of a request as it comes, and what is due of its body. */
struct ek_h2_request {
    struct ek_buf method, path, authority, host, cookie, length;
    struct ek_buf fields; /* lines of HTTP/1.1 */
    size_t size, n_fields;
    int refusal; /* 0: none */
    enum ek_h1_framing framing;
    uint64_t left; /* with EK_H1_LENGTH */
    bool ended;
};

struct ek_h2_conn {
    const struct ek_h2_config *config;
    const struct ek_h2_ops *ops;
    void *ctx;
    nghttp2_session *session;
    struct ek_buf out;
    struct ek_h2_stream *streams;
    size_t n_streams;
    struct ek_h2_bucket resets, controls;
    const char *abuse;
    int64_t now_ms;   /* of the call that is under way */
    int64_t since_ms; /* of the birth, or that the last stream is over */
    int64_t moved_ms; /* of the last progress of the socket, or since when there is output */
    int64_t block_ms; /* since when a head is incomplete; INT64_MAX: none is */
    int64_t warned_ms;
    size_t trailer_size;          /* of the trailers under way */
    struct ek_h2_stream *heading; /* whose head is not complete; NULL: none is */
    unsigned n_continuations;
    bool served;             /* a stream was opened */
    bool receiving, sending; /* nghttp2 is on the stack */
    bool warned, shut;       /* both steps of the shutdown */
    bool terminated;         /* by time */
    bool over, failed;       /* CLOSING, CLOSED */
};

struct ek_h2_stream {
    struct ek_h2_conn *h2;
    struct ek_h2_stream *prev, *next;
    int32_t id;
    void *owner; /* NULL: closed by it, or not known to it yet */
    struct ek_h2_request request;
    size_t unconsumed; /* octets of the body that the windows lack */
    struct ek_h1 response;
    size_t taken;  /* of the owner's output; it does not know yet */
    bool headed;   /* the final head went to nghttp2 */
    bool complete; /* so did the last octet of the body */
    bool deferred; /* nghttp2 waits for octets */
    bool waived;   /* the owner, or a response before the end of the request, had it reset */
    bool gone;     /* nghttp2 does not know it any more */
    bool dropped;  /* nothing of the head is kept (ek_h2_refuse_head) */
};

/* ---- h2_request.c ---- */

void ek_h2_request_init__(struct ek_h2_request *request, size_t max_head);
void ek_h2_request_done__(struct ek_h2_request *request);
/* The head was handed over: keeps the method alone. */
void ek_h2_request_forget__(struct ek_h2_request *request);
/* A field, of the pseudo ones too, as nghttp2 has checked it. */
void ek_h2_request_field__(struct ek_h2_request *request, struct ek_str name, struct ek_str value,
                           size_t max_head);
/* Appends the head to out in HTTP/1.1. ended: there is no body. Returns 0, or the status by which
 * the request is refused. */
int ek_h2_request_head__(struct ek_h2_request *request, bool ended, struct ek_buf *out);
/* Appends octets of the body, or its end; false when that differs from the head. Those of a request
 * that was refused are dropped. */
bool ek_h2_request_body__(struct ek_h2_request *request, const char *data, size_t len,
                          struct ek_buf *out);
bool ek_h2_request_end__(struct ek_h2_request *request, struct ek_buf *out);

/* ---- h2_response.c ---- */

/* Hands what the owner has of the response to nghttp2. */
void ek_h2_response_go_on__(struct ek_h2_stream *stream);
/* Has the owner know how much of its output was taken. */
void ek_h2_response_taken__(struct ek_h2_stream *stream);

/* ---- h2.c ---- */

/* Resets the stream, which is nobody's abuse. */
void ek_h2_stream_reset__(struct ek_h2_stream *stream, uint32_t code);

#endif
