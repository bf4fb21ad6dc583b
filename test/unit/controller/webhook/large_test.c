/* SPDX-License-Identifier: Apache-2.0 */
/* Large reviews: a thread of their own works on them, for as long as it takes. */
#include <check.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "test/support/suite.h"
#include "test/support/webhook_answers.h"

static struct webhook_fixture fixture;
static atomic_int passed_s; /* added to what the kernel says, for this program and libuv */

int clock_gettime(clockid_t id, struct timespec *ts)
{
    int rc = (int)syscall(SYS_clock_gettime, id, ts);

    ts->tv_sec += atomic_load(&passed_s);
    return rc;
}

static void setup(void)
{
    signal(SIGPIPE, SIG_IGN);
    memset(&fixture, 0, sizeof fixture);
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

static struct {
    uv_sem_t begun, go;
    atomic_uint orphans; /* reviews whose client had gone before the end */
    int takes_s;         /* until the end */
} large;

/* A handler whose large reviews take until the test says so. */
static int hold_large(void *ctx, const char *name, const struct ek_admission_request *request,
                      struct ek_arena *arena, struct ek_work *work,
                      struct ek_admission_response *response, yyjson_mut_doc **ret_patch,
                      struct ek_err *err)
{
    (void)ctx;
    (void)request;
    (void)arena;
    (void)ret_patch;
    (void)err;
    response->allowed = true;
    if (strcmp(name, "large") != 0)
        return 0;
    uv_sem_post(&large.begun);
    uv_sem_wait(&large.go);
    atomic_fetch_add(&passed_s, large.takes_s);
    large.orphans += work->is_over(work->arg);
    return 0;
}

static void add_large(struct ek_webhook *webhook)
{
    ek_webhook_add_handler(webhook,
                           &(struct ek_webhook_handler){.path = "/held", .review = hold_large});
}

/* A review of a little more than 64 KiB: the thread for large reviews takes it. */
static char *large_review(void)
{
    EK_AUTOFREE char *text = ek_xalloc((size_t)70 << 10);
    EK_AUTOFREE char *small = webhook_review("ns", "u-1");
    const char *at = strstr(small, "\"size\":1");

    memset(text, 'a', ((size_t)70 << 10) - 1);
    return ek_xasprintf("%.*s\"x\":\"%s\",%s", (int)(at - small), small, text, at);
}

/* Starts a webhook with one serving thread, and a large review that stays under way. */
static void begin_large(struct webhook_client *client)
{
    EK_AUTOFREE char *review = large_review();
    EK_AUTOFREE char *request =
        ek_xasprintf("POST /held/large?timeout=30s HTTP/1.1\r\nHost: x\r\nContent-Type: "
                     "application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     strlen(review), review);

    uv_sem_init(&large.begun, 0);
    uv_sem_init(&large.go, 0);
    atomic_init(&large.orphans, 0);
    fixture.prepare = add_large;
    webhook_fixture_start(&fixture, 1, true, 20000);
    ck_assert(webhook_connect(&fixture, client));
    ck_assert(webhook_send(client, request, strlen(request)));
    uv_sem_wait(&large.begun);
}

static void end_large(void)
{
    webhook_fixture_stop(&fixture);
    uv_sem_destroy(&large.begun);
    uv_sem_destroy(&large.go);
}

/* The one serving thread answers others meanwhile; a second large review waits for the first. */
START_TEST(delay_no_others)
{
    struct webhook_client first, second;
    EK_AUTOFREE char *review = large_review();
    EK_AUTOFREE char *request =
        ek_xasprintf("POST /held/large HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n%s",
                     strlen(review), review);

    begin_large(&first);
    ck_assert(webhook_connect(&fixture, &second));
    ck_assert(webhook_send(&second, request, strlen(request)));
    for (int i = 0; i < 3; i++) {
        EK_AUTOFREE char *small = webhook_ask(&fixture, "/held/small", "ns");
        webhook_expect_review(small, true, "");
    }
    ck_assert_int_ne(uv_sem_trywait(&large.begun), 0); /* one at a time */
    uv_sem_post(&large.go);
    EK_AUTOFREE char *answer = webhook_receive(&first);
    webhook_expect_review(answer, true, "");
    uv_sem_wait(&large.begun);
    uv_sem_post(&large.go);
    EK_AUTOFREE char *other = webhook_receive(&second);
    webhook_expect_review(other, true, "");
    webhook_disconnect(&first);
    webhook_disconnect(&second);
    webhook_expect_metric(
        &fixture, "controller_runtime_webhook_requests_total{webhook=\"/held\",code=\"200\"} 5");
    ck_assert_uint_eq(atomic_load(&large.orphans), 0);
    end_large();
}
END_TEST

/* The time that a review takes is not the client's to read the answer. */
START_TEST(that_take_long)
{
    struct webhook_client client;

    large.takes_s = 9;
    begin_large(&client);
    uv_sem_post(&large.go);
    EK_AUTOFREE char *answer = webhook_receive(&client);
    webhook_expect_review(answer, true, "");
    webhook_disconnect(&client);
    ck_assert_double_eq(metric("evenkeel_http_connections_rejected_total{server=\"webhook\","
                               "reason=\"slow_reader\"}"),
                        0);
    end_large();
    ck_assert_uint_eq(atomic_load(&large.orphans), 0);
}
END_TEST

START_TEST(drain)
{
    struct webhook_client client;

    begin_large(&client);
    webhook_fixture_begin_stop(&fixture);
    uv_sem_post(&large.go);
    EK_AUTOFREE char *answer = webhook_receive(&client);
    webhook_expect_review(answer, true, "");
    webhook_disconnect(&client);
    end_large();
}
END_TEST

/* The answer comes to a connection that is gone. */
START_TEST(of_clients_that_leave)
{
    struct webhook_client client;

    begin_large(&client);
    webhook_disconnect(&client);
    while (metric("evenkeel_http_connections{server=\"webhook\"}") > 0)
        sched_yield();
    uv_sem_post(&large.go);
    EK_AUTOFREE char *small = webhook_ask(&fixture, "/held/small", "ns");
    webhook_expect_review(small, true, "");
    end_large();
    ck_assert_uint_eq(atomic_load(&large.orphans), 1);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("webhook_large");

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, delay_no_others);
    tcase_add_test(tcase, that_take_long);
    tcase_add_test(tcase, drain);
    tcase_add_test(tcase, of_clients_that_leave);
    return ek_test_run("webhook_large", tcase);
}
