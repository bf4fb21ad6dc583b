/* SPDX-License-Identifier: Apache-2.0 */
/* The registry: exposition byte by byte in both formats, limits, snapshots, and promtool's word. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "controller/telemetry/metrics.h"
#include "controller/telemetry/process_metrics.h"
#include "controller/telemetry/standard_metrics.h"
#include "test/support/suite.h"

static struct ek_metrics *metrics;
static struct ek_buf text;

static void setup(void)
{
    metrics = ek_metrics_new();
    ek_buf_init(&text, 1 << 22);
}

static void teardown(void)
{
    ek_metrics_free(metrics);
    ek_buf_done(&text);
}

static const char *written(enum ek_metrics_format format)
{
    ek_buf_reset(&text);
    ck_assert_int_eq(ek_metrics_write(metrics, format, &text), 0);
    return ek_buf_str(&text);
}

START_TEST(numbers)
{
    static const struct {
        double v;
        const char *expected;
    } rows[] = {
        {0, "0"},
        {1, "1"},
        {-1, "-1"},
        {0.005, "0.005"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1e-8, "1e-08"},
        {9.999999999999999e-06, "9.999999999999999e-06"},
        {0.0001, "0.0001"},
        {0.00001, "1e-05"},
        {120, "120"},
        {999999, "999999"},
        {123456.75, "123456.75"},
        {1000000, "1e+06"},
        {1048576, "1.048576e+06"},
        {1763636289.12, "1.76363628912e+09"},
        {-2.5, "-2.5"},
        {-1234567, "-1.234567e+06"},
        {INFINITY, "+Inf"},
        {-INFINITY, "-Inf"},
        {NAN, "NaN"},
        {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        ek_buf_reset(&text);
        ek_metrics_put_number(&text, rows[i].v);
        ck_assert_msg(!strcmp(ek_buf_str(&text), rows[i].expected), "%s: got %s", rows[i].expected,
                      ek_buf_str(&text));
    }
}
END_TEST

static void fill(void)
{
    static const double buckets[] = {0.5, 1};
    struct ek_metric_family *counter =
        ek_metrics_register(metrics, &(struct ek_metric_desc){.name = "b_requests_total",
                                                              .help = "Requests \\ \"so\nfar\".",
                                                              .type = EK_METRIC_COUNTER,
                                                              .labels = {"code", "host"}});
    struct ek_metric_family *gauge = ek_metrics_register(
        metrics, &(struct ek_metric_desc){.name = "a_up", .help = "Up.", .type = EK_METRIC_GAUGE});
    struct ek_metric_family *histogram =
        ek_metrics_register(metrics, &(struct ek_metric_desc){.name = "c_seconds",
                                                              .help = "Time.",
                                                              .type = EK_METRIC_HISTOGRAM,
                                                              .labels = {"x"},
                                                              .buckets = buckets,
                                                              .n_buckets = 2});

    ek_metric_add(ek_metric_with(counter, "500", "b", NULL), 1);
    ek_metric_add(ek_metric_with(counter, "200", "a\\\"\n\xff", NULL), 2.5);
    ek_metric_add(ek_metric_with(counter, "200", "a\\\"\n\xff", NULL), -1); /* ignored */
    ek_metric_set(ek_metric_with(gauge, NULL), 1);
    struct ek_metric *h = ek_metric_with(histogram, "y", NULL);
    ek_metric_observe(h, 0.5); /* bounds are inclusive */
    ek_metric_observe(h, 0.75);
    ek_metric_observe(h, 7);
    ek_metric_observe(h, NAN); /* ignored */
}

