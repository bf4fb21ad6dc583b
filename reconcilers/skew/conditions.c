/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/conditions.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/base/buf.h"
#include "reconcilers/skew/text.h"

/* Culprits that a message names; the rest is counted. */
#define CULPRITS_SHOWN 3

static const char *const condition_names[] = {
#define X(name, text) text,
    EK_SKEW_CONDITIONS(X)
#undef X
};

const char *ek_skew_condition_name(enum ek_skew_condition condition)
{
    return (unsigned)condition < EK_SKEW_CONDITION_MAX ? condition_names[condition] : "";
}

/* A list of culprits in the making: "a; b; c; and 2 more". */
struct culprits {
    struct ek_arena *arena;
    const char *text;
    size_t n;
};

static void blame(struct culprits *c, const char *text)
{
    if (c->n++ < CULPRITS_SHOWN)
        c->text = ek_arena_printf(c->arena, "%s%s%s", c->text, c->n > 1 ? "; " : "", text);
}

static const char *culprits_text(struct culprits *c)
{
    if (c->n <= CULPRITS_SHOWN)
        return c->text;
    return ek_arena_printf(c->arena, "%s; and %zu more", c->text, c->n - CULPRITS_SHOWN);
}

__attribute__((format(printf, 4, 5))) static struct ek_skew_cond
cond(struct ek_arena *arena, enum ek_cond_status status, const char *reason, const char *fmt, ...)
{
    char text[EK_SKEW_MESSAGE_MAX + 1];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return (struct ek_skew_cond){
        status, ek_skew_clean(arena, reason),
        ek_skew_clean_max(arena, ek_arena_strdup(arena, text), EK_SKEW_MESSAGE_MAX)};
}

enum ek_cond_status ek_skew_peer_reachable(const struct ek_peer_fact *peer)
{
    if (peer->reachable)
        return EK_COND_TRUE;
    if (strcmp(peer->unreachable_reason, "NotProbed") == 0 ||
        strcmp(peer->unreachable_reason, "NotEnumerated") == 0)
        return EK_COND_UNKNOWN;
    /* A server that cannot be probed is not therefore down. */
    bool unasked = strcmp(peer->unreachable_reason, "NoAddress") == 0 ||
                   strcmp(peer->unreachable_reason, "NotTrusted") == 0;
    return unasked && peer->live ? EK_COND_UNKNOWN : EK_COND_FALSE;
}

enum ek_cond_status ek_skew_peer_ready(const struct ek_peer_fact *peer)
{
    const struct ek_probe *probe = peer->probe;
    if (!peer->reachable || !probe || probe->ready_answer.good_at_ms == EK_TIME_UNSET ||
        probe->ready_answer.error.code != 0)
        return EK_COND_UNKNOWN;
    return probe->ready ? EK_COND_TRUE : EK_COND_FALSE;
}

static const char *unreachable_text(struct ek_arena *arena, const struct ek_peer_fact *peer)
{
    const char *name = ek_skew_clean(arena, peer->name);
    if (strcmp(peer->unreachable_reason, "Gone") == 0)
        return ek_arena_printf(arena, "%s (Gone: the API server removed its Lease and endpoint)",
                               name);
    if (!peer->live && peer->server_id[0])
        return ek_arena_printf(arena,
                               "%s (%s; if it was removed for good, delete its Lease %s in "
                               "kube-system)",
                               name, peer->unreachable_reason,
                               ek_skew_clean(arena, peer->server_id));
    bool is_name = !peer->address[0] || strcmp(peer->name, peer->address) == 0;
    const char *at = is_name ? "" : ek_arena_printf(arena, " at %s", peer->address);
    return ek_arena_printf(arena, "%s%s (%s)", name, at, peer->unreachable_reason);
}

