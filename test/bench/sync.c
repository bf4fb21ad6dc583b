/* SPDX-License-Identifier: Apache-2.0 */
/* The first sync of a big resource: our informer against libcurl and yyjson alone. */
#include "test/bench/bench.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "informers/cache/reflector.h"
#include "informers/client/kubeconfig.h"
#include "test/bench/canned.h"
#include "test/bench/corpus.h"
#include "test/bench/measure.h"

/* ---- ours ---- */

struct sync {
    uv_loop_t loop;
    struct ek_informer *informer;
};

static void on_change(void *ctx)
{
    struct sync *sync = ctx;
    struct ek_informer_status status;

    ek_informer_status(sync->informer, &status);
    if (status.last_error_code)
        bench_fail("%s", status.last_error);
    if (status.synced)
        uv_stop(&sync->loop);
}

int bench_sync_main(const char *const *args)
{
    struct ek_reflector_config config = ek_reflector_config_default();
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *settings = ek_client_config_new();
    struct ek_client *client;
    struct bench_sample sample;
    struct ek_err err;
    struct sync sync;

    config.streaming = !strcmp(args[2], "stream");
    settings->server = ek_xstrdup(args[0]);
    settings->insecure_skip_tls_verify = true;
    uv_loop_init(&sync.loop);
    if (ek_client_new(&sync.loop, settings, "ek-bench", &client, &err))
        bench_fail("%s", err.message);
    sync.informer =
        ek_informer_new_configured(&sync.loop, client, bench_resource(args[1]), &config);
    ek_informer_set_observer(sync.informer, on_change, &sync);
    bench_begin(&sample);
    ek_informer_start(sync.informer);
    uv_run(&sync.loop, UV_RUN_DEFAULT);
    bench_end(&sample);
    sample.objects = (double)ek_store_size(ek_informer_store(sync.informer));
    bench_say(&sample);
    return 0;
}

/* ---- the floor ---- */

struct floor {
    struct ek_buf body; /* gathered and not parsed yet */
    double bytes, objects;
    bool stream, ended;
    char next[64]; /* continue token */
};

static void parse_frames(struct floor *floor)
{
    size_t at = 0;
    const char *end;

    while ((end = memchr(floor->body.data + at, '\n', floor->body.len - at))) {
        size_t len = (size_t)(end - floor->body.data) - at;
        yyjson_doc *doc = yyjson_read(floor->body.data + at, len, 0);
        const char *type = yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), "type"));
        if (!type)
            bench_fail("not a frame");
        floor->ended = !strcmp(type, "BOOKMARK");
        floor->objects += !floor->ended;
        yyjson_doc_free(doc);
        at += len + 1;
    }
    ek_buf_consume(&floor->body, at);
}

static size_t on_data(char *data, size_t size, size_t n, void *ctx)
{
    struct floor *floor = ctx;

    floor->bytes += (double)(size * n);
    ek_buf_append(&floor->body, data, size * n);
    if (floor->stream)
        parse_frames(floor);
    return floor->ended ? 0 : size * n;
}

static void parse_page(struct floor *floor)
{
    yyjson_doc *doc = yyjson_read(floor->body.data, floor->body.len, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *next = yyjson_get_str(yyjson_ptr_get(root, "/metadata/continue"));

    if (!root)
        bench_fail("not a list");
    floor->objects += (double)yyjson_arr_size(yyjson_obj_get(root, "items"));
    snprintf(floor->next, sizeof floor->next, "%s", next ? next : "");
    yyjson_doc_free(doc);
    ek_buf_reset(&floor->body);
}

static void fetch(CURL *easy, struct floor *floor, const char *url, const char *query)
{
    EK_AUTOFREE char *target = *floor->next
                                   ? ek_xasprintf("%s?limit=500&continue=%s", url, floor->next)
                                   : ek_xasprintf("%s?%s", url, query);

    curl_easy_setopt(easy, CURLOPT_URL, target);
    curl_easy_perform(easy);
    if (!floor->stream)
        parse_page(floor);
}

int bench_floor_main(const char *const *args)
{
    struct floor floor = {.stream = !strcmp(args[2], "stream")};
    const char *query = floor.stream ? "watch=1&sendInitialEvents=true" : "limit=500";
    struct bench_sample sample;

    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURL *easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &floor);
    ek_buf_init(&floor.body, (size_t)1 << 30);
    bench_begin(&sample);
    do
        fetch(easy, &floor, args[0], query);
    while (*floor.next);
    bench_end(&sample);
    sample.bytes = floor.bytes;
    sample.objects = floor.objects;
    bench_say(&sample);
    return 0;
}

