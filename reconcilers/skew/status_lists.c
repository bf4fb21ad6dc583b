/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "reconcilers/skew/status.h"
#include "reconcilers/skew/text.h"

/* Messages of list entries are shorter than those of violations and conditions. */
#define MESSAGE_MAX 240
#define TEXT_MAX    EK_SKEW_TEXT_MAX

static void put_versions(const struct ek_status_out *out, yyjson_mut_val *o,
                         const struct ek_versions *v)
{
    ek_status_str__(out, o, "binaryVersion", v->binary_string, TEXT_MAX);
    ek_status_minor__(out, o, "emulationVersion", v->emulation);
    ek_status_minor__(out, o, "minCompatibilityVersion", v->min_compat);
    if (v->source != EK_SOURCE_NONE)
        yyjson_mut_obj_add_strcpy(out->doc, o, "versionSource", ek_source_name(v->source));
    bool emulation = v->assumed_emulation && v->emulation.known;
    bool min_compat = v->assumed_min_compat && v->min_compat.known;
    if (v->emulation.known && !emulation)
        yyjson_mut_obj_add_strcpy(out->doc, o, "emulationVersionSource",
                                  ek_source_name(v->emulation_source));
    if (v->min_compat.known && !min_compat)
        yyjson_mut_obj_add_strcpy(out->doc, o, "minCompatibilityVersionSource",
                                  ek_source_name(v->min_compat_source));
    if (!emulation && !min_compat)
        return;
    yyjson_mut_val *assumed = yyjson_mut_obj_add_arr(out->doc, o, "assumed");
    if (emulation)
        yyjson_mut_arr_add_str(out->doc, assumed, "emulationVersion");
    if (min_compat)
        yyjson_mut_arr_add_str(out->doc, assumed, "minCompatibilityVersion");
}

static void put_judged(const struct ek_status_out *out, yyjson_mut_val *o,
                       const struct ek_judged *judged, const char *extra)
{
    const char *message = judged->message;
    if (extra[0] && !strstr(message, extra))
        message = message[0] ? ek_arena_printf(out->arena, "%s; %s", extra, message) : extra;
    yyjson_mut_obj_add_str(out->doc, o, "verdict", ek_verdict_name(judged->verdict));
    ek_status_str__(out, o, "reason", judged->reason, TEXT_MAX);
    ek_status_str__(out, o, "message", message, MESSAGE_MAX);
}

static const char *form_name(enum ek_discovery_form form)
{
    static const char *const names[] = {"V2", "V2Beta1", "Legacy"};
    return (unsigned)form < EK_DISCOVERY_FORM_MAX ? names[form] : "";
}

static size_t count_resources(const struct ek_discovery *set)
{
    size_t n, resources = 0;
    const struct ek_discovery_entry *entries = ek_discovery_entries(set, &n);
    for (size_t i = 0; i < n; i++)
        resources += entries[i].resource[0] && strchr(entries[i].resource, '/') == NULL;
    return resources;
}

static void put_discovery(const struct ek_status_out *out, yyjson_mut_val *o, size_t peer)
{
    const struct ek_probe *probe = out->report->facts.peers[peer].probe;
    size_t missing = out->report->differences.missing_resources[peer];
    if (!probe || !probe->discovery)
        return;
    yyjson_mut_val *d = yyjson_mut_obj_add_obj(out->doc, o, "discovery");
    yyjson_mut_obj_add_str(out->doc, d, "form", form_name(probe->discovery_form));
    yyjson_mut_obj_add_uint(out->doc, d, "resources", count_resources(probe->discovery));
    if (missing != SIZE_MAX)
        yyjson_mut_obj_add_uint(out->doc, d, "missing", missing);
    /* While the API server answers, the time changes with each probe, and says nothing. */
    const struct ek_probe_answer *answer = &probe->discovery_answer;
    if (answer->good_at_ms != EK_TIME_UNSET &&
        answer->tried_at_ms - answer->good_at_ms > EK_DIFFERENCES_STALE_MS)
        ek_status_time__(out, d, "readTime", answer->good_at_ms);
}