static struct ek_skew_cond peers_reachable(struct ek_skew_report *r, struct ek_arena *arena)
{
    struct culprits down = {arena, "", 0}, unsure = {arena, "", 0};
    const struct ek_skew_facts *facts = &r->facts;
    for (size_t i = 0; i < facts->n_peers; i++) {
        enum ek_cond_status up = ek_skew_peer_reachable(&facts->peers[i]);
        if (up == EK_COND_FALSE)
            blame(&down, unreachable_text(arena, &facts->peers[i]));
        else if (up == EK_COND_UNKNOWN)
            blame(&unsure, unreachable_text(arena, &facts->peers[i]));
        r->n_reachable += up == EK_COND_TRUE;
    }
    if (down.n > 0)
        return cond(arena, EK_COND_FALSE, "PeerUnreachable",
                    "%zu of %zu API servers not reachable: %s; check the server, and that its "
                    "address is reachable from Evenkeel",
                    down.n, facts->n_peers, culprits_text(&down));
    if (!facts->enumerated)
        return cond(arena, EK_COND_UNKNOWN, "NotEnumerated",
                    "the list of API servers is not known: %s", facts->not_enumerated);
    if (facts->n_peers == 0)
        return cond(arena, EK_COND_UNKNOWN, "NoPeers",
                    "no API server found; name them in spec.peers.endpoints");
    if (unsure.n > 0)
        return cond(arena, EK_COND_UNKNOWN, "NotProbed",
                    "not probed yet, or without a known address: %s", culprits_text(&unsure));
    return cond(arena, EK_COND_TRUE, "AllReachable", "%zu of %zu API servers answer",
                r->n_reachable, facts->n_peers);
}

/* "1.33-1.36", or one version where both are the same. */
static const char *span_text(struct ek_arena *arena, struct ek_minor min, struct ek_minor max)
{
    const char *low = ek_skew_minor_text(arena, min);
    if (min.known && max.known && ek_minor_cmp(min, max) == 0)
        return low;
    return ek_arena_printf(arena, "%s-%s", low, ek_skew_minor_text(arena, max));
}

static const char *said(struct ek_arena *arena, const char *message, const char *remedy)
{
    return remedy[0] ? ek_arena_printf(arena, "%s (%s)", message, remedy) : message;
}

/* The condition for broken rules. */
static struct ek_skew_cond skew_broken(struct ek_skew_report *r, struct ek_arena *arena)
{
    const struct ek_judgement *j = &r->judgement;
    struct culprits c = {arena, "", 0};
    bool one_rule = true;
    for (size_t i = 0; i < j->n_violations; i++) {
        one_rule = one_rule && j->violations[i].rule == j->violations[0].rule;
        blame(&c, said(arena, j->violations[i].message, j->violations[i].remedy));
    }
    if (r->n_young == j->n_violations)
        return cond(arena, EK_COND_TRUE, "WithinGracePeriod", "within the grace period: %s",
                    culprits_text(&c));
    return cond(arena, EK_COND_FALSE,
                one_rule ? ek_rule_name(j->violations[0].rule) : "MultipleViolations", "%s",
                culprits_text(&c));
}

static const char *unknown_text(struct ek_arena *arena, enum ek_component component,
                                const struct ek_judged *judged)
{
    const char *text = said(arena, judged->message, judged->remedy);
    return text[0] ? text : ek_component_name(component);
}

/* Instances of the given verdict, in words; instances that are unknown only because an API server
 * is are left to that. API servers that are unknown are named together, without a remedy, unless it
 * is of the spec. */
static struct culprits gather(const struct ek_skew_report *r, struct ek_arena *arena,
                              enum ek_verdict verdict)
{
    const struct ek_skew_facts *facts = &r->facts;
    const struct ek_judgement *j = &r->judgement;
    struct culprits c = {arena, "", 0};
    bool incomplete = verdict == EK_VERDICT_UNKNOWN && j->incomplete[0];
    if (incomplete)
        blame(&c, j->incomplete);
    for (size_t i = 0; i < facts->n_peers; i++)
        if (j->peers[i].verdict == verdict &&
            (!incomplete || strcmp(j->peers[i].reason, "Contradiction") == 0))
            blame(&c, unknown_text(arena, EK_KUBE_APISERVER, &j->peers[i]));
    for (size_t i = 0; i < facts->n_instances; i++)
        if (j->instances[i].verdict == verdict &&
            strcmp(j->instances[i].reason, "ApiserverUnknown") != 0)
            blame(&c, unknown_text(arena, facts->instances[i].component, &j->instances[i]));
    for (size_t i = 0; i < facts->n_groups; i++)
        if (j->groups[i].verdict == verdict && strcmp(j->groups[i].reason, "ApiserverUnknown") != 0)
            blame(&c, unknown_text(arena, facts->groups[i].component, &j->groups[i]));
    for (size_t i = 0; i < j->n_absent && verdict == EK_VERDICT_UNKNOWN; i++)
        blame(&c, unknown_text(arena, j->absent[i].component, &j->absent[i].judged));
    return c;
}

