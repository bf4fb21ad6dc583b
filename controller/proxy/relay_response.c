/* SPDX-License-Identifier: Apache-2.0 */
/* The peer's response on its way to the client. */
#include <strings.h>

#include "controller/proxy/relay-internal.h"
#include "reconcilers/proxy/identity.h"

/* net/http:Transport gives up after 5 as well. */
#define INFORMATIONAL_MAX 5

/* The peer's connection is of no use any more; before a byte went to the client, the owner decides.
 */
static void lose(struct ek_relay *relay, const char *why)
{
    if (!relay->has_peer)
        return;
    if (relay->state != EK_RELAY_SEND) {
        ek_relay_break__(relay, EK_RELAY_PEER_LOST);
        return;
    }
    ek_relay_give_back__(relay, false);
    relay->ops->failed(relay->ctx, why);
}

/* The elements of all Connection fields as one list. */
static void join_connection(const struct ek_h1_head *head, struct ek_buf *out)
{
    for (size_t i = 0; i < head->n_fields; i++)
        if (!strcasecmp(head->fields[i].name, "connection"))
            ek_buf_printf(out, "%s%s", out->len ? "," : "", head->fields[i].value);
}

static enum ek_h1_framing framing_to_client(const struct ek_relay *relay)
{
    enum ek_h1_framing framing = relay->response.head.framing;
    bool unknown = framing == EK_H1_CHUNKED || framing == EK_H1_CLOSE;

    if (!unknown)
        return framing;
    return relay->request.head.minor == 0 ? EK_H1_CLOSE : EK_H1_CHUNKED;
}

/* Content-Length is written by the framing, but for HEAD and 304, whose length is that of another
 * body. */
static bool is_dropped(const struct ek_h1_head *head, const char *name, const char *connection)
{
    if (!strcasecmp(name, "content-length"))
        return head->framing != EK_H1_EMPTY;
    return ek_identity_drops_from_answer(name, connection, head->status == 101);
}

static void put_head(struct ek_relay *relay, bool final)
{
    EK_AUTO(ek_buf) connection;
    const struct ek_h1_head *head = &relay->response.head;
    struct ek_buf *down = &relay->down;
    size_t before = down->len;

    ek_buf_init(&connection, (size_t)64 * 1024);
    join_connection(head, &connection);
    if (before == 0)
        relay->write_ms = relay->now_ms;
    ek_buf_printf(down, "HTTP/1.1 %d \r\n", head->status);
    for (size_t i = 0; i < head->n_fields; i++)
        if (!is_dropped(head, head->fields[i].name, ek_buf_str(&connection)))
            ek_h1_put_field(down, head->fields[i].name, head->fields[i].value);
    if (final) {
        if (relay->announced)
            ek_buf_puts(down, relay->announced);
        relay->out = framing_to_client(relay);
        ek_h1_put_framing(down, relay->out, head->length);
        if (relay->last || relay->upgrade || relay->out == EK_H1_CLOSE) {
            relay->last = true;
            ek_h1_put_field(down, "Connection", "close");
        }
    }
    ek_buf_puts(down, "\r\n");
    relay->octets_down += down->len - before;
}

static void begin_answer(struct ek_relay *relay)
{
    relay->status = relay->response.head.status;
    ek_stream_begin(&relay->body, ek_h1_field(&relay->response.head, "content-type"),
                    ek_h1_field(&relay->response.head, "content-encoding"));
    put_head(relay, true);
    ek_relay_forget_heads__(relay);
    ek_relay_enter__(relay, EK_RELAY_ANSWER);
}

static void put_client_body(struct ek_relay *relay, const char *data, size_t len)
{
    if (relay->down.len == 0)
        relay->write_ms = relay->now_ms;
    len = ek_stream_read(&relay->body, data, len, relay->ending);
    relay->octets_down += len;
    ek_h1_put_body(&relay->down, relay->out, data, len);
}

/* A held response goes to the client. */
static void release_held(struct ek_relay *relay)
{
    relay->fate = EK_RELAY_STREAM;
    begin_answer(relay);
    if (relay->held.len > 0)
        put_client_body(relay, relay->held.data, relay->held.len);
    ek_buf_reset(&relay->held);
}

/* A held response that is too long. */
static void overflow(struct ek_relay *relay)
{
    if (relay->fate != EK_RELAY_GATHER) {
        release_held(relay);
        return;
    }
    relay->fate = EK_RELAY_DISCARD;
    ek_buf_done(&relay->held);
    ek_buf_init(&relay->held, EK_RELAY_BUFFER_MAX);
}

static size_t held_max(const struct ek_relay *relay)
{
    return relay->fate == EK_RELAY_GATHER    ? EK_RELAY_GATHER_MAX
           : relay->fate == EK_RELAY_COLLECT ? EK_RELAY_COLLECT_MAX
                                             : EK_RELAY_HELD_MAX;
}

static void on_body(void *ctx, const char *data, size_t len)
{
    struct ek_relay *relay = ctx;

    if (relay->fate == EK_RELAY_DISCARD || (relay->ending && relay->body.between))
        return;
    if (relay->fate != EK_RELAY_STREAM && len > held_max(relay) - relay->held.len)
        overflow(relay);
    if (relay->fate == EK_RELAY_STREAM)
        put_client_body(relay, data, len);
    else if (relay->fate != EK_RELAY_DISCARD)
        ek_buf_append(&relay->held, data, len);
}

