/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/differences.h"

#include <string.h>

#include "reconcilers/skew/builtin_groups.h"
#include "reconcilers/skew/text.h"

/* Differences that are examined for drift; beyond it one more example says nothing new. */
#define DRIFT_ROWS_MAX 1000

/* Versions of a group whose order is compared: Kubernetes has three of one group at most. */
#define VERSIONS_MAX 16

/* Peers that serve exactly the same: compared as one. */
struct class
{
    const struct ek_discovery_entry *entries;
    size_t n;
    const struct ek_discovery *set;
    size_t *peers; /* indexes into facts->peers, ascending */
    size_t n_peers;
    size_t at, end; /* the group version being looked at: entries[at..end) */
    size_t in;      /* cursor within it */
    bool unread;    /* it is Stale and has no resources: which ones there are is not known */
    size_t missing;
};

struct compare {
    const struct ek_skew_facts *facts;
    struct ek_arena *arena;
    struct ek_differences *out;
    struct class *classes;
    size_t n_classes;
    bool *has; /* scratch: which class has what is looked at */
};

/* An answer is as good as the last attempt left it. Some questions are put every few minutes only,
 * so that rounds in which they are not put say nothing about them. */
static bool is_recent(const struct ek_probe_answer *answer)
{
    return answer->good_at_ms != EK_TIME_UNSET &&
           answer->tried_at_ms - answer->good_at_ms <= EK_DIFFERENCES_STALE_MS;
}

bool ek_skew_comparable__(const struct ek_probe *probe, const struct ek_probe_answer *answer)
{
    return is_recent(answer) && is_recent(&probe->reach);
}

bool ek_skew_same_versions__(const struct ek_peer_fact *a, const struct ek_peer_fact *b)
{
    const struct ek_versions *x = &a->versions, *y = &b->versions;
    return x->binary.known && y->binary.known && ek_minor_cmp(x->binary, y->binary) == 0 &&
           x->emulation.known && y->emulation.known &&
           ek_minor_cmp(x->emulation, y->emulation) == 0;
}

void ek_some_peers_add__(struct ek_some_peers *some, const char *name)
{
    some->n++;
    if (some->n_names < EK_DIFFERENCES_NAMES_MAX)
        some->names[some->n_names++] = name;
}

