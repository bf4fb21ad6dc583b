/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/skew/watch.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/time.h"
#include "reconcilers/peers/address.h"
#include "reconcilers/peers/lease_event.h"
#include "reconcilers/peers/pod_event.h"

/* Leaves a server that restarts in place within a lease's hour to the light rounds, which notice
 * a changed /version; OpenAPI and /metrics are re-read this often at least. */
#define FULL_INTERVAL_MS ((int64_t)5 * 60 * 1000)

enum {
    CONTROL_PLANES,
    LEASES,
    CANDIDATES,
    OLD_CANDIDATES,
    ENDPOINT_SLICES,
    NODES,
    CONTROL_PLANE_PODS,
    PROXY_PODS,
};

#define CONTROL_PLANE_COMPONENTS                                                                   \
    "component in (kube-apiserver,kube-controller-manager,kube-scheduler,"                         \
    "cloud-controller-manager)"

struct ek_skew_watch {
    struct ek_client *client;
    char configured[EK_ADDRESS_SIZE]; /* the configured server, "" when it is a name */
    struct ek_watchset *set;
    bool owns_set;
    struct ek_prober *prober;
    struct ek_obj *written; /* the ControlPlane that the API server returned last, NULL before */
    int64_t (*now)(void);
    int64_t documents_ms;
    bool flagz;
    bool targets_known; /* a plan has named targets */
    int n_stopping;
    void (*on_stopped)(void *ctx);
    void *stopped_ctx;
};

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

/* An API server that joins or leaves may change what the others serve, and which there are. */
static void on_lease(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                     const struct ek_obj *obj, bool initial)
{
    static const struct ek_lease_rule rule = {
        .self = "", .label = EK_LEASE_LABEL, .value = EK_LEASE_LABEL_VALUE};
    const struct ek_skew_watch *watch = ctx;

    (void)change;
    if (!initial && ek_lease_event_matters(&rule, old, obj))
        ek_prober_kick(watch->prober);
}

/* An API server that restarts may be another version. */
static void on_pod(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                   const struct ek_obj *obj, bool initial)
{
    const struct ek_skew_watch *watch = ctx;

    (void)change;
    if (!initial && ek_pod_event_matters(old, obj))
        ek_prober_kick(watch->prober);
}

static void on_endpoints(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                         const struct ek_obj *obj, bool initial)
{
    const struct ek_skew_watch *watch = ctx;

    (void)change;
    (void)old;
    (void)obj;
    if (!initial)
        ek_prober_kick(watch->prober);
}

/* Deleted by somebody: what was written is no longer there, and will be created again. */
static void on_control_plane(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                             const struct ek_obj *obj, bool initial)
{
    (void)old;
    (void)obj;
    (void)initial;
    if (change == EK_STORE_DELETED)
        ek_skew_watch_wrote(ctx, NULL);
}

/* What is read of the cluster; deploy/rbac grants exactly this. What may not be read is reported by
 * the plan. */