static struct ek_skew_cond skew_supported(struct ek_skew_report *r, struct ek_arena *arena)
{
    const struct ek_bounds *b = &r->judgement.bounds;
    if (r->judgement.n_violations > r->n_young)
        return skew_broken(r, arena);
    struct culprits c = gather(r, arena, EK_VERDICT_UNKNOWN);
    if (c.n > 0)
        return cond(arena, EK_COND_UNKNOWN, "VersionsUnknown", "not every version is known: %s",
                    culprits_text(&c));
    if (r->judgement.n_violations > 0)
        return skew_broken(r, arena);
    c = gather(r, arena, EK_VERDICT_AT_LIMIT);
    if (c.n > 0)
        return cond(arena, EK_COND_TRUE, "AtLimit", "%s", culprits_text(&c));
    return cond(arena, EK_COND_TRUE, "Supported",
                "every component is within the supported version skew of the API servers at %s",
                span_text(arena, b->min_ev.at, b->max_ev.at));
}

static const char *some_text(struct ek_arena *arena, const struct ek_some_peers *some)
{
    return ek_skew_names_text(arena, some->names, some->n_names, some->n, CULPRITS_SHOWN);
}

/* The three outcomes of a comparison that found nothing. */
static struct ek_skew_cond no_difference(const struct ek_comparison *c, struct ek_arena *arena,
                                         const char *what, const char *remedy)
{
    if (c->not_compared.n > 0)
        return cond(arena, EK_COND_UNKNOWN, "NotCompared", "%s of %s not known; %s", what,
                    some_text(arena, &c->not_compared), remedy);
    if (c->n_compared == 0)
        return cond(arena, EK_COND_UNKNOWN, "NoData", "no API server has reported its %s yet",
                    what);
    return cond(arena, EK_COND_TRUE, "Consistent", "%s: the same at %zu API server%s", what,
                c->n_compared, c->n_compared == 1 ? "" : "s");
}

/* The first differences of built-in or of custom groups. */
static const char *discovery_example(const struct ek_skew_report *r, struct ek_arena *arena,
                                     bool custom)
{
    const struct ek_comparison *all = &r->differences.discovery;
    struct culprits c = {arena, "", 0};
    for (size_t i = 0; i < r->differences.discovery.n_rows; i++) {
        const struct ek_discovery_difference *row = &r->differences.discovery_rows[i];
        if (row->custom != custom)
            continue;
        const char *what = ek_arena_printf(arena, "%s%s%s", row->group_version,
                                           row->resource[0] ? " " : "", row->resource);
        blame(&c, row->differs[0]
                      ? ek_arena_printf(arena, "%s has other %s at %s", what, row->differs,
                                        some_text(arena, &row->differs_at))
                      : ek_arena_printf(arena, "%s is not served by %s", what,
                                        some_text(arena, &row->missing_from)));
    }
    c.n = custom ? all->n_custom : all->n - all->n_custom;
    return culprits_text(&c);
}