START_TEST(exposition)
{
    fill();
    ck_assert_str_eq(written(EK_METRICS_TEXT),
                     "# HELP a_up Up.\n# TYPE a_up gauge\na_up 1\n"
                     "# HELP b_requests_total Requests \\\\ \"so\\nfar\".\n"
                     "# TYPE b_requests_total counter\n"
                     "b_requests_total{code=\"200\",host=\"a\\\\\\\"\\n\\\\xff\"} 2.5\n"
                     "b_requests_total{code=\"500\",host=\"b\"} 1\n"
                     "# HELP c_seconds Time.\n# TYPE c_seconds histogram\n"
                     "c_seconds_bucket{x=\"y\",le=\"0.5\"} 1\n"
                     "c_seconds_bucket{x=\"y\",le=\"1\"} 2\n"
                     "c_seconds_bucket{x=\"y\",le=\"+Inf\"} 3\n"
                     "c_seconds_sum{x=\"y\"} 8.25\nc_seconds_count{x=\"y\"} 3\n");
    ck_assert_str_eq(written(EK_METRICS_OPENMETRICS),
                     "# HELP a_up Up.\n# TYPE a_up gauge\na_up 1.0\n"
                     "# HELP b_requests Requests \\\\ \\\"so\\nfar\\\".\n"
                     "# TYPE b_requests counter\n"
                     "b_requests_total{code=\"200\",host=\"a\\\\\\\"\\n\\\\xff\"} 2.5\n"
                     "b_requests_total{code=\"500\",host=\"b\"} 1.0\n"
                     "# HELP c_seconds Time.\n# TYPE c_seconds histogram\n"
                     "c_seconds_bucket{x=\"y\",le=\"0.5\"} 1\n"
                     "c_seconds_bucket{x=\"y\",le=\"1.0\"} 2\n"
                     "c_seconds_bucket{x=\"y\",le=\"+Inf\"} 3\n"
                     "c_seconds_sum{x=\"y\"} 8.25\nc_seconds_count{x=\"y\"} 3\n# EOF\n");
}
END_TEST

START_TEST(limits)
{
    struct ek_metric_family *family = ek_metrics_register(
        metrics,
        &(struct ek_metric_desc){
            .name = "g", .help = "G.", .type = EK_METRIC_GAUGE, .labels = {"x"}, .max_series = 2});
    const char *const b[] = {"b"};

    ck_assert_ptr_nonnull(ek_metric_with(family, "b", NULL));
    ck_assert_ptr_nonnull(ek_metric_with(family, "a", NULL));
    ck_assert_ptr_null(ek_metric_with(family, "c", NULL));
    ek_metric_set(NULL, 1);
    ek_metric_add(NULL, 1);
    ek_metric_observe(NULL, 1);
    ck_assert_ptr_nonnull(ek_metric_with(family, "a", NULL)); /* known ones stay reachable */
    ck_assert_ptr_nonnull(strstr(written(EK_METRICS_TEXT),
                                 "evenkeel_metrics_dropped_series_total{family=\"g\"} 1\n"));
    ek_metric_remove(family, b);
    ck_assert_ptr_null(strstr(written(EK_METRICS_TEXT), "x=\"b\""));
    ck_assert_ptr_nonnull(ek_metric_with(family, "c", NULL));
}
END_TEST

