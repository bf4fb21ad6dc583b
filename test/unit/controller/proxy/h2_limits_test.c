/* SPDX-License-Identifier: Apache-2.0 */
/* A client of HTTP/2 that is slow, or an enemy. */
#include "test/support/h2_fixture.h"
#include "test/support/suite.h"

/* ---- Time ---- */

START_TEST(ends_what_is_quiet)
{
    if (_i) { /* a request was served: the connection may be idle for longer */
        h2_client_request(&h2f.client, "GET", "/a", "", 0);
        h2f_flush();
        ck_assert_int_eq(ek_h2_deadline(h2f.h2), INT64_MAX);
        h2f.now_ms += 1000;
        h2f_answer(0, OK);
    } else {
        h2f_flush();
    }
    int64_t due = h2f.now_ms + (_i ? h2f_config.idle_ms : h2f_config.head_ms);
    ck_assert_int_eq(ek_h2_deadline(h2f.h2), due);
    h2f.now_ms = due - 1;
    nghttp2_submit_ping(h2f.client.session, 0, NULL); /* is no request */
    h2f_flush();
    ek_h2_timeout(h2f.h2, h2f.now_ms);
    h2f_flush();
    ck_assert_int_eq(ek_h2_state(h2f.h2), EK_H2_OPEN);
    h2f.now_ms = due;
    ek_h2_timeout(h2f.h2, h2f.now_ms);
    h2f_flush();
    ck_assert(h2f.client.goaway);
    ck_assert_uint_eq(h2f.client.goaway_code, NGHTTP2_NO_ERROR);
    ck_assert_int_eq(ek_h2_state(h2f.h2), EK_H2_CLOSING);
}
END_TEST

/* A head of several frames whose rest does not come. */
START_TEST(ends_slow_heads)
{
    h2_client_request(&h2f.client, "GET", "/watch", "", 0);
    h2f_flush();
    ck_assert_int_eq(ek_h2_deadline(h2f.h2), INT64_MAX);
    h2f_send_frame(1, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 3, "\x82");
    ck_assert_int_eq(ek_h2_deadline(h2f.h2), h2f.now_ms + h2f_config.head_ms);
    h2f.now_ms += h2f_config.head_ms;
    ek_h2_timeout(h2f.h2, h2f.now_ms);
    h2f_flush();
    ck_assert_int_eq(ek_h2_state(h2f.h2), EK_H2_CLOSING);
    ck_assert(h2f.owners[0].lost);
}
END_TEST

/* The end of another stream is not the end of the head. */
START_TEST(ends_slow_heads_beside_answers)
{
    h2_client_request(&h2f.client, "GET", "/a", "", 0);
    h2_client_request(&h2f.client, "GET", "/watch", "", 0);
    h2f_flush();
    h2f_send_frame(1, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 5, "\x82");
    int64_t due = h2f.now_ms + h2f_config.head_ms;
    h2f.now_ms++;
    ek_buf_puts(&h2f.owners[0].out, OK);
    ek_h2_stream_go_on(h2f.owners[0].stream);
    while (h2f_flush_server() > 0) /* the client has nothing to say in the middle of the head */
        ;
    ck_assert(h2f.owners[0].lost);
    ck_assert_int_eq(ek_h2_deadline(h2f.h2), due);
    h2f_send_frame(3, NGHTTP2_CONTINUATION, 0, 5, "\x87\x84\x41");
    ck_assert_int_eq(ek_h2_deadline(h2f.h2), due);
    h2f_send_frame(2, NGHTTP2_CONTINUATION, NGHTTP2_FLAG_END_HEADERS, 5, "\x01h");
    ck_assert_int_eq(ek_h2_deadline(h2f.h2), INT64_MAX);
}
END_TEST

