/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/metrics.h"

#include <string.h>

#include "reconcilers/skew/text.h"

enum family {
    PEER_UP,
    PEER_READY,
    PEER_PROBE_AGE,
    PEER_CERTIFICATE,
    PEER_NOT_ROUTABLE,
    VERSION_INFO,
    VIOLATIONS,
    DISCOVERY_AGE,
    DISCOVERY_BYTES,
    DISCOVERY_MISSING,
    DISCOVERY_DIFFERENCES,
    GATE_DIFFERENCES,
    COMPONENT_GATES,
    ALPHA_USES,
    MANIFESTS,
    NODES,
    NEXT_BLOCKERS,
    CONDITION,
    FAMILIES,
};

static const struct ek_skew_family families[] = {
    {"evenkeel_peer_up", "1 while the API server answers.", {"peer"}},
    {"evenkeel_peer_ready", "1 while the API server's /readyz succeeds.", {"peer"}},
    {"evenkeel_peer_probe_age_seconds",
     "Time since the API server last answered a request of the probe, in seconds.",
     {"peer"}},
    {"evenkeel_peer_certificate_expiry_timestamp_seconds",
     "Expiry time of the API server's serving certificate, in seconds since the epoch.",
     {"peer"}},
    {"evenkeel_peer_not_routable",
     "1 for the reason for which the API server is not routable.",
     {"peer", "reason"}},
    {"evenkeel_component_version_info",
     "Versions of a component instance, empty if unknown, and the source of the binary version; "
     "always 1.",
     {"component", "instance", "binary", "emulation", "min_compat", "source"}},
    {"evenkeel_skew_violations",
     "Number of component instances (nodes for kubelet and kube-proxy) by verdict.",
     {"component", "verdict"}},
    {"evenkeel_peer_discovery_age_seconds",
     "Time since the API server last answered a discovery request, in seconds.",
     {"peer"}},
    {"evenkeel_discovery_bytes",
     "Size of the document of /apis of an API server (empty: the merged one).",
     {"peer"}},
    {"evenkeel_discovery_missing_resources",
     "Number of resources that other API servers serve and this one does not.",
     {"peer"}},
    {"evenkeel_discovery_differences",
     "Number of resources and group versions that only some API servers serve.",
     {NULL}},
    {"evenkeel_feature_gate_differences",
     "Number of feature gates that API servers set differently.",
     {NULL}},
    {"evenkeel_component_feature_gate_differences",
     "Number of feature gates that a controller manager or a scheduler sets differently from an "
     "API "
     "server or another component of the same version.",
     {NULL}},
    {"evenkeel_alpha_under_emulation",
     "Number of alpha feature gates that are on, and of alpha group versions that are served, "
     "where "
     "the emulation version is older than the binary.",
     {NULL}},
    {"evenkeel_admission_manifest_differences",
     "Number of static admission plug-ins whose manifests differ between API servers.",
     {NULL}},
    {"evenkeel_nodes", "Number of nodes by kubelet version.", {"kubelet"}},
    {"evenkeel_next_version_blockers",
     "Number of changes required before an upgrade to the next version.",
     {NULL}},
    {"evenkeel_condition",
     "1 for the current status of each condition of the ControlPlane, 0 for the others.",
     {"type", "status"}},
};

struct metrics {
    const struct ek_skew_report *report;
    struct ek_arena *arena;
    struct ek_skew_metric *list;
    size_t n, max;
    size_t family_from; /* the first sample of the family being written */
};

static bool same_labels(const struct ek_skew_metric *a, const struct ek_skew_metric *b)
{
    for (size_t i = 0; a->labels[i][0] && b->labels[i][0]; i++)
        if (strcmp(a->labels[i][1], b->labels[i][1]) != 0)
            return false;
    return true;
}

/* Adds a sample; one that is there already (names that were cut may meet) takes the sum. */
static void add(struct metrics *m, const struct ek_skew_metric *sample)
{
    if (m->n > 0 && m->list[m->n - 1].name != sample->name)
        m->family_from = m->n;
    for (size_t i = m->family_from; i < m->n; i++)
        if (m->list[i].name == sample->name && same_labels(&m->list[i], sample)) {
            if (sample->name == families[NODES].name)
                m->list[i].value += sample->value;
            return;
        }
    if (m->n < m->max)
        m->list[m->n++] = *sample;
}

static void add_one(struct metrics *m, enum family family, const char *label, const char *value,
                    double number)
{
    struct ek_skew_metric sample = {.name = families[family].name, .value = number};
    if (label) {
        sample.labels[0][0] = label;
        sample.labels[0][1] = ek_skew_clean(m->arena, value);
    }
    add(m, &sample);
}

