/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/roster.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "reconcilers/peers/roster-internal.h"

static const char *const source_names[EK_ADDRESS_SOURCE_MAX] = {
    [EK_ADDRESS_SLICE] = "EndpointSlice",
    [EK_ADDRESS_SPEC] = "Static",
    [EK_ADDRESS_CONFIGURED] = "Configured",
    [EK_ADDRESS_POD] = "Pod",
};

static const char *first_of(const char *a, const char *b, const char *c)
{
    return *a ? a : *b ? b : c;
}

static void peer_of_lease(const struct roster_lease *lease, struct ek_roster_peer *peer)
{
    *peer = (struct ek_roster_peer){
        .name = first_of(lease->hostname, lease->name, ""),
        .server_id = lease->name,
        .hostname = lease->hostname,
        .address = "",
        .address_source = "",
        .source = EK_ADDRESS_SOURCE_MAX,
        .tied_by = "",
        .lease_age_ms = lease->age_ms,
        .lease_stale = lease->stale,
    };
}

/* As ek_roster_cert_names__, and by wildcards of one label (RFC 6125, section 6.4.3): who calls the
 * server by this name accepts them. */
static bool covers(const struct ek_probe *probe, const char *host)
{
    const char *domain = strchr(host, '.');

    for (size_t i = 0; probe && domain && i < probe->n_cert_names; i++)
        if (!strncmp(probe->cert_names[i], "*.", 2) &&
            !strcasecmp(probe->cert_names[i] + 1, domain))
            return true;
    return ek_roster_cert_names__(probe, host);
}

static void peer_of_address(const struct roster_address *address, struct ek_roster_peer *peer)
{
    const struct roster_lease *lease = address->lease;

    *peer = (struct ek_roster_peer){.server_id = "", .hostname = "", .lease_age_ms = -1};
    if (lease)
        peer_of_lease(lease, peer);
    peer->name =
        first_of(peer->hostname, first_of(address->pod_host, address->host, ""), address->text);
    peer->address = address->text;
    peer->address_source = source_names[address->source];
    peer->source = address->source;
    peer->credential = ek_trust_decide(&(struct ek_trust_input){
        .component = "kube-apiserver", .address = address->text, .source = address->source});
    peer->tied_by = lease ? lease->tied_by : "";
    peer->in_endpoints = address->ready;
    peer->probe = address->probe;
    peer->certificate_matches =
        ek_roster_cert_names__(address->probe, address->ip) || covers(address->probe, peer->name);
}

/* Renewed leases count as servers of their own only beyond the free addresses, since each of those
 * may be one of theirs. A hostname that the name disproves makes a lease not worth it. */
static void add_addressless(struct roster *r, struct ek_roster *roster)
{
    size_t n_free = 0, n_fresh = 0, skip = 0;

    for (size_t i = 0; i < r->n_addresses; i++)
        n_free += !r->addresses[i].lease;
    for (size_t i = 0; i < r->n_leases; i++)
        n_fresh += !r->leases[i].tied && !r->leases[i].stale && !r->leases[i].disproved;
    skip = n_free < n_fresh ? n_free : n_fresh;
    for (size_t i = 0; i < r->n_leases; i++) {
        const struct roster_lease *lease = &r->leases[i];
        if (lease->tied || lease->stale || lease->disproved)
            continue;
        if (skip > 0)
            skip--;
        else
            peer_of_lease(lease, &roster->peers[roster->n_peers++]);
    }
}

static int by_freshness(const void *a, const void *b)
{
    const struct roster_lease *const *x = a, *const *y = b;
    uint64_t age_x = (uint64_t)(*x)->age_ms, age_y = (uint64_t)(*y)->age_ms; /* unknown last */

    if (age_x != age_y)
        return age_x < age_y ? -1 : 1;
    return strcmp((*x)->name, (*y)->name);
}