/* A client that answers no PING opens streams for a second after the warning. */
START_TEST(shuts_down_without_an_answer)
{
    const struct h2_client_stream *stream = h2_client_request(&h2f.client, "GET", "/a", "", 0);

    h2f_flush();
    ek_h2_shutdown(h2f.h2, h2f.now_ms);
    h2f_flush_server();
    ck_assert_int_eq(h2f.client.last_stream, 0x7fffffff);
    ck_assert_int_eq(ek_h2_deadline(h2f.h2), h2f.now_ms + 1000);
    h2f.now_ms += 1000;
    ek_h2_timeout(h2f.h2, h2f.now_ms);
    h2f_flush_server();
    ck_assert_int_eq(h2f.client.last_stream, stream->id);
    ck_assert_int_eq(ek_h2_deadline(h2f.h2), INT64_MAX);
    h2f_answer(0, OK);
    ck_assert_int_eq(ek_h2_state(h2f.h2), EK_H2_CLOSING);
}
END_TEST

/* A client that does not read its socket. */
START_TEST(ends_slow_readers)
{
    h2_client_request(&h2f.client, "GET", "/a", "", 0);
    h2f_flush();
    ek_buf_puts(&h2f.owners[0].out, OK);
    ek_h2_stream_go_on(h2f.owners[0].stream);
    ck_assert_uint_gt(ek_h2_output(h2f.h2, h2f.now_ms).len, 0);
    ck_assert_int_eq(ek_h2_deadline(h2f.h2), h2f.now_ms + h2f_config.write_ms);
    h2f.now_ms += h2f_config.write_ms - 1;
    ek_h2_sent(h2f.h2, 1, h2f.now_ms);
    ck_assert_int_eq(ek_h2_deadline(h2f.h2), h2f.now_ms + h2f_config.write_ms);
    h2f.now_ms += h2f_config.write_ms;
    ek_h2_timeout(h2f.h2, h2f.now_ms);
    ck_assert_int_eq(ek_h2_state(h2f.h2), EK_H2_CLOSED);
    ck_assert(h2f.owners[0].lost);
}
END_TEST

/* ---- Abuse ---- */

START_TEST(limits_streams)
{
    const struct h2_client_stream *last = NULL;

    h2f_flush();
    for (unsigned i = 0; i < EK_H2_STREAMS + 10; i++)
        last = h2_client_request(&h2f.client, "GET", "/a", "", 0);
    h2f_flush();
    ck_assert_uint_eq(h2f.n_owners, EK_H2_STREAMS);
    ck_assert(!last->closed); /* a client that knows the limit waits */
    h2f_answer(0, OK);
    ck_assert_uint_eq(h2f.n_owners, EK_H2_STREAMS + 1);
}
END_TEST

/* A request and its reset, again and again (CVE-2023-44487), or an error of the client for
 * which the server resets (CVE-2025-8671). */
START_TEST(limits_resets)
{
    for (int i = 0; i < EK_H2_RESETS + 1; i++) {
        ck_assert_ptr_null(ek_h2_abuse(h2f.h2));
        if (_i == 0) {
            const struct h2_client_stream *stream =
                h2_client_request(&h2f.client, "GET", "/a", "", 0);
            h2f_flush();
            nghttp2_submit_rst_stream(h2f.client.session, 0, stream->id, NGHTTP2_CANCEL);
        } else if (_i == 1) {
            h2_client_request(&h2f.client, "POST", "/a", "content-length: 2\n", 3);
        } else {
            const struct h2_client_stream *stream =
                h2_client_request(&h2f.client, "GET", "/a", "", 0);
            h2f_flush();
            h2f_send_frame(4, NGHTTP2_WINDOW_UPDATE, 0, (uint32_t)stream->id, "\x7f\xff\xff\xff");
        }
        h2f_flush();
    }
    h2f_expect_calm("resets");
}
END_TEST

/* Heads that are too large cost the reading of the head. */
START_TEST(limits_refusals)
{
    EK_AUTO(ek_buf) fields;

    ek_buf_init(&fields, 1 << 20);
    for (int i = 0; i < 5; i++)
        ek_buf_printf(&fields, "x-%d: %01000d\n", i, 7);
    for (int i = 0; i < EK_H2_RESETS + 1; i++) {
        ck_assert_ptr_null(ek_h2_abuse(h2f.h2));
        h2_client_request(&h2f.client, "GET", "/a", ek_buf_str(&fields), 0);
        h2f_flush();
    }
    ck_assert_int_eq(h2f.client.streams[EK_H2_RESETS - 1].status, 431);
    h2f_expect_calm("resets");
}
END_TEST

