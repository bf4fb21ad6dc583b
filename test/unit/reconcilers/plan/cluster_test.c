/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters for plans: rows with what was observed, and what the steps report. */
#include "reconcilers/plan/cluster.h"

#include <stdio.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/discovery.h"
#include "test/support/suite.h"

#define ARENA_MAX ((size_t)16 << 20)
#define ROWS_MAX  4

static struct ek_plan_data data;

static void open_data(void)
{
    ck_assert_int_eq(ek_plan_data_open((struct ek_str){0}, &data, NULL), 0);
}

static void close_data(void)
{
    ek_plan_data_done(&data);
}

/* A server or an instance: minors; 0 is unknown. */
struct one {
    const char *name;
    unsigned binary, emulation, min_compat;
    bool assumed, absent, unread; /* absent: not live; unread: its flags */
    bool read;                    /* the flags of a controller */
    bool undiscovered;            /* no discovery */
    const char *gates;            /* "A=1 B=0": of the flags, or of the metrics when unread */
    struct ek_pod_api_flags apis; /* of the flags */
    const char *stage;            /* of the gates in the metrics */
    const char *served;           /* "group/version/resource", one; NULL: Deployments */
    const char *requested;        /* "group/version/resource", one; NULL: none */
    unsigned removed;             /* the release that removes the version that was requested */
    bool metrics, stale_metrics;  /* read; read before, and failed since */
    const char *unknown;          /* why the version is not known; NULL: known */
};

#define BETA_ADDRESSES        "networking.k8s.io/v1beta1/ipaddresses"
#define SERVER(host, b, e, m) .name = (host), .binary = (b), .emulation = (e), .min_compat = (m)
/* A controller manager, a scheduler and a kubelet. */
#define OTHERS(v) {KCM(v), SCHED(v)}, (v)
#define KCM(v)                                                                                     \
    {                                                                                              \
        .name = "kcm", .binary = (v), .emulation = (v)                                             \
    }
#define SCHED(v)                                                                                   \
    {                                                                                              \
        .name = "sched", .binary = (v), .emulation = (v)                                           \
    }

