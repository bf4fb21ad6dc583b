/* SPDX-License-Identifier: Apache-2.0 */
/* What a child is between fork and exec. */
#include "controller/rehearse/child.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "test/support/suite.h"

static int handled;

static void on_signal(uv_signal_t *watcher, int number)
{
    (void)watcher;
    (void)number;
    handled++;
}

/* In a child of fork, before all that the program does there. */
static void raise_in_child(void)
{
    raise(SIGWINCH);
}

/* A handler of libuv that runs in the child writes to the loop of the parent, which then sees a
 * signal that it did not get. */
START_TEST(no_handler_runs_before_exec)
{
    const char *const argv[] = {"/bin/true", NULL};
    struct ek_rehearse_child child = {0};
    struct ek_err err = {0};
    uv_signal_t watcher;
    uv_loop_t loop;

    ck_assert_int_eq(uv_loop_init(&loop), 0);
    ck_assert_int_eq(uv_signal_init(&loop, &watcher), 0);
    ck_assert_int_eq(uv_signal_start(&watcher, on_signal, SIGWINCH), 0);
    ck_assert_int_eq(pthread_atfork(NULL, NULL, raise_in_child), 0);
    ck_assert_msg(!ek_rehearse_child_start(&child, &loop, argv, "/", &err), "%s", err.message);
    while (child.out_open)
        uv_run(&loop, UV_RUN_ONCE);
    ek_rehearse_child_end(&child);
    uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert_msg(WIFEXITED(child.status) && WEXITSTATUS(child.status) == 0, "status %d",
                  child.status);
    ck_assert_int_eq(handled, 0);

    raise(SIGWINCH); /* the parent handles its own signals again */
    while (!handled)
        uv_run(&loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&watcher, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("child");

    tcase_add_test(tcase, no_handler_runs_before_exec);
    return ek_test_run("rehearse child", tcase);
}
