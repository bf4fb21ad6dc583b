/* SPDX-License-Identifier: Apache-2.0 */
/* Feature gates of controller managers and schedulers beside those of the API servers, and what is
 * alpha under emulation. */
#include <string.h>

#include "reconcilers/skew/builtin_groups.h"
#include "reconcilers/skew/differences.h"
#include "reconcilers/skew/text.h"

enum setting { UNTOLD, OFF, ON };

/* One process whose gates, or what its flags set of them, are known. */
struct holder {
    const char *name; /* "COMPONENT/INSTANCE" */
    const struct ek_versions *versions;
    bool server;
    const struct ek_feature_gate *gates; /* in name order; NULL: not read, the flags count */
    const struct ek_pod_gate *flags;
    size_t n, at;
    enum setting now; /* of the gate being looked at */
    bool alpha;       /* the gate is alpha at the holder's emulation version */
    bool differs;     /* from another holder of the same versions */
};

struct holders {
    struct holder *list;
    size_t n;
    struct ek_arena *arena;
    struct ek_differences *out;
};

static void add_holder(struct holders *h, enum ek_component component, const char *name,
                       const struct ek_versions *versions, const struct ek_probe *probe,
                       const struct ek_pod_gate *flags, size_t n_flags)
{
    bool read = probe && probe->gates && ek_skew_comparable__(probe, &probe->metrics_answer);

    if (!read && n_flags == 0)
        return;
    h->list[h->n++] = (struct holder){
        .name = ek_arena_printf(h->arena, "%s/%s", ek_component_name(component), name),
        .versions = versions,
        .server = component == EK_KUBE_APISERVER,
        .gates = read ? probe->gates : NULL,
        .flags = flags,
        .n = read ? probe->n_gates : n_flags,
    };
}

/* Cloud controller managers are built from other repositories: their gates are their own. */
static void collect(struct holders *h, const struct ek_skew_facts *facts)
{
    for (size_t i = 0; i < facts->n_peers; i++) {
        const struct ek_peer_fact *peer = &facts->peers[i];
        if (peer->live)
            add_holder(h, EK_KUBE_APISERVER, peer->name, &peer->versions, peer->probe,
                       peer->flag_gates, peer->n_flag_gates);
    }
    for (size_t i = 0; i < facts->n_instances; i++) {
        const struct ek_instance_fact *fact = &facts->instances[i];
        if (!fact->stale && fact->component != EK_CLOUD_CONTROLLER_MANAGER)
            add_holder(h, fact->component, fact->name, &fact->versions, fact->probe,
                       fact->flag_gates, fact->n_flag_gates);
    }
}

/* The gate that the holder is at, NULL at the end of its list. */
static const char *current(const struct holder *h)
{
    if (h->at == h->n)
        return NULL;
    return h->gates ? h->gates[h->at].name : h->flags[h->at].name;
}

/* Notes the setting of a gate, and steps over the gate and over repetitions. */
static void read_gate(struct holder *h, const char *gate)
{
    h->now = UNTOLD;
    h->alpha = h->differs = false;
    for (const char *s = current(h); s && !strcmp(s, gate); h->at++, s = current(h)) {
        bool on = h->gates ? h->gates[h->at].enabled : h->flags[h->at].on;
        h->now = on ? ON : OFF;
        h->alpha = on && h->gates && !strcmp(h->gates[h->at].stage, "ALPHA");
    }
}

/* The next gate in name order, with the setting of all holders; NULL at the end. */
static const char *next_gate(struct holders *h)
{
    const char *first = NULL;

    for (size_t i = 0; i < h->n; i++) {
        const char *s = current(&h->list[i]);
        if (s && (!first || strcmp(s, first) < 0))
            first = s;
    }
    for (size_t i = 0; first && i < h->n; i++)
        read_gate(&h->list[i], first);
    return first;
}

static bool versions_are_known(const struct ek_versions *v)
{
    return v->binary.known && v->emulation.known && !v->assumed_emulation;
}

static bool same_versions(const struct ek_versions *a, const struct ek_versions *b)
{
    return versions_are_known(a) && versions_are_known(b) &&
           ek_minor_cmp(a->binary, b->binary) == 0 && ek_minor_cmp(a->emulation, b->emulation) == 0;
}

static bool emulates(const struct ek_versions *v)
{
    return versions_are_known(v) && ek_minor_cmp(v->emulation, v->binary) < 0;
}