START_TEST(snapshots)
{
    ek_metrics_register(metrics, &(struct ek_metric_desc){.name = "s_up",
                                                          .help = "S.",
                                                          .type = EK_METRIC_GAUGE,
                                                          .labels = {"peer", "zone"},
                                                          .max_series = 2,
                                                          .snapshot = "skew"});
    ek_metrics_register(
        metrics, &(struct ek_metric_desc){
                     .name = "s_bare", .help = "S.", .type = EK_METRIC_GAUGE, .snapshot = "skew"});
    ek_metrics_register(
        metrics, &(struct ek_metric_desc){.name = "other", .help = "O.", .type = EK_METRIC_GAUGE});
    static const struct ek_metric_sample first[] = {
        {"s_up", {{"zone", "z"}, {"peer", "a"}}, 1}, /* any order of labels */
        {"s_up", {{"peer", "b"}, {"zone", "z"}}, 0},
        {"s_bare", {{NULL, NULL}}, 5},
    };
    static const struct ek_metric_sample second[] = {
        {"s_up", {{"peer", "b"}, {"zone", "z"}}, 1},
        {"s_up", {{"peer", "b"}}, 1},                /* a label is missing */
        {"s_up", {{"peer", "b"}, {"host", "z"}}, 1}, /* an unknown label */
        {"other", {{NULL, NULL}}, 7},                /* not in the group */
        {"nobody", {{NULL, NULL}}, 7},               /* unknown family */
    };

    ck_assert_ptr_null(strstr(written(EK_METRICS_TEXT), "s_"));
    ek_metrics_replace(metrics, "skew", first, EK_ARRAY_SIZE(first));
    ck_assert_ptr_nonnull(strstr(written(EK_METRICS_TEXT), "s_up{peer=\"a\",zone=\"z\"} 1\n"
                                                           "s_up{peer=\"b\",zone=\"z\"} 0\n"));
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&text), "s_bare 5\n"));
    ek_metrics_replace(metrics, "skew", second, EK_ARRAY_SIZE(second));
    ck_assert_ptr_null(strstr(written(EK_METRICS_TEXT), "peer=\"a\""));
    ck_assert_ptr_null(strstr(ek_buf_str(&text), "s_bare"));
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&text), "s_up{peer=\"b\",zone=\"z\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&text), "\nother 0\n"));
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&text), "dropped_series_total{family=\"s_up\"} 2\n"));
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&text), "dropped_series_total{family=\"other\"} 1\n"));
    ek_metrics_replace(metrics, "skew", NULL, 0);
    ck_assert_ptr_null(strstr(written(EK_METRICS_TEXT), "s_up{"));
}
END_TEST

static void collect(void *ctx)
{
    ek_metric_add(ctx, 1);
}

START_TEST(collectors)
{
    struct ek_metric_family *family = ek_metrics_register(
        metrics, &(struct ek_metric_desc){.name = "g", .help = "G.", .type = EK_METRIC_GAUGE});

    ek_metrics_add_collector(metrics, collect, ek_metric_with(family, NULL));
    written(EK_METRICS_TEXT);
    ck_assert_ptr_nonnull(strstr(written(EK_METRICS_TEXT), "\ng 2\n"));
}
END_TEST

START_TEST(negotiation)
{
    static const struct {
        const char *accept;
        enum ek_metrics_format format;
    } rows[] = {
        {NULL, EK_METRICS_TEXT},
        {"", EK_METRICS_TEXT},
        {"*/*", EK_METRICS_TEXT},
        {"text/plain", EK_METRICS_TEXT},
        {"application/openmetrics-text", EK_METRICS_OPENMETRICS},
        {"application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;"
         "version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
         EK_METRICS_OPENMETRICS},
        {"text/plain;version=0.0.4;q=0.9, application/openmetrics-text; q=0.3", EK_METRICS_TEXT},
        {"APPLICATION/OPENMETRICS-TEXT; Q=1", EK_METRICS_OPENMETRICS},
        {"application/openmetrics-text;q=0", EK_METRICS_TEXT},
        {"application/openmetrics-textual", EK_METRICS_TEXT},
        {",,;q=,;;q", EK_METRICS_TEXT},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++)
        ck_assert_msg(ek_metrics_negotiate(rows[i].accept) == rows[i].format, "%s",
                      rows[i].accept ? rows[i].accept : "(none)");
}
END_TEST

/* Everything that the process registers, as main does it. */
static void fill_standard(struct ek_standard_metrics *standard)
{
    struct ek_controller_metrics controller;
    struct ek_queue_metrics queue;

    ek_standard_metrics_init(standard, metrics);
    ek_controller_metrics_init(&controller, standard, "skew", 1);
    ek_controller_metrics_begin(&controller);
    ek_controller_metrics_begin(&controller);
    ek_controller_metrics_end(&controller, EK_RECONCILED_OK, 0.3);
    ek_controller_metrics_end(&controller, EK_RECONCILED_ERROR, 0.3);
    ek_queue_metrics_init(&queue, standard, "skew");
    ek_queue_metrics_added(&queue);
    ek_queue_metrics_depth(&queue, -100, 3);
    ek_queue_metrics_got(&queue, 0.004);
    ek_queue_metrics_done(&queue, 0.02);
    ek_queue_metrics_retried(&queue);
    ek_queue_metrics_unfinished(&queue, 1.5, 1.25);
    ek_standard_metrics_rest(standard, "GET", "200", "a:6443");
    ek_standard_metrics_leader(standard, "evenkeel", true);
    ek_standard_metrics_slowpath(standard, "evenkeel");
    ek_informer_metrics_store(standard, (const char *const[]){"skew", "", "v1", "nodes"},
                              "12345678901234567890");
    ek_standard_metrics_certificate_read(standard, false);
    ek_webhook_metrics_init(standard, "/mutate");
    ek_build_info_register(metrics, "0.1.0", "abc");
}

