/* SPDX-License-Identifier: Apache-2.0 */
/* An egress proxy between the proxy and API servers: its URL, its answers, and requests by it. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/proxy/egress.h"
#include "test/support/egress_fixture.h"
#include "test/support/proxy_fixture.h"
#include "test/support/suite.h"

/* ---- The URL ---- */

static const struct {
    const char *url, *address; /* NULL: refused */
} urls[] = {
    {"http://10.0.0.5:3128", "10.0.0.5:3128"},
    {"http://[fd00::5]:3128", "[fd00::5]:3128"},
    {"10.0.0.5:3128", NULL},
    {"https://10.0.0.5:3128", NULL},
    {"socks5://10.0.0.5:3128", NULL},
    {"http://10.0.0.5", NULL},
    {"http://10.0.0.5:0", NULL},
    {"http://10.0.0.5:65536", NULL},
    {"http://10.0.0.5:3128/", NULL},
    {"http://:3128", NULL},
    {"http://fd00::5:3128", NULL},
    {"http://egress.example.com:3128", NULL},
    {"http://localhost:3128", NULL},
    {"http://user:secret@10.0.0.5:3128", NULL},
    {"http://", NULL},
    {"", NULL},
};

START_TEST(urls_are_read)
{
    struct ek_egress egress;
    struct ek_err err = {0};

    int rc = ek_egress_parse(urls[_i].url, &egress, &err);
    ck_assert_msg((rc == 0) == (urls[_i].address != NULL), "%s: %s", urls[_i].url, err.message);
    if (urls[_i].address)
        ck_assert_str_eq(egress.address, urls[_i].address);
    else
        ck_assert_msg(!strstr(err.message, "secret"), "%s", err.message);
}
END_TEST

/* ---- Answers to CONNECT ---- */

#define OPEN "HTTP/1.1 200 OK\r\n\r\n"

static const struct {
    const char *answer, *why; /* NULL: the tunnel is open; "": more is awaited */
} answers[] = {
    {OPEN, NULL},
    {"HTTP/1.0 200 Connection established\r\n\r\n", NULL},
    {"HTTP/1.1 204 No Content\r\n\r\n", NULL},
    /* RFC 9110, section 9.3.6: both are ignored in a 2xx. */
    {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", NULL},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", NULL},
    {"", ""},
    {"HTTP/1.1 200 OK\r\nVia: x\r\n", ""},
    {"HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nno\n",
     "the egress proxy answered CONNECT with 403"},
    {"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
     "the egress proxy answered CONNECT with 407"},
    {"HTTP/1.1 100 Continue\r\n\r\n" OPEN, "the egress proxy answered CONNECT with 100"},
    {"HTTP/1.1 301 Moved\r\nLocation: http://169.254.169.254/\r\n\r\n",
     "the egress proxy answered CONNECT with 301"},
    {"HTTP/1.1 503 no agents\r\n\r\n", "the egress proxy answered CONNECT with 503"},
    {OPEN "x", "the egress proxy sent more than its answer"},
    {OPEN OPEN, "the egress proxy sent more than its answer"},
    {"\x15\x03\x01", "the egress proxy sent no answer of HTTP"},
    {"SSH-2.0-OpenSSH_9.2\r\n", "the egress proxy sent no answer of HTTP"},
    {"HTTP/2 200\r\n\r\n", "the egress proxy sent no answer of HTTP"},
    {"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", "the egress proxy sent no answer of HTTP"},
};

static enum ek_tunnel_state feed(struct ek_tunnel *tunnel, const char *data, size_t len,
                                 size_t piece, const char **ret_why)
{
    enum ek_tunnel_state state = EK_TUNNEL_WAITS;

    for (size_t at = 0; at < len && state == EK_TUNNEL_WAITS; at += piece)
        state = ek_tunnel_read(tunnel, data + at, len - at < piece ? len - at : piece, ret_why);
    return state;
}

/* However they are cut: but what comes in a later read is no part of the answer. */
START_TEST(answers_are_read)
{
    const char *answer = answers[_i].answer, *expected = answers[_i].why;
    bool surplus = expected && strstr(expected, "more than");

    for (size_t piece = surplus ? strlen(answer) : 1; piece <= strlen(answer) + 1; piece++) {
        struct ek_tunnel *tunnel = ek_tunnel_new("10.0.0.1:6443");
        const char *why = "";
        enum ek_tunnel_state state = feed(tunnel, answer, strlen(answer), piece, &why);
        ck_assert_int_eq(state, !expected   ? EK_TUNNEL_OPEN
                                : *expected ? EK_TUNNEL_ENDED
                                            : EK_TUNNEL_WAITS);
        ck_assert_str_eq(why, expected ? expected : "");
        ek_tunnel_free(tunnel);
    }
}
END_TEST

START_TEST(a_head_without_end_is_refused)
{
    struct ek_tunnel *tunnel = ek_tunnel_new("10.0.0.1:6443");
    char line[1000] = "\r\nA: ";
    const char *why = "";
    enum ek_tunnel_state state;
    size_t sent = 0;

    memset(line + 5, 'x', sizeof line - 5);
    state = feed(tunnel, "HTTP/1.1 200 OK", 15, 15, &why);
    while (state == EK_TUNNEL_WAITS && sent < 2 * EK_TUNNEL_HEAD_MAX) {
        state = feed(tunnel, line, sizeof line, sizeof line, &why);
        sent += sizeof line;
    }
    ck_assert_int_eq(state, EK_TUNNEL_ENDED);
    ck_assert_uint_le(sent, EK_TUNNEL_HEAD_MAX + sizeof line);
    ek_tunnel_free(tunnel);
}
END_TEST

