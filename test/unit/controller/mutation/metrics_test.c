/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of policies by row: the lines on /metrics for each PolicyStatus. */
#include "controller/mutation/metrics.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/obj.h"
#include "test/support/metrics_page.h"
#include "test/support/suite.h"

#define CONDITION "evenkeel_policy_condition{policy=\"p\",enforcement=\"Auto\","
#define MANY      1500

static const struct {
    const char *name, *status; /* JSON; NULL: there is no PolicyStatus */
    const char *lines;         /* all series of the two families, in the order of the page */
} rows[] = {
    {"no PolicyStatus", NULL, ""},
    {"a status without conditions", "{}", "evenkeel_policy_fights{policy=\"p\"} 0\n"},
    {"the current status of each condition",
     "{\"summary\": {\"fights\": 0}, \"conditions\": ["
     "{\"type\": \"Ready\", \"status\": \"False\"}, {\"type\": \"Enforced\", \"status\": "
     "\"False\"}, {\"type\": \"Converging\", \"status\": \"True\"}, {\"type\": \"Compiled\", "
     "\"status\": \"True\"}, {\"type\": \"Bound\", \"status\": \"True\"}, {\"type\": "
     "\"TypesChecked\", \"status\": \"Unknown\"}]}",
     CONDITION "type=\"Bound\",status=\"True\"} 1\n" CONDITION
               "type=\"Compiled\",status=\"True\"} 1\n" CONDITION
               "type=\"Converging\",status=\"True\"} 1\n" CONDITION
               "type=\"Enforced\",status=\"False\"} 1\n" CONDITION
               "type=\"Ready\",status=\"False\"} 1\n" CONDITION
               "type=\"TypesChecked\",status=\"Unknown\"} 1\n"
               "evenkeel_policy_fights{policy=\"p\"} 0\n"},
    {"fights, also those that the list has no room for",
     "{\"summary\": {\"fights\": 20}, \"fights\": [{}], \"conditions\": [{\"type\": "
     "\"Converging\", \"status\": \"False\"}]}",
     CONDITION "type=\"Converging\",status=\"False\"} 1\n"
               "evenkeel_policy_fights{policy=\"p\"} 20\n"},
    {"conditions and values of another writer",
     "{\"summary\": {\"fights\": \"many\"}, \"conditions\": [{\"type\": \"Mine\", \"status\": "
     "\"True\"}, {\"type\": \"Enforced\", \"status\": \"maybe\"}, 7]}",
     CONDITION "type=\"Enforced\",status=\"Unknown\"} 1\n"
               "evenkeel_policy_fights{policy=\"p\"} 0\n"},
};

static yyjson_doc *read_json(const char *text)
{
    return yyjson_read(text, strlen(text), 0);
}

static struct ek_metrics *new_metrics(void)
{
    struct ek_metrics *metrics = ek_metrics_new();

    for (size_t i = 0; i < EK_MUTATION_METRICS; i++)
        ek_metrics_register(metrics, &ek_mutation_metrics[i]);
    return metrics;
}

START_TEST(shows)
{
    const struct ek_policy policy = {.name = "p", .enforcement = EK_POLICY_AUTO};
    EK_AUTOPTR(ek_metrics, ek_metrics_free) *metrics = new_metrics();
    yyjson_doc *doc = rows[_i].status ? read_json(rows[_i].status) : NULL;
    EK_AUTO(ek_buf) out;

    ek_mutation_metrics_show(metrics, &(struct ek_policy_shown){&policy, yyjson_doc_get_root(doc)},
                             1);
    ek_test_series(metrics, "evenkeel_policy_", &out);
    ck_assert_msg(!strcmp(ek_buf_str(&out), rows[_i].lines), "%s: %s", rows[_i].name,
                  ek_buf_str(&out));
    yyjson_doc_free(doc);
}
END_TEST

/* A policy that is gone has no series. */
START_TEST(forgets)
{
    const struct ek_policy policy = {.name = "p", .enforcement = EK_POLICY_OBSERVE};
    EK_AUTOPTR(ek_metrics, ek_metrics_free) *metrics = new_metrics();
    yyjson_doc *doc = read_json("{\"conditions\": [{\"type\": \"Ready\", \"status\": \"True\"}]}");
    EK_AUTO(ek_buf) shown;
    EK_AUTO(ek_buf) gone;

    ek_mutation_metrics_show(metrics, &(struct ek_policy_shown){&policy, yyjson_doc_get_root(doc)},
                             1);
    ek_test_series(metrics, "evenkeel_policy_", &shown);
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&shown), "enforcement=\"Observe\""));
    ek_mutation_metrics_show(metrics, NULL, 0);
    ek_test_series(metrics, "evenkeel_policy_", &gone);
    ck_assert_str_eq(ek_buf_str(&gone), "");
    ek_mutation_metrics_show(NULL, NULL, 0);
    yyjson_doc_free(doc);
}
END_TEST

/* Names of policies are chosen by their authors: the number of series has a limit. */
START_TEST(is_bounded)
{
    EK_AUTOPTR(ek_metrics, ek_metrics_free) *metrics = new_metrics();
    yyjson_doc *doc = read_json("{\"conditions\": [{\"type\": \"Compiled\", \"status\": \"True\"}, "
                                "{\"type\": \"Bound\", \"status\": \"True\"}, {\"type\": "
                                "\"Enforced\", \"status\": \"True\"}, {\"type\": \"Ready\", "
                                "\"status\": \"True\"}]}");
    static char names[MANY][16];
    static struct ek_policy policies[MANY];
    static struct ek_policy_shown shown[MANY];
    EK_AUTO(ek_buf) out;
    size_t n = 0;

    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "p%zu", i);
        policies[i] = (struct ek_policy){.name = names[i]};
        shown[i] = (struct ek_policy_shown){&policies[i], yyjson_doc_get_root(doc)};
    }
    ek_mutation_metrics_show(metrics, shown, MANY);
    ek_test_series(metrics, "evenkeel_policy_", &out);
    for (const char *line = ek_buf_str(&out); (line = strstr(line, "evenkeel_policy_condition{"));
         line++)
        n++;
    ck_assert_uint_eq(n, ek_mutation_metrics[0].max_series);
    yyjson_doc_free(doc);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("metrics");

    tcase_add_loop_test(tcase, shows, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, forgets);
    tcase_add_test(tcase, is_bounded);
    return ek_test_run("controller/mutation/metrics", tcase);
}
