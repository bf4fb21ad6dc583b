/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/skew_watch.h"

#include <stdlib.h>
#include <string.h>

#include "api/time.h"

/* Leaves a server that restarts in place within a lease's hour to the light rounds, which notice
 * a changed /version; OpenAPI and /metrics are re-read this often at least. */
#define FULL_INTERVAL_MS ((int64_t)5 * 60 * 1000)

/* A server only ever says "Unauthorized", whatever the reason. */
#define NOT_AUTHENTICATED                                                                          \
    "Unauthorized: the server does not accept these credentials; the token or client certificate " \
    "may be expired, revoked or of another cluster"

enum resource {
    CONTROL_PLANES,
    LEASES,
    CANDIDATES,
    OLD_CANDIDATES,
    ENDPOINT_SLICES,
    NODES,
    CONTROL_PLANE_PODS,
    PROXY_PODS,
    N_RESOURCES,
};

#define CONTROL_PLANE_COMPONENTS                                                                   \
    "component in (kube-apiserver,kube-controller-manager,kube-scheduler,"                         \
    "cloud-controller-manager)"

/* What is read of the cluster; deploy/rbac grants exactly this. */
static const struct ek_resource resources[N_RESOURCES] = {
    [CONTROL_PLANES] = {.group = "evenkeel.dev",
                        .version = "v1alpha1",
                        .resource = "controlplanes",
                        .kind = "ControlPlane",
                        .optional = true},
    [LEASES] = {.group = "coordination.k8s.io",
                .version = "v1",
                .resource = "leases",
                .kind = "Lease",
                .namespace = "kube-system"},
    [CANDIDATES] = {.group = "coordination.k8s.io",
                    .version = "v1beta1",
                    .resource = "leasecandidates",
                    .kind = "LeaseCandidate",
                    .namespace = "kube-system",
                    .optional = true},
    /* Servers at 1.32 know this version alone (skew sheet, section 2.5). */
    [OLD_CANDIDATES] = {.group = "coordination.k8s.io",
                        .version = "v1alpha2",
                        .resource = "leasecandidates",
                        .kind = "LeaseCandidate",
                        .namespace = "kube-system",
                        .optional = true},
    [ENDPOINT_SLICES] = {.group = "discovery.k8s.io",
                         .version = "v1",
                         .resource = "endpointslices",
                         .kind = "EndpointSlice",
                         .namespace = "default",
                         .label_selector = "kubernetes.io/service-name=kubernetes"},
    [NODES] = {.version = "v1", .resource = "nodes", .kind = "Node", .group = ""},
    [CONTROL_PLANE_PODS] = {.group = "",
                            .version = "v1",
                            .resource = "pods",
                            .kind = "Pod",
                            .namespace = "kube-system",
                            .label_selector = CONTROL_PLANE_COMPONENTS},
    [PROXY_PODS] = {.group = "",
                    .version = "v1",
                    .resource = "pods",
                    .kind = "Pod",
                    .namespace = "kube-system",
                    .label_selector = "k8s-app in (kube-proxy,cloud-controller-manager)"},
};

struct ek_skew_watch {
    uv_loop_t *loop;
    struct ek_informer *informers[N_RESOURCES];
    struct ek_prober *prober;
    int64_t (*now)(void);
    void (*changed)(void *ctx);
    void *ctx;
    bool targets_known; /* a plan has named targets */
    int n_stopping;
    void (*on_stopped)(void *ctx);
    void *stopped_ctx;
};

void ek_skew_snapshot_done(struct ek_skew_snapshot *snapshot)
{
    for (size_t i = 0; i < N_RESOURCES; i++)
        ek_snapshot_free(snapshot->lists[i], snapshot->n[i]);
    for (size_t i = 0; i < snapshot->n_probes; i++) {
        ek_free((char *)(uintptr_t)snapshot->probes[i].address);
        ek_probe_unref((struct ek_probe *)(uintptr_t)snapshot->probes[i].probe);
    }
    for (size_t i = 0; i < snapshot->n_whys; i++)
        ek_free(snapshot->whys[i]);
    ek_free(snapshot->whys);
    ek_free(snapshot->probes);
    ek_free(snapshot->pods);
    *snapshot = (struct ek_skew_snapshot){0};
}

static const char *keep_why(struct ek_skew_snapshot *snapshot, char *why)
{
    snapshot->whys = ek_xrealloc(snapshot->whys, snapshot->n_whys + 1, sizeof *snapshot->whys);
    return snapshot->whys[snapshot->n_whys++] = why;
}

