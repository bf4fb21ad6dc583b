/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/events.h"

#include <string.h>

#include "reconcilers/skew/text.h"

#define NOTE_MAX 1000
/* Violations with an Event of their own; more are summed up. */
#define VIOLATIONS_TOLD 5

struct events {
    const struct ek_skew_report *report;
    struct ek_arena *arena;
    struct ek_skew_event *list;
    size_t n;
};

static void write_event(struct events *e, bool warning, const char *reason, const char *action,
                        const char *note)
{
    if (e->n < EK_SKEW_EVENTS_MAX)
        e->list[e->n++] = (struct ek_skew_event){warning, reason, action,
                                                 ek_skew_clean_max(e->arena, note, NOTE_MAX)};
}

static enum ek_cond_status before(const struct events *e, enum ek_skew_condition condition)
{
    return ek_cond_status(ek_json_get(e->report->old_status, "conditions", NULL),
                          ek_skew_condition_name(condition));
}

static bool same_member(yyjson_val *old, const char *key, const char *value)
{
    const char *s = ek_json_str(old, key, NULL);
    return s && value[0] && strcmp(s, value) == 0;
}

/* True when an old entry speaks of the peer; its name may have changed since (a host name is known
 * only while there is a Lease). */
static bool speaks_of(yyjson_val *old, const char *name, const struct ek_peer_fact *peer)
{
    return same_member(old, "name", name) || same_member(old, "serverID", peer->server_id) ||
           same_member(old, "address", peer->address);
}

/* The old entry of the peer; NULL when there is none. */
static yyjson_val *find_old(yyjson_val *list, const char *name, const struct ek_peer_fact *peer)
{
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, max, item)
    {
        if (speaks_of(item, name, peer))
            return item;
    }
    return NULL;
}

/* Without the "v": /version writes it, version_info does not. */
static const char *bare(const char *version)
{
    return *version == 'v' ? version + 1 : version;
}

static void report_version_change(struct events *e, const char *name, yyjson_val *old,
                                  const struct ek_versions *v)
{
    char buf[EK_MINOR_SIZE];
    const char *binary = ek_json_str(old, "binaryVersion", NULL);
    /* An emulation version without a source was assumed: that it is read now is no change. */
    const char *emulation = ek_json_str(old, "emulationVersionSource", NULL)
                                ? ek_json_str(old, "emulationVersion", NULL)
                                : NULL;
    const char *now = ek_skew_clean(e->arena, v->binary_string);
    if (!binary || !now[0] || !v->emulation.known)
        return;
    ek_minor_format(v->emulation, buf);
    if (strcmp(bare(binary), bare(now)) == 0 &&
        (!emulation || v->assumed_emulation || strcmp(emulation, buf) == 0))
        return;
    write_event(e, false, "PeerVersionChanged", "Observe",
                ek_arena_printf(e->arena,
                                "API server %s went from %s (emulation %s) to %s (emulation %s)",
                                name, binary, emulation ? emulation : "unknown", now,
                                v->assumed_emulation ? "unknown" : buf));
}

static void report_peer(struct events *e, const struct ek_peer_fact *peer, yyjson_val *old_peers)
{
    const char *name = ek_skew_clean(e->arena, peer->name);
    yyjson_val *old = find_old(old_peers, name, peer);
    enum ek_cond_status up = ek_skew_peer_reachable(peer);
    yyjson_val *was = ek_json_get(old, "reachable", NULL);
    if (up == EK_COND_FALSE && (!old || yyjson_get_bool(was)))
        write_event(e, true, "PeerUnreachable", "Probe",
                    ek_arena_printf(e->arena, "API server %s does not answer: %s: %s", name,
                                    peer->unreachable_reason,
                                    ek_skew_steady(e->arena, peer->unreachable_message)));
    else if (up == EK_COND_TRUE && old && !yyjson_get_bool(was))
        write_event(e, false, "PeerReachable", "Probe",
                    ek_arena_printf(e->arena, "API server %s answers", name));
    else if (old_peers && !old)
        write_event(e, false, "PeerAdded", "Observe",
                    ek_arena_printf(e->arena, "API server %s appeared", name));
    if (old)
        report_version_change(e, name, old, &peer->versions);
}

static bool still_there(const struct events *e, yyjson_val *old)
{
    const struct ek_skew_facts *facts = &e->report->facts;
    for (size_t i = 0; i < facts->n_peers; i++)
        if (speaks_of(old, ek_skew_clean(e->arena, facts->peers[i].name), &facts->peers[i]))
            return true;
    return false;
}

static void report_peers(struct events *e)
{
    yyjson_val *old = ek_json_get(e->report->old_status, "peers", NULL), *item;
    size_t i, max;
    for (i = 0; i < e->report->facts.n_peers; i++)
        report_peer(e, &e->report->facts.peers[i], old);
    yyjson_arr_foreach(old, i, max, item)
    {
        const char *name = ek_json_str(item, "name", NULL);
        if (name && !still_there(e, item))
            write_event(
                e, false, "PeerRemoved", "Observe",
                ek_arena_printf(e->arena,
                                "API server %s is gone: no Lease, EndpointSlice or pod names it",
                                name));
    }
}

