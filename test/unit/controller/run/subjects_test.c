/* SPDX-License-Identifier: Apache-2.0 */
/* Which subjects --subjects selects. */
#include "controller/run/subjects.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "test/support/suite.h"

static const struct {
    const char *name, *names; /* separated by commas; "": none */
    const char *want;         /* the names of the subjects that run, or the error */
    bool webhook;
} rows[] = {
    {"all", "",
     "controlplane mutatingadmissionpolicy customfeaturegates webhookcertificates failforward "
     "compatibilityplan",
     true},
    {"skew alone serves no webhook", "skew", "controlplane", false},
    {"fail forward alone", "failforward", "failforward", false},
    {"policies bring the certificates of the webhook", "skew,policies",
     "controlplane mutatingadmissionpolicy webhookcertificates", true},
    {"gates likewise", "gates,skew", "controlplane customfeaturegates webhookcertificates", true},
    {"in the order of the table, once", "failforward,skew,skew", "controlplane failforward", false},
    {"gates without the API servers", "gates",
     "gates needs the subject that finds the API servers: add skew", true},
    {"policies without the API servers", "failforward,policies",
     "policies needs the subject that finds the API servers: add skew", true},
    {"plans without the components", "plans",
     "plans needs the subject that finds the API servers: add skew", false},
    {"plans with them", "plans,skew", "controlplane compatibilityplan", false},
    {"unknown", "skew,polices",
     "unknown subject \"polices\": use skew, policies, gates, failforward, plans", false},
    {"a name of metrics is none", "controlplane",
     "unknown subject \"controlplane\": use skew, policies, gates, failforward, plans", false},
    {"empty", "skew,", "unknown subject \"\": use skew, policies, gates, failforward, plans",
     false},
};

START_TEST(selection_row)
{
    EK_AUTO(ek_buf) got;
    EK_AUTOFREE char *text = ek_xstrdup(rows[_i].names);
    char *items[8];
    struct ek_flag_list names = {items, 0};
    struct ek_selection selection;
    struct ek_err err = {0};

    ek_buf_init(&got, 4096);
    for (char *s = text; *text && s;) {
        items[names.n++] = strsep(&s, ",");
    }
    int rc = ek_subjects_select(ek_subjects, &names, &selection, &err);
    for (size_t i = 0; !rc && i < selection.n; i++)
        ek_buf_printf(&got, "%s%s", i ? " " : "", selection.list[i]->name);
    ck_assert_msg(rc || selection.finds_peers == !!strstr(ek_buf_str(&got), "controlplane"),
                  "%s: peers", rows[_i].name);
    if (rc)
        ek_buf_puts(&got, err.message);
    ck_assert_msg(!strcmp(ek_buf_str(&got), rows[_i].want), "%s: %s", rows[_i].name,
                  ek_buf_str(&got));
    ck_assert_msg(selection.webhook == rows[_i].webhook, "%s: webhook", rows[_i].name);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, selection_row, 0, (int)EK_ARRAY_SIZE(rows));
    return ek_test_run("subjects", tc);
}
