/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of a relay that are slow, or send what is no request, and the end of a relay. */
#include <string.h>

#include "test/support/relay_scene.h"
#include "test/support/suite.h"

/* 1000 octets earn a second; nothing is earned beyond the credit of the begin (20 ms). */
START_TEST(ends_slow_bodies)
{
    scene.config.body_rate = 1000;
    from_client("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n");
    ck_assert_int_eq(ek_relay_deadline(scene.relay), scene.now_ms + 20);
    scene.now_ms += 15;
    from_client("0123456789"); /* 5 are left, and 10 are earned */
    ck_assert_int_eq(ek_relay_deadline(scene.relay), scene.now_ms + 15);
    scene.now_ms += 5;
    from_client("0123456789012345678901234567890123456789");
    ck_assert_int_eq(ek_relay_deadline(scene.relay), scene.now_ms + 20);
    scene.now_ms += 19;
    ek_relay_client_input(scene.relay, "x", 1, scene.now_ms);
    scene.now_ms += 1000; /* octets wait for the peer: the client owes nothing */
    ck_assert_int_eq(ek_relay_deadline(scene.relay), INT64_MAX);
    relay_scene_flush();
    ck_assert_int_eq(ek_relay_deadline(scene.relay), scene.now_ms + 2);
    scene.now_ms += 2;
    ek_relay_timeout(scene.relay, scene.now_ms);
    EXPECT_STATE(CLOSING);
    EXPECT(scene.story, "request POST /a;drop;done 408 complete;");
}
END_TEST

static void pass(int64_t ms)
{
    scene.now_ms += ms;
    ek_relay_timeout(scene.relay, scene.now_ms);
    relay_scene_flush();
}

static void expect_refusal(const char *status)
{
    const char *const parts[] = {status, "Connection: close\r\n", "\"kind\":\"Status\""};

    for (size_t i = 0; i < EK_ARRAY_SIZE(parts); i++)
        ck_assert_msg(strstr(ek_buf_str(&scene.client), parts[i]) != NULL, "%s",
                      ek_buf_str(&scene.client));
    EXPECT_STATE(CLOSING);
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
        expect_refusal("408 Request Timeout");
        break;
    case 2: /* half a body */
        from_client("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab");
        pass(19);
        EXPECT_STATE(SEND);
        pass(1);
        expect_refusal("408 Request Timeout");
        EXPECT(scene.story, "request POST /a;drop;done 408 complete;");
        break;
    case 3: /* does not read */
        from_client(GET);
        ek_relay_peer_input(scene.relay, "HTTP/1.1 200 OK\r\n\r\nx", 20, scene.now_ms);
        scene.now_ms += 29;
        ek_relay_timeout(scene.relay, scene.now_ms);
        EXPECT_STATE(ANSWER);
        scene.now_ms += 1;
        ek_relay_timeout(scene.relay, scene.now_ms);
        EXPECT_STATE(CLOSED);
        EXPECT(scene.story, "request GET /a;response 200;drop;done 200 slow;");
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
        ek_relay_drain(scene.relay, scene.now_ms);
        from_peer(OK);
        EXPECT(scene.client, "HTTP/1.1 200 \r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    } else {
        ek_relay_drain(scene.relay, scene.now_ms);
    }
    EXPECT_STATE(CLOSING);
}
END_TEST

static const struct {
    const char *from_client, *story;
} bad[] = {{"Content-Length: 3\r\n" CHUNKED "\r\n", "done 400 complete;"},
           {CHUNKED "\r\nxyz\r\n", "request POST /a;drop;done 400 complete;"},
           {CHUNKED "\r\n3\r\nabc1\r\n", "request POST /a;drop;done 400 complete;"}};

START_TEST(answers_what_is_no_request)
{
    from_client("POST /a HTTP/1.1\r\nHost: h\r\n");
    from_client(bad[_i].from_client);
    expect_refusal("400 Bad Request");
    EXPECT(scene.story, bad[_i].story);
}
END_TEST

/* What is bad behind the beginning of a response breaks the connection: there is no second
 * response. */
START_TEST(answers_once)
{
    from_client("POST /a HTTP/1.1\r\nHost: h\r\n" CHUNKED "\r\n");
    from_peer("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok");
    from_client("xyz\r\n");
    EXPECT(scene.client, "HTTP/1.1 200 \r\nContent-Length: 4\r\n\r\nok");
    EXPECT(scene.story, "request POST /a;response 200;drop;done 200 gone;");
    EXPECT_STATE(CLOSED);
}
END_TEST

START_TEST(consents_to_a_body)
{
    scene.expects = true;
    from_client("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    EXPECT(scene.client, "HTTP/1.1 100 Continue\r\n\r\n");
    from_client("ab");
    EXPECT(scene.peer, HEAD "ab");
    from_peer("HTTP/1.1 100 Continue\r\n\r\n" OK);
    EXPECT(scene.client, OK_);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("relay_limits");

    tcase_add_checked_fixture(tcase, relay_scene_make, relay_scene_done);
    tcase_add_test(tcase, ends_slow_bodies);
    tcase_add_loop_test(tcase, ends_slow_clients, 0, 5);
    tcase_add_loop_test(tcase, drains, 0, 2);
    tcase_add_loop_test(tcase, answers_what_is_no_request, 0, (int)EK_ARRAY_SIZE(bad));
    tcase_add_test(tcase, answers_once);
    tcase_add_test(tcase, consents_to_a_body);
    return ek_test_run("relay_limits", tcase);
}
