/* SPDX-License-Identifier: Apache-2.0 */
#include "test/bench/world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/base/mem.h"
#include "informers/client/file.h"
#include "test/bench/measure.h"

#define WRITE "\"verb\":\"patch\",\"resource\":\"controlplanes.evenkeel.dev/status\""
#define GOOD  "\"code\":200"
#define TICK  1 /* ms: how exactly bench_world_run keeps its time */

static int64_t wall_ms(void)
{
    uv_timeval64_t now;

    uv_gettimeofday(&now);
    return now.tv_sec * 1000 + now.tv_usec / 1000;
}

static void must(int code, const struct ek_err *err)
{
    if (code)
        bench_fail("%s", err->message);
}

/* The server's audit: one line per request. */
static ssize_t on_audit(void *cookie, const char *line, size_t size)
{
    struct bench_world *world = cookie;

    if (memmem(line, size, WRITE, strlen(WRITE)) && memmem(line, size, GOOD, strlen(GOOD))) {
        world->n_written++;
        world->written_ms = bench_now_ms();
        if (world->on_written)
            world->on_written(world->ctx);
    }
    if (world->on_request)
        world->on_request(world->ctx, line, size);
    return (ssize_t)size;
}

void bench_world_send(struct bench_world *world, const char *method, const char *path,
                      const char *type, const char *body, int status)
{
    struct ek_apiserver_response response;
    struct ek_apiserver_request request = {
        .method = method,
        .path = path,
        .query = "",
        .content_type = type,
        .authorization = "Bearer " BENCH_WORLD_TOKEN,
        .body = ek_str_from(body),
    };

    ek_apiserver_handle(world->peers[0], &request, wall_ms(), &response);
    if (response.status != status)
        bench_fail("%s: %d %s", path, response.status, ek_buf_str(&response.body));
    ek_apiserver_response_done(&response);
}

/* Addresses of loopback are probed only where the ControlPlane lists them itself. */
static void create_control_plane(struct bench_world *world)
{
    EK_AUTO(ek_buf) json;

    ek_buf_init(&json, 4096);
    ek_buf_puts(&json, "{\"apiVersion\":\"evenkeel.dev/v1alpha1\",\"kind\":\"ControlPlane\","
                       "\"metadata\":{\"name\":\"cluster\"},\"spec\":{\"peers\":{\"discovery\":"
                       "\"Static\",\"endpoints\":[");
    for (size_t i = 0; i < WORLD_PEERS; i++)
        ek_buf_printf(&json, "%s\"%s:%u\"", i ? "," : "",
                      ek_apiserver_peer_address(world->peers[i]),
                      ek_apiserver_peer_port(world->peers[i]));
    ek_buf_puts(&json, "]}}}");
    bench_world_send(world, "POST", "/apis/evenkeel.dev/v1alpha1/controlplanes", "application/json",
                     ek_buf_str(&json), 201);
}

void bench_world_define(struct bench_world *world, const char *file)
{
    EK_AUTOFREE char *path = ek_xasprintf("%s/%s", EK_BENCH_CRDS, file);
    EK_AUTOFREE char *yaml = NULL;
    struct ek_err err;

    must(ek_file_read(path, (size_t)1 << 20, &yaml, NULL, &err), &err);
    bench_world_send(world, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                     "application/yaml", yaml, 201);
}

static void add_peer(struct bench_world *world, size_t i)
{
    char name[8], address[16];
    struct ek_apiserver_peer_config config = {
        .name = name,
        .address = address,
        .binary = "1.36.2",
        .emulation = EK_MINOR(1, 36 - (int)i),
        .min_compat = EK_MINOR(1, 35 - (int)i),
    };
    struct ek_err err;

    snprintf(name, sizeof name, "cp-%c", (char)('a' + i));
    snprintf(address, sizeof address, "127.0.0.%zu", 51 + i);
    must(ek_apiserver_add_peer(world->server, &config, &world->peers[i], &err), &err);
    must(ek_apishell_start_peer(world->shell, world->peers[i], &err), &err);
}

/* The i-th node with another version (NULL: as it is) and no resourceVersion; owned, by free. */
static char *write_node(struct bench_world *world, size_t i, const char *version)
{
    const struct bench_corpus *nodes = &world->nodes;
    size_t at = nodes->offsets[i], len = nodes->offsets[i + 1] - at - 1;
    yyjson_doc *doc = yyjson_read(nodes->items.data + at, len, 0);
    yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);

    yyjson_mut_obj_remove_key(yyjson_mut_doc_ptr_get(copy, "/metadata"), "resourceVersion");
    if (version)
        yyjson_mut_obj_put(yyjson_mut_doc_ptr_get(copy, "/status/nodeInfo"),
                           yyjson_mut_str(copy, "kubeletVersion"), yyjson_mut_str(copy, version));
    char *json = yyjson_mut_write(copy, 0, NULL);
    yyjson_mut_doc_free(copy);
    yyjson_doc_free(doc);
    return json;
}

