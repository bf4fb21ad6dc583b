/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/h2_client.h"

#include <check.h>
#include <stdlib.h>

static struct h2_client_stream *stream_of(struct h2_client *client, int32_t id)
{
    for (size_t i = 0; i < client->n_streams; i++)
        if (client->streams[i].id == id)
            return &client->streams[i];
    return NULL;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *ctx)
{
    struct h2_client_stream *stream = stream_of(ctx, frame->hd.stream_id);
    const char *n = (const char *)name, *v = (const char *)value;

    (void)session;
    (void)flags;
    if (!stream)
        return 0;
    if (strcmp(n, ":status") != 0)
        ek_buf_printf(&stream->head, "%.*s: %.*s\n", (int)name_len, n, (int)value_len, v);
    else if (*v == '1')
        stream->n_informational++;
    else
        stream->status = (int)strtol(v, NULL, 10);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t len, void *ctx)
{
    struct h2_client *client = ctx;
    struct h2_client_stream *stream = stream_of(client, id);

    (void)session;
    (void)flags;
    stream->body_size += len;
    if (!client->forget_bodies)
        ek_buf_append(&stream->body, data, len);
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct h2_client *client = ctx;
    struct h2_client_stream *stream = stream_of(client, frame->hd.stream_id);

    (void)session;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        client->goaway = true;
        client->goaway_code = frame->goaway.error_code;
        client->last_stream = frame->goaway.last_stream_id;
    }
    client->n_ping_acks +=
        frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
    if (stream && (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS))
        stream->ended = stream->ended || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *ctx)
{
    struct h2_client *client = ctx;
    struct h2_client_stream *stream = stream_of(client, id);

    (void)session;
    if (stream) {
        stream->closed = true;
        stream->code = code;
        client->n_closed++;
    }
    return 0;
}

void h2_client_init(struct h2_client *client, uint32_t window)
{
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window ? window : 65535}};

    memset(client, 0, sizeof *client);
    ek_buf_init(&client->out, (size_t)64 << 20);
    ck_assert_int_eq(nghttp2_session_callbacks_new(&callbacks), 0);
    ck_assert_int_eq(nghttp2_option_new(&option), 0);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_option_set_no_auto_window_update(option, window > 0);
    nghttp2_option_set_no_http_messaging(option, 1); /* the test may send nonsense */
    ck_assert_int_eq(nghttp2_session_client_new2(&client->session, callbacks, client, option), 0);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(option);
    nghttp2_submit_settings(client->session, NGHTTP2_FLAG_NONE, settings, EK_ARRAY_SIZE(settings));
}

void h2_client_done(struct h2_client *client)
{
    nghttp2_session_del(client->session);
    ek_buf_done(&client->out);
    for (size_t i = 0; i < client->n_streams; i++) {
        ek_buf_done(&client->streams[i].head);
        ek_buf_done(&client->streams[i].body);
    }
}

/* ---- Requests ---- */

static ssize_t read_upload(nghttp2_session *session, int32_t id, uint8_t *to, size_t size,
                           uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
    const struct h2_client *client = ctx;
    struct h2_client_stream *stream = source->ptr;
    size_t n = stream->upload < size ? stream->upload : size;

    (void)session;
    (void)id;
    memset(to, 'u', n);
    stream->upload -= n;
    if (stream->upload == 0)
        *flags |= NGHTTP2_DATA_FLAG_EOF | (client->trailers ? NGHTTP2_DATA_FLAG_NO_END_STREAM : 0u);
    return (ssize_t)n;
}

static nghttp2_nv nv_of(const char *name, size_t name_len, const char *value, size_t value_len)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .namelen = name_len,
                        .value = (uint8_t *)(uintptr_t)value,
                        .valuelen = value_len};
}

struct h2_client_stream *h2_client_request(struct h2_client *client, const char *method,
                                           const char *path, const char *fields, size_t upload)
{
    EK_AUTO(ek_buf) text;
    nghttp2_nv nvs[1100];
    size_t n = 0;
    bool own = fields && *fields == ':';

    ek_buf_init(&text, 1 << 20);
    if (!own)
        ek_buf_printf(&text, ":method: %s\n:scheme: https\n:authority: h\n:path: %s\n", method,
                      path);
    ek_buf_puts(&text, fields ? fields : "");
    for (const char *line = ek_buf_str(&text), *end; *line; line = end + 1) {
        const char *colon = strstr(line + 1, ": ");
        end = strchr(line, '\n');
        ck_assert(colon && end && n < EK_ARRAY_SIZE(nvs));
        nvs[n++] = nv_of(line, (size_t)(colon - line), colon + 2, (size_t)(end - colon - 2));
    }
    ck_assert_uint_lt(client->n_streams, H2_CLIENT_STREAMS);
    struct h2_client_stream *stream = &client->streams[client->n_streams++];
    ek_buf_init(&stream->head, 1 << 20);
    ek_buf_init(&stream->body, (size_t)64 << 20);
    stream->upload = upload;
    nghttp2_data_provider body = {.source = {.ptr = stream}, .read_callback = read_upload};
    stream->id = nghttp2_submit_request(client->session, NULL, nvs, n, upload ? &body : NULL, NULL);
    ck_assert_int_gt(stream->id, 0);
    return stream;
}

const char *h2_client_field(const struct h2_client_stream *stream, const char *name)
{
    static char value[1024];
    size_t len = strlen(name);

    for (const char *line = ek_buf_str(&stream->head), *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        if (strncmp(line, name, len) != 0 || strncmp(line + len, ": ", 2) != 0)
            continue;
        size_t n = (size_t)(end - line) - len - 2;
        ck_assert_uint_lt(n, sizeof value);
        memcpy(value, line + len + 2, n);
        value[n] = '\0';
        return value;
    }
    return "";
}

/* ---- Bytes ---- */

bool h2_client_input(struct h2_client *client, const char *data, size_t len)
{
    return nghttp2_session_mem_recv(client->session, (const uint8_t *)data, len) == (ssize_t)len;
}

void h2_client_output(struct h2_client *client)
{
    const uint8_t *data;

    for (ssize_t n; (n = nghttp2_session_mem_send(client->session, &data)) > 0;)
        ek_buf_append(&client->out, data, (size_t)n);
}