START_TEST(standard_names)
{
    static const char *const expected[] = {
        "controller_runtime_reconcile_total{controller=\"skew\",result=\"success\"} 1\n",
        "controller_runtime_reconcile_total{controller=\"skew\",result=\"error\"} 1\n",
        "controller_runtime_reconcile_total{controller=\"skew\",result=\"requeue\"} 0\n",
        "controller_runtime_reconcile_total{controller=\"skew\",result=\"requeue_after\"} 0\n",
        "controller_runtime_reconcile_errors_total{controller=\"skew\"} 1\n",
        "controller_runtime_terminal_reconcile_errors_total{controller=\"skew\"} 0\n",
        "controller_runtime_reconcile_panics_total{controller=\"skew\"} 0\n",
        "controller_runtime_reconcile_timeouts_total{controller=\"skew\"} 0\n",
        "controller_runtime_reconcile_time_seconds_bucket{controller=\"skew\",le=\"0.25\"} 0\n",
        "controller_runtime_reconcile_time_seconds_bucket{controller=\"skew\",le=\"0.3\"} 2\n",
        "controller_runtime_max_concurrent_reconciles{controller=\"skew\"} 1\n",
        "controller_runtime_active_workers{controller=\"skew\"} 0\n",
        "workqueue_depth{name=\"skew\",controller=\"skew\",priority=\"-100\"} 3\n",
        "workqueue_adds_total{name=\"skew\",controller=\"skew\"} 1\n",
        "workqueue_queue_duration_seconds_bucket{name=\"skew\",controller=\"skew\",le=\"1e-08\"} "
        "0\n",
        "workqueue_queue_duration_seconds_bucket{name=\"skew\",controller=\"skew\","
        "le=\"9.999999999999999e-06\"} 0\n",
        "workqueue_work_duration_seconds_count{name=\"skew\",controller=\"skew\"} 1\n",
        "workqueue_unfinished_work_seconds{name=\"skew\",controller=\"skew\"} 1.5\n",
        "workqueue_longest_running_processor_seconds{name=\"skew\",controller=\"skew\"} 1.25\n",
        "workqueue_retries_total{name=\"skew\",controller=\"skew\"} 1\n",
        "rest_client_requests_total{code=\"200\",method=\"GET\",host=\"a:6443\"} 1\n",
        "leader_election_master_status{name=\"evenkeel\"} 1\n",
        "leader_election_slowpath_total{name=\"evenkeel\"} 1\n",
        "informer_store_resource_version{name=\"skew\",group=\"\",version=\"v1\","
        "resource=\"nodes\"} 6.7890123456789e+14\n",
        "certwatcher_read_certificate_total 1\n",
        "certwatcher_read_certificate_errors_total 1\n",
        "controller_runtime_webhook_requests_in_flight{webhook=\"/mutate\"} 0\n",
        "evenkeel_build_info{version=\"0.1.0\",commit=\"abc\"} 1\n",
    };
    struct ek_standard_metrics standard;

    fill_standard(&standard);
    written(EK_METRICS_TEXT);
    for (size_t i = 0; i < EK_ARRAY_SIZE(expected); i++)
        ck_assert_msg(strstr(ek_buf_str(&text), expected[i]) != NULL, "missing: %s", expected[i]);
    /* 40 bounds and +Inf; 12 and +Inf */
    int reconcile = 0, queue = 0;
    for (const char *p = ek_buf_str(&text); (p = strstr(p, "reconcile_time_seconds_bucket")); p++)
        reconcile++;
    for (const char *p = ek_buf_str(&text); (p = strstr(p, "work_duration_seconds_bucket")); p++)
        queue++;
    ck_assert_int_eq(reconcile, 41);
    ck_assert_int_eq(queue, 13);
}
END_TEST

