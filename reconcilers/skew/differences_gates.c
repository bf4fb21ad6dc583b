/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "reconcilers/skew/differences.h"
#include "reconcilers/skew/text.h"

enum setting {
    OFF,
    ON,
    MISSING,
    UNTOLD, /* by flags, which do not set it */
};

/* One compared peer and how far its sorted list of gates has been read. */
struct reader {
    const struct ek_peer_fact *peer;
    bool flags; /* its gates were not read: what its pod's flags set */
    size_t at;
    enum setting now; /* of the gate being looked at */
};

static size_t open_readers(const struct ek_skew_facts *facts, struct reader *readers,
                           struct ek_comparison *out)
{
    size_t n = 0;
    for (size_t i = 0; i < facts->n_peers; i++) {
        const struct ek_peer_fact *peer = &facts->peers[i];
        if (!peer->live)
            continue;
        bool read = peer->probe && peer->probe->gates &&
                    ek_skew_comparable__(peer->probe, &peer->probe->metrics_answer);
        if (read)
            out->n_compared++;
        else
            ek_some_peers_add__(&out->not_compared, peer->name);
        if (read || peer->n_flag_gates)
            readers[n++] = (struct reader){.peer = peer, .flags = !read};
    }
    return n;
}

/* The gate that the reader is at, NULL at the end of its list. */
static const char *current(const struct reader *reader)
{
    const struct ek_peer_fact *peer = reader->peer;
    if (reader->flags)
        return reader->at < peer->n_flag_gates ? peer->flag_gates[reader->at].name : NULL;
    return reader->at < peer->probe->n_gates ? peer->probe->gates[reader->at].name : NULL;
}

static bool is_on(const struct reader *reader)
{
    return reader->flags ? reader->peer->flag_gates[reader->at].on
                         : reader->peer->probe->gates[reader->at].enabled;
}

/* Notes the reader's setting of a gate and steps over it, and over a repetition. */
static void read_gate(struct reader *reader, const char *gate)
{
    reader->now = reader->flags ? UNTOLD : MISSING;
    for (const char *s = current(reader); s && strcmp(s, gate) == 0; s = current(reader)) {
        reader->now = is_on(reader) ? ON : OFF;
        reader->at++;
    }
}

/* The next gate in name order and every reader's setting of it; NULL at the end. */
static const char *next_gate(struct reader *readers, size_t n)
{
    const char *first = NULL;
    for (size_t i = 0; i < n; i++) {
        const char *s = current(&readers[i]);
        if (s && (!first || strcmp(s, first) < 0))
            first = s;
    }
    for (size_t i = 0; first && i < n; i++)
        read_gate(&readers[i], first);
    return first;
}

/* Two peers of the same versions that set the gate differently, or of which one lacks it. */
static bool drifts(const struct reader *readers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            if (readers[i].now != readers[k].now && readers[i].now != UNTOLD &&
                readers[k].now != UNTOLD &&
                ek_skew_same_versions__(readers[i].peer, readers[k].peer))
                return true;
    return false;
}

static void add_row(struct ek_differences *ret, const char *gate, const struct reader *readers,
                    size_t n)
{
    struct ek_gate_difference *row = &ret->gate_rows[ret->gates.n_rows++];
    *row = (struct ek_gate_difference){.gate = gate};
    for (size_t i = 0; i < n; i++) {
        struct ek_some_peers *lists[] = {&row->disabled_by, &row->enabled_by, &row->missing_from};
        if (readers[i].now == UNTOLD)
            continue;
        if (readers[i].flags)
            ek_some_peers_add__(&row->by_flags, readers[i].peer->name);
        ek_some_peers_add__(lists[readers[i].now], readers[i].peer->name);
    }
}

void ek_skew_compare_gates__(const struct ek_skew_facts *facts, struct ek_arena *arena,
                             struct ek_differences *ret)
{
    struct ek_comparison *out = &ret->gates;
    struct reader *readers = ek_arena_alloc(arena, (facts->n_peers + 1) * sizeof(*readers));
    ret->gate_rows = ek_arena_alloc(arena, EK_DIFFERENCES_MAX * sizeof(*ret->gate_rows));
    size_t n = open_readers(facts, readers, out);
    for (const char *gate = next_gate(readers, n); gate; gate = next_gate(readers, n)) {
        size_t counts[UNTOLD + 1] = {0};
        for (size_t i = 0; i < n; i++)
            counts[readers[i].now]++;
        if (counts[MISSING] > 0)
            ret->n_gates_missing++;
        bool differs = counts[ON] > 0 && counts[OFF] > 0;
        bool drift = (differs || counts[MISSING] > 0) && drifts(readers, n);
        if (!differs && !drift)
            continue;
        if (drift && !out->drift) {
            out->drift = true;
            out->drift_example = ek_skew_clean(arena, gate);
        }
        out->n++;
        if (out->n_rows < EK_DIFFERENCES_MAX)
            add_row(ret, ek_skew_clean(arena, gate), readers, n);
    }
}