static void add_two(struct metrics *m, enum family family, const char *const labels[2][2],
                    double number)
{
    struct ek_skew_metric sample = {.name = families[family].name, .value = number};
    memcpy(sample.labels, labels, 2 * sizeof(labels[0]));
    add(m, &sample);
}

static double seconds_since(const struct metrics *m, int64_t ms)
{
    int64_t age = m->report->view->now_ms - ms;
    return age > 0 ? (double)age / 1000 : 0;
}

/* One family of one number per peer; false from value leaves the peer out. */
static void add_peers(struct metrics *m, enum family family,
                      bool (*value)(const struct metrics *m, size_t peer, double *ret))
{
    const struct ek_skew_facts *facts = &m->report->facts;
    for (size_t i = 0; i < facts->n_peers && i < EK_SKEW_METRIC_PEERS_MAX; i++) {
        double number = 0;
        if (value(m, i, &number))
            add_one(m, family, "peer", facts->peers[i].name, number);
    }
}

static bool up(const struct metrics *m, size_t peer, double *ret)
{
    *ret = m->report->facts.peers[peer].reachable;
    return true;
}

static bool ready(const struct metrics *m, size_t peer, double *ret)
{
    *ret = ek_skew_peer_ready(&m->report->facts.peers[peer]) == EK_COND_TRUE;
    return true;
}

static bool probe_age(const struct metrics *m, size_t peer, double *ret)
{
    const struct ek_probe *probe = m->report->facts.peers[peer].probe;
    if (!probe || probe->reach.good_at_ms == EK_TIME_UNSET)
        return false;
    *ret = seconds_since(m, probe->reach.good_at_ms);
    return true;
}

static bool certificate(const struct metrics *m, size_t peer, double *ret)
{
    const struct ek_probe *probe = m->report->facts.peers[peer].probe;
    if (!probe || probe->cert_not_after_ms == EK_TIME_UNSET)
        return false;
    *ret = (double)probe->cert_not_after_ms / 1000;
    return true;
}

static bool discovery_age(const struct metrics *m, size_t peer, double *ret)
{
    const struct ek_probe *probe = m->report->facts.peers[peer].probe;
    if (!probe || probe->discovery_answer.good_at_ms == EK_TIME_UNSET)
        return false;
    *ret = seconds_since(m, probe->discovery_answer.good_at_ms);
    return true;
}

static bool missing(const struct metrics *m, size_t peer, double *ret)
{
    size_t n = m->report->differences.missing_resources[peer];
    *ret = (double)n;
    return n != SIZE_MAX;
}

/* At most one sample for a peer; the reasons are ek_view_reasons. */
static void add_not_routable(struct metrics *m)
{
    const struct ek_view *view = m->report->view->documents;
    size_t n = 0;
    const struct ek_view_peer *peers = view ? ek_view_peers(view, &n) : NULL;

    for (size_t i = 0; i < n && i < EK_SKEW_METRIC_PEERS_MAX; i++) {
        const char *const labels[2][2] = {{"peer", ek_skew_clean(m->arena, peers[i].name)},
                                          {"reason", peers[i].why_not}};
        if (*peers[i].why_not)
            add_two(m, PEER_NOT_ROUTABLE, labels, 1);
    }
}

static void add_versions(struct metrics *m, enum ek_component component, const char *instance,
                         const struct ek_versions *v)
{
    bool known = v->emulation.known && !v->assumed_emulation;
    bool min_known = v->min_compat.known && !v->assumed_min_compat;
    struct ek_skew_metric sample = {
        .name = families[VERSION_INFO].name,
        .labels = {{"component", ek_component_name(component)},
                   {"instance", ek_skew_clean(m->arena, instance)},
                   {"binary", ek_skew_clean(m->arena, v->binary_string)},
                   {"emulation", known ? ek_skew_minor_text(m->arena, v->emulation) : ""},
                   {"min_compat", min_known ? ek_skew_minor_text(m->arena, v->min_compat) : ""},
                   {"source", ek_source_name(v->source)}},
        .value = 1,
    };
    add(m, &sample);
}

static void add_all_versions(struct metrics *m)
{
    const struct ek_skew_facts *facts = &m->report->facts;
    for (size_t i = 0; i < facts->n_peers && i < EK_SKEW_METRIC_PEERS_MAX; i++)
        if (facts->peers[i].live)
            add_versions(m, EK_KUBE_APISERVER, facts->peers[i].name, &facts->peers[i].versions);
    for (size_t i = 0; i < facts->n_instances && i < EK_SKEW_METRIC_INSTANCES_MAX; i++)
        if (!facts->instances[i].stale)
            add_versions(m, facts->instances[i].component, facts->instances[i].name,
                         &facts->instances[i].versions);
}