const struct ek_watch_row ek_skew_rows[EK_SKEW_ROWS] = {
    [CONTROL_PLANES] = {.resource = {.group = "evenkeel.dev",
                                     .version = "v1alpha1",
                                     .resource = "controlplanes",
                                     .kind = "ControlPlane",
                                     .optional = true},
                        .flags = EK_WATCH_QUIET | EK_WATCH_DEFINED,
                        .seen = on_control_plane},
    [LEASES] = {.resource = {.group = "coordination.k8s.io",
                             .version = "v1",
                             .resource = "leases",
                             .kind = "Lease",
                             .namespace = "kube-system"},
                .flags = EK_WATCH_QUIET,
                .matters = lease_matters,
                .seen = on_lease},
    [CANDIDATES] = {.resource = {.group = "coordination.k8s.io",
                                 .version = "v1beta1",
                                 .resource = "leasecandidates",
                                 .kind = "LeaseCandidate",
                                 .namespace = "kube-system",
                                 .optional = true},
                    .flags = EK_WATCH_QUIET},
    /* API servers at 1.32 serve this version alone. */
    [OLD_CANDIDATES] = {.resource = {.group = "coordination.k8s.io",
                                     .version = "v1alpha2",
                                     .resource = "leasecandidates",
                                     .kind = "LeaseCandidate",
                                     .namespace = "kube-system",
                                     .optional = true},
                        .flags = EK_WATCH_QUIET},
    [ENDPOINT_SLICES] = {.resource = {.group = "discovery.k8s.io",
                                      .version = "v1",
                                      .resource = "endpointslices",
                                      .kind = "EndpointSlice",
                                      .namespace = "default",
                                      .label_selector = "kubernetes.io/service-name=kubernetes"},
                         .flags = EK_WATCH_QUIET,
                         .seen = on_endpoints},
    [NODES] = {.resource = {.group = "", .version = "v1", .resource = "nodes", .kind = "Node"},
               .flags = EK_WATCH_QUIET},
    [CONTROL_PLANE_PODS] = {.resource = {.group = "",
                                         .version = "v1",
                                         .resource = "pods",
                                         .kind = "Pod",
                                         .namespace = "kube-system",
                                         .label_selector = CONTROL_PLANE_COMPONENTS},
                            .flags = EK_WATCH_QUIET,
                            .seen = on_pod},
    [PROXY_PODS] = {.resource = {.group = "",
                                 .version = "v1",
                                 .resource = "pods",
                                 .kind = "Pod",
                                 .namespace = "kube-system",
                                 .label_selector =
                                     "k8s-app in (kube-proxy,cloud-controller-manager)"},
                    .name = "pods-proxy",
                    .flags = EK_WATCH_QUIET},
};

void ek_skew_snapshot_done(struct ek_skew_snapshot *snapshot)
{
    for (size_t i = 0; i < EK_SKEW_ROWS; i++)
        ek_snapshot_free(snapshot->lists[i], snapshot->n[i]);
    for (size_t i = 0; i < snapshot->n_probes; i++) {
        ek_free((char *)(uintptr_t)snapshot->probes[i].address);
        ek_probe_unref((struct ek_probe *)(uintptr_t)snapshot->probes[i].probe);
    }
    for (size_t i = 0; i < snapshot->n_whys; i++)
        ek_free(snapshot->whys[i]);
    ek_free(snapshot->whys);
    ek_obj_unref(snapshot->written);
    ek_free(snapshot->probes);
    ek_free(snapshot->pods);
    *snapshot = (struct ek_skew_snapshot){0};
}

static const char *keep_why(struct ek_skew_snapshot *snapshot, char *why)
{
    snapshot->whys = ek_xrealloc(snapshot->whys, snapshot->n_whys + 1, sizeof *snapshot->whys);
    return snapshot->whys[snapshot->n_whys++] = why;
}

/* Why a resource cannot be seen, with what to do; NULL while it can. */
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

static int code_of(const struct ek_informer_status *status)
{
    if (status->last_error_code == EK_E_FORBIDDEN)
        return EK_E_FORBIDDEN;
    if (status->synced)
        return EK_E_NOENT;
    if (status->last_error_code == EK_E_NOENT)
        return EK_E_HTTP; /* 404 where the resource has to be served */
    return *status->last_error ? status->last_error_code : EK_E_TIMEOUT;
}

static void set_list(struct ek_skew_snapshot *snapshot, size_t r, struct ek_obj **items, size_t n,
                     const struct ek_informer_status *status)
{
    char *why = why_not(&ek_skew_rows[r].resource, status);

    snapshot->lists[r] = items;
    snapshot->n[r] = n;
    snapshot->codes[r] = why ? code_of(status) : 0;
    snapshot->objs[r] = (struct ek_objs){
        .items = items, .n = n, .available = !why, .why = why ? keep_why(snapshot, why) : ""};
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
    qsort(snapshot->pods, n, sizeof(struct ek_obj *), ek_obj_by_key);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || ek_obj_by_key(&snapshot->pods[kept - 1], &snapshot->pods[i]) != 0)
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

