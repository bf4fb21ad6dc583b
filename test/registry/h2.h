/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server of HTTP/2 by prior knowledge on a uv loop, for gRPC answers and for answers that a
 * client must not fall for.
 *
 * Threading: the loop thread.
 */
#ifndef TEST_REGISTRY_H2_H
#define TEST_REGISTRY_H2_H

#include <stdbool.h>
#include <uv.h>

#include "api/base/buf.h"

struct ek_h2;

/* What a request is answered with. */
struct ek_h2_reply {
    int status;               /* 200 at the start */
    const char *content_type; /* "application/grpc" at the start */
    struct ek_buf body;       /* empty at the start; the server releases it */
    bool endless;             /* the body comes again and again */
    bool hang;                /* after the body nothing comes, not even the end */
    bool reset;               /* after the body the stream is reset */
    int grpc_status;          /* in the trailers; -1 for none; 0 at the start */
    const char *grpc_message; /* NULL for none */
    size_t n_filler;          /* trailers of 1000 bytes before the others */
};

/* Called for each whole request. */
typedef void (*ek_h2_fn)(void *ctx, const char *path, struct ek_str body,
                         struct ek_h2_reply *reply);

/* Listens at 127.0.0.1:port; 0 for a port of the kernel's choice. Returns NULL with a message on
 * standard error when that fails. */
struct ek_h2 *ek_h2_new(uv_loop_t *loop, int port, ek_h2_fn fn, void *ctx);

int ek_h2_port(const struct ek_h2 *h2);

/* Closes the listener and all connections; the server releases itself when that is done. */
void ek_h2_close(struct ek_h2 *h2);

#endif
