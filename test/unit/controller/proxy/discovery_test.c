/* SPDX-License-Identifier: Apache-2.0 */
/* Discovery over sockets: which requests an API server judges, and which an earlier permission
 * covers. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/support/http_fixture.h"
#include "test/support/proxy_fixture.h"
#include "test/support/suite.h"

static struct proxy_fixture fixture;

/* Allows everybody but "Bearer no"; "Bearer gone" finds nothing. */
static void handle(void *ctx, const struct testserver_request *request,
                   struct testserver_conn *conn)
{
    char authorization[64];

    (void)ctx;
    testserver_header(request, "Authorization", authorization, sizeof authorization);
    if (!strcmp(authorization, "Bearer wait")) {
        uv_sem_post(&fixture.entered);
        uv_sem_wait(&fixture.gate);
    }
    testserver_reply(conn,
                     !strcmp(authorization, "Bearer no")     ? 401
                     : !strcmp(authorization, "Bearer gone") ? 404
                                                             : 304,
                     "", "");
}

/* No grant ends while the test runs, and both servers have the same documents. */
static void setup(void)
{
    proxy_fixture_prepare(&fixture, handle);
    fixture.config.options.grant_ms = (int64_t)24 * 60 * 60 * 1000;
    fixture.alike = true;
    proxy_fixture_publish(&fixture);
}

static void teardown(void)
{
    proxy_fixture_stop(&fixture);
}

static int n_requests(void)
{
    return atomic_load(&fixture.servers[0].requests) + atomic_load(&fixture.servers[1].requests);
}

#define REQUEST(line, fields) line " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n" fields "\r\n"
#define TOKEN                 "Authorization: Bearer t\r\n"
#define ACCEPT                "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

/* The response, owned. */
static char *exchange(const char *request)
{
    int fd = proxy_fixture_connect(&fixture);
    char *got = http_exchange(fd, request, 65536, NULL);

    close(fd);
    return got;
}

static void expect(const char *request, int status)
{
    char *got = exchange(request);

    ck_assert_msg(strtol(got + 9, NULL, 10) == status, "%s: %s", request, got);
    ek_free(got);
}

/* Two requests, one after the other, and how many an API server judges. */
static const struct {
    const char *first;
    int first_status;
    const char *second;
    int second_status, judged;
} rows[] = {
    {REQUEST("GET /apis", TOKEN), 200, REQUEST("GET /apis", TOKEN), 200, 1},
    {REQUEST("GET /api", TOKEN), 200, REQUEST("GET /api", TOKEN), 200, 1},
    {REQUEST("GET /api/v1", TOKEN), 200, REQUEST("GET /api/v1", TOKEN), 200, 1},
    {REQUEST("GET /apis/apps", TOKEN), 200, REQUEST("GET /apis/apps", TOKEN), 200, 1},
    {REQUEST("GET /apis", ""), 200, REQUEST("GET /apis", ""), 200, 1},
    /* other forms of the document */
    {REQUEST("GET /apis", TOKEN), 200, REQUEST("GET /apis", TOKEN ACCEPT "\r\n"), 200, 1},
    {REQUEST("GET /apis", TOKEN), 200, REQUEST("GET /apis", TOKEN "If-None-Match: \"a\"\r\n"), 200,
     1},
    /* a 404 is an answer to who may ask */
    {REQUEST("GET /apis", "Authorization: Bearer gone\r\n"), 200,
     REQUEST("GET /apis", "Authorization: Bearer gone\r\n"), 200, 1},
    /* other clients */
    {REQUEST("GET /apis", TOKEN), 200, REQUEST("GET /apis", ""), 200, 2},
    {REQUEST("GET /apis", TOKEN), 200, REQUEST("GET /apis", "Authorization: Bearer no\r\n"), 401,
     2},
    {REQUEST("GET /apis", TOKEN), 200, REQUEST("GET /apis", TOKEN "Impersonate-User: a\r\n"), 200,
     2},
    {REQUEST("GET /apis", TOKEN "Impersonate-User: a\r\n"), 200, REQUEST("GET /apis", TOKEN), 200,
     2},
    /* other requests */
    {REQUEST("GET /apis", TOKEN), 200, REQUEST("GET /api", TOKEN), 200, 2},
    {REQUEST("GET /apis", TOKEN), 200, REQUEST("GET /apis/apps", TOKEN), 200, 2},
    {REQUEST("GET /apis", TOKEN), 200, REQUEST("GET /apis?a", TOKEN), 200, 2},
    {REQUEST("GET /apis", TOKEN), 200, REQUEST("HEAD /apis", TOKEN), 200, 2},
    /* a refusal is not kept */
    {REQUEST("GET /apis", "Authorization: Bearer no\r\n"), 401,
     REQUEST("GET /apis", "Authorization: Bearer no\r\n"), 401, 2},
    /* the document of one server is that of the one that allows it */
    {REQUEST("GET /apis", TOKEN ACCEPT ";profile=nopeer\r\n"), 200,
     REQUEST("GET /apis", TOKEN ACCEPT ";profile=nopeer\r\n"), 200, 2},
    /* to indent costs more than to ask */
    {REQUEST("GET /apis?pretty=true", TOKEN), 200, REQUEST("GET /apis?pretty=true", TOKEN), 200, 2},
    /* one hop */
    {REQUEST("GET /apis", TOKEN), 200,
     REQUEST("GET /apis", TOKEN "X-Kubernetes-Peer-Proxied: true\r\n"), 503, 1},
    /* what the proxy refuses is refused all the same */
    {REQUEST("GET /apis", TOKEN), 200, REQUEST("GET /apis", TOKEN "X_Remote_User: admin\r\n"), 400,
     1},
    {REQUEST("GET /apis", TOKEN), 200, REQUEST("GET /apis", TOKEN "Accept: text/html\r\n"), 406, 1},
};

