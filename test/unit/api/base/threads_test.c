/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is promised to "any thread", used from several at once. The results are checked here;
 * that nothing raced on the way is for the thread sanitizer to see (preset tsan).
 */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "api/discovery.h"
#include "api/obj.h"
#include "api/selector.h"
#include "api/yaml.h"
#include "controller/telemetry/log.h"
#include "controller/telemetry/metrics.h"
#include "informers/cache/store.h"
#include "informers/probe/probe.h"
#include "test/support/json_text.h"
#include "test/support/suite.h"

#define THREADS 4
#define ROUNDS  500

/* Runs work on all threads at once, each with its own number. */
struct gang {
    void (*work)(void *shared, unsigned number);
    void *shared;
    uv_barrier_t start;
};

struct member {
    struct gang *gang;
    unsigned number;
};

static void run_member(void *arg)
{
    struct member *member = arg;

    uv_barrier_wait(&member->gang->start);
    member->gang->work(member->gang->shared, member->number);
}

static void run_all(void (*work)(void *shared, unsigned number), void *shared)
{
    struct gang gang = {.work = work, .shared = shared};
    struct member members[THREADS];
    uv_thread_t threads[THREADS];

    ck_assert_int_eq(uv_barrier_init(&gang.start, THREADS), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        members[i] = (struct member){&gang, i};
        ck_assert_int_eq(uv_thread_create(&threads[i], run_member, &members[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        uv_thread_join(&threads[i]);
    uv_barrier_destroy(&gang.start);
}

/* Threads cannot fail a Check test: what goes wrong in one ends the program. */
static void require(bool truth)
{
    if (!truth)
        abort();
}

static void use_object(void *shared, unsigned number)
{
    struct ek_obj *mine = ek_obj_ref(shared);

    for (unsigned i = 0; i < ROUNDS; i++) {
        struct ek_obj *again = ek_obj_ref(mine);
        size_t len;
        require(!strcmp(ek_obj_key(again), "ns/a") && !strcmp(ek_obj_label(again, "x"), "y"));
        if (i % 50 == number) {
            char *json = test_json_text(again, &len);
            require(json && len > 0);
            ek_free(json);
        }
        ek_obj_unref(again);
    }
    ek_obj_unref(mine);
    ek_obj_unref(shared); /* each thread was given a reference: the last one releases */
}

START_TEST(objects_are_shared)
{
    static const char json[] =
        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\",\"labels\":{\"x\":\"y\"}}}";
    struct ek_obj *obj = NULL;

    ck_assert_int_eq(ek_obj_parse(json, sizeof json - 1, &obj, NULL), 0);
    for (unsigned i = 1; i < THREADS; i++)
        ek_obj_ref(obj);
    run_all(use_object, obj);
}
END_TEST

static void use_probe(void *shared, unsigned number)
{
    const struct ek_probe *probe = shared;

    (void)number;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct ek_probe *mine = ek_probe_ref(probe);
        require(ek_discovery_has(mine->discovery, "", "v1", "pods"));
        ek_probe_unref(mine);
    }
    ek_probe_unref(shared);
}

START_TEST(probes_are_shared)
{
    static const char json[] = "{\"groupVersion\":\"v1\",\"resources\":[{\"name\":\"pods\"}]}";
    yyjson_doc *doc = yyjson_read(json, sizeof json - 1, 0);
    struct ek_probe *probe = ek_probe_new();

    probe->discovery = ek_discovery_new();
    ck_assert_int_eq(
        ek_discovery_add_resource_list(probe->discovery, yyjson_doc_get_root(doc), NULL), 0);
    ek_discovery_seal(probe->discovery);
    yyjson_doc_free(doc);
    for (unsigned i = 1; i < THREADS; i++)
        ek_probe_ref(probe);
    run_all(use_probe, probe);
}
END_TEST

struct metrics {
    struct ek_metrics *registry;
    struct ek_metric_family *counter, *histogram;
};

static void use_metrics(void *shared, unsigned number)
{
    struct metrics *m = shared;
    const char *own[] = {number % 2 ? "odd" : "even", NULL};

    for (unsigned i = 0; i < ROUNDS; i++) {
        struct ek_metric_sample sample = {
            .name = "t_snapshot", .labels = {{"l", own[0]}}, .value = i};
        ek_metric_add(ek_metric_with(m->counter, "all", NULL), 1);
        ek_metric_observe(ek_metric_with_values(m->histogram, own), (double)i / ROUNDS);
        if (i % 20 == 0) {
            EK_AUTO(ek_buf) out;
            ek_buf_init(&out, (size_t)1 << 20);
            ek_metrics_replace(m->registry, "group", &sample, 1);
            require(ek_metrics_write(m->registry, EK_METRICS_TEXT, &out) == 0);
        }
    }
}

START_TEST(metrics_count_from_all_threads)
{
    static const double buckets[] = {0.5, 1};
    EK_AUTOPTR(ek_metrics, ek_metrics_free) *registry = ek_metrics_new();
    struct metrics m = {.registry = registry};

    m.counter = ek_metrics_register(
        registry, &(struct ek_metric_desc){
                      .name = "t_total", .help = "T.", .type = EK_METRIC_COUNTER, .labels = {"l"}});
    m.histogram =
        ek_metrics_register(registry, &(struct ek_metric_desc){.name = "t_seconds",
                                                               .help = "T.",
                                                               .type = EK_METRIC_HISTOGRAM,
                                                               .labels = {"l"},
                                                               .buckets = buckets,
                                                               .n_buckets = 2});
    ek_metrics_register(registry, &(struct ek_metric_desc){.name = "t_snapshot",
                                                           .help = "T.",
                                                           .type = EK_METRIC_GAUGE,
                                                           .labels = {"l"},
                                                           .snapshot = "group"});
    run_all(use_metrics, &m);
    EK_AUTO(ek_buf) out;
    char want[64];
    ek_buf_init(&out, (size_t)1 << 20);
    ck_assert_int_eq(ek_metrics_write(registry, EK_METRICS_TEXT, &out), 0);
    snprintf(want, sizeof want, "t_total{l=\"all\"} %d\n", THREADS * ROUNDS);
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&out), want));
    snprintf(want, sizeof want, "t_seconds_count{l=\"odd\"} %d\n", THREADS / 2 * ROUNDS);
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&out), want));
}
END_TEST

