/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel run` with 1,000 mutating admission policies: what it takes, how soon every one has its
 * status, and what one change among them costs. */
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/bench/bench.h"
#include "test/bench/measure.h"
#include "test/bench/world.h"

#define MANY        1000
#define CHANGES     20
#define PATIENCE_MS 120000
#define QUIET_MS    3000 /* no write for so long: all that was to be written is */
#define IDLE_MS     10000
#define PATCH       "\"verb\":\"patch\",\"resource\":\"policystatuses.evenkeel.dev"
#define API         "/apis/evenkeel.dev/v1alpha1/"
#define POLICIES    API "mutatingadmissionpolicies"
#define BINDINGS    API "mutatingadmissionpolicybindings"

/* What was written of PolicyStatuses. */
struct writes {
    struct bench_world world;
    unsigned long n;
    double last_ms;
};

static void on_request(void *ctx, const char *line, size_t size)
{
    struct writes *w = ctx;

    if (!memmem(line, size, PATCH, strlen(PATCH)))
        return;
    w->n++;
    w->last_ms = bench_now_ms();
}

/* Waits for the first write and until no more come; returns when the last one came after start, and
 * how many there were. 0 when none came. */
static double settle(struct writes *w, double start_ms, unsigned long *ret_n)
{
    unsigned long before = w->n;
    double end_ms = start_ms + PATIENCE_MS;

    w->last_ms = start_ms;
    while (bench_now_ms() < w->last_ms + QUIET_MS && bench_now_ms() < end_ms)
        bench_world_run(&w->world, 10);
    *ret_n = w->n - before;
    return w->last_ms - start_ms;
}

static void create_policy(struct writes *w, const char *name, bool binds)
{
    EK_AUTOFREE char *policy = ek_xasprintf(
        "{\"apiVersion\":\"evenkeel.dev/v1alpha1\",\"kind\":\"MutatingAdmissionPolicy\","
        "\"metadata\":{\"name\":\"%s\"},\"spec\":{\"reinvocationPolicy\":\"Never\","
        "\"matchConstraints\":{\"resourceRules\":[{\"apiGroups\":[\"apps\"],\"apiVersions\":"
        "[\"v1\"],\"operations\":[\"CREATE\"],\"resources\":[\"deployments\"]}]},\"mutations\":[{"
        "\"patchType\":\"ApplyConfiguration\",\"applyConfiguration\":{\"expression\":"
        "\"Object{metadata: Object.metadata{labels: {'%s': 'on'}}}\"}}]}}",
        name, name);
    EK_AUTOFREE char *binding =
        ek_xasprintf("{\"apiVersion\":\"evenkeel.dev/v1alpha1\",\"kind\":"
                     "\"MutatingAdmissionPolicyBinding\",\"metadata\":{\"name\":\"%s\"},"
                     "\"spec\":{\"policyName\":\"%s\"}}",
                     name, name);

    bench_world_send(&w->world, "POST", POLICIES, "application/json", policy, 201);
    if (binds)
        bench_world_send(&w->world, "POST", BINDINGS, "application/json", binding, 201);
}

/* The mutation of one of the many sets another value. */
static void change_policy(struct writes *w, size_t i, size_t value)
{
    EK_AUTOFREE char *path = ek_xasprintf(POLICIES "/p%04zu", i);
    EK_AUTOFREE char *patch = ek_xasprintf(
        "{\"spec\":{\"mutations\":[{\"patchType\":\"ApplyConfiguration\",\"applyConfiguration\":{"
        "\"expression\":\"Object{metadata: Object.metadata{labels: {'p%04zu': 'v%zu'}}}\"}}]}}",
        i, value);

    bench_world_send(&w->world, "PATCH", path, "application/merge-patch+json", patch, 200);
}

static void delete_one(struct writes *w, const char *collection, const char *name)
{
    EK_AUTOFREE char *path = ek_xasprintf("%s/%s", collection, name);

    bench_world_send(&w->world, "DELETE", path, "application/json", "", 200);
}

static void print_memory(const struct writes *w, const char *what)
{
    pid_t pid = w->world.controller;

    printf("%s: RSS %.1f MiB (anonymous %.1f), peak %.1f MiB\n", what,
           bench_proc_kb(pid, "status", "VmRSS") / 1024,
           bench_proc_kb(pid, "status", "RssAnon") / 1024,
           bench_proc_kb(pid, "status", "VmHWM") / 1024);
    fflush(stdout);
}

/* Prints what came of something done at start, when the controller had used cpu. */
static void report(struct writes *w, const char *what, double start_ms, double cpu_ms)
{
    unsigned long n;
    double took = settle(w, start_ms, &n);

    printf("%s: %lu writes, the last after %.0f ms; CPU %.0f ms\n", what, n, took,
           bench_proc_cpu_ms(w->world.controller) - cpu_ms);
    fflush(stdout);
}

static void measure_changes(struct writes *w)
{
    double ms[CHANGES], cpu = bench_proc_cpu_ms(w->world.controller), none = cpu;
    unsigned long n, all = 0;

    bench_world_run(&w->world, IDLE_MS);
    none = bench_proc_cpu_ms(w->world.controller) - none;
    printf("nothing happens: %.2f %% of a core\n", none / IDLE_MS * 100);
    cpu = bench_proc_cpu_ms(w->world.controller);
    for (size_t i = 0; i < CHANGES; i++) {
        double start = bench_now_ms();
        change_policy(w, i * (MANY / CHANGES), i);
        ms[i] = settle(w, start, &n);
        all += n;
    }
    cpu = bench_proc_cpu_ms(w->world.controller) - cpu;
    printf("one of them changes, %d times: %.1f writes, the last after %.0f ms (median); CPU %.0f "
           "ms each\n",
           CHANGES, (double)all / CHANGES, bench_median(ms, CHANGES), cpu / CHANGES);
}

static void measure_sets(struct writes *w)
{
    double start = bench_now_ms(), cpu = bench_proc_cpu_ms(w->world.controller);

    create_policy(w, "zzzz", true);
    report(w, "one is added behind them", start, cpu);
    start = bench_now_ms(), cpu = bench_proc_cpu_ms(w->world.controller);
    create_policy(w, "aaaa", true);
    report(w, "one is added before them", start, cpu);
    start = bench_now_ms(), cpu = bench_proc_cpu_ms(w->world.controller);
    delete_one(w, BINDINGS, "aaaa");
    delete_one(w, POLICIES, "aaaa");
    report(w, "that one is deleted", start, cpu);
}

static void open_world(struct writes *w)
{
    static const char *const flags[] = {"--webhook-bind-address=127.0.0.1:0",
                                        "--webhook-url=https://127.0.0.1:9",
                                        "--webhook-namespace=evenkeel-system"};

    bench_world_open(&w->world, 1);
    w->world.on_request = on_request;
    w->world.ctx = w;
    memcpy(w->world.flags, flags, sizeof flags);
    bench_world_define(&w->world, "evenkeel.dev_mutatingadmissionpolicies.yaml");
    bench_world_define(&w->world, "evenkeel.dev_mutatingadmissionpolicybindings.yaml");
    bench_world_define(&w->world, "evenkeel.dev_policystatuses.yaml");
    bench_world_send(&w->world, "POST", "/api/v1/namespaces", "application/json",
                     "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
                     "\"evenkeel-system\"}}",
                     201);
}

int bench_policies(const struct bench_options *options)
{
    static struct writes w;
    char name[16];

    open_world(&w);
    bench_world_start(&w.world, options->evenkeel);
    if (!bench_world_wait(&w.world, 0, PATIENCE_MS))
        bench_fail("no status within %d s", PATIENCE_MS / 1000);
    bench_world_run(&w.world, QUIET_MS);
    print_memory(&w, "without policies");
    for (size_t i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "p%04zu", i);
        create_policy(&w, name, true);
    }
    report(&w, "1,000 policies and bindings", bench_now_ms(),
           bench_proc_cpu_ms(w.world.controller));
    print_memory(&w, "with them");
    measure_changes(&w);
    measure_sets(&w);
    print_memory(&w, "in the end");
    bench_world_close(&w.world);
    return 0;
}
