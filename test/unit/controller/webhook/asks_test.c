/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of serving threads to the API server: how many, and for whom. */
#include <check.h>

#include "api/base/mem.h"
#include "controller/webhook/asks.h"
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

int main(void)
{
    TCase *tcase = tcase_create("webhook_asks");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, forged_reviews_have_a_share);
    tcase_add_test(tcase, equal_requests_go_together);
    return ek_test_run("webhook_asks", tcase);
}
