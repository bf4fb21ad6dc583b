/* SPDX-License-Identifier: Apache-2.0 */
/* A client of HTTP/2 and owners of streams in the test's hand: what the text of each stream is, and
 * what the client gets. */
#include "controller/proxy/h1.h"
#include "test/support/h2_fixture.h"
#include "test/support/suite.h"

/* ---- Requests as text ---- */

#define PSEUDO ":method: GET\n:scheme: https\n:authority: h\n:path: /a\n"

static const struct {
    const char *fields;
    size_t upload;
    const char *text; /* what the owner gets; NULL: it gets none */
    int status;       /* by which it is refused; 0: not */
} requests[] = {
    {PSEUDO, 0, "GET /a HTTP/1.1\r\nHost: h\r\n\r\n", 0},
    {PSEUDO "accept: */*\nx-y: z\n", 0,
     "GET /a HTTP/1.1\r\nHost: h\r\naccept: */*\r\nx-y: z\r\n\r\n", 0},
    {":method: GET\n:scheme: https\n:path: /a?b=%20\nhost: k\n", 0,
     "GET /a?b=%20 HTTP/1.1\r\nHost: k\r\n\r\n", 0},
    {PSEUDO "host: H\n", 0, "GET /a HTTP/1.1\r\nHost: h\r\n\r\n", 0},
    {PSEUDO "cookie: a=1\ncookie: b=2\n", 0,
     "GET /a HTTP/1.1\r\nHost: h\r\nCookie: a=1; b=2\r\n\r\n", 0},
    {":method: POST\n:scheme: https\n:authority: h\n:path: /a\ncontent-length: 3\n", 3,
     "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nuuu", 0},
    {":method: POST\n:scheme: https\n:authority: h\n:path: /a\ncontent-length: 0\n", 0,
     "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", 0},
    {":method: POST\n:scheme: https\n:authority: h\n:path: /a\n", 3,
     "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nuuu\r\n0\r\n\r\n", 0},
    {PSEUDO "host: other\n", 0, "", 400},
    {":method: GET\n:scheme: https\n:authority: h\n:path: /a b\n", 0, NULL, 0},
    {":method: GET\n:scheme: https\n:authority: h\n:path: \n", 0, NULL, 0},
    {":method: GET\n:scheme: https\n:authority: h\n:path: /\xc3\xa9\n", 0, "", 400},
    {":method: GET HTTP/1.1\n:scheme: https\n:authority: h\n:path: /a\n", 0, NULL, 0},
    {":method: GET\n:scheme: https\n:path: /a\n", 0, NULL, 0},
    {":method: GET\n:authority: h\n:path: /a\n", 0, NULL, 0},
    {":method: CONNECT\n:authority: h\n", 0, "", 400},
    {":method: GET\n:scheme: https\n:authority: h\n:path: /a\n:protocol: websocket\n", 0, NULL, 0},
    {PSEUDO "connection: keep-alive\n", 0, NULL, 0},
    {PSEUDO "transfer-encoding: chunked\n", 0, NULL, 0},
    {PSEUDO "upgrade: websocket\n", 0, NULL, 0},
    {PSEUDO "te: gzip\n", 0, NULL, 0},
    {PSEUDO "x-y: a\r\tX-Remote-User: admin\n", 0, NULL, 0},
    {PSEUDO "x y: z\n", 0, NULL, 0},
    {PSEUDO "content-length: 3\ncontent-length: 3\n", 3, NULL, 0},
    {PSEUDO "content-length: +3\n", 3, NULL, 0},
    {PSEUDO "content-length: 2\n", 3, NULL, 0},
    {PSEUDO "content-length: 4\n", 3, NULL, 0},
    {PSEUDO "content-length: 1\n", 0, NULL, 0},
};