static const struct {
    const char *name;
    struct one servers[ROWS_MAX], controllers[ROWS_MAX];
    unsigned kubelet, to; /* to: 0 for the next */
    bool not_enumerated;
    enum ek_component ignored; /* EK_KUBE_APISERVER: none */
    const char *want;          /* "to 1.36, N steps, M unread|", ... "severity
                                  rule source object: message" lines of which the message may be left out */
} rows[] = {
    {"nothing unknown",
     {{SERVER("a", 36, 35, 34)}},
     {{.name = "kcm", .binary = 36, .emulation = 35},
      {.name = "sched", .binary = 36, .emulation = 35}},
     35,
     0,
     false,
     0,
     "to 1.36, 5 steps, 3 unread|"},
    {"all at one version: the next",
     {{SERVER("a", 35, 35, 34)}},
     OTHERS(35),
     0,
     false,
     0,
     "to 1.36, 8 steps, 3 unread|"},
    {"an upgrade was begun with one server",
     {{SERVER("a", 36, 35, 34)}, {SERVER("b", 35, 35, 34)}},
     OTHERS(35),
     0,
     false,
     0,
     "to 1.36, 10 steps, 3 unread|"},
    {"the minimum compatibility version is behind, and the kubelets: the upgrade is completed",
     {{SERVER("a", 36, 36, 33)}},
     {KCM(36), SCHED(36)},
     34,
     0,
     false,
     0,
     "to 1.36, 3 steps, 3 unread|"},
    {"the kubelets are behind",
     {{SERVER("a", 36, 36, 35)}},
     {KCM(36), SCHED(36)},
     35,
     0,
     false,
     0,
     "to 1.36, 1 steps, 3 unread|"},
    {"a controller emulates",
     {{SERVER("a", 36, 36, 35)}},
     {KCM(36), {.name = "sched", .binary = 36, .emulation = 35}},
     36,
     0,
     false,
     0,
     "to 1.36, 1 steps, 3 unread|"},
    {"a server that does not live does not count",
     {{SERVER("a", 36, 36, 35)}, {.name = "b", .binary = 0, .absent = true}},
     OTHERS(36),
     36,
     false,
     0,
     "to 1.36, 0 steps, 3 unread|"},
    {"a server without a version",
     {{SERVER("a", 36, 36, 35)}, {.name = "b", .binary = 0}},
     OTHERS(36),
     36,
     false,
     0,
     "to 1.36, no steps, 3 unread|unknown version-unknown kube-apiserver b : the version is not "
     "known: no "
     "source "
     "reports it\n"},
    {"no list of servers",
     {{SERVER("a", 36, 36, 35)}},
     OTHERS(36),
     36,
     true,
     0,
     "to 1.36, no steps, 3 unread|unknown not-enumerated  : the list of API servers is not known: "
     "why\n"},
    {"no server", {{.name = NULL}}, OTHERS(36), 36, false, 0, "to 1.36, no steps, 3 unread|"},
    {"an emulation version that is assumed",
     {{SERVER("a", 36, 36, 35), .assumed = true}},
     OTHERS(36),
     36,
     false,
     0,
     "to 1.36, 0 steps, 3 unread|unknown version-assumed kube-apiserver a : the emulation version "
     "is not "
     "proven; "
     "the plan assumes 1.36\n"},
    {"no scheduler",
     {{SERVER("a", 36, 36, 35)}},
     {KCM(36)},
     36,
     36,
     false,
     0,
     "to 1.36, no steps, 2 unread|unknown version-unknown kube-scheduler : the version is not "
     "known: no "
     "instance "
     "was seen\n"},
    {"no scheduler, and none is expected",
     {{SERVER("a", 36, 36, 35)}},
     {KCM(36)},
     36,
     36,
     false,
     EK_KUBE_SCHEDULER,
     "to 1.36, 0 steps, 2 unread|"},
    {"a controller that a provider hides",
     {{SERVER("a", 36, 36, 35)}},
     {{.name = "kcm", .unknown = "NotObservable"}, SCHED(36)},
     36,
     36,
     false,
     0,
     "to 1.36, no steps, 2 unread|unknown version-unknown kube-controller-manager kcm : the "
     "version is not known: no source reports it\n"},
    {"no node",
     {{SERVER("a", 36, 36, 35)}},
     {KCM(36), SCHED(36)},
     0,
     36,
     false,
     0,
     "to 1.36, 0 steps, 2 unread|unknown version-unknown kubelet : the version is not known: no "
     "node was "
     "seen\n"},
    {"newer than the target",
     {{SERVER("a", 36, 36, 35)}},
     OTHERS(36),
     35,
     false,
     0,
     "to 1.35, back, 3 unread|"},

    {"a gate is locked from a step on",
     {{SERVER("a", 34, 34, 33), .gates = "DynamicResourceAllocation=0"}},
     OTHERS(34),
     36,
     false,
     0,
     "to 1.36, 12 steps, 3 unread|error flag kube-apiserver a step 1: kube-apiserver 1.36 does not "
     "start: "
     "DRAAdminAccess is enabled, but depends\nerror flag kube-apiserver a step 1: kube-apiserver "
     "1.36 "
     "does not start: DRAPrioritizedList\nerror flag kube-apiserver a step 1: kube-apiserver 1.36 "
     "does "
     "not start: DRASchedulerFilterTimeout\nerror flag kube-apiserver a step 4: kube-apiserver "
     "1.36 "
     "does not start: cannot set feature gate DynamicResourceAllocation to false, feature is "
     "locked to "
     "true\n"},
    {"a flag that only a server that emulates may have",
     {{SERVER("a", 36, 34, 33), .apis = {.forward = true}}},
     OTHERS(34),
     36,
     false,
     0,
     "to 1.36, 11 steps, 3 unread|error flag kube-apiserver a step 6: kube-apiserver does not "
     "start "
     "with the emulation version 1.36: ServerRunOptions.EmulationForwardCompatible cannot be "
     "set\n"},
    {"a version of --runtime-config that the new binary does not have",
     {{SERVER("a", 35, 35, 34), .apis = {.runtime_config = "autoscaling/v2beta2=false"}}},
     OTHERS(35),
     36,
     false,
     0,
     "to 1.36, 8 steps, 3 unread|error flag kube-apiserver a step 1: kube-apiserver 1.36 does not "
     "start: group version autoscaling/v2beta2 that has not been registered\n"},
    {"a feature that the new binary reads in a version that it does not serve yet",
     {{SERVER("a", 35, 35, 34), .gates = "MutatingAdmissionPolicy=1"}},
     OTHERS(35),
     36,
     false,
     0,
     "to 1.36, 8 steps, 3 unread|error flag kube-apiserver a step 1: kube-apiserver 1.36 does not "
     "become ready: with the feature gate MutatingAdmissionPolicy it reads\n"},
    {"a flag that the server of today takes",
     {{SERVER("a", 36, 35, 34), .apis = {.runtime_config = "vendor.example/v1=true"}}},
     OTHERS(35),
     36,
     false,
     0,
     "to 1.36, 7 steps, 3 unread|"},
    {"a resource that only a later version has",
     {{SERVER("a", 36, 33, 33),
       .apis = {.runtime_config = "resource.k8s.io/v1beta2/devicetaintrules=true"}}},
     OTHERS(33),
     36,
     false,
     0,
     "to 1.36, 14 steps, 3 unread|"},
    {"a gate that the new binary does not have",
     {{SERVER("a", 35, 35, 34), .gates = "Gone=1"}},
     OTHERS(35),
     36,
     false,
     0,
     "to 1.36, 8 steps, 3 unread|error flag kube-apiserver a step 1: kube-apiserver 1.36 does not "
     "start: "
     "unrecognized feature gate: Gone\n"},
    {"an alpha feature while an older version is emulated, today",
     {{SERVER("a", 36, 35, 34), .gates = "GenericWorkload=1"}},
     OTHERS(35),
     36,
     false,
     0,
     "to 1.36, 7 steps, 3 unread|warning alpha-emulated kube-apiserver a : kube-apiserver 1.36 "
     "emulates 1.35 with alpha features, which Kubernetes does not support: GenericWorkload\n"},
    {"alpha versions, after a step, once",
     {{SERVER("a", 34, 34, 33), .apis = {.runtime_config = "api/alpha=true"}}},
     OTHERS(34),
     36,
     false,
     0,
     "to 1.36, 12 steps, 3 unread|warning alpha-emulated kube-apiserver a step 1: kube-apiserver "
     "1.36 emulates 1.34 with alpha features, which Kubernetes does not support: \n"},
    {"a gate of a controller manager that a step locks",
     {{SERVER("a", 36, 35, 34)}},
     {{.name = "kcm",
       .binary = 36,
       .emulation = 35,
       .read = true,
       .gates = "CSIServiceAccountTokenSecrets=0"},
      {.name = "sched", .binary = 36, .emulation = 35, .read = true, .gates = "GenericWorkload=0"}},
     35,
     36,
     false,
     0,
     "to 1.36, 5 steps, 1 unread|error flag kube-controller-manager kcm step 2: "
     "kube-controller-manager 1.36 does not start: cannot set feature gate "
     "CSIServiceAccountTokenSecrets to false, feature is locked to true\n"},
    {"a gate that the new binary of a scheduler does not have",
     {{SERVER("a", 35, 35, 34)}},
     {KCM(35), {.name = "sched", .binary = 35, .emulation = 35, .read = true, .gates = "Gone=1"}},
     35,
     36,
     false,
     0,
     "to 1.36, 8 steps, 2 unread|error flag kube-scheduler sched step 3: kube-scheduler 1.36 does "
     "not start: unrecognized feature gate: Gone\n"},
    {"the flags of a controller manager were not read: the metrics show what is not the default",
     {{SERVER("a", 36, 35, 34)}},
     {{.name = "kcm", .binary = 36, .emulation = 35, .gates = "CSIServiceAccountTokenSecrets=0"},
      {.name = "sched", .binary = 36, .emulation = 35}},
     35,
     36,
     false,
     0,
     "to 1.36, 5 steps, 3 unread|error flag kube-controller-manager kcm step 2: "
     "kube-controller-manager 1.36 does not start: cannot set feature gate\n"},
    {"a gate that stays locked beyond the data",
     {{SERVER("a", 35, 35, 34), .gates = "CSIServiceAccountTokenSecrets=0 Gone=1"}},
     OTHERS(35),
     37,
     false,
     0,
     "to 1.37, 12 steps, 3 unread|error flag kube-apiserver a step 4: kube-apiserver 1.37 does not "
     "start: cannot set feature gate CSIServiceAccountTokenSecrets to false\n"},
    {"gates beyond the data",
     {{SERVER("a", 36, 36, 35), .gates = "Gone=1"}},
     OTHERS(36),
     37,
     false,
     0,
     "to 1.37, 8 steps, 3 unread|"},
    {"flags that were not read: the metrics show what is not the default",
     {{SERVER("a", 35, 35, 34), .unread = true,
       .gates = "GangScheduling=1 DynamicResourceAllocation=1", .stage = "ALPHA"}},
     OTHERS(35),
     36,
     false,
     0,
     "to 1.36, 8 steps, 3 unread GangScheduling=true|unknown flags-unread kube-apiserver a "
     ":\nerror flag "
     "kube-apiserver a step "
     "1: "
     "kube-apiserver 1.36 does not start: GangScheduling is enabled, but depends\n"},
    {"AllAlpha stands for its gates",
     {{SERVER("a", 35, 35, 34), .unread = true, .gates = "AllAlpha=1 GangScheduling=1",
       .stage = "ALPHA"}},
     OTHERS(35),
     36,
     false,
     0,
     "to 1.36, 8 steps, 3 unread AllAlpha=true|unknown flags-unread kube-apiserver a :\n"
     "warning alpha-emulated kube-apiserver a step 1: kube-apiserver 1.36 emulates 1.35 with alpha "
     "features, which Kubernetes does not support: AllAlpha\n"},

    {"an API goes that is served",
     {{SERVER("a", 36, 36, 35), .served = "networking.k8s.io/v1beta1/ipaddresses"}},
     OTHERS(36),
     37,
     false,
     0,
     "to 1.37, 8 steps, 3 unread|unknown api-use  step 4: networking.k8s.io/v1beta1 ipaddresses "
     "goes; "
     "whether "
     "clients still use it is not known\n"},
    {"an API goes that clients requested",
     {{SERVER("a", 36, 36, 35), .served = BETA_ADDRESSES, .requested = BETA_ADDRESSES,
       .removed = 37, .metrics = true}},
     OTHERS(36),
     37,
     false,
     0,
     "to 1.37, 8 steps, 3 unread|error api-requested kube-apiserver a step 4: "
     "networking.k8s.io/v1beta1 ipaddresses is removed in 1.37, and clients requested it since "
     "the server started\n"},
    {"an API goes that clients requested of the other server",
     {{SERVER("a", 36, 36, 35), .served = BETA_ADDRESSES, .metrics = true},
      {SERVER("b", 36, 36, 35), .served = BETA_ADDRESSES, .requested = BETA_ADDRESSES,
       .removed = 37, .metrics = true}},
     OTHERS(36),
     37,
     false,
     0,
     "to 1.37, 11 steps, 3 unread|error api-requested kube-apiserver b "},
    {"an API goes that clients requested, and the server does not report the removal",
     {{SERVER("a", 36, 36, 35), .served = BETA_ADDRESSES, .requested = BETA_ADDRESSES,
       .metrics = true}},
     OTHERS(36),
     37,
     false,
     0,
     "to 1.37, 8 steps, 3 unread|unknown api-use  step 4: networking.k8s.io/v1beta1 ipaddresses "
     "goes; whether clients "},
    {"an API goes that clients requested, and the server reports a later removal",
     {{SERVER("a", 36, 36, 35), .served = BETA_ADDRESSES, .requested = BETA_ADDRESSES,
       .removed = 38, .metrics = true}},
     OTHERS(36),
     37,
     false,
     0,
     "to 1.37, 8 steps, 3 unread|unknown api-use  step 4: networking.k8s.io/v1beta1 ipaddresses "
     "goes; whether clients "},
    {"an API goes that the data does not have",
     {{SERVER("a", 36, 36, 35), .requested = "x.k8s.io/v1beta1/ys", .removed = 37}},
     OTHERS(36),
     37,
     false,
     0,
     "to 1.37, 8 steps, 3 unread|error api-requested kube-apiserver a step 4: x.k8s.io/v1beta1 ys"},
    {"clients requested an API that goes later",
     {{SERVER("a", 36, 36, 35), .requested = "x.k8s.io/v1beta1/ys", .removed = 38,
       .metrics = true}},
     OTHERS(36),
     37,
     false,
     0,
     "to 1.37, 8 steps, 3 unread|"},
    {"clients requested an API that never goes",
     {{SERVER("a", 36, 36, 35), .requested = "/v1/endpoints", .metrics = true}},
     OTHERS(36),
     37,
     false,
     0,
     "to 1.37, 8 steps, 3 unread|"},
    {"an API goes that no server has counted",
     {{SERVER("a", 36, 36, 35), .served = BETA_ADDRESSES, .metrics = true}},
     OTHERS(36),
     37,
     false,
     0,
     "to 1.37, 8 steps, 3 unread|unknown api-use  step 4: networking.k8s.io/v1beta1 ipaddresses "
     "goes; no API server has counted a request for the version since its start; "},
    {"the counters of one server are not known",
     {{SERVER("a", 36, 36, 35), .served = BETA_ADDRESSES, .metrics = true},
      {SERVER("b", 36, 36, 35), .served = BETA_ADDRESSES, .metrics = true, .stale_metrics = true}},
     OTHERS(36),
     37,
     false,
     0,
     "to 1.37, 11 steps, 3 unread|unknown api-use  step 5: networking.k8s.io/v1beta1 ipaddresses "
     "goes; whether clients "},
    {"a binary does not count what a later one deprecates",
     {{SERVER("a", 33, 33, 32), .served = BETA_ADDRESSES, .metrics = true}},
     OTHERS(33),
     37,
     false,
     0,
     "to 1.37, 21 steps, 3 unread|unknown api-use  step 16: networking.k8s.io/v1beta1 ipaddresses "
     "goes; whether clients "},
    {"an API goes that is not served",
     {{SERVER("a", 36, 36, 35), .served = "apps/v1/deployments"}},
     OTHERS(36),
     37,
     false,
     0,
     "to 1.37, 8 steps, 3 unread|"},
    {"an API goes that is off by default, and discovery is not known",
     {{SERVER("a", 36, 36, 35), .undiscovered = true}},
     OTHERS(36),
     37,
     false,
     0,
     "to 1.37, 8 steps, 3 unread|unknown api-use  step 4: certificates.k8s.io/v1alpha1 "
     "clustertrustbundles goes; whether the API server serves the version, and clients use the "
     "version, is not known\nunknown api-use  step 4: networking.k8s.io/v1beta1 "
     "ipaddresses\nunknown api-use  step 4: networking.k8s.io/v1beta1 servicecidrs\nunknown "
     "api-use  step 4: storage.k8s.io/v1beta1 volumeattributesclasses\n"},
};

