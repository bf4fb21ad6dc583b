/* SPDX-License-Identifier: Apache-2.0 */
/* The canary against a scripted server: what is sent, and when it gives up hope; and the counts
 * that status shows. */
#include <check.h>
#include <stdio.h>

#include "controller/fieldgates/canary.h"
#include "controller/fieldgates/counts.h"
#include "test/support/apitest.h"
#include "test/support/suite.h"

#define ASKED "POST /apis/evenkeel.dev/v1alpha1/customfeaturegates?dryRun=All&fieldManager=evenkeel"
#define DENIED(text)                                                                               \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\",\"code\":403,"           \
    "\"message\":\"admission webhook \\\"canary.registration.evenkeel.dev\\\" denied the "         \
    "request: " text "\"}"
#define FAILED                                                                                     \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"InternalError\",\"code\":500,"       \
    "\"message\":\"failed calling webhook: connection refused\"}"
#define RIGHT                                                                                      \
    {                                                                                              \
        ASKED, "application/json", "\"evenkeel.dev/canary\":\"abc\"", 403,                         \
            DENIED("evenkeel canary abc"), NULL                                                    \
    }
#define OLD                                                                                        \
    {                                                                                              \
        ASKED, NULL, NULL, 403, DENIED("evenkeel canary 123"), NULL                                \
    }
#define ABSENT                                                                                     \
    {                                                                                              \
        ASKED, NULL, NULL, 201, "{\"metadata\":{\"name\":\"canaries.evenkeel.invalid\"}}", NULL    \
    }
#define BROKEN                                                                                     \
    {                                                                                              \
        ASKED, NULL, NULL, 500, FAILED, NULL                                                       \
    }

struct watch {
    unsigned changed;
};

static void on_changed(void *ctx)
{
    struct watch *w = ctx;
    w->changed++;
}

static void on_closed(void *ctx)
{
    *(unsigned *)ctx = 1;
}

static const struct {
    const char *name;
    struct apitest_exchange script[4];
    size_t n;
    enum ek_gates_canary want;
    const char *message; /* a part of it; NULL: none */
} rows[] = {
    {"the right answer", {RIGHT}, 1, EK_CANARY_ANSWERED, NULL},
    {"not there yet, then", {ABSENT, RIGHT}, 2, EK_CANARY_ANSWERED, NULL},
    {"an older registration, then", {OLD, RIGHT}, 2, EK_CANARY_ANSWERED, NULL},
    {"three times wrong", {OLD, ABSENT, BROKEN}, 3, EK_CANARY_FAILED, "connection refused"},
};

START_TEST(asks_until_it_knows)
{
    struct watch w = {0};
    struct apitest t;
    unsigned closed = 0;
    const char *message;

    apitest_init(&t, rows[_i].script, rows[_i].n);
    struct ek_canary *canary = ek_canary_new(&t.loop, t.client, on_changed, &w);
    ck_assert_int_eq(ek_canary_look(canary, &message), EK_CANARY_PENDING);
    ek_canary_expect(canary, "abc");
    apitest_run_until(&t, &w.changed);
    ck_assert_int_eq(ek_canary_look(canary, &message), rows[_i].want);
    ck_assert_msg(rows[_i].message ? message && strstr(message, rows[_i].message) : !message,
                  "%s: %s", rows[_i].name, message ? message : "nothing");
    /* Another registration has to be proven anew. */
    ek_canary_expect(canary, "def");
    ck_assert_int_eq(ek_canary_look(canary, &message), EK_CANARY_PENDING);
    ek_canary_close(canary, on_closed, &closed);
    apitest_run_until(&t, &closed);
    apitest_done(&t);
}
END_TEST

START_TEST(servers_without_address_are_not_known)
{
    static const struct apitest_exchange script[] = {RIGHT};
    struct watch w = {0};
    struct apitest t;
    unsigned closed = 0;
    const char *message;

    apitest_init(&t, script, 1);
    struct ek_canary *canary = ek_canary_new(&t.loop, t.client, on_changed, &w);
    ek_canary_expect(canary, "abc");
    apitest_run_until(&t, &w.changed);
    ck_assert_int_eq(ek_canary_look(canary, &message), EK_CANARY_ANSWERED);
    /* The answer of the address is that of one server; here is another. */
    ek_canary_set_servers(canary, &(struct ek_canary_server){.name = "cp-z", .address = ""}, 1);
    ck_assert_int_eq(ek_canary_look(canary, &message), EK_CANARY_PENDING);
    ck_assert_msg(message && strstr(message, "cp-z"), "%s", message ? message : "nothing");
    ek_canary_close(canary, on_closed, &closed);
    apitest_run_until(&t, &closed);
    apitest_done(&t);
}
END_TEST

/* ---- Counts ---- */

struct adder {
    struct ek_gates_counts *counts;
    uv_thread_t thread;
};

static void add_many(void *ctx)
{
    struct adder *adder = ctx;

    for (int i = 0; i < 1000; i++) {
        ek_gates_counts_add(adder->counts, "a.b.c", i % 2 ? "X" : "Y", "CREATE", i % 4 == 0);
        ek_gates_counts_add(adder->counts, "d.e.f", "X", "UPDATE", false);
    }
}