START_TEST(keeps_permissions)
{
    proxy_fixture_start(&fixture);
    expect(rows[_i].first, rows[_i].first_status);
    expect(rows[_i].second, rows[_i].second_status);
    ck_assert_int_eq(n_requests(), rows[_i].judged);
}
END_TEST

/* The document is the same, whoever has allowed it and when. */
START_TEST(answers_alike)
{
    static const char request[] = REQUEST("GET /apis", TOKEN ACCEPT "\r\n");
    char known[512], tag[256] = "";

    proxy_fixture_start(&fixture);
    char *first = exchange(request), *second = exchange(request);
    ck_assert_str_eq(first, second);
    const char *etag = strstr(first, "ETag: ");
    ck_assert(etag && sscanf(etag, "ETag: %255s", tag) == 1);
    snprintf(known, sizeof known, REQUEST("GET /apis", TOKEN ACCEPT "\r\nIf-None-Match: %s\r\n"),
             tag);
    expect(known, 304);
    ck_assert_int_eq(n_requests(), 1);
    ek_free(first);
    ek_free(second);
}
END_TEST

/* What is large is compressed, also where it is indented; both forms are of the same value. */
START_TEST(compresses_what_is_indented)
{
    static const char *const requests[] = {
        REQUEST("GET /apis", TOKEN ACCEPT "\r\nAccept-Encoding: gzip\r\n"),
        REQUEST("GET /apis?pretty=1", TOKEN ACCEPT "\r\nAccept-Encoding: gzip\r\n"),
        REQUEST("GET /apis/apps/v1?pretty=1", TOKEN "Accept-Encoding: gzip\r\n"),
        REQUEST("GET /apis?pretty=1", TOKEN ACCEPT "\r\nAccept-Encoding: gzip\r\n")};

    fixture.n_more = 1000;
    proxy_fixture_publish(&fixture);
    proxy_fixture_start(&fixture);
    for (size_t i = 0; i < EK_ARRAY_SIZE(requests); i++) {
        char *got = exchange(requests[i]);
        char *end = strstr(got, "\r\n\r\n");
        ck_assert(end != NULL);
        end[2] = '\0';
        ck_assert_msg(strstr(got, "Content-Encoding: gzip\r\n") != NULL, "%s: %s", requests[i],
                      got);
        ck_assert_msg(strstr(got, "Vary: Accept-Encoding\r\n") != NULL, "%s: %s", requests[i], got);
        ek_free(got);
    }
    fixture.n_more = 0;
}
END_TEST

