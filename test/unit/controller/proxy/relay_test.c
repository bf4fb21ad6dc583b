/* SPDX-License-Identifier: Apache-2.0 */
/* One client, one peer, a clock in the test's hand: what the relay sends to either. */
#include <stdlib.h>

#include "controller/proxy/relay.h"
#include "test/support/suite.h"

static const struct ek_relay_config config = {
    .max_head = 4096, .idle_ms = 100, .head_ms = 10, .body_ms = 20, .write_ms = 30, .half_ms = 40};

static struct ek_relay_config slow_config;
static struct ek_relay *relay;
static struct ek_buf story;  /* the owner's calls */
static struct ek_buf client; /* what the client got */
static struct ek_buf peer;   /* what peers got */
static int64_t now_ms;
static enum ek_relay_fate fate;
static bool later;    /* requests are not decided by the callback */
static bool upgrades; /* the request asks for another protocol */
static bool expects;

static void forward(void)
{
    const struct ek_relay_forward how = {
        .head = EK_STR("REQ\r\n"), .upgrade = upgrades, .expects = expects};
    ek_relay_forward(relay, &how, now_ms);
}

static void on_request(void *ctx, const struct ek_h1_head *head)
{
    (void)ctx;
    ek_buf_printf(&story, "request %s %s;", head->method, head->target);
    if (!strcmp(head->target, "/own"))
        ek_relay_answer(relay, 503, EK_STR("Retry-After: 1\r\n"), EK_STR("own"), now_ms);
    else if (!later)
        forward();
}

static enum ek_relay_fate on_response(void *ctx, const struct ek_h1_head *head)
{
    (void)ctx;
    ek_buf_printf(&story, "response %d;", head->status);
    return fate;
}

static void on_held(void *ctx, const struct ek_h1_head *head, struct ek_str body)
{
    (void)ctx;
    ek_buf_printf(&story, "held %d %.*s;", head->status, (int)body.len, body.p);
}

static void on_failed(void *ctx, const char *why)
{
    (void)ctx;
    (void)why;
    ek_buf_printf(&story, "failed%s%s;", ek_relay_has_sent(relay) ? " sent" : "",
                  ek_relay_can_repeat(relay) ? " repeatable" : "");
}

static void on_over(void *ctx, bool reusable)
{
    (void)ctx;
    ek_buf_puts(&story, reusable ? "keep;" : "drop;");
}

static void on_done(void *ctx, int status, enum ek_relay_end end)
{
    static const char *const ends[] = {"complete", "lost", "gone", "slow"};
    (void)ctx;
    ek_buf_printf(&story, "done %d %s;", status, ends[end]);
}

static const struct ek_relay_ops ops = {.request = on_request,
                                        .response = on_response,
                                        .held = on_held,
                                        .failed = on_failed,
                                        .over = on_over,
                                        .done = on_done};

static void setup(void)
{
    slow_config = config;
    now_ms = 1000;
    fate = EK_RELAY_STREAM;
    later = upgrades = expects = false;
    ek_buf_init(&story, 1 << 20);
    ek_buf_init(&client, 1 << 24);
    ek_buf_init(&peer, 1 << 24);
    relay = ek_relay_new(&config, &ops, NULL, now_ms);
}

static void teardown(void)
{
    ek_relay_free(relay);
    ek_buf_done(&story);
    ek_buf_done(&client);
    ek_buf_done(&peer);
}

/* Everything that can be sent is sent. */
static void flush(void)
{
    for (;;) {
        struct ek_str up = ek_relay_peer_output(relay), down;
        size_t n = up.len;
        ek_buf_append(&peer, up.p, up.len);
        if (n > 0)
            ek_relay_peer_sent(relay, n, now_ms);
        down = ek_relay_client_output(relay);
        size_t m = down.len;
        ek_buf_append(&client, down.p, down.len);
        if (m > 0)
            ek_relay_client_sent(relay, m, now_ms);
        if (n + m == 0)
            return;
    }
}

static void from_client(const char *text)
{
    ek_relay_client_input(relay, text, strlen(text), now_ms);
    flush();
}

static void from_peer(const char *text)
{
    ek_relay_peer_input(relay, text, strlen(text), now_ms);
    flush();
}

