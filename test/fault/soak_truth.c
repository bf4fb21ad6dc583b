/* SPDX-License-Identifier: Apache-2.0 */
#include "test/fault/soak_truth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/cli/commands.h"
#include "controller/skew/watch.h"
#include "informers/client/kubeconfig.h"
#include "reconcilers/peers/view_source.h"

struct observer {
    struct ek_client_config *config;
    struct ek_client *client;
    struct ek_skew_watch *watch;
    struct ek_view_source *views;
    bool watch_closed, client_closed;
};

static void on_change(void *ctx)
{
    (void)ctx;
}

static void on_closed(void *ctx)
{
    *(bool *)ctx = true;
}

static bool open_observer(struct soak_world *world, struct observer *o, char *why)
{
    struct ek_err err = {0};

    if (ek_kubeconfig_load(world->admin, NULL, NULL, &o->config, &err) ||
        ek_client_new(&world->loop, o->config, ek_user_agent(), &o->client, &err)) {
        snprintf(why, 4096, "the observer: %s", err.message);
        return false;
    }
    o->watch = ek_skew_watch_new(&(struct ek_skew_watch_config){
        .loop = &world->loop,
        .client = o->client,
        .account = &(struct ek_probe_account){"evenkeel-system", "evenkeel-probe"},
        .now = soak_wall,
        .changed = on_change});
    ek_skew_watch_start(o->watch);
    o->views = ek_view_source_new();
    return true;
}

static void close_observer(struct soak_world *world, struct observer *o)
{
    if (o->watch) {
        ek_skew_watch_close(o->watch, on_closed, &o->watch_closed);
        while (!o->watch_closed)
            soak_live(&world->loop, 1);
    }
    if (o->client) {
        ek_client_close(o->client, on_closed, &o->client_closed);
        while (!o->client_closed)
            soak_live(&world->loop, 1);
    }
    ek_view_source_free(o->views);
    ek_client_config_free(o->config);
}

static yyjson_val *find_peer(yyjson_val *status, const char *name)
{
    size_t i, max;
    yyjson_val *item, *peers = ek_json_get(status, "peers", NULL);

    yyjson_arr_foreach(peers, i, max, item)
    {
        const char *known = ek_json_str(item, "name", NULL);
        if (known && !strcmp(known, name))
            return item;
    }
    return NULL;
}

static bool peer_is_told(const struct soak_peer *peer, yyjson_val *status, char *why)
{
    yyjson_val *item = find_peer(status, peer->name);
    const char *emulation = ek_json_str(item, "emulationVersion", NULL);
    bool reachable = yyjson_get_bool(ek_json_get(item, "reachable", NULL));
    char text[EK_MINOR_SIZE];

    if (!peer->running && reachable) {
        snprintf(why, 4096, "%s is told to be reachable, but it is gone", peer->name);
        return false;
    }
    if (peer->running && (!reachable || !emulation ||
                          strcmp(emulation, ek_minor_format(peer->emulation, text)) != 0)) {
        snprintf(why, 4096, "%s answers at %s, but is told %s at %s", peer->name,
                 ek_minor_format(peer->emulation, text), reachable ? "reachable" : "unreachable",
                 emulation ? emulation : "no version");
        return false;
    }
    return true;
}

/* What the world knows, against what is published. */
static bool world_is_told(const struct soak_world *world, yyjson_val *status, char *why)
{
    unsigned n = 0;

    for (size_t i = 0; i < 3; i++)
        if (!peer_is_told(&world->peers[i], status, why))
            return false;
    for (size_t i = 0; i < SOAK_NODES_MAX; i++)
        n += world->nodes[i];
    if (yyjson_get_uint(ek_json_get(status, "summary", "nodes", NULL)) != n) {
        snprintf(why, 4096, "there are %u nodes, but %d are told", n,
                 (int)yyjson_get_uint(ek_json_get(status, "summary", "nodes", NULL)));
        return false;
    }
    return true;
}

static void report_difference(const struct ek_skew_plan *plan, yyjson_val *old, char *why)
{
    char *expected = yyjson_mut_val_write(plan->status, 0, NULL);
    char *got = old ? yyjson_val_write(old, 0, NULL) : NULL;
    const char *a = expected ? expected : "", *b = got ? got : "nothing";
    size_t i = 0;

    while (a[i] && a[i] == b[i])
        i++;
    i = i > 200 ? i - 200 : 0;
    snprintf(why, 4096,
             "the plan of a fresh observer differs:\n  expected ...%.700s\n  told     ...%.700s",
             a + i, strlen(b) > i ? b + i : "");
    free(expected);
    free(got);
}

static const struct ek_view *make_documents(void *ctx, const struct ek_peer_table *peers)
{
    static const struct ek_exclusions none = {0};
    const struct observer *o = ctx;

    ek_view_source_update(o->views, peers, &none, soak_wall());
    return ek_view_source_view(o->views);
}

/* One look: true when the plan would write nothing and reports the world. */
static bool look(struct soak_world *world, struct observer *o, char *why)
{
    struct ek_skew_snapshot snapshot;
    struct ek_skew_plan plan;
    struct ek_arena *arena;
    yyjson_val *old = NULL;
    bool good = false;

    if (!ek_watchset_is_synced(ek_skew_watch_set(o->watch))) {
        snprintf(why, 4096, "the observer cannot list: %s",
                 ek_watchset_failure(ek_skew_watch_set(o->watch))
                     ? ek_watchset_failure(ek_skew_watch_set(o->watch))
                     : "");
        return false;
    }
    arena = ek_arena_new((size_t)64 << 20);
    ek_skew_watch_snapshot(o->watch, &snapshot);
    snapshot.view.make_documents = make_documents;
    snapshot.view.documents_ctx = o;
    ek_skew_plan_make(&snapshot.view, arena, &plan);
    if (snapshot.view.control_plane)
        old = ek_json_get(ek_obj_root(snapshot.view.control_plane), "status", NULL);
    if (!snapshot.view.probing_done)
        snprintf(why, 4096, "the observer has not asked everybody");
    else if (plan.create)
        snprintf(why, 4096, "there is no ControlPlane");
    else if (plan.status_changed)
        report_difference(&plan, old, why);
    else
        good = world_is_told(world, old, why);
    ek_skew_watch_set_targets(o->watch, &plan, true);
    ek_skew_plan_done(&plan);
    ek_skew_snapshot_done(&snapshot);
    ek_arena_free(arena);
    return good;
}

int64_t soak_converge(struct soak_world *world, int64_t limit_ms, char why[4096])
{
    struct observer observer = {0};
    int64_t begin = soak_now(), took = -1;

    if (!open_observer(world, &observer, why)) {
        close_observer(world, &observer);
        return -1;
    }
    do {
        soak_live(&world->loop, 1000);
        if (look(world, &observer, why))
            took = soak_now() - begin;
    } while (took < 0 && soak_now() - begin < limit_ms && soak_controller_runs(NULL));
    close_observer(world, &observer);
    return took;
}
