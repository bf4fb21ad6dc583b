/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes views (reconcilers/peers/view.h). Pure; any thread.
 */
#ifndef RECONCILERS_PEERS_VIEW_BUILD_H
#define RECONCILERS_PEERS_VIEW_BUILD_H

#include "api/groups.h"
#include "reconcilers/peers/merge.h"
#include "reconcilers/peers/view.h"

/* The documents of all peers beyond which no merged document is made, in bytes of memory; and the
 * same where they are counted once for each name in them that is repeated (ek_merge_repeats). */
#define EK_VIEW_MERGE_MAX    ((size_t)256 * 1024 * 1024)
#define EK_VIEW_REPEATED_MAX ((size_t)16 * 1024 * 1024)

struct ek_view_input_peer {
    struct ek_view_peer peer;                  /* fetched is set by the view; strings are copied */
    const struct ek_api_groups *core, *groups; /* the answers to /api and /apis; NULL before both
                                                  are known; referenced by the view */
};

struct ek_view_input {
    const struct ek_view_input_peer *peers;
    size_t n;
    struct ek_exclusions exclusions; /* of the merge of /apis */
    /* The view before (may be NULL): what has not changed is taken from it, not made again. */
    const struct ek_view *previous;
};

/* Returns a view of input, one reference; never NULL. */
struct ek_view *ek_view_build(const struct ek_view_input *input);

/* The id under which the i-th peer is merged: its server id, else its name. */
const char *ek_view_merge_id(const struct ek_view *view, size_t i);

/* True when the merged documents of a and b (may be NULL) are the very same bytes in memory: none
 * was merged in between. */
bool ek_view_shares_merged(const struct ek_view *a, const struct ek_view *b);

#endif