static void put_file(const char *dir, const char *name, const char *content)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(content, file);
    fclose(file);
}

static void remove_file(const char *dir, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    remove(path);
}

START_TEST(process_series)
{
    char dir[] = "/tmp/ek-proc-XXXXXX", path[64];
    long ticks = sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);
    char expected[128];

    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/self", dir);
    mkdir(path, 0700);
    put_file(dir, "stat", "cpu 1 2 3\nbtime 1700000000\nprocesses 5\n");
    put_file(path, "stat",
             "42 (a) b (c) R 1 42 42 0 -1 4194304 1 0 0 0 300 200 0 0 20 0 1 0 1000 8192000 77 "
             "18446744073709551615 1 1 0 0 0 0 0\n");
    put_file(path, "limits",
             "Limit                     Soft Limit           Hard Limit           Units     \n"
             "Max open files            1024                 4096                 files     \n");
    snprintf(path, sizeof path, "%s/self/fd", dir);
    mkdir(path, 0700);
    put_file(path, "0", "");
    put_file(path, "1", "");
    struct ek_process_metrics *process = ek_process_metrics_new(metrics, dir);
    written(EK_METRICS_TEXT);
    snprintf(expected, sizeof expected, "process_cpu_seconds_total %g\n", 500.0 / (double)ticks);
    ck_assert_msg(strstr(ek_buf_str(&text), expected) != NULL, "%s", ek_buf_str(&text));
    ck_assert_int_eq(page * 77 < 1000000, 1);
    snprintf(expected, sizeof expected, "process_resident_memory_bytes %ld\n", page * 77);
    ck_assert_msg(strstr(ek_buf_str(&text), expected) != NULL, "%s", ek_buf_str(&text));
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&text), "process_virtual_memory_bytes 8.192e+06\n"));
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&text), "process_open_fds 2\n"));
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&text), "process_max_fds 1024\n"));
    if (ticks == 100)
        ck_assert_ptr_nonnull(
            strstr(ek_buf_str(&text), "process_start_time_seconds 1.70000001e+09\n"));
    remove_file(path, "0");
    remove_file(path, "1");
    rmdir(path);
    snprintf(path, sizeof path, "%s/self", dir);
    remove_file(path, "stat");
    remove_file(path, "limits");
    rmdir(path);
    remove_file(dir, "stat");
    rmdir(dir);
    written(EK_METRICS_TEXT); /* nothing left to read: nothing breaks */
    ek_process_metrics_free(process);
}
END_TEST

/* Runs "promtool check metrics" on a file; -1 when it is not installed. */
static int check_by_promtool(int fd)
{
    int status = 0;
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        dup2(fd, 0);
        execlp("promtool", "promtool", "check", "metrics", (char *)NULL);
        _exit(127);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 127 ? -1 : status;
}

START_TEST(promtool)
{
    struct ek_standard_metrics standard;
    FILE *file = tmpfile();

    fill();
    fill_standard(&standard);
    struct ek_process_metrics *process = ek_process_metrics_new(metrics, "/proc");
    ck_assert_ptr_nonnull(file);
    fputs(written(EK_METRICS_TEXT), file);
    rewind(file);
    int status = check_by_promtool(fileno(file));
    fclose(file);
    ck_assert_msg(status <= 0, "promtool check metrics: %d", status);
    ek_process_metrics_free(process);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("metrics");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, numbers);
    tcase_add_test(tc, exposition);
    tcase_add_test(tc, limits);
    tcase_add_test(tc, snapshots);
    tcase_add_test(tc, collectors);
    tcase_add_test(tc, negotiation);
    tcase_add_test(tc, standard_names);
    tcase_add_test(tc, process_series);
    tcase_add_test(tc, promtool);
    return ek_test_run("metrics", tc);
}
