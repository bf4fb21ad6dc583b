/* SPDX-License-Identifier: Apache-2.0 */
/* The admission webhook over real connections: answers, refusals, handlers of others, many
 * clients at once, certificates that change, and stopping. */
#include <check.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/obj.h"
#include "test/support/deep.h"
#include "test/support/suite.h"
#include "test/support/webhook_answers.h"

static struct webhook_fixture fixture;

static void setup(void)
{
    signal(SIGPIPE, SIG_IGN);
    memset(&fixture, 0, sizeof fixture);
}

/* ---- Helpers ---- */

static char *review_in(const char *target, const char *namespace)
{
    return webhook_ask(&fixture, target, namespace);
}

/* The value of a series, -1 when there is none. */
static double metric(const char *series)
{
    EK_AUTO(ek_buf) text;
    EK_AUTOFREE char *line = ek_xasprintf("\n%s ", series);

    ek_buf_init(&text, (size_t)1 << 20);
    ck_assert_int_eq(ek_metrics_write(fixture.metrics, EK_METRICS_TEXT, &text), 0);
    const char *at = strstr(ek_buf_str(&text), line);
    return at ? strtod(at + strlen(line), NULL) : -1;
}

/* ---- Answers ---- */

START_TEST(patches_and_denials)
{
    static const struct {
        const char *name, *extra;
        size_t n;
        bool allowed;
        const char *want;
    } rows[] = {
        {"no policy", NULL, 0, true, ""},
        {"one policy", NULL, 1, true, "\"p0\":\"x\""},
        {"two policies", NULL, 2, true, "\"p1\":\"x\""},
        {"a condition that is false",
         "\"matchConditions\":[{\"name\":\"c\",\"expression\":\"false\"}]", 1, true, ""},
        {"a failing condition",
         "\"matchConditions\":[{\"name\":\"c\",\"expression\":\"object.nothing == 1\"}]", 1, false,
         "policy 'p0' with binding 'b0' denied request"},
        {"failures ignored",
         "\"failurePolicy\":\"Ignore\",\"matchConditions\":[{\"name\":\"c\",\"expression\":"
         "\"object.nothing == 1\"}]",
         1, true, ""},
    };

    webhook_fixture_start(&fixture, 2, true, 0);
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        webhook_fixture_publish(&fixture, webhook_snapshot(rows[i].n, rows[i].extra));
        EK_AUTOFREE char *answer = review_in("/mutate?timeout=30s", "ns");
        webhook_expect_review(answer, rows[i].allowed, rows[i].want);
    }
    webhook_expect_metric(
        &fixture, "controller_runtime_webhook_requests_total{webhook=\"/mutate\",code=\"200\"} 6");
    webhook_expect_metric(&fixture,
                          "controller_runtime_webhook_requests_in_flight{webhook=\"/mutate\"} 0");
    webhook_expect_metric(
        &fixture, "evenkeel_mutating_admission_policy_check_total{policy=\"p0\",policy_binding="
                  "\"b0\",error_type=\"no_error\"} 2");
    webhook_expect_metric(
        &fixture, "evenkeel_mutating_admission_policy_check_total{policy=\"p0\",policy_binding="
                  "\"b0\",error_type=\"invalid_error\"} 2");
    webhook_fixture_stop(&fixture);
}
END_TEST

START_TEST(refusals)
{
    static const struct {
        const char *name, *request;
        int status;
    } rows[] = {
        {"no review",
         "POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
         "Content-Length: 2\r\n\r\n{}",
         400},
        {"no JSON",
         "POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
         "Content-Length: 2\r\n\r\n{]",
         400},
        {"nothing",
         "POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
         "Content-Length: 0\r\n\r\n",
         400},
        {"a form",
         "POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n"
         "Content-Length: 2\r\n\r\n{}",
         415},
        {"a GET", "GET /mutate HTTP/1.1\r\nHost: x\r\n\r\n", 405},
        {"another path", "POST /other HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", 404},
        {"too large",
         "POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
         "Content-Length: 167772161\r\n\r\n",
         413},
    };

    webhook_fixture_start(&fixture, 1, true, 0);
    webhook_fixture_publish(&fixture, webhook_snapshot(1, NULL));
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        struct webhook_client client;
        ck_assert(webhook_connect(&fixture, &client));
        ck_assert(webhook_send(&client, rows[i].request, strlen(rows[i].request)));
        EK_AUTOFREE char *answer = webhook_receive(&client);
        ck_assert_msg(webhook_status(answer) == rows[i].status, "%s: %s", rows[i].name,
                      answer ? answer : "nothing");
        webhook_disconnect(&client);
    }
    webhook_fixture_stop(&fixture);
}
END_TEST

