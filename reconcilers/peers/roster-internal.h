/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the roster share: leases and addresses as read, before and after joining.
 * roster_leases.c and roster_addresses.c fill the two tables, roster_join.c ties their rows,
 * roster.c makes peers of them. For these files only.
 */
#ifndef RECONCILERS_PEERS_ROSTER_INTERNAL_H
#define RECONCILERS_PEERS_ROSTER_INTERNAL_H

#include "reconcilers/peers/address.h"
#include "reconcilers/peers/roster.h"

struct roster_address;

/* One identity lease. */
struct roster_lease {
    const char *name;
    const char *hostname; /* proven by the name, "" when not */
    bool disproved;       /* has a hostname label that its name contradicts */
    const char *claim;    /* canonical address of the annotation, "" when there is none */
    int64_t age_ms;       /* -1 unknown */
    bool stale;
    struct roster_address *tied;
    const char *tied_by;
};

/* Pods that a note names. */
#define ROSTER_CLAIMS_SHOWN 3

/* One address. */
struct roster_address {
    const char *text; /* canonical "ip:port" */
    const char *ip;
    enum ek_address_source source;
    bool ready;           /* in an EndpointSlice, and ready there */
    const char *pod_host; /* hostname of the control plane's node whose static pod has this address,
                             "" unknown */
    const char *host;     /* hostname of the node with this InternalIP or nodeName, "" unknown */
    bool host_proven;     /* that node is of the control plane, or the EndpointSlice names it */
    const struct ek_probe *probe;
    struct roster_lease *lease;
};

struct roster {
    const struct ek_roster_input *in;
    struct ek_arena *arena;
    struct ek_notes *notes;
    struct roster_lease *leases; /* by name */
    size_t n_leases;
    struct roster_address *addresses; /* by text, no duplicates */
    size_t n_addresses;
    size_t n_passed_over; /* addresses that were not even read: there are far too many */
    const char *claims[ROSTER_CLAIMS_SHOWN]; /* what only pods that prove nothing name: the first */
    size_t n_claims;                         /* all of them */
    const char *claimed;                     /* the list as text; NULL for none */
};

/* Reads the identity leases. */
void ek_roster_read_leases__(struct roster *r);

/* Reads the addresses, what nodes and pods say of them, and their probes. */
void ek_roster_read_addresses__(struct roster *r);

/* Ties leases to addresses, and notes what stays apart. */
void ek_roster_join__(struct roster *r);

/* The address whose canonical text is s, NULL when there is none. */
struct roster_address *ek_roster_find_address__(const struct roster *r, const char *s);

/* True when the serving certificate that probe (may be NULL) saw names host ("" never is). */
bool ek_roster_cert_names__(const struct ek_probe *probe, const char *host);

#endif