static yyjson_doc *parse(const char *json)
{
    yyjson_doc *doc = ek_json_parse(json, strlen(json), NULL);
    ck_assert_ptr_nonnull(doc);
    return doc;
}

/* What status would show of the one gate of an object. */
static uint64_t shown(struct ek_gates_tally *tally, struct ek_gates_counts *counts, const char *uid,
                      const char *status)
{
    EK_AUTOFREE char *text = ek_xasprintf(
        "{\"metadata\":{\"name\":\"a.b.c\",\"uid\":\"%s\"},\"spec\":{\"featureGates\":[{\"name\":"
        "\"X\",\"preRelease\":\"alpha\",\"fieldPaths\":[\".spec.x\"]}]},\"status\":%s}",
        uid, status);
    yyjson_doc *doc = parse(text);
    struct ek_obj *obj = ek_obj_from_val(yyjson_doc_get_root(doc));
    const struct ek_gates *gates = ek_gates_new(ek_obj_root(obj), NULL, 0);
    struct ek_arena *arena = ek_arena_new(1 << 16);
    struct ek_gate_count counted = ek_gates_counts_get(counts, "a.b.c", "X");
    uint64_t is = ek_gates_tally_of(tally, obj, gates, &counted, arena)->suppressed;

    ek_arena_free(arena);
    ek_gates_unref(gates);
    ek_obj_unref(obj);
    yyjson_doc_free(doc);
    return is;
}

/* As the subject does. */
static void take(struct ek_gates_tally *tally, struct ek_gates_counts *counts, int64_t now_ms)
{
    bool taken;

    ek_gates_tally_take(tally, now_ms, ek_gates_counts_are_waiting(counts), &taken);
    if (taken)
        ek_gates_counts_settle(counts);
}

#define SAYS(n) "{\"gates\":[{\"name\":\"X\",\"suppressed\":" n "}]}"

START_TEST(counts_on_all_threads_and_shows_by_and_by)
{
    struct ek_metrics *metrics = ek_metrics_new();
    struct adder adders[4];
    uv_loop_t loop;
    unsigned told = 0;

    uv_loop_init(&loop);
    struct ek_gates_counts *counts = ek_gates_counts_new(&loop, metrics, on_changed, &told);
    struct ek_gates_tally *tally = ek_gates_tally_new();
    take(tally, counts, 1000);
    ck_assert_uint_eq(shown(tally, counts, "u", SAYS("7")), 7);
    for (size_t i = 0; i < EK_ARRAY_SIZE(adders); i++) {
        adders[i].counts = counts;
        uv_thread_create(&adders[i].thread, add_many, &adders[i]);
    }
    for (size_t i = 0; i < EK_ARRAY_SIZE(adders); i++)
        uv_thread_join(&adders[i].thread);
    uv_run(&loop, UV_RUN_ONCE);
    ck_assert_uint_eq(told, 1);
    ck_assert_uint_eq(ek_gates_counts_get(counts, "a.b.c", "X").suppressed, 2000);
    ck_assert_uint_eq(ek_gates_counts_get(counts, "a.b.c", "Y").suppressed, 1000);
    ck_assert_uint_eq(ek_gates_counts_get(counts, "a.b.c", "Y").deprecated_uses, 1000);
    ck_assert_uint_eq(ek_gates_counts_get(counts, "d.e.f", "X").suppressed, 4000);
    ck_assert_uint_eq(ek_gates_counts_get(counts, "d.e.f", "Y").suppressed, 0);

    /* Not before its time; then on top of what status said at the beginning. */
    ck_assert_int_eq(ek_gates_tally_wait(tally, 2000), EK_GATES_TALLY_PACE_MS - 1000);
    take(tally, counts, 2000);
    ck_assert_uint_eq(shown(tally, counts, "u", SAYS("7")), 7);
    take(tally, counts, 1000 + EK_GATES_TALLY_PACE_MS);
    ck_assert_uint_eq(shown(tally, counts, "u", SAYS("7")), 2007);
    ck_assert_uint_eq(shown(tally, counts, "u", SAYS("2007")), 2007);
    /* Another has led meanwhile, and counted more. */
    ek_gates_tally_restart(tally);
    ck_assert_uint_eq(shown(tally, counts, "u", SAYS("2010")), 2010);
    /* A new object of that name has nothing to do with it. */
    ck_assert_uint_eq(shown(tally, counts, "v", "{}"), 0);
    ek_gates_tally_free(tally);
    ek_gates_counts_close(counts, NULL, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);

    EK_AUTO(ek_buf) page;
    ek_buf_init(&page, 1 << 20);
    ek_metrics_write(metrics, EK_METRICS_TEXT, &page);
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&page),
                                 "evenkeel_gate_suppressed_writes_total{crd=\"a.b.c\",gate=\"X\","
                                 "operation=\"CREATE\"} 2000\n"));
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&page),
                                 "evenkeel_gate_deprecated_uses_total{crd=\"a.b.c\",gate=\"Y\","
                                 "operation=\"CREATE\"} 1000\n"));
    ek_metrics_free(metrics);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, asks_until_it_knows, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, servers_without_address_are_not_known);
    tcase_add_test(tc, counts_on_all_threads_and_shows_by_and_by);
    return ek_test_run("gates canary", tc);
}