static struct ek_minor minor(unsigned n)
{
    return n ? EK_MINOR(1, n) : EK_MINOR_UNKNOWN;
}

static struct ek_versions versions(const struct one *one)
{
    return (struct ek_versions){.binary_string = "",
                                .binary = minor(one->binary),
                                .emulation = minor(one->emulation),
                                .min_compat = minor(one->min_compat),
                                .assumed_emulation = one->assumed,
                                .unknown_reason = one->unknown ? one->unknown : "",
                                .conflict = ""};
}

/* Reads "A=1 B=0" into gates of the flags and of the metrics. */
static size_t parse_gates(const char *text, const char *stage, struct ek_arena *arena,
                          struct ek_pod_gate *flags, struct ek_feature_gate *metrics)
{
    size_t n = 0;

    for (const char *p = text ? text : ""; *p; n++) {
        size_t len = strcspn(p, "=");
        const char *name = ek_arena_strndup(arena, p, len);
        bool on = p[len + 1] == '1';
        flags[n] = (struct ek_pod_gate){name, on};
        metrics[n] = (struct ek_feature_gate){name, stage ? stage : "", on};
        p += len + 2;
        p += *p == ' ';
    }
    return n;
}

static struct ek_discovery *discovery(const char *served)
{
    char text[512], group[64], version[64], resource[64];
    struct ek_discovery *set = ek_discovery_new();

