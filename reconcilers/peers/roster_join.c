/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tying leases to addresses. Leases are joined in ranks: those that are renewed and whose name
 * proves their hostname first, then the other renewed ones, then stale ones, so that a forged or a
 * left-over lease cannot take an address from the server that has it.
 */
#include <string.h>
#include <strings.h>

#include "reconcilers/peers/pod.h"
#include "reconcilers/peers/roster-internal.h"

enum rank { RANK_PROVEN, RANK_FRESH, RANK_STALE, RANK_MAX };

static enum rank rank_of(const struct roster_lease *lease)
{
    if (lease->stale)
        return RANK_STALE;
    return *lease->hostname ? RANK_PROVEN : RANK_FRESH;
}

/* A method finds the one address that a lease belongs to, NULL for none or several. */
typedef struct roster_address *(*method_fn)(const struct roster *r,
                                            const struct roster_lease *lease);

/* Hostnames may have capitals, node names may not. */
static bool on_pod_host(const struct roster_address *address, const char *hostname)
{
    return !strcasecmp(address->pod_host, hostname);
}

static bool on_node(const struct roster_address *address, const char *hostname)
{
    return !strcasecmp(address->host, hostname);
}

static bool in_certificate(const struct roster_address *address, const char *hostname)
{
    return ek_roster_cert_names__(address->probe, hostname);
}

/* True when pods or nodes say that address belongs to the host of another renewed lease: what a
 * kubelet reports weighs more than an annotation. */
static bool is_of_another(const struct roster *r, const struct roster_lease *lease,
                          const struct roster_address *address)
{
    if (on_pod_host(address, lease->hostname) || on_node(address, lease->hostname))
        return false;
    for (size_t i = 0; i < r->n_leases; i++) {
        const struct roster_lease *other = &r->leases[i];
        if (other != lease && !other->stale && *other->hostname &&
            (on_pod_host(address, other->hostname) || on_node(address, other->hostname)))
            return true;
    }
    return false;
}

static struct roster_address *by_annotation(const struct roster *r,
                                            const struct roster_lease *lease)
{
    struct roster_address *found = *lease->claim ? ek_roster_find_address__(r, lease->claim) : NULL;
    return found && !found->lease && !is_of_another(r, lease, found) ? found : NULL;
}

/* The only free address for which the test holds. */
static struct roster_address *only(const struct roster *r, const char *hostname,
                                   bool (*test)(const struct roster_address *, const char *))
{
    struct roster_address *found = NULL;

    for (size_t i = 0; *hostname && i < r->n_addresses; i++) {
        if (r->addresses[i].lease || !test(&r->addresses[i], hostname))
            continue;
        if (found)
            return NULL;
        found = &r->addresses[i];
    }
    return found;
}

static struct roster_address *by_pod(const struct roster *r, const struct roster_lease *lease)
{
    return only(r, lease->hostname, on_pod_host);
}

static struct roster_address *by_node(const struct roster *r, const struct roster_lease *lease)
{
    return only(r, lease->hostname, on_node);
}

/* True when the certificate also names another server: a certificate for the whole control plane
 * identifies no server. */
static bool is_shared_certificate(const struct roster *r, const struct roster_lease *lease,
                                  const struct roster_address *address)
{
    for (size_t i = 0; i < r->n_leases; i++)
        if (strcmp(r->leases[i].hostname, lease->hostname) != 0 &&
            ek_roster_cert_names__(address->probe, r->leases[i].hostname))
            return true;
    for (size_t i = 0; i < r->n_addresses; i++)
        if (strcmp(r->addresses[i].ip, address->ip) != 0 &&
            ek_roster_cert_names__(address->probe, r->addresses[i].ip))
            return true;
    return false;
}

static struct roster_address *by_certificate(const struct roster *r,
                                             const struct roster_lease *lease)
{
    struct roster_address *found = only(r, lease->hostname, in_certificate);
    return found && !is_shared_certificate(r, lease, found) ? found : NULL;
}

static const struct {
    const char *name;
    method_fn find;
} methods[] = {
    {"Annotation", by_annotation},
    {"Pod", by_pod},
    {"Node", by_node},
    {"Certificate", by_certificate},
};

static void tie(struct roster_lease *lease, struct roster_address *address, const char *how)
{
    lease->tied = address;
    lease->tied_by = how;
    address->lease = lease;
}

