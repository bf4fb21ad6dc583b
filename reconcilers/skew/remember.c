/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/remember.h"

#include <stdlib.h>
#include <string.h>

#include "reconcilers/skew/text.h"

static bool same(const char *a, const char *b)
{
    return a && b && a[0] && strcmp(a, b) == 0;
}

/* True when some source still names the old peer, be it under another name. */
static bool still_named(const struct ek_skew_facts *facts, struct ek_arena *arena, yyjson_val *old)
{
    const char *name = ek_json_str(old, "name", NULL);
    const char *id = ek_json_str(old, "serverID", NULL);
    const char *address = ek_json_str(old, "address", NULL);
    for (size_t i = 0; i < facts->n_peers; i++) {
        const struct ek_peer_fact *peer = &facts->peers[i];
        if (same(name, ek_skew_clean(arena, peer->name)) || same(id, peer->server_id) ||
            same(address, peer->address))
            return true;
    }
    return false;
}

static const char *borrow(const char *s)
{
    return s ? s : "";
}

static struct ek_peer_fact departed(yyjson_val *old, bool enumerated)
{
    const char *reason = enumerated ? "Gone" : "NotEnumerated";
    return (struct ek_peer_fact){
        .name = ek_json_str(old, "name", NULL),
        .server_id = borrow(ek_json_str(old, "serverID", NULL)),
        .address = borrow(ek_json_str(old, "address", NULL)),
        .address_source = "",
        .tied_by = "",
        .lease_age_ms = -1,
        .unreachable_reason = reason,
        .unreachable_message =
            enumerated
                ? "no Lease, EndpointSlice or pod names it any more; the status drops it after "
                  "spec.peers.forgetAfter"
                : "the list of API servers cannot be read",
        .versions = {.binary_string = "",
                     .source = EK_SOURCE_NONE,
                     .unknown_reason = reason,
                     .conflict = ""},
    };
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct ek_peer_fact *)a)->name, ((const struct ek_peer_fact *)b)->name);
}

/* The old status's entry of that name. */
static yyjson_val *find_old(yyjson_val *peers, const char *name)
{
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(peers, i, max, item)
    {
        if (same(ek_json_str(item, "name", NULL), name))
            return item;
    }
    return NULL;
}

static int64_t seen(const struct ek_peer_fact *peer, yyjson_val *old)
{
    if (peer->reachable)
        return EK_TIME_UNSET;
    if (peer->probe && peer->probe->reach.good_at_ms != EK_TIME_UNSET)
        return peer->probe->reach.good_at_ms;
    return ek_time_parse(ek_json_str(old, "lastSeen", NULL));
}

/* Whom the user's own list named is gone with the entry: nothing went away. */
static bool was_listed(yyjson_val *old)
{
    return same(ek_json_str(old, "addressSource", NULL), "Static");
}

/* When a departed peer was last seen: as noted when it went, or now if it goes now. */
static int64_t departed_seen(yyjson_val *old, int64_t now_ms)
{
    int64_t at = ek_time_parse(ek_json_str(old, "lastSeen", NULL));
    return at == EK_TIME_UNSET || at > now_ms ? now_ms : at;
}

static void add_departed(struct ek_skew_facts *facts, const struct ek_skew_spec *spec,
                         yyjson_val *peers, int64_t now_ms, struct ek_arena *arena,
                         int64_t *ret_forget_ms)
{
    size_t i, max, n = facts->n_peers;
    yyjson_val *old;
    struct ek_peer_fact *all =
        ek_arena_alloc(arena, (n + EK_SKEW_REMEMBERED_MAX + 1) * sizeof(*all));
    if (n > 0)
        memcpy(all, facts->peers, n * sizeof(*all));
    yyjson_arr_foreach(peers, i, max, old)
    {
        int64_t end = departed_seen(old, now_ms) + spec->forget_after_ms;
        if (n == facts->n_peers + EK_SKEW_REMEMBERED_MAX || !ek_json_str(old, "name", NULL) ||
            was_listed(old) || still_named(facts, arena, old) ||
            (facts->enumerated && end <= now_ms))
            continue;
        all[n++] = departed(old, facts->enumerated);
        if (facts->enumerated && (*ret_forget_ms == EK_TIME_UNSET || end < *ret_forget_ms))
            *ret_forget_ms = end;
    }
    qsort(all, n, sizeof(*all), by_name);
    facts->peers = all;
    facts->n_peers = n;
}

/* The old status's name for the address, NULL when it had none but the address itself. */
static const char *old_name(yyjson_val *peers, const char *address)
{
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(peers, i, max, item)
    {
        const char *name = ek_json_str(item, "name", NULL);
        if (same(ek_json_str(item, "address", NULL), address))
            return name && strcmp(name, address) != 0 ? name : NULL;
    }
    return NULL;
}

static bool is_taken(const struct ek_skew_facts *facts, const char *name)
{
    for (size_t i = 0; i < facts->n_peers; i++)
        if (strcmp(facts->peers[i].name, name) == 0)
            return true;
    return false;
}

/* An answering server's certificate may show that another server has the address now. */
static bool may_be(const struct ek_peer_fact *peer, const char *name)
{
    const struct ek_probe *probe = peer->probe;
    if (!peer->reachable || !probe || probe->n_cert_names == 0)
        return true;
    for (size_t i = 0; i < probe->n_cert_names; i++)
        if (strcmp(probe->cert_names[i], name) == 0)
            return true;
    return false;
}

/* A peer that has lost its Lease (deleted, or on the way down) keeps the name it went by. */
static void keep_names(struct ek_skew_facts *facts, yyjson_val *peers, struct ek_arena *arena)
{
    for (size_t i = 0; i < facts->n_peers; i++) {
        struct ek_peer_fact *peer = &facts->peers[i];
        if (peer->server_id[0] || !peer->address[0] || strcmp(peer->name, peer->address) != 0)
            continue;
        const char *name = old_name(peers, peer->address);
        if (name && !is_taken(facts, name) && may_be(peer, name))
            peer->name = ek_arena_strdup(arena, name);
    }
    if (facts->n_peers)
        qsort(facts->peers, facts->n_peers, sizeof(*facts->peers), by_name);
}

int64_t *ek_skew_remember(struct ek_skew_facts *facts, const struct ek_skew_spec *spec,
                          yyjson_val *old_status, int64_t now_ms, struct ek_arena *arena,
                          int64_t *ret_forget_ms)
{
    yyjson_val *peers = ek_json_get(old_status, "peers", NULL);
    *ret_forget_ms = EK_TIME_UNSET;
    keep_names(facts, peers, arena);
    if (spec->mode == EK_PEERS_AUTO)
        add_departed(facts, spec, peers, now_ms, arena, ret_forget_ms);
    int64_t *last = ek_arena_alloc(arena, (facts->n_peers + 1) * sizeof(*last));
    for (size_t i = 0; i < facts->n_peers; i++) {
        const struct ek_peer_fact *peer = &facts->peers[i];
        yyjson_val *old = find_old(peers, ek_skew_clean(arena, peer->name));
        bool gone = !peer->probe && (strcmp(peer->unreachable_reason, "Gone") == 0 ||
                                     strcmp(peer->unreachable_reason, "NotEnumerated") == 0);
        last[i] = gone ? departed_seen(old, now_ms) : seen(peer, old);
    }
    return last;
}
