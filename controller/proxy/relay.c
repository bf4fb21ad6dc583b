/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/proxy/relay-internal.h"

#include <limits.h>
#include <stdio.h>

#include "reconcilers/proxy/answer.h"

/* Bytes of a client that wait for their turn; a relay reads no more then. */
#define INPUT_MAX ((size_t)64 * 1024)

struct ek_relay *ek_relay_new(const struct ek_relay_config *config, const struct ek_relay_ops *ops,
                              void *ctx, int64_t now_ms)
{
    struct ek_relay *relay = ek_xalloc(sizeof *relay);

    relay->config = config;
    relay->ops = ops;
    relay->ctx = ctx;
    relay->now_ms = relay->since_ms = now_ms;
    ek_h1_init(&relay->request, EK_H1_REQUEST, config->max_head);
    ek_h1_init(&relay->response, EK_H1_RESPONSE, config->max_head);
    ek_buf_init(&relay->input, EK_RELAY_BUFFER_MAX);
    ek_buf_init(&relay->up, EK_RELAY_BUFFER_MAX);
    ek_buf_init(&relay->down, EK_RELAY_BUFFER_MAX);
    ek_buf_init(&relay->again, EK_RELAY_BUFFER_MAX);
    ek_buf_init(&relay->held, EK_RELAY_BUFFER_MAX);
    return relay;
}

void ek_relay_enter__(struct ek_relay *relay, enum ek_relay_state state)
{
    relay->state = state;
    relay->since_ms = relay->now_ms;
}

void ek_relay_give_back__(struct ek_relay *relay, bool reusable)
{
    if (!relay->has_peer)
        return;
    relay->has_peer = false;
    relay->ops->over(relay->ctx, reusable);
}

void ek_relay_forget_heads__(struct ek_relay *relay)
{
    ek_buf_done(&relay->again);
    ek_buf_init(&relay->again, EK_RELAY_BUFFER_MAX);
    ek_h1_forget(&relay->request);
    ek_h1_forget(&relay->response);
}

/* Ends the request under way. */
static void done(struct ek_relay *relay, bool reusable, enum ek_relay_end end)
{
    ek_relay_give_back__(relay, reusable);
    if (!relay->busy)
        return;
    relay->busy = false;
    ek_buf_done(&relay->again);
    ek_buf_init(&relay->again, EK_RELAY_BUFFER_MAX);
    ek_buf_done(&relay->up);
    ek_buf_init(&relay->up, EK_RELAY_BUFFER_MAX);
    ek_buf_done(&relay->held);
    ek_buf_init(&relay->held, EK_RELAY_BUFFER_MAX);
    ek_h1_forget(&relay->request);
    relay->ops->done(relay->ctx, relay->status, end);
}

/* Nothing more can be said to the client. */
void ek_relay_break__(struct ek_relay *relay, enum ek_relay_end end)
{
    if (relay->state == EK_RELAY_CLOSED)
        return;
    relay->broken = end != EK_RELAY_COMPLETE;
    ek_relay_enter__(relay, EK_RELAY_CLOSED);
    done(relay, false, end);
}

void ek_relay_abort(struct ek_relay *relay, int64_t now_ms)
{
    relay->now_ms = now_ms;
    ek_relay_break__(relay, EK_RELAY_CLIENT_GONE);
    done(relay, false, EK_RELAY_CLIENT_GONE);
}

void ek_relay_free(struct ek_relay *relay)
{
    if (!relay)
        return;
    ek_relay_abort(relay, relay->now_ms);
    ek_h1_done(&relay->request);
    ek_h1_done(&relay->response);
    ek_buf_done(&relay->input);
    ek_buf_done(&relay->up);
    ek_buf_done(&relay->down);
    ek_buf_done(&relay->again);
    ek_buf_done(&relay->held);
    ek_free(relay);
}

/* ---- Requests ---- */

static void put_request_body(void *ctx, const char *data, size_t len)
{
    struct ek_relay *relay = ctx;

    ek_h1_put_body(&relay->up, relay->request.head.framing, data, len);
}