/* The configured server as an address, where the configuration names one and proves it by TLS. */
static void read_configured(struct ek_skew_watch *watch)
{
    const char *server = ek_client_server(watch->client);

    if (!strncmp(server, "https://", 8))
        ek_address_parse(server + 8, watch->configured, NULL);
}

/* True when what was written is newer than what the informer has. Not so when the object came and
 * went while the informer saw neither, or when versions cannot be compared. */
static bool is_ahead(const struct ek_skew_watch *watch, const struct ek_obj *seen)
{
    const char *written = ek_obj_resource_version(watch->written);
    int order = 0;

    if (!seen)
        return !ek_store_has_reached(ek_watchset_store(watch->set, CONTROL_PLANES), written);
    return !ek_resource_version_compare(written, ek_obj_resource_version(seen), &order) &&
           order > 0;
}

static void use_written(struct ek_skew_watch *watch, struct ek_skew_snapshot *snapshot)
{
    if (watch->written && is_ahead(watch, snapshot->view.control_plane))
        snapshot->view.control_plane = snapshot->written = ek_obj_ref(watch->written);
    else
        ek_skew_watch_wrote(watch, NULL);
}

void ek_skew_watch_snapshot(struct ek_skew_watch *watch, struct ek_skew_snapshot *ret_snapshot)
{
    struct ek_skew_snapshot snapshot = {.view = {.now_ms = watch->now()}};
    size_t n_probes = ek_prober_size(watch->prober);

    for (int r = 0; r < EK_SKEW_ROWS; r++) {
        struct ek_informer_status status;
        size_t n;
        ek_watchset_status(watch->set, r, &status);
        struct ek_obj **items = ek_store_snapshot(ek_watchset_store(watch->set, r), &n);
        set_list(&snapshot, r, items, n, &status);
    }
    snapshot.probes = ek_xalloc((n_probes + 1) * sizeof *snapshot.probes);
    for (size_t i = 0; i < n_probes; i++) {
        const char *address;
        const struct ek_probe *probe = ek_prober_at(watch->prober, i, &address);
        if (probe)
            add_probe(&snapshot, address, ek_probe_ref(probe));
    }
    fill_view(&snapshot);
    use_written(watch, &snapshot);
    read_configured(watch);
    snapshot.view.configured = *watch->configured ? watch->configured : NULL;
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

    for (int r = 0; r < EK_SKEW_ROWS; r++) {
        struct ek_obj **items = NULL;
        struct ek_err err = {0};
        size_t n = 0;
        int rc = ek_recording_list(recording, &ek_skew_rows[r].resource, &items, &n, &err);
        /* Of a resource that the cluster did not serve the recording has the answer 404. */
        bool not_served = rc == EK_E_NOENT && err.http_status;
        set_list(&snapshot, r, items, n,
                 &(struct ek_informer_status){.synced = !rc || not_served,
                                              .served = !rc,
                                              .last_error = err.message,
                                              .last_error_code = rc});
        if (n)
            qsort(items, n, sizeof(struct ek_obj *), ek_obj_by_key);
        for (size_t i = 0; (r == LEASES || r == CANDIDATES || r == OLD_CANDIDATES) && i < n; i++) {
            newest(ek_obj_root(items[i]), "renewTime", &snapshot.view.now_ms);
            newest(ek_obj_root(items[i]), "pingTime", &snapshot.view.now_ms);
        }
    }
    if (ek_recording_time(recording) != EK_TIME_UNSET)
        snapshot.view.now_ms = ek_recording_time(recording);
    size_t n_probes = ek_recording_size(recording);
    snapshot.probes = ek_xalloc((n_probes + 1) * sizeof *snapshot.probes);
    for (size_t i = 0; i < n_probes; i++) {
        const char *address;
        struct ek_probe *probe = ek_recording_probe(recording, i, snapshot.view.now_ms, &address);
        add_probe(&snapshot, address, probe);
    }
    fill_view(&snapshot);
    snapshot.view.configured = ek_recording_configured(recording);
    snapshot.view.probing_done = ek_recording_is_probed(recording);
    *ret_snapshot = snapshot;
}

