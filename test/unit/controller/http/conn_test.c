/* SPDX-License-Identifier: Apache-2.0 */
/* The connection engine: bytes in, bytes out, with a clock in the test's hand. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/base/err.h"
#include "controller/http/conn.h"
#include "test/support/http_state.h"
#include "test/support/suite.h"

static int64_t now_ms;
static int n_wakes;
static struct ek_http_reply *kept; /* by the handler of /later */
static struct ek_http_conn *conn;
static struct ek_buf got; /* what was sent */

static int64_t wall(void *ctx)
{
    (void)ctx;
    return 1763636289123; /* Thu, 20 Nov 2025 10:58:09 GMT */
}

static void wake(void *ctx)
{
    (void)ctx;
    n_wakes++;
}

/* Echoes what it sees as "METHOD path?query [x: value] body". */
static void echo(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    EK_AUTO(ek_buf) out;
    const char *x = ek_http_request_header(request, "x-test");

    (void)ctx;
    ek_buf_init(&out, 1 << 20);
    ek_buf_printf(&out, "%s %s?%s [%s] ", request->method, request->path, request->query,
                  x ? x : "-");
    ek_buf_append(&out, request->body.p, request->body.len);
    ek_buf_puts(&out, request->cut ? " cut" : "");
    ek_http_reply_send(reply, 200, "text/plain", ek_buf_str(&out), out.len);
}

static void later(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    (void)ctx;
    (void)request;
    kept = reply;
}

static void big(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    char *body = ek_xalloc(100000);

    (void)ctx;
    (void)request;
    memset(body, 'b', 100000);
    ek_http_reply_send(reply, 200, NULL, body, 100000);
    ek_free(body);
}

static void odd(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    (void)ctx;
    (void)request;
    ek_http_reply_header(reply, "X-Evil", "a\r\nSet-Cookie: b\x7f");
    ek_http_reply_send(reply, 204, "text/plain", "never", 5);
}

static const struct ek_http_route routes[] = {
    {.path = "/echo", .methods = NULL, .handler = echo},
    {.path = "/get", .methods = "GET", .handler = echo},
    {.path = "/post", .methods = "POST PUT", .handler = echo, .max_body = 64},
    {.path = "/cut", .methods = "POST", .handler = echo, .max_body = 8, .cut_body = true},
    {.path = "/tree", .subtree = true, .methods = "GET", .handler = echo},
    {.path = "/later", .methods = "GET", .handler = later},
    {.path = "/big", .methods = "GET", .handler = big},
    {.path = "/odd", .methods = "GET", .handler = odd},
};

static struct ek_http_conn_config config = {
    .limits = {.max_head = 1000,
               .max_body = 100,
               .head_timeout_ms = 1000,
               .body_timeout_ms = 2000,
               .reply_timeout_ms = 3000,
               .idle_timeout_ms = 4000,
               .write_timeout_ms = 5000},
    .routes = routes,
    .n_routes = EK_ARRAY_SIZE(routes),
};

static void setup(void)
{
    now_ms = 1000000;
    n_wakes = 0;
    kept = NULL;
    ek_buf_init(&got, 1 << 22);
    config.wall_ms = NULL;
    config.limits.reply_timeout_ms = 3000;
    config.limits.rate_grace_ms = 0;
    config.limits.min_rate = 0;
    conn = ek_http_conn_new(&config, "127.0.0.1:1", wake, NULL, now_ms);
}

static void teardown(void)
{
    ek_http_conn_free(conn);
    ek_buf_done(&got);
}

static void restart(void)
{
    ek_http_conn_free(conn);
    conn = ek_http_conn_new(&config, "127.0.0.1:1", wake, NULL, now_ms);
    ek_buf_reset(&got);
}

/* Takes the output until no more comes. */
static const char *taken(void)
{
    struct ek_str out;

    while ((out = ek_http_conn_output(conn)).len > 0) {
        ek_buf_append(&got, out.p, out.len);
        ek_http_conn_sent(conn, out.len, now_ms);
        ek_http_conn_run(conn, now_ms);
    }
    return ek_buf_str(&got);
}

static void feed(const char *s)
{
    ek_http_conn_input(conn, s, strlen(s), now_ms);
}