START_TEST(the_request_shows_the_address_alone)
{
    struct ek_tunnel *tunnel = ek_tunnel_new("[fd00::1]:6443");

    ck_assert_str_eq(ek_tunnel_request(tunnel).p,
                     "CONNECT [fd00::1]:6443 HTTP/1.1\r\nHost: [fd00::1]:6443\r\n\r\n");
    ek_tunnel_free(tunnel);
}
END_TEST

/* ---- Requests ---- */

static struct proxy_fixture fixture;
static struct egress_fixture egress;
static struct ek_egress way;

static void handle(void *ctx, const struct testserver_request *request,
                   struct testserver_conn *conn)
{
    const struct proxy_fixture_server *server = ctx;

    (void)request;
    testserver_reply(conn, 200, "Content-Type: text/plain\r\n", server->name);
}

static void start(int64_t dial_ms)
{
    struct ek_err err = {0};

    proxy_fixture_prepare(&fixture, handle);
    egress_fixture_start(&egress);
    ck_assert_int_eq(ek_egress_parse(egress.url, &way, &err), 0);
    fixture.config.options.egress = &way;
    if (dial_ms)
        fixture.config.options.dial_ms = dial_ms;
    proxy_fixture_start(&fixture);
}

static void stop(void)
{
    proxy_fixture_stop(&fixture);
    egress_fixture_stop(&egress);
}

static void expect(const char *path, const char *status, const char *body)
{
    EK_AUTOFREE char *got = proxy_fixture_get(&fixture, path);

    ck_assert_msg(!strncmp(got + 9, status, 3) && strstr(got, body), "%s: %s", path, got);
}

START_TEST(requests_go_by_it)
{
    egress = (struct egress_fixture){0};
    start(0);
    expect("/apis/apps/v1/namespaces/n/deployments", "200", "\r\n\r\na");
    EK_AUTOFREE char *request = egress_fixture_request(&egress);
    EK_AUTOFREE char *expected =
        ek_xasprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", fixture.servers[0].address,
                     fixture.servers[0].address);
    ck_assert_str_eq(request, expected);
    expect("/apis/batch/v1/namespaces/n/jobs", "200", "\r\n\r\nb");
    ck_assert_uint_eq(egress_fixture_count(&egress), 2);
    expect("/apis/batch/v1/namespaces/n/jobs", "200", "\r\n\r\nb"); /* the connection is kept */
    ck_assert_uint_eq(egress_fixture_count(&egress), 2);
    stop();
}
END_TEST

static const struct {
    const char *answer, *banner;
    bool ends;
    int64_t dial_ms;
} refusals[] = {
    {.answer = "HTTP/1.1 403 Forbidden\r\n\r\n"},
    {.answer = "HTTP/1.1 100 Continue\r\n\r\n"},
    {.answer = "\x15\x03\x01\x02\x02"},
    {.answer = "", .dial_ms = 50}, /* never answers */
    {.answer = "HTTP/1.1 200 OK\r\n", .dial_ms = 50},
    {.ends = true},
    {.banner = "220 hello\r\n"}, /* of who poses as an API server: no TLS */
};

/* No answer of an egress proxy reaches a client. */
START_TEST(what_it_refuses_is_unavailable)
{
    egress = (struct egress_fixture){
        .answer = refusals[_i].answer, .banner = refusals[_i].banner, .ends = refusals[_i].ends};
    start(refusals[_i].dial_ms);
    expect("/apis/batch/v1/namespaces/n/jobs", "503", "\"reason\":\"ServiceUnavailable\"");
    ck_assert_uint_eq(egress_fixture_await(&egress, 1), 1);
    ck_assert_int_eq(atomic_load(&fixture.servers[1].requests), 0);
    stop();
}
END_TEST

/* The egress proxy cannot reach the API server. */
START_TEST(nobody_listens)
{
    egress = (struct egress_fixture){0};
    start(0);
    proxy_fixture_kill(&fixture, 1);
    expect("/apis/batch/v1/namespaces/n/jobs", "503", "\"reason\":\"ServiceUnavailable\"");
    expect("/apis/apps/v1/namespaces/n/deployments", "200", "\r\n\r\na");
    stop();
}
END_TEST

int main(void)
{
    TCase *text = tcase_create("text"), *sockets = tcase_create("sockets");

    tcase_add_loop_test(text, urls_are_read, 0, (int)EK_ARRAY_SIZE(urls));
    tcase_add_loop_test(text, answers_are_read, 0, (int)EK_ARRAY_SIZE(answers));
    tcase_add_test(text, a_head_without_end_is_refused);
    tcase_add_test(text, the_request_shows_the_address_alone);
    tcase_set_timeout(sockets, 60);
    tcase_add_test(sockets, requests_go_by_it);
    tcase_add_loop_test(sockets, what_it_refuses_is_unavailable, 0, (int)EK_ARRAY_SIZE(refusals));
    tcase_add_test(sockets, nobody_listens);
    return ek_test_run("egress", text, sockets);
}
