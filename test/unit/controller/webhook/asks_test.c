/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of serving threads to the API server: how many, and for whom. */
#include <check.h>
#include <stdio.h>

#include "api/base/mem.h"
#include "controller/webhook/relay.h"
#include "test/support/suite.h"

/* An API server that answers when it is told to. */
static struct {
    ek_response_fn on_done;
    void *ctx;
} sent[EK_WEBHOOK_ASKS_MAX + 1];
static size_t n_sent;

static struct ek_call *send_request(void *ctx, const struct ek_request *request,
                                    ek_response_fn on_done, void *done_ctx)
{
    (void)ctx;
    (void)request;
    sent[n_sent].on_done = on_done;
    sent[n_sent++].ctx = done_ctx;
    return NULL;
}

static void cancel_request(void *ctx, struct ek_call *call)
{
    (void)ctx;
    (void)call;
}

static void nothing(uv_async_t *async)
{
    (void)async;
}

static uv_loop_t loop;
static uv_async_t async;
static struct ek_webhook_inbox inbox;
static struct ek_webhook_asker *asker;

static void setup(void)
{
    const struct ek_reviewer reviewer = {send_request, cancel_request, NULL};

    n_sent = 0;
    uv_loop_init(&loop);
    uv_async_init(&loop, &async, nothing);
    ek_webhook_inbox_init(&inbox, &async);
    asker = ek_webhook_asker_new(&loop, &reviewer);
}

static void teardown(void)
{
    ek_webhook_asker_close(asker, NULL, NULL);
    uv_close((uv_handle_t *)&async, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ek_webhook_inbox_done(&inbox);
    uv_loop_close(&loop);
}

static void post(size_t number, bool unproven)
{
    struct ek_webhook_ask *ask =
        ek_webhook_ask_new(ek_xasprintf("k%zu", number), ek_xstrdup("/"), NULL, 0);

    ask->inbox = &inbox;
    ask->unproven = unproven;
    ek_webhook_asker_post(asker, ask);
    uv_run(&loop, UV_RUN_NOWAIT);
}

/* How many have come back with code. */
static size_t came_back(int code)
{
    size_t n = 0;

    for (struct ek_webhook_ask *ask = ek_webhook_inbox_take(&inbox), *next; ask; ask = next) {
        next = ask->next;
        ck_assert_int_eq(ask->err.code, code);
        ek_webhook_ask_free(ask);
        n++;
    }
    return n;
}

static void answer_all(void)
{
    const struct ek_response response = {.status = 200};

    for (size_t i = 0; i < n_sent; i++)
        sent[i].on_done(sent[i].ctx, &response, NULL);
    n_sent = 0;
}

/* Reviews that may be forged leave requests for those of API servers. */
START_TEST(forged_reviews_have_a_share)
{
    for (size_t i = 0; i <= EK_WEBHOOK_ASKS_UNPROVEN_MAX; i++)
        post(i, true);
    ck_assert_uint_eq(n_sent, EK_WEBHOOK_ASKS_UNPROVEN_MAX);
    ck_assert_uint_eq(came_back(EK_E_LIMIT), 1);
    for (size_t i = 0; i <= EK_WEBHOOK_ASKS_MAX - EK_WEBHOOK_ASKS_UNPROVEN_MAX; i++)
        post(i, false); /* of the same keys, and yet apart */
    ck_assert_uint_eq(n_sent, EK_WEBHOOK_ASKS_MAX);
    ck_assert_uint_eq(came_back(EK_E_LIMIT), 1);
    answer_all();
    ck_assert_uint_eq(came_back(0), EK_WEBHOOK_ASKS_MAX);
    post(0, true);
    ck_assert_uint_eq(n_sent, 1);
    answer_all();
    ck_assert_uint_eq(came_back(0), 1);
}
END_TEST

/* Requests for the same go together, those of one sort of sender. */
START_TEST(equal_requests_go_together)
{
    post(1, false);
    post(1, true);
    post(1, false);
    post(1, true);
    ck_assert_uint_eq(n_sent, 2);
    answer_all();
    ck_assert_uint_eq(came_back(0), 4);
}
END_TEST

/* ---- Documents of API servers, for a thread ---- */

static char seen[256];
static int got_status;
static char got_text[64];

static struct ek_call *send_seen(void *ctx, const struct ek_request *request,
                                 ek_response_fn on_done, void *done_ctx)
{
    snprintf(seen, sizeof seen, "%s %s %s %s %s, %lld ms, %zu octets%s%s%s", request->method,
             request->path, request->connect_to, request->own_name, request->accept,
             (long long)request->timeout_ms, request->max_body, request->no_retry ? "" : ", again",
             request->body ? ", a body" : "", request->bearer ? ", a token" : "");
    return send_request(ctx, request, on_done, done_ctx);
}

static void on_document(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    (void)ctx;
    got_status = err ? -resp->status : resp->status;
    snprintf(got_text, sizeof got_text, "%s %s %.*s", resp->content_type, resp->etag,
             (int)resp->body.len, resp->body.p);
}

/* The API server must prove itself, and equal requests are sent once. */
START_TEST(documents_are_read_of_one_server)
{
    const struct ek_reviewer reviewer = {send_seen, cancel_request, NULL};
    const struct ek_request request = {.path = "/version",
                                       .accept = "application/json",
                                       .connect_to = "10.0.0.1:6443",
                                       .own_name = "cp-a",
                                       .timeout_ms = 7,
                                       .max_body = 11};
    struct ek_webhook_asker *own = ek_webhook_asker_new(&loop, &reviewer);
    struct ek_review_relay *relay = ek_review_relay_new(own, &async);
    const struct ek_reviewer sender = ek_review_relay_reviewer(relay);
    const struct ek_response good = {
        .status = 200, .body = EK_STR("{}"), .content_type = "application/json", .etag = "\"T\""};
    const struct ek_response bad = {
        .status = 404, .body = EK_STR("no"), .content_type = "text/plain"};
    const struct ek_err err = {.code = EK_E_IO};

    for (int i = 0; i < 2; i++)
        sender.send(sender.ctx, &request, on_document, NULL);
    uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert_uint_eq(n_sent, 1);
    ck_assert_str_eq(seen, "GET /version 10.0.0.1:6443 cp-a application/json, 7 ms, 11 octets");
    sent[0].on_done(sent[0].ctx, &good, NULL);
    ck_assert(!ek_review_relay_is_idle(relay));
    ek_review_relay_run(relay);
    ck_assert(ek_review_relay_is_idle(relay));
    ck_assert_int_eq(got_status, 200);
    ck_assert_str_eq(got_text, "application/json \"T\" {}");
    sender.send(sender.ctx, &request, on_document, NULL);
    uv_run(&loop, UV_RUN_NOWAIT);
    sent[1].on_done(sent[1].ctx, &bad, &err);
    ek_review_relay_run(relay);
    ck_assert_int_eq(got_status, -404);
    ck_assert_str_eq(got_text, "text/plain  no");
    ek_review_relay_free(relay);
    ek_webhook_asker_close(own, NULL, NULL);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("webhook_asks");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, forged_reviews_have_a_share);
    tcase_add_test(tcase, equal_requests_go_together);
    tcase_add_test(tcase, documents_are_read_of_one_server);
    return ek_test_run("webhook_asks", tcase);
}
