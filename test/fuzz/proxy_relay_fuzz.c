/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a hostile client and of a hostile API server through a relay, without sockets. Beyond
 * not crashing: what the relay sends to the peer is requests that the strict reader reads, as many
 * as were forwarded; and how bytes are cut into reads changes no body.
 */
#include <stdio.h>
#include <stdlib.h>

#include "controller/proxy/relay.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static const struct ek_relay_config config = {
    .max_head = 512, .idle_ms = 1, .head_ms = 1, .body_ms = 1, .write_ms = 1, .half_ms = 1};

static struct ek_relay *relay;
static struct ek_buf to_peer;
static size_t n_forwarded;
static bool has_peer, tunneled;

static void check(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

static void on_request(void *ctx, const struct ek_h1_head *head)
{
    EK_AUTO(ek_buf) text;
    struct ek_relay_forward how = {.upgrade = head->n_fields % 5 == 4,
                                   .expects = head->n_fields % 2};

    (void)ctx;
    ek_buf_init(&text, 1024);
    if (strstr(head->target, "own")) {
        ek_relay_answer(relay, 404, EK_STR("X: y\r\n"), EK_STR("body"), 0);
        return;
    }
    ek_buf_puts(&text, "POST / HTTP/1.1\r\nHost: h\r\n");
    ek_h1_put_framing(&text, head->framing, head->length);
    how.head = (struct ek_str){ek_buf_str(&text), text.len};
    tunneled = tunneled || how.upgrade;
    n_forwarded++;
    has_peer = true;
    ek_relay_forward(relay, &how, 0);
}

static enum ek_relay_fate on_response(void *ctx, const struct ek_h1_head *head)
{
    (void)ctx;
    return (enum ek_relay_fate)(head->status % 3);
}

static void on_held(void *ctx, const struct ek_h1_head *head, struct ek_str body)
{
    (void)ctx;
    check(!has_peer, "a response is held while the peer is there");
    if (head->status % 3 == EK_RELAY_HOLD && body.len % 2)
        ek_relay_pass(relay, 0);
    else
        ek_relay_answer(relay, 503, EK_STR(""), EK_STR(""), 0);
}

static void on_failed(void *ctx, const char *why)
{
    (void)ctx;
    (void)why;
    ek_relay_answer(relay, 503, EK_STR(""), EK_STR(""), 0);
}

static void on_over(void *ctx, bool reusable)
{
    (void)ctx;
    (void)reusable;
    check(has_peer, "a peer is given back twice");
    has_peer = false;
}

static void on_done(void *ctx, int status, enum ek_relay_end end)
{
    (void)ctx;
    (void)status;
    (void)end;
    check(!has_peer, "a request is over, and its peer is not");
}

static const struct ek_relay_ops ops = {.request = on_request,
                                        .response = on_response,
                                        .held = on_held,
                                        .failed = on_failed,
                                        .over = on_over,
                                        .done = on_done};

static void flush(void)
{
    for (size_t n = 1, m; n > 0;) {
        struct ek_str up = ek_relay_peer_output(relay);
        n = up.len;
        ek_buf_append(&to_peer, up.p, up.len);
        if (n > 0)
            ek_relay_peer_sent(relay, n, 0);
        m = ek_relay_client_output(relay).len;
        if (m > 0)
            ek_relay_client_sent(relay, m, 0);
        n += m;
    }
}

static void keep_body(void *ctx, const char *data, size_t len)
{
    ek_buf_append(ctx, data, len);
}

/* Reads what the peer got; the bodies go to out. */
static void read_back(struct ek_buf *out)
{
    struct ek_h1 reader;
    size_t n_heads = 0;

    ek_h1_init(&reader, EK_H1_REQUEST, 4096);
    for (size_t at = 0;;) {
        enum ek_h1_event event;
        at += ek_h1_read(&reader, ek_buf_str(&to_peer) + at, to_peer.len - at, keep_body, out,
                         &event);
        check(tunneled || event != EK_H1_BAD, "the peer got what is no request");
        n_heads += event == EK_H1_HEAD;
        if (event == EK_H1_END)
            ek_h1_begin(&reader, false);
        if (event == EK_H1_BAD || event == EK_H1_MORE)
            break;
    }
    check(tunneled || n_heads <= n_forwarded, "the peer got requests that nobody forwarded");
    ek_h1_done(&reader);
}

/* data: client's bytes and the peer's in turn, each ended by a byte 0xff. */
static void run(const unsigned char *data, size_t size, size_t piece, struct ek_buf *out)
{
    bool from_peer = false;

    ek_buf_init(&to_peer, 1 << 24);
    n_forwarded = 0;
    has_peer = tunneled = false;
    relay = ek_relay_new(&config, &ops, NULL, 0);
    for (size_t at = 0; at < size; from_peer = !from_peer) {
        const unsigned char *end = memchr(data + at, 0xff, size - at);
        size_t stop = end ? (size_t)(end - data) : size;
        for (size_t n; at < stop; at += n) {
            n = stop - at < piece ? stop - at : piece;
            if (from_peer)
                ek_relay_peer_input(relay, (const char *)data + at, n, 0);
            else
                ek_relay_client_input(relay, (const char *)data + at, n, 0);
            flush();
        }
        at = stop + 1;
    }
    if (size % 3 == 0)
        ek_relay_peer_eof(relay, 0);
    else if (size % 3 == 1)
        ek_relay_client_eof(relay, 0);
    flush();
    ek_relay_timeout(relay, 1000);
    ek_relay_free(relay);
    read_back(out);
    ek_buf_done(&to_peer);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    EK_AUTO(ek_buf) whole, pieces;

    ek_buf_init(&whole, 1 << 24);
    ek_buf_init(&pieces, 1 << 24);
    if (size == 0 || size > 4096)
        return 0;
    run(data, size, size, &whole);
    bool any = tunneled;
    run(data, size, (size_t)data[0] % 16 + 1, &pieces);
    /* Where a body is refused, the pieces before it may have gone out. */
    size_t n = whole.len < pieces.len ? whole.len : pieces.len;
    check(any || tunneled || memcmp(ek_buf_str(&whole), ek_buf_str(&pieces), n) == 0,
          "the cut changes a body");
    return 0;
}