static bool same_entries(const struct class *class, const struct ek_discovery_entry *entries,
                         size_t n)
{
    if (class->n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (strcmp(class->entries[i].resource, entries[i].resource) != 0 ||
            strcmp(class->entries[i].version, entries[i].version) != 0 ||
            strcmp(class->entries[i].group, entries[i].group) != 0 ||
            class->entries[i].stale != entries[i].stale ||
            class->entries[i].rank != entries[i].rank ||
            memcmp(class->entries[i].facets, entries[i].facets, sizeof entries[i].facets) != 0)
            return false;
    return true;
}

static void classify(struct compare *c, size_t peer, const struct ek_discovery *set)
{
    size_t n, k = 0;
    const struct ek_discovery_entry *entries = ek_discovery_entries(set, &n);
    while (k < c->n_classes && !same_entries(&c->classes[k], entries, n))
        k++;
    if (k == c->n_classes) {
        size_t *peers = ek_arena_alloc(c->arena, c->facts->n_peers * sizeof(size_t));
        c->classes[c->n_classes++] =
            (struct class){.entries = entries, .n = n, .set = set, .peers = peers};
    }
    c->classes[k].peers[c->classes[k].n_peers++] = peer;
}

static void classify_all(struct compare *c)
{
    struct ek_comparison *out = &c->out->discovery;
    for (size_t i = 0; i < c->facts->n_peers; i++) {
        const struct ek_peer_fact *peer = &c->facts->peers[i];
        c->out->missing_resources[i] = SIZE_MAX;
        if (!peer->live)
            continue;
        if (!peer->probe || !peer->probe->discovery ||
            !ek_skew_comparable__(peer->probe, &peer->probe->discovery_answer)) {
            ek_some_peers_add__(&out->not_compared, peer->name);
            continue;
        }
        classify(c, i, peer->probe->discovery);
        out->n_compared++;
    }
}

static int cmp_group_version(const struct ek_discovery_entry *a, const struct ek_discovery_entry *b)
{
    int r = strcmp(a->group, b->group);
    return r ? r : strcmp(a->version, b->version);
}

/* The next group version that any class has; every class's at..end is set to its part of it. */
static const struct ek_discovery_entry *next_group_version(struct compare *c)
{
    const struct ek_discovery_entry *first = NULL;
    for (size_t k = 0; k < c->n_classes; k++) {
        struct class *class = &c->classes[k];
        class->at = class->end;
        if (class->entries && class->at < class->n &&
            (!first || cmp_group_version(&class->entries[class->at], first) < 0))
            first = &class->entries[class->at];
    }
    for (size_t k = 0; first && k < c->n_classes; k++) {
        struct class *class = &c->classes[k];
        while (class->entries && class->end < class->n &&
               cmp_group_version(&class->entries[class->end], first) == 0)
            class->end++;
        class->in = class->at;
        bool marked = class->at < class->end && class->entries[class->at].resource[0] == '\0';
        class->in += marked;
        class->unread = marked && class->in == class->end;
    }
    return first;
}

/* The resource that a class is at, NULL beyond its last of the group version. */
static const char *resource_at(const struct class *class)
{
    return class->in < class->end ? class->entries[class->in].resource : NULL;
}

/* The next resource of the group version; has is the set of classes that have it. */
static const char *next_resource(struct compare *c)
{
    const char *first = NULL;
    for (size_t k = 0; k < c->n_classes; k++) {
        const char *name = resource_at(&c->classes[k]);
        if (name && (!first || strcmp(name, first) < 0))
            first = name;
    }
    for (size_t k = 0; first && k < c->n_classes; k++) {
        const char *name = resource_at(&c->classes[k]);
        c->has[k] = name && strcmp(name, first) == 0;
        c->classes[k].in += c->has[k];
    }
    return first;
}

/* True when a subresource is missing only because its resource is. */
static bool parent_missing(const struct class *class, const struct ek_discovery_entry *gv,
                           const char *resource)
{
    char parent[256];
    const char *slash = strchr(resource, '/');
    size_t len = slash ? (size_t)(slash - resource) : 0;
    if (!slash || len >= sizeof(parent))
        return false;
    memcpy(parent, resource, len);
    parent[len] = 0;
    return !ek_discovery_has(class->set, gv->group, gv->version, parent);
}

static bool classes_share_versions(const struct compare *c, const struct class *a,
                                   const struct class *b)
{
    for (size_t i = 0; i < a->n_peers; i++)
        for (size_t k = 0; k < b->n_peers; k++)
            if (ek_skew_same_versions__(&c->facts->peers[a->peers[i]],
                                        &c->facts->peers[b->peers[k]]))
                return true;
    return false;
}

static bool is_drift(const struct compare *c, const bool *lacks)
{
    for (size_t a = 0; a < c->n_classes; a++)
        for (size_t b = 0; c->has[a] && b < c->n_classes; b++)
            if (lacks[b] && classes_share_versions(c, &c->classes[a], &c->classes[b]))
                return true;
    return false;
}

static void name_peers(const struct compare *c, const bool *which, struct ek_some_peers *out)
{
    bool *in = ek_arena_alloc(c->arena, c->facts->n_peers * sizeof(bool));
    for (size_t k = 0; k < c->n_classes; k++)
        for (size_t i = 0; which[k] && i < c->classes[k].n_peers; i++)
            in[c->classes[k].peers[i]] = true;
    for (size_t i = 0; i < c->facts->n_peers; i++)
        if (in[i])
            ek_some_peers_add__(out, c->facts->peers[i].name);
}

/* Notes one difference: the classes in has serve the resource, those in lacks do not, or serve the
 * resource with other facets (differs, "" for none). */
static struct ek_discovery_difference *add_row(struct compare *c,
                                               const struct ek_discovery_entry *gv,
                                               const char *resource, const bool *lacks,
                                               const char *differs)
{
    struct ek_comparison *out = &c->out->discovery;
    const char *group_version =
        ek_skew_clean_max(c->arena,
                          ek_arena_printf(c->arena, "%s%s%s", gv->group,
                                          gv->group[0] && gv->version[0] ? "/" : "", gv->version),
                          192);
    bool custom = !ek_skew_is_builtin_group(gv->group);
    out->n_custom += custom;
    if (!custom && !out->drift && out->n < DRIFT_ROWS_MAX && is_drift(c, lacks)) {
        out->drift = true;
        out->drift_example =
            ek_arena_printf(c->arena, "%s%s%s", group_version, resource[0] ? " " : "",
                            ek_skew_clean_max(c->arena, resource, 128));
    }
    out->n++;
    if (out->n_rows == EK_DIFFERENCES_MAX)
        return NULL;
    struct ek_discovery_difference *row = &c->out->discovery_rows[out->n_rows++];
    *row = (struct ek_discovery_difference){
        .group_version = group_version,
        .resource = ek_skew_clean_max(c->arena, resource, 128),
        .n_resources = 1,
        .custom = custom,
        .since_ms = EK_TIME_UNSET,
        .differs = differs,
    };
    name_peers(c, c->has, &row->served_by);
    name_peers(c, lacks, *differs ? &row->differs_at : &row->missing_from);
    return row;
}

/* The entry of the resource that next_resource has just stepped over. */
static const struct ek_discovery_entry *stepped_over(const struct class *class)
{
    return &class->entries[class->in - 1];
}

/* Compares the facets of a resource between the classes that have it. */
static void compare_facets(struct compare *c, const struct ek_discovery_entry *gv,
                           const char *resource, bool *lacks)
{
    static const char *const names[] = {"kind", "scope", "verbs", "short names"};
    const struct ek_discovery_entry *first = NULL;
    bool facets[EK_DISCOVERY_FACETS] = {false}, any = false;
    const char *differs = "";
    for (size_t k = 0; k < c->n_classes; k++) {
        lacks[k] = false;
        if (!c->has[k])
            continue;
        const struct ek_discovery_entry *e = stepped_over(&c->classes[k]);
        first = first ? first : e;
        for (size_t f = 0; f < EK_DISCOVERY_FACETS; f++)
            if (e->facets[f] != first->facets[f])
                any = facets[f] = lacks[k] = true;
    }
    if (!any)
        return;
    for (size_t f = 0; f < EK_DISCOVERY_FACETS; f++)
        if (facets[f])
            differs = ek_arena_printf(c->arena, "%s%s%s", differs, *differs ? ", " : "", names[f]);
    for (size_t k = 0; k < c->n_classes; k++)
        c->has[k] = c->has[k] && !lacks[k];
    add_row(c, gv, resource, lacks, differs);
}

/* Compares the resources of one group version between the classes that have any of it. Returns
 * the number of resources, subresources aside. */
static size_t compare_resources(struct compare *c, const struct ek_discovery_entry *gv,
                                const bool *absent, bool *lacks)
{
    size_t n = 0;
    for (const char *resource = next_resource(c); resource; resource = next_resource(c)) {
        bool sub = strchr(resource, '/') != NULL, differs = false;
        n += !sub;
        for (size_t k = 0; k < c->n_classes; k++) {
            lacks[k] = !c->has[k] && !absent[k] && !c->classes[k].unread &&
                       !(sub && parent_missing(&c->classes[k], gv, resource));
            c->classes[k].missing += lacks[k] || (absent[k] && !sub);
            differs = differs || lacks[k];
        }
        if (differs)
            add_row(c, gv, resource, lacks, "");
        compare_facets(c, gv, resource, lacks);
    }
    return n;
}

static void compare_group_version(struct compare *c, const struct ek_discovery_entry *gv,
                                  bool *absent, bool *lacks)
{
    bool any = false;
    struct ek_discovery_difference *row = NULL;
    for (size_t k = 0; k < c->n_classes; k++) {
        absent[k] = c->classes[k].at == c->classes[k].end;
        c->has[k] = !absent[k];
        any = any || absent[k];
    }
    if (any)
        row = add_row(c, gv, "", absent, "");
    size_t n = compare_resources(c, gv, absent, lacks);
    if (row)
        row->n_resources = n;
}

/* A group version that a peer marks Stale comes from an aggregated API server that the peer cannot
 * read (kube-aggregator, pkg/apiserver/handler_discovery.go, 1.36). All peers may agree on that:
 * the resources are not consistent all the same. */
static void note_stale(struct compare *c, const struct ek_discovery_entry *gv)
{
    struct ek_comparison *out = &c->out->discovery;
    bool stale = false;
    for (size_t k = 0; k < c->n_classes; k++) {
        const struct class *class = &c->classes[k];
        stale = stale || (class->at < class->end && class->entries[class->at].stale);
    }
    if (stale && out->n_stale++ == 0)
        out->stale_example = ek_skew_clean_max(
            c->arena, ek_arena_printf(c->arena, "%s/%s", gv->group, gv->version), 192);
}

/* A version of a group, and how many the server prefers to it. */
struct ranked {
    const char *version;
    unsigned rank;
};

/* The versions of the group at class->at..end, in the order of their names; at most max. */
static size_t versions_of(const struct class *class, struct ranked *list, size_t max)
{
    size_t n = 0;
    for (size_t i = class->at; i < class->end && n < max; i++)
        if (n == 0 || strcmp(list[n - 1].version, class->entries[i].version) != 0)
            list[n++] = (struct ranked){class->entries[i].version, class->entries[i].rank};
    return n;
}

/* True when two versions that are in both lists are in another order. */
static bool orders_differ(const struct ranked *a, size_t n_a, const struct ranked *b, size_t n_b)
{
    const struct ranked *pairs[VERSIONS_MAX][2];
    size_t n = 0;
    for (size_t i = 0, k = 0; i < n_a && k < n_b;) {
        int r = strcmp(a[i].version, b[k].version);
        if (r == 0 && a[i].rank != EK_DISCOVERY_NO_RANK && b[k].rank != EK_DISCOVERY_NO_RANK) {
            pairs[n][0] = &a[i];
            pairs[n++][1] = &b[k];
        }
        i += r <= 0;
        k += r >= 0;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if ((pairs[i][0]->rank < pairs[k][0]->rank) != (pairs[i][1]->rank < pairs[k][1]->rank))
                return true;
    return false;
}

/* The next group that any class has; every class's at..end is set to its part of it. */
static const struct ek_discovery_entry *next_group(struct compare *c)
{
    const struct ek_discovery_entry *first = NULL;
    for (size_t k = 0; k < c->n_classes; k++) {
        struct class *class = &c->classes[k];
        class->at = class->end;
        if (class->entries && class->at < class->n &&
            (!first || strcmp(class->entries[class->at].group, first->group) < 0))
            first = &class->entries[class->at];
    }
    for (size_t k = 0; first && k < c->n_classes; k++) {
        struct class *class = &c->classes[k];
        while (class->entries && class->end < class->n &&
               !strcmp(class->entries[class->end].group, first->group))
            class->end++;
    }
    return first;
}

/* The class with the most versions of the group, the first of several. */
static size_t richest(const struct compare *c, struct ranked *list, size_t *ret_n)
{
    size_t best = 0, n;
    *ret_n = 0;
    for (size_t k = 0; k < c->n_classes; k++)
        if ((n = versions_of(&c->classes[k], list, VERSIONS_MAX)) > *ret_n) {
            *ret_n = n;
            best = k;
        }
    return best;
}

/* Compares the order of the versions of each group with that of the peer that has the most of them.
 * Clients prefer the first version of a group, and a merge of lists in different orders may prefer
 * another than each of them (apimachinery/pkg/util/sort/sort.go:MergePreservingRelativeOrder). */
static void compare_orders(struct compare *c, bool *lacks)
{
    struct ranked most[VERSIONS_MAX], own[VERSIONS_MAX];
    size_t n_most;
    for (size_t k = 0; k < c->n_classes; k++)
        c->classes[k].at = c->classes[k].end = 0;
    for (const struct ek_discovery_entry *group = next_group(c); group; group = next_group(c)) {
        const struct class *with = &c->classes[richest(c, most, &n_most)];
        bool any = false;
        n_most = versions_of(with, most, VERSIONS_MAX);
        for (size_t k = 0; n_most > 1 && k < c->n_classes; k++) {
            size_t n = versions_of(&c->classes[k], own, VERSIONS_MAX);
            lacks[k] = orders_differ(most, n_most, own, n);
            c->has[k] = n > 0 && !lacks[k];
            any = any || lacks[k];
        }
        const struct ek_discovery_entry whole = {.group = group->group, .version = ""};
        if (any)
            add_row(c, &whole, "", lacks, "version priorities");
    }
}

static void compare_discovery(struct compare *c)
{
    bool *absent = ek_arena_alloc(c->arena, (c->n_classes + 1) * sizeof(bool));
    bool *lacks = ek_arena_alloc(c->arena, (c->n_classes + 1) * sizeof(bool));
    for (const struct ek_discovery_entry *gv = next_group_version(c); gv;
         gv = next_group_version(c)) {
        note_stale(c, gv);
        if (c->n_classes > 1)
            compare_group_version(c, gv, absent, lacks);
    }
    if (c->n_classes > 1)
        compare_orders(c, lacks);
    for (size_t k = 0; k < c->n_classes; k++)
        for (size_t i = 0; i < c->classes[k].n_peers; i++)
            c->out->missing_resources[c->classes[k].peers[i]] = c->classes[k].missing;
}

void ek_skew_compare(const struct ek_skew_facts *facts, struct ek_arena *arena,
                     struct ek_differences *ret)
{
    size_t n = facts->n_peers + 1;
    *ret = (struct ek_differences){0};
    ret->discovery.drift_example = ret->gates.drift_example = "";
    ret->manifests.drift_example = "";
    ret->discovery.stale_example = "";
    ret->discovery_rows = ek_arena_alloc(arena, EK_DIFFERENCES_MAX * sizeof(*ret->discovery_rows));
    ret->missing_resources = ek_arena_alloc(arena, n * sizeof(size_t));
    struct compare c = {.facts = facts, .arena = arena, .out = ret};
    c.classes = ek_arena_alloc(arena, n * sizeof(*c.classes));
    c.has = ek_arena_alloc(arena, n * sizeof(bool));
    classify_all(&c);
    compare_discovery(&c);
    ek_skew_compare_gates__(facts, arena, ret);
    ek_skew_compare_components__(facts, arena, ret);
    ek_skew_compare_manifests__(facts, arena, ret);
}
