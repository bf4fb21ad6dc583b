/* SPDX-License-Identifier: Apache-2.0 */
/* The manager: start and stop order, readiness, grace, lost lease, exit codes; fake parts and time.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "api/buf.h"
#include "api/mem.h"
#include "controller/manager.h"

/* A part that writes down what happens to it. */
struct fake {
    struct world *world;
    const char *name;
    bool fails, slow_ready, slow_stop; /* slow: not before the test says so */
    bool ready;
    void (*stopped)(void *token);
    void *token;
};

struct world {
    struct ek_manager *manager;
    struct ek_buf log;
    struct fake http, webhook, cache_a, cache_b, other, leader;
    bool slow_release;
};

static int fake_start(void *ctx, struct ek_err *err)
{
    struct fake *f = ctx;
    ek_buf_printf(&f->world->log, "+%s ", f->name);
    return f->fails ? ek_err_set(err, EK_E_IO, "address in use") : 0;
}

static void fake_stop(void *ctx, void (*stopped)(void *token), void *token)
{
    struct fake *f = ctx;
    ek_buf_printf(&f->world->log, "-%s ", f->name);
    f->stopped = stopped;
    f->token = token;
    if (!f->slow_stop)
        stopped(token);
}

static bool fake_ready(void *ctx)
{
    struct fake *f = ctx;
    return !f->slow_ready || f->ready;
}

static void election_start(void *ctx)
{
    struct world *w = ctx;
    ek_buf_puts(&w->log, "+election ");
}

static void election_stop(void *ctx, bool release)
{
    struct world *w = ctx;
    ek_buf_puts(&w->log, release ? "release " : "-election ");
    if (!w->slow_release)
        ek_manager_election_ended(w->manager, false);
}

static void add(struct world *w, struct fake *f, const char *name, enum ek_manager_group group)
{
    f->world = w;
    f->name = name;
    struct ek_runnable r = {.name = name,
                            .group = group,
                            .start = fake_start,
                            .stop = fake_stop,
                            .ready = fake_ready,
                            .ctx = f};
    ck_assert_int_eq(ek_manager_add(w->manager, &r), 0);
}

static void world_init(struct world *w, bool elect)
{
    struct ek_manager_config config = {0};

    if (elect)
        config.election = (struct ek_manager_election){
            .start = election_start, .stop = election_stop, .ctx = w, .release_on_cancel = true};
    *w = (struct world){.manager = ek_manager_new(&config)};
    ek_buf_init(&w->log, 4096);
    /* Added in the wrong order on purpose: the groups decide. */
    add(w, &w->leader, "leader", EK_GROUP_LEADER);
    add(w, &w->other, "other", EK_GROUP_OTHERS);
    add(w, &w->cache_a, "cache-a", EK_GROUP_CACHES);
    add(w, &w->cache_b, "cache-b", EK_GROUP_CACHES);
    add(w, &w->webhook, "webhook", EK_GROUP_WEBHOOKS);
    add(w, &w->http, "http", EK_GROUP_HTTP);
}

static void world_done(struct world *w)
{
    ek_manager_free(w->manager);
    ek_buf_done(&w->log);
}

/* What was logged since the last call. */
static void expect(struct world *w, const char *want)
{
    ck_assert_str_eq(ek_buf_str(&w->log), want);
    ek_buf_reset(&w->log);
}

static void expect_end(struct world *w, int code, const char *message)
{
    ck_assert_int_eq(ek_manager_phase(w->manager), EK_MANAGER_FINISHED);
    ck_assert_int_eq(ek_manager_exit_code(w->manager), code);
    const struct ek_err *err = ek_manager_error(w->manager);
    ck_assert_str_eq(err ? err->message : "", message);
}

START_TEST(order)
{
    struct world w;
    world_init(&w, true);
    ck_assert_int_eq(ek_manager_step(w.manager, 0), -1);
    expect(&w, "+http +webhook +cache-a +cache-b +other +election ");
    ck_assert_int_eq(ek_manager_phase(w.manager), EK_MANAGER_ELECTING);
    ek_manager_elected(w.manager);
    ck_assert_int_eq(ek_manager_step(w.manager, 10), -1);
    expect(&w, "+leader ");
    ck_assert_int_eq(ek_manager_phase(w.manager), EK_MANAGER_RUNNING);
    ek_manager_stop(w.manager);
    ek_manager_step(w.manager, 20);
    expect(&w, "-other -leader -cache-a -cache-b -webhook -http release ");
    expect_end(&w, 0, "");
    ck_assert(!ek_manager_is_abrupt(w.manager));
    world_done(&w);
}
END_TEST

START_TEST(no_election)
{
    struct world w;
    world_init(&w, false);
    ek_manager_step(w.manager, 0);
    expect(&w, "+http +webhook +cache-a +cache-b +other +leader ");
    ek_manager_stop(w.manager);
    ek_manager_step(w.manager, 20);
    expect(&w, "-other -leader -cache-a -cache-b -webhook -http ");
    expect_end(&w, 0, "");
    world_done(&w);
}
END_TEST

