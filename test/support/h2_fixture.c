/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/h2_fixture.h"

#include <check.h>

const struct ek_h2_config h2f_config = {
    .max_head = 4096, .head_ms = 10, .idle_ms = 100, .write_ms = 30};

struct h2_fixture h2f;

static void *open_stream(void *ctx, struct ek_h2_stream *stream)
{
    struct h2_owner *owner = &h2f.owners[h2f.n_owners++];

    (void)ctx;
    ek_buf_init(&owner->in, (size_t)16 << 20);
    ek_buf_init(&owner->out, (size_t)16 << 20);
    owner->stream = stream;
    owner->unwilling = h2f.unwilling;
    return owner;
}

static void on_refuse(void *ctx, int status)
{
    struct h2_owner *owner = ctx;

    owner->refused = status;
    ek_buf_printf(&owner->out, "HTTP/1.1 %d No\r\nContent-Length: 2\r\n\r\nno", status);
    ek_h2_stream_go_on(owner->stream);
}

static bool wants(void *ctx)
{
    struct h2_owner *owner = ctx;
    return !owner->unwilling;
}

static void input(void *ctx, const char *data, size_t n)
{
    struct h2_owner *owner = ctx;

    ek_buf_append(&owner->in, data, n);
    ek_h2_stream_go_on(owner->stream);
}

static void lost(void *ctx, const char *why)
{
    struct h2_owner *owner = ctx;

    (void)why;
    owner->lost = true;
    ek_h2_stream_close(owner->stream);
    owner->stream = NULL;
}

static struct ek_str output(void *ctx)
{
    struct h2_owner *owner = ctx;
    return (struct ek_str){ek_buf_str(&owner->out), owner->out.len};
}

static void sent(void *ctx, size_t n)
{
    struct h2_owner *owner = ctx;

    ck_assert_uint_le(n, owner->out.len);
    owner->sent += n;
    ek_buf_consume(&owner->out, n);
}

static const struct ek_wire_ops stream_ops = {
    .wants = wants, .input = input, .lost = lost, .output = output, .sent = sent};
static const struct ek_h2_ops ops = {
    .open = open_stream, .refuse = on_refuse, .stream = &stream_ops};

void h2f_setup_window(uint32_t window)
{
    h2f.now_ms = 1000;
    h2f.n_owners = 0;
    h2f.unwilling = false;
    memset(h2f.owners, 0, sizeof h2f.owners);
    ek_buf_init(&h2f.wire, (size_t)64 << 20);
    h2_client_init(&h2f.client, window);
    h2f.h2 = ek_h2_conn_new(&h2f_config, &ops, NULL, h2f.now_ms);
    ck_assert_ptr_nonnull(h2f.h2);
}

void h2f_setup(void)
{
    h2f_setup_window(0);
}

void h2f_teardown(void)
{
    for (size_t i = 0; i < h2f.n_owners; i++) {
        if (h2f.owners[i].stream)
            ek_h2_stream_close(h2f.owners[i].stream);
        ek_buf_done(&h2f.owners[i].in);
        ek_buf_done(&h2f.owners[i].out);
    }
    ek_h2_conn_free(h2f.h2);
    h2_client_done(&h2f.client);
    ek_buf_done(&h2f.wire);
}

/* To the client; returns how much. */
size_t h2f_flush_server(void)
{
    struct ek_str out = ek_h2_output(h2f.h2, h2f.now_ms);
    size_t n = out.len;

    if (n > 0) {
        ek_buf_append(&h2f.wire, out.p, n);
        ck_assert(h2_client_input(&h2f.client, out.p, n));
        ek_h2_sent(h2f.h2, n, h2f.now_ms);
    }
    return n;
}

static size_t flush_client(void)
{
    h2_client_output(&h2f.client);
    size_t n = h2f.client.out.len;
    for (size_t at = 0; at < n; at += 16384)
        ek_h2_input(h2f.h2, h2f.client.out.data + at, n - at < 16384 ? n - at : 16384, h2f.now_ms);
    ek_buf_reset(&h2f.client.out);
    return n;
}

void h2f_flush(void)
{
    for (;;) {
        size_t up = flush_client();
        if (h2f_flush_server() + up == 0)
            return;
    }
}

void h2f_answer(size_t i, const char *text)
{
    ek_buf_puts(&h2f.owners[i].out, text);
    ek_h2_stream_go_on(h2f.owners[i].stream);
    h2f_flush();
}

/* Frames that no library makes. */
void h2f_send_frame(size_t len, int type, int flags, uint32_t id, const void *payload)
{
    unsigned char head[9] = {
        (unsigned char)(len >> 16), (unsigned char)(len >> 8), (unsigned char)len,
        (unsigned char)type,        (unsigned char)flags,      (unsigned char)(id >> 24),
        (unsigned char)(id >> 16),  (unsigned char)(id >> 8),  (unsigned char)id};

    ek_h2_input(h2f.h2, (const char *)head, sizeof head, h2f.now_ms);
    ek_h2_input(h2f.h2, payload, len, h2f.now_ms);
}

/* The error of the last GOAWAY, whatever the client thinks of it. */
static int goaway_code(void)
{
    const unsigned char *p = (const unsigned char *)ek_buf_str(&h2f.wire);
    int code = -1;

    for (size_t at = 0; at + 9 <= h2f.wire.len;) {
        const unsigned char *frame = p + at;
        if (frame[3] == NGHTTP2_GOAWAY)
            code = frame[9 + 7];
        at += 9 + ((size_t)frame[0] << 16 | (size_t)frame[1] << 8 | frame[2]);
    }
    return code;
}

void h2f_expect_calm(const char *abuse)
{
    ck_assert_ptr_nonnull(ek_h2_abuse(h2f.h2));
    ck_assert_str_eq(ek_h2_abuse(h2f.h2), abuse);
    while (h2f_flush_server() > 0)
        ;
    ck_assert_int_eq(goaway_code(), NGHTTP2_ENHANCE_YOUR_CALM);
    ck_assert_int_eq(ek_h2_state(h2f.h2), EK_H2_CLOSING);
    for (size_t i = 0; i < h2f.n_owners; i++)
        ck_assert(h2f.owners[i].lost);
}
