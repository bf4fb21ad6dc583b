/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "reconcilers/peers/address.h"
#include "reconcilers/peers/pod.h"
#include "reconcilers/peers/roster.h"
#include "reconcilers/skew/facts-internal.h"

/* CamelCase for what a request failed with. */
static const char *failure_reason(int code)
{
    switch (code) {
    case EK_E_REFUSED:
        return "ConnectionRefused";
    case EK_E_TIMEOUT:
        return "Timeout";
    case EK_E_TLS:
        return "TLSFailure";
    case EK_E_UNAUTHORIZED:
        return "Unauthorized";
    case EK_E_FORBIDDEN:
        return "Forbidden";
    case EK_E_THROTTLED:
        return "Throttled";
    case EK_E_SERVER:
    case EK_E_HTTP:
    case EK_E_PARSE:
        return "UnexpectedAnswer";
    default:
        return "Unreachable";
    }
}

static struct reading version_reading(const struct ek_probe *probe)
{
    struct reading reading =
        ek_facts_reading__(EK_SOURCE_VERSION, "/version", probe->git_version, true);
    ek_facts_set_age__(&reading, probe, &probe->version_answer);
    /* The server falls back on its built-in version where its build has no tag, and then major and
     * minor are right while gitVersion says 0.0. */
    if (probe->binary.known && probe->binary.major > 0)
        reading.binary = probe->binary;
    reading.emulation = probe->emulation;
    reading.min_compat = probe->min_compat;
    return reading;
}

static struct reading info_reading(const struct ek_probe *probe)
{
    struct reading reading = ek_facts_reading__(EK_SOURCE_VERSION_INFO, "the version_info metric",
                                                probe->info_binary, true);
    ek_facts_set_age__(&reading, probe, &probe->metrics_answer);
    reading.emulation = probe->info_emulation;
    reading.min_compat = probe->info_min_compat;
    return reading;
}

static struct reading openapi_reading(const struct ek_probe *probe)
{
    struct reading reading =
        ek_facts_reading__(EK_SOURCE_OPENAPI, "OpenAPI's info.version", "", true);
    ek_facts_set_age__(&reading, probe, &probe->openapi_answer);
    reading.emulation = probe->openapi;
    return reading;
}

/* Why a probed peer reported no version. */
static const char *silence(const struct ek_peer_fact *fact)
{
    if (!fact->reachable || !fact->probe)
        return fact->unreachable_reason;
    const struct ek_err *error = &fact->probe->version_answer.error;
    if (error->code == EK_E_FORBIDDEN || error->code == EK_E_UNAUTHORIZED)
        return failure_reason(error->code);
    return ek_facts_is_current__(fact->probe, &fact->probe->version_answer) ? "Absent"
                                                                            : "NotObservable";
}

static bool has_ip(const struct ek_obj *pod, const char *wanted)
{
    static const char *const fields[] = {"podIP", "hostIP"};
    char ip[EK_ADDRESS_SIZE];

    for (size_t i = 0; i < EK_ARRAY_SIZE(fields); i++)
        if (ek_address_ip(ek_json_str(ek_obj_root(pod), "status", fields[i], NULL), ip) &&
            !strcmp(ip, wanted))
            return true;
    return false;
}

/* The pod of the server at an address among those that prove something: the only one with its IP,
 * NULL where there are several (two servers on one host) or none. */
static const struct ek_obj *pod_at(const struct ek_objs *proven, const char *address)
{
    const struct ek_obj *found = NULL;
    char text[EK_ADDRESS_SIZE], ip[EK_ADDRESS_SIZE];

    if (!ek_address_parse(address, text, ip))
        return NULL;
    for (size_t i = 0; i < proven->n; i++) {
        if (!has_ip(proven->items[i], ip))
            continue;
        if (found)
            return NULL;
        found = proven->items[i];
    }
    return found;
}

/* Any node may write any number of pods: those that prove nothing are left out once, not met again
 * at every server. */