/* A violation is news when the old status did not hold it, or tolerated it. */
static bool is_news(const struct events *e, const struct ek_violation *v)
{
    return before(e, EK_SKEW_COND_SKEW_SUPPORTED) != EK_COND_FALSE ||
           v->since_ms == e->report->view->now_ms;
}

/* True when a condition has become True again. On the way it may have been Unknown, as while a
 * server restarts; that must not swallow the good news. The first status is no news. */
static bool recovered(const struct events *e, enum ek_skew_condition condition)
{
    yyjson_val *old = ek_cond_find(ek_json_get(e->report->old_status, "conditions", NULL),
                                   ek_skew_condition_name(condition));
    return old && e->report->conditions[condition].status == EK_COND_TRUE &&
           before(e, condition) != EK_COND_TRUE;
}

static void report_skew(struct events *e)
{
    const struct ek_judgement *j = &e->report->judgement;
    enum ek_cond_status now = e->report->conditions[EK_SKEW_COND_SKEW_SUPPORTED].status;
    size_t news = 0;
    if (recovered(e, EK_SKEW_COND_SKEW_SUPPORTED))
        write_event(e, false, "SkewResolved", "Judge",
                    e->report->conditions[EK_SKEW_COND_SKEW_SUPPORTED].message);
    if (now != EK_COND_FALSE)
        return;
    for (size_t i = 0; i < j->n_violations; i++) {
        const struct ek_violation *v = &j->violations[i];
        if (is_news(e, v) && ++news <= VIOLATIONS_TOLD)
            write_event(e, true, "SkewUnsupported", "Judge",
                        ek_arena_printf(e->arena, "%s: %s (%s)", ek_rule_name(v->rule), v->message,
                                        v->remedy));
    }
    if (news > VIOLATIONS_TOLD)
        write_event(e, true, "SkewUnsupported", "Judge",
                    ek_arena_printf(e->arena, "%zu more violation%s, see status.violations",
                                    news - VIOLATIONS_TOLD,
                                    news - VIOLATIONS_TOLD == 1 ? "" : "s"));
}

/* A condition that went to False, or came back from it. */
static void report_condition(struct events *e, enum ek_skew_condition condition, bool warning,
                             const char *worse, const char *better)
{
    const struct ek_skew_cond *now = &e->report->conditions[condition];
    enum ek_cond_status then = before(e, condition);
    if (now->status == EK_COND_FALSE && then != EK_COND_FALSE)
        write_event(e, warning, worse, "Compare", now->message);
    else if (recovered(e, condition))
        write_event(e, false, better, "Compare", now->message);
}

static void report_spec(struct events *e)
{
    const struct ek_skew_cond *ready = &e->report->conditions[EK_SKEW_COND_READY];
    yyjson_val *old = ek_cond_find(ek_json_get(e->report->old_status, "conditions", NULL),
                                   ek_skew_condition_name(EK_SKEW_COND_READY));
    const char *reason = ek_json_str(old, "reason", NULL);
    if (e->report->spec.n_errors > 0 && (!reason || strcmp(reason, "InvalidSpec") != 0))
        write_event(e, true, "InvalidSpec", "ReadSpec", ready->message);
}

void ek_skew_events(const struct ek_skew_report *report, struct ek_arena *arena,
                    struct ek_skew_event **ret_events, size_t *ret_n)
{
    struct events e = {.report = report, .arena = arena};
    e.list = ek_arena_alloc(arena, EK_SKEW_EVENTS_MAX * sizeof(*e.list));
    report_spec(&e);
    size_t before_skew = e.n;
    report_skew(&e);
    bool skew_told = e.n > before_skew;
    report_condition(&e, EK_SKEW_COND_DISCOVERY_CONSISTENT, report->differences.discovery.drift,
                     "DiscoveryDiffers", "DiscoveryConsistent");
    report_condition(&e, EK_SKEW_COND_FEATURE_GATES_CONSISTENT,
                     report->differences.gates.drift || report->differences.n_component_gates > 0,
                     "FeatureGatesDiffer", "FeatureGatesConsistent");
    if (ek_skew_n_conditions(report) > EK_SKEW_COND_ADMISSION_MANIFESTS_CONSISTENT)
        report_condition(&e, EK_SKEW_COND_ADMISSION_MANIFESTS_CONSISTENT,
                         report->differences.manifests.drift, "AdmissionManifestsDiffer",
                         "AdmissionManifestsConsistent");
    /* What breaks a rule mostly blocks the next version too: one of the two is enough. */
    if (!skew_told && before(&e, EK_SKEW_COND_NEXT_VERSION_SAFE) != EK_COND_UNKNOWN)
        report_condition(&e, EK_SKEW_COND_NEXT_VERSION_SAFE, false, "NextVersionBlocked",
                         "NextVersionSafe");
    report_peers(&e);
    *ret_events = e.list;
    *ret_n = e.n;
}
