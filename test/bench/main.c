/* SPDX-License-Identifier: Apache-2.0 */
/* ek-bench [-r REPEATS] [-e EVENKEEL] [-c ENGINE] [NAME...]: runs the named benches, or all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/base/mem.h"
#include "test/bench/bench.h"
#include "test/bench/canned.h"
#include "test/bench/measure.h"

static const struct {
    const char *name;
    int (*run)(const struct bench_options *options);
    const char *what;
} benches[] = {
    {"leases", bench_sync_leases, "first sync of 100,000 Leases against curl and yyjson alone"},
    {"nodes", bench_sync_nodes, "first sync of 20,000 Nodes against curl and yyjson alone"},
    {"judge", bench_judge, "a plan for 5,000 nodes and 7 peers"},
    {"start", bench_start, "from the start of evenkeel run to its first status"},
    {"idle", bench_idle, "memory of evenkeel run in a cluster where nothing happens"},
    {"load", bench_load, "10,000 events a second: CPU, and from a change to its status"},
    {"cel", bench_cel, "ten CEL expressions compiled and evaluated, beside ENGINE if given"},
    {"mutation", bench_mutation, "the mutation engine on a Deployment, with 0 to 100 policies"},
    {"gates", bench_gates, "decisions of ten field gates on an object of 20 kB"},
    {"walks", bench_walks, "what an octet of a hostile object costs, from 1 kB to 3 MB"},
    {"webhook", bench_webhook, "admission requests by HTTPS, with 0 to 100 policies"},
    {"flood", bench_flood, "evenkeel run under unfinished posts of 10 MiB: memory, and a victim"},
    {"policies", bench_policies,
     "evenkeel run with 1,000 policies: memory, time, writes per change"},
    {"failforward", bench_failforward,
     "evenkeel run with 2,000 Subscriptions of OLM: memory, time, CPU per change"},
    {"plan", bench_plan, "evenkeel plan of 5,000 nodes, 500 CRDs and 100,000 objects"},
    {"manifests", bench_manifests, "evenkeel plan of 10,000 manifests"},
    {"mutate", bench_mutate, "evenkeel mutate of 10,000 manifests, eleven expressions each"},
};

static const struct {
    const char *name;
    int (*run)(const char *const *args);
} roles[] = {
    {"--canned", bench_canned_main},         {"--sync", bench_sync_main},
    {"--floor", bench_floor_main},           {"--trivial", bench_trivial_main},
    {"--admission", bench_admission_main},   {"--writes", bench_writes_main},
    {"--victim", bench_victim_main},         {"--proxy-peer", bench_proxy_peer_main},
    {"--proxy-load", bench_proxy_load_main}, {"--proxy-watches", bench_proxy_watches_main},
    {"--plan-lists", bench_plan_lists_main}, {"--plan-files", bench_plan_files_main},
};

static int usage(void)
{
    printf("usage: ek-bench [-r REPEATS] [-e EVENKEEL] [-c ENGINE] [NAME...]\n");
    for (size_t i = 0; i < EK_ARRAY_SIZE(benches); i++)
        printf("  %-8s %s\n", benches[i].name, benches[i].what);
    return 2;
}

static int run(const struct bench_options *options, const char *name)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(benches); i++)
        if (!strcmp(benches[i].name, name))
            return benches[i].run(options);
    return usage();
}

int main(int argc, char **argv)
{
    struct bench_options options = {.repeats = 5, .evenkeel = EK_EVENKEEL};
    int option, rc = 0;

    for (size_t i = 0; argc > 1 && i < EK_ARRAY_SIZE(roles); i++)
        if (!strcmp(argv[1], roles[i].name))
            return roles[i].run((const char *const *)argv + 2);
    while ((option = getopt(argc, argv, "r:e:c:h")) != -1) {
        if (option == 'r')
            options.repeats = strtoul(optarg, NULL, 10);
        else if (option == 'e')
            options.evenkeel = optarg;
        else if (option == 'c')
            options.engine = optarg;
        else
            return usage();
    }
    if (options.repeats < 1 || options.repeats > BENCH_REPEATS_MAX)
        return usage();
    for (int i = optind; i < argc && !rc; i++)
        rc = run(&options, argv[i]);
    for (size_t i = 0; optind == argc && i < EK_ARRAY_SIZE(benches) && !rc; i++)
        rc = benches[i].run(&options);
    return rc;
}