static const char *state(void)
{
    return test_http_state(conn);
}

#define OK(body_len)                                                                               \
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: " body_len "\r\n"

static const struct {
    const char *name;
    const char *request;
    const char *expected; /* the whole output, or its start when it ends with "..." */
    const char *state;    /* afterwards */
} exchanges[] = {
    {"get", "GET /get?a=b HTTP/1.1\r\nHost: x\r\nX-Test:  v \t\r\n\r\n",
     OK("17") "\r\nGET /get?a=b [v] ", "IDLE"},
    {"empty header value", "GET /get HTTP/1.1\r\nHost: x\r\nX-Test:\r\n\r\n",
     OK("13") "\r\nGET /get? [] ", "IDLE"},
    {"leading new lines", "\r\n\r\nGET /get HTTP/1.1\r\nHost: x\r\n\r\n",
     OK("14") "\r\nGET /get? [-] ", "IDLE"},
    {"head", "HEAD /get HTTP/1.1\r\nHost: x\r\n\r\n", OK("15") "\r\n", "IDLE"},
    {"absolute form", "GET http://x:80/get?q HTTP/1.1\r\nHost: x\r\n\r\n",
     OK("15") "\r\nGET /get?q [-] ", "IDLE"},
    {"absolute form without path", "GET http://x HTTP/1.1\r\nHost: x\r\n\r\n",
     "HTTP/1.1 404 Not Found\r\n...", "IDLE"},
    {"fragment is dropped", "GET /get#f HTTP/1.1\r\nHost: x\r\n\r\n", OK("14") "\r\nGET /get? [-] ",
     "IDLE"},
    {"body by length", "POST /post HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody",
     OK("20") "\r\nPOST /post? [-] body", "IDLE"},
    {"chunked body",
     "POST /post HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
     "3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\nTrailer: x\r\n\r\n",
     OK("21") "\r\nPOST /post? [-] abcde", "IDLE"},
    {"pipelined", "GET /get?1 HTTP/1.1\r\nHost: x\r\n\r\nGET /get?2 HTTP/1.1\r\nHost: x\r\n\r\n",
     OK("15") "\r\nGET /get?1 [-] " OK("15") "\r\nGET /get?2 [-] ", "IDLE"},
    {"close on request", "GET /get HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET / HTTP/1.1",
     OK("14") "Connection: close\r\n\r\nGET /get? [-] ", "CLOSING"},
    {"HTTP/1.0 closes", "GET /get HTTP/1.0\r\n\r\n",
     OK("14") "Connection: close\r\n\r\nGET /get? [-] ", "CLOSING"},
    {"HTTP/1.0 keep-alive", "GET /get HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
     OK("14") "Connection: keep-alive\r\n\r\nGET /get? [-] ", "IDLE"},
    {"not found", "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n",
     "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 19\r\n"
     "X-Content-Type-Options: nosniff\r\n\r\n404 page not found\n",
     "IDLE"},
    {"not found with a body", "POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody",
     "HTTP/1.1 404 Not Found\r\n...", "CLOSING"},
    {"no subtree", "GET /get/x HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 404 Not Found\r\n...",
     "IDLE"},
    {"subtree", "GET /tree/a/b HTTP/1.1\r\nHost: x\r\n\r\n", OK("19") "\r\nGET /tree/a/b? [-] ",
     "IDLE"},
    {"no prefix of a word", "GET /treehouse HTTP/1.1\r\nHost: x\r\n\r\n",
     "HTTP/1.1 404 Not Found\r\n...", "IDLE"},
    {"wrong method", "GET /post HTTP/1.1\r\nHost: x\r\n\r\n",
     "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: text/plain; charset=utf-8\r\n"
     "Content-Length: 19\r\nAllow: POST,PUT\r\n...",
     "IDLE"},
    {"header injection", "GET /odd HTTP/1.1\r\nHost: x\r\n\r\n",
     "HTTP/1.1 204 No Content\r\nX-Evil: a  Set-Cookie: b \r\n\r\n", "IDLE"},
    {"upgrade is not offered",
     "GET /get HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
     "GET /get HTTP/1.1\r\nHost: x\r\n\r\n",
     OK("14") "\r\nGET /get? [-] " OK("14") "\r\nGET /get? [-] ", "IDLE"},
    {"expect",
     "POST /post HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
     "HTTP/1.1 100 Continue\r\n\r\n", "BODY"},
    {"expect something else",
     "POST /post HTTP/1.1\r\nHost: x\r\nExpect: gold\r\nContent-Length: 1\r\n\r\n",
     "HTTP/1.1 417 Expectation Failed\r\n...", "CLOSING"},
    {"expect, too large",
     "POST /post HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 65\r\n\r\n",
     "HTTP/1.1 413 Request Entity Too Large\r\n...", "CLOSING"},
    {"too large", "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n",
     "HTTP/1.1 413 Request Entity Too Large\r\n...", "CLOSING"},
    {"chunk too large",
     "POST /post HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n41\r\n",
     "HTTP/1.1 413 Request Entity Too Large\r\n...", "CLOSING"},
    {"cut", "POST /cut HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n012345678",
     OK("28") "\r\nPOST /cut? [-] 012345678 cut", "IDLE"},
    {"not cut", "POST /cut HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\n01234567",
     OK("23") "\r\nPOST /cut? [-] 01234567", "IDLE"},
    {"chunks cut",
     "POST /cut HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
     "6\r\n012345\r\n3\r\n678\r\n0\r\n\r\n",
     OK("28") "\r\nPOST /cut? [-] 012345678 cut", "IDLE"},
    {"too large to be cut", "POST /cut HTTP/1.1\r\nHost: x\r\nContent-Length: 129\r\n\r\n",
     "HTTP/1.1 413 Request Entity Too Large\r\n...", "CLOSING"},
    {"chunks too large to be cut",
     "POST /cut HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n012345\r\n7b\r\n",
     "HTTP/1.1 413 Request Entity Too Large\r\n...", "CLOSING"},
    {"endless length",
     "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
     "HTTP/1.1 400 Bad Request\r\n...", "CLOSING"},
    {"no host", "GET /get HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n...", "CLOSING"},
    {"two hosts", "GET /get HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
     "HTTP/1.1 400 Bad Request\r\n...", "CLOSING"},
    {"smuggling: length and chunks",
     "POST /post HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
     "HTTP/1.1 400 Bad Request\r\n...", "CLOSING"},
    {"smuggling: two lengths",
     "POST /post HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n",
     "HTTP/1.1 400 Bad Request\r\n...", "CLOSING"},
    {"smuggling: chunked is not last",
     "POST /post HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
     "HTTP/1.1 400 Bad Request\r\n...", "CLOSING"},
    {"smuggling: blank before colon",
     "GET /get HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n",
     "HTTP/1.1 400 Bad Request\r\n...", "CLOSING"},
    {"chunks in HTTP/1.0", "POST /post HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
     "HTTP/1.1 400 Bad Request\r\n...", "CLOSING"},
    {"folded header", "GET /get HTTP/1.1\r\nHost: x\r\nX-Test: a\r\n b\r\n\r\n",
     "HTTP/1.1 400 Bad Request\r\n...", "CLOSING"},
    {"control character in a header", "GET /get HTTP/1.1\r\nHost: x\r\nX-Test: a\x01\r\n\r\n",
     "HTTP/1.1 400 Bad Request\r\n...", "CLOSING"},
    {"bare new lines", "GET /get HTTP/1.1\r\nHost: x\n\n", "HTTP/1.1 400 Bad Request\r\n...",
     "CLOSING"},
    {"garbage", "\x16\x03\x01\x02\x01\x01", "HTTP/1.1 400 Bad Request\r\n...", "CLOSING"},
    {"lower-case method", "get /get HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n...",
     "CLOSING"},
    {"bytes in the target", "GET /g\xc3\xa4 HTTP/1.1\r\nHost: x\r\n\r\n",
     "HTTP/1.1 400 Bad Request\r\n...", "CLOSING"},
    {"connect", "CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n",
     "HTTP/1.1 405 Method Not Allowed\r\n...", "CLOSING"},
    {"options *", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n...",
     "CLOSING"},
    {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
     "HTTP/1.1 505 HTTP Version Not Supported\r\n...", "CLOSING"},
    {"HTTP/3", "GET /get HTTP/3.0\r\nHost: x\r\n\r\n",
     "HTTP/1.1 505 HTTP Version Not Supported\r\n...", "CLOSING"},
};