static void add_bytes(struct metrics *m)
{
    const struct ek_view *view = m->report->view->documents;
    const struct ek_view_document *merged =
        view ? ek_view_merged(view, EK_VIEW_APIS, EK_VIEW_V2) : NULL;
    size_t n = 0;
    const struct ek_view_peer *peers = view ? ek_view_peers(view, &n) : NULL;

    for (size_t i = 0; i < n && i < EK_SKEW_METRIC_PEERS_MAX; i++) {
        const struct ek_view_document *own = ek_view_own(view, i, EK_VIEW_APIS, EK_VIEW_V2);
        if (own)
            add_one(m, DISCOVERY_BYTES, "peer", peers[i].name, (double)own->body.len);
    }
    if (merged)
        add_one(m, DISCOVERY_BYTES, "peer", "", (double)merged->body.len);
}

static void add_verdicts(struct metrics *m)
{
    for (int c = 0; c < EK_COMPONENT_MAX; c++)
        for (int v = 0; v < EK_VERDICT_NOT_JUDGED; v++) {
            const char *const labels[2][2] = {
                {"component", ek_component_name((enum ek_component)c)},
                {"verdict", ek_verdict_name((enum ek_verdict)v)}};
            add_two(m, VIOLATIONS, labels, (double)m->report->judgement.counts[c][v]);
        }
}

static void add_nodes(struct metrics *m)
{
    const struct ek_skew_facts *facts = &m->report->facts;
    size_t n = 0, rest = 0;
    for (size_t i = 0; i < facts->n_groups; i++) {
        const struct ek_node_group *group = &facts->groups[i];
        if (group->component != EK_KUBELET)
            continue;
        if (n++ < EK_SKEW_METRIC_NODES_MAX)
            add_one(m, NODES, "kubelet", group->version[0] ? group->version : "unknown",
                    (double)group->count);
        else
            rest += group->count;
    }
    if (rest > 0)
        add_one(m, NODES, "kubelet", "other", (double)rest);
}

static void add_conditions(struct metrics *m)
{
    int n = ek_skew_n_conditions(m->report);
    for (int i = 0; i < n; i++)
        for (int s = 0; s < EK_COND_STATUS_MAX; s++) {
            const char *const labels[2][2] = {
                {"type", ek_skew_condition_name((enum ek_skew_condition)i)},
                {"status", ek_cond_status_name((enum ek_cond_status)s)}};
            add_two(m, CONDITION, labels, m->report->conditions[i].status == (unsigned)s);
        }
}

const struct ek_skew_family *ek_skew_families(size_t *ret_n)
{
    _Static_assert(sizeof(families) / sizeof(*families) == FAMILIES, "one row per family");
    *ret_n = FAMILIES;
    return families;
}

void ek_skew_metrics(const struct ek_skew_report *report, struct ek_arena *arena,
                     struct ek_skew_metric **ret_metrics, size_t *ret_n)
{
    struct metrics m = {.report = report, .arena = arena};
    m.max = 9 * EK_SKEW_METRIC_PEERS_MAX + EK_SKEW_METRIC_INSTANCES_MAX + EK_SKEW_METRIC_NODES_MAX +
            EK_COMPONENT_MAX * EK_VERDICT_MAX + EK_SKEW_CONDITION_MAX * EK_COND_STATUS_MAX + 10;
    m.list = ek_arena_alloc(arena, m.max * sizeof(*m.list));
    add_peers(&m, PEER_UP, up);
    add_peers(&m, PEER_READY, ready);
    add_peers(&m, PEER_PROBE_AGE, probe_age);
    add_peers(&m, PEER_CERTIFICATE, certificate);
    add_not_routable(&m);
    add_all_versions(&m);
    add_verdicts(&m);
    add_peers(&m, DISCOVERY_AGE, discovery_age);
    add_bytes(&m);
    add_peers(&m, DISCOVERY_MISSING, missing);
    add_one(&m, DISCOVERY_DIFFERENCES, NULL, NULL, (double)report->differences.discovery.n);
    add_one(&m, GATE_DIFFERENCES, NULL, NULL, (double)report->differences.gates.n);
    add_one(&m, COMPONENT_GATES, NULL, NULL, (double)report->differences.n_component_gates);
    add_one(&m, ALPHA_USES, NULL, NULL, (double)report->differences.n_alpha);
    add_one(&m, MANIFESTS, NULL, NULL, (double)report->differences.manifests.n);
    add_nodes(&m);
    add_one(&m, NEXT_BLOCKERS, NULL, NULL, (double)report->judgement.next.n_blockers);
    add_conditions(&m);
    *ret_metrics = m.list;
    *ret_n = m.n;
}