/* What else is to be said of a peer: why it does not answer, or what does not fit. */
static const char *peer_remark(const struct ek_status_out *out, const struct ek_peer_fact *peer)
{
    const char *conflict = ek_skew_clean_max(out->arena, peer->versions.conflict, MESSAGE_MAX);
    if (!peer->reachable)
        return ek_skew_steady(out->arena, peer->unreachable_message);
    if (ek_skew_peer_ready(peer) == EK_COND_FALSE)
        return ek_arena_printf(out->arena, "not ready: %s%s%s", peer->probe->not_ready,
                               conflict[0] ? "; " : "", conflict);
    if (conflict[0])
        return conflict;
    if (peer->probe && peer->probe->n_cert_names > 0 && !peer->certificate_matches)
        return "its serving certificate names neither its address nor its host";
    return "";
}

static void put_peer(const struct ek_status_out *out, yyjson_mut_val *list, size_t i)
{
    const struct ek_peer_fact *peer = &out->report->facts.peers[i];
    yyjson_mut_val *o = yyjson_mut_arr_add_obj(out->doc, list);
    enum ek_cond_status ready = ek_skew_peer_ready(peer);
    yyjson_mut_obj_add_strcpy(out->doc, o, "name", ek_skew_clean(out->arena, peer->name));
    ek_status_str__(out, o, "serverID", peer->server_id, TEXT_MAX);
    ek_status_str__(out, o, "address", peer->address, TEXT_MAX);
    ek_status_str__(out, o, "addressSource", peer->address_source, TEXT_MAX);
    ek_status_str__(out, o, "tiedBy", peer->tied_by, TEXT_MAX);
    if (peer->lease_age_ms >= 0 || peer->lease_stale)
        yyjson_mut_obj_add_str(out->doc, o, "lease", peer->lease_stale ? "Stale" : "Renewed");
    yyjson_mut_obj_add_bool(out->doc, o, "live", peer->live);
    yyjson_mut_obj_add_bool(out->doc, o, "reachable", peer->reachable);
    if (ready != EK_COND_UNKNOWN)
        yyjson_mut_obj_add_bool(out->doc, o, "ready", ready == EK_COND_TRUE);
    const struct ek_view_peer *documents = ek_skew_documents_of(out->report, peer);
    if (documents)
        yyjson_mut_obj_add_bool(out->doc, o, "routable", documents->routable);
    if (!peer->reachable) {
        ek_status_str__(out, o, "unreachableReason", peer->unreachable_reason, TEXT_MAX);
        ek_status_time__(out, o, "lastSeen", out->report->last_seen[i]);
    }
    put_versions(out, o, &peer->versions);
    put_judged(out, o, &out->report->judgement.peers[i], peer_remark(out, peer));
    put_discovery(out, o, i);
    if (peer->probe)
        ek_status_time__(out, o, "certificateExpires", peer->probe->cert_not_after_ms);
}

void ek_status_peers__(const struct ek_status_out *out)
{
    size_t n = out->report->facts.n_peers;
    if (n == 0)
        return;
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(out->doc, out->status, "peers");
    for (size_t i = 0; i < n && i < EK_STATUS_PEERS_MAX; i++)
        put_peer(out, list, i);
    ek_status_omitted__(out, "peers", n, EK_STATUS_PEERS_MAX);
}

static void put_instance(const struct ek_status_out *out, yyjson_mut_val *list, size_t i)
{
    const struct ek_instance_fact *fact = &out->report->facts.instances[i];
    yyjson_mut_val *o = yyjson_mut_arr_add_obj(out->doc, list);
    yyjson_mut_obj_add_strcpy(out->doc, o, "component", ek_component_name(fact->component));
    yyjson_mut_obj_add_strcpy(out->doc, o, "name", ek_skew_clean(out->arena, fact->name));
    if (fact->leader)
        yyjson_mut_obj_add_bool(out->doc, o, "leader", true);
    if (fact->stale)
        yyjson_mut_obj_add_bool(out->doc, o, "stale", true);
    put_versions(out, o, &fact->versions);
    put_judged(out, o, &out->report->judgement.instances[i], fact->versions.conflict);
}

