/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of failures: each controller has a limit of its own. */
#include "controller/manager/runner_metrics.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/base/mem.h"
#include "test/support/suite.h"

enum { CONTROLLERS = 2 };

static const char *const names[CONTROLLERS] = {"alpha", "beta"};

static const struct {
    const char *name;
    unsigned failures[CONTROLLERS]; /* one controller after the other */
    unsigned lines[CONTROLLERS];
    unsigned suppressed[CONTROLLERS]; /* by the first line of the next minute */
} rows[] = {
    {"few failures", {3, 2}, {3, 2}, {0, 0}},
    {"a noisy controller does not hide another one", {40, 1}, {10, 1}, {30, 0}},
    {"the noisy one comes last", {1, 40}, {1, 10}, {0, 30}},
    {"two noisy controllers", {11, 40}, {10, 10}, {1, 30}},
};

static int64_t now_of(void *ctx)
{
    return *(const int64_t *)ctx;
}

/* The lines of the log of a controller that contain text; they follow offset. */
static unsigned lines_of(int fd, off_t offset, const char *controller, const char *text)
{
    static char log[1 << 16];
    ssize_t len = pread(fd, log, sizeof log - 1, offset);
    EK_AUTOFREE char *member = ek_xasprintf("\"controller\":\"%s\"", controller);
    unsigned n = 0;

    ck_assert_int_ge(len, 0);
    log[len] = '\0';
    char *rest = log;
    for (char *line; (line = strsep(&rest, "\n"));)
        n += strstr(line, member) && strstr(line, text);
    return n;
}

START_TEST(limit_row)
{
    int64_t now_ns = (int64_t)1000 * 1000000000;
    int fd = memfd_create("log", MFD_CLOEXEC);
    struct ek_log *log = ek_log_new(&(struct ek_log_config){
        .encoder = EK_LOG_JSON, .fd = fd, .now_ns = now_of, .now_ctx = &now_ns});
    struct ek_metrics *metrics = ek_metrics_new();
    struct ek_standard_metrics standard;
    struct ek_runner_metrics runners[CONTROLLERS];
    struct ek_runner_observer observers[CONTROLLERS];
    struct ek_err err = {0};

    ek_err_set(&err, EK_E_FORBIDDEN, "forbidden");
    ek_standard_metrics_init(&standard, metrics);
    for (size_t i = 0; i < CONTROLLERS; i++) {
        ek_runner_metrics_init(&runners[i], &standard, log, names[i], "Kind", 1);
        observers[i] = ek_runner_metrics_observer(&runners[i]);
    }
    for (size_t i = 0; i < CONTROLLERS; i++)
        for (unsigned n = 0; n < rows[_i].failures[i]; n++)
            observers[i].failed(observers[i].ctx, "key", "id", EK_RECONCILED_ERROR, &err);
    for (size_t i = 0; i < CONTROLLERS; i++)
        ck_assert_msg(lines_of(fd, 0, names[i], "\"Reconciler error\"") == rows[_i].lines[i],
                      "%s: %s: %u lines", rows[_i].name, names[i],
                      lines_of(fd, 0, names[i], "\"Reconciler error\""));
    off_t end = lseek(fd, 0, SEEK_END);
    now_ns += (int64_t)60 * 1000000000;
    for (size_t i = 0; i < CONTROLLERS; i++) {
        EK_AUTOFREE char *count = ek_xasprintf("\"suppressed\":%u,", rows[_i].suppressed[i]);
        observers[i].failed(observers[i].ctx, "key", "id", EK_RECONCILED_ERROR, &err);
        ck_assert_msg(lines_of(fd, end, names[i], "") == 1 &&
                          lines_of(fd, end, names[i], "\"suppressed\"") ==
                              (rows[_i].suppressed[i] > 0) &&
                          lines_of(fd, end, names[i], count) == (rows[_i].suppressed[i] > 0),
                      "%s: %s: the next minute", rows[_i].name, names[i]);
    }
    ek_log_free(log);
    ek_metrics_free(metrics);
    close(fd);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("runner_metrics");

    tcase_add_loop_test(tcase, limit_row, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("runner metrics", tcase);
}