static void check_output(const char *name, size_t cut, const char *expected)
{
    size_t n = strlen(expected);
    bool prefix = n > 3 && !strcmp(expected + n - 3, "...");

    taken();
    bool same =
        prefix ? !strncmp(ek_buf_str(&got), expected, n - 3) : !strcmp(ek_buf_str(&got), expected);
    ck_assert_msg(same, "%s (cut at %zu): got\n%s", name, cut, ek_buf_str(&got));
}

START_TEST(requests)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(exchanges); i++) {
        restart();
        feed(exchanges[i].request);
        check_output(exchanges[i].name, 0, exchanges[i].expected);
        ck_assert_msg(!strcmp(state(), exchanges[i].state), "%s: %s", exchanges[i].name, state());
    }
}
END_TEST

/* Where the network cuts the bytes must not matter. */
START_TEST(requests_in_pieces)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(exchanges); i++) {
        size_t n = strlen(exchanges[i].request);
        for (size_t cut = 1; cut < n; cut++) {
            restart();
            ek_http_conn_input(conn, exchanges[i].request, cut, now_ms);
            for (size_t k = cut; k < n; k += cut)
                ek_http_conn_input(conn, exchanges[i].request + k, k + cut < n ? cut : n - k,
                                   now_ms);
            check_output(exchanges[i].name, cut, exchanges[i].expected);
        }
    }
}
END_TEST