START_TEST(sets_by_path)
{
    struct ek_webhook_snapshot *snapshot = webhook_snapshot(1, NULL);

    ek_webhook_snapshot_add_policies(snapshot, "empty", NULL, 0);
    webhook_fixture_start(&fixture, 1, true, 0);
    EK_AUTOFREE char *early = review_in("/mutate", "ns");
    ck_assert_int_eq(webhook_status(early), 503);
    ck_assert_ptr_nonnull(strstr(early, "\r\nRetry-After: 1\r\n"));
    webhook_fixture_publish(&fixture, snapshot);
    EK_AUTOFREE char *all = review_in("/mutate", "ns");
    webhook_expect_review(all, true, "p0");
    EK_AUTOFREE char *none = review_in("/mutate/empty?timeout=30s", "ns");
    webhook_expect_review(none, true, "");
    EK_AUTOFREE char *unknown = review_in("/mutate/other", "ns");
    ck_assert_int_eq(webhook_status(unknown), 503);
    ck_assert_ptr_nonnull(strstr(unknown, "\r\nRetry-After: 1\r\n"));
    webhook_fixture_stop(&fixture);
}
END_TEST

START_TEST(large_objects)
{
    EK_AUTO(ek_buf) body;
    EK_AUTOFREE char *small = webhook_review("ns", "u-1");
    const char *at = strstr(small, "\"size\":1");

    webhook_fixture_start(&fixture, 1, true, 0);
    webhook_fixture_publish(&fixture, webhook_snapshot(1, NULL));
    ek_buf_init(&body, (size_t)10 << 20);
    ek_buf_append(&body, small, (size_t)(at - small));
    ek_buf_puts(&body, "\"text\":\"");
    while (body.len < (size_t)6 << 20)
        ek_buf_puts(&body, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    ek_buf_puts(&body, "\",");
    ek_buf_puts(&body, at);
    ck_assert_int_eq(body.failed, 0);
    EK_AUTOFREE char *answer = webhook_exchange(&fixture, "/mutate", ek_buf_str(&body));
    webhook_expect_review(answer, true, "p0");
    webhook_fixture_stop(&fixture);
}
END_TEST

/* Sends a body of 11 MB, all of it, as a client does that does not look for an answer before. */
static void send_too_much(struct webhook_client *client, bool chunked)
{
    static char piece[1 << 20];
    const char *head = chunked ? "Transfer-Encoding: chunked" : "Content-Length: 11534336";
    EK_AUTOFREE char *start =
        ek_xasprintf("POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                     "%s\r\n\r\n",
                     head);

    memset(piece, ' ', sizeof piece);
    bool open = webhook_send(client, start, strlen(start));
    for (int i = 0; i < 11 && open; i++) {
        if (chunked)
            open = webhook_send(client, "100000\r\n", 8);
        open = open && webhook_send(client, piece, sizeof piece);
        if (chunked)
            open = open && webhook_send(client, "\r\n", 2);
    }
    if (chunked && open)
        webhook_send(client, "0\r\n\r\n", 5);
}

/* It is told so, although it is still sending, and costs nobody else anything. */
START_TEST(bodies_beyond_the_limit)
{
    struct webhook_client other;
    EK_AUTOFREE char *review = webhook_review("ns", "u-1");

    webhook_fixture_start(&fixture, 1, true, 0);
    webhook_fixture_publish(&fixture, webhook_snapshot(1, NULL));
    ck_assert(webhook_connect(&fixture, &other));
    for (int chunked = 0; chunked <= 1; chunked++) {
        struct webhook_client client;
        ck_assert(webhook_connect(&fixture, &client));
        send_too_much(&client, chunked);
        EK_AUTOFREE char *meanwhile = webhook_post(&other, "/mutate", review);
        webhook_expect_review(meanwhile, true, "p0");
        EK_AUTOFREE char *answer = webhook_receive(&client);
        ck_assert_msg(webhook_status(answer) == 413, "%d: %s", chunked,
                      answer ? answer : "nothing");
        webhook_disconnect(&client);
        EK_AUTOFREE char *after = webhook_post(&other, "/mutate", review);
        webhook_expect_review(after, true, "p0");
    }
    webhook_disconnect(&other);
    webhook_fixture_stop(&fixture);
}
END_TEST

/* ---- Handlers of others ---- */

/* Says what it was asked, denies "no", refuses "broken", and has no answer to "slow". */
static int toy(void *ctx, const char *name, const struct ek_admission_request *request,
               struct ek_arena *arena, struct ek_work *work, struct ek_admission_response *response,
               yyjson_mut_doc **ret_patch, struct ek_err *err)
{
    ck_assert_str_eq(ctx, "toy");
    if (!strcmp(name, "broken"))
        return ek_err_set(err, EK_E_IO, "out of order"), 503;
    if (!strcmp(name, "slow")) {
        while (ek_work_do(work, EK_WORK_STRIDE))
            sched_yield();
        ek_err_set(err, EK_E_CANCELED, "too slow");
        response->code = 500;
        response->message = "too slow to say";
        return 0;
    }
    response->allowed = strcmp(name, "no") != 0;
    response->code = 403;
    response->message = ek_arena_printf(arena, "%s by %s", request->operation, name);
    if (!strcmp(name, "greedy"))
        ek_arena_alloc(arena, ((size_t)64 << 20) + 1);
    *ret_patch = yyjson_mut_doc_new(NULL);
    response->patch = yyjson_mut_arr(*ret_patch);
    yyjson_mut_val *op = yyjson_mut_arr_add_obj(*ret_patch, response->patch);
    yyjson_mut_obj_add_str(*ret_patch, op, "op", "remove");
    yyjson_mut_obj_add_strcpy(*ret_patch, op, "path", *name ? name : "nameless");
    return 0;
}

static void add_toy(struct ek_webhook *webhook)
{
    static char ctx[] = "toy";

    ek_webhook_add_handler(
        webhook, &(struct ek_webhook_handler){.path = "/toys", .review = toy, .ctx = ctx});
}

START_TEST(handlers)
{
    static const struct {
        const char *target;
        int status;
        bool allowed;
        const char *want;
    } rows[] = {
        {"/toys", 200, true, "nameless"},
        {"/toys/a%2fb?timeout=5s", 200, true, "a%2fb"},
        {"/toys/no", 200, false, "CREATE by no"},
        {"/toys/broken", 503, false, "out of order"},
        {"/toys/greedy", 200, false, "memory"},
        {"/toys/slow?timeout=1ms", 200, false, "too slow"},
        {"/toysandmore", 404, false, ""},
        {"/mutate", 503, false, "not yet ready"},
    };

    fixture.prepare = add_toy;
    webhook_fixture_start(&fixture, 2, true, 0);
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        EK_AUTOFREE char *answer = review_in(rows[i].target, "ns");
        ck_assert_msg(webhook_status(answer) == rows[i].status, "%s: %s", rows[i].target, answer);
        if (rows[i].status == 200)
            webhook_expect_review(answer, rows[i].allowed, rows[i].want);
        else
            ck_assert_msg(strstr(answer, rows[i].want), "%s: %s", rows[i].target, answer);
    }
    EK_AUTOFREE char *no_review = webhook_exchange(&fixture, "/toys", "{}");
    ck_assert_int_eq(webhook_status(no_review), 400);
    webhook_expect_metric(
        &fixture, "controller_runtime_webhook_requests_total{webhook=\"/toys\",code=\"200\"} 5");
    webhook_expect_metric(&fixture, "evenkeel_webhook_undecided_total{webhook=\"/toys\",reason="
                                    "\"timeout\",answer=\"denied\"} 1");
    webhook_expect_metric(
        &fixture, "controller_runtime_webhook_requests_total{webhook=\"/toys\",code=\"400\"} 1");
    webhook_expect_metric(&fixture,
                          "controller_runtime_webhook_requests_in_flight{webhook=\"/toys\"} 0");
    webhook_fixture_stop(&fixture);
}
END_TEST