    ck_assert_int_eq(sscanf(served, "%63[^/]/%63[^/]/%63s", group, version, resource), 3);
    snprintf(text, sizeof text,
             "{\"kind\":\"APIResourceList\",\"groupVersion\":\"%s/%s\",\"resources\":[{\"name\":"
             "\"%s\",\"kind\":\"X\",\"namespaced\":false,\"verbs\":[]}]}",
             group, version, resource);
    yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
    ck_assert_int_eq(ek_discovery_add_resource_list(set, yyjson_doc_get_root(doc), NULL), 0);
    yyjson_doc_free(doc);
    ek_discovery_seal(set);
    return set;
}

static void add_metrics(const struct one *one, struct ek_probe *probe)
{
    const char *slash = one->requested ? strchr(one->requested, '/') : NULL;

    if (one->metrics)
        probe->metrics_answer.good_at_ms = 1;
    if (one->stale_metrics)
        probe->metrics_answer.error.code = EK_E_TIMEOUT;
    if (!slash)
        return;
    probe->uses = ek_xalloc(sizeof *probe->uses);
    probe->n_uses = 1;
    probe->uses->group = ek_xasprintf("%.*s", (int)(slash - one->requested), one->requested);
    probe->uses->version = ek_xasprintf("%.*s", (int)strcspn(slash + 1, "/"), slash + 1);
    probe->uses->resource = ek_xstrdup(strrchr(one->requested, '/') + 1);
    probe->uses->removed = minor(one->removed);
}