static void set_list(struct ek_skew_snapshot *snapshot, enum resource r, struct ek_obj **items,
                     size_t n, const char *why)
{
    snapshot->lists[r] = items;
    snapshot->n[r] = n;
    snapshot->objs[r] =
        (struct ek_objs){.items = items, .n = n, .available = *why == '\0', .why = why};
}

static int compare_keys(const void *a, const void *b)
{
    const struct ek_obj *const *x = a, *const *y = b;
    return strcmp(ek_obj_key(*x), ek_obj_key(*y));
}

/* Two selectors cannot be joined by "or" in one watch, so the reconciler's pods come from two. */
static void join_pods(struct ek_skew_snapshot *snapshot)
{
    const struct ek_objs *a = &snapshot->objs[CONTROL_PLANE_PODS];
    const struct ek_objs *b = &snapshot->objs[PROXY_PODS];
    size_t n = 0;

    snapshot->pods = ek_xalloc((a->n + b->n + 1) * sizeof(struct ek_obj *));
    for (size_t i = 0; i < a->n; i++)
        snapshot->pods[n++] = a->items[i];
    for (size_t i = 0; i < b->n; i++)
        snapshot->pods[n++] = b->items[i];
    qsort(snapshot->pods, n, sizeof(struct ek_obj *), compare_keys);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || compare_keys(&snapshot->pods[kept - 1], &snapshot->pods[i]) != 0)
            snapshot->pods[kept++] = snapshot->pods[i];
    snapshot->view.pods = (struct ek_objs){.items = snapshot->pods,
                                           .n = kept,
                                           .available = a->available && b->available,
                                           .why = a->available ? b->why : a->why};
}

static void fill_view(struct ek_skew_snapshot *snapshot)
{
    struct ek_skew_view *view = &snapshot->view;

    view->leases = snapshot->objs[LEASES];
    view->candidates =
        snapshot->objs[CANDIDATES].available || !snapshot->objs[OLD_CANDIDATES].available
            ? snapshot->objs[CANDIDATES]
            : snapshot->objs[OLD_CANDIDATES];
    view->endpoint_slices = snapshot->objs[ENDPOINT_SLICES];
    view->nodes = snapshot->objs[NODES];
    join_pods(snapshot);
    for (size_t i = 0; i < snapshot->n[CONTROL_PLANES]; i++)
        if (!strcmp(ek_obj_name(snapshot->lists[CONTROL_PLANES][i]), "cluster"))
            view->control_plane = snapshot->lists[CONTROL_PLANES][i];
    if (!strncmp(snapshot->objs[CONTROL_PLANES].why, "forbidden", 9))
        view->control_plane_why = snapshot->objs[CONTROL_PLANES].why;
    view->probes = snapshot->probes;
    view->n_probes = snapshot->n_probes;
}

static void add_probe(struct ek_skew_snapshot *snapshot, const char *address,
                      struct ek_probe *probe)
{
    snapshot->probes[snapshot->n_probes++] =
        (struct ek_probe_at){.address = ek_xstrdup(address), .probe = probe};
}

/* Why a resource cannot be seen, with what to do; "" while it can. */
static char *why_not(const struct ek_resource *resource, const struct ek_informer_status *status)
{
    if (status->last_error_code == EK_E_FORBIDDEN)
        return ek_xasprintf("forbidden: grant list and watch on %s%s%s%s%s", resource->resource,
                            *resource->group ? "." : "", resource->group,
                            resource->namespace ? " in namespace " : "",
                            resource->namespace ? resource->namespace : "");
    if (status->synced && !status->served)
        return ek_xasprintf("not served: the cluster has no %s.%s/%s", resource->resource,
                            resource->group, resource->version);
    if (!status->synced && *status->last_error)
        return ek_xasprintf("%s: %s", resource->resource, status->last_error);
    if (!status->synced)
        return ek_xasprintf("%s: not listed yet", resource->resource);
    return NULL;
}

