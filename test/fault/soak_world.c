/* SPDX-License-Identifier: Apache-2.0 */
#include "test/fault/soak_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/base/mem.h"

#define ADMIN     "admin-of-the-soak"
#define CRD_FILE  EK_TEST_DATA "/../../deploy/crd/evenkeel.dev_controlplanes.yaml"
#define CRDS      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define CRD       CRDS "/controlplanes.evenkeel.dev"
#define LEASES    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
#define PLANE     "/apis/evenkeel.dev/v1alpha1/controlplanes/cluster"
#define NODES     "/api/v1/nodes"
#define FIRST_DAY INT64_C(1767225600000) /* 2026-01-01 */

/* What a peer may be restarted as. */
static const struct {
    const char *binary;
    unsigned minor;
} versions[] = {{"1.36.2", 36}, {"1.36.2", 35}, {"1.35.1", 35}, {"1.35.1", 34}, {"1.34.4", 34}};

_Noreturn static void give_up(const char *what, const struct ek_err *err)
{
    printf("FAILED: %s: %s\n", what, err ? err->message : "");
    fflush(stdout);
    abort();
}

unsigned soak_pick(struct soak_world *world, unsigned n)
{
    return (unsigned)(ek_rand_next(&world->random) % n);
}

static const char *type_of(const char *method, const char *body)
{
    if (!strcmp(method, "PATCH"))
        return "application/merge-patch+json";
    return body && *body == '{' ? "application/json" : "application/yaml";
}

int soak_call(struct soak_world *world, const char *method, const char *path, const char *body)
{
    struct ek_apiserver_response response;
    const struct ek_apiserver_request request = {
        .method = method,
        .path = path,
        .query = "",
        .accept = "application/json",
        .content_type = body ? type_of(method, body) : NULL,
        .authorization = "Bearer " ADMIN,
        .body = ek_str_from(body ? body : ""),
    };

    ek_apiserver_handle(world->peers[0].peer, &request, soak_wall(), &response);
    int status = response.status;
    ek_apiserver_response_done(&response);
    ek_apishell_poke(world->shell);
    return status;
}

/* --- what the world is made of ------------------------------------------------------------ */

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = ek_xalloc(1 << 20);

    if (!file || fread(text, 1, (1 << 20) - 1, file) == 0)
        give_up(path, NULL);
    fclose(file);
    return text;
}

static void install_crd(struct soak_world *world)
{
    if (world->crd)
        return;
    char *yaml = read_file(CRD_FILE);
    int status = soak_call(world, "POST", CRDS, yaml);
    ek_free(yaml);
    if (status != 201)
        give_up("the CustomResourceDefinition is refused", NULL);
    world->crd = true;
    world->n_definitions++;
}

static void put_token(struct soak_world *world)
{
    char text[32];

    snprintf(text, sizeof text, "soak-%u", world->token);
    testdir_put(world->dir, "token", text, 0600);
}

static void new_token(struct soak_world *world)
{
    char text[32];

    snprintf(text, sizeof text, "soak-%u", world->token);
    ek_apiserver_revoke_token(world->server, text);
    snprintf(text, sizeof text, "soak-%u", ++world->token);
    ek_apiserver_add_token(world->server, text, "evenkeel", "", "*");
}

static char *write_kubeconfig(struct soak_world *world, const char *name, const char *user)
{
    const char *pem = ek_apishell_ca(world->shell);
    char *ca = ek_base64_encode(pem, strlen(pem));
    char *url = ek_apishell_url(world->peers[0].peer);
    char *text = ek_xasprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                              "clusters: [{name: c, cluster: {server: \"%s\", "
                              "certificate-authority-data: %s}}]\n"
                              "users: [{name: u, user: {%s}}]\n"
                              "contexts: [{name: c, context: {cluster: c, user: u}}]\n",
                              url, ca, user);

    testdir_put(world->dir, name, text, 0600);
    ek_free(ca);
    ek_free(url);
    ek_free(text);
    return ek_xasprintf("%s/%s", world->dir, name);
}