/* Differences that do not follow from versions or flags. */
static struct ek_skew_cond custom_discovery(const struct ek_skew_report *r, struct ek_arena *arena)
{
    const struct ek_comparison *c = &r->differences.discovery;
    if (r->n_spread > 0)
        return cond(arena, EK_COND_FALSE, "CustomResourcesDiffer",
                    "%s for %d s or longer: check that the CustomResourceDefinition is Established "
                    "and the APIService Available, and the log of that API server",
                    discovery_example(r, arena, true), EK_SPREADING_MS / 1000);
    if (c->n_stale > 0)
        return cond(
            arena, EK_COND_FALSE, "GroupsStale",
            "the resources of %s%s are not known, because API servers cannot read them from "
            "an aggregated API server (Stale): check the APIService and its Service",
            c->stale_example,
            c->n_stale > 1 ? ek_arena_printf(arena, " and %zu more", c->n_stale - 1) : "");
    struct ek_skew_cond rest = no_difference(
        c, arena, "discovery", "grant get on /api and /apis, and check that the server answers");
    if (c->n_custom == 0 || rest.status != EK_COND_TRUE)
        return rest;
    return cond(arena, EK_COND_TRUE, "Spreading",
                "%s; API servers learn of custom resources one by one, so the difference counts "
                "after %d s",
                discovery_example(r, arena, true), EK_SPREADING_MS / 1000);
}

/* What API servers are to be brought to: API servers before 1.31 have no emulation version. */
static const char *one_version(const struct ek_skew_report *r)
{
    const struct ek_skew_bound *oldest = &r->judgement.bounds.min_bv;
    bool before = oldest->at.known && ek_minor_cmp(oldest->at, EK_FIRST_EMULATION) < 0;
    return before ? "bring all API servers to one version"
                  : "bring all API servers to one emulation version";
}

static struct ek_skew_cond discovery_consistent(struct ek_skew_report *r, struct ek_arena *arena)
{
    const struct ek_comparison *c = &r->differences.discovery;
    if (c->n == c->n_custom)
        return custom_discovery(r, arena);
    const char *example = discovery_example(r, arena, false);
    if (c->drift)
        return cond(arena, EK_COND_FALSE, "DiscoveryDiffers",
                    "API servers of the same version differ, as in %s: align their "
                    "--runtime-config and --feature-gates (%s)",
                    c->drift_example, example);
    return cond(arena, EK_COND_FALSE, "DiscoveryDiffersByVersion",
                "%s; a request may reach an API server that answers 404: %s", example,
                one_version(r));
}

static const char *gates_example(const struct ek_skew_report *r, struct ek_arena *arena)
{
    struct culprits c = {arena, "", 0};
    for (size_t i = 0; i < r->differences.gates.n_rows; i++) {
        const struct ek_gate_difference *row = &r->differences.gate_rows[i];
        const struct ek_some_peers *other =
            row->disabled_by.n > 0 ? &row->disabled_by : &row->missing_from;
        bool some_on = row->enabled_by.n > 0;
        const char *flags =
            row->by_flags.n == 0
                ? ""
                : ek_arena_printf(arena, " (by the flags of %s)", some_text(arena, &row->by_flags));
        blame(&c, ek_arena_printf(arena, "%s is %s at %s and %s at %s%s", row->gate,
                                  some_on ? "on" : "off",
                                  some_text(arena, some_on ? &row->enabled_by : &row->disabled_by),
                                  some_on && row->disabled_by.n > 0 ? "off" : "unknown",
                                  some_text(arena, some_on ? other : &row->missing_from), flags));
    }
    c.n = r->differences.gates.n;
    return culprits_text(&c);
}

/* API servers agree, and another component of their version does not. */
static struct ek_skew_cond component_gates(const struct ek_skew_report *r, struct ek_arena *arena)
{
    const struct ek_differences *d = &r->differences;
    struct culprits c = {arena, "", 0};
    for (size_t i = 0; i < d->n_component_gate_rows; i++) {
        const struct ek_component_gate *row = &d->component_gates[i];
        blame(&c, ek_arena_printf(arena, "%s is on at %s and off at %s", row->gate,
                                  some_text(arena, &row->enabled_by),
                                  some_text(arena, &row->disabled_by)));
    }
    c.n = d->n_component_gates;
    return cond(arena, EK_COND_FALSE, "ComponentFeatureGatesDiffer",
                "components of the same version differ: %s; align their --feature-gates",
                culprits_text(&c));
}

