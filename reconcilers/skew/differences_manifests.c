/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "reconcilers/skew/differences.h"
#include "reconcilers/skew/text.h"

/* One compared peer and how far its sorted list of plug-ins has been read. */
struct reader {
    const struct ek_peer_fact *peer;
    size_t at;
    const char *hash; /* of the plug-in being looked at; NULL: none is loaded */
};

static size_t open_readers(const struct ek_skew_facts *facts, struct reader *readers,
                           struct ek_differences *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < facts->n_peers; i++) {
        const struct ek_peer_fact *peer = &facts->peers[i];
        if (!peer->live)
            continue;
        ret->has_manifests = ret->has_manifests || (peer->probe && peer->probe->n_manifests > 0);
        if (peer->probe && ek_skew_comparable__(peer->probe, &peer->probe->metrics_answer))
            readers[n++].peer = peer;
        else
            ek_some_peers_add__(&ret->manifests.not_compared, peer->name);
    }
    ret->manifests.n_compared = n;
    return n;
}

/* The manifests that the reader is at, NULL at the end of its list. */
static const struct ek_probe_manifests *current(const struct reader *reader)
{
    const struct ek_probe *probe = reader->peer->probe;

    return reader->at < probe->n_manifests ? &probe->manifests[reader->at] : NULL;
}

/* The next plug-in in name order and every reader's manifests of it; NULL at the end. */
static const char *next_plugin(struct reader *readers, size_t n)
{
    const struct ek_probe_manifests *first = NULL;

    for (size_t i = 0; i < n; i++) {
        const struct ek_probe_manifests *manifests = current(&readers[i]);
        if (manifests && (!first || strcmp(manifests->plugin, first->plugin) < 0))
            first = manifests;
    }
    for (size_t i = 0; first && i < n; i++) {
        const struct ek_probe_manifests *manifests = current(&readers[i]);
        bool has = manifests && !strcmp(manifests->plugin, first->plugin);
        readers[i].hash = has ? manifests->hash : NULL;
        readers[i].at += has;
    }
    return first ? first->plugin : NULL;
}

static bool same_hash(const struct reader *a, const struct reader *b)
{
    return a->hash && b->hash ? !strcmp(a->hash, b->hash) : a->hash == b->hash;
}

/* Two peers of the same versions that have not loaded the same. */
static bool drifts(const struct reader *readers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            if (!same_hash(&readers[i], &readers[k]) &&
                ek_skew_same_versions__(readers[i].peer, readers[k].peer))
                return true;
    return false;
}

static void add_row(struct ek_differences *ret, const char *plugin, const struct reader *readers,
                    size_t n)
{
    struct ek_manifests_difference *row = &ret->manifests_rows[ret->manifests.n_rows++];
    const struct reader *first = NULL;

    *row = (struct ek_manifests_difference){.plugin = plugin};
    for (size_t i = 0; i < n; i++) {
        first = !first && readers[i].hash ? &readers[i] : first;
        ek_some_peers_add__(!readers[i].hash                ? &row->missing_from
                            : same_hash(first, &readers[i]) ? &row->loaded_by
                                                            : &row->differs_at,
                            readers[i].peer->name);
    }
}

void ek_skew_compare_manifests__(const struct ek_skew_facts *facts, struct ek_arena *arena,
                                 struct ek_differences *ret)
{
    struct ek_comparison *out = &ret->manifests;
    struct reader *readers = ek_arena_alloc(arena, (facts->n_peers + 1) * sizeof *readers);
    size_t n = open_readers(facts, readers, ret);

    ret->manifests_rows = ek_arena_alloc(arena, EK_DIFFERENCES_MAX * sizeof *ret->manifests_rows);
    for (const char *next = next_plugin(readers, n); next; next = next_plugin(readers, n)) {
        bool differs = false;
        for (size_t i = 1; i < n; i++)
            differs = differs || !same_hash(&readers[0], &readers[i]);
        if (!differs)
            continue;
        const char *plugin = ek_skew_clean(arena, next);
        if (!out->drift && drifts(readers, n)) {
            out->drift = true;
            out->drift_example = plugin;
        }
        out->n++;
        if (out->n_rows < EK_DIFFERENCES_MAX)
            add_row(ret, plugin, readers, n);
    }
}