/* What is observed of the servers; probes[i] is a reference or NULL. */
static size_t make_peers(const struct one *servers, struct ek_arena *arena,
                         struct ek_peer_fact *peers, struct ek_probe **probes)
{
    size_t n = 0;

    for (; n < ROWS_MAX && servers[n].name; n++) {
        const struct one *one = &servers[n];
        struct ek_pod_gate *flags = ek_arena_alloc(arena, 8 * sizeof *flags);
        struct ek_feature_gate *metrics = ek_arena_alloc(arena, 8 * sizeof *metrics);
        size_t n_gates = parse_gates(one->gates, one->stage, arena, flags, metrics);
        probes[n] = ek_probe_new();
        if (!one->undiscovered)
            probes[n]->discovery = discovery(one->served ? one->served : "apps/v1/deployments");
        add_metrics(one, probes[n]);
        if (one->unread) {
            probes[n]->gates = metrics;
            probes[n]->n_gates = n_gates;
        }
        peers[n] = (struct ek_peer_fact){.name = one->name,
                                         .live = !one->absent,
                                         .flags_read = !one->unread,
                                         .flag_gates = flags,
                                         .n_flag_gates = one->unread ? 0 : n_gates,
                                         .flag_apis = one->apis,
                                         .probe = probes[n],
                                         .versions = versions(one)};
    }
    return n;
}

