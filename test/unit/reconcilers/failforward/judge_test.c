/* SPDX-License-Identifier: Apache-2.0 */
/* How much is done for a namespace whose user writes as many objects as they like. */
#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/failforward/act.h"
#include "reconcilers/failforward/report.h"
#include "test/support/suite.h"

#define NOW INT64_C(1767225600000) /* 2026-01-01T00:00:00Z */

static struct ek_obj *parse(const char *text)
{
    struct ek_obj *obj = NULL;

    ck_assert_int_eq(ek_obj_parse(text, strlen(text), &obj, NULL), 0);
    return obj;
}

static void unref_all(struct ek_obj *const *objs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ek_obj_unref(objs[i]);
}

static void give_graph(void *ctx, const struct ek_obj *subscription,
                       struct ek_ff_catalog *ret_catalog)
{
    (void)subscription;
    *ret_catalog = (struct ek_ff_catalog){.graph = ctx, .error = ""};
}

/* A graph of one package, whose entries replace each other. */
static struct ek_ff_graph *make_graph(size_t n)
{
    struct ek_ff_graph *graph = ek_ff_graph_new((size_t)64 << 20);
    EK_AUTOFREE char *last = ek_xstrdup("");

    for (size_t i = 0; i < n; i++) {
        EK_AUTOFREE char *name = ek_xasprintf("v%zu", i);
        const struct ek_ff_entry entry = {.package = ek_str_from("p"),
                                          .channel = ek_str_from("stable"),
                                          .name = ek_str_from(name),
                                          .replaces = ek_str_from(last)};
        ck_assert_int_eq(ek_ff_graph_entry(graph, &entry), 0);
        ek_free(last);
        last = ek_xstrdup(name);
    }
    return graph;
}

/* How many of 150 Subscriptions of one package have the edges of its catalog. */
START_TEST(the_walk_of_catalogs_is_bounded)
{
    static const struct {
        size_t n_entries, n_known;
    } rows[] = {{1, 150}, {1333, 150}, {1334, 149}, {2000, 100}, {200001, 0}};
    static struct ek_obj *subs[150];
    struct ek_arena *arena = ek_arena_new((size_t)16 << 20);
    struct ek_obj *policy =
        parse("{\"metadata\":{\"name\":\"cluster\"},\"spec\":{\"mode\":\"Observe\"}}");
    const struct ek_ff_rules rules = {.policies = {&policy, 1}};
    const struct ek_ff_world world = {.namespace = "ns",
                                      .subscriptions = {subs, EK_ARRAY_SIZE(subs)}};
    struct ek_ff_graph *graph = make_graph(rows[_i].n_entries);
    const struct ek_ff_inputs inputs = {.world = &world,
                                        .rules = &rules,
                                        .olm_version = "0.46.0",
                                        .catalog = give_graph,
                                        .ctx = graph,
                                        .now_ms = NOW};
    struct ek_ff_verdict *verdicts;
    size_t n_known = 0;

    for (size_t i = 0; i < EK_ARRAY_SIZE(subs); i++) {
        EK_AUTOFREE char *text = ek_xasprintf(
            "{\"kind\":\"Subscription\",\"metadata\":{\"namespace\":\"ns\",\"name\":\"s%zu\"},"
            "\"spec\":{\"name\":\"p\",\"channel\":\"stable\"},\"status\":{\"currentCSV\":\"v0\"}}",
            i);
        subs[i] = parse(text);
    }
    ck_assert_uint_eq(ek_ff_judge(&inputs, arena, &verdicts), EK_ARRAY_SIZE(subs));
    for (size_t i = 0; i < EK_ARRAY_SIZE(subs); i++) {
        n_known += verdicts[i].edges.known;
        ck_assert(verdicts[i].edges.known !=
                  (strstr(verdicts[i].catalog_error, "too many") != NULL));
    }
    ck_assert_uint_eq(n_known, rows[_i].n_known);
    unref_all(subs, EK_ARRAY_SIZE(subs));
    ek_obj_unref(policy);
    ek_ff_graph_free(graph);
    ek_arena_free(arena);
}
END_TEST

/* Of 40 holds that no report remembers, a part is taken back at a time. */
START_TEST(what_is_taken_back_is_bounded)
{
    struct ek_obj *csvs[40];
    const struct ek_ff_rules rules = {{0}, {0}};
    const struct ek_ff_world world = {.namespace = "ns", .csvs = {csvs, EK_ARRAY_SIZE(csvs)}};
    const struct ek_ff_inputs inputs = {.world = &world, .rules = &rules, .now_ms = NOW};
    EK_AUTO(ek_intents) intents;

    ek_intents_init(&intents);
    for (size_t i = 0; i < EK_ARRAY_SIZE(csvs); i++) {
        EK_AUTOFREE char *text = ek_xasprintf(
            "{\"kind\":\"ClusterServiceVersion\",\"metadata\":{\"namespace\":\"ns\",\"name\":"
            "\"v%zu\"},\"status\":{\"phase\":\"Failed\",\"message\":\"" EK_FF_PIN_MESSAGE "\"}}",
            i);
        csvs[i] = parse(text);
    }
    ck_assert_uint_eq(ek_ff_plan_leftovers(&inputs, &intents), 16);
    unref_all(csvs, EK_ARRAY_SIZE(csvs));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, the_walk_of_catalogs_is_bounded, 0, 5);
    tcase_add_test(tc, what_is_taken_back_is_bounded);
    return ek_test_run("judge", tc);
}
