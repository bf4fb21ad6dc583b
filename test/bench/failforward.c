/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fail forward over 2,000 Subscriptions in 500 namespaces: memory of `evenkeel run`, what one
 * change costs it, and the verdicts on one namespace beside the parsing of its objects.
 */
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/failforward/judge.h"
#include "test/bench/bench.h"
#include "test/bench/measure.h"
#include "test/bench/world.h"

#define NAMESPACES  500
#define EACH        4
#define CHANGES     50
#define PATIENCE_MS 300000
#define QUIET_MS    3000
#define ROUND_MS    100.0
#define ARENA_MAX   ((size_t)1 << 22)
#define OBJECTS     4     /* of a Subscription: itself, its plan, two CSVs */
#define CSV_BYTES   10240 /* of one CSV: the rest is a description, as operators have one */
#define OLM         "operators.coreos.com"
#define CRDS        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define WRITTEN     "\"verb\":\"patch\",\"resource\":\"failforwardstatuses.evenkeel.dev/status\""

static const struct {
    const char *plural, *kind, *version;
} kinds[] = {
    {"subscriptions", "Subscription", "v1alpha1"},
    {"installplans", "InstallPlan", "v1alpha1"},
    {"clusterserviceversions", "ClusterServiceVersion", "v1alpha1"},
    {"catalogsources", "CatalogSource", "v1alpha1"},
    {"operatorgroups", "OperatorGroup", "v1"},
    {"operatorconditions", "OperatorCondition", "v2"},
};

/* ---- Objects ---- */

/* The i-th object of the k-th Subscription of namespace n, owned. Version 2 failed when its plan
 * was carried out, after its CSV was made. */
static char *make_object(size_t n, size_t k, size_t i)
{
    static char filler[CSV_BYTES];
    EK_AUTOFREE char *common =
        ek_xasprintf("\"namespace\":\"ns%03zu\",\"uid\":\"%zu-%zu-%zu\",\"creationTimestamp\":"
                     "\"2026-11-20T10:00:00Z\"",
                     n, n, k, i);

    memset(filler, 'x', sizeof filler - 1);
    if (i == 0)
        return ek_xasprintf(
            "{\"apiVersion\":\"" OLM "/v1alpha1\",\"kind\":\"Subscription\",\"metadata\":{\"name\":"
            "\"op%zu\",%s},\"spec\":{\"name\":\"op%zu\",\"channel\":\"stable\",\"source\":\"cat\","
            "\"sourceNamespace\":\"ns%03zu\"},\"status\":{\"currentCSV\":\"op%zu.v2\","
            "\"installedCSV\":\"op%zu.v2\",\"state\":\"AtLatestKnown\"}}",
            k, common, k, n, k, k);
    if (i == 1)
        return ek_xasprintf(
            "{\"apiVersion\":\"" OLM "/v1alpha1\",\"kind\":\"InstallPlan\",\"metadata\":{\"name\":"
            "\"plan%zu\",%s},\"spec\":{\"generation\":2,\"approval\":\"Automatic\",\"approved\":"
            "true,"
            "\"clusterServiceVersionNames\":[\"op%zu.v2\"]},\"status\":{\"phase\":\"Failed\","
            "\"message\":\"Deployment.apps is invalid: spec.selector: Required value\","
            "\"startTime\":\"2026-11-20T10:00:00Z\"}}",
            k, common, k);
    return ek_xasprintf("{\"apiVersion\":\"" OLM
                        "/v1alpha1\",\"kind\":\"ClusterServiceVersion\",\"metadata\":{"
                        "\"name\":\"op%zu.v%zu\",%s},\"spec\":{\"version\":\"%zu.0.0\"%s%zu%s,"
                        "\"description\":\"%s\"},"
                        "\"status\":{\"phase\":\"%s\",\"reason\":\"%s\",\"lastTransitionTime\":"
                        "\"2026-11-20T10:00:00Z\"}}",
                        k, i - 1, common, i - 1, i == 3 ? ",\"replaces\":\"op" : ",\"x\":\"", k,
                        i == 3 ? ".v1\"" : "\"", filler, i == 3 ? "Pending" : "Replacing",
                        i == 3 ? "RequirementsNotMet" : "BeingReplaced");
}

static const char *plural_of(size_t i)
{
    return kinds[i < 2 ? i : 2].plural;
}

static char *make_group(size_t n)
{
    return ek_xasprintf("{\"apiVersion\":\"" OLM "/v1\",\"kind\":\"OperatorGroup\",\"metadata\":{"
                        "\"name\":\"og\",\"namespace\":\"ns%03zu\",\"uid\":\"og%zu\"},\"spec\":{}}",
                        n, n);
}