static void set_refusal(const struct ek_relay *relay, int status, struct ek_proxy_answer *ret)
{
    size_t max = relay->config->max_head;

    switch (status) {
    case 408:
        ek_proxy_answer_set(ret, status, 0, "the request was not complete in time");
        break;
    case 414:
        ek_proxy_answer_set(ret, status, 0, "the URL of the request has more than %zu octets", max);
        break;
    case 431:
        ek_proxy_answer_set(ret, status, 0,
                            "the headers of the request have more than %zu octets or %d lines", max,
                            EK_H1_FIELDS_MAX);
        break;
    case 503:
        ek_proxy_answer_set(ret, status, 1, "the headers of the requests under way are too large");
        break;
    case 505:
        ek_proxy_answer_set(ret, status, 0, "the version of HTTP is neither 1.0 nor 1.1");
        break;
    default:
        ek_proxy_answer_set(ret, status, 0, "the request is not valid HTTP");
    }
}

static void refuse(struct ek_relay *relay, int status)
{
    EK_AUTO(ek_buf) body;
    struct ek_proxy_answer answer = {0};
    bool later = status == 503;

    ek_buf_init(&body, 4096);
    set_refusal(relay, status, &answer);
    ek_proxy_answer_write(&answer, &body);
    relay->last = true;
    relay->request_ended = false;
    ek_relay_answer(relay, status,
                    later ? EK_STR("Content-Type: application/json\r\nRetry-After: 1\r\n")
                          : EK_STR("Content-Type: application/json\r\n"),
                    (struct ek_str){ek_buf_str(&body), body.len}, relay->now_ms);
}

void ek_relay_refuse(struct ek_relay *relay, int status, int64_t now_ms)
{
    relay->now_ms = now_ms;
    relay->busy = true;
    refuse(relay, status);
}

/* The peer must not take what it has for the whole body: its connection ends. The client gets a
 * response if none has begun. */
static void refuse_body(struct ek_relay *relay, int status, enum ek_relay_end end)
{
    if (relay->headed) {
        ek_relay_break__(relay, end);
        return;
    }
    ek_relay_give_back__(relay, false);
    refuse(relay, status);
}

static void begin_request(struct ek_relay *relay)
{
    ek_h1_begin(&relay->request, false);
    relay->request_ended = relay->upgrade = relay->sent = relay->headed = relay->ending = false;
    relay->fate = EK_RELAY_STREAM;
    relay->announced = NULL;
    relay->status = relay->n_informational = 0;
    relay->octets_up = relay->octets_down = 0;
    ek_relay_enter__(relay, EK_RELAY_HEAD);
}

static void head_is_complete(struct ek_relay *relay)
{
    const struct ek_h1_head *head = &relay->request.head;
    enum ek_h1_event event = EK_H1_MORE;

    relay->busy = true;
    relay->moved_ms = relay->now_ms;
    relay->credit_ms = relay->config->body_ms;
    relay->odd = 0;
    relay->upgrade = ek_h1_field(head, "upgrade") != NULL; /* until the owner decides */
    relay->last = relay->last || !head->keep_alive || head->minor == 0;
    if (head->framing == EK_H1_EMPTY) /* its end takes no bytes */
        ek_h1_read(&relay->request, "", 0, put_request_body, relay, &event);
    relay->request_ended = event == EK_H1_END;
    ek_relay_enter__(relay, EK_RELAY_DECIDE);
    relay->ops->request(relay->ctx, head);
}

/* Octets of a body have come, or the last one was sent on. */
static void count_credit(struct ek_relay *relay, size_t n)
{
    const struct ek_relay_config *config = relay->config;
    int64_t credit = relay->credit_ms;

    if (relay->up.len == 0)
        credit -= relay->now_ms - relay->moved_ms;
    if (config->body_rate > 0) {
        int64_t earned = relay->odd + (int64_t)n * 1000;
        credit += earned / config->body_rate;
        relay->odd = earned % config->body_rate;
    } else if (n > 0) {
        credit = config->body_ms;
    }
    relay->credit_ms = credit < config->body_ms ? credit : config->body_ms;
    relay->moved_ms = relay->now_ms;
}