void ek_skew_watch_snapshot(struct ek_skew_watch *watch, struct ek_skew_snapshot *ret_snapshot)
{
    struct ek_skew_snapshot snapshot = {.view = {.now_ms = watch->now()}};
    size_t n_probes = ek_prober_size(watch->prober);

    for (int r = 0; r < N_RESOURCES; r++) {
        struct ek_informer_status status;
        size_t n;
        ek_informer_status(watch->informers[r], &status);
        char *why = why_not(&resources[r], &status);
        struct ek_obj **items = ek_store_snapshot(ek_informer_store(watch->informers[r]), &n);
        set_list(&snapshot, r, items, n, why ? keep_why(&snapshot, why) : "");
    }
    snapshot.probes = ek_xalloc((n_probes + 1) * sizeof *snapshot.probes);
    for (size_t i = 0; i < n_probes; i++) {
        const char *address;
        const struct ek_probe *probe = ek_prober_at(watch->prober, i, &address);
        if (probe)
            add_probe(&snapshot, address, ek_probe_ref(probe));
    }
    fill_view(&snapshot);
    snapshot.view.probing_done = ek_skew_watch_is_probed(watch);
    *ret_snapshot = snapshot;
}

static void newest(yyjson_val *root, const char *field, int64_t *max_ms)
{
    int64_t t = ek_time_parse(ek_json_str(root, "spec", field, NULL));
    if (t != EK_TIME_UNSET && t > *max_ms)
        *max_ms = t;
}

void ek_skew_snapshot_from_recording(struct ek_recording *recording,
                                     struct ek_skew_snapshot *ret_snapshot)
{
    struct ek_skew_snapshot snapshot = {0};

    for (int r = 0; r < N_RESOURCES; r++) {
        struct ek_obj **items = NULL;
        struct ek_err err = {0};
        size_t n = 0;
        int rc = ek_recording_list(recording, &resources[r], &items, &n, &err);
        set_list(
            &snapshot, r, items, n,
            rc ? keep_why(&snapshot, ek_xasprintf("%s: %s", resources[r].resource, err.message))
               : "");
        if (n)
            qsort(items, n, sizeof(struct ek_obj *), compare_keys);
        for (size_t i = 0; (r == LEASES || r == CANDIDATES || r == OLD_CANDIDATES) && i < n; i++) {
            newest(ek_obj_root(items[i]), "renewTime", &snapshot.view.now_ms);
            newest(ek_obj_root(items[i]), "pingTime", &snapshot.view.now_ms);
        }
    }
    size_t n_probes = ek_recording_size(recording);
    snapshot.probes = ek_xalloc((n_probes + 1) * sizeof *snapshot.probes);
    for (size_t i = 0; i < n_probes; i++) {
        const char *address;
        struct ek_probe *probe = ek_recording_probe(recording, i, snapshot.view.now_ms, &address);
        add_probe(&snapshot, address, probe);
    }
    fill_view(&snapshot);
    snapshot.view.probing_done = true;
    *ret_snapshot = snapshot;
}

/* Lease objects are renewed every few seconds; what matters of them are comings, goings and new
 * holders. */
static bool lease_matters(const struct ek_obj *old, const struct ek_obj *obj)
{
    if (!old || !obj)
        return true;
    const char *a = ek_json_str(ek_obj_root(old), "spec", "holderIdentity", NULL);
    const char *b = ek_json_str(ek_obj_root(obj), "spec", "holderIdentity", NULL);
    return !a || !b || strcmp(a, b) != 0;
}

static void on_change(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                      const struct ek_obj *obj, bool initial)
{
    struct ek_skew_watch *watch = ctx;

    (void)change;
    if (!initial && !strcmp(ek_obj_kind(obj ? obj : old), "Lease") && !lease_matters(old, obj))
        return;
    watch->changed(watch->ctx);
}

/* Whoever joins or leaves may change what each API server serves and which are there. */
static void on_peer_change(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                           const struct ek_obj *obj, bool initial)
{
    struct ek_skew_watch *watch = ctx;
    const struct ek_obj *any = obj ? obj : old;

    (void)change;
    if (initial)
        return;
    if (!strcmp(ek_obj_kind(any), "EndpointSlice") ||
        (lease_matters(old, obj) && ek_obj_label(any, "apiserver.kubernetes.io/identity")))
        ek_prober_kick(watch->prober);
}

static void on_informer(void *ctx)
{
    struct ek_skew_watch *watch = ctx;
    watch->changed(watch->ctx);
}

struct ek_skew_watch *ek_skew_watch_new(uv_loop_t *loop, struct ek_client *client,
                                        int64_t (*now)(void), void (*changed)(void *ctx), void *ctx)
{
    struct ek_skew_watch *watch = ek_xalloc(sizeof *watch);

    watch->loop = loop;
    watch->now = now;
    watch->changed = changed;
    watch->ctx = ctx;
    watch->prober = ek_prober_new(loop, client, now, on_informer, watch);
    for (int r = 0; r < N_RESOURCES; r++) {
        watch->informers[r] = ek_informer_new(loop, client, &resources[r]);
        struct ek_store *store = ek_informer_store(watch->informers[r]);
        ek_store_add_handler(store, on_change, watch);
        if (r == LEASES || r == ENDPOINT_SLICES)
            ek_store_add_handler(store, on_peer_change, watch);
        ek_informer_set_observer(watch->informers[r], on_informer, watch);
    }
    return watch;
}