START_TEST(head_limits)
{
    static const struct {
        const char *name;
        const char *start, *repeat;
        int n;
        const char *expected;
    } rows[] = {
        {"long target", "GET /", "aaaaaaaaaa", 110, "HTTP/1.1 414 "},
        {"long value", "GET /get HTTP/1.1\r\nHost: x\r\nX: ", "aaaaaaaaaa", 110, "HTTP/1.1 431 "},
        {"long name", "GET /get HTTP/1.1\r\nHost: x\r\n", "aaaaaaaaaa", 110, "HTTP/1.1 431 "},
        {"many headers", "GET /get HTTP/1.1\r\nHost: x\r\n", "A:b\r\n", 110, "HTTP/1.1 431 "},
        {"chunk extension",
         "POST /post HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;", "aaaaaaaaaa",
         110, "HTTP/1.1 431 "},
        {"trailers", "POST /post HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
         "A:bbbbb\r\n", 200, "HTTP/1.1 431 "},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        restart();
        feed(rows[i].start);
        for (int k = 0; k < rows[i].n; k++)
            feed(rows[i].repeat);
        ck_assert_msg(!strncmp(taken(), rows[i].expected, strlen(rows[i].expected)), "%s: %s",
                      rows[i].name, ek_buf_str(&got));
        ck_assert_str_eq(state(), "CLOSING");
    }
}
END_TEST

START_TEST(timeouts)
{
    static const struct {
        const char *name;
        const char *input;
        int64_t after_ms; /* nothing happens one millisecond before it */
        const char *output;
        const char *state;
    } rows[] = {
        {"nothing ever comes", "", 1000, "", "CLOSED"},
        {"slow head", "GET /get HTTP/1.1\r\nHo", 1000, "HTTP/1.1 408 ", "CLOSING"},
        {"slow body", "POST /post HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbo", 2000,
         "HTTP/1.1 408 ", "CLOSING"},
        {"slow handler", "GET /later HTTP/1.1\r\nHost: x\r\n\r\n", 3000, "HTTP/1.1 503 ",
         "CLOSING"},
        {"idle", "GET /odd HTTP/1.1\r\nHost: x\r\n\r\n", 4000, "HTTP/1.1 204 ", "CLOSED"},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        restart();
        feed(rows[i].input);
        taken();
        ck_assert_msg(ek_http_conn_deadline(conn) == now_ms + rows[i].after_ms, "%s", rows[i].name);
        now_ms += rows[i].after_ms - 1;
        enum ek_http_conn_state before = ek_http_conn_state(conn);
        ek_http_conn_timeout(conn, now_ms);
        ck_assert_msg(ek_http_conn_state(conn) == before, "%s: early", rows[i].name);
        now_ms++;
        ek_http_conn_timeout(conn, now_ms);
        ck_assert_msg(!strcmp(state(), rows[i].state), "%s: %s", rows[i].name, state());
        ck_assert_msg(!strncmp(taken(), rows[i].output, strlen(rows[i].output)), "%s: %s",
                      rows[i].name, ek_buf_str(&got));
        if (kept) /* the handler wakes up too late */
            ek_http_reply_text(kept, 200, "late");
        kept = NULL;
        ck_assert_ptr_null(strstr(taken(), "late"));
    }
}
END_TEST