void bench_world_touch(struct bench_world *world, size_t i, const char *version)
{
    char *changed = version ? write_node(world, i, version) : NULL;
    const char *json = changed ? changed : world->texts[i];
    struct ek_err err;

    must(ek_apiserver_seed(world->server, "", "v1", "nodes", json, strlen(json), &err), &err);
    free(changed);
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer; /* bench_world_run looks at the clock */
}

void bench_world_open(struct bench_world *world, size_t n_nodes)
{
    static const cookie_io_functions_t audit = {.write = on_audit};
    static const char *const user = "admin", *const token = BENCH_WORLD_TOKEN;
    struct ek_apiserver_config server = {.window = 100000, .seed = 1};
    struct ek_err err;

    signal(SIGPIPE, SIG_IGN);
    *world = (struct bench_world){.folder = "/tmp/ek-bench.XXXXXX"};
    if (!mkdtemp(world->folder))
        bench_fail("no folder at %s", world->folder);
    snprintf(world->kubeconfig, sizeof world->kubeconfig, "%s/kubeconfig", world->folder);
    uv_loop_init(&world->loop);
    uv_timer_init(&world->loop, &world->ticker);
    uv_timer_start(&world->ticker, on_tick, TICK, TICK);
    world->server = ek_apiserver_new(&server, wall_ms());
    ek_apiserver_add_token(world->server, token, user, "system:masters", NULL);
    world->audit = fopencookie(world, "w", audit);
    struct ek_apishell_config shell = {
        .loop = &world->loop, .server = world->server, .audit = world->audit, .seed = 1};
    must(ek_apishell_new(&shell, &world->shell, &err), &err);
    for (size_t i = 0; i < WORLD_PEERS; i++)
        add_peer(world, i);
    must(ek_apishell_write_kubeconfig(world->shell, world->kubeconfig, &user, &token, 1, &err),
         &err);
    bench_world_define(world, "evenkeel.dev_controlplanes.yaml");
    create_control_plane(world);
    bench_corpus_init(&world->nodes, &bench_nodes, n_nodes);
    world->texts = ek_xrealloc(NULL, n_nodes, sizeof(char *));
    for (size_t i = 0; i < n_nodes; i++) {
        world->texts[i] = write_node(world, i, NULL);
        bench_world_touch(world, i, NULL);
    }
}

void bench_world_close(struct bench_world *world)
{
    if (world->controller) {
        bench_stop(world->controller);
        close(world->controller_out);
    }
    uv_close((uv_handle_t *)&world->ticker, NULL);
    ek_apishell_close(world->shell, NULL, NULL);
    uv_run(&world->loop, UV_RUN_DEFAULT);
    uv_loop_close(&world->loop);
    ek_apiserver_free(world->server);
    fclose(world->audit);
    for (size_t i = 0; i < world->nodes.n; i++)
        free(world->texts[i]);
    ek_free(world->texts);
    bench_corpus_done(&world->nodes);
    unlink(world->kubeconfig);
    rmdir(world->folder);
}

void bench_world_start(struct bench_world *world, const char *evenkeel)
{
    const char *argv[8 + WORLD_FLAGS_MAX] = {evenkeel,
                                             "run",
                                             "--kubeconfig",
                                             world->kubeconfig,
                                             "--debug-socket=0",
                                             "--health-probe-bind-address=0",
                                             "--zap-log-level=error"};

    for (size_t i = 0; i < WORLD_FLAGS_MAX && world->flags[i]; i++)
        argv[7 + i] = world->flags[i];
    world->controller = bench_spawn(argv, &world->controller_out);
}

void bench_world_run(struct bench_world *world, double ms)
{
    double until = bench_now_ms() + ms;

    while (bench_now_ms() < until)
        uv_run(&world->loop, UV_RUN_ONCE);
}

bool bench_world_wait(struct bench_world *world, unsigned long n, double ms)
{
    double until = bench_now_ms() + ms;

    while (world->n_written <= n && bench_now_ms() < until)
        uv_run(&world->loop, UV_RUN_ONCE);
    return world->n_written > n;
}
