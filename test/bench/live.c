/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel run` against a small cluster: how soon it speaks, what it takes when nothing happens,
 * and what it does when much happens. */
#include "test/bench/bench.h"

#include <curl/curl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/base/mem.h"
#include "test/bench/measure.h"
#include "test/bench/world.h"

#define SMALL          10    /* nodes */
#define PATIENCE_MS    30000 /* for the first status */
#define SETTLE_MS      3000  /* nothing is written any more */
#define IDLE_MS        20000
#define LOAD_MS        30000
#define LOAD_NODES     5000
#define EVENTS_PER_S   10000
#define CHANGES_MAX    2000
#define CHANGE_GAP_MS  61 /* between a status and the next change; not a multiple of anything */
#define LOAD_TICK_MS   1
#define BATCH          12  /* events in a turn of the loop */
#define FLOOR_PATIENCE 500 /* ms */

/* ---- start to first status ---- */

int bench_start(const struct bench_options *options)
{
    double ms[BENCH_REPEATS_MAX], settled_ms[BENCH_REPEATS_MAX];
    struct bench_world world;

    for (size_t i = 0; i < options->repeats; i++) {
        bench_world_open(&world, SMALL);
        bench_world_run(&world, 200);
        double start = bench_now_ms();
        bench_world_start(&world, options->evenkeel);
        if (!bench_world_wait(&world, 0, PATIENCE_MS))
            bench_fail("no status within %d s", PATIENCE_MS / 1000);
        ms[i] = world.written_ms - start;
        bench_world_run(&world, SETTLE_MS);
        settled_ms[i] = world.written_ms - start;
        bench_world_close(&world);
    }
    printf("start to first status: best %.0f ms, median %.0f ms, worst %.0f ms of %zu; to the last "
           "one, when all peers are probed: median %.0f ms\n",
           bench_percentile(ms, options->repeats, 0), bench_median(ms, options->repeats),
           bench_percentile(ms, options->repeats, 100), options->repeats,
           bench_median(settled_ms, options->repeats));
    return 0;
}

/* ---- idle ---- */

static size_t swallow(char *data, size_t size, size_t n, void *ctx)
{
    (void)data;
    (void)ctx;
    return size * n;
}

/* A program that sends one request by libcurl and OpenSSL, and then waits to be measured. */
int bench_trivial_main(const char *const *args)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURL *easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_URL, args[0]);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, swallow);
    curl_easy_perform(easy);
    poll(NULL, 0, FLOOR_PATIENCE);
    struct bench_sample sample;
    bench_begin(&sample);
    bench_end(&sample);
    sample.extra = bench_proc_kb(0, "smaps_rollup", "Pss");
    bench_say(&sample);
    return 0;
}

/* What the trivial program takes; the world has to answer it meanwhile. */
static struct bench_sample measure_trivial(struct bench_world *world)
{
    EK_AUTOFREE char *server = ek_apishell_url(world->peers[0]);
    EK_AUTOFREE char *url = ek_xasprintf("%s/version", server);
    const char *argv[] = {NULL, "--trivial", url, NULL};
    struct bench_sample sample;
    int out;

    (void)bench_spawn(argv, &out);
    bench_world_run(world, FLOOR_PATIENCE);
    bench_read(out, &sample, sizeof sample);
    close(out);
    return sample;
}

int bench_idle(const struct bench_options *options)
{
    struct bench_world world;

    bench_world_open(&world, SMALL);
    bench_world_start(&world, options->evenkeel);
    if (!bench_world_wait(&world, 0, PATIENCE_MS))
        bench_fail("no status within %d s", PATIENCE_MS / 1000);
    bench_world_run(&world, 2000);
    double cpu = bench_proc_cpu_ms(world.controller);
    bench_world_run(&world, IDLE_MS);
    cpu = bench_proc_cpu_ms(world.controller) - cpu;
    pid_t pid = world.controller;
    struct bench_sample floor = measure_trivial(&world);
    printf("idle controller: RSS %.1f MiB (anonymous %.1f), PSS %.1f MiB, peak %.1f MiB, "
           "%.2f %% of a core; a program that asks one question by libcurl: RSS %.1f MiB, PSS "
           "%.1f MiB\n",
           bench_proc_kb(pid, "status", "VmRSS") / 1024,
           bench_proc_kb(pid, "status", "RssAnon") / 1024,
           bench_proc_kb(pid, "smaps_rollup", "Pss") / 1024,
           bench_proc_kb(pid, "status", "VmHWM") / 1024, cpu / IDLE_MS * 100, floor.kept_kb / 1024,
           floor.extra / 1024);
    bench_world_close(&world);
    return 0;
}

/* ---- load ---- */

struct load {
    struct bench_world world;
    uv_timer_t beats, changes;
    double begun_ms, changed_ms; /* changed_ms: of the change that waits for its status, else 0 */
    unsigned long n_beats, n_flips;
    double latencies[CHANGES_MAX];
    size_t n_changes;
};

/* Heartbeats of nodes, as many as are due; but the server in this process must get its turn. */
static void on_beat(uv_timer_t *timer)
{
    struct load *load = timer->data;
    double due = (bench_now_ms() - load->begun_ms) * EVENTS_PER_S / 1000;

    for (int i = 0; i < BATCH && (double)load->n_beats < due; i++, load->n_beats++)
        bench_world_touch(&load->world, 1 + load->n_beats % (LOAD_NODES - 1), NULL);
}

/* A change that must show: a node gets another version. */
static void on_change(uv_timer_t *timer)
{
    struct load *load = timer->data;

    bench_world_touch(&load->world, 0, load->n_flips++ % 2 ? "v1.34.1" : "v1.35.1");
    load->changed_ms = bench_now_ms();
}

static void on_written(void *ctx)
{
    struct load *load = ctx;

    if (load->changed_ms <= 0 || load->n_changes == CHANGES_MAX)
        return;
    load->latencies[load->n_changes++] = load->world.written_ms - load->changed_ms;
    load->changed_ms = 0;
    uv_timer_start(&load->changes, on_change, CHANGE_GAP_MS, 0);
}

static void run_load(struct load *load, bool beats, const char *what)
{
    pid_t pid = load->world.controller;

    load->n_changes = 0;
    load->n_beats = 0;
    load->changed_ms = 0;
    load->begun_ms = bench_now_ms();
    double cpu = bench_proc_cpu_ms(pid);
    if (beats)
        uv_timer_start(&load->beats, on_beat, LOAD_TICK_MS, LOAD_TICK_MS);
    uv_timer_start(&load->changes, on_change, CHANGE_GAP_MS, 0);
    bench_world_run(&load->world, LOAD_MS);
    uv_timer_stop(&load->beats);
    uv_timer_stop(&load->changes);
    double lasted = bench_now_ms() - load->begun_ms;
    cpu = bench_proc_cpu_ms(pid) - cpu;
    printf("%s: %.0f events/s, %.1f %% of a core; event to status (%zu): median %.1f ms, p90 "
           "%.1f ms, p99 %.1f ms; RSS %.1f MiB\n",
           what, (double)load->n_beats / lasted * 1000, cpu / lasted * 100, load->n_changes,
           bench_median(load->latencies, load->n_changes),
           bench_percentile(load->latencies, load->n_changes, 90),
           bench_percentile(load->latencies, load->n_changes, 99),
           bench_proc_kb(pid, "status", "VmRSS") / 1024);
    fflush(stdout);
    bench_world_run(&load->world, 1000);
}

int bench_load(const struct bench_options *options)
{
    static struct load load;

    bench_world_open(&load.world, LOAD_NODES);
    load.world.on_written = on_written;
    load.world.ctx = &load;
    uv_timer_init(&load.world.loop, &load.beats);
    uv_timer_init(&load.world.loop, &load.changes);
    load.beats.data = load.changes.data = &load;
    bench_world_start(&load.world, options->evenkeel);
    if (!bench_world_wait(&load.world, 0, PATIENCE_MS))
        bench_fail("no status within %d s", PATIENCE_MS / 1000);
    bench_world_run(&load.world, 2000);
    run_load(&load, false, "5,000 nodes, quiet");
    run_load(&load, true, "5,000 nodes, their heartbeats");
    uv_close((uv_handle_t *)&load.beats, NULL);
    uv_close((uv_handle_t *)&load.changes, NULL);
    bench_world_close(&load.world);
    return 0;
}
