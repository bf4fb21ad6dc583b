/* SPDX-License-Identifier: Apache-2.0 */
#include "test/registry/h2.h"

#include <arpa/inet.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <sys/queue.h>

#define QUEUE_MAX ((size_t)256 * 1024) /* bytes that wait for a slow client */
#define BODY_MAX  ((size_t)64 * 1024)  /* of a request */

TAILQ_HEAD(streams, stream);

struct connection {
    TAILQ_ENTRY(connection) link;
    struct streams streams;
    uv_tcp_t tcp;
    struct ek_h2 *h2;
    nghttp2_session *session;
    char buffer[16384];
    bool closing;
};

TAILQ_HEAD(connections, connection);

struct ek_h2 {
    uv_tcp_t listener;
    uv_loop_t *loop;
    ek_h2_fn fn;
    void *ctx;
    struct connections connections;
    bool closing, listener_closed;
};

struct stream {
    TAILQ_ENTRY(stream) link;
    struct connection *connection;
    char path[256];
    struct ek_buf body;
    struct ek_h2_reply reply;
    size_t sent; /* of reply.body */
};

struct write {
    uv_write_t request;
    struct connection *connection;
    char data[];
};

static void flush(struct connection *connection);

static void maybe_free(struct ek_h2 *h2)
{
    if (h2->closing && h2->listener_closed && TAILQ_EMPTY(&h2->connections))
        ek_free(h2);
}

static void free_stream(struct stream *stream)
{
    TAILQ_REMOVE(&stream->connection->streams, stream, link);
    ek_buf_done(&stream->body);
    ek_buf_done(&stream->reply.body);
    ek_free(stream);
}

static void on_connection_closed(uv_handle_t *handle)
{
    struct connection *connection = handle->data;
    struct ek_h2 *h2 = connection->h2;
    struct stream *stream;

    TAILQ_REMOVE(&h2->connections, connection, link);
    nghttp2_session_del(connection->session);
    while ((stream = TAILQ_FIRST(&connection->streams)))
        free_stream(stream);
    ek_free(connection);
    maybe_free(h2);
}

static void close_connection(struct connection *connection)
{
    if (connection->closing)
        return;
    connection->closing = true;
    uv_close((uv_handle_t *)&connection->tcp, on_connection_closed);
}

static void on_written(uv_write_t *request, int status)
{
    struct write *write = request->data;
    struct connection *connection = write->connection;

    ek_free(write);
    if (status)
        close_connection(connection);
    else
        flush(connection);
}

/* Sends what the session has, as long as the client takes it. */
static void flush(struct connection *connection)
{
    const uint8_t *data;

    while (!connection->closing &&
           uv_stream_get_write_queue_size((uv_stream_t *)&connection->tcp) < QUEUE_MAX) {
        ssize_t n = nghttp2_session_mem_send(connection->session, &data);
        if (n == 0 && !nghttp2_session_want_read(connection->session) &&
            !nghttp2_session_want_write(connection->session))
            close_connection(connection);
        if (n <= 0)
            return;
        struct write *write = ek_xalloc(sizeof *write + (size_t)n);
        write->connection = connection;
        write->request.data = write;
        memcpy(write->data, data, (size_t)n);
        uv_buf_t buf = uv_buf_init(write->data, (unsigned)n);
        if (uv_write(&write->request, (uv_stream_t *)&connection->tcp, &buf, 1, on_written)) {
            ek_free(write);
            close_connection(connection);
        }
    }
}

static nghttp2_nv header(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                        strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static void submit_trailers(nghttp2_session *session, int32_t id, const struct ek_h2_reply *reply)
{
    static char filler[1001];
    char status[16];
    nghttp2_nv trailers[202];
    size_t n = 0;

    memset(filler, 'x', sizeof filler - 1);
    snprintf(status, sizeof status, "%d", reply->grpc_status);
    for (; n < reply->n_filler && n < 200; n++)
        trailers[n] = header("x-filler", filler);
    if (reply->grpc_status >= 0)
        trailers[n++] = header("grpc-status", status);
    if (reply->grpc_message)
        trailers[n++] = header("grpc-message", reply->grpc_message);
    nghttp2_submit_trailer(session, id, trailers, n);
}

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *out, size_t size,
                         uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
    struct stream *stream = source->ptr;
    struct ek_h2_reply *reply = &stream->reply;
    size_t n = reply->body.len - stream->sent;

    (void)ctx;
    n = n < size ? n : size;
    if (n > 0)
        memcpy(out, reply->body.data + stream->sent, n);
    stream->sent += n;
    if (stream->sent < reply->body.len)
        return (ssize_t)n;
    if (reply->endless && reply->body.len > 0) {
        stream->sent = 0;
        return (ssize_t)n;
    }
    if (n == 0 && reply->hang)
        return NGHTTP2_ERR_DEFERRED;
    if (n == 0 && reply->reset) {
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_INTERNAL_ERROR);
        return NGHTTP2_ERR_DEFERRED;
    }
    if (reply->hang || reply->reset)
        return (ssize_t)n;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (reply->grpc_status >= 0 || reply->n_filler > 0) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        submit_trailers(session, id, reply);
    }
    return (ssize_t)n;
}