/* YAML has the tag of JSON, and is not taken for an indented document. */
START_TEST(answers_yaml)
{
    static const char yaml[] =
        "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    char *pretty, *json, *text;
    char fields[256];

    proxy_fixture_start(&fixture);
    pretty = exchange(REQUEST("GET /apis?pretty=1", TOKEN ACCEPT "\r\n"));
    snprintf(fields, sizeof fields, REQUEST("GET /apis", TOKEN "Accept: %s\r\n"), yaml);
    text = exchange(fields);
    json = exchange(REQUEST("GET /apis?pretty=1", TOKEN ACCEPT "\r\n"));
    ck_assert_str_eq(pretty, json);
    ck_assert_msg(strstr(text, "\r\n\r\napiVersion: apidiscovery.k8s.io/v2\nitems:\n- metadata:\n"
                               "    name: apps\n") != NULL,
                  "%s", text);
    snprintf(fields, sizeof fields, "Content-Type: %s\r\n", yaml);
    ck_assert_msg(strstr(text, fields) != NULL, "%s", text);
    const char *tag = strstr(text, "ETag: "), *same = strstr(json, "ETag: ");
    ck_assert(tag && same && !strncmp(tag, same, 6 + 130));
    ek_free(pretty);
    ek_free(text);
    ek_free(json);
}
END_TEST

/* ---- Large documents ---- */

#define POOL 4 /* threads of libuv, unless the environment says otherwise */

static uv_sem_t held, release;

static void hold_thread(uv_work_t *work)
{
    (void)work;
    uv_sem_post(&held);
    uv_sem_wait(&release);
}

/* While no thread of the pool is free, others are served, and who has waited gets the document; one
 * of those who wait has gone. */