#define EXPECT(what, text)                                                                         \
    do {                                                                                           \
        ck_assert_str_eq(ek_buf_str(&(what)), (text));                                             \
        ek_buf_reset(&(what));                                                                     \
    } while (0)
#define EXPECT_STATE(name) ck_assert_int_eq(ek_relay_state(relay), EK_RELAY_##name)

#define GET  "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
#define HEAD "REQ\r\n\r\n"
#define OK   "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define OK_  "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok"

START_TEST(forwards_and_keeps_both)
{
    from_client(GET);
    EXPECT(peer, HEAD);
    from_peer(OK);
    EXPECT(client, OK_);
    EXPECT(story, "request GET /a;response 200;keep;done 200 complete;");
    EXPECT_STATE(IDLE);
    from_client(GET);
    EXPECT(peer, HEAD);
    from_peer("HTTP/1.1 200 OK\r\nConnection: close, x-gone\r\nX-Gone: 1\r\nX-Stays: "
              "2\r\nContent-Length: 0\r\n\r\n");
    EXPECT(client, "HTTP/1.1 200 \r\nX-Stays: 2\r\nContent-Length: 0\r\n\r\n");
    EXPECT(story, "request GET /a;response 200;drop;done 200 complete;");
}
END_TEST

/* The second request waits until the first is answered, and its answer is taken. */
START_TEST(takes_one_request_at_a_time)
{
    from_client(GET "GET /own HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT(story, "request GET /a;");
    ek_relay_peer_input(relay, OK, strlen(OK), now_ms);
    EXPECT(story, "response 200;keep;done 200 complete;");
    flush();
    EXPECT(story, "request GET /own;done 503 complete;");
    EXPECT(client, OK_ "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: "
                       "3\r\n\r\nown");
    EXPECT_STATE(IDLE);
}
END_TEST

START_TEST(frames_bodies_anew)
{
    from_client(
        "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n");
    EXPECT(peer, HEAD "3\r\nabc\r\n");
    from_client("1\r\nd\r\n0\r\nTrailer: x\r\n\r\n");
    EXPECT(peer, "1\r\nd\r\n0\r\n\r\n");
    from_peer("HTTP/1.1 200 OK\r\n\r\n");
    from_peer("until");
    EXPECT(client, "HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n5\r\nuntil\r\n");
    ek_relay_peer_eof(relay, now_ms);
    flush();
    EXPECT(client, "0\r\n\r\n");
    EXPECT(story, "request POST /a;response 200;drop;done 200 complete;");
    from_client("PUT /b HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab");
    from_client("cd");
    EXPECT(peer, HEAD "abcd");
}
END_TEST

/* HTTP/1.0 knows no chunks, and its connection ends. */
START_TEST(serves_http_1_0)
{
    from_client("GET /a HTTP/1.0\r\n\r\n");
    from_peer(
        "HTTP/1.1 102 P\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"
        "0\r\n\r\n");
    EXPECT(client, "HTTP/1.1 200 \r\nConnection: close\r\n\r\nab");
    EXPECT_STATE(CLOSING);
    EXPECT(story, "request GET /a;response 200;keep;done 200 complete;");
}
END_TEST

START_TEST(answers_head_without_a_body)
{
    from_client("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n");
    from_peer("HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n");
    EXPECT(client, "HTTP/1.1 200 \r\nContent-Length: 77\r\n\r\n");
    EXPECT(story, "request HEAD /a;response 200;keep;done 200 complete;");
    from_client("HEAD /own HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT(client,
           "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 3\r\n\r\n");
}
END_TEST

START_TEST(streams_at_once)
{
    from_client(GET);
    from_peer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    EXPECT(client, "HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n");
    from_peer("4\r\nab");
    EXPECT(client, "2\r\nab\r\n");
    from_peer("c\n\r\n");
    EXPECT(client, "2\r\nc\n\r\n");
    ck_assert(ek_relay_deadline(relay) == INT64_MAX);
}
END_TEST

#define WATCH                                                                                      \
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
#define WATCH_                                                                                     \
    "HTTP/1.1 200 \r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"

/* A drained watch ends between two events, and its client reads on elsewhere. */
START_TEST(ends_a_stream_between_lines)
{
    from_client(GET);
    from_peer(WATCH "2\r\n{1\r\n");
    ek_relay_end_stream(relay, now_ms);
    EXPECT_STATE(ANSWER);
    from_peer("5\r\n}\n{2}\r\n");
    EXPECT(client, WATCH_ "2\r\n{1\r\n2\r\n}\n\r\n0\r\n\r\n");
    EXPECT_STATE(CLOSING);
    EXPECT(story, "request GET /a;response 200;drop;done 200 complete;");
}
END_TEST

/* In protobuf likewise: an octet that is a line feed ends nothing. */
START_TEST(ends_a_stream_between_frames)
{
    static const char first[] = "\0\0\0\2a\n\0\0\0\3b\n", more[] = "c\0\0\0\1d";
    static const char got[] = "\0\0\0\2a\n\0\0\0\3b\nc";

    from_client("GET /a HTTP/1.0\r\nHost: h\r\n\r\n");
    from_peer("HTTP/1.1 200 OK\r\nContent-Type: "
              "application/vnd.kubernetes.protobuf;stream=watch\r\n\r\n");
    ek_relay_peer_input(relay, first, sizeof first - 1, now_ms);
    flush();
    ek_relay_end_stream(relay, now_ms);
    EXPECT_STATE(ANSWER);
    ek_relay_peer_input(relay, more, sizeof more - 1, now_ms);
    flush();
    EXPECT_STATE(CLOSING);
    ck_assert(!memcmp(client.data + client.len - (sizeof got - 1), got, sizeof got - 1));
}
END_TEST

START_TEST(ends_a_quiet_stream_at_once)
{
    from_client(GET);
    from_peer(WATCH);
    ek_relay_end_stream(relay, now_ms);
    flush();
    EXPECT(client, WATCH_ "0\r\n\r\n");
    EXPECT_STATE(CLOSING);
}
END_TEST

/* ---- Failures ---- */

START_TEST(repeats_what_was_not_answered)
{
    from_client(GET);
    EXPECT(peer, HEAD);
    ek_relay_peer_lost(relay, "reset", now_ms);
    EXPECT(story, "request GET /a;drop;failed sent repeatable;");
    ek_relay_repeat(relay, now_ms);
    flush();
    EXPECT(peer, HEAD);
    from_peer("HTTP/1.1 20");
    ek_relay_peer_eof(relay, now_ms);
    EXPECT(story, "drop;failed sent repeatable;");
    ek_relay_answer(relay, 503, EK_STR(""), EK_STR(""), now_ms);
    flush();
    EXPECT(client, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
    EXPECT(story, "done 503 complete;");
    EXPECT_STATE(IDLE);
}
END_TEST

/* A body that was sent is gone; one that was not is still here. */
START_TEST(repeats_a_body_that_was_not_sent)
{
    const char *text = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab";

    ek_relay_client_input(relay, text, strlen(text), now_ms);
    ek_relay_peer_lost(relay, "refused", now_ms);
    EXPECT(story, "request POST /a;drop;failed repeatable;");
    ek_relay_repeat(relay, now_ms);
    flush();
    from_client("cd");
    EXPECT(peer, HEAD "abcd");
    ek_relay_peer_lost(relay, "reset", now_ms);
    EXPECT(story, "drop;failed sent;");
}
END_TEST

START_TEST(shows_truncation)
{
    static const char *const responses[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    };

    from_client(GET);
    from_peer(responses[_i]);
    if (_i)
        ek_relay_peer_eof(relay, now_ms);
    else
        ek_relay_peer_lost(relay, "reset", now_ms);
    flush();
    EXPECT_STATE(CLOSED);
    ck_assert(ek_relay_is_broken(relay));
    ck_assert_ptr_null(strstr(ek_buf_str(&client), "0\r\n\r\n"));
    EXPECT(story, "request GET /a;response 200;drop;done 200 lost;");
}
END_TEST

START_TEST(refuses_a_bad_response)
{
    static const char *const responses[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
        ("HTTP/1.1 102 P\r\n\r\nHTTP/1.1 102 P\r\n\r\nHTTP/1.1 102 P\r\n\r\nHTTP/1.1 102 P\r\n\r\n"
         "HTTP/1.1 102 P\r\n\r\nHTTP/1.1 102 P\r\n\r\n"),
        "SSH-2.0\r\n",
    };

    from_client(GET);
    from_peer(responses[_i]);
    EXPECT(story, "request GET /a;drop;failed sent repeatable;");
}
END_TEST

/* What follows a response would be taken for the next one: the connection is not used again. */
START_TEST(drops_a_peer_that_says_more)
{
    from_client(GET GET);
    from_peer(OK OK);
    EXPECT(client, OK_);
    EXPECT(story, "request GET /a;response 200;drop;done 200 complete;request GET /a;");
}
END_TEST

START_TEST(ends_when_the_client_goes)
{
    from_client(GET);
    ek_relay_client_eof(relay, now_ms);
    EXPECT(story, "request GET /a;drop;done 0 gone;");
    EXPECT_STATE(CLOSED);
}
END_TEST

/* The peer has answered before it has read all: the client may still send, so it ends. */
START_TEST(ends_after_an_early_answer)
{
    from_client("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab");
    from_peer("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
    EXPECT(story, "request POST /a;response 413;drop;done 413 complete;");
    EXPECT_STATE(CLOSING);
    from_client("GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT(story, "");
}
END_TEST

/* ---- Holding ---- */

START_TEST(holds_a_response)
{
    fate = EK_RELAY_HOLD;
    from_client(GET);
    from_peer("HTTP/1.1 404 N\r\nContent-Length: 4\r\n\r\ngone");
    EXPECT(story, "request GET /a;response 404;keep;held 404 gone;");
    EXPECT(client, "");
    if (_i) {
        ek_relay_pass(relay, now_ms);
        flush();
        EXPECT(client, "HTTP/1.1 404 \r\nContent-Length: 4\r\n\r\ngone");
        EXPECT(story, "done 404 complete;");
        return;
    }
    fate = EK_RELAY_STREAM;
    ck_assert(ek_relay_can_repeat(relay));
    ek_relay_repeat(relay, now_ms);
    flush();
    EXPECT(peer, HEAD HEAD);
    from_peer(OK);
    EXPECT(client, OK_);
}
END_TEST

START_TEST(holds_no_long_response)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, 1 << 20);
    ek_buf_printf(&text, "HTTP/1.1 404 N\r\nContent-Length: %d\r\n\r\n%0*d",
                  (int)EK_RELAY_HELD_MAX + 1, (int)EK_RELAY_HELD_MAX + 1, 0);
    fate = EK_RELAY_HOLD;
    from_client(GET);
    from_peer(ek_buf_str(&text));
    EXPECT(story, "request GET /a;response 404;keep;done 404 complete;");
    ck_assert_uint_gt(client.len, EK_RELAY_HELD_MAX);
}
END_TEST

START_TEST(discards_a_response)
{
    fate = EK_RELAY_DISCARD;
    from_client(GET);
    from_peer("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nthis");
    EXPECT(story, "request GET /a;response 200;keep;held 200 ;");
    ek_relay_answer(relay, 200, EK_STR(""), EK_STR("that"), now_ms);
    flush();
    EXPECT(client, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nthat");
    EXPECT_STATE(IDLE);
}
END_TEST

/* ---- Tunnels ---- */

#define SWITCH "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"

START_TEST(tunnels)
{
    upgrades = true;
    from_client(GET "early");
    EXPECT(peer, HEAD);
    from_peer(SWITCH "hello");
    EXPECT(client, "HTTP/1.1 101 \r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello");
    EXPECT(peer, "early");
    EXPECT_STATE(TUNNEL);
    from_client("GET");
    EXPECT(peer, "GET");
    ek_relay_client_eof(relay, now_ms);
    ck_assert(ek_relay_peer_ends(relay) && !ek_relay_client_ends(relay));
    from_peer("bye");
    EXPECT(client, "bye");
    ek_relay_peer_eof(relay, now_ms);
    EXPECT_STATE(CLOSED);
    ck_assert(!ek_relay_is_broken(relay));
    EXPECT(story, "request GET /a;drop;done 101 complete;");
}
END_TEST

START_TEST(ends_half_a_tunnel)
{
    upgrades = true;
    from_client(GET);
    from_peer(SWITCH);
    ck_assert(ek_relay_deadline(relay) == INT64_MAX);
    ek_relay_peer_eof(relay, now_ms);
    ck_assert(ek_relay_client_ends(relay) && !ek_relay_peer_ends(relay));
    from_client("still");
    EXPECT(peer, HEAD "still");
    now_ms += 40;
    ek_relay_timeout(relay, now_ms);
    EXPECT_STATE(CLOSED);
}
END_TEST

/* CVE-2018-1002105: after an upgrade that was refused neither connection is used again. */
START_TEST(drops_both_after_a_refused_upgrade)
{
    upgrades = true;
    from_client(GET "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n");
    from_peer("HTTP/1.1 403 F\r\nContent-Length: 2\r\n\r\nno");
    EXPECT(peer, HEAD);
    EXPECT(client, "HTTP/1.1 403 \r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
    EXPECT(story, "request GET /a;response 403;drop;done 403 complete;");
    EXPECT_STATE(CLOSING);
}
END_TEST

/* An answer of the owner's ends the connection, too: what follows may be another protocol. */
START_TEST(closes_after_its_own_answer_to_an_upgrade)
{
    upgrades = true;
    later = _i == 0; /* before the request was forwarded, or after its peer was lost */
    from_client("GET /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"
                "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n");
    if (_i)
        ek_relay_peer_lost(relay, "gone", now_ms);
    ek_relay_answer(relay, 503, EK_STR(""), EK_STR("no"), now_ms);
    flush();
    EXPECT(client, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n"
                   "Connection: close\r\n\r\nno");
    EXPECT_STATE(CLOSING);
    ck_assert_ptr_null(strstr(ek_buf_str(&story), "smuggled"));
}
END_TEST

/* ---- Back-pressure and time ---- */

/* 1000 octets earn a second; nothing is earned beyond the credit of the begin (20 ms). */
START_TEST(ends_slow_bodies)
{
    slow_config.body_rate = 1000;
    ek_relay_free(relay);
    relay = ek_relay_new(&slow_config, &ops, NULL, now_ms);
    from_client("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n");
    ck_assert_int_eq(ek_relay_deadline(relay), now_ms + 20);
    now_ms += 15;
    from_client("0123456789"); /* 5 are left, and 10 are earned */
    ck_assert_int_eq(ek_relay_deadline(relay), now_ms + 15);
    now_ms += 5;
    from_client("0123456789012345678901234567890123456789");
    ck_assert_int_eq(ek_relay_deadline(relay), now_ms + 20);
    now_ms += 19;
    ek_relay_client_input(relay, "x", 1, now_ms);
    now_ms += 1000; /* octets wait for the peer: the client owes nothing */
    ck_assert_int_eq(ek_relay_deadline(relay), INT64_MAX);
    flush();
    ck_assert_int_eq(ek_relay_deadline(relay), now_ms + 2);
    now_ms += 2;
    ek_relay_timeout(relay, now_ms);
    EXPECT_STATE(CLOSED);
    ck_assert(ek_relay_is_broken(relay));
}
END_TEST

START_TEST(stops_reading_a_side_that_is_ahead)
{
    char *piece = ek_xalloc(EK_RELAY_HIGH);
    size_t most = 0;

    memset(piece, 'x', EK_RELAY_HIGH);
    from_client("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 10000000\r\n\r\n");
    for (int i = 0; i < 100 && ek_relay_wants_client(relay); i++) {
        ek_relay_client_input(relay, piece, 16384, now_ms);
        most = ek_relay_peer_output(relay).len;
    }
    ck_assert(!ek_relay_wants_client(relay));
    ck_assert_uint_le(most, EK_RELAY_HIGH + 16384);
    ek_relay_peer_sent(relay, most, now_ms);
    ck_assert(ek_relay_wants_client(relay));
    ck_assert(ek_relay_wants_peer(relay));
    const char *head = "HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n";
    ek_relay_peer_input(relay, head, strlen(head), now_ms);
    ek_relay_peer_input(relay, piece, EK_RELAY_HIGH, now_ms);
    ck_assert(!ek_relay_wants_peer(relay));
    ek_relay_client_sent(relay, EK_RELAY_HIGH, now_ms);
    ck_assert(ek_relay_wants_peer(relay));
    ek_free(piece);
}
END_TEST

static void pass(int64_t ms)
{
    now_ms += ms;
    ek_relay_timeout(relay, now_ms);
    flush();
}

START_TEST(ends_slow_clients)
{
    switch (_i) {
    case 0: /* nothing comes at all */
        pass(9);
        EXPECT_STATE(IDLE);
        pass(1);
        EXPECT_STATE(CLOSING);
        break;
    case 1: /* half a head */
        from_client("GET /a");
        pass(10);
        ck_assert_ptr_nonnull(strstr(ek_buf_str(&client), "408 Request Timeout"));
        EXPECT_STATE(CLOSING);
        break;
    case 2: /* half a body */
        from_client("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab");
        pass(19);
        EXPECT_STATE(SEND);
        pass(1);
        EXPECT_STATE(CLOSED);
        EXPECT(story, "request POST /a;drop;done 0 slow;");
        break;
    case 3: /* does not read */
        from_client(GET);
        ek_relay_peer_input(relay, "HTTP/1.1 200 OK\r\n\r\nx", 20, now_ms);
        now_ms += 29;
        ek_relay_timeout(relay, now_ms);
        EXPECT_STATE(ANSWER);
        now_ms += 1;
        ek_relay_timeout(relay, now_ms);
        EXPECT_STATE(CLOSED);
        EXPECT(story, "request GET /a;response 200;drop;done 200 slow;");
        break;
    case 4: /* says nothing more */
        from_client(GET);
        from_peer(OK);
        pass(99);
        EXPECT_STATE(IDLE);
        pass(1);
        EXPECT_STATE(CLOSING);
        break;
    }
}
END_TEST

START_TEST(drains)
{
    if (_i) {
        from_client(GET);
        ek_relay_drain(relay, now_ms);
        from_peer(OK);
        EXPECT(client, "HTTP/1.1 200 \r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    } else {
        ek_relay_drain(relay, now_ms);
    }
    EXPECT_STATE(CLOSING);
}
END_TEST

START_TEST(answers_what_is_no_request)
{
    from_client(
        "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n");
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&client), "HTTP/1.1 400 Bad Request\r\n"));
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&client), "Connection: close\r\n"));
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&client), "\"kind\":\"Status\""));
    EXPECT(story, "done 400 complete;");
    EXPECT_STATE(CLOSING);
}
END_TEST