void ek_skew_watch_start(struct ek_skew_watch *watch)
{
    for (int r = 0; r < N_RESOURCES; r++)
        ek_informer_start(watch->informers[r]);
}

static void on_part_stopped(void *ctx)
{
    struct ek_skew_watch *watch = ctx;

    if (--watch->n_stopping > 0)
        return;
    for (int r = 0; r < N_RESOURCES; r++)
        ek_informer_free(watch->informers[r]);
    if (watch->on_stopped)
        watch->on_stopped(watch->stopped_ctx);
    ek_free(watch);
}

void ek_skew_watch_close(struct ek_skew_watch *watch, void (*on_stopped)(void *ctx), void *ctx)
{
    if (!watch)
        return;
    watch->on_stopped = on_stopped;
    watch->stopped_ctx = ctx;
    watch->n_stopping = N_RESOURCES + 1;
    ek_prober_close(watch->prober, on_part_stopped, watch);
    for (int r = 0; r < N_RESOURCES; r++)
        ek_informer_stop(watch->informers[r], on_part_stopped, watch);
}

/* A list that is not permitted stays so until someone acts: waiting for it helps nobody. */
static bool is_settled(const struct ek_informer_status *status)
{
    return status->synced || status->last_error_code == EK_E_FORBIDDEN;
}

bool ek_skew_watch_is_settled(const struct ek_skew_watch *watch)
{
    for (int r = 0; r < N_RESOURCES; r++) {
        struct ek_informer_status status;
        ek_informer_status(watch->informers[r], &status);
        if (!is_settled(&status))
            return false;
    }
    return true;
}

bool ek_skew_watch_is_probed(const struct ek_skew_watch *watch)
{
    return watch->targets_known && ek_prober_is_settled(watch->prober);
}

/* Whether trying again is not worth waiting for. 429 means "come again", as a server says of a kind
 * that it has just learned; a first refusal may be that of a streamed list, and a plain one
 * follows. */
static bool is_lasting(const struct ek_informer_status *status)
{
    switch (status->last_error_code) {
    case EK_E_THROTTLED:
        return false;
    case EK_E_REFUSED:
    case EK_E_TLS:
    case EK_E_NET:
    case EK_E_IO:
    case EK_E_UNAUTHORIZED:
        return true;
    default:
        return status->failures > 1;
    }
}

const char *ek_skew_watch_failure(const struct ek_skew_watch *watch)
{
    for (int r = 0; r < N_RESOURCES; r++) {
        struct ek_informer_status status;
        ek_informer_status(watch->informers[r], &status);
        if (!is_settled(&status) && *status.last_error && is_lasting(&status))
            return status.last_error_code == EK_E_UNAUTHORIZED ? NOT_AUTHENTICATED
                                                               : status.last_error;
    }
    return NULL;
}

void ek_skew_watch_set_targets(struct ek_skew_watch *watch, const struct ek_skew_plan *plan,
                               bool repeat)
{
    struct ek_prober_options options = {
        .interval_ms = repeat ? plan->probe_interval_ms : 0,
        .timeout_ms = plan->probe_timeout_ms,
        .full_interval_ms = FULL_INTERVAL_MS,
    };
    struct ek_prober_target *targets = ek_xalloc((plan->n_targets + 1) * sizeof *targets);

    for (size_t i = 0; i < plan->n_targets; i++)
        targets[i] = (struct ek_prober_target){.component = plan->targets[i].component,
                                               .address = plan->targets[i].address};
    watch->targets_known = true;
    ek_prober_set(watch->prober, targets, plan->n_targets, &options);
    ek_free(targets);
}

struct ek_informer *ek_skew_watch_informer(const struct ek_skew_watch *watch, size_t i,
                                           const struct ek_resource **ret_resource)
{
    if (i >= N_RESOURCES)
        return NULL;
    *ret_resource = &resources[i];
    return watch->informers[i];
}

const struct ek_prober *ek_skew_watch_prober(const struct ek_skew_watch *watch)
{
    return watch->prober;
}