/* The gates of controllers that are not read are those of their metrics; the arena does not need a
 * probe that lives longer. */
static size_t make_instances(const struct one *controllers, struct ek_arena *arena,
                             struct ek_instance_fact *instances)
{
    size_t n = 0;

    for (; n < ROWS_MAX && controllers[n].name; n++) {
        const struct one *one = &controllers[n];
        struct ek_pod_gate *flags = ek_arena_alloc(arena, 8 * sizeof *flags);
        struct ek_feature_gate *metrics = ek_arena_alloc(arena, 8 * sizeof *metrics);
        struct ek_probe *probe = ek_arena_alloc(arena, sizeof *probe);
        size_t n_gates = parse_gates(one->gates, one->stage, arena, flags, metrics);
        *probe = (struct ek_probe){.gates = metrics, .n_gates = n_gates};
        instances[n] = (struct ek_instance_fact){
            .component = !strcmp(one->name, "kcm") ? EK_KUBE_CONTROLLER_MANAGER : EK_KUBE_SCHEDULER,
            .name = one->name,
            .flags_read = one->read,
            .flag_gates = flags,
            .n_flag_gates = one->read ? n_gates : 0,
            .probe = probe,
            .versions = versions(one)};
    }
    return n;
}

/* The findings that report the flags of controllers and nodes, of which there is one each. */
static bool is_unread(const struct ek_plan_finding *f)
{
    return f->severity == EK_PLAN_UNKNOWN && !strcmp(f->rule, "flags-unread") &&
           strncmp(f->source, "kube-apiserver", 14) != 0;
}