START_TEST(writes_large_documents_elsewhere)
{
    static const char wanted[] = REQUEST("GET /apis/apps/v1?pretty=1", TOKEN);
    uv_loop_t loop;
    uv_work_t works[POOL];
    int fds[3];
    char byte;

    uv_loop_init(&loop);
    uv_sem_init(&held, 0);
    uv_sem_init(&release, 0);
    for (int i = 0; i < POOL; i++)
        uv_queue_work(&loop, &works[i], hold_thread, NULL);
    for (int i = 0; i < POOL; i++)
        uv_sem_wait(&held);
    fixture.n_more = 4000;
    proxy_fixture_publish(&fixture);
    proxy_fixture_start(&fixture);
    for (int i = 0; i < 3; i++) {
        fds[i] = proxy_fixture_connect(&fixture);
        ck_assert_int_eq(write(fds[i], wanted, sizeof wanted - 1), sizeof wanted - 1);
    }
    do
        expect(REQUEST("GET /api", TOKEN), 200);
    while (n_requests() < 4); /* each has asked for its permission */
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(recv(fds[i], &byte, 1, MSG_DONTWAIT), -1);
    close(fds[1]);
    for (int i = 0; i < POOL; i++)
        uv_sem_post(&release);
    for (int i = 0; i < 3; i += 2) {
        char *got = http_exchange(fds[i], "", (size_t)16 << 20, NULL);
        ck_assert_msg(!strncmp(got, "HTTP/1.1 200 ", 13) && strstr(got, "\n  \"resources\": [") &&
                          strstr(got, "more3999"),
                      "%.300s", got);
        ek_free(got);
        close(fds[i]);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    uv_sem_destroy(&held);
    uv_sem_destroy(&release);
    fixture.n_more = 0;
}
END_TEST

/* ---- API servers come and go ---- */

/* The same servers take requests as before only in the first row, whatever was between. */
START_TEST(asks_when_servers_come_or_go)
{
    static const struct {
        bool between, after;
        int judged;
    } changes[] = {{true, true, 1}, {true, false, 2}, {false, false, 2}, {false, true, 2}};

    proxy_fixture_start(&fixture);
    expect(REQUEST("GET /apis", TOKEN), 200);
    fixture.servers[1].routable = changes[_i].between;
    proxy_fixture_publish(&fixture);
    fixture.servers[1].routable = changes[_i].after;
    proxy_fixture_publish(&fixture);
    expect(REQUEST("GET /apis", TOKEN), 200);
    ck_assert_int_eq(n_requests(), changes[_i].judged);
}
END_TEST

START_TEST(asks_with_other_trusts)
{
    proxy_fixture_start(&fixture);
    expect(REQUEST("GET /apis", TOKEN), 200);
    ek_proxy_board_set_trusts(fixture.board, ek_proxy_board_trusts(fixture.board));
    expect(REQUEST("GET /apis", TOKEN), 200);
    ck_assert_int_eq(n_requests(), 2);
}
END_TEST

/* Nobody is there who could have revoked the permission. */
START_TEST(is_unavailable_without_servers)
{
    proxy_fixture_start(&fixture);
    expect(REQUEST("GET /apis", TOKEN), 200);
    fixture.servers[0].routable = fixture.servers[1].routable = false;
    proxy_fixture_publish(&fixture);
    expect(REQUEST("GET /apis", TOKEN), 503);
}
END_TEST

START_TEST(asks_each_time_without_a_time)
{
    fixture.config.options.grant_ms = 0;
    proxy_fixture_start(&fixture);
    for (int i = 0; i < 3; i++)
        expect(REQUEST("GET /apis", TOKEN), 200);
    ck_assert_int_eq(n_requests(), 3);
}
END_TEST

/* ---- Limits and metrics ---- */

/* Requests that wait for a permission count. */
START_TEST(counts_requests_that_wait)
{
    static const char wait[] = REQUEST("GET /apis", "Authorization: Bearer wait\r\n");

    fixture.config.options.requests_per_client = 1;
    proxy_fixture_start(&fixture);
    int fd = proxy_fixture_connect(&fixture);
    ck_assert_int_eq(write(fd, wait, sizeof wait - 1), sizeof wait - 1);
    uv_sem_wait(&fixture.entered);
    ck_assert_uint_gt(proxy_fixture_stats(&fixture).head_octets, 0);
    expect(REQUEST("GET /apis", TOKEN), 429);
    uv_sem_post(&fixture.gate);
    char *got = http_exchange(fd, "", 65536, NULL);
    ck_assert_msg(!strncmp(got, "HTTP/1.1 200 ", 13), "%s", got);
    ek_free(got);
    close(fd);
    proxy_fixture_wait_idle(&fixture);
    ck_assert_uint_eq(proxy_fixture_stats(&fixture).head_octets, 0);
}
END_TEST

START_TEST(counts_permissions)
{
    EK_AUTO(ek_buf) page;

    proxy_fixture_start(&fixture);
    for (int i = 0; i < 3; i++)
        expect(REQUEST("GET /apis", TOKEN), 200);
    expect(REQUEST("GET /apis", "Authorization: Bearer no\r\n"), 401);
    proxy_fixture_wait_idle(&fixture);
    ek_buf_init(&page, (size_t)1 << 20);
    ek_metrics_write(fixture.registry, EK_METRICS_TEXT, &page);
    const char *text = ek_buf_str(&page);
    ck_assert_ptr_nonnull(
        strstr(text, "evenkeel_proxy_discovery_permissions_total{source=\"apiserver\"} 1\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "evenkeel_proxy_discovery_permissions_total{source=\"cache\"} 2\n"));
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("discovery");

    tcase_set_timeout(tcase, 600);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, keeps_permissions, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, answers_alike);
    tcase_add_test(tcase, compresses_what_is_indented);
    tcase_add_test(tcase, answers_yaml);
    tcase_add_test(tcase, writes_large_documents_elsewhere);
    tcase_add_loop_test(tcase, asks_when_servers_come_or_go, 0, 4);
    tcase_add_test(tcase, asks_with_other_trusts);
    tcase_add_test(tcase, is_unavailable_without_servers);
    tcase_add_test(tcase, asks_each_time_without_a_time);
    tcase_add_test(tcase, counts_requests_that_wait);
    tcase_add_test(tcase, counts_permissions);
    return ek_test_run("discovery", tcase);
}