/* ---- What cannot be decided ---- */

/* A review whose object has a member more; NULL: the member is text of 11 MB. */
static char *review_with(const char *member)
{
    EK_AUTOFREE char *small = webhook_review("ns", "u-1");
    const char *at = strstr(small, "\"size\":1");
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, (size_t)16 << 20);
    ek_buf_append(&out, small, (size_t)(at - small));
    ek_buf_puts(&out, "\"x\":");
    ek_buf_puts(&out, member ? member : "\"");
    while (!member && out.len < (size_t)11 << 20)
        ek_buf_puts(&out, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    ek_buf_puts(&out, member ? "," : "\",");
    ek_buf_puts(&out, at);
    ck_assert_int_eq(out.failed, 0);
    return ek_buf_steal(&out);
}

/* All that an API server takes is judged. */
START_TEST(deep_objects_are_judged)
{
    static const size_t levels[] = {249, 300, 5000, EK_JSON_DEPTH_MAX - 2};

    webhook_fixture_start(&fixture, 1, true, 0);
    webhook_fixture_publish(&fixture, webhook_snapshot(1, "\"failurePolicy\":\"Ignore\""));
    for (size_t i = 0; i < EK_ARRAY_SIZE(levels); i++) {
        EK_AUTOFREE char *deep = ek_deep_json(levels[i], i % 2, NULL);
        EK_AUTOFREE char *body = review_with(deep);
        EK_AUTOFREE char *answer = webhook_exchange(&fixture, "/mutate", body);
        webhook_expect_review(answer, true, "p0");
    }
    webhook_fixture_stop(&fixture);
}
END_TEST