/* True when the lines of got start with the lines of want, and there are no more of them. */
static bool fits(const char *want, const char *got)
{
    while (*want) {
        size_t len = strcspn(want, "\n");
        if (strncmp(want, got, len) != 0)
            return false;
        got = strchr(got, '\n') + 1;
        want += len + (want[len] == '\n');
    }
    return !*got;
}

static void put_outcome(struct ek_buf *out, const struct ek_plan_cluster *cluster,
                        const struct ek_steps *steps, struct ek_minor to, const char *gates,
                        const struct ek_plan_report *report)
{
    char text[EK_MINOR_SIZE];
    size_t n = 0;

    for (size_t i = 0; i < report->n; i++)
        n += is_unread(&report->list[i]);

    ek_buf_printf(out, "to %s, ", ek_minor_format(to, text));
    if (!cluster->complete)
        ek_buf_puts(out, "no steps");
    else if (steps->outcome == EK_STEPS_FOUND)
        ek_buf_printf(out, "%zu steps", steps->n);
    else
        ek_buf_puts(out, steps->outcome == EK_STEPS_BACK ? "back" : "none");
    ek_buf_printf(out, ", %zu unread%s%s|", n, *gates ? " " : "", gates);
}

START_TEST(clusters)
{
    struct ek_plan_report report = {.arena = ek_arena_new(ARENA_MAX)};
    struct ek_peer_fact peers[ROWS_MAX];
    struct ek_instance_fact instances[ROWS_MAX];
    struct ek_probe *probes[ROWS_MAX] = {NULL};
    struct one node = {.binary = rows[_i].kubelet, .emulation = rows[_i].kubelet};
    struct ek_node_group group = {
        .component = EK_KUBELET, .version = "v", .versions = versions(&node), .count = 2};
    struct ek_skew_facts facts = {.peers = peers,
                                  .instances = instances,
                                  .groups = &group,
                                  .n_groups = rows[_i].kubelet != 0,
                                  .enumerated = !rows[_i].not_enumerated,
                                  .not_enumerated = "why"};
    struct ek_skew_spec spec = {.policy = {1, EK_SKEW_UNSET, EK_SKEW_UNSET, 0, 0}};
    struct ek_plan_cluster cluster;
    struct ek_steps steps = {0};
    EK_AUTO(ek_buf) got;

    ek_buf_init(&got, ARENA_MAX);
    if (rows[_i].ignored)
        spec.policy.ignored = 1u << rows[_i].ignored;
    facts.n_peers = make_peers(rows[_i].servers, report.arena, peers, probes);
    facts.n_instances = make_instances(rows[_i].controllers, report.arena, instances);
    ek_plan_cluster_read(&facts, &spec, &data, &report, &cluster);
    struct ek_minor to = rows[_i].to ? minor(rows[_i].to) : ek_plan_cluster_next(&cluster);
    if (cluster.complete)
        ek_steps_find(cluster.parts, cluster.n,
                      &(struct ek_steps_goal){.version = to, .policy = &spec.policy}, report.arena,
                      &steps);
    ek_plan_cluster_check(&cluster, &steps, &data, &report);
    put_outcome(&got, &cluster, &steps, to,
                rows[_i].servers[0].unread ? cluster.instances[0].gates : "", &report);
    for (size_t i = 0; i < report.n; i++)
        if (!is_unread(&report.list[i]))
            ek_buf_printf(&got, "%s %s %s %s: %s\n", ek_plan_severity_name(report.list[i].severity),
                          report.list[i].rule, report.list[i].source, report.list[i].object,
                          report.list[i].message);
    if (rows[_i].want[strlen(rows[_i].want) - 1] == '|')
        ck_assert_str_eq(ek_buf_str(&got), rows[_i].want);
    else
        ck_assert_msg(fits(rows[_i].want, ek_buf_str(&got)), "%s: expected\n%s\ngot\n%s",
                      rows[_i].name, rows[_i].want, ek_buf_str(&got));
    for (size_t i = 0; i < facts.n_peers; i++) {
        probes[i]->gates = NULL;
        probes[i]->n_gates = 0;
        ek_probe_unref(probes[i]);
    }
    ek_arena_free(report.arena);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("cluster");

    tcase_add_unchecked_fixture(tcase, open_data, close_data);
    tcase_add_loop_test(tcase, clusters, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("cluster", tcase);
}
