/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each API server of a view serves, resource by resource: what a user compares who wants to
 * know where the API servers differ. A view's merged document (reconcilers/peers/merge.h) does not
 * say it any more.
 *
 * A resource is one that clients know (client-go/discovery/aggregated_discovery.go:
 * SplitGroupsAndResources at 1.36): without a responseKind only its subresources are served. Pure;
 * any thread. Results live in the arena and borrow from the view.
 */
#ifndef RECONCILERS_PEERS_SERVED_H
#define RECONCILERS_PEERS_SERVED_H

#include "api/base/arena.h"
#include "api/discovery.h"
#include "reconcilers/peers/view.h"

enum ek_served {
    EK_SERVED_NO,
    EK_SERVED_YES,
    EK_SERVED_STALE,   /* the server marks the group version Stale: its backend did not answer */
    EK_SERVED_UNKNOWN, /* the documents of the server are not known */
    EK_SERVED_MAX,
};

/* A resource as one API server lists it. */
struct ek_served_entry {
    size_t peer; /* index into the peers of the view */
    const char *group, *version;
    const char *resource; /* "" for a group version that lists no resources */
    const char *sub;      /* "scale"; "" for the resource itself */
    bool stale;
    size_t n_resources; /* of a group version */
    /* By enum ek_discovery_facet: the kind, the scope, and the verbs and short names in order with
     * commas between; "" for what is absent. */
    const char *facets[EK_DISCOVERY_FACETS];
};

/* A resource in all API servers. */
struct ek_served_row {
    const struct ek_served_entry *entries; /* of the servers that list it, by peer */
    size_t n;                              /* at least 1 */
    const unsigned char *at;               /* for each peer of the view, an enum ek_served */
    /* Known servers are not alike in at. False for a subresource that is served exactly where its
     * resource is. */
    bool uneven;
    unsigned differs; /* 1 << facet: not all entries have the same */
};

/*
 * Compares the documents of all peers. *ret_rows gets *ret_n rows by group, version, resource and
 * subresource. A group version is a row only where no server lists a resource of it. Returns 0, or
 * EK_E_LIMIT when the limit of the arena is too small.
 */
int ek_served_rows(const struct ek_view *view, struct ek_arena *arena,
                   struct ek_served_row **ret_rows, size_t *ret_n);

#endif
