/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

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

static bool answered(const struct ek_probe_answer *answer)
{
    return answer->good_at_ms != EK_TIME_UNSET;
}

static bool is_current(const struct ek_probe_answer *answer)
{
    return answered(answer) && answer->error.code == 0;
}

static struct reading version_reading(const struct ek_probe *probe)
{
    struct reading reading = ek_facts_reading__(EK_SOURCE_VERSION, "/version", probe->git_version,
                                                is_current(&probe->version_answer));
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
    struct reading reading =
        ek_facts_reading__(EK_SOURCE_VERSION_INFO, "the version_info metric", probe->info_binary,
                           is_current(&probe->metrics_answer));
    reading.emulation = probe->info_emulation;
    reading.min_compat = probe->info_min_compat;
    return reading;
}

static struct reading openapi_reading(const struct ek_probe *probe)
{
    struct reading reading = ek_facts_reading__(EK_SOURCE_OPENAPI, "OpenAPI's info.version", "",
                                                is_current(&probe->openapi_answer));
    reading.emulation = probe->openapi;
    return reading;
}

/* Why a peer that was asked told no version. */
static const char *silence(const struct ek_peer_fact *fact)
{
    if (!fact->reachable)
        return fact->unreachable_reason;
    const struct ek_err *error = &fact->probe->version_answer.error;
    if (error->code == EK_E_FORBIDDEN || error->code == EK_E_UNAUTHORIZED)
        return failure_reason(error->code);
    return answered(&fact->probe->version_answer) ? "Absent" : "NotObservable";
}

static void read_versions(struct facts *f, struct ek_peer_fact *fact)
{
    struct reading readings[3];
    size_t n = 0;

    if (fact->probe) {
        readings[n++] = info_reading(fact->probe);
        readings[n++] = version_reading(fact->probe);
        readings[n++] = openapi_reading(fact->probe);
    }
    struct ek_versions versions = ek_facts_merge__(f->arena, readings, n, silence(fact));
    if (*versions.conflict)
        versions.conflict =
            ek_arena_printf(f->arena, "%s: more than one server seems to answer at %s",
                            versions.conflict, fact->address);
    fact->versions = versions;
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
    fact->reachable = probe && is_current(&probe->reach);
    if (fact->reachable)
        return;
    if (*fact->address && probe && probe->reach.error.code != 0)
        set_unreachable(fact, failure_reason(probe->reach.error.code), probe->reach.error.message);
    else if (*fact->address)
        set_unreachable(fact, "NotProbed", "it has not been asked yet");
    else if (!fact->lease_stale)
        set_unreachable(fact, "NoAddress",
                        "no EndpointSlice, static pod or spec.peers.endpoints names its address");
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
                         struct ek_peer_fact *fact)
{
    *fact = (struct ek_peer_fact){
        .name = peer->name,
        .server_id = peer->server_id,
        .address = peer->address,
        .address_source = peer->address_source,
        .tied_by = peer->tied_by,
        .lease_age_ms = peer->lease_age_ms,
        .lease_stale = peer->lease_stale,
        .in_endpoints = peer->in_endpoints,
        .certificate_matches = peer->certificate_matches,
        .probe = peer->probe,
    };
    read_reach(f, fact);
    read_versions(f, fact);
    bool renewed = *fact->server_id && !fact->lease_stale;
    /* Who was not asked yet may be there: without this, a verdict at the start would be of those
     * alone who happened to answer first. */
    bool unasked = strcmp(fact->unreachable_reason, "NotProbed") == 0;
    fact->live = fact->reachable || fact->in_endpoints || renewed || unasked;
    if (*fact->address)
        ek_facts_add_target__(f, ek_component_name(EK_KUBE_APISERVER), fact->address);
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
    for (size_t i = 0; i < roster.n_peers; i++)
        collect_peer(f, &roster.peers[i], &f->out->peers[i]);
    f->out->enumerated = roster.enumerated;
    f->out->not_enumerated = roster.not_enumerated;
}