static void set_node(struct soak_world *world, unsigned i, unsigned minor)
{
    char *body = ek_xasprintf("{\"metadata\":{\"name\":\"node-%u\"},\"status\":{\"nodeInfo\":{"
                              "\"kubeletVersion\":\"v1.%u.1\"}}}",
                              i, minor);
    char path[64];

    if (world->nodes[i]) {
        snprintf(path, sizeof path, NODES "/node-%u/status", i);
        soak_call(world, "PATCH", path, body);
    } else {
        soak_call(world, "POST", NODES, body);
    }
    world->nodes[i] = true;
    ek_free(body);
}

static void start_peer(struct soak_world *world, struct soak_peer *peer)
{
    struct ek_err err = {0};

    if (ek_apishell_start_peer(world->shell, peer->peer, &err))
        give_up("starting a peer", &err);
    peer->running = true;
    peer->hung = peer->expired = peer->absent = false;
}

static void add_peer(struct soak_world *world, size_t i, const char *name, const char *address)
{
    struct ek_err err = {0};
    struct soak_peer *peer = &world->peers[i];
    const struct ek_apiserver_peer_config config = {
        .name = name,
        .address = address,
        /* One port for all: an EndpointSlice has one. */
        .port = i ? ek_apiserver_peer_port(world->peers[0].peer) : 0,
        .binary = "1.36.2",
        .emulation = {.major = 1, .minor = 36, .known = true},
    };

    peer->name = name;
    peer->emulation = config.emulation;
    if (ek_apiserver_add_peer(world->server, &config, &peer->peer, &err))
        give_up("adding a peer", &err);
    start_peer(world, peer);
}

void soak_world_make(struct soak_world *world, uint64_t seed)
{
    static const char *const names[][2] = {
        {"cp-a", "10.99.0.11"}, {"cp-b", "10.99.0.12"}, {"cp-c", "10.99.0.13"}};
    const struct ek_apiserver_config config = {.window = 40, .seed = seed};
    struct ek_apishell_config shell = {.loop = &world->loop, .seed = seed};
    struct ek_err err = {0};

    soak_time_begin(FIRST_DAY);
    soak_hostile_begin(&world->hostile);
    world->random.state = seed;
    testdir_make(world->dir);
    uv_loop_init(&world->loop);
    world->server = ek_apiserver_new(&config, soak_wall());
    ek_apiserver_add_token(world->server, ADMIN, "admin", "system:masters", "*");
    shell.server = world->server;
    if (getenv("SOAK_AUDIT"))
        shell.audit = stdout;
    if (ek_apishell_new(&shell, &world->shell, &err))
        give_up("making the API server", &err);
    for (size_t i = 0; i < EK_ARRAY_SIZE(names); i++)
        add_peer(world, i, names[i][0], names[i][1]);
    install_crd(world);
    for (unsigned i = 0; i < 4; i++)
        set_node(world, i, 35);
    new_token(world);
    put_token(world);
    char *file = ek_xasprintf("tokenFile: %s/token", world->dir);
    world->kubeconfig = write_kubeconfig(world, "kubeconfig", file);
    world->admin = write_kubeconfig(world, "admin", "token: " ADMIN);
    ek_free(file);
}

static void on_closed(void *ctx)
{
    *(bool *)ctx = true;
}

void soak_world_end(struct soak_world *world)
{
    ek_apishell_close(world->shell, on_closed, &world->closed);
    while (!world->closed)
        soak_live(&world->loop, 10);
    ek_apiserver_free(world->server);
    uv_loop_close(&world->loop);
    testdir_remove(world->dir);
    ek_free(world->kubeconfig);
    ek_free(world->admin);
}

/* --- what can happen ---------------------------------------------------------------------- */

static struct soak_peer *any_peer(struct soak_world *world)
{
    struct soak_peer *peer = &world->peers[soak_pick(world, 3)];
    return peer->running ? peer : NULL;
}