/* True when another free lease of the rank is led to the same address: then neither is tied. */
static bool is_contested(const struct roster *r, method_fn find, const struct roster_lease *lease,
                         const struct roster_address *address)
{
    for (size_t i = 0; i < r->n_leases; i++) {
        const struct roster_lease *other = &r->leases[i];
        if (other != lease && !other->tied && rank_of(other) == rank_of(lease) &&
            find(r, other) == address)
            return true;
    }
    return false;
}

/* Finds first and ties after, so that the order of leases does not matter. */
static void join_by(struct roster *r, enum rank rank, size_t method)
{
    struct roster_address **found =
        ek_arena_alloc(r->arena, (r->n_leases + 1) * sizeof(struct roster_address *));

    for (size_t i = 0; i < r->n_leases; i++) {
        struct roster_lease *lease = &r->leases[i];
        if (lease->tied || rank_of(lease) != rank)
            continue;
        struct roster_address *address = methods[method].find(r, lease);
        if (address && !is_contested(r, methods[method].find, lease, address))
            found[i] = address;
    }
    for (size_t i = 0; i < r->n_leases; i++)
        if (found[i])
            tie(&r->leases[i], found[i], methods[method].name);
}

static void join_rank(struct roster *r, enum rank rank)
{
    for (size_t method = 0; method < EK_ARRAY_SIZE(methods); method++)
        join_by(r, rank, method);
}

/* Where a stale lease points, as far as it points anywhere. */
static struct roster_address *stale_claim(const struct roster *r, const struct roster_lease *lease)
{
    struct roster_address *found = NULL;

    for (size_t method = 0; method < EK_ARRAY_SIZE(methods) && !found; method++)
        found = methods[method].find(r, lease);
    return found;
}

/* True when a node has the hostname. */
static bool is_of_node(const struct roster *r, const char *hostname)
{
    const struct ek_objs *nodes = &r->in->nodes;

    for (size_t i = 0; *hostname && i < nodes->n; i++)
        if (!strcasecmp(ek_node_hostname(nodes, ek_obj_name(nodes->items[i])), hostname))
            return true;
    return false;
}

/* True when the address is not that of the lease's server, although it is the only one left: Leases
 * and addresses are not read at the same time, so the address of the server may be gone already, or
 * not be there yet. The annotation of the lease names an address that is not listed; or the lease
 * and the address are of different nodes. */
static bool is_elsewhere(const struct roster *r, const struct roster_lease *lease,
                         const struct roster_address *address)
{
    if (*lease->claim && !ek_roster_find_address__(r, lease->claim))
        return true;
    return (*address->pod_host || *address->host) && !on_pod_host(address, lease->hostname) &&
           !on_node(address, lease->hostname) && is_of_node(r, lease->hostname);
}

struct rest {
    size_t n_fresh, n_addresses, n_claimed;
    struct roster_lease *fresh;       /* the last of them */
    struct roster_address *unclaimed; /* the last one that no stale lease points at */
};

static void count_rest(const struct roster *r, struct rest *rest)
{
    bool *claimed = ek_arena_alloc(r->arena, r->n_addresses + 1);

    *rest = (struct rest){0};
    for (size_t i = 0; i < r->n_leases; i++) {
        struct roster_lease *lease = &r->leases[i];
        if (lease->tied)
            continue;
        struct roster_address *address = lease->stale ? stale_claim(r, lease) : NULL;
        if (address)
            claimed[address - r->addresses] = true;
        if (lease->stale)
            continue;
        rest->n_fresh++;
        rest->fresh = lease;
    }
    for (size_t i = 0; i < r->n_addresses; i++) {
        if (r->addresses[i].lease)
            continue;
        rest->n_addresses++;
        rest->n_claimed += claimed[i];
        if (!claimed[i])
            rest->unclaimed = &r->addresses[i];
    }
}

/* The oldest version that an API server reports; unknown where none does. */
static struct ek_minor oldest_server(const struct roster *r)
{
    struct ek_minor oldest = EK_MINOR_UNKNOWN;

