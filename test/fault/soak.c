/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ek-soak: the controller under thousands of faults.
 *
 * `evenkeel run` lives in this process on a clock that leaps (soak_time.h), against the built-in
 * API server. First each fault by itself (soak_rows.h), then bursts of random faults and changes;
 * after each burst what is broken is mended, and the status must become the truth (soak_truth.h)
 * within a bound. Memory, requests, turns of the loop and log lines are bounded throughout. The
 * same seed gives the same faults.
 */
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <unistd.h>

#include "controller/cli/commands.h"
#include "test/fault/soak_rows.h"
#include "test/fault/soak_truth.h"

/* A watch that stands still is noticed when its own timeout is over: at most 10 minutes and a
 * grace; then come the back-off and a round of probes. */
#define CONVERGE_MS (15 * 60 * 1000)

/* Per virtual minute, over a whole burst and its healing. Three servers probed every 5 s, seven
 * informers that are cut off all the time, and the observer. */
#define REQUESTS_PER_MINUTE 1500
#define TURNS_PER_MINUTE    20000
#define LINES_PER_MINUTE    60

/* What may be kept more after thousands of faults than after the first bursts: the memory of the
 * Event correlator, three tables of at most 4096 entries (client-go's bounds), and some room. */
#define GROWTH_MAX ((size_t)8 << 20)

/* The server keeps each definition that was ever installed: that is not the controller's. */
#define DEFINITION_SIZE ((size_t)72500)

size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));
void __sanitizer_set_report_fd(void *fd) __attribute__((weak));

struct soak {
    struct soak_world world;
    unsigned long target; /* faults wanted */
    uint64_t seed;
    bool verbose;
    int log_fd; /* what the controller logs */
    size_t heap_start, heap_max, heap_end;
    int64_t slowest_ms;
    double worst_requests, worst_turns, worst_lines;
    unsigned bursts;
    unsigned long single; /* faults before the first burst */
};

static struct soak soak;

static size_t heap(void)
{
    size_t all = __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes()
                                                         : mallinfo2().uordblks;
    size_t kept = soak.world.n_definitions * DEFINITION_SIZE;

    return all > kept ? all - kept : 0;
}

/* Faults that met a request and changes that took place, in bursts. */
static unsigned long random_faults(void)
{
    return soak_world_count(&soak.world) - soak.single;
}

/* The last lines of the controller's log. */
static void show_log(void)
{
    off_t end = lseek(soak.log_fd, 0, SEEK_END), from = end > 6000 ? end - 6000 : 0;
    char text[6001];
    ssize_t n = pread(soak.log_fd, text, sizeof text - 1, from);

    printf("-- the controller's log\n%.*s\n", n > 0 ? (int)n : 0, text);
}

_Noreturn static void fail(const char *what)
{
    show_log();
    printf(
        "FAILED after %lu faults in %u bursts: %s\nrepeat with: ek-soak --seed %llu --faults %lu\n",
        random_faults(), soak.bursts, what, (unsigned long long)soak.seed, soak.target);
    fflush(stdout);
    _exit(1);
}

/* Lines of the log, which is emptied. */
static unsigned long take_lines(void)
{
    static char text[65536];
    unsigned long lines = 0;
    off_t at = 0;
    ssize_t n;

    while ((n = pread(soak.log_fd, text, sizeof text, at)) > 0) {
        for (ssize_t i = 0; i < n; i++)
            lines += text[i] == '\n';
        at += n;
    }
    if (ftruncate(soak.log_fd, 0) != 0)
        fail("ftruncate");
    return lines;
}

static int run_controller(void)
{
    static char kubeconfig[128], health[64], metrics[64];
    static char *argv[] = {kubeconfig, health, metrics, NULL};

    snprintf(kubeconfig, sizeof kubeconfig, "--kubeconfig=%s", soak.world.kubeconfig);
    snprintf(health, sizeof health, "--health-probe-bind-address=127.0.0.1:%u",
             soak.world.hostile.port);
    snprintf(metrics, sizeof metrics, "--metrics-bind-address=127.0.0.1:%u",
             soak.world.hostile.tls_port);
    return ek_run_command.run(NULL, 3, argv);
}