static void stop(struct soak_world *world, struct soak_peer *peer, bool crash)
{
    ek_apishell_stop_peer(world->shell, peer->peer, crash);
    peer->running = false;
    soak_live(&world->loop, 1 + soak_pick(world, 3000));
}

static void crash_peer(struct soak_world *world)
{
    struct soak_peer *peer = any_peer(world);
    if (peer)
        stop(world, peer, true);
}

static void hang_peer(struct soak_world *world)
{
    struct soak_peer *peer = any_peer(world);
    if (!peer)
        return;
    ek_apishell_hang_peer(world->shell, peer->peer, true);
    peer->hung = true;
}

/* Old connections go on; so they are cut, as a restart after a renewal would do. */
static void expire_certificate(struct soak_world *world)
{
    struct soak_peer *peer = any_peer(world);
    if (!peer)
        return;
    ek_apishell_expire_certificate(world->shell, peer->peer, true, NULL);
    ek_apishell_cut(world->shell, peer->peer);
    peer->expired = true;
}

static void restart_peer(struct soak_world *world)
{
    struct soak_peer *peer = any_peer(world);
    size_t v = soak_pick(world, EK_ARRAY_SIZE(versions));
    struct ek_err err = {0};

    if (!peer)
        return;
    stop(world, peer, soak_pick(world, 2));
    struct ek_apiserver_peer_config config = {
        .binary = versions[v].binary,
        .emulation = {.major = 1, .minor = versions[v].minor, .known = true},
        .gates = soak_pick(world, 3) ? "" : "WatchListClient=false",
    };
    if (ek_apiserver_peer_change(peer->peer, &config, &err))
        give_up("changing a peer", &err);
    peer->emulation = config.emulation;
    start_peer(world, peer);
}

/* The last one, and the one that the controller is configured with, stay. */
static void leave_peer(struct soak_world *world)
{
    struct soak_peer *peer = &world->peers[1 + soak_pick(world, 2)];

    if (!peer->running)
        return;
    stop(world, peer, false);
    peer->absent = true;
}

static void join_peer(struct soak_world *world)
{
    for (size_t i = 0; i < 3; i++) {
        if (world->peers[i].absent) {
            start_peer(world, &world->peers[i]);
            return;
        }
    }
}

/* The Leases' names are hashes of hostnames: all of them go, and come back when they are renewed.
 */
static void delete_leases(struct soak_world *world)
{
    soak_call(world, "DELETE", LEASES, NULL);
}

static void change_node(struct soak_world *world)
{
    set_node(world, soak_pick(world, SOAK_NODES_MAX), 33 + soak_pick(world, 4));
}

static void remove_node(struct soak_world *world)
{
    unsigned i = soak_pick(world, SOAK_NODES_MAX);
    char path[64];

    snprintf(path, sizeof path, NODES "/node-%u", i);
    if (world->nodes[i] && soak_call(world, "DELETE", path, NULL) == 200)
        world->nodes[i] = false;
}

static void delete_plane(struct soak_world *world)
{
    soak_call(world, "DELETE", PLANE, NULL);
}

static void edit_plane(struct soak_world *world)
{
    static const char *const edits[] = {
        "{\"spec\":{\"peers\":{\"probeInterval\":\"5s\"}}}",
        "{\"spec\":{\"peers\":{\"probeInterval\":\"15s\",\"probeTimeout\":\"2s\"}}}",
        "{\"spec\":{\"peers\":{\"forgetAfter\":\"1m\"}}}",
        "{\"spec\":null}",
    };
    soak_call(world, "PATCH", PLANE, edits[soak_pick(world, EK_ARRAY_SIZE(edits))]);
}

/* Somebody else writes a status. */
static void scribble(struct soak_world *world)
{
    soak_call(world, "PATCH", PLANE "/status",
              "{\"status\":{\"conditions\":null,\"peers\":null,\"summary\":{\"nodes\":77}}}");
}

