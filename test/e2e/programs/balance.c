/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ek-balance: one address for several replicas, as a Service is. It takes TCP connections and
 * passes their bytes on to a backend, each to the next one; a backend that refuses is skipped. It
 * looks at nothing else: what is under way on a connection whose backend dies is lost, as it is
 * with a Service.
 *
 * usage: ek-balance LISTEN BACKEND...     addresses as "10.99.0.30:9443"
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "api/base/err.h"
#include "api/base/mem.h"
#include "controller/http/server.h"

#define BACKENDS_MAX 8
#define PIECE        ((size_t)64 * 1024)

static struct sockaddr_storage backends[BACKENDS_MAX];
static size_t n_backends, turn;

struct pair;

/* One end of a pair. */
struct side {
    uv_tcp_t tcp;
    uv_shutdown_t shutdown;
    struct pair *pair;
    struct side *other;
    bool ended; /* it will send no more */
};

struct pair {
    struct side client, backend;
    uv_connect_t connect;
    size_t first, tried; /* backends */
    int n_handles;
    bool closing;
};

/* A write and its bytes. */
struct piece {
    uv_write_t write;
    struct side *from;
    char data[];
};

static void on_closed(uv_handle_t *handle)
{
    struct pair *pair = ((struct side *)handle->data)->pair;

    if (--pair->n_handles == 0)
        ek_free(pair);
}

static void close_pair(struct pair *pair)
{
    if (pair->closing)
        return;
    pair->closing = true;
    uv_close((uv_handle_t *)&pair->client.tcp, on_closed);
    if (pair->n_handles > 1 && !uv_is_closing((uv_handle_t *)&pair->backend.tcp))
        uv_close((uv_handle_t *)&pair->backend.tcp, on_closed);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf);

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct piece *piece = ek_xalloc(sizeof *piece + PIECE);

    (void)suggested;
    piece->from = handle->data;
    *buf = uv_buf_init(piece->data, PIECE);
}

static struct piece *piece_of(const uv_buf_t *buf)
{
    return buf->base ? (struct piece *)(void *)(buf->base - offsetof(struct piece, data)) : NULL;
}

/* A side reads on when what it sent has been taken, so that nothing piles up. */
static void on_written(uv_write_t *write, int status)
{
    struct piece *piece = (struct piece *)(void *)write;
    struct side *from = piece->from;

    ek_free(piece);
    if (from->pair->closing)
        return;
    if (status < 0)
        close_pair(from->pair);
    else if (!from->ended)
        uv_read_start((uv_stream_t *)&from->tcp, on_alloc, on_read);
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
    struct side *side = request->data;

    if (status < 0 || (side->ended && side->other->ended))
        close_pair(side->pair);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct side *side = stream->data, *other = side->other;
    struct piece *piece = piece_of(buf);

    if (n <= 0) {
        ek_free(piece);
        if (n == 0)
            return;
        side->ended = true;
        uv_read_stop(stream);
        other->shutdown.data = other;
        if (n != UV_EOF ||
            uv_shutdown(&other->shutdown, (uv_stream_t *)&other->tcp, on_shutdown) < 0)
            close_pair(side->pair);
        return;
    }
    uv_buf_t out = uv_buf_init(piece->data, (unsigned)n);
    uv_read_stop(stream);
    if (uv_write(&piece->write, (uv_stream_t *)&other->tcp, &out, 1, on_written) < 0) {
        ek_free(piece);
        close_pair(side->pair);
    }
}

/* ---- Connecting ---- */

static void try_next(struct pair *pair);

static void on_refused(uv_handle_t *handle)
{
    struct pair *pair = ((struct side *)handle->data)->pair;

    pair->n_handles--;
    if (!pair->closing)
        try_next(pair);
    else if (pair->n_handles == 0)
        ek_free(pair);
}

static void on_connected(uv_connect_t *connect, int status)
{
    struct pair *pair = connect->data;

    if (pair->closing)
        return;
    if (status < 0) {
        uv_close((uv_handle_t *)&pair->backend.tcp, on_refused);
        return;
    }
    uv_read_start((uv_stream_t *)&pair->client.tcp, on_alloc, on_read);
    uv_read_start((uv_stream_t *)&pair->backend.tcp, on_alloc, on_read);
}

static void try_next(struct pair *pair)
{
    if (pair->tried == n_backends) {
        close_pair(pair);
        return;
    }
    const struct sockaddr_storage *addr = &backends[(pair->first + pair->tried++) % n_backends];
    uv_tcp_init(pair->client.tcp.loop, &pair->backend.tcp);
    uv_tcp_nodelay(&pair->backend.tcp, 1);
    pair->n_handles++;
    pair->connect.data = pair;
    if (uv_tcp_connect(&pair->connect, &pair->backend.tcp, (const struct sockaddr *)addr,
                       on_connected) < 0)
        uv_close((uv_handle_t *)&pair->backend.tcp, on_refused);
}

static void on_client(uv_stream_t *listener, int status)
{
    struct pair *pair = ek_xalloc(sizeof *pair);

    pair->client = (struct side){.pair = pair, .other = &pair->backend};
    pair->backend = (struct side){.pair = pair, .other = &pair->client};
    uv_tcp_init(listener->loop, &pair->client.tcp);
    pair->client.tcp.data = &pair->client;
    pair->backend.tcp.data = &pair->backend;
    pair->n_handles = 1;
    pair->first = turn++ % n_backends;
    if (status < 0 || uv_accept(listener, (uv_stream_t *)&pair->client.tcp) < 0) {
        close_pair(pair);
        return;
    }
    uv_tcp_nodelay(&pair->client.tcp, 1);
    try_next(pair);
}

static void parse(const char *text, struct sockaddr_storage *ret_addr)
{
    struct ek_err err;

    if (!ek_http_address_parse(text, ret_addr, &err))
        return;
    fprintf(stderr, "ek-balance: %s\n", err.message);
    exit(2);
}

int main(int argc, char **argv)
{
    struct sockaddr_storage addr;
    uv_tcp_t listener;
    uv_loop_t *loop = uv_default_loop();

    if (argc < 3 || argc - 2 > BACKENDS_MAX) {
        fprintf(stderr, "usage: ek-balance LISTEN BACKEND...\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    parse(argv[1], &addr);
    for (int i = 2; i < argc; i++)
        parse(argv[i], &backends[n_backends++]);
    uv_tcp_init(loop, &listener);
    int rc = uv_tcp_bind(&listener, (const struct sockaddr *)&addr, 0);
    if (!rc)
        rc = uv_listen((uv_stream_t *)&listener, 512, on_client);
    if (rc) {
        fprintf(stderr, "ek-balance: cannot listen on %s: %s\n", argv[1], uv_strerror(rc));
        return 1;
    }
    return uv_run(loop, UV_RUN_DEFAULT);
}