/* Marks the holders that differ. API servers among themselves are compared elsewhere. */
static bool mark_differences(struct holders *h)
{
    bool any = false;

    for (size_t i = 0; i < h->n; i++)
        for (size_t k = 0; !h->list[i].server && h->list[i].now != UNTOLD && k < h->n; k++)
            if (h->list[k].now != UNTOLD && h->list[k].now != h->list[i].now &&
                same_versions(h->list[i].versions, h->list[k].versions))
                any = h->list[i].differs = h->list[k].differs = true;
    return any;
}

static void add_gate_row(struct holders *h, const char *gate)
{
    if (h->out->n_component_gates++ >= EK_DIFFERENCES_MAX)
        return;
    struct ek_component_gate *row = &h->out->component_gates[h->out->n_component_gate_rows++];
    *row = (struct ek_component_gate){.gate = ek_skew_clean(h->arena, gate)};
    for (size_t i = 0; i < h->n; i++) {
        const struct holder *holder = &h->list[i];
        if (!holder->differs)
            continue;
        ek_some_peers_add__(holder->now == ON ? &row->enabled_by : &row->disabled_by, holder->name);
        if (!holder->gates)
            ek_some_peers_add__(&row->by_flags, holder->name);
    }
}

/* The row of a use of alpha; NULL beyond the limit, where a new name is counted. */
static struct ek_alpha_use *alpha_row(struct holders *h, const char *name, bool api)
{
    struct ek_differences *out = h->out;

    for (size_t i = 0; i < out->n_alpha_rows; i++)
        if (out->alpha[i].api == api && !strcmp(out->alpha[i].name, name))
            return &out->alpha[i];
    out->n_alpha++;
    if (out->n_alpha_rows == EK_DIFFERENCES_MAX)
        return NULL;
    out->alpha[out->n_alpha_rows] = (struct ek_alpha_use){.name = name, .api = api};
    return &out->alpha[out->n_alpha_rows++];
}

static void note_alpha_gate(struct holders *h, const char *gate)
{
    struct ek_alpha_use *row = NULL;

    for (size_t i = 0; i < h->n; i++) {
        if (!h->list[i].alpha || !emulates(h->list[i].versions))
            continue;
        if (!row && !(row = alpha_row(h, ek_skew_clean(h->arena, gate), false)))
            return;
        ek_some_peers_add__(&row->by, h->list[i].name);
    }
}

/* Group versions of one API server; entries are in the order of group and version. */
static void note_alpha_apis(struct holders *h, const struct ek_peer_fact *peer)
{
    size_t n = 0;
    const struct ek_discovery_entry *entries = ek_discovery_entries(peer->probe->discovery, &n);

    for (size_t i = 0; i < n; i++) {
        const struct ek_discovery_entry *e = &entries[i], *last = i ? &entries[i - 1] : NULL;
        if (last && !strcmp(last->group, e->group) && !strcmp(last->version, e->version))
            continue;
        if (!strstr(e->version, "alpha") || !ek_skew_is_builtin_group(e->group))
            continue;
        struct ek_alpha_use *row = alpha_row(
            h, ek_skew_clean(h->arena, ek_arena_printf(h->arena, "%s/%s", e->group, e->version)),
            true);
        if (row)
            ek_some_peers_add__(&row->by,
                                ek_arena_printf(h->arena, "%s/%s",
                                                ek_component_name(EK_KUBE_APISERVER), peer->name));
    }
}

void ek_skew_compare_components__(const struct ek_skew_facts *facts, struct ek_arena *arena,
                                  struct ek_differences *ret)
{
    struct holders h = {.arena = arena, .out = ret};

    h.list = ek_arena_alloc(arena, (facts->n_peers + facts->n_instances + 1) * sizeof *h.list);
    ret->component_gates = ek_arena_alloc(arena, EK_DIFFERENCES_MAX * sizeof *ret->component_gates);
    ret->alpha = ek_arena_alloc(arena, EK_DIFFERENCES_MAX * sizeof *ret->alpha);
    collect(&h, facts);
    for (const char *gate = next_gate(&h); gate; gate = next_gate(&h)) {
        if (mark_differences(&h))
            add_gate_row(&h, gate);
        note_alpha_gate(&h, gate);
    }
    for (size_t i = 0; i < facts->n_peers; i++) {
        const struct ek_peer_fact *peer = &facts->peers[i];
        if (peer->live && emulates(&peer->versions) && peer->probe && peer->probe->discovery &&
            ek_skew_comparable__(peer->probe, &peer->probe->discovery_answer))
            note_alpha_apis(&h, peer);
    }
}