static void remove_crd(struct soak_world *world)
{
    if (world->crd && soak_call(world, "DELETE", CRD, NULL) == 200)
        world->crd = false;
}

static void revoke_token(struct soak_world *world)
{
    new_token(world);
}

static void rotate_token(struct soak_world *world)
{
    new_token(world);
    put_token(world);
}

static void compact(struct soak_world *world)
{
    ek_apiserver_compact(world->server);
}

static void cut(struct soak_world *world)
{
    ek_apishell_cut(world->shell, NULL);
}

static void hostile_clients(struct soak_world *world)
{
    soak_hostile_connect(&world->hostile, 1 + soak_pick(world, 100),
                         soak_pick(world, SOAK_HOSTILE_WAYS));
}

const struct soak_change soak_changes[] = {
    {"a peer crashes", crash_peer},
    {"a peer hangs", hang_peer},
    {"a certificate expires", expire_certificate},
    {"a peer restarts at another version", restart_peer},
    {"a peer leaves", leave_peer},
    {"a peer joins", join_peer},
    {"the identity leases are deleted", delete_leases},
    {"a node comes or changes", change_node},
    {"a node goes", remove_node},
    {"the ControlPlane is deleted", delete_plane},
    {"the ControlPlane is edited", edit_plane},
    {"the status is overwritten", scribble},
    {"the definition is deleted", remove_crd},
    {"the definition comes back", install_crd},
    {"the token is revoked", revoke_token},
    {"the token is rotated", rotate_token},
    {"the storage is compacted", compact},
    {"all connections are cut", cut},
    {"hostile clients connect", hostile_clients},
};
const size_t soak_n_changes = EK_ARRAY_SIZE(soak_changes);

void soak_fault(struct soak_world *world, enum ek_fault_kind kind)
{
    static const char *const paths[] = {"",
                                        "",
                                        "/api",
                                        "/apis/coordination",
                                        "/api/v1/nodes",
                                        "/apis/evenkeel.dev",
                                        "/version",
                                        "/metrics",
                                        "/openapi",
                                        "/readyz"};
    static const char *const peers[] = {"", "", "cp-a", "cp-b", "cp-c"};
    static const unsigned percents[] = {100, 100, 50, 20};
    struct ek_fault fault = {
        .kind = kind,
        .count = soak_pick(world, 4) ? 1 + soak_pick(world, 20) : 0,
        .percent = percents[soak_pick(world, 4)],
        .bytes = soak_pick(world, 2) ? soak_pick(world, 600) : soak_pick(world, 20000),
        .ms = 1 + soak_pick(world, 20000),
        .seconds = (int)soak_pick(world, 30),
    };

    snprintf(fault.path, sizeof fault.path, "%s", paths[soak_pick(world, EK_ARRAY_SIZE(paths))]);
    snprintf(fault.peer, sizeof fault.peer, "%s", peers[soak_pick(world, EK_ARRAY_SIZE(peers))]);
    (void)ek_faults_add(ek_apishell_faults(world->shell), &fault, NULL);
}

static void mend(struct soak_world *world, struct soak_peer *peer)
{
    if (peer->absent)
        return;
    if (peer->hung)
        ek_apishell_hang_peer(world->shell, peer->peer, false);
    peer->hung = false;
    if (!peer->running)
        start_peer(world, peer);
    else if (peer->expired)
        ek_apishell_expire_certificate(world->shell, peer->peer, false, NULL);
    peer->expired = false;
}

void soak_world_lift(struct soak_world *world)
{
    ek_faults_clear(ek_apishell_faults(world->shell));
    soak_hostile_end(&world->hostile);
    soak_live(&world->loop, 100);
    for (size_t i = 0; i < 3; i++)
        mend(world, &world->peers[i]);
    install_crd(world);
    put_token(world);
}

unsigned long soak_world_count(const struct soak_world *world)
{
    return world->n_changes + ek_apishell_faults(world->shell)->n_applied;
}