struct ek_skew_watch *ek_skew_watch_new(const struct ek_skew_watch_config *config)
{
    struct ek_skew_watch *watch = ek_xalloc(sizeof *watch);

    watch->now = config->now;
    watch->documents_ms = config->documents_ms;
    watch->flagz = config->flagz;
    watch->client = config->client;
    watch->set = config->set;
    watch->owns_set = !config->set;
    watch->prober = ek_prober_new(config->loop, config->client, config->account->namespace,
                                  config->account->name, config->now, config->changed, config->ctx);
    if (watch->owns_set)
        watch->set = ek_watchset_new(&(struct ek_watchset_config){.loop = config->loop,
                                                                  .client = config->client,
                                                                  .rows = ek_skew_rows,
                                                                  .n = EK_SKEW_ROWS,
                                                                  .changed = config->changed,
                                                                  .ctx = config->ctx});
    ek_watchset_set_seen(watch->set, watch);
    return watch;
}

static void on_part_stopped(void *ctx)
{
    struct ek_skew_watch *watch = ctx;

    if (--watch->n_stopping > 0)
        return;
    ek_obj_unref(watch->written);
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
    /* A part may be closed at once: this function is a part too, the last one. */
    watch->n_stopping = watch->owns_set ? 3 : 2;
    ek_prober_close(watch->prober, on_part_stopped, watch);
    if (watch->owns_set)
        ek_watchset_close(watch->set, on_part_stopped, watch);
    on_part_stopped(watch);
}

const struct ek_watchset *ek_skew_watch_set(const struct ek_skew_watch *watch)
{
    return watch->set;
}

void ek_skew_watch_start(struct ek_skew_watch *watch)
{
    ek_watchset_start(watch->set);
}

bool ek_skew_watch_is_probed(const struct ek_skew_watch *watch)
{
    return watch->targets_known && ek_prober_is_synced(watch->prober);
}

void ek_skew_watch_wrote(struct ek_skew_watch *watch, const struct ek_obj *control_plane)
{
    struct ek_obj *before = watch->written;

    watch->written = ek_obj_ref(control_plane);
    ek_obj_unref(before);
}

void ek_skew_watch_set_targets(struct ek_skew_watch *watch, const struct ek_skew_plan *plan,
                               bool repeat)
{
    bool documents_only = watch->documents_ms > 0;
    struct ek_prober_options options = {
        .interval_ms = !repeat          ? 0
                       : documents_only ? watch->documents_ms
                                        : plan->probe_interval_ms,
        .timeout_ms = plan->probe_timeout_ms,
        .full_interval_ms = FULL_INTERVAL_MS,
        .documents_only = documents_only,
        .flagz = watch->flagz,
        .own_only = documents_only,
    };
    struct ek_prober_target *targets = ek_xalloc((plan->n_targets + 1) * sizeof *targets);
    size_t n = 0;

    for (size_t i = 0; i < plan->n_targets; i++)
        if (!documents_only || !strcmp(plan->targets[i].component, "kube-apiserver"))
            targets[n++] = (struct ek_prober_target){.component = plan->targets[i].component,
                                                     .address = plan->targets[i].address,
                                                     .credential = plan->targets[i].credential,
                                                     .host = plan->targets[i].host};
    watch->targets_known = true;
    ek_prober_set(watch->prober, targets, n, &options);
    ek_free(targets);
}

struct ek_prober *ek_skew_watch_prober(const struct ek_skew_watch *watch)
{
    return watch->prober;
}