static struct ek_objs proven_pods(struct facts *f)
{
    const struct ek_objs *pods = &f->pods[EK_KUBE_APISERVER];
    struct ek_obj **items = ek_arena_alloc(f->arena, (pods->n + 1) * sizeof(struct ek_obj *));
    size_t n = 0;

    for (size_t i = 0; i < pods->n; i++)
        if (ek_pod_is_proven(pods->items[i], &f->view->nodes))
            items[n++] = pods->items[i];
    return (struct ek_objs){.items = items, .n = n, .available = pods->available};
}

/* Two answers from one address contradict each other: the address is that of several servers, and
 * none of them is known to have the version that one answer has. */
static void set_disputed(struct ek_arena *arena, const char *address, const char *conflict,
                         enum ek_disputed disputed, struct ek_versions *versions)
{
    if (disputed == EK_DISPUTED_NONE)
        return;
    versions->disputed = disputed;
    versions->assumed_min_compat = versions->min_compat.known;
    if (disputed >= EK_DISPUTED_EMULATION)
        versions->assumed_emulation = versions->emulation.known;
    versions->conflict =
        ek_arena_printf(arena, "%s: more than one server seems to answer at %s", conflict, address);
}

/* The flags of a server whose Pod does not have them, as the server itself lists them; not those of
 * another server that answers at its address. */
static const char *read_flagz(struct facts *f, const struct ek_peer_fact *fact, const char *unread,
                              struct ek_pod_flags *flags)
{
    const struct ek_probe *probe = fact->probe;
    const struct ek_minor emulation = fact->versions.emulation;
    struct ek_pod_flags its;

    if (!*unread || !probe || !probe->flagz || fact->versions.disputed ||
        !ek_facts_is_current__(probe, &probe->flagz_answer))
        return unread;
    ek_pod_flagz_read((const char *const *)probe->flagz, probe->n_flagz, f->arena, &its);
    if (*its.unread || (its.emulation.known && ek_minor_cmp(its.emulation, emulation) != 0))
        return unread;
    *flags = its;
    return "";
}

static void read_versions(struct facts *f, const struct ek_objs *pods, struct ek_peer_fact *fact)
{
    struct reading readings[EK_FACTS_READINGS_MAX];
    struct ek_pod_flags set;
    size_t n = 0;

    if (fact->probe) {
        readings[n++] = info_reading(fact->probe);
        readings[n++] = version_reading(fact->probe);
        readings[n++] = openapi_reading(fact->probe);
    }
    enum ek_disputed disputed;
    const char *conflict = ek_facts_conflict__(f->arena, readings, n, &disputed);
    const struct ek_obj *pod = pod_at(pods, fact->address);
    const char *flags = ek_facts_pod_readings__(f, pod, EK_KUBE_APISERVER, readings, &n, &set);
    if (!pod)
        flags = "no pod of a control plane node has its address";
    const char *unread =
        ek_arena_printf(f->arena, "neither /version, OpenAPI nor metrics report it, and %s", flags);
    struct ek_versions versions = ek_facts_merge__(f->arena, readings, n, silence(fact), unread);
    set_disputed(f->arena, fact->address, conflict, disputed, &versions);
    fact->versions = versions;
    fact->flags_read = !*read_flagz(f, fact, flags, &set);
    fact->flag_gates = set.gates;
    fact->n_flag_gates = set.n_gates;
    fact->flag_apis = set.apis;
}

static void set_unreachable(struct ek_peer_fact *fact, const char *reason, const char *message)
{
    fact->unreachable_reason = reason;
    fact->unreachable_message = message;
}