void ek_status_components__(const struct ek_status_out *out)
{
    const struct ek_judgement *j = &out->report->judgement;
    size_t n = out->report->facts.n_instances;
    if (n + j->n_absent == 0)
        return;
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(out->doc, out->status, "components");
    for (size_t i = 0; i < j->n_absent; i++) {
        yyjson_mut_val *o = yyjson_mut_arr_add_obj(out->doc, list);
        yyjson_mut_obj_add_strcpy(out->doc, o, "component",
                                  ek_component_name(j->absent[i].component));
        put_judged(out, o, &j->absent[i].judged, "");
    }
    for (size_t i = 0; i < n && i < EK_STATUS_COMPONENTS_MAX; i++)
        put_instance(out, list, i);
    ek_status_omitted__(out, "components", n, EK_STATUS_COMPONENTS_MAX);
}

static void put_group(const struct ek_status_out *out, yyjson_mut_val *list, size_t i)
{
    const struct ek_node_group *group = &out->report->facts.groups[i];
    yyjson_mut_val *o = yyjson_mut_arr_add_obj(out->doc, list);
    yyjson_mut_obj_add_strcpy(out->doc, o, "component", ek_component_name(group->component));
    yyjson_mut_obj_add_strcpy(out->doc, o, "version", ek_skew_clean(out->arena, group->version));
    yyjson_mut_obj_add_uint(out->doc, o, "count", group->count);
    yyjson_mut_val *names = yyjson_mut_obj_add_arr(out->doc, o, "names");
    for (size_t k = 0; k < group->n_names; k++)
        yyjson_mut_arr_add_strcpy(out->doc, names, ek_skew_clean(out->arena, group->names[k]));
    put_judged(out, o, &out->report->judgement.groups[i], "");
}

/* Groups with something to say come first where not all fit. */
static bool fine(const struct ek_judged *judged)
{
    return judged->verdict == EK_VERDICT_SUPPORTED || judged->verdict == EK_VERDICT_NOT_JUDGED;
}

void ek_status_nodes__(const struct ek_status_out *out)
{
    const struct ek_judged *judged = out->report->judgement.groups;
    size_t n = out->report->facts.n_groups, troubled = 0, room;
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        troubled += !fine(&judged[i]);
    room = troubled < EK_STATUS_NODES_MAX ? EK_STATUS_NODES_MAX - troubled : 0;
    troubled = EK_STATUS_NODES_MAX;
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(out->doc, out->status, "nodes");
    for (size_t i = 0; i < n; i++) {
        size_t *left = fine(&judged[i]) ? &room : &troubled;
        if (*left == 0)
            continue;
        --*left;
        put_group(out, list, i);
    }
    ek_status_omitted__(out, "nodes", n, EK_STATUS_NODES_MAX);
}

static void put_some(const struct ek_status_out *out, yyjson_mut_val *o, const char *key,
                     const char *count_key, const struct ek_some_peers *some)
{
    if (some->n == 0)
        return;
    yyjson_mut_val *names = yyjson_mut_obj_add_arr(out->doc, o, key);
    for (size_t i = 0; i < some->n_names; i++)
        yyjson_mut_arr_add_strcpy(out->doc, names, ek_skew_clean(out->arena, some->names[i]));
    yyjson_mut_obj_add_uint(out->doc, o, count_key, some->n);
}

static void put_discovery_rows(const struct ek_status_out *out, yyjson_mut_val *o)
{
    const struct ek_differences *d = &out->report->differences;
    yyjson_mut_obj_add_uint(out->doc, o, "discoveryTotal", d->discovery.n);
    if (d->discovery.n_stale > 0)
        yyjson_mut_obj_add_uint(out->doc, o, "staleTotal", d->discovery.n_stale);
    if (d->discovery.n_rows == 0)
        return;
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(out->doc, o, "discovery");
    for (size_t i = 0; i < d->discovery.n_rows; i++) {
        const struct ek_discovery_difference *row = &d->discovery_rows[i];
        yyjson_mut_val *r = yyjson_mut_arr_add_obj(out->doc, list);
        ek_status_str__(out, r, "groupVersion", row->group_version, 192);
        ek_status_str__(out, r, "resource", row->resource, 128);
        yyjson_mut_obj_add_uint(out->doc, r, "resources", row->n_resources);
        put_some(out, r, "servedBy", "servedByCount", &row->served_by);
        put_some(out, r, "missingFrom", "missingFromCount", &row->missing_from);
        ek_status_str__(out, r, "differs", row->differs, 64);
        put_some(out, r, "differsAt", "differsAtCount", &row->differs_at);
        if (!row->custom)
            continue;
        yyjson_mut_obj_add_bool(out->doc, r, "custom", true);
        ek_status_time__(out, r, "since", row->since_ms);
    }
}

