/* SPDX-License-Identifier: Apache-2.0 */
/* The scrape filter, with the API server's answers given by the test. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/obj.h"
#include "controller/http/conn.h"
#include "controller/http/metrics_auth.h"
#include "controller/http/metrics_route.h"
#include "test/support/suite.h"

#define KNOWN                                                                                      \
    "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"prom\",\"uid\":\"u1\","          \
    "\"groups\":[\"g1\",\"g2\"],\"extra\":{\"k\":[\"v\"]}}}}"
#define UNKNOWN "{\"status\":{\"authenticated\":false,\"error\":\"invalid bearer token\"}}"
#define ALLOWED "{\"status\":{\"allowed\":true}}"
#define DENIED  "{\"status\":{\"allowed\":false,\"reason\":\"no\"}}"

/* The reviews that were sent and not answered yet, the oldest first. */
static struct sent {
    char path[128];
    char *body;
    ek_response_fn on_done;
    void *done_ctx;
} sent[64];
static char remote[64]; /* the scraper's address */
static size_t n_sent, n_cancelled, n_reviews;
static int64_t now_ms;
static struct ek_metrics *metrics;
static struct ek_metrics_auth *auth;
static struct ek_http_route routes[2]; /* /metrics, and another path */
static struct ek_http_conn_config config;

static struct ek_call *send_review(void *ctx, const struct ek_request *request,
                                   ek_response_fn on_done, void *done_ctx)
{
    struct sent *s = &sent[n_sent++];

    (void)ctx;
    ck_assert_str_eq(request->method, "POST");
    ck_assert_int_gt(request->timeout_ms, 0);
    snprintf(s->path, sizeof s->path, "%s", request->path);
    s->body = ek_xstrndup(request->body, request->body_size);
    s->on_done = on_done;
    s->done_ctx = done_ctx;
    n_reviews++;
    return (struct ek_call *)s;
}

static void cancel_review(void *ctx, struct ek_call *call)
{
    (void)ctx;
    (void)call;
    n_cancelled++;
}

static int64_t test_now(void *ctx)
{
    (void)ctx;
    return now_ms;
}

static void say_page(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    EK_AUTOFREE char *text = ek_xasprintf("the page of %s", request->user);

    (void)ctx;
    ek_http_reply_text(reply, 200, text);
}

static void setup(void)
{
    n_sent = n_cancelled = n_reviews = 0;
    remote[0] = '\0';
    now_ms = 5000;
    metrics = ek_metrics_new();
    ek_metrics_register(
        metrics, &(struct ek_metric_desc){.name = "up", .help = "Up.", .type = EK_METRIC_GAUGE});
    auth = ek_metrics_auth_new(&(struct ek_metrics_auth_config){
        .reviewer = {.send = send_review, .cancel = cancel_review}, .now_ms = test_now});
    struct ek_http_route inner = ek_metrics_route(metrics);
    routes[0] = ek_metrics_auth_route(auth, &inner);
    inner = (struct ek_http_route){.path = "/debug/ui", .methods = "GET", .handler = say_page};
    routes[1] = ek_metrics_auth_route(auth, &inner);
    config = (struct ek_http_conn_config){.routes = routes, .n_routes = EK_ARRAY_SIZE(routes)};
    ek_http_limits_default(&config.limits);
}

static void teardown(void)
{
    for (size_t i = 0; i < n_sent; i++)
        ek_free(sent[i].body);
    ek_metrics_auth_free(auth);
    ek_metrics_free(metrics);
}

/* Answers the oldest review: with body, or with an error when body is NULL. */
static void answer(const char *body)
{
    struct sent first = sent[0];
    struct ek_response resp = {.status = 201, .body = ek_str_from(body)};
    struct ek_err err;

    ck_assert_uint_gt(n_sent, 0);
    memmove(sent, sent + 1, --n_sent * sizeof sent[0]);
    ek_err_set(&err, EK_E_FORBIDDEN, "tokenreviews is forbidden");
    first.on_done(first.done_ctx, &resp, body ? NULL : &err);
    ek_free(first.body);
}

