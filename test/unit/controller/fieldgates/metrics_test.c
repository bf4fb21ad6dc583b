/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of gates by row: the lines on /metrics for each CustomFeatureGates. */
#include "controller/fieldgates/metrics.h"

#include <check.h>
#include <string.h>

#include "test/support/gates_kinds.h"
#include "test/support/metrics_page.h"
#include "test/support/suite.h"

#define NAME      "crontabs.stable.example.com"
#define CONDITION "evenkeel_gates_condition{crd=\"" NAME "\","

static const struct {
    const char *name, *gates, *status; /* gates and status in YAML flow */
    const char *lines;                 /* all series of the two families */
} rows[] = {
    {"no status yet", TEST_ALPHA("A", ".spec.a"), "",
     "evenkeel_gate_enabled{crd=\"" NAME "\",gate=\"A\",stage=\"alpha\"} 0\n"},
    {"the current status of each condition", TEST_ON("B", ".spec.b"),
     ", status: {conditions: [{type: Accepted, status: 'True'}, {type: CRDFound, status: 'True'}, "
     "{type: PathsResolved, status: 'Unknown'}, {type: Enforced, status: 'False'}]}",
     "evenkeel_gate_enabled{crd=\"" NAME "\",gate=\"B\",stage=\"beta\"} 1\n" CONDITION
     "type=\"Accepted\",status=\"True\"} 1\n" CONDITION
     "type=\"CRDFound\",status=\"True\"} 1\n" CONDITION
     "type=\"Enforced\",status=\"False\"} 1\n" CONDITION
     "type=\"PathsResolved\",status=\"Unknown\"} 1\n"},
    {"conditions of another writer", "",
     ", status: {conditions: [{type: Mine, status: 'True'}, {type: Enforced, status: 'maybe'}]}",
     CONDITION "type=\"Enforced\",status=\"Unknown\"} 1\n"},
};

START_TEST(shows)
{
    EK_AUTOPTR(ek_metrics, ek_metrics_free) *metrics = ek_metrics_new();
    struct ek_obj *obj = test_gates(NAME, "u", 1, rows[_i].gates, rows[_i].status);
    const struct ek_obj *none[] = {NULL};
    struct ek_gated_kinds kinds = {0};
    EK_AUTO(ek_buf) shown;
    EK_AUTO(ek_buf) gone;

    for (size_t i = 0; i < EK_GATES_METRICS; i++)
        ek_metrics_register(metrics, &ek_gates_metrics[i]);
    ek_gated_kinds_update(&kinds, &obj, none, 1);
    ek_gates_metrics_show(metrics, &kinds);
    ek_test_series(metrics, "evenkeel_gate", &shown);
    ck_assert_msg(!strcmp(ek_buf_str(&shown), rows[_i].lines), "%s: %s", rows[_i].name,
                  ek_buf_str(&shown));
    ek_gated_kinds_update(&kinds, NULL, NULL, 0);
    ek_gates_metrics_show(metrics, &kinds);
    ek_test_series(metrics, "evenkeel_gate", &gone);
    ck_assert_str_eq(ek_buf_str(&gone), "");
    ek_gates_metrics_show(NULL, &kinds);
    ek_gated_kinds_done(&kinds);
    ek_obj_unref(obj);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("metrics");

    tcase_add_loop_test(tcase, shows, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("controller/fieldgates/metrics", tcase);
}