/* ---- The verdicts on one namespace ---- */

struct space {
    char *texts[OBJECTS * EACH + 1];
    size_t n_texts;
    struct ek_obj *subs[EACH], *plans[EACH], *csvs[2 * EACH], *group, *policy;
};

static struct ek_obj *parse(const char *text)
{
    struct ek_obj *obj = NULL;

    if (ek_obj_parse(text, strlen(text), &obj, NULL))
        bench_fail("an object cannot be read");
    return obj;
}

static void make_space(struct space *s)
{
    for (size_t k = 0; k < EACH; k++)
        for (size_t i = 0; i < OBJECTS; i++) {
            char *text = s->texts[s->n_texts++] = make_object(0, k, i);
            struct ek_obj **at = i == 0   ? &s->subs[k]
                                 : i == 1 ? &s->plans[k]
                                          : &s->csvs[2 * k + i - 2];
            *at = parse(text);
        }
    s->texts[s->n_texts++] = make_group(0);
    s->group = parse(s->texts[s->n_texts - 1]);
    s->policy = parse("{\"metadata\":{\"name\":\"cluster\"},\"spec\":{\"mode\":\"Assist\"}}");
}

static void parse_once(struct space *s)
{
    for (size_t i = 0; i < s->n_texts; i++)
        ek_obj_unref(parse(s->texts[i]));
}

static void judge_once(struct space *s)
{
    const struct ek_ff_world world = {.namespace = "ns000",
                                      .subscriptions = {s->subs, EACH},
                                      .plans = {s->plans, EACH},
                                      .csvs = {s->csvs, 2 * EACH},
                                      .groups = {&s->group, 1}};
    const struct ek_ff_rules rules = {.policies = {&s->policy, 1}};
    const struct ek_ff_inputs inputs = {.world = &world,
                                        .rules = &rules,
                                        .olm_version = "0.46.0",
                                        .now_ms = INT64_C(1795172400000)};
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    struct ek_ff_verdict *verdicts;

    if (ek_ff_judge(&inputs, arena, &verdicts) != EACH || verdicts[0].finding.class != EK_FF_F2)
        bench_fail("the verdicts are not those of the objects");
    ek_arena_free(arena);
}

/* Microseconds of CPU of one call, the best of several rounds. */
static double measure(struct space *s, void (*once)(struct space *s), size_t repeats)
{
    double best = 0;

    for (size_t round = 0; round < repeats; round++) {
        double start = bench_cpu_ms(), now;
        unsigned n = 0;
        do {
            once(s);
            n++;
            now = bench_cpu_ms();
        } while (now - start < ROUND_MS);
        double each = (now - start) * 1e3 / n;
        best = best == 0 || each < best ? each : best;
    }
    return best;
}

static void bench_verdicts(size_t repeats)
{
    static struct space s;

    make_space(&s);
    double parsing = measure(&s, parse_once, repeats), judging = measure(&s, judge_once, repeats);
    printf("a namespace of %d Subscriptions: judged in %.1f us; its objects parsed in %.1f us: "
           "%.2f x\n",
           EACH, judging, parsing, judging / parsing);
    fflush(stdout);
}

/* ---- The process ---- */

struct watched {
    struct bench_world world;
    unsigned long n;
    double last_ms;
};

static void on_request(void *ctx, const char *line, size_t size)
{
    struct watched *w = ctx;

    if (!memmem(line, size, WRITTEN, strlen(WRITTEN)))
        return;
    w->n++;
    w->last_ms = bench_now_ms();
}

static void define_olm(struct watched *w)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(kinds); i++) {
        EK_AUTOFREE char *crd = ek_xasprintf(
            "{\"metadata\":{\"name\":\"%s." OLM "\"},\"spec\":{\"group\":\"" OLM
            "\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"%s\",\"singular\":\"x%s\","
            "\"kind\":"
            "\"%s\"},\"versions\":[{\"name\":\"%s\",\"served\":true,\"storage\":true,"
            "\"subresources\":{\"status\":{}},\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
            "\"x-kubernetes-preserve-unknown-fields\":true}}}]}}",
            kinds[i].plural, kinds[i].plural, kinds[i].plural, kinds[i].kind, kinds[i].version);
        bench_world_send(&w->world, "POST", CRDS, "application/json", crd, 201);
    }
}

static void seed(struct watched *w, const char *group, const char *version, const char *plural,
                 char *owned)
{
    struct ek_err err = {0};

    if (ek_apiserver_seed(w->world.server, group, version, plural, owned, strlen(owned), &err))
        bench_fail("%s: %s", plural, err.message);
    ek_free(owned);
}