/* ---- both ---- */

struct pairs {
    double wall[2][BENCH_REPEATS_MAX], cpu[2][BENCH_REPEATS_MAX]; /* of ours and of the floor */
    double wall_ratio[BENCH_REPEATS_MAX], cpu_ratio[BENCH_REPEATS_MAX];
    double kept[BENCH_REPEATS_MAX], peak[BENCH_REPEATS_MAX]; /* of ours, over the JSON's size */
};

static void one_pair(struct pairs *pairs, size_t i, const char *url, const char *resource,
                     const char *mode, double n)
{
    const char *ours[] = {NULL, "--sync", url, resource, mode, NULL};
    const char *floor[] = {NULL, "--floor", url, resource, mode, NULL};
    struct bench_sample b = bench_child(floor), a = bench_child(ours);

    if (a.objects != n || b.objects != n)
        bench_fail("%g and %g objects came of %g", a.objects, b.objects, n);
    pairs->wall[0][i] = a.wall_ms;
    pairs->wall[1][i] = b.wall_ms;
    pairs->cpu[0][i] = a.cpu_ms;
    pairs->cpu[1][i] = b.cpu_ms;
    pairs->wall_ratio[i] = a.wall_ms / b.wall_ms;
    pairs->cpu_ratio[i] = a.cpu_ms / b.cpu_ms;
    pairs->kept[i] = (a.kept_kb - a.base_kb) * 1024 / b.bytes;
    pairs->peak[i] = (a.peak_kb - a.base_kb) * 1024 / b.bytes;
}

static void compare(const struct bench_options *options, const struct bench_canned *server,
                    const char *scheme, const char *resource, const char *n, const char *mode)
{
    EK_AUTOFREE char *url = ek_xasprintf("%s://127.0.0.1:%u/%s", scheme, server->port, mode);
    static struct pairs pairs;
    size_t repeats = options->repeats;

    for (size_t i = 0; i < repeats; i++)
        one_pair(&pairs, i, url, resource, mode, strtod(n, NULL));
    double best[2] = {bench_percentile(pairs.wall[0], repeats, 0),
                      bench_percentile(pairs.wall[1], repeats, 0)};
    double best_cpu[2] = {bench_percentile(pairs.cpu[0], repeats, 0),
                          bench_percentile(pairs.cpu[1], repeats, 0)};
    printf("%-6s %-7s %-6s %-6s wall %6.0f /%6.0f ms = %4.2f (median of pairs %4.2f)   "
           "cpu %6.0f /%6.0f ms = %4.2f (%4.2f)   memory kept %4.2f, peak %4.2f x JSON\n",
           n, resource, mode, scheme, best[0], best[1], best[0] / best[1],
           bench_median(pairs.wall_ratio, repeats), best_cpu[0], best_cpu[1],
           best_cpu[0] / best_cpu[1], bench_median(pairs.cpu_ratio, repeats),
           bench_median(pairs.kept, repeats), bench_median(pairs.peak, repeats));
    fflush(stdout);
}

static void sync_resource(const struct bench_options *options, const char *resource, const char *n)
{
    static const char *const modes[] = {"stream", "pages", "whole"};
    static const char *const transports[][2] = {{"tls", "https"}, {"plain", "http"}};

    for (size_t t = 0; t < EK_ARRAY_SIZE(transports); t++) {
        struct bench_canned server = bench_canned_start(resource, n, transports[t][0]);
        for (size_t m = 0; m < EK_ARRAY_SIZE(modes); m++)
            compare(options, &server, transports[t][1], resource, n, modes[m]);
        bench_canned_stop(&server);
    }
}

int bench_sync_leases(const struct bench_options *options)
{
    sync_resource(options, "leases", "100000");
    return 0;
}

int bench_sync_nodes(const struct bench_options *options)
{
    sync_resource(options, "nodes", "20000");
    return 0;
}