/* An HTTP error would let the write through where failurePolicy is Ignore. */
START_TEST(what_cannot_be_decided_is_denied)
{
    EK_AUTOFREE char *deep = ek_deep_json(EK_JSON_DEPTH_MAX - 1, false, NULL);
    const struct {
        const char *member, *want, *reason;
    } rows[] = {
        {deep, "JSON nests deeper than 10002 levels", "too_deep"},
        {"\"\\ud800\"", "malformed JSON", "unreadable"},
        {"1e999", "malformed JSON", "unreadable"},
        {NULL, "more than 10485760 bytes", "too_large"},
    };
    static const char *const paths[] = {"/mutate", "/validate/x", "/toys"};

    fixture.prepare = add_toy;
    webhook_fixture_start(&fixture, 1, true, 0);
    webhook_fixture_publish(&fixture, webhook_snapshot(1, "\"failurePolicy\":\"Ignore\""));
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows) * EK_ARRAY_SIZE(paths); i++) {
        EK_AUTOFREE char *body = review_with(rows[i / 3].member);
        EK_AUTOFREE char *answer = webhook_exchange(&fixture, paths[i % 3], body);
        ck_assert_msg(webhook_status(answer) == 200, "%zu: %s", i, answer);
        webhook_expect_review(answer, false, rows[i / 3].want);
        ck_assert_ptr_nonnull(strstr(answer, "\"uid\":\"u-1\""));
    }
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        EK_AUTOFREE char *metric = ek_xasprintf(
            "evenkeel_webhook_undecided_total{webhook=\"/toys\",reason=\"%s\",answer=\"denied\"} "
            "%d",
            rows[i].reason, i == 1 || i == 2 ? 2 : 1);
        webhook_expect_metric(&fixture, metric);
    }
    EK_AUTOFREE char *nothing = webhook_exchange(&fixture, "/mutate", "{\"x\":1e999}");
    ck_assert_int_eq(webhook_status(nothing), 400);
    webhook_expect_metric(&fixture, "evenkeel_webhook_undecided_total{webhook=\"/mutate\",reason="
                                    "\"unreadable\",answer=\"refused\"} 1");
    webhook_fixture_stop(&fixture);
}
END_TEST

/* ---- Stopping ---- */

/* Starts a server that stops within grace_ms, and a review that waits for an answer of the API
 * server. */
static void hold_review(struct webhook_client *client, int64_t grace_ms)
{
    EK_AUTOFREE char *review = webhook_review("ns", "u-1");
    EK_AUTOFREE char *request =
        ek_xasprintf("POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n%s",
                     strlen(review), review);

    webhook_fixture_start(&fixture, 2, true, grace_ms);
    webhook_fixture_publish(&fixture, webhook_snapshot(1, WEBHOOK_MAY_GET));
    ck_assert(webhook_connect(&fixture, client));
    ck_assert(webhook_send(client, request, strlen(request)));
    webhook_fixture_wait_held(&fixture, 1);
}

START_TEST(drains)
{
    struct webhook_client client;

    hold_review(&client, 20000);
    webhook_fixture_begin_stop(&fixture);
    webhook_fixture_answer_held(&fixture, 200, "{\"status\":{\"allowed\":true}}");
    EK_AUTOFREE char *answer = webhook_receive(&client);
    webhook_expect_review(answer, true, "p0");
    ck_assert_ptr_null(webhook_receive(&client)); /* and no request after it */
    webhook_disconnect(&client);
    webhook_fixture_stop(&fixture);
    ck_assert_uint_eq(atomic_load(&fixture.canceled), 0);
}
END_TEST

