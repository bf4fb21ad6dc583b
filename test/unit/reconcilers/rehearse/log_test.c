/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of the output of a server, and what a line means. */
#include "reconcilers/rehearse/log.h"

#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/suite.h"

static const struct {
    const char *line, *sentence; /* NULL: no refusal */
} lines[] = {
    {"Error: unknown flag: --bogus", "unknown flag: --bogus"},
    {"E1123 17:43:15.599082       4 run.go:72] \"command failed\" err=\"cannot set feature gate "
     "SidecarContainers to false, feature is locked to true\"",
     "cannot set feature gate SidecarContainers to false, feature is locked to true"},
    {"E1123 17:43:17.516743      41 run.go:72] \"command failed\" err=\"plugin \\\"Nope\\\" is "
     "unknown\"",
     "plugin \"Nope\" is unknown"},
    {"E1123 17:43:17.516743      41 run.go:72] \"command failed\" err=\"a\\nb\"", "a b"},
    {"F1123 17:43:17.516743      41 server.go:1] no storage", "no storage"},
    {"panic: runtime error: index out of range", "panic: runtime error: index out of range"},
    {"fatal error: out of memory", "fatal error: out of memory"},
    {"E1123 17:43:17.516743      41 run.go:72] \"request failed\" err=\"x\"", NULL},
    {"I1123 17:43:17.516743      41 run.go:72] \"command failed\" err=\"x\"", NULL},
    {"W1123 17:43:15.770775      13 feature_gate.go:420] unrecognized feature gate: X", NULL},
    {"Fine weather] today", NULL},
    {"", NULL},
};

START_TEST(line_row)
{
    char got[EK_REHEARSE_LINE_MAX] = "";
    bool is = ek_rehearse_refusal(lines[_i].line, got, sizeof got);

    ck_assert_msg(is == (lines[_i].sentence != NULL), "%s", lines[_i].line);
    ck_assert_str_eq(got, lines[_i].sentence ? lines[_i].sentence : "");
}
END_TEST

START_TEST(the_last_lines_are_kept)
{
    struct ek_rehearse_log *log = ek_xalloc(sizeof *log);
    char text[32];

    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "line %d\n\n", i);
        ek_rehearse_log_feed(log, text, strlen(text));
    }
    ek_rehearse_log_feed(log, "Error: no\nthe ", 14);
    ek_rehearse_log_feed(log, "end", 3);
    ek_rehearse_log_end(log);
    ck_assert_str_eq(ek_rehearse_log_line(log, 0), "line 982");
    ck_assert_str_eq(ek_rehearse_log_line(log, EK_REHEARSE_LINES - 1), "the end");
    ck_assert_ptr_null(ek_rehearse_log_line(log, EK_REHEARSE_LINES));
    ck_assert_str_eq(log->refusal, "no");
    ek_free(log);
}
END_TEST

/* A line without an end, and bytes that are no text. */
START_TEST(endless_output_is_bounded)
{
    struct ek_rehearse_log *log = ek_xalloc(sizeof *log);
    char noise[1000];

    memset(noise, '\x01', sizeof noise);
    for (int i = 0; i < 5000; i++)
        ek_rehearse_log_feed(log, noise, sizeof noise);
    ek_rehearse_log_feed(log, "a\x1b[2Jb\n", 7);
    ek_rehearse_log_end(log);
    ck_assert_uint_eq(log->octets, 5000007);
    for (size_t i = 0; ek_rehearse_log_line(log, i); i++)
        for (const char *p = ek_rehearse_log_line(log, i); *p; p++)
            ck_assert(*p >= ' ');
    ek_free(log);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("log");

    tcase_add_loop_test(tcase, line_row, 0, EK_ARRAY_SIZE(lines));
    tcase_add_test(tcase, the_last_lines_are_kept);
    tcase_add_test(tcase, endless_output_is_bounded);
    return ek_test_run("rehearse log", tcase);
}