static void read_reach(struct facts *f, struct ek_peer_fact *fact)
{
    const struct ek_probe *probe = fact->probe;
    char age[EK_TIME_SIZE];

    fact->unreachable_reason = fact->unreachable_message = "";
    fact->reachable = probe && ek_facts_is_current__(probe, &probe->reach);
    if (fact->reachable)
        return;
    if (*fact->address && !fact->trusted)
        set_unreachable(fact, "NotTrusted",
                        "only a static pod names its address, which its node may write: it is not "
                        "probed until the EndpointSlice default/kubernetes or "
                        "spec.peers.endpoints names it");
    else if (*fact->address && probe && probe->reach.error.code != 0)
        set_unreachable(fact, failure_reason(probe->reach.error.code), probe->reach.error.message);
    else if (*fact->address)
        set_unreachable(fact, "NotProbed", "it has not been probed yet");
    else if (!fact->lease_stale)
        set_unreachable(fact, "NoAddress",
                        "neither the EndpointSlice default/kubernetes nor spec.peers.endpoints "
                        "names its address");
    else if (fact->lease_age_ms < 0)
        set_unreachable(fact, "LeaseStale", "its identity lease has no readable renewTime");
    else
        set_unreachable(fact, "LeaseStale",
                        ek_arena_printf(f->arena,
                                        "its identity lease was last renewed %s ago and no address "
                                        "of it is known: the server has ended",
                                        ek_duration_human(fact->lease_age_ms, age)));
}

static void collect_peer(struct facts *f, const struct ek_roster_peer *peer,
                         const struct ek_objs *pods, struct ek_peer_fact *fact)
{
    *fact = (struct ek_peer_fact){
        .name = peer->name,
        .server_id = peer->server_id,
        .address = peer->address,
        .address_source = peer->address_source,
        .trusted = peer->credential == EK_PROBE_OWN,
        .tied_by = peer->tied_by,
        .lease_age_ms = peer->lease_age_ms,
        .lease_stale = peer->lease_stale,
        .in_endpoints = peer->in_endpoints,
        .certificate_matches = peer->certificate_matches,
        .probe = peer->credential == EK_PROBE_OWN ? peer->probe : NULL,
    };
    read_reach(f, fact);
    read_versions(f, pods, fact);
    bool renewed = *fact->server_id && !fact->lease_stale;
    /* A server that was not probed yet may exist: without this, a verdict at the start would be of
     * those alone who happened to answer first. */
    bool unasked = strcmp(fact->unreachable_reason, "NotProbed") == 0;
    fact->live = fact->reachable || fact->in_endpoints || renewed || unasked;
    if (*fact->address)
        ek_facts_add_target__(f, ek_component_name(EK_KUBE_APISERVER), fact->address,
                              peer->credential, peer->name);
}

void ek_facts_collect_peers__(struct facts *f)
{
    const struct ek_skew_view *view = f->view;
    struct ek_roster roster;
    const struct ek_roster_input input = {
        .now_ms = view->now_ms,
        .only_static = f->spec->mode == EK_PEERS_STATIC,
        .endpoints = f->spec->endpoints,
        .n_endpoints = f->spec->n_endpoints,
        .configured = view->configured,
        .leases = view->leases,
        .endpoint_slices = view->endpoint_slices,
        .nodes = view->nodes,
        .pods = f->pods[EK_KUBE_APISERVER],
        .probes = view->probes,
        .n_probes = view->n_probes,
    };

    ek_roster_build(&input, f->notes, &roster);
    f->out->peers = ek_arena_alloc(f->arena, (roster.n_peers + 1) * sizeof *f->out->peers);
    f->out->n_peers = roster.n_peers;
    f->servers = ek_arena_alloc(f->arena, (roster.n_peers + 1) * sizeof *f->servers);
    const struct ek_objs pods = proven_pods(f);
    for (size_t i = 0; i < roster.n_peers; i++) {
        const struct ek_roster_peer *peer = &roster.peers[i];
        collect_peer(f, peer, &pods, &f->out->peers[i]);
        f->servers[f->n_servers++] =
            (struct ek_trust_server){peer->address, peer->source, peer->probe};
    }
    f->out->enumerated = roster.enumerated;
    f->out->not_enumerated = roster.not_enumerated;
}