    for (size_t i = 0; i < r->n_addresses; i++) {
        const struct ek_probe *probe = r->addresses[i].probe;
        struct ek_minor v = ek_minor_parse(probe ? probe->git_version : "");
        if (v.known && (!oldest.known || ek_minor_cmp(v, oldest) < 0))
            oldest = v;
    }
    return oldest;
}

/* What would help to match leases and addresses, ": ..." or "". The gate is of 1.28
 * (pkg/features/kube_features.go: UnknownVersionInteroperabilityProxy). */
static const char *matching_text(const struct roster *r)
{
    struct ek_minor oldest = oldest_server(r);
    bool may_list = r->in->pods.available && r->in->nodes.available;
    bool has_gate = oldest.known && ek_minor_cmp(oldest, EK_MINOR(1, 28)) >= 0;

    if (may_list && !has_gate)
        return "";
    return ek_arena_printf(
        r->arena, ": what helps is %s%s%s",
        may_list ? "" : "list permission on kube-system pods and on nodes",
        !may_list && has_gate ? ", or " : "",
        has_gate ? "the annotation kubernetes.io/peer-advertise-address, which servers write with "
                   "the feature gate UnknownVersionInteroperabilityProxy"
                 : "");
}

static void note_unmatched(struct roster *r, const struct rest *rest)
{
    const char **leases = ek_arena_alloc(r->arena, (r->n_leases + 1) * sizeof *leases);
    const char **addresses = ek_arena_alloc(r->arena, (r->n_addresses + 1) * sizeof *addresses);
    size_t n_leases = 0, n_addresses = 0;

    for (size_t i = 0; i < r->n_leases; i++)
        if (!r->leases[i].tied && !r->leases[i].stale)
            leases[n_leases++] = *r->leases[i].hostname ? r->leases[i].hostname : r->leases[i].name;
    for (size_t i = 0; i < r->n_addresses; i++)
        if (!r->addresses[i].lease)
            addresses[n_addresses++] = r->addresses[i].text;
    ek_notes_add(r->notes,
                 "%zu identity lease%s (%s) and %zu address%s (%s) of API servers could not be "
                 "matched, so these servers are named by their addresses%s",
                 rest->n_fresh, rest->n_fresh == 1 ? "" : "s",
                 ek_notes_names(r->arena, leases, n_leases), rest->n_addresses,
                 rest->n_addresses == 1 ? "" : "es",
                 ek_notes_names(r->arena, addresses, n_addresses), matching_text(r));
}

/* More servers than leases: servers on one hostname share a lease, and a server whose hostname is
 * no label value never gets one (component-helpers/apimachinery/lease). */
static void note_leaseless(struct roster *r, const struct rest *rest)
{
    const char **addresses = ek_arena_alloc(r->arena, (r->n_addresses + 1) * sizeof *addresses);
    size_t n = 0;

    for (size_t i = 0; i < r->n_addresses; i++)
        if (!r->addresses[i].lease)
            addresses[n++] = r->addresses[i].text;
    ek_notes_add(r->notes,
                 "%zu API server%s (%s) %s no identity lease of %s own: give every API server a "
                 "hostname of its own, of at most 63 characters",
                 rest->n_addresses, rest->n_addresses == 1 ? "" : "s",
                 ek_notes_names(r->arena, addresses, n), n == 1 ? "has" : "have",
                 n == 1 ? "its" : "their");
}

void ek_roster_join__(struct roster *r)
{
    struct rest rest;

    join_rank(r, RANK_PROVEN);
    join_rank(r, RANK_FRESH);
    count_rest(r, &rest);
    /* What a user's list leaves out may run elsewhere: there, one and one is no proof. */
    if (!r->in->only_static && rest.n_fresh == 1 && rest.n_addresses - rest.n_claimed == 1 &&
        rest.unclaimed && !is_elsewhere(r, rest.fresh, rest.unclaimed)) {
        tie(rest.fresh, rest.unclaimed, "Elimination");
        count_rest(r, &rest);
    }
    /* Stale leases get what fresh ones do not need. */
    if (rest.n_fresh + rest.n_claimed <= rest.n_addresses)
        join_rank(r, RANK_STALE);
    count_rest(r, &rest);
    if (r->in->only_static || rest.n_addresses == 0)
        return;
    if (rest.n_fresh > 0)
        note_unmatched(r, &rest);
    else if (r->n_leases > 0)
        note_leaseless(r, &rest);
}