static void answer(nghttp2_session *session, int32_t id, struct stream *stream)
{
    struct ek_h2 *h2 = stream->connection->h2;
    nghttp2_data_provider provider = {.source.ptr = stream, .read_callback = read_body};
    char status[16];

    stream->reply.status = 200;
    stream->reply.content_type = "application/grpc";
    ek_buf_init(&stream->reply.body, (size_t)64 << 20);
    h2->fn(h2->ctx, stream->path, (struct ek_str){ek_buf_str(&stream->body), stream->body.len},
           &stream->reply);
    snprintf(status, sizeof status, "%d", stream->reply.status);
    nghttp2_nv head[] = {header(":status", status),
                         header("content-type", stream->reply.content_type)};
    nghttp2_submit_response(session, id, head, EK_ARRAY_SIZE(head), &provider);
}

static int on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct stream *stream = ek_xalloc(sizeof *stream);

    stream->connection = ctx;
    TAILQ_INSERT_TAIL(&stream->connection->streams, stream, link);
    ek_buf_init(&stream->body, BODY_MAX);
    return nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, stream);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *ctx)
{
    struct stream *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

    (void)flags, (void)ctx;
    if (stream && name_len == 5 && !memcmp(name, ":path", 5))
        snprintf(stream->path, sizeof stream->path, "%.*s", (int)value_len, (const char *)value);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t len, void *ctx)
{
    struct stream *stream = nghttp2_session_get_stream_user_data(session, id);

    (void)flags, (void)ctx;
    return stream && ek_buf_append(&stream->body, data, len) ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct stream *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

    (void)ctx;
    if (stream && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) &&
        (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS))
        answer(session, frame->hd.stream_id, stream);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *ctx)
{
    struct stream *stream = nghttp2_session_get_stream_user_data(session, id);

    (void)code, (void)ctx;
    if (stream)
        free_stream(stream);
    return 0;
}

static nghttp2_session *new_session(struct connection *connection)
{
    nghttp2_session_callbacks *callbacks;
    nghttp2_session *session;
    static const nghttp2_settings_entry settings = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 100};

    if (nghttp2_session_callbacks_new(&callbacks))
        abort();
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    if (nghttp2_session_server_new(&session, callbacks, connection))
        abort();
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, &settings, 1);
    return session;
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    struct connection *connection = handle->data;

    (void)size;
    *buf = uv_buf_init(connection->buffer, sizeof connection->buffer);
}

static void on_read(uv_stream_t *tcp, ssize_t n, const uv_buf_t *buf)
{
    struct connection *connection = tcp->data;

    if (n < 0 ||
        nghttp2_session_mem_recv(connection->session, (const uint8_t *)buf->base, (size_t)n) < 0)
        close_connection(connection);
    else
        flush(connection);
}

static void on_connect(uv_stream_t *listener, int status)
{
    struct ek_h2 *h2 = listener->data;

    if (status || h2->closing)
        return;
    struct connection *connection = ek_xalloc(sizeof *connection);
    connection->h2 = h2;
    TAILQ_INIT(&connection->streams);
    connection->session = new_session(connection);
    uv_tcp_init(h2->loop, &connection->tcp);
    connection->tcp.data = connection;
    TAILQ_INSERT_TAIL(&h2->connections, connection, link);
    if (uv_accept(listener, (uv_stream_t *)&connection->tcp) ||
        uv_read_start((uv_stream_t *)&connection->tcp, on_alloc, on_read)) {
        close_connection(connection);
        return;
    }
    flush(connection);
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct ek_h2 *h2 = handle->data;

    h2->listener_closed = true;
    maybe_free(h2);
}

struct ek_h2 *ek_h2_new(uv_loop_t *loop, int port, ek_h2_fn fn, void *ctx)
{
    struct ek_h2 *h2 = ek_xalloc(sizeof *h2);
    struct sockaddr_in address;

    h2->loop = loop;
    h2->fn = fn;
    h2->ctx = ctx;
    TAILQ_INIT(&h2->connections);
    uv_ip4_addr("127.0.0.1", port, &address);
    uv_tcp_init(loop, &h2->listener);
    h2->listener.data = h2;
    int rc = uv_tcp_bind(&h2->listener, (const struct sockaddr *)&address, 0);
    rc = rc ? rc : uv_listen((uv_stream_t *)&h2->listener, 128, on_connect);
    if (!rc)
        return h2;
    fprintf(stderr, "127.0.0.1:%d: %s\n", port, uv_strerror(rc));
    ek_h2_close(h2);
    return NULL;
}

int ek_h2_port(const struct ek_h2 *h2)
{
    struct sockaddr_in address;
    int len = sizeof address;

    if (uv_tcp_getsockname(&h2->listener, (struct sockaddr *)&address, &len))
        abort();
    return ntohs(address.sin_port);
}

void ek_h2_close(struct ek_h2 *h2)
{
    struct connection *connection;

    h2->closing = true;
    uv_close((uv_handle_t *)&h2->listener, on_listener_closed);
    TAILQ_FOREACH(connection, &h2->connections, link)
    {
        close_connection(connection);
    }
}