static struct ek_http_conn *ask_at(const char *method, const char *path, const char *authorization)
{
    struct ek_http_conn *conn = ek_http_conn_new(&config, remote, NULL, NULL, 0);
    char request[512];

    snprintf(request, sizeof request, "%s %s HTTP/1.1\r\nHost: x\r\n%s%s\r\n\r\n", method, path,
             authorization ? "Authorization: " : "X: ", authorization ? authorization : "");
    ek_http_conn_input(conn, request, strlen(request), 0);
    return conn;
}

static struct ek_http_conn *ask_for(const char *method, const char *authorization)
{
    return ask_at(method, "/metrics", authorization);
}

static struct ek_http_conn *ask(const char *authorization)
{
    return ask_for("GET", authorization);
}

/* Checks the answer that conn has got and ends it. */
static void expect(const char *name, struct ek_http_conn *conn, int status, const char *text)
{
    EK_AUTO(ek_buf) all;
    struct ek_str out = ek_http_conn_output(conn);
    char line[32];

    ek_buf_init(&all, 1 << 20);
    ek_buf_append(&all, out.p, out.len);
    snprintf(line, sizeof line, "HTTP/1.1 %d ", status);
    ck_assert_msg(!strncmp(ek_buf_str(&all), line, strlen(line)) && strstr(ek_buf_str(&all), text),
                  "%s: %s", name, ek_buf_str(&all));
    ek_http_conn_free(conn);
}

START_TEST(outcomes)
{
    static const struct {
        const char *name;
        const char *authorization;
        const char *token_answer;  /* NULL: no request */
        const char *access_answer; /* NULL: no request */
        int status;
        const char *text;
    } rows[] = {
        {"no header", NULL, NULL, NULL, 401, "\r\n\r\nUnauthorized\n"},
        {"another scheme", "Basic YTpi", NULL, NULL, 401, "WWW-Authenticate: Bearer\r\n"},
        {"no token", "Bearer", NULL, NULL, 401, "Unauthorized"},
        {"blank token", "Bearer  ", NULL, NULL, 401, "Unauthorized"},
        {"two words", "Bearer a b", NULL, NULL, 401, "Unauthorized"},
        {"allowed", "Bearer t1", KNOWN, ALLOWED, 200, "\nup 0\n"},
        {"scheme in another case", "bEARER  t1", KNOWN, ALLOWED, 200, "\nup 0\n"},
        {"unknown token", "Bearer t1", UNKNOWN, NULL, 401, "Unauthorized"},
        {"denied", "Bearer t1", KNOWN, DENIED, 403, "\r\n\r\nAuthorization denied for user prom\n"},
        {"token review fails", "Bearer t1", "", NULL, 500, "\r\n\r\nAuthentication failed\n"},
        {"token review is garbage", "Bearer t1", "[1]", NULL, 401, "Unauthorized"},
        {"token review is no JSON", "Bearer t1", "<html>", NULL, 500, "Authentication failed"},
        {"access review fails", "Bearer t1", KNOWN, "", 500,
         "\r\n\r\nAuthorization for user prom failed\n"},
        {"access review is no JSON", "Bearer t1", KNOWN, "{", 500, "failed"},
        {"access review says nothing", "Bearer t1", KNOWN, "{\"status\":{\"allowed\":1}}", 403,
         "denied"},
        {"name that would break a line", "Bearer t1",
         "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"a\\r\\nb\"}}}", DENIED, 403,
         "for user a\\r\\nb\n"},
        {"no name", "Bearer t1", "{\"status\":{\"authenticated\":true}}", DENIED, 403,
         "for user ?\n"},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        teardown();
        setup();
        struct ek_http_conn *conn = ask(rows[i].authorization);
        if (rows[i].token_answer)
            answer(*rows[i].token_answer ? rows[i].token_answer : NULL);
        if (rows[i].access_answer)
            answer(*rows[i].access_answer ? rows[i].access_answer : NULL);
        ck_assert_msg(n_sent == 0, "%s: a review too many", rows[i].name);
        expect(rows[i].name, conn, rows[i].status, rows[i].text);
    }
}
END_TEST