static void fill(struct watched *w)
{
    for (size_t n = 0; n < NAMESPACES; n++) {
        seed(w, "", "v1", "namespaces",
             ek_xasprintf("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
                          "\"ns%03zu\",\"uid\":\"ns%zu\"}}",
                          n, n));
        seed(w, OLM, "v1", "operatorgroups", make_group(n));
        for (size_t k = 0; k < EACH; k++)
            for (size_t i = 0; i < OBJECTS; i++)
                seed(w, OLM, "v1alpha1", plural_of(i), make_object(n, k, i));
    }
    bench_world_send(&w->world, "POST", "/apis/evenkeel.dev/v1alpha1/failforwardpolicies",
                     "application/json",
                     "{\"apiVersion\":\"evenkeel.dev/v1alpha1\",\"kind\":\"FailForwardPolicy\","
                     "\"metadata\":{\"name\":\"cluster\"},\"spec\":{\"mode\":\"Observe\"}}",
                     201);
}

static void print_memory(const struct watched *w, const char *what)
{
    pid_t pid = w->world.controller;

    printf("%s: RSS %.1f MiB (anonymous %.1f), peak %.1f MiB\n", what,
           bench_proc_kb(pid, "status", "VmRSS") / 1024,
           bench_proc_kb(pid, "status", "RssAnon") / 1024,
           bench_proc_kb(pid, "status", "VmHWM") / 1024);
    fflush(stdout);
}

/* Until every Subscription has its report and nothing more is written. */
static void wait_for_reports(struct watched *w)
{
    double start = bench_now_ms();

    w->last_ms = start;
    while ((w->n < NAMESPACES * EACH || bench_now_ms() < w->last_ms + QUIET_MS) &&
           bench_now_ms() < start + PATIENCE_MS)
        bench_world_run(&w->world, 10);
    if (w->n < NAMESPACES * EACH)
        bench_fail("%lu of %d reports within %d s", w->n, NAMESPACES * EACH, PATIENCE_MS / 1000);
    printf("%d Subscriptions in %d namespaces: all reports after %.1f s\n", NAMESPACES * EACH,
           NAMESPACES, (w->last_ms - start) / 1e3);
}

/* A plan changes so that the report on it changes. */
static void change(struct watched *w, size_t i)
{
    EK_AUTOFREE char *path = ek_xasprintf("/apis/" OLM "/v1alpha1/namespaces/ns%03zu/installplans/"
                                          "plan0/status",
                                          i * (NAMESPACES / CHANGES));
    EK_AUTOFREE char *patch =
        ek_xasprintf("{\"status\":{\"message\":\"Deployment.apps is invalid: %zu\"}}", i);

    bench_world_send(&w->world, "PATCH", path, "application/merge-patch+json", patch, 200);
}

static void bench_changes(struct watched *w)
{
    double ms[CHANGES], cpu = bench_proc_cpu_ms(w->world.controller), quiet = cpu;

    bench_world_run(&w->world, QUIET_MS);
    quiet = bench_proc_cpu_ms(w->world.controller) - quiet;
    cpu = bench_proc_cpu_ms(w->world.controller);
    double begin = bench_now_ms();
    for (size_t i = 0; i < CHANGES; i++) {
        unsigned long before = w->n;
        double start = bench_now_ms();
        change(w, i);
        while (w->n == before && bench_now_ms() < start + PATIENCE_MS)
            bench_world_run(&w->world, 1);
        ms[i] = w->last_ms - start;
    }
    cpu = bench_proc_cpu_ms(w->world.controller) - cpu;
    double idle = quiet / QUIET_MS * (bench_now_ms() - begin);
    printf("one of them changes, %d times: CPU %.2f ms each, reported after %.0f ms (median)\n",
           CHANGES, (cpu - idle) / CHANGES, bench_median(ms, CHANGES));
}

int bench_failforward(const struct bench_options *options)
{
    static struct watched w;

    bench_verdicts(options->repeats);
    bench_world_open(&w.world, 1);
    w.world.on_request = on_request;
    w.world.ctx = &w;
    define_olm(&w);
    bench_world_define(&w.world, "failforward/evenkeel.dev_failforwardpolicies.yaml");
    bench_world_define(&w.world, "failforward/evenkeel.dev_failforwardstatuses.yaml");
    bench_world_start(&w.world, options->evenkeel);
    if (!bench_world_wait(&w.world, 0, PATIENCE_MS))
        bench_fail("no status within %d s", PATIENCE_MS / 1000);
    bench_world_run(&w.world, QUIET_MS);
    print_memory(&w, "without Subscriptions");
    fill(&w);
    wait_for_reports(&w);
    print_memory(&w, "with them");
    bench_changes(&w);
    print_memory(&w, "in the end");
    bench_world_close(&w.world);
    return 0;
}