static void use_log(void *shared, unsigned number)
{
    struct ek_log *log = shared;

    for (unsigned i = 0; i < ROUNDS; i++) {
        ek_log_info(log, "A record", EK_U("thread", number), EK_U("round", i));
        ek_log_info_limited(log, 5, 1000, "A limited record");
        if (i % 100 == 0)
            ek_log_set_level(log, (int)(i / 100 % 2));
        require(ek_log_enabled(log, EK_LOG_LEVEL_INFO));
    }
}

START_TEST(logs_are_written_from_all_threads)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct ek_log_config config = {.fd = fd, .now_ns = ek_log_wall_clock};
    struct ek_log *log = ek_log_new(&config);

    ck_assert_int_ge(fd, 0);
    run_all(use_log, log);
    ek_log_free(log);
    close(fd);
}
END_TEST

/* Pure functions hide no state. */
static void use_parsers(void *shared, unsigned number)
{
    (void)shared;
    for (unsigned i = 0; i < ROUNDS / 10; i++) {
        EK_AUTOFREE char *text = ek_xasprintf("a%u: {b: [1, two, 3.5], c: &x y}\n", number);
        EK_AUTOFREE char *labels = ek_xasprintf("a%u in (b,c),!d", number);
        struct ek_selector *selector = NULL;
        yyjson_doc *doc = NULL;
        struct ek_err err;
        EK_AUTO(ek_buf) out;
        ek_buf_init(&out, (size_t)1 << 20);
        require(ek_yaml_parse(text, strlen(text), 1000, &doc, &err) == 0);
        require(ek_yaml_write(&out, yyjson_doc_get_root(doc), &err) == 0);
        require(ek_selector_parse(labels, &selector, &err) == 0);
        require(ek_selector_parse("=", &selector, &err) == EK_E_PARSE);
        ek_selector_free(selector);
        yyjson_doc_free(doc);
    }
}

START_TEST(parsers_share_nothing)
{
    run_all(use_parsers, NULL);
}
END_TEST

/* A snapshot is taken on the loop's thread and read, and released, on others. */
struct snapshot {
    struct ek_obj **items[THREADS];
    size_t n[THREADS];
};

static void use_snapshot(void *shared, unsigned number)
{
    struct snapshot *s = shared;

    require(s->n[number] == 2 && !strcmp(ek_obj_name(s->items[number][0]), "a"));
    ek_snapshot_free(s->items[number], s->n[number]);
}

START_TEST(snapshots_outlive_the_store)
{
    static const char *const texts[] = {"{\"metadata\":{\"name\":\"a\"}}",
                                        "{\"metadata\":{\"name\":\"b\"}}"};
    struct ek_store *store = ek_store_new();
    struct snapshot shared;

    for (size_t i = 0; i < EK_ARRAY_SIZE(texts); i++) {
        EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = NULL;
        ck_assert_int_eq(ek_obj_parse(texts[i], strlen(texts[i]), &obj, NULL), 0);
        ek_store_put(store, obj);
    }
    for (size_t i = 0; i < THREADS; i++)
        shared.items[i] = ek_store_snapshot(store, &shared.n[i]);
    ek_store_free(store);
    run_all(use_snapshot, &shared);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("threads");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, objects_are_shared);
    tcase_add_test(tc, probes_are_shared);
    tcase_add_test(tc, metrics_count_from_all_threads);
    tcase_add_test(tc, logs_are_written_from_all_threads);
    tcase_add_test(tc, parsers_share_nothing);
    tcase_add_test(tc, snapshots_outlive_the_store);
    return ek_test_run("threads", tc);
}
