/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/facts.h"

#include <stdlib.h>
#include <string.h>

#include "reconcilers/peers/pod.h"
#include "reconcilers/skew/facts-internal.h"
#include "reconcilers/skew/policy.h"
#include "reconcilers/skew/text.h"

static const char *const component_names[EK_COMPONENT_MAX] = {
    [EK_KUBE_APISERVER] = "kube-apiserver",
    [EK_KUBE_CONTROLLER_MANAGER] = "kube-controller-manager",
    [EK_KUBE_SCHEDULER] = "kube-scheduler",
    [EK_CLOUD_CONTROLLER_MANAGER] = "cloud-controller-manager",
    [EK_KUBELET] = "kubelet",
    [EK_KUBE_PROXY] = "kube-proxy",
};

static const char *const source_names[EK_SOURCE_MAX] = {
    [EK_SOURCE_VERSION_INFO] = "VersionInfo", [EK_SOURCE_VERSION] = "Version",
    [EK_SOURCE_OPENAPI] = "OpenAPI",          [EK_SOURCE_LEASE_CANDIDATE] = "LeaseCandidate",
    [EK_SOURCE_POD_FLAGS] = "PodFlags",       [EK_SOURCE_NODE] = "Node",
    [EK_SOURCE_POD_IMAGE] = "PodImage",       [EK_SOURCE_NONE] = "None",
};

const char *ek_component_name(enum ek_component component)
{
    return component < EK_COMPONENT_MAX ? component_names[component] : "unknown";
}

const char *ek_source_name(enum ek_source source)
{
    return source < EK_SOURCE_MAX ? source_names[source] : "None";
}

void ek_facts_add_target__(struct facts *f, const char *component, const char *address,
                           enum ek_probe_credential credential, const char *host)
{
    if (f->n_targets == EK_SKEW_TARGETS_MAX || credential == EK_PROBE_NOT_CONTACTED)
        return;
    for (size_t i = 0; i < f->n_targets; i++)
        if (!strcmp(f->targets[i].address, address))
            return;
    f->targets[f->n_targets++] = (struct ek_probe_target){
        .component = component, .address = address, .credential = credential, .host = host};
}

static int by_component(const void *a, const void *b)
{
    const struct ek_probe_target *x = a, *y = b;
    bool x_first = !strcmp(x->component, component_names[EK_KUBE_APISERVER]);
    bool y_first = !strcmp(y->component, component_names[EK_KUBE_APISERVER]);

    if (x_first != y_first)
        return x_first ? -1 : 1;
    int order = strcmp(x->component, y->component);
    return order ? order : strcmp(x->address, y->address);
}

static enum ek_component named(const char *name)
{
    for (int c = 0; name && c < EK_COMPONENT_MAX; c++)
        if (c != EK_KUBELET && !strcmp(name, component_names[c]))
            return (enum ek_component)c;
    return EK_COMPONENT_MAX;
}

/* The component whose pod this is, EK_COMPONENT_MAX for others. Most pods are kube-proxies and
 * known by one label, so that is looked at first. */
static enum ek_component component_of(const struct ek_obj *pod)
{
    enum ek_component guess = named(ek_obj_label(pod, "k8s-app"));
    if (guess == EK_COMPONENT_MAX)
        guess = named(ek_obj_label(pod, "component"));
    if (guess != EK_COMPONENT_MAX)
        return ek_pod_is_component(pod, component_names[guess]) ? guess : EK_COMPONENT_MAX;
    for (int c = 0; c < EK_COMPONENT_MAX; c++)
        if (c != EK_KUBELET && ek_pod_is_component(pod, component_names[c]))
            return (enum ek_component)c;
    return EK_COMPONENT_MAX;
}

static void sort_pods(struct facts *f)
{
    const struct ek_objs *pods = &f->view->pods;
    uint8_t *kinds = ek_arena_alloc(f->arena, pods->n + 1);
    size_t counts[EK_COMPONENT_MAX + 1] = {0};
    struct ek_obj **items[EK_COMPONENT_MAX];

    for (size_t i = 0; i < pods->n; i++) {
        kinds[i] = (uint8_t)component_of(pods->items[i]);
        counts[kinds[i]]++;
    }
    for (int c = 0; c < EK_COMPONENT_MAX; c++) {
        items[c] = ek_arena_alloc(f->arena, (counts[c] + 1) * sizeof(struct ek_obj *));
        f->pods[c] =
            (struct ek_objs){.items = items[c], .available = pods->available, .why = pods->why};
    }
    for (size_t i = 0; i < pods->n; i++)
        if (kinds[i] < EK_COMPONENT_MAX)
            items[kinds[i]][f->pods[kinds[i]].n++] = pods->items[i];
}

static void note_unavailable(struct facts *f, const struct ek_objs *objs, const char *what,
                             const char *consequence)
{
    if (!objs->available)
        ek_notes_add(f->notes, "%s could not be read (%s): %s", what,
                     objs->why && *objs->why ? ek_notes_cut(f->arena, objs->why, 300)
                                             : "no reason is known",
                     consequence);
}

static void lower(struct ek_minor *oldest, struct ek_minor v)
{
    if (v.known && (!oldest->known || ek_minor_cmp(v, *oldest) < 0))
        *oldest = v;
}

struct oldest ek_facts_oldest_server__(const struct ek_skew_facts *facts)
{
    struct oldest oldest = {EK_MINOR_UNKNOWN, EK_MINOR_UNKNOWN};