START_TEST(consents_to_a_body)
{
    expects = true;
    from_client("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    EXPECT(client, "HTTP/1.1 100 Continue\r\n\r\n");
    from_client("ab");
    EXPECT(peer, HEAD "ab");
    from_peer("HTTP/1.1 100 Continue\r\n\r\n" OK);
    EXPECT(client, OK_);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("relay");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, forwards_and_keeps_both);
    tcase_add_test(tcase, takes_one_request_at_a_time);
    tcase_add_test(tcase, frames_bodies_anew);
    tcase_add_test(tcase, serves_http_1_0);
    tcase_add_test(tcase, answers_head_without_a_body);
    tcase_add_test(tcase, streams_at_once);
    tcase_add_test(tcase, ends_a_stream_between_lines);
    tcase_add_test(tcase, ends_a_stream_between_frames);
    tcase_add_test(tcase, ends_a_quiet_stream_at_once);
    tcase_add_test(tcase, repeats_what_was_not_answered);
    tcase_add_test(tcase, repeats_a_body_that_was_not_sent);
    tcase_add_loop_test(tcase, shows_truncation, 0, 2);
    tcase_add_loop_test(tcase, refuses_a_bad_response, 0, 4);
    tcase_add_test(tcase, drops_a_peer_that_says_more);
    tcase_add_test(tcase, ends_when_the_client_goes);
    tcase_add_test(tcase, ends_after_an_early_answer);
    tcase_add_loop_test(tcase, holds_a_response, 0, 2);
    tcase_add_test(tcase, holds_no_long_response);
    tcase_add_test(tcase, discards_a_response);
    tcase_add_test(tcase, tunnels);
    tcase_add_test(tcase, ends_half_a_tunnel);
    tcase_add_test(tcase, drops_both_after_a_refused_upgrade);
    tcase_add_loop_test(tcase, closes_after_its_own_answer_to_an_upgrade, 0, 2);
    tcase_add_test(tcase, ends_slow_bodies);
    tcase_add_test(tcase, stops_reading_a_side_that_is_ahead);
    tcase_add_loop_test(tcase, ends_slow_clients, 0, 5);
    tcase_add_loop_test(tcase, drains, 0, 2);
    tcase_add_test(tcase, answers_what_is_no_request);
    tcase_add_test(tcase, consents_to_a_body);
    return ek_test_run("relay", tcase);
}