/* Takes what has come of a head or a body; false when nothing is left to do with it. */
static bool read_request(struct ek_relay *relay)
{
    enum ek_h1_event event;
    bool head = relay->state == EK_RELAY_HEAD;
    size_t piece = relay->input.len < 16384 ? relay->input.len : 16384;

    if (relay->input.len == 0)
        return false;
    if (!head)
        count_credit(relay, piece);
    size_t used = ek_h1_read(&relay->request, ek_buf_str(&relay->input), piece, put_request_body,
                             relay, &event);
    ek_buf_consume(&relay->input, used);
    if (event == EK_H1_HEAD) {
        head_is_complete(relay);
    } else if (event == EK_H1_END) {
        ek_h1_put_end(&relay->up, relay->request.head.framing);
        relay->request_ended = true;
    } else if (event == EK_H1_BAD && head) {
        relay->busy = true;
        refuse(relay, relay->request.status ? relay->request.status : 400);
    } else if (event == EK_H1_BAD) {
        refuse_body(relay, 400, EK_RELAY_CLIENT_GONE);
    }
    return true;
}

static void check_tunnel(struct ek_relay *relay)
{
    bool up = relay->client_eof && relay->input.len == 0 && relay->up.len == 0;

    if (up && relay->peer_eof && relay->down.len == 0)
        ek_relay_break__(relay, EK_RELAY_COMPLETE);
}

static bool step(struct ek_relay *relay)
{
    switch (relay->state) {
    case EK_RELAY_IDLE: /* a client has taken a response before its next request begins */
        if (relay->input.len == 0 || relay->down.len > 0)
            return false;
        begin_request(relay);
        return true;
    case EK_RELAY_HEAD:
        return read_request(relay);
    case EK_RELAY_SEND:
    case EK_RELAY_ANSWER:
        return !relay->request_ended && !relay->upgrade && relay->up.len < EK_RELAY_HIGH &&
               read_request(relay);
    case EK_RELAY_TUNNEL:
        if (relay->input.len > 0 && relay->up.len < EK_RELAY_HIGH) {
            ek_buf_append(&relay->up, relay->input.data, relay->input.len);
            ek_buf_reset(&relay->input);
        }
        check_tunnel(relay);
        return false;
    default:
        return false;
    }
}

/* Goes on with what has come from the client. Callbacks may call in here again. */
void ek_relay_run__(struct ek_relay *relay)
{
    if (relay->running)
        return;
    relay->running = true;
    while (step(relay))
        ;
    relay->running = false;
}

/* ---- The client's side ---- */

bool ek_relay_wants_client(const struct ek_relay *relay)
{
    return !relay->client_eof && relay->state != EK_RELAY_CLOSING &&
           relay->state != EK_RELAY_CLOSED && relay->input.len < INPUT_MAX;
}

void ek_relay_client_input(struct ek_relay *relay, const char *data, size_t len, int64_t now_ms)
{
    relay->now_ms = relay->half_ms = now_ms;
    if (relay->state == EK_RELAY_CLOSING || relay->state == EK_RELAY_CLOSED)
        return;
    if (ek_buf_append(&relay->input, data, len))
        ek_relay_break__(relay, EK_RELAY_SLOW);
    ek_relay_run__(relay);
}

void ek_relay_client_eof(struct ek_relay *relay, int64_t now_ms)
{
    relay->now_ms = relay->half_ms = now_ms;
    relay->client_eof = true;
    if (relay->state == EK_RELAY_TUNNEL)
        ek_relay_run__(relay);
    else if (relay->state != EK_RELAY_CLOSING)
        ek_relay_break__(relay, EK_RELAY_CLIENT_GONE);
}

size_t ek_relay_head_octets(const struct ek_relay *relay)
{
    switch (relay->state) {
    case EK_RELAY_HEAD:
        return ek_h1_held(&relay->request) + relay->input.len;
    case EK_RELAY_IDLE:
        return relay->input.len;
    case EK_RELAY_DECIDE:
    case EK_RELAY_SEND:
    case EK_RELAY_ANSWER:
        return relay->request_ended ? relay->input.len : 0;
    default:
        return 0;
    }
}

size_t ek_relay_waiting(const struct ek_relay *relay)
{
    return relay->input.len + relay->up.len;
}

struct ek_str ek_relay_client_output(const struct ek_relay *relay)
{
    return (struct ek_str){ek_buf_str(&relay->down), relay->down.len};
}

void ek_relay_client_sent(struct ek_relay *relay, size_t n, int64_t now_ms)
{
    relay->now_ms = relay->write_ms = now_ms;
    ek_buf_consume(&relay->down, n);
    if (relay->down.len == 0) { /* an idle watch holds nothing */
        ek_buf_done(&relay->down);
        ek_buf_init(&relay->down, EK_RELAY_BUFFER_MAX);
    }
    if (relay->state == EK_RELAY_IDLE && relay->down.len == 0 && relay->last)
        ek_relay_enter__(relay, EK_RELAY_CLOSING);
    ek_relay_run__(relay);
}