/* What has the gates of API servers: the metric kubernetes_feature_enabled, since 1.26. */
static const char *gates_remedy(const struct ek_skew_report *r)
{
    const struct ek_bounds *b = &r->judgement.bounds;
    const struct ek_minor first = EK_MINOR(1, 26);
    if (!b->min_bv.at.known || ek_minor_cmp(b->min_bv.at, first) >= 0)
        return "grant get on /metrics";
    return ek_minor_cmp(b->max_bv.at, first) < 0
               ? "API servers before 1.26 do not report feature gates"
               : "grant get on /metrics; API servers before 1.26 do not report feature gates";
}

static struct ek_skew_cond gates_consistent(struct ek_skew_report *r, struct ek_arena *arena)
{
    const struct ek_comparison *c = &r->differences.gates;
    if (c->n == 0 && r->differences.n_component_gates > 0)
        return component_gates(r, arena);
    if (c->n == 0)
        return no_difference(c, arena, "feature gates", gates_remedy(r));
    const char *example = gates_example(r, arena);
    if (c->drift)
        return cond(arena, EK_COND_FALSE, "FeatureGatesDiffer",
                    "API servers of the same version differ, as in %s: align their "
                    "--feature-gates (%s)",
                    c->drift_example, example);
    return cond(arena, EK_COND_FALSE, "FeatureGatesDifferByVersion", "%s; %s", example,
                one_version(r));
}

/* ---- Static admission manifests ---- */

static struct ek_skew_cond manifests_consistent(const struct ek_skew_report *r,
                                                struct ek_arena *arena)
{
    const struct ek_comparison *c = &r->differences.manifests;
    struct culprits all = {arena, "", 0};

    if (c->n == 0)
        return no_difference(c, arena, "static admission manifests", "grant get on /metrics");
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct ek_manifests_difference *row = &r->differences.manifests_rows[i];
        if (row->differs_at.n > 0)
            blame(&all, ek_arena_printf(arena, "the manifests of %s differ between %s and %s",
                                        row->plugin, some_text(arena, &row->differs_at),
                                        some_text(arena, &row->loaded_by)));
        if (row->missing_from.n > 0)
            blame(&all, ek_arena_printf(arena, "the manifests of %s are not loaded at %s",
                                        row->plugin, some_text(arena, &row->missing_from)));
    }
    if (c->drift)
        return cond(arena, EK_COND_FALSE, "AdmissionManifestsDiffer",
                    "%s; requests are judged by what their API server has loaded: give all API "
                    "servers the same files in staticManifestsDir, and check "
                    "apiserver_manifest_admission_config_controller_automatic_reloads_total",
                    culprits_text(&all));
    return cond(arena, EK_COND_FALSE, "AdmissionManifestsDifferByVersion",
                "%s; requests are judged by what their API server has loaded: %s",
                culprits_text(&all), one_version(r));
}

static struct ek_skew_cond not_ready_peers(const struct ek_skew_report *r, struct ek_arena *arena)
{
    struct culprits c = {arena, "", 0};
    for (size_t i = 0; i < r->facts.n_peers; i++)
        if (ek_skew_peer_ready(&r->facts.peers[i]) == EK_COND_FALSE)
            blame(&c, ek_arena_printf(
                          arena, "%s (%s)", ek_skew_clean(arena, r->facts.peers[i].name),
                          ek_skew_clean_max(arena, r->facts.peers[i].probe->not_ready, 128)));
    if (c.n == 0)
        return (struct ek_skew_cond){EK_COND_TRUE, "", ""};
    return cond(arena, EK_COND_FALSE, "PeerNotReady", "API servers that are not ready: %s",
                culprits_text(&c));
}

static struct ek_skew_cond invalid_spec(const struct ek_skew_report *r, struct ek_arena *arena)
{
    struct culprits c = {arena, "", 0};
    for (size_t i = 0; i < r->spec.n_errors; i++)
        blame(&c, r->spec.errors[i]);
    return cond(arena, EK_COND_FALSE, "InvalidSpec", "%s; the defaults are used instead",
                culprits_text(&c));
}