/* --- one burst ---------------------------------------------------------------------------- */

struct meter {
    int64_t at_ms;
    unsigned long requests;
    unsigned long long turns;
};

static struct meter read_meter(void)
{
    struct ek_apishell_stats stats;

    ek_apishell_stats(soak.world.shell, &stats);
    return (struct meter){soak_now(), stats.requests + stats.connections, soak_turns()};
}

static void check_rate(const char *what, double count, double minutes, double limit, double *worst)
{
    double rate = count / minutes;

    *worst = rate > *worst ? rate : *worst;
    if (rate > limit) {
        char text[128];
        snprintf(text, sizeof text, "%.0f %s a minute, no more than %.0f are expected", rate, what,
                 limit);
        fail(text);
    }
}

static void check_rates(const struct meter *before)
{
    struct meter now = read_meter();
    double minutes = (double)(now.at_ms - before->at_ms) / 60000;

    minutes = minutes < 0.5 ? 0.5 : minutes;
    check_rate("requests", (double)(now.requests - before->requests), minutes, REQUESTS_PER_MINUTE,
               &soak.worst_requests);
    check_rate("turns", (double)(now.turns - before->turns), minutes, TURNS_PER_MINUTE,
               &soak.worst_turns);
    check_rate("log lines", (double)take_lines(), minutes, LINES_PER_MINUTE, &soak.worst_lines);
}

/* Events are never forgotten by the server; the harness's memory must not hide the controller's. */
static void forget_events(void)
{
    soak_call(&soak.world, "DELETE", "/apis/events.k8s.io/v1/namespaces/default/events", NULL);
}

/* Streams that stall, and what waits for a peer that hung, keep their memory until they are given
 * up; so what looks like growth gets that long. */
static size_t settled_heap(void)
{
    size_t now = heap();

    for (int i = 0; i < 20 && soak.heap_start && now > soak.heap_start + GROWTH_MAX; i++) {
        soak_live(&soak.world.loop, 60000);
        forget_events();
        (void)take_lines();
        now = heap();
    }
    return now;
}

static void check_heap(void)
{
    size_t now = settled_heap();

    if (soak.bursts == 20)
        soak.heap_start = now;
    soak.heap_max = now > soak.heap_max ? now : soak.heap_max;
    soak.heap_end = now;
    if (soak.heap_start && now > soak.heap_start + GROWTH_MAX) {
        char text[128];
        snprintf(text, sizeof text, "memory does not return: %zu kB after 20 bursts, now %zu kB",
                 soak.heap_start / 1024, now / 1024);
        fail(text);
    }
}

static void strike_once(void)
{
    struct soak_world *world = &soak.world;

    if (soak_pick(world, 2)) {
        enum ek_fault_kind kind = 1 + soak_pick(world, EK_FAULT_MAX - 1);
        if (soak.verbose)
            printf("  fault %s\n", ek_fault_name(kind));
        soak_fault(world, kind);
        return;
    }
    const struct soak_change *change = &soak_changes[soak_pick(world, (unsigned)soak_n_changes)];
    if (soak.verbose)
        printf("  %s\n", change->name);
    world->n_changes++;
    change->happen(world);
}

/* A few faults, some time apart, or many at once. */
static void strike(void)
{
    bool few = soak_pick(&soak.world, 2);
    unsigned n = 1 + soak_pick(&soak.world, few ? 5 : 40);

    for (unsigned i = 0; i < n; i++) {
        strike_once();
        /* Faults meet requests: streams that stand are cut now and then. */
        if (soak_pick(&soak.world, 4) == 0)
            ek_apishell_cut(soak.world.shell, NULL);
        soak_live(&soak.world.loop, soak_pick(&soak.world, few ? 15000 : 3000));
    }
    soak_live(&soak.world.loop, soak_pick(&soak.world, 60000));
}

