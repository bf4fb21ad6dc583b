/* SPDX-License-Identifier: Apache-2.0 */
/* The mutation engine: policies that set a label each, on a Deployment. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "test/bench/bench.h"
#include "test/bench/measure.h"
#include "test/support/mutation_world.h"

#define ARENA_LIMIT    ((size_t)64 << 20)
#define ROUND_MS       100.0 /* of one measurement: the best of several counts */
#define IN_TREE_US     450.0 /* per policy on Kubernetes 1.36.2, see README.md */
#define MANY           1000
#define LABEL_LEN_MAX  200
#define EXPRESSION_MAX 512

static const char deployment[] =
    "'kind':{'group':'apps','version':'v1','kind':'Deployment'},"
    "'resource':{'group':'apps','version':'v1','resource':'deployments'},"
    "'object':{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'web',"
    "'namespace':'shop','labels':{'app':'web','tier':'front'},'annotations':{'note':'x'}},"
    "'spec':{'replicas':3,'revisionHistoryLimit':10,'progressDeadlineSeconds':600,"
    "'selector':{'matchLabels':{'app':'web'}},'strategy':{'type':'RollingUpdate','rollingUpdate':"
    "{'maxSurge':'25%','maxUnavailable':'25%'}},'template':{'metadata':{'labels':{'app':'web'}},"
    "'spec':{'containers':[{'name':'web','image':'registry.local/web:1.4','imagePullPolicy':"
    "'IfNotPresent','ports':[{'containerPort':8080,'protocol':'TCP'}],'env':[{'name':'A','value':"
    "'1'},{'name':'B','value':'2'}],'resources':{'limits':{'cpu':'1','memory':'1Gi'},'requests':"
    "{'cpu':'100m','memory':'128Mi'}},'livenessProbe':{'httpGet':{'path':'/','port':8080,'scheme':"
    "'HTTP'},'timeoutSeconds':1,'periodSeconds':10,'successThreshold':1,'failureThreshold':3},"
    "'volumeMounts':[{'name':'data','mountPath':'/data'}],'terminationMessagePath':"
    "'/dev/termination-log','terminationMessagePolicy':'File'}],'volumes':[{'name':'data',"
    "'emptyDir':{}}],'restartPolicy':'Always','terminationGracePeriodSeconds':30,'dnsPolicy':"
    "'ClusterFirst','securityContext':{},'schedulerName':'default-scheduler'}}},'status':{}}";

static void add_policies(struct test_mutation_world *w, size_t n, bool json_patch, bool again)
{
    char spec[EXPRESSION_MAX], name[32];

    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "p%zu", i);
        snprintf(spec, sizeof spec,
                 json_patch ? "'reinvocationPolicy':'%s','mutations':[{'patchType':'JSONPatch',"
                              "'jsonPatch':{'expression':'[JSONPatch{op: `add`, path: "
                              "`/metadata/labels/l%zu`, value: `on`}]'}}]"
                            : "'reinvocationPolicy':'%s','mutations':[{'patchType':"
                              "'ApplyConfiguration','applyConfiguration':{'expression':"
                              "'Object{metadata: Object.metadata{labels: {`l%zu`: `on`}}}'}}]",
                 again ? "IfNeeded" : "Never", i);
        test_mutation_add(w, name, spec, "");
    }
}

static void run_once(struct test_mutation_world *w, const struct ek_admission_request *request,
                     struct ek_arena *arena)
{
    struct ek_mutation_outcome outcome;

    ek_arena_reset(arena);
    if (ek_engine_run(&w->set, request, &w->world, &(struct ek_engine_options){0}, arena,
                      &outcome) ||
        !outcome.allowed || outcome.pending || (w->set.n && !outcome.patch))
        bench_fail("a policy was not applied: %s", outcome.message ? outcome.message : "");
    ek_mutation_outcome_done(&outcome);
}

/* Microseconds of one request, the best of several rounds. */
static double measure(struct test_mutation_world *w, size_t repeats)
{
    struct ek_admission_request request;
    yyjson_doc *doc = test_mutation_request(deployment, &request);
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    double best = 0;

    for (size_t round = 0; round < repeats; round++) {
        double start = bench_cpu_ms(), now; /* others may use the machine */
        unsigned n = 0;
        do {
            for (int i = 0; i < 20; i++, n++)
                run_once(w, &request, arena);
            now = bench_cpu_ms();
        } while (now - start < ROUND_MS);
        double each = (now - start) * 1e3 / n;
        best = best == 0 || each < best ? each : best;
    }
    ek_arena_free(arena);
    yyjson_doc_free(doc);
    return best;
}

static double heap_kb(void)
{
    struct mallinfo2 info = mallinfo2();

    return (double)(info.uordblks + info.hblkhd) / 1024;
}

/* What compiled policies take. */
static void measure_memory(void)
{
    static struct test_mutation_world worlds[MANY / 250];
    double before, start = bench_now_ms();

    for (size_t i = 0; i < EK_ARRAY_SIZE(worlds); i++)
        test_mutation_open(&worlds[i]);
    before = heap_kb();
    for (size_t i = 0; i < EK_ARRAY_SIZE(worlds); i++)
        add_policies(&worlds[i], 250, false, false);
    double took = bench_now_ms() - start;
    printf("%d policies and bindings: %.1f kB each, compiled in %.2f ms each\n", MANY,
           (heap_kb() - before) / MANY, took / MANY);
    for (size_t i = 0; i < EK_ARRAY_SIZE(worlds); i++)
        test_mutation_close(&worlds[i]);
}

int bench_mutation(const struct bench_options *options)
{
    static const size_t counts[] = {0, 1, 10, 50, 100};
    static struct test_mutation_world w;
    double none = 0;

    printf("policies   apply: us  per policy  in-tree/ours   if needed   JSON Patch\n");
    for (size_t i = 0; i < EK_ARRAY_SIZE(counts); i++) {
        double us[3];
        for (int kind = 0; kind < 3; kind++) {
            if (!test_mutation_open_file(&w, EK_SHARED_DATA "/mutation/openapi/apps_v1.json")) {
                printf("skipped: no schema in " EK_SHARED_DATA "/mutation/openapi\n");
                return 77;
            }
            add_policies(&w, counts[i], kind == 2, kind == 1);
            us[kind] = measure(&w, options->repeats);
            test_mutation_close(&w);
        }
        if (counts[i] == 0)
            none = us[0];
        double each = counts[i] ? (us[0] - none) / (double)counts[i] : 0;
        printf("%8zu %12.1f %11.2f %13.0f %11.1f %12.1f\n", counts[i], us[0], each,
               each > 0 ? IN_TREE_US / each : 0, us[1], us[2]);
    }
    measure_memory();
    return 0;
}