/* Ready takes over the first of these that is not True: False ones first. */
static struct ek_skew_cond ready(struct ek_skew_report *r, struct ek_arena *arena)
{
    if (r->spec.n_errors > 0)
        return invalid_spec(r, arena);
    const struct ek_skew_cond parts[] = {r->conditions[EK_SKEW_COND_PEERS_REACHABLE],
                                         r->conditions[EK_SKEW_COND_SKEW_SUPPORTED],
                                         not_ready_peers(r, arena)};
    static const enum ek_cond_status order[] = {EK_COND_FALSE, EK_COND_UNKNOWN};
    for (size_t k = 0; k < EK_ARRAY_SIZE(order); k++)
        for (size_t i = 0; i < EK_ARRAY_SIZE(parts); i++)
            if (parts[i].status == order[k])
                return parts[i];
    const struct ek_bounds *b = &r->judgement.bounds;
    bool alike = r->conditions[EK_SKEW_COND_DISCOVERY_CONSISTENT].status != EK_COND_FALSE &&
                 r->conditions[EK_SKEW_COND_FEATURE_GATES_CONSISTENT].status != EK_COND_FALSE;
    return cond(arena, EK_COND_TRUE, alike ? "Supported" : "SupportedWithDifferences",
                "%zu API server%s at %s, every component within the supported version skew%s",
                r->facts.n_peers, r->facts.n_peers == 1 ? "" : "s",
                span_text(arena, b->min_ev.at, b->max_ev.at),
                alike ? ""
                      : "; they differ in what they serve or enable, see "
                        "DiscoveryConsistent and FeatureGatesConsistent");
}

/* ---- Documents ---- */

int ek_skew_n_conditions(const struct ek_skew_report *r)
{
    if (!r->view->documents)
        return EK_SKEW_COND_DISCOVERY_MERGED;
    return r->differences.has_manifests ? EK_SKEW_CONDITION_MAX
                                        : EK_SKEW_COND_ADMISSION_MANIFESTS_CONSISTENT;
}

const struct ek_view_peer *ek_skew_documents_of(const struct ek_skew_report *r,
                                                const struct ek_peer_fact *peer)
{
    size_t n = 0;
    const struct ek_view_peer *peers =
        r->view->documents ? ek_view_peers(r->view->documents, &n) : NULL;

    for (size_t i = 0; i < n; i++)
        if (!strcmp(peers[i].name, peer->name))
            return &peers[i];
    return NULL;
}

static struct ek_skew_cond discovery_merged(const struct ek_skew_report *r, struct ek_arena *arena)
{
    size_t n = 0;
    const struct ek_view_peer *peers = ek_view_peers(r->view->documents, &n);
    struct culprits unread = {arena, "", 0}, away = {arena, "", 0};

    for (size_t i = 0; i < n; i++) {
        if (!peers[i].fetched)
            blame(&unread, ek_skew_clean(arena, peers[i].name));
        else if (!peers[i].routable)
            blame(&away, ek_skew_clean(arena, peers[i].name));
    }
    if (n == 0)
        return cond(arena, EK_COND_UNKNOWN, "NoPeers", "no API server found");
    if (!ek_view_is_complete(r->view->documents) && unread.n > 0)
        return cond(arena, EK_COND_FALSE, "NotRead",
                    "documents that were never read: %s; a proxy answers discovery by 503 until "
                    "then",
                    culprits_text(&unread));
    if (!ek_view_is_complete(r->view->documents))
        return cond(arena, EK_COND_FALSE, "TooLarge",
                    "there are too many API servers, or their documents are too large or repeat "
                    "names; a proxy answers discovery by 503");
    if (unread.n > 0)
        return cond(arena, EK_COND_FALSE, "PartlyRead",
                    "documents that were never read: %s; a proxy answers 503, and not 404, for "
                    "resources that no other API server serves",
                    culprits_text(&unread));
    if (away.n > 0)
        return cond(arena, EK_COND_TRUE, "OldDocuments",
                    "old documents of API servers that take no requests: %s; resources that only "
                    "these serve are unavailable",
                    culprits_text(&away));
    return cond(arena, EK_COND_TRUE, "Complete", "documents of %zu API server%s", n,
                n == 1 ? "" : "s");
}