static void add_stale(struct roster *r, struct ek_roster *roster)
{
    const struct roster_lease **stale =
        ek_arena_alloc(r->arena, (r->n_leases + 1) * sizeof(struct roster_lease *));
    size_t n = 0;

    for (size_t i = 0; i < r->n_leases; i++)
        if (r->leases[i].stale && !r->leases[i].tied && !r->leases[i].disproved)
            stale[n++] = &r->leases[i];
    qsort(stale, n, sizeof(struct roster_lease *), by_freshness);
    for (size_t i = 0; i < n && i < EK_ROSTER_STALE_MAX; i++)
        peer_of_lease(stale[i], &roster->peers[roster->n_peers++]);
    if (n > EK_ROSTER_STALE_MAX)
        ek_notes_add(r->notes, "%zu more identity leases are left over from API servers that ended",
                     n - EK_ROSTER_STALE_MAX);
}

static int by_name(const void *a, const void *b)
{
    const struct ek_roster_peer *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    if (order == 0) /* the one that keeps a shared name first: a live lease, then any */
        order = (x->lease_stale || !*x->server_id) - (y->lease_stale || !*y->server_id);
    if (order == 0)
        order = strcmp(y->server_id, x->server_id);
    return order ? order : strcmp(x->address, y->address);
}

/* Servers on one node have one name by its hostname: all but the one with the lease go by address
 * then, and without any lease all do. */
static void make_names_unique(struct ek_roster *roster)
{
    struct ek_roster_peer *peers = roster->peers;

    qsort(peers, roster->n_peers, sizeof *peers, by_name);
    for (size_t i = 0, end; i < roster->n_peers; i = end) {
        for (end = i + 1; end < roster->n_peers; end++)
            if (strcmp(peers[i].name, peers[end].name) != 0)
                break;
        if (end == i + 1)
            continue;
        for (size_t k = *peers[i].server_id ? i + 1 : i; k < end; k++)
            peers[k].name = first_of(peers[k].address, peers[k].server_id, peers[k].name);
    }
    qsort(peers, roster->n_peers, sizeof *peers, by_name);
}

static void report_enumerated(const struct roster *r, struct ek_roster *roster)
{
    const struct ek_roster_input *in = r->in;
    bool any = false;

    for (size_t i = 0; i < roster->n_peers; i++)
        any = any || *roster->peers[i].address || !roster->peers[i].lease_stale;
    roster->not_enumerated = "";
    if (in->only_static && !any)
        roster->not_enumerated =
            "spec.peers.discovery is Static, but spec.peers.endpoints names no "
            "address";
    else if (!in->only_static && !in->endpoint_slices.available && !in->leases.available)
        roster->not_enumerated = ek_arena_printf(
            r->arena, "neither EndpointSlices (%.200s) nor Leases (%.200s) could be read",
            in->endpoint_slices.why ? in->endpoint_slices.why : "",
            in->leases.why ? in->leases.why : "");
    else if (!in->nodes.available && r->claimed)
        roster->not_enumerated = ek_arena_printf(
            r->arena, "it is not known whether static pods are API servers: %.300s (%.200s)",
            r->claimed, in->nodes.why ? in->nodes.why : "Nodes could not be read");
    else if (!any)
        roster->not_enumerated =
            "no API server was found: there is no address in the EndpointSlice "
            "default/kubernetes and no identity lease in kube-system";
    roster->enumerated = !*roster->not_enumerated;
}

void ek_roster_build(const struct ek_roster_input *input, struct ek_notes *notes,
                     struct ek_roster *ret_roster)
{
    struct roster r = {.in = input, .arena = notes->arena, .notes = notes};

    ek_roster_read_leases__(&r);
    ek_roster_read_addresses__(&r);
    ek_roster_join__(&r);
    *ret_roster = (struct ek_roster){0};
    ret_roster->peers =
        ek_arena_alloc(r.arena, (r.n_addresses + r.n_leases + 1) * sizeof *ret_roster->peers);
    for (size_t i = 0; i < r.n_addresses; i++)
        peer_of_address(&r.addresses[i], &ret_roster->peers[ret_roster->n_peers++]);
    if (!input->only_static) {
        add_addressless(&r, ret_roster);
        add_stale(&r, ret_roster);
    }
    make_names_unique(ret_roster);
    report_enumerated(&r, ret_roster);
}
