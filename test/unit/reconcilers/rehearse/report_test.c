/* SPDX-License-Identifier: Apache-2.0 */
/* Findings are merged over the steps, and what is so before is no fault of the upgrade. */
#include "reconcilers/rehearse/report.h"

#include <stdio.h>
#include <string.h>

#include "test/support/suite.h"

START_TEST(one_finding_for_all_steps)
{
    struct ek_rehearse_report report = {.arena = ek_arena_new((size_t)64 << 20)};

    ek_rehearse_report_add(&report, 0, EK_REHEARSE_ERROR, "undecodable", "a", "x\ny");
    ek_rehearse_report_add(&report, 2, EK_REHEARSE_ERROR, "undecodable", "a", "x y");
    ek_rehearse_report_add(&report, 2, EK_REHEARSE_ERROR, "undecodable", "b", "x y");
    ck_assert_uint_eq(report.n, 2);
    ck_assert_uint_eq(report.list[0].steps, 5);
    ck_assert_uint_eq(report.list[1].steps, 4);
    ek_rehearse_report_done(&report);
    ek_arena_free(report.arena);
}
END_TEST

static const struct {
    const char *name;
    unsigned steps; /* of three */
    bool has_before;
    enum ek_rehearse_severity expected;
} rows[] = {
    {"in all steps, with the old binary", 7, true, EK_REHEARSE_WARNING},
    {"in all steps, without the old binary", 7, false, EK_REHEARSE_ERROR},
    {"before the upgrade and not in the middle", 5, true, EK_REHEARSE_WARNING},
    {"before the upgrade alone", 1, true, EK_REHEARSE_WARNING},
    {"after the first", 6, true, EK_REHEARSE_ERROR},
};

START_TEST(settle_row)
{
    struct ek_rehearse_report report = {.arena = ek_arena_new((size_t)1 << 20)};

    for (size_t i = 0; i < 3; i++)
        if (rows[_i].steps & (1U << i))
            ek_rehearse_report_add(&report, i, EK_REHEARSE_ERROR, "r", "o", "m");
    ek_rehearse_report_settle(&report, rows[_i].has_before);
    ck_assert_msg(report.list[0].severity == rows[_i].expected, "%s", rows[_i].name);
    ck_assert_uint_eq(ek_rehearse_report_count(&report, rows[_i].expected), 1);
    ek_rehearse_report_done(&report);
    ek_arena_free(report.arena);
}
END_TEST

START_TEST(findings_are_bounded)
{
    struct ek_rehearse_report report = {.arena = ek_arena_new((size_t)64 << 20)};
    char name[32];

    for (int i = 0; i < EK_REHEARSE_FINDINGS_MAX + 10; i++) {
        snprintf(name, sizeof name, "%d", i);
        ek_rehearse_report_add(&report, 0, EK_REHEARSE_ERROR, "r", name, "m");
    }
    ck_assert_uint_eq(report.n, EK_REHEARSE_FINDINGS_MAX);
    ck_assert_uint_eq(report.dropped, 10);
    ck_assert(!ek_arena_exhausted(report.arena));
    ek_rehearse_report_done(&report);
    ek_arena_free(report.arena);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("report");

    tcase_add_test(tcase, one_finding_for_all_steps);
    tcase_add_loop_test(tcase, settle_row, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, findings_are_bounded);
    return ek_test_run("rehearse report", tcase);
}
