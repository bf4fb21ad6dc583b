/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/skew/documents_metrics.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/suite.h"

static void check_lines(struct ek_metrics *metrics, const char *const *lines, size_t n)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 1 << 20);
    ck_assert_int_eq(ek_metrics_write(metrics, EK_METRICS_TEXT, &out), 0);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(strstr(ek_buf_str(&out), lines[i]) != NULL, "%s: %s", lines[i],
                      ek_buf_str(&out));
}

/* Each call adds what is new; the series are there before. */
START_TEST(counts_what_is_new)
{
    static const char *const none[] = {
        "apiserver_peer_discovery_sync_errors_total{type=\"fetch_discovery\"} 0\n",
        "apiserver_peer_discovery_sync_errors_total{type=\"hostport_resolution\"} 0\n",
        "aggregator_discovery_aggregation_count_total 0\n",
        "aggregator_discovery_peer_aggregated_cache_misses_total 0\n"};
    static const char *const some[] = {
        "apiserver_peer_discovery_sync_errors_total{type=\"fetch_discovery\"} 5\n",
        "apiserver_peer_discovery_sync_errors_total{type=\"hostport_resolution\"} 1\n",
        "aggregator_discovery_aggregation_count_total 7\n",
        "aggregator_discovery_peer_aggregated_cache_misses_total 2\n",
        "evenkeel_discovery_merge_duration_seconds_bucket{le=\"0.01\"} 1\n",
        "evenkeel_discovery_merge_duration_seconds_count 2\n"};
    EK_AUTOPTR(ek_metrics, ek_metrics_free) *metrics = ek_metrics_new();
    struct ek_documents_metrics *m = ek_documents_metrics_new(metrics, true);

    check_lines(metrics, none, EK_ARRAY_SIZE(none));
    ek_documents_metrics_count(m, &(struct ek_view_counts){2, 1, 3});
    ek_documents_metrics_count(m, &(struct ek_view_counts){5, 1, 7});
    ek_documents_metrics_merged(m, 0.0075);
    ek_documents_metrics_merged(m, 1);
    check_lines(metrics, some, EK_ARRAY_SIZE(some));
    ek_documents_metrics_free(m);
}
END_TEST

/* A proxy has the families of merges itself. */
START_TEST(leaves_merges_to_a_proxy)
{
    EK_AUTOPTR(ek_metrics, ek_metrics_free) *metrics = ek_metrics_new();
    struct ek_documents_metrics *m = ek_documents_metrics_new(metrics, false);
    EK_AUTO(ek_buf) out;

    ek_documents_metrics_merged(m, 1);
    ek_documents_metrics_merged(NULL, 1);
    ek_documents_metrics_count(NULL, &(struct ek_view_counts){0});
    ek_buf_init(&out, 1 << 20);
    ck_assert_int_eq(ek_metrics_write(metrics, EK_METRICS_TEXT, &out), 0);
    ck_assert(strstr(ek_buf_str(&out), "apiserver_peer_discovery_sync_errors_total") != NULL);
    ck_assert(strstr(ek_buf_str(&out), "merge") == NULL);
    ek_documents_metrics_free(m);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("documents_metrics");

    tcase_add_test(tcase, counts_what_is_new);
    tcase_add_test(tcase, leaves_merges_to_a_proxy);
    return ek_test_run("documents_metrics", tcase);
}