static void finish_stream(struct ek_relay *relay, bool reusable)
{
    ek_h1_put_end(&relay->down, relay->out);
    ek_relay_answered__(relay, reusable);
}

static void begin_tunnel(struct ek_relay *relay)
{
    put_head(relay, false);
    ek_relay_forget_heads__(relay);
    relay->status = 101;
    relay->half_ms = relay->now_ms;
    ek_relay_enter__(relay, EK_RELAY_TUNNEL);
}

/* False when the response is no good. */
static bool head_came(struct ek_relay *relay)
{
    const struct ek_h1_head *head = &relay->response.head;

    if (head->status == 101) {
        if (!relay->upgrade)
            return false;
        begin_tunnel(relay);
        return true;
    }
    if (head->status / 100 == 1) {
        /* 100 is the relay's own affair. */
        if (head->status != 100 && relay->request.head.minor > 0)
            put_head(relay, false);
        return ++relay->n_informational <= INFORMATIONAL_MAX;
    }
    relay->headed = true;
    relay->fate = relay->ops->response(relay->ctx, head);
    if (relay->fate == EK_RELAY_STREAM)
        begin_answer(relay);
    return true;
}

static void end_came(struct ek_relay *relay, bool reusable)
{
    if (!relay->headed) { /* of an informational response */
        ek_h1_begin(&relay->response, !strcmp(relay->request.head.method, "HEAD"));
        return;
    }
    reusable = reusable && relay->response.head.keep_alive && !relay->upgrade;
    if (relay->fate == EK_RELAY_STREAM) {
        finish_stream(relay, reusable);
        return;
    }
    ek_relay_give_back__(relay, reusable && relay->request_ended && relay->up.len == 0);
    relay->ops->held(relay->ctx, &relay->response.head,
                     (struct ek_str){ek_buf_str(&relay->held), relay->held.len});
}

bool ek_relay_wants_peer(const struct ek_relay *relay)
{
    return relay->has_peer && !relay->peer_eof && relay->down.len < EK_RELAY_HIGH;
}

/* Reads up to the end of the response, or to the begin of a tunnel; returns how many bytes. */
static size_t read_response(struct ek_relay *relay, const char *data, size_t len)
{
    const char *begin = data;
    enum ek_h1_event event = EK_H1_HEAD;

    while (relay->has_peer && (len > 0 || event == EK_H1_HEAD)) {
        size_t used = ek_h1_read(&relay->response, data, len, on_body, relay, &event);
        data += used;
        len -= used;
        bool final = event == EK_H1_END && relay->headed;
        if (event == EK_H1_END)
            end_came(relay, len == 0);
        else if (event == EK_H1_BAD || (event == EK_H1_HEAD && !head_came(relay))) {
            lose(relay, "the response is not valid HTTP/1.1");
            break;
        }
        if (final || relay->state == EK_RELAY_TUNNEL)
            break;
    }
    return (size_t)(data - begin);
}

void ek_relay_peer_input(struct ek_relay *relay, const char *data, size_t len, int64_t now_ms)
{
    relay->now_ms = relay->half_ms = now_ms;
    size_t used = relay->state == EK_RELAY_TUNNEL ? 0 : read_response(relay, data, len);
    if (relay->state == EK_RELAY_TUNNEL && used < len) {
        relay->octets_down += len - used;
        ek_buf_append(&relay->down, data + used, len - used);
    }
    if (relay->ending && relay->body.between && relay->state == EK_RELAY_ANSWER)
        finish_stream(relay, false);
    if (relay->down.failed)
        ek_relay_break__(relay, EK_RELAY_SLOW);
    ek_relay_run__(relay);
}

void ek_relay_peer_eof(struct ek_relay *relay, int64_t now_ms)
{
    relay->now_ms = relay->half_ms = now_ms;
    if (!relay->has_peer)
        return;
    relay->peer_eof = true;
    if (relay->state == EK_RELAY_TUNNEL)
        ek_relay_run__(relay);
    else if (relay->headed && ek_h1_eof(&relay->response) == EK_H1_END)
        end_came(relay, false);
    else
        lose(relay, "the connection ended before the response");
}

void ek_relay_peer_lost(struct ek_relay *relay, const char *why, int64_t now_ms)
{
    relay->now_ms = now_ms;
    lose(relay, why);
}

void ek_relay_pass(struct ek_relay *relay, int64_t now_ms)
{
    relay->now_ms = now_ms;
    if (relay->state != EK_RELAY_SEND)
        return;
    release_held(relay);
    finish_stream(relay, false);
}

void ek_relay_end_stream(struct ek_relay *relay, int64_t now_ms)
{
    relay->now_ms = now_ms;
    if (relay->state != EK_RELAY_ANSWER || relay->out == EK_H1_LENGTH)
        return;
    relay->ending = relay->last = true;
    if (relay->body.between)
        finish_stream(relay, false);
}
