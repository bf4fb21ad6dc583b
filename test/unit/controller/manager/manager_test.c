/* SPDX-License-Identifier: Apache-2.0 */
/* The manager: start and stop order, readiness, grace, lost lease, exit codes; fake parts and time.
 */
#include <check.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "api/base/buf.h"
#include "api/base/mem.h"
#include "controller/manager/manager.h"
#include "test/support/suite.h"

/* A part that writes down what happens to it. */
struct fake {
    struct world *world;
    const char *name;
    bool fails, slow_ready, slow_stop; /* slow: only when the test allows it */
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

static struct world w;

static void add(struct fake *f, const char *name, enum ek_manager_group group)
{
    f->world = &w;
    f->name = name;
    struct ek_runnable r = {.name = name,
                            .group = group,
                            .start = fake_start,
                            .stop = fake_stop,
                            .ready = fake_ready,
                            .ctx = f};
    ck_assert_int_eq(ek_manager_add(w.manager, &r), 0);
}

static void world_init(bool elect)
{
    struct ek_manager_config config = {0};

    if (elect)
        config.election = (struct ek_manager_election){
            .start = election_start, .stop = election_stop, .ctx = &w, .release_on_cancel = true};
    w = (struct world){.manager = ek_manager_new(&config)};
    ek_buf_init(&w.log, 4096);
    /* Added in the wrong order on purpose: the groups decide. */
    add(&w.leader, "leader", EK_GROUP_LEADER);
    add(&w.other, "other", EK_GROUP_OTHERS);
    add(&w.cache_a, "cache-a", EK_GROUP_CACHES);
    add(&w.cache_b, "cache-b", EK_GROUP_CACHES);
    add(&w.webhook, "webhook", EK_GROUP_WEBHOOKS);
    add(&w.http, "http", EK_GROUP_HTTP);
}

static void elect(void)
{
    world_init(true);
}

static void lead(void)
{
    world_init(false);
}

static void world_done(void)
{
    ek_manager_free(w.manager);
    ek_buf_done(&w.log);
}

#define ANY INT64_MIN

/* A step at a time: the time of the next one (ANY: not compared), and what it did. */
static void step(int64_t at, int64_t next, const char *log)
{
    int64_t got = ek_manager_step(w.manager, at);

    ck_assert_msg(next == ANY || got == next, "at %" PRId64 ": next %" PRId64, at, got);
    ck_assert_str_eq(ek_buf_str(&w.log), log);
    ek_buf_reset(&w.log);
}

static void stop(int64_t at, int64_t next, const char *log)
{
    ek_manager_stop(w.manager);
    step(at, next, log);
}

static void check_end(int code, const char *message)
{
    ck_assert_int_eq(ek_manager_phase(w.manager), EK_MANAGER_FINISHED);
    ck_assert_int_eq(ek_manager_exit_code(w.manager), code);
    const struct ek_err *err = ek_manager_error(w.manager);
    ck_assert_str_eq(err ? err->message : "", message);
}

#define CACHES_START "+http +webhook +cache-a +cache-b "
#define CACHES_STOP  "-cache-a -cache-b -webhook -http "

/* Starts everything at 0 and wins the election. */
static void become_leader(void)
{
    step(0, -1, CACHES_START "+other +election ");
    ck_assert_int_eq(ek_manager_phase(w.manager), EK_MANAGER_ELECTING);
    ek_manager_elected(w.manager);
    step(0, -1, "+leader ");
    ck_assert_int_eq(ek_manager_phase(w.manager), EK_MANAGER_RUNNING);
}

START_TEST(order)
{
    become_leader();
    stop(20, ANY, "-other -leader " CACHES_STOP "release ");
    check_end(0, "");
    ck_assert(!ek_manager_is_abrupt(w.manager));
}
END_TEST

START_TEST(no_election)
{
    step(0, ANY, CACHES_START "+other +leader ");
    stop(20, ANY, "-other -leader " CACHES_STOP);
    check_end(0, "");
}
END_TEST

START_TEST(follower_stops)
{
    step(0, ANY, CACHES_START "+other +election ");
    stop(20, ANY, "-other " CACHES_STOP "release ");
    check_end(0, "");
}
END_TEST

START_TEST(waits_for_caches)
{
    struct ek_err err = {0};

    w.cache_b.slow_ready = true;
    ck_assert_int_eq(ek_manager_check_ready(w.manager, &err), EK_E_TIMEOUT);
    step(0, 100, CACHES_START);
    ck_assert_int_eq(ek_manager_check_ready(w.manager, &err), EK_E_TIMEOUT);
    ck_assert_str_eq(err.message, "not synced: cache-b");
    step(119999, 120000, "");
    w.cache_b.ready = true;
    step(119999, ANY, "+other +election ");
    ck_assert_int_eq(ek_manager_check_ready(w.manager, &err), 0);
}
END_TEST

START_TEST(caches_never_sync)
{
    w.cache_b.slow_ready = true;
    step(0, ANY, CACHES_START);
    step(120000, ANY, CACHES_STOP);
    check_end(1, "not ready after 120 s: cache-b");
}
END_TEST

START_TEST(start_fails)
{
    w.webhook.fails = true;
    step(0, ANY, "+http +webhook -http ");
    check_end(1, "webhook: address in use");
}
END_TEST

START_TEST(runnable_fails)
{
    struct ek_err err = {0};

    step(0, ANY, CACHES_START "+other +leader ");
    ek_err_set(&err, EK_E_IO, "first");
    ek_manager_fail(w.manager, "other", &err);
    ek_err_set(&err, EK_E_IO, "second");
    ek_manager_fail(w.manager, "http", &err);
    step(5, ANY, "-other -leader " CACHES_STOP);
    check_end(1, "other: first");
}
END_TEST

/* Each group waits for the one before, and the lease is kept until all have stopped. */
START_TEST(drains)
{
    w.leader.slow_stop = w.http.slow_stop = w.slow_release = true;
    become_leader();
    stop(1000, 31000, "-other -leader ");
    step(2000, 31000, "");
    w.leader.stopped(w.leader.token);
    step(3000, ANY, CACHES_STOP);
    w.http.stopped(w.http.token);
    step(4000, ANY, "release ");
    ck_assert_int_eq(ek_manager_phase(w.manager), EK_MANAGER_RELEASING);
    ek_manager_election_ended(w.manager, false);
    step(5000, ANY, "");
    check_end(0, "");
}
END_TEST

/* The lease is not released while a runnable has not stopped: the runnable may still write. */
START_TEST(out_of_grace)
{
    w.leader.slow_stop = true;
    become_leader();
    stop(1000, 31000, "-other -leader ");
    step(30999, 31000, "");
    step(31000, ANY, "");
    check_end(1, "still running after the grace period of 30 s: leader");
    ck_assert(ek_manager_is_abrupt(w.manager));
}
END_TEST

START_TEST(lease_lost)
{
    become_leader();
    ek_manager_election_ended(w.manager, true);
    step(1, ANY, "");
    check_end(1, "leader election lost");
    ck_assert(ek_manager_is_abrupt(w.manager));
}
END_TEST

/* Also while draining: another replica could write at the same time. */
START_TEST(lease_lost_draining)
{
    w.leader.slow_stop = true;
    become_leader();
    stop(1, ANY, "-other -leader ");
    ek_manager_election_ended(w.manager, true);
    step(2, ANY, "");
    check_end(1, "leader election lost");
}
END_TEST

START_TEST(stopped_twice)
{
    w.other.slow_stop = true;
    step(0, ANY, CACHES_START "+other +election ");
    stop(1, ANY, "-other ");
    stop(2, ANY, "");
    check_end(1, "stopped without waiting");
}
END_TEST

START_TEST(stopped_before_start)
{
    stop(0, ANY, "");
    check_end(0, "");
}
END_TEST

START_TEST(late_addition)
{
    step(0, ANY, CACHES_START "+other +leader ");
    ck_assert_int_eq(ek_manager_add(w.manager, &(struct ek_runnable){.name = "late"}), EK_E_INVAL);
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
    uv_loop_t loop;

    ek_manager_add(w.manager, &(struct ek_runnable){.name = "signal",
                                                    .group = EK_GROUP_OTHERS,
                                                    .start = start_and_signal});
    uv_loop_init(&loop);
    ck_assert_int_eq(ek_manager_run(w.manager, &loop), 0);
    ck_assert(strstr(ek_buf_str(&w.log), "-cache-a -cache-b -webhook -http ") != NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
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
    uv_loop_t loop;

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
    TCase *election = tcase_create("election"), *alone = tcase_create("alone");

    tcase_add_checked_fixture(election, elect, world_done);
    tcase_add_test(election, order);
    tcase_add_test(election, follower_stops);
    tcase_add_test(election, waits_for_caches);
    tcase_add_test(election, caches_never_sync);
    tcase_add_test(election, start_fails);
    tcase_add_test(election, drains);
    tcase_add_test(election, out_of_grace);
    tcase_add_test(election, lease_lost);
    tcase_add_test(election, lease_lost_draining);
    tcase_add_test(election, stopped_twice);
    tcase_add_test(election, stopped_before_start);
    tcase_add_test(election, sigterm_drains);
    tcase_add_exit_test(election, sigterm_then_sigint, 1);
    tcase_add_checked_fixture(alone, lead, world_done);
    tcase_add_test(alone, no_election);
    tcase_add_test(alone, runnable_fails);
    tcase_add_test(alone, late_addition);
    return ek_test_run("manager", election, alone);
}