/* Nobody answers: after the grace the connection is cut and the question is cancelled. */
START_TEST(stops_in_time)
{
    struct webhook_client client;

    hold_review(&client, 1);
    webhook_fixture_stop(&fixture);
    ck_assert_ptr_null(webhook_receive(&client));
    webhook_disconnect(&client);
    ck_assert_uint_eq(atomic_load(&fixture.canceled), 1);
}
END_TEST

START_TEST(readiness)
{
    struct ek_webhook *off =
        ek_webhook_new(&(struct ek_webhook_config){.loop = uv_default_loop(), .bind_address = "0"});
    struct ek_err err;

    ck_assert_int_eq(ek_webhook_check_ready(off, &err), 0);
    ek_webhook_free(off);
    webhook_fixture_start(&fixture, 1, true, 0);
    ck_assert_int_eq(ek_webhook_check_ready(fixture.webhook, &err), EK_E_TIMEOUT);
    ck_assert_str_eq(err.message, "the webhook has no policies yet");
    ck_assert_double_eq(metric("evenkeel_webhook_certificate_expiry_timestamp_seconds"),
                        (double)ek_tls_identity_not_after(fixture.identity) / 1000);
    webhook_fixture_publish(&fixture, webhook_snapshot(0, NULL));
    ck_assert_int_eq(ek_webhook_check_ready(fixture.webhook, &err), 0);
    webhook_fixture_stop(&fixture);
}
END_TEST

/* ---- Many at once ---- */

#define CLIENTS  16
#define REQUESTS 60

struct load {
    uv_thread_t thread;
    unsigned answered, failed;
    bool fresh; /* a connection per request */
};

static bool one_request(struct webhook_client *client, const char *review)
{
    EK_AUTOFREE char *answer = webhook_post(client, "/mutate?timeout=30s", review);

    return webhook_status(answer) == 200 && strstr(answer, "\"allowed\":true") &&
           strstr(answer, "\"patch\":");
}

static void run_load(void *arg)
{
    struct load *load = arg;
    struct webhook_client client;
    EK_AUTOFREE char *review = webhook_review("ns", "u-1");
    bool connected = false;

    for (int i = 0; i < REQUESTS; i++) {
        if (!connected && !webhook_connect(&fixture, &client)) {
            load->failed++;
            continue;
        }
        connected = true;
        *(one_request(&client, review) ? &load->answered : &load->failed) += 1;
        if (load->fresh) {
            webhook_disconnect(&client);
            connected = false;
        }
    }
    if (connected)
        webhook_disconnect(&client);
}

/* Clients that stay and clients that come anew, while snapshots and certificates change and access
 * is reviewed: no request fails. */
START_TEST(load)
{
    static struct load loads[CLIENTS];

    fixture.answer = webhook_allow;
    memset(loads, 0, sizeof loads);
    webhook_fixture_start(&fixture, 4, true, 0);
    webhook_fixture_publish(&fixture, webhook_snapshot(2, WEBHOOK_MAY_GET));
    for (size_t i = 0; i < CLIENTS; i++) {
        loads[i].fresh = i % 2;
        ck_assert_int_eq(uv_thread_create(&loads[i].thread, run_load, &loads[i]), 0);
    }
    for (int i = 0; i < 20; i++) {
        webhook_fixture_renew(&fixture);
        webhook_fixture_publish(&fixture, webhook_snapshot(1 + (size_t)i % 3, WEBHOOK_MAY_GET));
    }
    for (size_t i = 0; i < CLIENTS; i++) {
        uv_thread_join(&loads[i].thread);
        ck_assert_msg(loads[i].failed == 0 && loads[i].answered == REQUESTS,
                      "client %zu: %u answered, %u failed", i, loads[i].answered, loads[i].failed);
    }
    webhook_expect_metric(
        &fixture, "controller_runtime_webhook_requests_total{webhook=\"/mutate\",code=\"200\"} "
                  "960");
    webhook_fixture_stop(&fixture);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("webhook");

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, patches_and_denials);
    tcase_add_test(tcase, refusals);
    tcase_add_test(tcase, sets_by_path);
    tcase_add_test(tcase, large_objects);
    tcase_add_test(tcase, bodies_beyond_the_limit);
    tcase_add_test(tcase, handlers);
    tcase_add_test(tcase, deep_objects_are_judged);
    tcase_add_test(tcase, what_cannot_be_decided_is_denied);
    tcase_add_test(tcase, drains);
    tcase_add_test(tcase, stops_in_time);
    tcase_add_test(tcase, readiness);
    tcase_add_test(tcase, load);
    return ek_test_run("webhook", tcase);
}