START_TEST(follower_stops)
{
    struct world w;
    world_init(&w, true);
    ek_manager_step(w.manager, 0);
    expect(&w, "+http +webhook +cache-a +cache-b +other +election ");
    ek_manager_stop(w.manager);
    ek_manager_step(w.manager, 20);
    expect(&w, "-other -cache-a -cache-b -webhook -http release ");
    expect_end(&w, 0, "");
    world_done(&w);
}
END_TEST

START_TEST(waits_for_caches)
{
    struct ek_err err = {0};
    struct world w;
    world_init(&w, true);
    w.cache_b.slow_ready = true;
    ck_assert_int_eq(ek_manager_check_ready(w.manager, &err), EK_E_TIMEOUT);
    ck_assert_int_eq(ek_manager_step(w.manager, 0), 100);
    expect(&w, "+http +webhook +cache-a +cache-b ");
    ck_assert_int_eq(ek_manager_check_ready(w.manager, &err), EK_E_TIMEOUT);
    ck_assert_str_eq(err.message, "not synced: cache-b");
    ck_assert_int_eq(ek_manager_step(w.manager, 119999), 120000);
    expect(&w, "");
    w.cache_b.ready = true;
    ek_manager_step(w.manager, 119999);
    expect(&w, "+other +election ");
    ck_assert_int_eq(ek_manager_check_ready(w.manager, &err), 0);
    world_done(&w);
}
END_TEST

START_TEST(caches_never_sync)
{
    struct world w;
    world_init(&w, true);
    w.cache_b.slow_ready = true;
    ek_manager_step(w.manager, 0);
    ek_manager_step(w.manager, 120000);
    expect(&w, "+http +webhook +cache-a +cache-b -cache-a -cache-b -webhook -http ");
    expect_end(&w, 1, "not ready after 120 s: cache-b");
    world_done(&w);
}
END_TEST

START_TEST(start_fails)
{
    struct world w;
    world_init(&w, true);
    w.webhook.fails = true;
    ek_manager_step(w.manager, 0);
    expect(&w, "+http +webhook -http ");
    expect_end(&w, 1, "webhook: address in use");
    world_done(&w);
}
END_TEST

START_TEST(runnable_fails)
{
    struct ek_err err = {0};
    struct world w;
    world_init(&w, false);
    ek_manager_step(w.manager, 0);
    ek_buf_reset(&w.log);
    ek_err_set(&err, EK_E_IO, "first");
    ek_manager_fail(w.manager, "other", &err);
    ek_err_set(&err, EK_E_IO, "second");
    ek_manager_fail(w.manager, "http", &err);
    ek_manager_step(w.manager, 5);
    expect(&w, "-other -leader -cache-a -cache-b -webhook -http ");
    expect_end(&w, 1, "other: first");
    world_done(&w);
}
END_TEST

/* Each group waits for the one before, and the lease is kept until all have stopped. */
START_TEST(drains)
{
    struct world w;
    world_init(&w, true);
    w.leader.slow_stop = w.http.slow_stop = w.slow_release = true;
    ek_manager_step(w.manager, 0);
    ek_manager_elected(w.manager);
    ek_manager_step(w.manager, 0);
    ek_buf_reset(&w.log);
    ek_manager_stop(w.manager);
    ck_assert_int_eq(ek_manager_step(w.manager, 1000), 31000);
    expect(&w, "-other -leader ");
    ck_assert_int_eq(ek_manager_step(w.manager, 2000), 31000);
    expect(&w, "");
    w.leader.stopped(w.leader.token);
    ek_manager_step(w.manager, 3000);
    expect(&w, "-cache-a -cache-b -webhook -http ");
    w.http.stopped(w.http.token);
    ek_manager_step(w.manager, 4000);
    expect(&w, "release ");
    ck_assert_int_eq(ek_manager_phase(w.manager), EK_MANAGER_RELEASING);
    ek_manager_election_ended(w.manager, false);
    ek_manager_step(w.manager, 5000);
    expect_end(&w, 0, "");
    world_done(&w);
}
END_TEST

/* Work that does not stop keeps the lease from being given back: it may still be writing. */
START_TEST(out_of_grace)
{
    struct world w;
    world_init(&w, true);
    w.leader.slow_stop = true;
    ek_manager_step(w.manager, 0);
    ek_manager_elected(w.manager);
    ek_manager_step(w.manager, 0);
    ek_buf_reset(&w.log);
    ek_manager_stop(w.manager);
    ck_assert_int_eq(ek_manager_step(w.manager, 1000), 31000);
    ck_assert_int_eq(ek_manager_step(w.manager, 30999), 31000);
    ek_manager_step(w.manager, 31000);
    expect(&w, "-other -leader ");
    expect_end(&w, 1, "still running after the grace period of 30 s: leader");
    ck_assert(ek_manager_is_abrupt(w.manager));
    world_done(&w);
}
END_TEST

