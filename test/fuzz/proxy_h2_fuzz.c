/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a hostile client after the preface of HTTP/2, with a relay for each stream, without
 * sockets. Beyond not crashing: each request that a relay reads is one, its text is never cut into
 * two, and every stream that was opened is over in the end.
 */
#include <stdio.h>
#include <stdlib.h>

#include "controller/proxy/h2.h"
#include "controller/proxy/relay.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static const struct ek_h2_config config = {
    .max_head = 2048, .head_ms = 10, .idle_ms = 10, .write_ms = 10};
static const struct ek_relay_config relay_config = {
    .max_head = 2048, .idle_ms = 10, .head_ms = 10, .body_ms = 10, .write_ms = 10, .half_ms = 10};

struct owner {
    struct ek_h2_stream *stream;
    struct ek_relay *relay;
    struct owner *next;
    size_t n_requests;
    bool refused;
};

static struct owner *owners;
static int64_t now_ms;

static void check(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

/* ---- The relay's owner: small answers of its own, or a peer that takes all and answers ---- */

static void on_request(void *ctx, const struct ek_h1_head *head)
{
    struct owner *owner = ctx;
    const struct ek_relay_forward how = {.head = EK_STR("REQ\r\n")};

    check(!owner->refused, "a request that was refused was read");
    check(++owner->n_requests == 1, "a stream has two requests");
    check(ek_h1_field(head, "host") != NULL, "a request has no Host");
    if (head->framing == EK_H1_EMPTY || strlen(head->target) % 2)
        ek_relay_answer(owner->relay, 200, EK_STR("X-Y: z\r\n"), EK_STR("body"), now_ms);
    else
        ek_relay_forward(owner->relay, &how, now_ms);
}

static enum ek_relay_fate on_response(void *ctx, const struct ek_h1_head *head)
{
    (void)ctx;
    (void)head;
    return EK_RELAY_STREAM;
}

static void on_held(void *ctx, const struct ek_h1_head *head, struct ek_str body)
{
    (void)ctx;
    (void)head;
    (void)body;
}

static void on_failed(void *ctx, const char *why)
{
    struct owner *owner = ctx;

    (void)why;
    ek_relay_answer(owner->relay, 503, EK_STR(""), EK_STR(""), now_ms);
}

static void on_over(void *ctx, bool reusable)
{
    (void)ctx;
    (void)reusable;
}

static void on_done(void *ctx, int status, enum ek_relay_end end)
{
    (void)ctx;
    (void)status;
    (void)end;
}

static const struct ek_relay_ops relay_ops = {.request = on_request,
                                              .response = on_response,
                                              .held = on_held,
                                              .failed = on_failed,
                                              .over = on_over,
                                              .done = on_done};

/* ---- The stream's owner ---- */

static void *open_stream(void *ctx, struct ek_h2_stream *stream)
{
    struct owner *owner = ek_xalloc(sizeof *owner);

    (void)ctx;
    owner->stream = stream;
    owner->relay = ek_relay_new(&relay_config, &relay_ops, owner, now_ms);
    owner->next = owners;
    owners = owner;
    return owner;
}

static void go_on(struct owner *owner)
{
    size_t up = ek_relay_peer_output(owner->relay).len;

    if (up > 0)
        ek_relay_peer_sent(owner->relay, up, now_ms);
    if (ek_relay_state(owner->relay) == EK_RELAY_SEND && up > 3000)
        ek_relay_peer_input(owner->relay, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", 39,
                            now_ms);
    if (!owner->stream)
        return;
    if (ek_relay_state(owner->relay) == EK_RELAY_CLOSED) {
        ek_h2_stream_close(owner->stream);
        owner->stream = NULL;
    } else {
        ek_h2_stream_go_on(owner->stream);
    }
}

static void on_refuse(void *ctx, int status)
{
    struct owner *owner = ctx;

    check(status == 400 || status == 431, "an unknown refusal");
    owner->refused = true;
    ek_relay_refuse(owner->relay, status, now_ms);
    go_on(owner);
}

static bool wants(void *ctx)
{
    struct owner *owner = ctx;
    return ek_relay_wants_client(owner->relay);
}

static void input(void *ctx, const char *data, size_t n)
{
    struct owner *owner = ctx;

    ek_relay_client_input(owner->relay, data, n, now_ms);
    go_on(owner);
}

static void lost(void *ctx, const char *why)
{
    struct owner *owner = ctx;

    (void)why;
    ek_relay_abort(owner->relay, now_ms);
    ek_h2_stream_close(owner->stream);
    owner->stream = NULL;
}

static struct ek_str output(void *ctx)
{
    struct owner *owner = ctx;
    return ek_relay_client_output(owner->relay);
}

static void sent(void *ctx, size_t n)
{
    struct owner *owner = ctx;

    ek_relay_client_sent(owner->relay, n, now_ms);
    go_on(owner);
}

static const struct ek_wire_ops stream_ops = {
    .wants = wants, .input = input, .lost = lost, .output = output, .sent = sent};
static const struct ek_h2_ops ops = {
    .open = open_stream, .refuse = on_refuse, .stream = &stream_ops};

static void flush(struct ek_h2_conn *h2)
{
    for (struct ek_str out; (out = ek_h2_output(h2, now_ms)).len > 0;)
        ek_h2_sent(h2, out.len, now_ms);
}

/* data: the size of the pieces, then what follows the preface. */
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
    struct ek_h2_conn *h2;

    if (size == 0 || size > 65536)
        return 0;
    size_t piece = (size_t)data[0] * 4 + 1;
    now_ms = 0;
    h2 = ek_h2_conn_new(&config, &ops, NULL, now_ms);
    check(h2 != NULL, "no memory");
    ek_h2_input(h2, preface, sizeof preface - 1, now_ms);
    for (size_t at = 1; at < size; at += piece) {
        ek_h2_input(h2, (const char *)data + at, size - at < piece ? size - at : piece, now_ms);
        if (data[0] % 4)
            flush(h2);
        check(ek_h2_state(h2) == EK_H2_OPEN || ek_h2_is_idle(h2), "a stream outlives its end");
    }
    flush(h2);
    if (data[0] % 2)
        ek_h2_shutdown(h2, now_ms);
    for (int i = 0; i < 3; i++) {
        now_ms += 10;
        for (struct owner *owner = owners; owner; owner = owner->next) {
            ek_relay_timeout(owner->relay, now_ms);
            go_on(owner);
        }
        ek_h2_timeout(h2, now_ms);
        flush(h2);
    }
    for (struct owner *next; owners; owners = next) {
        next = owners->next;
        if (owners->stream)
            ek_h2_stream_close(owners->stream);
        ek_relay_free(owners->relay);
        ek_free(owners);
    }
    ek_h2_conn_free(h2);
    return 0;
}