static void put_component_gates(const struct ek_status_out *out, yyjson_mut_val *o)
{
    const struct ek_differences *d = &out->report->differences;
    if (d->n_component_gate_rows == 0)
        return;
    yyjson_mut_obj_add_uint(out->doc, o, "componentGatesTotal", d->n_component_gates);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(out->doc, o, "componentGates");
    for (size_t i = 0; i < d->n_component_gate_rows; i++) {
        const struct ek_component_gate *row = &d->component_gates[i];
        yyjson_mut_val *r = yyjson_mut_arr_add_obj(out->doc, list);
        ek_status_str__(out, r, "name", row->gate, TEXT_MAX);
        put_some(out, r, "enabledBy", "enabledByCount", &row->enabled_by);
        put_some(out, r, "disabledBy", "disabledByCount", &row->disabled_by);
        put_some(out, r, "byFlags", "byFlagsCount", &row->by_flags);
    }
}

static void put_alpha(const struct ek_status_out *out, yyjson_mut_val *o)
{
    const struct ek_differences *d = &out->report->differences;
    if (d->n_alpha_rows == 0)
        return;
    yyjson_mut_obj_add_uint(out->doc, o, "alphaUnderEmulationTotal", d->n_alpha);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(out->doc, o, "alphaUnderEmulation");
    for (size_t i = 0; i < d->n_alpha_rows; i++) {
        const struct ek_alpha_use *row = &d->alpha[i];
        yyjson_mut_val *r = yyjson_mut_arr_add_obj(out->doc, list);
        ek_status_str__(out, r, "name", row->name, 192);
        yyjson_mut_obj_add_str(out->doc, r, "type", row->api ? "API" : "FeatureGate");
        put_some(out, r, "enabledBy", "enabledByCount", &row->by);
    }
}

static void put_manifests(const struct ek_status_out *out, yyjson_mut_val *o)
{
    const struct ek_differences *d = &out->report->differences;
    if (d->manifests.n_rows == 0)
        return;
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(out->doc, o, "admissionManifests");
    for (size_t i = 0; i < d->manifests.n_rows; i++) {
        const struct ek_manifests_difference *row = &d->manifests_rows[i];
        yyjson_mut_val *r = yyjson_mut_arr_add_obj(out->doc, list);
        ek_status_str__(out, r, "plugin", row->plugin, TEXT_MAX);
        put_some(out, r, "loadedBy", "loadedByCount", &row->loaded_by);
        put_some(out, r, "differsAt", "differsAtCount", &row->differs_at);
        put_some(out, r, "missingFrom", "missingFromCount", &row->missing_from);
    }
}

void ek_status_differences__(const struct ek_status_out *out)
{
    const struct ek_differences *d = &out->report->differences;
    yyjson_mut_val *o = yyjson_mut_obj_add_obj(out->doc, out->status, "differences");
    put_discovery_rows(out, o);
    yyjson_mut_obj_add_uint(out->doc, o, "featureGatesTotal", d->gates.n);
    yyjson_mut_obj_add_uint(out->doc, o, "featureGatesMissing", d->n_gates_missing);
    put_component_gates(out, o);
    put_alpha(out, o);
    put_manifests(out, o);
    if (d->gates.n_rows == 0)
        return;
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(out->doc, o, "featureGates");
    for (size_t i = 0; i < d->gates.n_rows; i++) {
        const struct ek_gate_difference *row = &d->gate_rows[i];
        yyjson_mut_val *r = yyjson_mut_arr_add_obj(out->doc, list);
        ek_status_str__(out, r, "name", row->gate, TEXT_MAX);
        put_some(out, r, "enabledBy", "enabledByCount", &row->enabled_by);
        put_some(out, r, "disabledBy", "disabledByCount", &row->disabled_by);
        put_some(out, r, "missingFrom", "missingFromCount", &row->missing_from);
        put_some(out, r, "byFlags", "byFlagsCount", &row->by_flags);
    }
}