bool ek_relay_client_ends(const struct ek_relay *relay)
{
    return relay->state == EK_RELAY_TUNNEL && relay->peer_eof && relay->down.len == 0;
}

/* ---- The peer's side, to it ---- */

struct ek_str ek_relay_peer_output(const struct ek_relay *relay)
{
    return relay->has_peer ? (struct ek_str){ek_buf_str(&relay->up), relay->up.len}
                           : (struct ek_str){"", 0};
}

void ek_relay_peer_sent(struct ek_relay *relay, size_t n, int64_t now_ms)
{
    relay->now_ms = now_ms;
    if (!relay->has_peer)
        return;
    count_credit(relay, 0);
    relay->sent = relay->sent || n > 0;
    relay->octets_up += n;
    ek_buf_consume(&relay->up, n);
    if (relay->up.len == 0) {
        ek_buf_done(&relay->up);
        ek_buf_init(&relay->up, EK_RELAY_BUFFER_MAX);
    }
    ek_relay_run__(relay);
}

bool ek_relay_peer_ends(const struct ek_relay *relay)
{
    return relay->state == EK_RELAY_TUNNEL && relay->client_eof && relay->input.len == 0 &&
           relay->up.len == 0;
}

/* ---- Decisions ---- */

void ek_relay_forward(struct ek_relay *relay, const struct ek_relay_forward *forward,
                      int64_t now_ms)
{
    relay->now_ms = now_ms;
    ek_buf_reset(&relay->again);
    ek_buf_append(&relay->again, forward->head.p, forward->head.len);
    ek_buf_puts(&relay->again, "\r\n");
    ek_buf_reset(&relay->up);
    relay->upgrade = forward->upgrade;
    relay->sent = false;
    if (forward->expects && !relay->request_ended)
        ek_buf_puts(&relay->down, "HTTP/1.1 100 Continue\r\n\r\n");
    ek_relay_repeat(relay, now_ms);
}

bool ek_relay_can_repeat(const struct ek_relay *relay)
{
    bool bodyless = relay->request.head.framing == EK_H1_EMPTY;

    return relay->state == EK_RELAY_SEND && !relay->has_peer && (!relay->sent || bodyless);
}

bool ek_relay_has_sent(const struct ek_relay *relay)
{
    return relay->sent;
}

void ek_relay_repeat(struct ek_relay *relay, int64_t now_ms)
{
    relay->now_ms = now_ms;
    if (relay->up.len == 0 || relay->sent) {
        ek_buf_reset(&relay->up);
        ek_buf_append(&relay->up, ek_buf_str(&relay->again), relay->again.len);
    }
    relay->sent = relay->headed = relay->peer_eof = false;
    relay->fate = EK_RELAY_STREAM;
    relay->n_informational = 0;
    ek_buf_reset(&relay->held);
    ek_h1_begin(&relay->response, !strcmp(relay->request.head.method, "HEAD"));
    relay->has_peer = true;
    ek_relay_enter__(relay, EK_RELAY_SEND);
    ek_relay_run__(relay);
}

/* The response is in the output. */
void ek_relay_answered__(struct ek_relay *relay, bool reusable)
{
    bool whole = relay->request_ended;

    relay->write_ms = relay->now_ms;
    if (!whole || relay->upgrade) /* what follows is the rest of a body, or of a protocol */
        relay->last = true;
    relay->served = true;
    ek_relay_enter__(relay, relay->last ? EK_RELAY_CLOSING : EK_RELAY_IDLE);
    done(relay, reusable && whole, EK_RELAY_COMPLETE);
    ek_relay_run__(relay);
}

static const char *phrase_of(int status)
{
    static const struct {
        int status;
        const char *phrase;
    } rows[] = {{200, "OK"},
                {304, "Not Modified"},
                {400, "Bad Request"},
                {403, "Forbidden"},
                {404, "Not Found"},
                {405, "Method Not Allowed"},
                {406, "Not Acceptable"},
                {408, "Request Timeout"},
                {414, "URI Too Long"},
                {429, "Too Many Requests"},
                {431, "Request Header Fields Too Large"},
                {503, "Service Unavailable"},
                {504, "Gateway Timeout"},
                {505, "HTTP Version Not Supported"}};

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++)
        if (rows[i].status == status)
            return rows[i].phrase;
    return "Error";
}