START_TEST(lease_lost)
{
    struct world w;
    world_init(&w, true);
    ek_manager_step(w.manager, 0);
    ek_manager_elected(w.manager);
    ek_manager_step(w.manager, 0);
    ek_buf_reset(&w.log);
    ek_manager_election_ended(w.manager, true);
    ek_manager_step(w.manager, 1);
    expect(&w, "");
    expect_end(&w, 1, "leader election lost");
    ck_assert(ek_manager_is_abrupt(w.manager));
    world_done(&w);
}
END_TEST

/* Also while draining: what is still being written could be written by another, too. */
START_TEST(lease_lost_draining)
{
    struct world w;
    world_init(&w, true);
    w.leader.slow_stop = true;
    ek_manager_step(w.manager, 0);
    ek_manager_elected(w.manager);
    ek_manager_step(w.manager, 0);
    ek_manager_stop(w.manager);
    ek_manager_step(w.manager, 1);
    ek_manager_election_ended(w.manager, true);
    ek_manager_step(w.manager, 2);
    expect_end(&w, 1, "leader election lost");
    world_done(&w);
}
END_TEST

START_TEST(stopped_twice)
{
    struct world w;
    world_init(&w, true);
    w.other.slow_stop = true;
    ek_manager_step(w.manager, 0);
    ek_manager_stop(w.manager);
    ek_manager_step(w.manager, 1);
    ek_manager_stop(w.manager);
    ek_manager_step(w.manager, 2);
    expect_end(&w, 1, "stopped without waiting");
    world_done(&w);
}
END_TEST

START_TEST(stopped_before_start)
{
    struct world w;
    world_init(&w, true);
    ek_manager_stop(w.manager);
    ek_manager_step(w.manager, 0);
    expect(&w, "");
    expect_end(&w, 0, "");
    world_done(&w);
}
END_TEST

START_TEST(late_addition)
{
    struct world w;
    world_init(&w, false);
    ek_manager_step(w.manager, 0);
    ck_assert_int_eq(ek_manager_add(w.manager, &(struct ek_runnable){.name = "late"}), EK_E_INVAL);
    world_done(&w);
}
END_TEST

/* The shell: a real loop and a real signal, sent by a runnable to its own process. */
static int start_and_signal(void *ctx, struct ek_err *err)
{
    (void)ctx;
    (void)err;
    return raise(SIGTERM) ? EK_E_IO : 0;
}

START_TEST(sigterm_drains)
{
    struct world w;
    uv_loop_t loop;

    world_init(&w, true);
    ek_manager_add(w.manager, &(struct ek_runnable){.name = "signal",
                                                    .group = EK_GROUP_OTHERS,
                                                    .start = start_and_signal});
    uv_loop_init(&loop);
    ck_assert_int_eq(ek_manager_run(w.manager, &loop), 0);
    ck_assert(strstr(ek_buf_str(&w.log), "-cache-a -cache-b -webhook -http ") != NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    world_done(&w);
}
END_TEST

static void signal_again(void *ctx, void (*stopped)(void *token), void *token)
{
    (void)ctx;
    (void)stopped;
    (void)token;
    raise(SIGINT);
}

/* The second signal ends the process with 1, although a part never stops. */
START_TEST(sigterm_then_sigint)
{
    struct world w;
    uv_loop_t loop;

    world_init(&w, true);
    ek_manager_add(w.manager, &(struct ek_runnable){.name = "signal",
                                                    .group = EK_GROUP_OTHERS,
                                                    .start = start_and_signal,
                                                    .stop = signal_again});
    uv_loop_init(&loop);
    ek_manager_run(w.manager, &loop);
    _exit(42);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("manager");
    TCase *tc = tcase_create("order");
    tcase_add_test(tc, order);
    tcase_add_test(tc, no_election);
    tcase_add_test(tc, follower_stops);
    tcase_add_test(tc, waits_for_caches);
    tcase_add_test(tc, caches_never_sync);
    tcase_add_test(tc, start_fails);
    tcase_add_test(tc, runnable_fails);
    tcase_add_test(tc, drains);
    tcase_add_test(tc, out_of_grace);
    tcase_add_test(tc, lease_lost);
    tcase_add_test(tc, lease_lost_draining);
    tcase_add_test(tc, stopped_twice);
    tcase_add_test(tc, stopped_before_start);
    tcase_add_test(tc, late_addition);
    suite_add_tcase(suite, tc);
    TCase *shell = tcase_create("shell");
    tcase_add_test(shell, sigterm_drains);
    tcase_add_exit_test(shell, sigterm_then_sigint, 1);
    suite_add_tcase(suite, shell);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