START_TEST(what_is_asked)
{
    struct ek_http_conn *conn = ask_for("HEAD", "Bearer se\"cret");

    ck_assert_str_eq(sent[0].path, "/apis/authentication.k8s.io/v1/tokenreviews");
    ck_assert_str_eq(sent[0].body, "{\"apiVersion\":\"authentication.k8s.io/v1\","
                                   "\"kind\":\"TokenReview\",\"spec\":{\"token\":\"se\\\"cret\"}}");
    answer(KNOWN);
    ck_assert_str_eq(sent[0].path, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
    ck_assert_str_eq(sent[0].body,
                     "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\","
                     "\"spec\":{\"user\":\"prom\",\"groups\":[\"g1\",\"g2\"],\"uid\":\"u1\","
                     "\"extra\":{\"k\":[\"v\"]},\"nonResourceAttributes\":{\"path\":\"/metrics\","
                     "\"verb\":\"head\"}}}");
    answer(ALLOWED);
    expect("head", conn, 200, "");
}
END_TEST

START_TEST(memory)
{
    struct ek_http_conn *conn = ask("Bearer good");
    answer(KNOWN);
    answer(ALLOWED);
    expect("first", conn, 200, "up");
    conn = ask("Bearer bad");
    answer(UNKNOWN);
    expect("bad", conn, 401, "");
    ck_assert_uint_eq(n_reviews, 3);
    now_ms += 29999;
    expect("remembered", ask("Bearer good"), 200, "up");
    expect("remembered refusal", ask("Bearer bad"), 401, "");
    ck_assert_uint_eq(n_reviews, 3);
    now_ms += 1;
    conn = ask("Bearer bad");
    answer(KNOWN); /* it has become good */
    answer(ALLOWED);
    expect("asked again", conn, 200, "up");
    now_ms += 29999;
    expect("still remembered", ask("Bearer good"), 200, "up");
    ck_assert_uint_eq(n_reviews, 5);
    now_ms += 1;
    conn = ask("Bearer good");
    answer(KNOWN);
    answer(DENIED); /* no longer allowed */
    expect("a minute later", conn, 403, "prom");
    expect("refusal with its name", ask("Bearer good"), 403, "user prom");
    conn = ask_for("HEAD", "Bearer good"); /* another verb is another question */
    ck_assert_uint_eq(n_sent, 1);
    answer(NULL);
    expect("failed", conn, 500, "");
    conn = ask_for("HEAD", "Bearer good"); /* failures are not remembered */
    ck_assert_uint_eq(n_sent, 1);
    answer(NULL);
    ek_http_conn_free(conn);
}
END_TEST

/* Access to one path is no access to the other. */
START_TEST(each_path_is_reviewed)
{
    struct ek_http_conn *conn = ask("Bearer t");

    answer(KNOWN);
    answer(ALLOWED);
    expect("metrics", conn, 200, "up");
    expect("the page without a token", ask_at("GET", "/debug/ui", NULL), 401, "Unauthorized");
    conn = ask_at("GET", "/debug/ui", "Bearer t");
    answer(KNOWN);
    ck_assert_ptr_nonnull(strstr(sent[0].body, "\"path\":\"/debug/ui\",\"verb\":\"get\""));
    answer(DENIED);
    expect("the page, denied", conn, 403, "user prom");
    expect("metrics are still allowed", ask("Bearer t"), 200, "up");
    conn = ask_at("GET", "/debug/ui", "Bearer t2");
    answer(KNOWN);
    answer(ALLOWED);
    expect("the page", conn, 200, "the page of prom\n");
    expect("the page, remembered", ask_at("GET", "/debug/ui", "Bearer t2"), 200,
           "the page of prom\n");
    n_reviews = 0;
    expect("no write", ask_at("POST", "/debug/ui", "Bearer t2"), 405, "Allow: GET");
    ck_assert_uint_eq(n_reviews, 0);
}
END_TEST

START_TEST(flood)
{
    struct ek_http_conn *conn = ask("Bearer good");
    char token[32];

    answer(KNOWN);
    answer(ALLOWED);
    expect("first", conn, 200, "up");
    for (int i = 0; i < 1000; i++) { /* made-up tokens do not push it out */
        snprintf(token, sizeof token, "Bearer %d", i);
        conn = ask(token);
        answer(UNKNOWN);
        expect(token, conn, 401, "");
    }
    n_reviews = 0;
    expect("good is still known", ask("Bearer good"), 200, "up");
    ck_assert_uint_eq(n_reviews, 0);
    struct ek_http_conn *waiting[16];
    for (int i = 0; i < 16; i++) {
        snprintf(token, sizeof token, "Bearer x%d", i);
        snprintf(remote, sizeof remote, "10.0.0.%d:4711", i / 4);
        waiting[i] = ask(token);
    }
    snprintf(remote, sizeof remote, "10.0.0.100:4711");
    expect("one too many", ask("Bearer y"), 503, "too many");
    ck_assert_uint_eq(n_reviews, 16);
    ek_http_conn_free(waiting[0]); /* the client left; its review goes on */
    while (n_sent)
        answer(UNKNOWN);
    for (int i = 1; i < 16; i++)
        expect("waited", waiting[i], 401, "");
}
END_TEST

/* One source leaves room for others; a host has many ports, and many addresses of an IPv6 network.
 */
START_TEST(one_source)
{
    static const struct {
        const char *format, *other;
    } rows[] = {
        {"10.0.0.1:%d", "10.0.0.2:1"},
        {"[::ffff:10.0.0.1]:%d", "[::ffff:10.0.0.2]:1"},
        {"[2001:db8::%d]:1", "[2001:db8:0:1::1]:1"},
    };

    for (size_t k = 0; k < EK_ARRAY_SIZE(rows); k++) {
        struct ek_http_conn *waiting[5];
        char token[64];
        for (int i = 0; i < 4; i++) {
            snprintf(token, sizeof token, "Bearer %zu.%d", k, i);
            snprintf(remote, sizeof remote, rows[k].format, i + 1);
            waiting[i] = ask(token);
        }
        snprintf(remote, sizeof remote, rows[k].format, 9);
        expect(rows[k].format, ask("Bearer more"), 503, "too many");
        snprintf(remote, sizeof remote, "%s", rows[k].other);
        snprintf(token, sizeof token, "Bearer %zu.other", k);
        waiting[4] = ask(token);
        ck_assert_uint_eq(n_sent, 5);
        while (n_sent)
            answer(UNKNOWN);
        for (int i = 0; i < 5; i++)
            expect("waited", waiting[i], 401, "");
    }
}
END_TEST

START_TEST(freed_while_reviewing)
{
    struct ek_http_conn *conn = ask("Bearer a");

    ek_metrics_auth_free(auth);
    auth = NULL;
    ck_assert_uint_eq(n_cancelled, 1);
    expect("freed", conn, 503, "shutting down");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("metrics_auth");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, outcomes);
    tcase_add_test(tc, what_is_asked);
    tcase_add_test(tc, memory);
    tcase_add_test(tc, each_path_is_reviewed);
    tcase_add_test(tc, flood);
    tcase_add_test(tc, one_source);
    tcase_add_test(tc, freed_while_reviewing);
    return ek_test_run("metrics_auth", tc);
}