START_TEST(writes_requests_as_text)
{
    const struct h2_client_stream *stream =
        h2_client_request(&h2f.client, "", "", requests[_i].fields, requests[_i].upload);

    h2f_flush();
    if (!requests[_i].text) {
        ck_assert(stream->closed);
        ck_assert_uint_ne(stream->code, NGHTTP2_NO_ERROR);
        ck_assert(h2f.n_owners == 0 || h2f.owners[0].lost);
        return;
    }
    ck_assert_uint_eq(h2f.n_owners, 1);
    ck_assert_str_eq(ek_buf_str(&h2f.owners[0].in), requests[_i].text);
    ck_assert_int_eq(h2f.owners[0].refused, requests[_i].status);
    if (requests[_i].status)
        ck_assert_int_eq(stream->status, requests[_i].status);
    else
        ck_assert(!stream->closed);
}
END_TEST

/* What nghttp2's client does not send: a name in upper case. */
START_TEST(refuses_upper_case)
{
    static const char head[] = "\x82\x87\x84\x41\x01h\x00\x01X\x01z";

    h2f_flush();
    h2f_send_frame(sizeof head - 1, NGHTTP2_HEADERS,
                   NGHTTP2_FLAG_END_STREAM | NGHTTP2_FLAG_END_HEADERS, 1, head);
    ck_assert_uint_eq(h2f.n_owners, 0);
    ck_assert(ek_h2_output(h2f.h2, h2f.now_ms).len > 0);
}
END_TEST

/* A head that is too large is answered; one that is far too large is not read. */
START_TEST(limits_heads)
{
    EK_AUTO(ek_buf) fields;

    ek_buf_init(&fields, 1 << 20);
    for (int i = 0; i < (_i ? 22 : 5); i++)
        ek_buf_printf(&fields, "x-%d: %01000d\n", i, 7);
    struct h2_client_stream *stream =
        h2_client_request(&h2f.client, "GET", "/a", ek_buf_str(&fields), _i ? 0 : 9);
    h2f_flush();
    ck_assert(stream->closed);
    ck_assert_int_eq(stream->status, _i ? 0 : 431);
    ck_assert_uint_eq(stream->code, _i ? NGHTTP2_INTERNAL_ERROR : NGHTTP2_NO_ERROR);
    ck_assert_int_eq(ek_h2_state(h2f.h2), EK_H2_OPEN);
}
END_TEST

START_TEST(limits_fields)
{
    EK_AUTO(ek_buf) fields;

    ek_buf_init(&fields, 1 << 20);
    for (int i = 0; i < EK_H1_FIELDS_MAX - 3; i++)
        ek_buf_puts(&fields, "x: \n");
    const struct h2_client_stream *stream =
        h2_client_request(&h2f.client, "GET", "/a", ek_buf_str(&fields), 0);
    h2f_flush();
    ck_assert_int_eq(stream->status, 431);
}
END_TEST

/* Fields after the body are dropped, as those of HTTP/1.1 are; the body is whole. */
START_TEST(drops_trailers)
{
    const nghttp2_nv trailer = {(uint8_t *)(uintptr_t) "x-t", (uint8_t *)(uintptr_t) "1", 3, 1, 0};
    const struct h2_client_stream *stream = h2_client_request(&h2f.client, "POST", "/a", "", 3);

    h2f.client.trailers = true;
    h2f_flush();
    nghttp2_submit_trailer(h2f.client.session, stream->id, &trailer, 1);
    h2f_flush();
    ck_assert_str_eq(ek_buf_str(&h2f.owners[0].in),
                     "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "3\r\nuuu\r\n0\r\n\r\n");
}
END_TEST

/* ---- Responses ---- */

static const struct {
    const char *text, *method;
    int status, n_informational;
    const char *head, *body;
} responses[] = {
    {OK, "GET", 200, 0, "content-length: 2\nx-y: Z\n", "ok"},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\nKeep-Alive: x\r\n\r\n"
     "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
     "GET", 200, 0, "", "abcde"},
    {"HTTP/1.1 304 Not Modified\r\nETag: \"A\"\r\n\r\n", "GET", 304, 0, "etag: \"A\"\n", ""},
    {"HTTP/1.1 204 No Content\r\n\r\n", "DELETE", 204, 0, "", ""},
    {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "HEAD", 200, 0, "content-length: 9\n", ""},
    {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "GET", 200, 0, "content-length: 0\n", ""},
    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" OK, "GET", 200, 2,
     "content-length: 2\nx-y: Z\n", "ok"},
};