    for (size_t i = 0; i < facts->n_peers; i++) {
        const struct ek_versions *v = &facts->peers[i].versions;
        if (!facts->peers[i].live)
            continue;
        lower(&oldest.binary, v->binary);
        lower(&oldest.emulation, v->assumed_emulation ? ek_policy_floor(v->binary) : v->emulation);
    }
    return oldest;
}

/* LeaseCandidates are not served by default: that is worth a sentence only where they would have
 * helped and could be served, or where permission is missing. */
static void note_candidates(struct facts *f)
{
    const struct ek_objs *objs = &f->view->candidates;
    bool wanted = !ek_skew_ignored(f->spec, EK_KUBE_CONTROLLER_MANAGER) ||
                  !ek_skew_ignored(f->spec, EK_KUBE_SCHEDULER);
    bool missed = wanted && objs->why && strstr(objs->why, "forbidden");
    struct ek_minor oldest = ek_facts_oldest_server__(f->out).emulation;
    if (oldest.known && !*ek_skew_candidates_text(f->arena, oldest) && !missed)
        return;

    for (size_t i = 0; i < f->out->n_instances; i++) {
        const struct ek_instance_fact *fact = &f->out->instances[i];
        bool elects =
            fact->component == EK_KUBE_CONTROLLER_MANAGER || fact->component == EK_KUBE_SCHEDULER;
        if (elects && !fact->stale && !ek_skew_ignored(f->spec, fact->component) &&
            (!fact->versions.binary.known || fact->versions.assumed_emulation))
            missed = true;
    }
    if (missed)
        note_unavailable(f, objs, "LeaseCandidates",
                         "emulation versions of controller managers and schedulers are known only "
                         "where their metrics or the flags of their pods can be read");
}

static bool denies(const struct ek_probe *probe, size_t answer)
{
    const struct ek_probe_answer *a =
        (const struct ek_probe_answer *)(const void *)((const char *)probe + answer);
    return a->error.code == EK_E_FORBIDDEN;
}

/* Access to API servers is granted by path, for all of them: one sentence names the missing paths,
 * also where another source had the answer. */
static void note_denied(struct facts *f)
{
    static const struct {
        const char *path;
        size_t answer;
    } questions[] = {
        {"/version", offsetof(struct ek_probe, version_answer)},
        {"/readyz", offsetof(struct ek_probe, ready_answer)},
        {"/openapi/v3/version", offsetof(struct ek_probe, openapi_answer)},
        {"/metrics", offsetof(struct ek_probe, metrics_answer)},
        {"/api and /apis", offsetof(struct ek_probe, discovery_answer)},
    };
    const char *denied = "";

    for (size_t q = 0; q < sizeof questions / sizeof *questions; q++)
        for (size_t i = 0; i < f->out->n_peers; i++) {
            const struct ek_probe *probe = f->out->peers[i].probe;
            if (!probe || !denies(probe, questions[q].answer))
                continue;
            denied =
                ek_arena_printf(f->arena, "%s%s%s", denied, *denied ? ", " : "", questions[q].path);
            break;
        }
    if (*denied)
        ek_notes_add(f->notes, "API servers deny %s: grant get on these nonResourceURLs", denied);
}

static void note_objects(struct facts *f)
{
    const struct ek_skew_view *view = f->view;

    if (view->control_plane_why)
        ek_notes_add(f->notes, "the ControlPlane could not be read (%s): its spec does not apply",
                     ek_notes_cut(f->arena, view->control_plane_why, 300));
    note_denied(f);
    note_unavailable(f, &view->endpoint_slices, "EndpointSlices in the namespace default",
                     "addresses of API servers are known only from spec.peers.endpoints");
    note_unavailable(f, &view->leases, "Leases in kube-system",
                     "names of API servers and leaders of other components are not known");
    note_unavailable(f, &view->pods, "Pods in kube-system",
                     ek_skew_ignored(f->spec, EK_KUBE_PROXY)
                         ? "versions of components are known only where LeaseCandidates or metrics "
                           "report them"
                         : "versions of kube-proxy are not known, those of other components only "
                           "where LeaseCandidates or metrics report them");
    note_unavailable(f, &view->nodes, "Nodes",
                     ek_skew_ignored(f->spec, EK_KUBELET)
                         ? "which of them are of the control plane is not known"
                         : "versions of kubelets are not known");
    note_candidates(f);
}

void ek_skew_facts_collect(const struct ek_skew_view *view, struct ek_arena *arena,
                           struct ek_skew_facts *ret_facts, struct ek_probe_target **ret_targets,
                           size_t *ret_n_targets)
{
    struct ek_skew_spec spec;
    struct ek_notes notes;
    struct facts f = {
        .view = view, .spec = &spec, .arena = arena, .notes = &notes, .out = ret_facts};

    ek_skew_spec_parse(view->control_plane, arena, &spec);
    ek_notes_init(&notes, arena);
    *ret_facts = (struct ek_skew_facts){.not_enumerated = ""};
    f.targets = ek_arena_alloc(arena, EK_SKEW_TARGETS_MAX * sizeof *f.targets);
    sort_pods(&f);
    ek_facts_collect_peers__(&f);
    ek_facts_collect_instances__(&f);
    ek_facts_collect_nodes__(&f);
    note_objects(&f);
    qsort(f.targets, f.n_targets, sizeof *f.targets, by_component);
    ret_facts->problems = notes.items;
    ret_facts->n_problems = notes.n;
    *ret_targets = f.targets;
    *ret_n_targets = f.n_targets;
}