/* Trailers are dropped, and not read beyond the limit of a head. */
START_TEST(limits_trailers)
{
    static const char name[] = "x-t";
    char value[1001];
    nghttp2_nv trailers[6];

    memset(value, 'x', 1000);
    value[1000] = '\0';
    for (int i = 0; i < 6; i++)
        trailers[i] =
            (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)value, sizeof name - 1, 1000, 0};
    const struct h2_client_stream *stream = h2_client_request(&h2f.client, "POST", "/a", "", 3);
    h2f.client.trailers = true;
    h2f_flush();
    nghttp2_submit_trailer(h2f.client.session, stream->id, trailers, _i ? 6 : 3);
    h2f_flush();
    ck_assert_int_eq(h2f.owners[0].lost, _i);
    ck_assert_int_eq(stream->closed, _i);
}
END_TEST

/* DATA of nothing but padding. */
START_TEST(limits_padding)
{
    h2_client_request(&h2f.client, "POST", "/a", "", 10);
    h2f.client.trailers = true; /* which never come: the body goes on */
    h2f_flush();
    for (int i = 0; i < EK_H2_CONTROLS + 1 && !ek_h2_abuse(h2f.h2); i++)
        h2f_send_frame(1, NGHTTP2_DATA, NGHTTP2_FLAG_PADDED, 1, "\0");
    h2f_expect_calm("control_frames");
}
END_TEST

/* At a slower pace they are no abuse. */
START_TEST(allows_resets)
{
    for (int i = 0; i < EK_H2_RESETS + 100; i++) {
        const struct h2_client_stream *stream = h2_client_request(&h2f.client, "GET", "/a", "", 0);
        h2f_flush();
        nghttp2_submit_rst_stream(h2f.client.session, 0, stream->id, NGHTTP2_CANCEL);
        h2f_flush();
        h2f.now_ms += 1000 / EK_H2_RESETS_A_SECOND;
    }
    ck_assert_ptr_null(ek_h2_abuse(h2f.h2));
}
END_TEST

/* Resets that the owner decides are no abuse. */
START_TEST(allows_resets_of_its_own)
{
    for (int i = 0; i < EK_H2_RESETS + 10; i++) {
        h2_client_request(&h2f.client, "GET", "/a", "", 0);
        h2f_flush();
        ek_h2_stream_close(h2f.owners[i].stream);
        h2f.owners[i].stream = NULL;
        h2f_flush();
    }
    ck_assert_ptr_null(ek_h2_abuse(h2f.h2));
}
END_TEST

START_TEST(limits_continuations)
{
    h2f_flush();
    h2f_send_frame(1, NGHTTP2_HEADERS, 0, 1, "\x82");
    for (unsigned i = 0; i < EK_H2_CONTINUATIONS; i++) {
        ck_assert_ptr_null(ek_h2_abuse(h2f.h2));
        h2f_send_frame(0, NGHTTP2_CONTINUATION, 0, 1, "");
    }
    h2f_send_frame(0, NGHTTP2_CONTINUATION, 0, 1, "");
    h2f_expect_calm("continuations");
    ck_assert_uint_eq(h2f.n_owners, 0);
}
END_TEST

/* Frames that ask for work, or for answers, without a request (CVE-2019-9512, -9513, -9515, -9518),
 * those of no version or of a later one, and windows that are opened by an octet (CVE-2019-9511).
 */