static void burst(void)
{
    static char why[4096];
    struct meter before = read_meter();

    soak.bursts++;
    if (soak.verbose)
        printf("burst %u, %lu faults so far, t=%llds\n", soak.bursts, random_faults(),
               (long long)soak_now() / 1000);
    strike();
    if (!soak_hostile_healthy(&soak.world.hostile))
        fail("/healthz is not answered");
    if (!soak_hostile_shakes(&soak.world.hostile))
        fail("/metrics is not answered");
    soak_world_lift(&soak.world);
    int64_t took = soak_converge(&soak.world, CONVERGE_MS, why);
    if (!soak_controller_runs(NULL))
        fail("the controller has ended");
    if (took < 0) {
        printf("%s\n", why);
        fail("the status does not become the truth");
    }
    if (soak.verbose)
        printf("  healed in %lld ms, %zu kB\n", (long long)took, heap() / 1024);
    soak.slowest_ms = took > soak.slowest_ms ? took : soak.slowest_ms;
    check_rates(&before);
    forget_events();
    check_heap();
}

/* --- the program -------------------------------------------------------------------------- */

/* Pointers seed the jitter: they must be the same in each run. */
static void fix_addresses(char **argv)
{
    int now = personality(0xffffffff);

    if (now < 0 || (now & ADDR_NO_RANDOMIZE) || personality((unsigned)now | ADDR_NO_RANDOMIZE) < 0)
        return;
    execv("/proc/self/exe", argv);
}

static void take_log(void)
{
    int out = dup(STDERR_FILENO);

    soak.log_fd = memfd_create("log", MFD_CLOEXEC);
    if (__sanitizer_set_report_fd)
        __sanitizer_set_report_fd((void *)(intptr_t)out);
    dup2(soak.log_fd, STDERR_FILENO);
    /* The log is written from where it was truncated. */
    fcntl(STDERR_FILENO, F_SETFL, O_APPEND);
}

static void read_options(int argc, char **argv)
{
    static const struct option options[] = {{"seed", required_argument, NULL, 's'},
                                            {"faults", required_argument, NULL, 'n'},
                                            {"verbose", no_argument, NULL, 'v'},
                                            {NULL, 0, NULL, 0}};
    int c;

    soak.seed = 1;
    soak.target = 300;
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (c == 's')
            soak.seed = strtoull(optarg, NULL, 10);
        else if (c == 'n')
            soak.target = strtoul(optarg, NULL, 10);
        else if (c == 'v')
            soak.verbose = true;
        else
            exit(2);
    }
}

static void stop_controller(void)
{
    int code;

    raise(SIGTERM);
    for (int i = 0; i < 60 && soak_controller_runs(&code); i++)
        soak_live(&soak.world.loop, 1000);
    if (soak_controller_runs(&code))
        fail("the controller does not stop");
    soak_controller_join();
    if (code != 0)
        fail("the controller's exit code is not 0");
}

int main(int argc, char **argv)
{
    static char why[4096];

    read_options(argc, argv);
    fix_addresses(argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("ek-soak --seed %llu --faults %lu\n", (unsigned long long)soak.seed, soak.target);
    take_log();
    soak_world_make(&soak.world, soak.seed);
    soak_controller_start(run_controller);
    if (soak_converge(&soak.world, 60000, why) < 0) {
        printf("%s\n", why);
        fail("no status without any fault");
    }
    if (soak_rows(&soak.world) > 0)
        fail("single faults");
    soak.single = soak_world_count(&soak.world);
    (void)take_lines();
    while (random_faults() < soak.target)
        burst();
    stop_controller();
    printf("passed: %lu random faults in %u bursts over %lld virtual minutes; slowest healing %lld "
           "s; at "
           "most %.0f requests, %.0f turns and %.0f log lines a minute; heap %zu kB after 20 "
           "bursts, at most %zu kB, %zu kB in the end\n",
           random_faults(), soak.bursts, (long long)soak_now() / 60000,
           (long long)soak.slowest_ms / 1000, soak.worst_requests, soak.worst_turns,
           soak.worst_lines, soak.heap_start / 1024, soak.heap_max / 1024, soak.heap_end / 1024);
    soak_world_end(&soak.world);
    return 0;
}