void ek_relay_answer(struct ek_relay *relay, int status, struct ek_str fields, struct ek_str body,
                     int64_t now_ms)
{
    bool head = !strcmp(relay->request.head.method, "HEAD");

    relay->now_ms = now_ms;
    if (relay->state == EK_RELAY_CLOSED)
        return;
    relay->status = status;
    size_t before = relay->down.len;
    ek_buf_printf(&relay->down, "HTTP/1.1 %d %s\r\n", status, phrase_of(status));
    ek_buf_append(&relay->down, fields.p, fields.len);
    if (status != 304)
        ek_h1_put_framing(&relay->down, EK_H1_LENGTH, body.len);
    if (relay->last || !relay->request_ended || relay->upgrade)
        ek_h1_put_field(&relay->down, "Connection", "close");
    ek_buf_puts(&relay->down, "\r\n");
    if (!head && status != 304)
        ek_buf_append(&relay->down, body.p, body.len);
    relay->octets_down += relay->down.len - before;
    if (relay->down.failed)
        ek_relay_break__(relay, EK_RELAY_SLOW);
    else
        ek_relay_answered__(relay, false);
}

void ek_relay_announce(struct ek_relay *relay, const char *lines)
{
    relay->announced = lines;
}

void ek_relay_drain(struct ek_relay *relay, int64_t now_ms)
{
    relay->now_ms = now_ms;
    relay->last = true;
    if (relay->state == EK_RELAY_IDLE && relay->down.len == 0 && relay->input.len == 0)
        ek_relay_enter__(relay, EK_RELAY_CLOSING);
}

/* ---- Time ---- */

enum ek_relay_state ek_relay_state(const struct ek_relay *relay)
{
    return relay->state;
}

bool ek_relay_is_broken(const struct ek_relay *relay)
{
    return relay->state == EK_RELAY_CLOSED && relay->broken;
}

uint64_t ek_relay_octets_up(const struct ek_relay *relay)
{
    return relay->octets_up;
}

uint64_t ek_relay_octets_down(const struct ek_relay *relay)
{
    return relay->octets_down;
}

/* The client owes octets of a body, and there is room for them. */
static bool owes_body(const struct ek_relay *relay)
{
    return (relay->state == EK_RELAY_SEND || relay->state == EK_RELAY_ANSWER) &&
           !relay->request_ended && !relay->upgrade && relay->up.len == 0;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t ek_relay_deadline(const struct ek_relay *relay)
{
    const struct ek_relay_config *config = relay->config;
    int64_t due = INT64_MAX;

    switch (relay->state) {
    case EK_RELAY_IDLE:
        due = relay->since_ms + (relay->served ? config->idle_ms : config->head_ms);
        break;
    case EK_RELAY_HEAD:
        due = relay->since_ms + config->head_ms;
        break;
    case EK_RELAY_TUNNEL:
        return relay->client_eof || relay->peer_eof ? relay->half_ms + config->half_ms : INT64_MAX;
    case EK_RELAY_CLOSED:
        return INT64_MAX;
    default:
        break;
    }
    if (owes_body(relay))
        due = earlier(due, relay->moved_ms + (relay->credit_ms > 0 ? relay->credit_ms : 0));
    if (relay->down.len > 0)
        due = earlier(due, relay->write_ms + config->write_ms);
    return due;
}

void ek_relay_timeout(struct ek_relay *relay, int64_t now_ms)
{
    relay->now_ms = now_ms;
    if (now_ms < ek_relay_deadline(relay))
        return;
    if (relay->state == EK_RELAY_HEAD && relay->down.len == 0) {
        relay->busy = true;
        refuse(relay, 408);
    } else if (relay->state == EK_RELAY_IDLE && relay->down.len == 0) {
        ek_relay_enter__(relay, EK_RELAY_CLOSING);
    } else if (owes_body(relay) && relay->down.len == 0) {
        refuse_body(relay, 408, EK_RELAY_SLOW);
    } else {
        ek_relay_break__(relay, EK_RELAY_SLOW);
    }
}