/* A byte now and then does not buy more time. */
START_TEST(slow_loris)
{
    static const char request[] = "GET /get HTTP/1.1\r\nHost: x\r\nX: aaaaaaaaaaaaaaaaaaaaaa";
    int64_t start = now_ms;

    for (size_t i = 0; i < sizeof request - 1; i++) {
        now_ms += 50;
        if (now_ms >= ek_http_conn_deadline(conn))
            break;
        ek_http_conn_input(conn, request + i, 1, now_ms);
    }
    ek_http_conn_timeout(conn, now_ms);
    ck_assert_int_le(now_ms - start, 1100);
    ck_assert_str_eq(state(), "CLOSING");
}
END_TEST

START_TEST(slow_reader)
{
    feed("GET /big HTTP/1.1\r\nHost: x\r\n\r\nGET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    size_t first = ek_http_conn_output(conn).len;
    ck_assert_uint_lt(first, 101000); /* the second waits until the first is taken */
    now_ms += 4000;
    ek_http_conn_sent(conn, first - 1, now_ms);
    ek_http_conn_run(conn, now_ms);
    ck_assert_uint_eq(ek_http_conn_output(conn).len, 1); /* to the last byte */
    ck_assert_int_eq(ek_http_conn_work(conn), EK_HTTP_WORK_LATER);
    ek_http_conn_sent(conn, 1, now_ms);
    ck_assert_int_eq(ek_http_conn_work(conn), EK_HTTP_WORK_CHEAP);
    ek_http_conn_run(conn, now_ms);
    ck_assert_uint_gt(ek_http_conn_output(conn).len, 100000);
    ek_http_conn_timeout(conn, now_ms);
    ck_assert_int_eq(ek_http_conn_deadline(conn), now_ms + 4000); /* idle comes first */
    now_ms += 3000;
    feed("G"); /* does not matter for the sending side */
    now_ms += 2000;
    ek_http_conn_timeout(conn, now_ms);
    ck_assert_str_eq(state(), "CLOSED");
}
END_TEST

/* However late an answer comes, the client has the whole time to read it, and then to be idle. */
START_TEST(asynchronous)
{
    static const int64_t delays_ms[] = {0, 4999, 5000, 9000, 30000};

    config.limits.rate_grace_ms = 5000;
    config.limits.min_rate = 65536;
    config.limits.reply_timeout_ms = 60000;
    for (size_t i = 0; i < EK_ARRAY_SIZE(delays_ms); i++) {
        restart();
        n_wakes = 0;
        feed("GET /later HTTP/1.1\r\nHost: x\r\n\r\nGET /get HTTP/1.1\r\nHost: x\r\n\r\n");
        ck_assert_str_eq(state(), "HANDLER");
        ck_assert_str_eq(taken(), "");
        ck_assert(!ek_http_reply_is_orphan(kept));
        now_ms += delays_ms[i];
        ek_http_reply_send(kept, 200, "text/plain", "done", 4);
        ck_assert_int_eq(n_wakes, 1);
        ek_http_conn_timeout(conn, now_ms);
        ck_assert_int_eq(ek_http_conn_deadline(conn), now_ms + 4000); /* of idleness */
        now_ms += 3999;
        ek_http_conn_timeout(conn, now_ms);
        ck_assert_msg(!strcmp(taken(), OK("4") "\r\ndone" OK("14") "\r\nGET /get? [-] "),
                      "after %d ms: %s", (int)delays_ms[i], ek_buf_str(&got));
        ck_assert_str_eq(state(), "IDLE");
    }
}
END_TEST

/* Nobody reads the late answer: its time ends like that of any other. */
START_TEST(late_and_unread)
{
    config.limits.rate_grace_ms = 3000;
    config.limits.min_rate = 65536;
    config.limits.reply_timeout_ms = 60000;
    restart();
    feed("GET /later HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    now_ms += 30000;
    ek_http_reply_send(kept, 200, "text/plain", "done", 4);
    ck_assert_int_le(ek_http_conn_deadline(conn), now_ms); /* the owner is to say what time it is */
    ek_http_conn_run(conn, now_ms);
    ck_assert_int_eq(ek_http_conn_deadline(conn), now_ms + 3000);
    now_ms += 2999;
    ek_http_conn_timeout(conn, now_ms);
    ck_assert_str_eq(state(), "CLOSING");
    now_ms++;
    ek_http_conn_timeout(conn, now_ms);
    ck_assert_str_eq(state(), "CLOSED");
    ck_assert_str_eq(ek_http_fault_name(ek_http_conn_fault(conn)), "slow_reader");
}
END_TEST

/* The time in which the owner was busy elsewhere is nobody's slowness. */
START_TEST(excused)
{
    static const struct {
        const char *name, *text;
        int64_t due_ms; /* until its time is over */
    } rows[] = {
        {"silence", "", 1000},
        {"half a head", "GET /ec", 1000},
        {"half a body", "POST /post HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab", 800},
        {"a handler", "GET /later HTTP/1.1\r\nHost: x\r\n\r\n", 3000},
        {"an answer", "GET /get HTTP/1.1\r\nHost: x\r\n\r\n", 800},
    };

    config.limits.rate_grace_ms = 800;
    config.limits.min_rate = 65536;
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        restart();
        feed(rows[i].text);
        ek_http_conn_timeout(conn, now_ms);
        int64_t due_ms = ek_http_conn_deadline(conn);
        ck_assert_msg(due_ms == now_ms + rows[i].due_ms, "%s: %d", rows[i].name,
                      (int)(due_ms - now_ms));
        now_ms += 60000;
        ek_http_conn_excuse(conn, 60000);
        ck_assert_msg(ek_http_conn_deadline(conn) == due_ms + 60000, "%s", rows[i].name);
        ek_http_conn_timeout(conn, due_ms + 59999);
        ck_assert_msg(ek_http_conn_fault(conn) == EK_HTTP_FAULT_NONE, "%s", rows[i].name);
        if (kept)
            ek_http_reply_send(kept, 200, "text/plain", "done", 4);
        kept = NULL;
    }
    /* An answer whose time has not begun has no time to be put off. */
    restart();
    feed("GET /get HTTP/1.1\r\nHost: x\r\n\r\n");
    ek_http_conn_excuse(conn, 60000);
    ek_http_conn_timeout(conn, now_ms);
    ck_assert_int_eq(ek_http_conn_deadline(conn), now_ms + 800);
}
END_TEST

START_TEST(flood_while_waiting)
{
    char junk[4096];

    memset(junk, 'G', sizeof junk);
    feed("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    int n = 0;
    for (; n < 1000 && ek_http_conn_wants_input(conn); n++)
        ek_http_conn_input(conn, junk, sizeof junk, now_ms);
    ck_assert_int_lt(n, 10);
    for (n = 0; n < 1000; n++) /* an owner that does not listen costs its client the connection */
        ek_http_conn_input(conn, junk, sizeof junk, now_ms);
    ck_assert_str_eq(state(), "CLOSED");
    ek_http_reply_text(kept, 200, "x");
}
END_TEST

START_TEST(client_goes_away)
{
    feed("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    ek_http_conn_eof(conn, now_ms);
    ck_assert_str_eq(state(), "HANDLER"); /* it may only have closed its half */
    ek_http_reply_send(kept, 200, "text/plain", "x", 1);
    ck_assert_str_eq(taken(), OK("1") "Connection: close\r\n\r\nx");
    ck_assert_str_eq(state(), "CLOSING");
    restart();
    feed("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    ek_http_conn_free(conn);
    conn = NULL;
    ck_assert(ek_http_reply_is_orphan(kept));
    ek_http_reply_send(kept, 200, "text/plain", "x", 1); /* releases it */
    static const char *const partial[] = {"", "GET /g",
                                          "POST /post HTTP/1.1\r\nHost: x\r\n"
                                          "Content-Length: 4\r\n\r\nbo"};
    for (size_t i = 0; i < EK_ARRAY_SIZE(partial); i++) {
        restart();
        feed(partial[i]);
        ek_http_conn_eof(conn, now_ms);
        ck_assert_msg(!strcmp(state(), "CLOSED"), "%s", partial[i]);
    }
}
END_TEST

START_TEST(drain)
{
    ek_http_conn_drain(conn, now_ms);
    ck_assert_str_eq(state(), "CLOSED");
    restart();
    feed("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    ek_http_conn_drain(conn, now_ms);
    ck_assert_str_eq(state(), "HANDLER");
    ek_http_reply_send(kept, 200, "text/plain", "x", 1);
    ck_assert_str_eq(taken(), OK("1") "Connection: close\r\n\r\nx");
    ck_assert_str_eq(state(), "CLOSING");
}
END_TEST

START_TEST(last)
{
    ek_http_conn_last(conn);
    ek_http_conn_run(conn, now_ms);
    ck_assert_str_eq(state(), "IDLE");
    feed("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    ek_http_reply_send(kept, 200, "text/plain", "x", 1);
    ck_assert_str_eq(taken(), OK("1") "Connection: close\r\n\r\nx");
    ck_assert_str_eq(state(), "CLOSING");
}
END_TEST

START_TEST(date)
{
    config.wall_ms = wall;
    feed("GET /odd HTTP/1.1\r\nHost: x\r\n\r\n");
    ck_assert_ptr_nonnull(strstr(taken(), "\r\nDate: Thu, 20 Nov 2025 10:58:09 GMT\r\n"));
}
END_TEST

static void join_pair(void *ctx, const char *name, const char *value)
{
    ek_buf_printf(ctx, "[%s=%s]", name, value);
}

START_TEST(queries)
{
    static const struct {
        const char *query, *expected;
    } rows[] = {
        {"", ""},
        {"verbose", "[verbose=]"},
        {"a=1&b=2&a=3", "[a=1][b=2][a=3]"},
        {"a=%2Fx+y%zz&&%61=%", "[a=/x y%zz][a=%]"},
        {"=v&n=", "[=v][n=]"},
        {"a=b=c", "[a=b=c]"},
        {"a=%00b", "[a= b]"},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        EK_AUTO(ek_buf) out;
        ek_buf_init(&out, 1000);
        ek_http_query_each(rows[i].query, join_pair, &out);
        ck_assert_msg(!strcmp(ek_buf_str(&out), rows[i].expected), "%s: %s", rows[i].query,
                      ek_buf_str(&out));
    }
}
END_TEST

START_TEST(no_memory)
{
    static const char request[] =
        "POST /post HTTP/1.1\r\nHost: x\r\nX-Test: y\r\nContent-Length: 4\r\n\r\nbody";

    for (long n = 1; n < 30; n++) {
        restart();
        ek_alloc_fail_after(n);
        feed(request);
        ek_alloc_fail_after(0);
        ck_assert_msg(!strcmp(state(), "IDLE") || !strcmp(state(), "CLOSING") ||
                          !strcmp(state(), "CLOSED"),
                      "%ld: %s", n, state());
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("http_conn");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, requests);
    tcase_add_test(tc, requests_in_pieces);
    tcase_add_test(tc, head_limits);
    tcase_add_test(tc, timeouts);
    tcase_add_test(tc, slow_loris);
    tcase_add_test(tc, slow_reader);
    tcase_add_test(tc, asynchronous);
    tcase_add_test(tc, late_and_unread);
    tcase_add_test(tc, excused);
    tcase_add_test(tc, flood_while_waiting);
    tcase_add_test(tc, client_goes_away);
    tcase_add_test(tc, drain);
    tcase_add_test(tc, last);
    tcase_add_test(tc, date);
    tcase_add_test(tc, queries);
    tcase_add_test(tc, no_memory);
    return ek_test_run("http_conn", tc);
}
