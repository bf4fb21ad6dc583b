/* SPDX-License-Identifier: Apache-2.0 */
/* One client, one peer, a clock in the test's hand: what the relay sends to either. */
#include <stdlib.h>

#include "test/support/relay_scene.h"
#include "test/support/suite.h"

START_TEST(forwards_and_keeps_both)
{
    from_client(GET);
    EXPECT(scene.peer, HEAD);
    from_peer(OK);
    EXPECT(scene.client, OK_);
    EXPECT(scene.story, "request GET /a;response 200;keep;done 200 complete;");
    EXPECT_STATE(IDLE);
    from_client(GET);
    EXPECT(scene.peer, HEAD);
    from_peer("HTTP/1.1 200 OK\r\nConnection: close, x-gone\r\nX-Gone: 1\r\nX-Stays: "
              "2\r\nContent-Length: 0\r\n\r\n");
    EXPECT(scene.client, "HTTP/1.1 200 \r\nX-Stays: 2\r\nContent-Length: 0\r\n\r\n");
    EXPECT(scene.story, "request GET /a;response 200;drop;done 200 complete;");
}
END_TEST

/* The second request waits until the first is answered, and its answer is taken. */
START_TEST(takes_one_request_at_a_time)
{
    from_client(GET "GET /own HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT(scene.story, "request GET /a;");
    ek_relay_peer_input(scene.relay, OK, strlen(OK), scene.now_ms);
    EXPECT(scene.story, "response 200;keep;done 200 complete;");
    relay_scene_flush();
    EXPECT(scene.story, "request GET /own;done 503 complete;");
    EXPECT(scene.client,
           OK_ "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: "
               "3\r\n\r\nown");
    EXPECT_STATE(IDLE);
}
END_TEST

START_TEST(frames_bodies_anew)
{
    from_client(
        "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n");
    EXPECT(scene.peer, HEAD "3\r\nabc\r\n");
    from_client("1\r\nd\r\n0\r\nTrailer: x\r\n\r\n");
    EXPECT(scene.peer, "1\r\nd\r\n0\r\n\r\n");
    from_peer("HTTP/1.1 200 OK\r\n\r\n");
    from_peer("until");
    EXPECT(scene.client, "HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n5\r\nuntil\r\n");
    ek_relay_peer_eof(scene.relay, scene.now_ms);
    relay_scene_flush();
    EXPECT(scene.client, "0\r\n\r\n");
    EXPECT(scene.story, "request POST /a;response 200;drop;done 200 complete;");
    from_client("PUT /b HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab");
    from_client("cd");
    EXPECT(scene.peer, HEAD "abcd");
}
END_TEST

/* HTTP/1.0 knows no chunks, and its connection ends. */
START_TEST(serves_http_1_0)
{
    from_client("GET /a HTTP/1.0\r\n\r\n");
    from_peer(
        "HTTP/1.1 102 P\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"
        "0\r\n\r\n");
    EXPECT(scene.client, "HTTP/1.1 200 \r\nConnection: close\r\n\r\nab");
    EXPECT_STATE(CLOSING);
    EXPECT(scene.story, "request GET /a;response 200;keep;done 200 complete;");
}
END_TEST

START_TEST(answers_head_without_a_body)
{
    from_client("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n");
    from_peer("HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n");
    EXPECT(scene.client, "HTTP/1.1 200 \r\nContent-Length: 77\r\n\r\n");
    EXPECT(scene.story, "request HEAD /a;response 200;keep;done 200 complete;");
    from_client("HEAD /own HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT(scene.client,
           "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 3\r\n\r\n");
}
END_TEST

START_TEST(streams_at_once)
{
    from_client(GET);
    from_peer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    EXPECT(scene.client, "HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n");
    from_peer("4\r\nab");
    EXPECT(scene.client, "2\r\nab\r\n");
    from_peer("c\n\r\n");
    EXPECT(scene.client, "2\r\nc\n\r\n");
    ck_assert(ek_relay_deadline(scene.relay) == INT64_MAX);
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
    ek_relay_end_stream(scene.relay, scene.now_ms);
    EXPECT_STATE(ANSWER);
    from_peer("5\r\n}\n{2}\r\n");
    EXPECT(scene.client, WATCH_ "2\r\n{1\r\n2\r\n}\n\r\n0\r\n\r\n");
    EXPECT_STATE(CLOSING);
    EXPECT(scene.story, "request GET /a;response 200;drop;done 200 complete;");
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
    ek_relay_peer_input(scene.relay, first, sizeof first - 1, scene.now_ms);
    relay_scene_flush();
    ek_relay_end_stream(scene.relay, scene.now_ms);
    EXPECT_STATE(ANSWER);
    ek_relay_peer_input(scene.relay, more, sizeof more - 1, scene.now_ms);
    relay_scene_flush();
    EXPECT_STATE(CLOSING);
    ck_assert(
        !memcmp(scene.client.data + scene.client.len - (sizeof got - 1), got, sizeof got - 1));
}
END_TEST

START_TEST(ends_a_quiet_stream_at_once)
{
    from_client(GET);
    from_peer(WATCH);
    ek_relay_end_stream(scene.relay, scene.now_ms);
    relay_scene_flush();
    EXPECT(scene.client, WATCH_ "0\r\n\r\n");
    EXPECT_STATE(CLOSING);
}
END_TEST

/* ---- Failures ---- */

START_TEST(repeats_what_was_not_answered)
{
    from_client(GET);
    EXPECT(scene.peer, HEAD);
    ek_relay_peer_lost(scene.relay, "reset", scene.now_ms);
    EXPECT(scene.story, "request GET /a;drop;failed sent repeatable;");
    ek_relay_repeat(scene.relay, scene.now_ms);
    relay_scene_flush();
    EXPECT(scene.peer, HEAD);
    from_peer("HTTP/1.1 20");
    ek_relay_peer_eof(scene.relay, scene.now_ms);
    EXPECT(scene.story, "drop;failed sent repeatable;");
    ek_relay_answer(scene.relay, 503, EK_STR(""), EK_STR(""), scene.now_ms);
    relay_scene_flush();
    EXPECT(scene.client, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
    EXPECT(scene.story, "done 503 complete;");
    EXPECT_STATE(IDLE);
}
END_TEST

/* A body that was sent is gone; one that was not is still here. */
START_TEST(repeats_a_body_that_was_not_sent)
{
    const char *text = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab";

    ek_relay_client_input(scene.relay, text, strlen(text), scene.now_ms);
    ek_relay_peer_lost(scene.relay, "refused", scene.now_ms);
    EXPECT(scene.story, "request POST /a;drop;failed repeatable;");
    ek_relay_repeat(scene.relay, scene.now_ms);
    relay_scene_flush();
    from_client("cd");
    EXPECT(scene.peer, HEAD "abcd");
    ek_relay_peer_lost(scene.relay, "reset", scene.now_ms);
    EXPECT(scene.story, "drop;failed sent;");
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
        ek_relay_peer_eof(scene.relay, scene.now_ms);
    else
        ek_relay_peer_lost(scene.relay, "reset", scene.now_ms);
    relay_scene_flush();
    EXPECT_STATE(CLOSED);
    ck_assert(ek_relay_is_broken(scene.relay));
    ck_assert_ptr_null(strstr(ek_buf_str(&scene.client), "0\r\n\r\n"));
    EXPECT(scene.story, "request GET /a;response 200;drop;done 200 lost;");
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
    EXPECT(scene.story, "request GET /a;drop;failed sent repeatable;");
}
END_TEST

/* What follows a response would be taken for the next one: the connection is not used again. */
START_TEST(drops_a_peer_that_says_more)
{
    from_client(GET GET);
    from_peer(OK OK);
    EXPECT(scene.client, OK_);
    EXPECT(scene.story, "request GET /a;response 200;drop;done 200 complete;request GET /a;");
}
END_TEST

START_TEST(ends_when_the_client_goes)
{
    from_client(GET);
    ek_relay_client_eof(scene.relay, scene.now_ms);
    EXPECT(scene.story, "request GET /a;drop;done 0 gone;");
    EXPECT_STATE(CLOSED);
}
END_TEST

/* The peer has answered before it has read all: the client may still send, so it ends. */
START_TEST(ends_after_an_early_answer)
{
    from_client("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab");
    from_peer("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
    EXPECT(scene.story, "request POST /a;response 413;drop;done 413 complete;");
    EXPECT_STATE(CLOSING);
    from_client("GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT(scene.story, "");
}
END_TEST

/* ---- Holding ---- */

START_TEST(holds_a_response)
{
    scene.fate = EK_RELAY_HOLD;
    from_client(GET);
    from_peer("HTTP/1.1 404 N\r\nContent-Length: 4\r\n\r\ngone");
    EXPECT(scene.story, "request GET /a;response 404;keep;held 404 gone;");
    EXPECT(scene.client, "");
    if (_i) {
        ek_relay_pass(scene.relay, scene.now_ms);
        relay_scene_flush();
        EXPECT(scene.client, "HTTP/1.1 404 \r\nContent-Length: 4\r\n\r\ngone");
        EXPECT(scene.story, "done 404 complete;");
        return;
    }
    scene.fate = EK_RELAY_STREAM;
    ck_assert(ek_relay_can_repeat(scene.relay));
    ek_relay_repeat(scene.relay, scene.now_ms);
    relay_scene_flush();
    EXPECT(scene.peer, HEAD HEAD);
    from_peer(OK);
    EXPECT(scene.client, OK_);
}
END_TEST

START_TEST(holds_no_long_response)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, 1 << 20);
    ek_buf_printf(&text, "HTTP/1.1 404 N\r\nContent-Length: %d\r\n\r\n%0*d",
                  (int)EK_RELAY_HELD_MAX + 1, (int)EK_RELAY_HELD_MAX + 1, 0);
    scene.fate = EK_RELAY_HOLD;
    from_client(GET);
    from_peer(ek_buf_str(&text));
    EXPECT(scene.story, "request GET /a;response 404;keep;done 404 complete;");
    ck_assert_uint_gt(scene.client.len, EK_RELAY_HELD_MAX);
}
END_TEST

START_TEST(discards_a_response)
{
    scene.fate = EK_RELAY_DISCARD;
    from_client(GET);
    from_peer("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nthis");
    EXPECT(scene.story, "request GET /a;response 200;keep;held 200 ;");
    ek_relay_answer(scene.relay, 200, EK_STR(""), EK_STR("that"), scene.now_ms);
    relay_scene_flush();
    EXPECT(scene.client, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nthat");
    EXPECT_STATE(IDLE);
}
END_TEST

/* ---- Tunnels ---- */

#define SWITCH "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"

START_TEST(tunnels)
{
    scene.upgrades = true;
    from_client(GET "early");
    EXPECT(scene.peer, HEAD);
    from_peer(SWITCH "hello");
    EXPECT(scene.client, "HTTP/1.1 101 \r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello");
    EXPECT(scene.peer, "early");
    EXPECT_STATE(TUNNEL);
    from_client("GET");
    EXPECT(scene.peer, "GET");
    ek_relay_client_eof(scene.relay, scene.now_ms);
    ck_assert(ek_relay_peer_ends(scene.relay) && !ek_relay_client_ends(scene.relay));
    from_peer("bye");
    EXPECT(scene.client, "bye");
    ek_relay_peer_eof(scene.relay, scene.now_ms);
    EXPECT_STATE(CLOSED);
    ck_assert(!ek_relay_is_broken(scene.relay));
    EXPECT(scene.story, "request GET /a;drop;done 101 complete;");
}
END_TEST

START_TEST(ends_half_a_tunnel)
{
    scene.upgrades = true;
    from_client(GET);
    from_peer(SWITCH);
    ck_assert(ek_relay_deadline(scene.relay) == INT64_MAX);
    ek_relay_peer_eof(scene.relay, scene.now_ms);
    ck_assert(ek_relay_client_ends(scene.relay) && !ek_relay_peer_ends(scene.relay));
    from_client("still");
    EXPECT(scene.peer, HEAD "still");
    scene.now_ms += 40;
    ek_relay_timeout(scene.relay, scene.now_ms);
    EXPECT_STATE(CLOSED);
}
END_TEST

/* CVE-2018-1002105: after an upgrade that was refused neither connection is used again. */
START_TEST(drops_both_after_a_refused_upgrade)
{
    scene.upgrades = true;
    from_client(GET "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n");
    from_peer("HTTP/1.1 403 F\r\nContent-Length: 2\r\n\r\nno");
    EXPECT(scene.peer, HEAD);
    EXPECT(scene.client, "HTTP/1.1 403 \r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
    EXPECT(scene.story, "request GET /a;response 403;drop;done 403 complete;");
    EXPECT_STATE(CLOSING);
}
END_TEST

/* An answer of the owner's ends the connection, too: what follows may be another protocol. */
START_TEST(closes_after_its_own_answer_to_an_upgrade)
{
    scene.upgrades = true;
    scene.later = _i == 0; /* before the request was forwarded, or after its peer was lost */
    from_client("GET /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"
                "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n");
    if (_i)
        ek_relay_peer_lost(scene.relay, "gone", scene.now_ms);
    ek_relay_answer(scene.relay, 503, EK_STR(""), EK_STR("no"), scene.now_ms);
    relay_scene_flush();
    EXPECT(scene.client, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n"
                         "Connection: close\r\n\r\nno");
    EXPECT_STATE(CLOSING);
    ck_assert_ptr_null(strstr(ek_buf_str(&scene.story), "smuggled"));
}
END_TEST

START_TEST(stops_reading_a_side_that_is_ahead)
{
    char *piece = ek_xalloc(EK_RELAY_HIGH);
    size_t most = 0;

    memset(piece, 'x', EK_RELAY_HIGH);
    from_client("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 10000000\r\n\r\n");
    for (int i = 0; i < 100 && ek_relay_wants_client(scene.relay); i++) {
        ek_relay_client_input(scene.relay, piece, 16384, scene.now_ms);
        most = ek_relay_peer_output(scene.relay).len;
    }
    ck_assert(!ek_relay_wants_client(scene.relay));
    ck_assert_uint_le(most, EK_RELAY_HIGH + 16384);
    ek_relay_peer_sent(scene.relay, most, scene.now_ms);
    ck_assert(ek_relay_wants_client(scene.relay));
    ck_assert(ek_relay_wants_peer(scene.relay));
    const char *head = "HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n";
    ek_relay_peer_input(scene.relay, head, strlen(head), scene.now_ms);
    ek_relay_peer_input(scene.relay, piece, EK_RELAY_HIGH, scene.now_ms);
    ck_assert(!ek_relay_wants_peer(scene.relay));
    ek_relay_client_sent(scene.relay, EK_RELAY_HIGH, scene.now_ms);
    ck_assert(ek_relay_wants_peer(scene.relay));
    ek_free(piece);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("relay");

    tcase_add_checked_fixture(tcase, relay_scene_make, relay_scene_done);
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
    tcase_add_test(tcase, stops_reading_a_side_that_is_ahead);
    return ek_test_run("relay", tcase);
}
