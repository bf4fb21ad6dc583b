/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of HTTP/2, by nghttp2, without a socket: bytes go in and out. What it lets the server
 * send is in the test's hand.
 */
#ifndef TEST_SUPPORT_H2_CLIENT_H
#define TEST_SUPPORT_H2_CLIENT_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>

#include "api/base/buf.h"

#define H2_CLIENT_STREAMS 1024

struct h2_client_stream {
    int32_t id;
    int status, n_informational;
    struct ek_buf head; /* "name: value\n", without :status */
    struct ek_buf body;
    uint64_t body_size; /* where the body is not kept */
    bool ended, closed;
    uint32_t code; /* why it was closed */
    size_t upload; /* octets of the request's body that are left */
};

struct h2_client {
    nghttp2_session *session;
    struct ek_buf out;
    struct h2_client_stream streams[H2_CLIENT_STREAMS]; /* in the order of their requests */
    size_t n_streams, n_closed;
    bool forget_bodies;
    bool trailers; /* follow the body of a request: the test submits them */
    bool goaway;
    uint32_t goaway_code;
    int32_t last_stream;
    size_t n_ping_acks;
};

/* window: what each stream and the connection may bring before the client says that it has read;
 * 0: the client says so at once. */
void h2_client_init(struct h2_client *client, uint32_t window);
void h2_client_done(struct h2_client *client);

/* A request; fields: "name: value\n" lines, pseudo ones included, which replace the usual ones;
 * upload: octets of a body ('u' each), 0 for none. */
struct h2_client_stream *h2_client_request(struct h2_client *client, const char *method,
                                           const char *path, const char *fields, size_t upload);

/* A field of the response, "" when there is none; until the next call. */
const char *h2_client_field(const struct h2_client_stream *stream, const char *name);

/* What came from the server; false when that is no HTTP/2. */
bool h2_client_input(struct h2_client *client, const char *data, size_t len);

/* Appends what goes to the server to out. */
void h2_client_output(struct h2_client *client);

#endif
