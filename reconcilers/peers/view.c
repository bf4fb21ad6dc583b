/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/view.h"

#include <string.h>

#include "api/base/time.h"
#include "reconcilers/peers/view-internal.h"

struct ek_view *ek_view_ref(const struct ek_view *view)
{
    struct ek_view *counted = (struct ek_view *)(uintptr_t)view; /* only the count changes */

    if (counted)
        atomic_fetch_add_explicit(&counted->refs, 1, memory_order_relaxed);
    return counted;
}

void ek_view_unref(struct ek_view *view)
{
    if (!view || atomic_fetch_sub_explicit(&view->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < view->n; i++) {
        ek_free((char *)(uintptr_t)view->peers[i].name);
        ek_free((char *)(uintptr_t)view->peers[i].server_id);
        ek_free((char *)(uintptr_t)view->peers[i].address);
        ek_view_part_unref(view->parts[i]);
    }
    ek_view_merge_unref(view->merge);
    ek_free(view->peers);
    ek_free(view->parts);
    ek_free(view);
}

const struct ek_view_peer *ek_view_peers(const struct ek_view *view, size_t *ret_n)
{
    *ret_n = view->n;
    return view->peers;
}

bool ek_view_is_complete(const struct ek_view *view)
{
    return view->complete;
}

const char *ek_view_merge_id(const struct ek_view *view, size_t i)
{
    return *view->peers[i].server_id ? view->peers[i].server_id : view->peers[i].name;
}

bool ek_view_shares_merged(const struct ek_view *a, const struct ek_view *b)
{
    return a && b && a->merge == b->merge;
}

/* The part of previous that has these documents, else a new one; one reference. */
static struct ek_view_part *part_of(const struct ek_view_input_peer *input,
                                    const struct ek_view *previous)
{
    if (!input->core || !input->groups)
        return NULL;
    for (size_t i = 0; previous && i < previous->n; i++) {
        struct ek_view_part *part = previous->parts[i];
        if (part && part->core == input->core && part->groups == input->groups)
            return ek_view_part_ref(part);
    }
    return ek_view_part_new(input->core, input->groups);
}

static void take_peer(struct ek_view *view, const struct ek_view_input_peer *input,
                      const struct ek_view *previous)
{
    struct ek_view_peer *peer = &view->peers[view->n];

    *peer = input->peer;
    peer->name = ek_xstrdup(input->peer.name);
    peer->server_id = ek_xstrdup(input->peer.server_id);
    peer->address = ek_xstrdup(input->peer.address);
    view->parts[view->n] = part_of(input, previous);
    peer->why_not = peer->why_not ? peer->why_not : "";
    peer->fetched = view->parts[view->n] != NULL;
    peer->routable = peer->routable && peer->fetched && *peer->address;
    view->n++;
}

static bool is_complete(const struct ek_view *view)
{
    bool fetched = false;

    for (size_t i = 0; i < view->n; i++) {
        if (!view->peers[i].fetched && !view->peers[i].down)
            return false;
        fetched = fetched || view->peers[i].fetched;
    }
    return fetched;
}

struct ek_view *ek_view_build(const struct ek_view_input *input)
{
    struct ek_view *view = ek_xalloc(sizeof *view);
    size_t n = input->n < EK_VIEW_PEERS_MAX ? input->n : EK_VIEW_PEERS_MAX;

    atomic_init(&view->refs, 1);
    view->peers = ek_xalloc((n + 1) * sizeof *view->peers);
    view->parts = ek_xalloc((n + 1) * sizeof(struct ek_view_part *));
    for (size_t i = 0; i < n; i++)
        take_peer(view, &input->peers[i], input->previous);
    view->complete = n == input->n && is_complete(view);
    if (view->complete)
        view->merge = ek_view_merge_new(view, &input->exclusions,
                                        input->previous ? input->previous->merge : NULL);
    /* Without a merged document nothing may be said of all servers. */
    view->complete = view->merge != NULL;
    return view;
}