/* In one piece, and octet by octet. */
START_TEST(writes_responses)
{
    struct h2_client_stream *stream =
        h2_client_request(&h2f.client, responses[_i / 2].method, "/a", "", 0);
    const char *text = responses[_i / 2].text;

    h2f_flush();
    if (_i % 2)
        h2f_answer(0, text);
    for (size_t i = 0; !(_i % 2) && text[i]; i++)
        h2f_answer(0, (const char[]){text[i], '\0'});
    ck_assert_int_eq(stream->status, responses[_i / 2].status);
    ck_assert_int_eq(stream->n_informational, responses[_i / 2].n_informational);
    ck_assert_str_eq(ek_buf_str(&stream->head), responses[_i / 2].head);
    ck_assert_str_eq(ek_buf_str(&stream->body), responses[_i / 2].body);
    ck_assert(stream->ended && stream->closed);
    ck_assert_uint_eq(stream->code, NGHTTP2_NO_ERROR);
    ck_assert(h2f.owners[0].lost);
    ck_assert_uint_eq(h2f.owners[0].sent, strlen(text));
    ck_assert(ek_h2_is_idle(h2f.h2));
}
END_TEST

/* The client must see that something is missing. */
START_TEST(resets_a_truncated_response)
{
    struct h2_client_stream *stream = h2_client_request(&h2f.client, "GET", "/a", "", 0);

    h2f_flush();
    h2f_answer(0, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    ck_assert_str_eq(ek_buf_str(&stream->body), "abc");
    ek_h2_stream_close(h2f.owners[0].stream);
    h2f.owners[0].stream = NULL;
    h2f_flush();
    ck_assert(stream->closed && !stream->ended);
    ck_assert_uint_eq(stream->code, NGHTTP2_INTERNAL_ERROR);
    ck_assert_int_eq(ek_h2_state(h2f.h2), EK_H2_OPEN);
}
END_TEST

START_TEST(resets_what_is_no_response)
{
    struct h2_client_stream *stream = h2_client_request(&h2f.client, "GET", "/a", "", 0);

    h2f_flush();
    h2f_answer(0,
               _i ? "nonsense\r\n\r\n" : "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz");
    ck_assert(stream->closed && !stream->ended && h2f.owners[0].lost);
}
END_TEST

/* An answer before the end of a body: the rest is refused, without an error (RFC 9113, 8.1). */
START_TEST(answers_before_the_body)
{
    h2f.unwilling = true;
    struct h2_client_stream *stream = h2_client_request(&h2f.client, "POST", "/a", "", 1 << 20);
    h2f_flush();
    h2f_answer(0, OK);
    ck_assert_int_eq(stream->status, 200);
    ck_assert(stream->ended && stream->closed);
    ck_assert_uint_eq(stream->code, NGHTTP2_NO_ERROR);
    ck_assert_uint_gt(stream->upload, 0);
}
END_TEST

/* ---- Back-pressure ---- */

START_TEST(holds_back_an_upload)
{
    h2f.unwilling = true;
    struct h2_client_stream *stream = h2_client_request(&h2f.client, "POST", "/a", "", 1 << 20);
    h2f_flush();
    ck_assert_uint_eq((1 << 20) - stream->upload, EK_H2_STREAM_WINDOW);
    h2f.owners[0].unwilling = false;
    ek_h2_stream_go_on(h2f.owners[0].stream);
    h2f_flush();
    ck_assert_uint_eq(stream->upload, 0);
    ck_assert_uint_gt(h2f.owners[0].in.len, 1 << 20);
}
END_TEST

/* All streams together hold what the connection's window allows; a stream that ends gives its part
 * back. */
START_TEST(limits_uploads_of_a_connection)
{
    size_t n = 0;

    h2f.unwilling = true;
    for (int i = 0; i < 40; i++)
        h2_client_request(&h2f.client, "POST", "/a", "", 1 << 20);
    h2f_flush();
    for (int i = 0; i < 40; i++)
        n += (1 << 20) - h2f.client.streams[i].upload;
    ck_assert_uint_eq(n, EK_H2_WINDOW);
    for (int i = 0; i < 20; i++) {
        ek_h2_stream_close(h2f.owners[i].stream);
        h2f.owners[i].stream = NULL;
    }
    h2f_flush();
    n = 0;
    for (int i = 20; i < 40; i++)
        n += (1 << 20) - h2f.client.streams[i].upload;
    ck_assert_uint_le(n, EK_H2_WINDOW);
    ck_assert_uint_gt(n, EK_H2_WINDOW / 4 * 3); /* nghttp2 returns a window from its half on */
}
END_TEST

/* A client that does not read gets what its window allows; the owner keeps the rest. */
START_TEST(holds_back_a_response)
{
    h2_client_done(&h2f.client);
    ek_h2_conn_free(h2f.h2);
    h2f_setup_window(1000);
    struct h2_client_stream *stream = h2_client_request(&h2f.client, "GET", "/a", "", 0);
    h2f_flush();
    ek_buf_puts(&h2f.owners[0].out, "HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n");
    for (int i = 0; i < 2000; i++)
        ek_buf_printf(&h2f.owners[0].out, "%01000d", i);
    ck_assert(ek_h2_is_full(h2f.h2));
    h2f_answer(0, "");
    ck_assert_uint_eq(stream->body_size, 1000);
    ck_assert_uint_eq(h2f.owners[0].out.len, 2000000 - 1000);
    for (size_t read = 0, next; stream->body_size < 2000000; read = next) {
        next = stream->body_size;
        nghttp2_session_consume(h2f.client.session, stream->id, next - read);
        h2f_flush();
        ck_assert_uint_le(stream->body_size - next, 1000);
    }
    ck_assert(stream->closed && !ek_h2_is_full(h2f.h2));
}
END_TEST

/* A list does not stop a watch. */
START_TEST(streams_take_turns)
{
    struct h2_client_stream *list = h2_client_request(&h2f.client, "GET", "/list", "", 0),
                            *watch = h2_client_request(&h2f.client, "GET", "/watch", "", 0);
    h2f_flush();
    ek_buf_puts(&h2f.owners[0].out, "HTTP/1.1 200 OK\r\nContent-Length: 120000\r\n\r\n");
    ek_buf_printf(&h2f.owners[0].out, "%0120000d", 1);
    ek_h2_stream_go_on(h2f.owners[0].stream);
    ek_buf_puts(&h2f.owners[1].out,
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    ek_h2_stream_go_on(h2f.owners[1].stream);
    h2f_flush_server();
    h2f_flush_server();
    ck_assert_str_eq(ek_buf_str(&watch->body), "abc");
    ck_assert(!list->closed);
}
END_TEST

/* ---- Resets and the end ---- */

START_TEST(loses_a_stream_that_is_reset)
{
    struct h2_client_stream *stream = h2_client_request(&h2f.client, "GET", "/a", "", 0);

    h2f_flush();
    h2f_answer(0, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    nghttp2_submit_rst_stream(h2f.client.session, 0, stream->id, NGHTTP2_CANCEL);
    h2f_flush();
    ck_assert(h2f.owners[0].lost && ek_h2_is_idle(h2f.h2));
    ck_assert_ptr_null(ek_h2_abuse(h2f.h2));
}
END_TEST

/* First a warning, so that requests on their way are served; then the number of the last one. */
START_TEST(shuts_down)
{
    struct h2_client_stream *stream = h2_client_request(&h2f.client, "GET", "/a", "", 0);

    h2f_flush();
    ek_h2_shutdown(h2f.h2, h2f.now_ms);
    h2f_flush_server();
    ck_assert(h2f.client.goaway);
    ck_assert_int_eq(h2f.client.last_stream, 0x7fffffff);
    h2f_flush();
    ck_assert_int_eq(h2f.client.last_stream, stream->id);
    ck_assert_uint_eq(h2f.client.goaway_code, NGHTTP2_NO_ERROR);
    ck_assert_int_eq(ek_h2_state(h2f.h2), EK_H2_OPEN);
    h2f_answer(0, OK);
    ck_assert_int_eq(stream->status, 200);
    ck_assert_int_eq(ek_h2_state(h2f.h2), EK_H2_CLOSING);
}
END_TEST

START_TEST(refuses_other_bytes)
{
    static const char text[] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

    ek_h2_input(h2f.h2, text, sizeof text - 1, h2f.now_ms);
    ck_assert_int_eq(ek_h2_state(h2f.h2), EK_H2_CLOSED);
    ck_assert_uint_eq(ek_h2_output(h2f.h2, h2f.now_ms).len, 0);
}
END_TEST

static const struct {
    const char *name;
    int type, flags;
    size_t len;
    uint32_t id;
    const char *payload;
    uint32_t code;
} errors[] = {
    {"a step of nothing", NGHTTP2_WINDOW_UPDATE, 0, 4, 0, "\0\0\0\0", NGHTTP2_PROTOCOL_ERROR},
    {"a window beyond 2^31", NGHTTP2_WINDOW_UPDATE, 0, 4, 0, "\x7f\xff\xff\xff",
     NGHTTP2_FLOW_CONTROL_ERROR},
    {"an initial window beyond 2^31", NGHTTP2_SETTINGS, 0, 6, 0, "\0\4\x80\0\0\0",
     NGHTTP2_FLOW_CONTROL_ERROR},
    {"a frame size that is too small", NGHTTP2_SETTINGS, 0, 6, 0, "\0\5\0\0\0\1",
     NGHTTP2_PROTOCOL_ERROR},
    {"half a setting", NGHTTP2_SETTINGS, 0, 3, 0, "\0\4\0", NGHTTP2_FRAME_SIZE_ERROR},
    {"settings of a stream", NGHTTP2_SETTINGS, 0, 0, 1, "", NGHTTP2_PROTOCOL_ERROR},
    {"half a ping", NGHTTP2_PING, 0, 4, 0, "abcd", NGHTTP2_FRAME_SIZE_ERROR},
    {"a stream of the server", NGHTTP2_HEADERS, 5, 1, 2, "\x82", NGHTTP2_PROTOCOL_ERROR},
    {"a push", NGHTTP2_PUSH_PROMISE, 4, 5, 1, "\0\0\0\2\x82", NGHTTP2_PROTOCOL_ERROR},
    {"a continuation of nothing", NGHTTP2_CONTINUATION, 4, 1, 1, "\x82", NGHTTP2_PROTOCOL_ERROR},
    {"data of no stream", NGHTTP2_DATA, 0, 1, 0, "a", NGHTTP2_PROTOCOL_ERROR},
    {"data of a stream to come", NGHTTP2_DATA, 0, 1, 9, "a", NGHTTP2_PROTOCOL_ERROR},
    {"data behind the end", NGHTTP2_DATA, 0, 1, 1, "a", NGHTTP2_STREAM_CLOSED},
    {"a reset of a stream to come", NGHTTP2_RST_STREAM, 0, 4, 9, "\0\0\0\1",
     NGHTTP2_PROTOCOL_ERROR},
    {"a head that is no HPACK", NGHTTP2_HEADERS, 5, 2, 3, "\xff\xff", NGHTTP2_COMPRESSION_ERROR},
    {"more padding than there is", NGHTTP2_HEADERS, 0xd, 2, 3, "\x09\x82", NGHTTP2_PROTOCOL_ERROR},
};

START_TEST(ends_by_a_protocol_error)
{
    h2_client_request(&h2f.client, "GET", "/a", "", 0);
    h2f_flush();
    h2f_send_frame(errors[_i].len, errors[_i].type, errors[_i].flags, errors[_i].id,
                   errors[_i].payload);
    h2f_flush();
    ck_assert_msg(h2f.client.goaway && h2f.owners[0].lost, "%s", errors[_i].name);
    ck_assert_msg(h2f.client.goaway_code == errors[_i].code, "%s: %u", errors[_i].name,
                  h2f.client.goaway_code);
    ck_assert_int_eq(ek_h2_state(h2f.h2), EK_H2_CLOSING);
}
END_TEST

/* A field is put into the table once, and named by an octet many times. */
START_TEST(limits_what_few_octets_make)
{
    EK_AUTO(ek_buf) head;
    static const char pseudo[] = "\x82\x87\x84\x41\x01h";

    ek_buf_init(&head, 1 << 16);
    ek_buf_append(&head, pseudo, sizeof pseudo - 1);
    ek_buf_append(&head, "\x40\x01x\x7f\xe9\x16", 6); /* 127 + 2921 octets follow */
    for (int i = 0; i < 3048; i++)
        ek_buf_append(&head, "v", 1);
    for (int i = 0; i < 10000; i++)
        ek_buf_append(&head, "\xbe", 1);
    h2f_flush();
    h2f_send_frame(head.len, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM | NGHTTP2_FLAG_END_HEADERS, 1,
                   head.data);
    ck_assert_uint_eq(h2f.n_owners, 0);
    ck_assert_uint_le(ek_h2_head_octets(h2f.h2), h2f_config.max_head);
    ck_assert_uint_gt(ek_h2_output(h2f.h2, h2f.now_ms).len, 0); /* it is reset */
    ck_assert_int_eq(ek_h2_state(h2f.h2), EK_H2_OPEN);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("h2");

    tcase_set_timeout(tcase, 600);
    tcase_add_checked_fixture(tcase, h2f_setup, h2f_teardown);
    tcase_add_loop_test(tcase, writes_requests_as_text, 0, (int)EK_ARRAY_SIZE(requests));
    tcase_add_test(tcase, refuses_upper_case);
    tcase_add_loop_test(tcase, limits_heads, 0, 2);
    tcase_add_test(tcase, limits_what_few_octets_make);
    tcase_add_test(tcase, limits_fields);
    tcase_add_test(tcase, drops_trailers);
    tcase_add_loop_test(tcase, writes_responses, 0, 2 * (int)EK_ARRAY_SIZE(responses));
    tcase_add_test(tcase, resets_a_truncated_response);
    tcase_add_loop_test(tcase, resets_what_is_no_response, 0, 2);
    tcase_add_test(tcase, answers_before_the_body);
    tcase_add_test(tcase, holds_back_an_upload);
    tcase_add_test(tcase, limits_uploads_of_a_connection);
    tcase_add_test(tcase, holds_back_a_response);
    tcase_add_test(tcase, streams_take_turns);
    tcase_add_test(tcase, loses_a_stream_that_is_reset);
    tcase_add_test(tcase, shuts_down);
    tcase_add_test(tcase, refuses_other_bytes);
    tcase_add_loop_test(tcase, ends_by_a_protocol_error, 0, (int)EK_ARRAY_SIZE(errors));
    return ek_test_run("h2", tcase);
}
