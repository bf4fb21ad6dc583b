/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roster: who the API servers are, and under which address each may be called.
 *
 * Two kinds of objects speak of API servers and neither names the other: identity Leases (a
 * server's name, hostname and sign of life, but no address) and addresses. The roster reads
 * both and joins them:
 *
 *   addresses           the EndpointSlice default/kubernetes, the ControlPlane's own list, the
 *                       configured server; and static kube-apiserver pods on nodes of the control
 *                       plane (ek_pod_is_proven), whose addresses are shown but not called unless
 *                       one of the others has them (trust.h). Those on other nodes name no API
 *                       server, because any kubelet may write them: a note names them, and while
 *                       nodes cannot be read the list of API servers is not known
 *   leases              label and name as kube-apiserver writes them, namespace kube-system; the
 *                       hostname counts only where the lease's name proves it (server_id.h)
 *   joined by           Annotation, Pod, Node, Certificate, Elimination, in this order; each only
 *                       where it points at exactly one partner,
 *                       and, for Elimination, where neither the annotation nor nodes say that the
 *                       only Lease and the only address that are left are of two servers: they are
 *                       not read at the same time
 *
 * The annotation kubernetes.io/peer-advertise-address may be written by any editor of leases, so it
 * ties a lease to an address that is known otherwise and never brings an address of its own.
 * What cannot be joined stays apart without becoming a server twice: a lease counts as a server of
 * its own only beyond the number of addresses left over. A lease that is no longer renewed and has
 * no address is a crashed server's: it is listed as stale.
 *
 * Pure; all strings are borrowed from the input or live in the arena.
 */
#ifndef RECONCILERS_PEERS_ROSTER_H
#define RECONCILERS_PEERS_ROSTER_H

#include "reconcilers/peers/notes.h"
#include "reconcilers/peers/objs.h"
#include "reconcilers/peers/trust.h"

/* An API server renews its identity Lease every 10 s; an older Lease is stale. The Lease's own
 * expiry (1 h) proves nothing: a crash leaves the Lease for up to 2 h
 * (pkg/controlplane/controller/apiserverleasegc/gc_controller.go). */
#define EK_ROSTER_STALE_AFTER_MS 60000

/* The maximum numbers of addresses and leases that are read, and of stale leases that are listed. A
 * note reports that some were left out. */
#define EK_ROSTER_ADDRESSES_MAX 128
#define EK_ROSTER_LEASES_MAX    256
#define EK_ROSTER_STALE_MAX     16

struct ek_roster_input {
    int64_t now_ms;
    bool only_static;             /* endpoints alone name servers */
    const char *const *endpoints; /* the ControlPlane's list, "ip:port"; others are skipped */
    size_t n_endpoints;
    const char *configured; /* canonical "ip:port" of the configured server, NULL for a name */
    struct ek_objs leases, endpoint_slices, nodes, pods;
    const struct ek_probe_at *probes;
    size_t n_probes;
};

struct ek_roster_peer {
    const char *name;              /* hostname where known, else address, else lease name; unique */
    const char *server_id;         /* lease name, "" when none was joined */
    const char *hostname;          /* proven by the lease, "" when not known */
    const char *address;           /* canonical "ip:port", "" when nothing names one */
    const char *address_source;    /* "EndpointSlice", "Static", "Configured", "Pod", "" */
    enum ek_address_source source; /* the same; EK_ADDRESS_SOURCE_MAX without an address */
    enum ek_probe_credential credential; /* what the address may be shown */
    const char *tied_by;      /* "Annotation", "Pod", "Node", "Certificate", "Elimination", "" */
    int64_t lease_age_ms;     /* since renewTime, -1 without a readable one */
    bool lease_stale;         /* there is a lease and it is not renewed */
    bool in_endpoints;        /* ready in an EndpointSlice */
    bool certificate_matches; /* the serving certificate has the IP of the address, or the name */
    const struct ek_probe *probe; /* of address; NULL when there is none */
};

struct ek_roster {
    struct ek_roster_peer *peers; /* by name */
    size_t n_peers;
    bool enumerated;            /* the list of peers is complete, as far as is known */
    const char *not_enumerated; /* why not, "" otherwise */
};

/* Builds the roster of input, adding sentences on what does not fit to notes (and allocating from
 * its arena). Never fails. */
void ek_roster_build(const struct ek_roster_input *input, struct ek_notes *notes,
                     struct ek_roster *ret_roster);

#endif