/* When the same violation was first seen according to the old status. */
static int64_t known_since(yyjson_val *old_status, const struct ek_violation *v)
{
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(ek_json_get(old_status, "violations", NULL), i, max, item)
    {
        const char *rule = ek_json_str(item, "rule", NULL);
        const char *component = ek_json_str(item, "component", NULL);
        const char *instance = ek_json_str(item, "instance", NULL);
        if (rule && component && instance && strcmp(rule, ek_rule_name(v->rule)) == 0 &&
            strcmp(component, ek_component_name(v->component)) == 0 &&
            strcmp(instance, v->instance) == 0)
            return ek_time_parse(ek_json_str(item, "since", NULL));
    }
    return EK_TIME_UNSET;
}

static void date_violations(struct ek_skew_report *r)
{
    int64_t now = r->view->now_ms;
    r->grace_end_ms = EK_TIME_UNSET;
    for (size_t i = 0; i < r->judgement.n_violations; i++) {
        struct ek_violation *v = &r->judgement.violations[i];
        v->since_ms = known_since(r->old_status, v);
        if (v->since_ms == EK_TIME_UNSET || v->since_ms > now)
            v->since_ms = now;
        int64_t end = v->since_ms / 1000 * 1000 + r->spec.policy.grace_ms;
        if (end <= now)
            continue;
        r->n_young++;
        if (r->grace_end_ms == EK_TIME_UNSET || end < r->grace_end_ms)
            r->grace_end_ms = end;
    }
}

/* When the same difference was first seen according to the old status. */
static int64_t differs_since(yyjson_val *old_status, const struct ek_discovery_difference *row)
{
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(ek_json_get(old_status, "differences", "discovery", NULL), i, max, item)
    {
        if (strcmp(ek_json_text(item, "groupVersion"), row->group_version) == 0 &&
            strcmp(ek_json_text(item, "resource"), row->resource) == 0 &&
            strcmp(ek_json_text(item, "differs"), row->differs) == 0)
            return ek_time_parse(ek_json_text(item, "since"));
    }
    return EK_TIME_UNSET;
}

static void date_differences(struct ek_skew_report *r)
{
    int64_t now = r->view->now_ms;
    r->spreading_ms = EK_TIME_UNSET;
    for (size_t i = 0; i < r->differences.discovery.n_rows; i++) {
        struct ek_discovery_difference *row = &r->differences.discovery_rows[i];
        if (!row->custom)
            continue;
        row->since_ms = differs_since(r->old_status, row);
        if (row->since_ms == EK_TIME_UNSET || row->since_ms > now)
            row->since_ms = now;
        int64_t end = row->since_ms / 1000 * 1000 + EK_SPREADING_MS;
        if (end <= now)
            r->n_spread++;
        else if (r->spreading_ms == EK_TIME_UNSET || end < r->spreading_ms)
            r->spreading_ms = end;
    }
}

void ek_skew_conclude(struct ek_skew_report *r, struct ek_arena *arena)
{
    struct ek_skew_cond *c = r->conditions;
    date_violations(r);
    date_differences(r);
    c[EK_SKEW_COND_PEERS_REACHABLE] = peers_reachable(r, arena);
    c[EK_SKEW_COND_SKEW_SUPPORTED] = skew_supported(r, arena);
    c[EK_SKEW_COND_DISCOVERY_CONSISTENT] = discovery_consistent(r, arena);
    c[EK_SKEW_COND_FEATURE_GATES_CONSISTENT] = gates_consistent(r, arena);
    c[EK_SKEW_COND_NEXT_VERSION_SAFE] = cond(
        arena, r->judgement.next.safe, r->judgement.next.reason, "%s", r->judgement.next.message);
    c[EK_SKEW_COND_READY] = ready(r, arena);
    if (r->view->documents)
        c[EK_SKEW_COND_DISCOVERY_MERGED] = discovery_merged(r, arena);
    c[EK_SKEW_COND_ADMISSION_MANIFESTS_CONSISTENT] = manifests_consistent(r, arena);
}