static const struct {
    int type, flags;
    size_t len;
    uint32_t id;
    unsigned char payload[8];
} controls[] = {
    {NGHTTP2_PING, 0, 8, 0, {0}},
    {NGHTTP2_PING, NGHTTP2_FLAG_ACK, 8, 0, {0}},
    {NGHTTP2_SETTINGS, 0, 0, 0, {0}},
    {NGHTTP2_SETTINGS, 0, 6, 0, {0}},
    {NGHTTP2_SETTINGS, 0, 6, 0, {0, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE}},
    {NGHTTP2_SETTINGS, 0, 6, 0, {0, NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 0, 0, 16, 0}},
    {NGHTTP2_PRIORITY, 0, 5, 1, {0}},
    {NGHTTP2_DATA, 0, 0, 1, {0}},
    {NGHTTP2_PRIORITY_UPDATE, 0, 5, 0, {0, 0, 0, 1, 'u'}},
    {NGHTTP2_ALTSVC, 0, 8, 0, {0}},
    {0x20, 0, 8, 0, {0}},
    {0xf0, 0xff, 0, 0, {0}},
    {NGHTTP2_WINDOW_UPDATE, 0, 4, 1, {0, 0, 0, 1}},
};

START_TEST(limits_control_frames)
{
    h2_client_request(&h2f.client, "POST", "/a", "", 10);
    h2f.client.streams[0].upload = SIZE_MAX; /* the body never ends */
    h2f.unwilling = true;
    h2f_flush();
    for (int i = 0; i < EK_H2_CONTROLS + 1 && !ek_h2_abuse(h2f.h2); i++) {
        h2f_send_frame(controls[_i].len, controls[_i].type, controls[_i].flags, controls[_i].id,
                       controls[_i].payload);
        if (!ek_h2_abuse(h2f.h2))
            h2f_flush_server();
    }
    ck_assert(h2f.owners[0].lost); /* at once, whether or not the client reads */
    h2f_expect_calm("control_frames");
}
END_TEST

/* What a client sends that reads. */
START_TEST(allows_windows_to_open)
{
    static const unsigned char step[4] = {0, 0, 16, 0};

    h2_client_request(&h2f.client, "GET", "/a", "", 0);
    h2f_flush();
    for (int i = 0; i < 2 * EK_H2_CONTROLS; i++)
        h2f_send_frame(4, NGHTTP2_WINDOW_UPDATE, 0, 1, step);
    ck_assert_ptr_null(ek_h2_abuse(h2f.h2));
    ck_assert(!h2f.owners[0].lost);
}
END_TEST

/* Answers to PING wait for the socket: the client is not read meanwhile. */
START_TEST(does_not_read_a_client_that_does_not)
{
    size_t n = 0;

    h2f_flush();
    for (; ek_h2_wants(h2f.h2) && n < 900; n++)
        h2f_send_frame(8, NGHTTP2_PING, 0, 0, "abcdefgh");
    ck_assert_uint_lt(n, 300);
    h2f_flush();
    ck_assert(ek_h2_wants(h2f.h2));
    ck_assert_uint_eq(h2f.client.n_ping_acks, n);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("h2_limits");

    tcase_set_timeout(tcase, 600);
    tcase_add_checked_fixture(tcase, h2f_setup, h2f_teardown);
    tcase_add_loop_test(tcase, ends_what_is_quiet, 0, 2);
    tcase_add_test(tcase, ends_slow_heads);
    tcase_add_test(tcase, ends_slow_heads_beside_answers);
    tcase_add_test(tcase, shuts_down_without_an_answer);
    tcase_add_test(tcase, limits_refusals);
    tcase_add_loop_test(tcase, limits_trailers, 0, 2);
    tcase_add_test(tcase, limits_padding);
    tcase_add_test(tcase, ends_slow_readers);
    tcase_add_test(tcase, limits_streams);
    tcase_add_loop_test(tcase, limits_resets, 0, 3);
    tcase_add_test(tcase, allows_resets);
    tcase_add_test(tcase, allows_resets_of_its_own);
    tcase_add_test(tcase, limits_continuations);
    tcase_add_loop_test(tcase, limits_control_frames, 0, (int)EK_ARRAY_SIZE(controls));
    tcase_add_test(tcase, allows_windows_to_open);
    tcase_add_test(tcase, does_not_read_a_client_that_does_not);
    return ek_test_run("h2_limits", tcase);
}
