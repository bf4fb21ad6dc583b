/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubelets and kube-proxies, by version. nodeInfo.kubeProxyVersion is not read: kubelets wrote
 * their own version there, and leave the field empty since 1.33 (pkg/kubelet/nodestatus/setters.go:
 * DisableNodeKubeProxyVersion).
 */
#include <stdlib.h>
#include <string.h>

#include "reconcilers/peers/pod.h"
#include "reconcilers/skew/facts-internal.h"
#include "reconcilers/skew/tally.h"

#define VERSION_MAX 128
#define KEPT_EXACT  48 /* of EK_SKEW_GROUPS_MAX; then one per minor, then one for the rest */

static const char other[] = "other";

static const char *kubelet_version(const struct ek_obj *node)
{
    const char *s = ek_json_str(ek_obj_root(node), "status", "nodeInfo", "kubeletVersion", NULL);
    return s ? s : "";
}

static int largest_first(const void *a, const void *b)
{
    const struct ek_tally_entry *x = a, *y = b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return strcmp(x->key, y->key);
}

static const char *fold_key(struct facts *f, const char *version)
{
    char text[EK_MINOR_SIZE];
    struct ek_minor minor = ek_facts_minor__(version);

    return minor.known
               ? ek_arena_printf(f->arena, "%s (other builds)", ek_minor_format(minor, text))
               : other;
}

static void add_group(struct facts *f, enum ek_component component,
                      const struct ek_tally_entry *entry)
{
    struct ek_node_group *group = &f->out->groups[f->out->n_groups++];
    bool kubelet = component == EK_KUBELET;
    bool folded = entry->key == other;
    struct reading reading =
        ek_facts_reading__(kubelet ? EK_SOURCE_NODE : EK_SOURCE_POD_IMAGE, "", entry->key, true);

    *group = (struct ek_node_group){
        .component = component,
        .version = entry->key,
        .count = entry->count,
        .names = entry->names,
        .n_names = entry->n_names,
        .versions =
            ek_facts_merge__(f->arena, &reading, 1, kubelet ? "Absent" : "NotObservable", ""),
    };
    ek_facts_no_emulation__(&group->versions);
    if (folded) {
        group->versions.source = EK_SOURCE_NONE;
        group->versions.unknown_reason = "TooMany";
    }
}

/* Makes groups of a tally, folding the smallest where there are too many. */
static void add_groups(struct facts *f, enum ek_component component, struct ek_tally *tally)
{
    bool fits = tally->n <= EK_SKEW_GROUPS_MAX;
    size_t kept = fits ? tally->n : KEPT_EXACT;
    struct ek_tally folded, rest;

    qsort(tally->entries, tally->n, sizeof *tally->entries, largest_first);
    for (size_t i = 0; i < kept; i++)
        add_group(f, component, &tally->entries[i]);
    if (fits)
        return;
    ek_tally_init(&folded, f->arena, tally->n);
    for (size_t i = kept; i < tally->n; i++)
        ek_tally_fold(&folded, fold_key(f, tally->entries[i].key), &tally->entries[i]);
    qsort(folded.entries, folded.n, sizeof *folded.entries, largest_first);
    ek_tally_init(&rest, f->arena, 1);
    for (size_t i = 0, n = kept; i < folded.n; i++) {
        if (folded.entries[i].key != other && n < EK_SKEW_GROUPS_MAX - 1) {
            add_group(f, component, &folded.entries[i]);
            n++;
        } else {
            ek_tally_fold(&rest, other, &folded.entries[i]);
        }
    }
    if (rest.n)
        add_group(f, component, &rest.entries[0]);
}

static uint64_t patch_of(const char *text)
{
    struct ek_version version;
    return ek_version_parse(ek_str_from(text), EK_VERSION_ANY, &version) ? 0 : version.patch;
}

/* Newest first, unknown last. */
static int compare_minors(struct ek_minor a, struct ek_minor b)
{
    if (a.known != b.known)
        return a.known ? -1 : 1;
    return a.known ? ek_minor_cmp(b, a) : 0;
}

static int newest_first(const void *a, const void *b)
{
    const struct ek_node_group *x = a, *y = b;

    if (x->component != y->component)
        return x->component < y->component ? -1 : 1;
    int order = compare_minors(x->versions.binary, y->versions.binary);
    if (order)
        return order;
    uint64_t patch_x = patch_of(x->version), patch_y = patch_of(y->version);
    if (patch_x != patch_y)
        return patch_x > patch_y ? -1 : 1;
    return strverscmp(y->version, x->version);
}

static int newest_pair_first(const void *a, const void *b)
{
    const struct ek_node_pair *x = a, *y = b;
    int order = compare_minors(x->kubelet, y->kubelet);
    return order ? order : compare_minors(x->kube_proxy, y->kube_proxy);
}

/* A rolling update starts the new pod of a node after the old one has ended; both of one node
 * would say nothing of which one works. */
static bool counts(const struct ek_obj *pod)
{
    return ek_pod_is_running(pod) &&
           !ek_json_get(ek_obj_root(pod), "metadata", "deletionTimestamp", NULL);
}

/* Pairs by the key "1.36/1.35". Keys that were made are remembered: there are few of them, and
 * making one costs more than all else that is done for a node. */
struct pairs {
    struct ek_tally tally;
    struct {
        struct ek_minor kubelet, proxy;
        const char *key;
    } known[EK_SKEW_GROUPS_MAX];
    size_t n_known;
};

static const char *pair_key(struct facts *f, struct pairs *pairs, struct ek_minor kubelet,
                            struct ek_minor proxy)
{
    char left[EK_MINOR_SIZE], right[EK_MINOR_SIZE];

    for (size_t i = 0; i < pairs->n_known; i++)
        if (!ek_minor_cmp(pairs->known[i].kubelet, kubelet) &&
            !ek_minor_cmp(pairs->known[i].proxy, proxy))
            return pairs->known[i].key;
    const char *key = ek_arena_printf(f->arena, "%s/%s", ek_minor_format(kubelet, left),
                                      ek_minor_format(proxy, right));
    if (pairs->n_known < EK_SKEW_GROUPS_MAX) {
        pairs->known[pairs->n_known].kubelet = kubelet;
        pairs->known[pairs->n_known].proxy = proxy;
        pairs->known[pairs->n_known++].key = key;
    }
    return key;
}

static void pair_up(struct facts *f, struct pairs *pairs, const char *node_name,
                    const char *proxy_version)
{
    const struct ek_obj *node = ek_node_find(&f->view->nodes, node_name);

    if (!node)
        return;
    struct ek_minor kubelet = ek_facts_minor__(kubelet_version(node));
    struct ek_minor proxy = ek_facts_minor__(proxy_version);
    if (kubelet.known && proxy.known)
        ek_tally_add(&pairs->tally, pair_key(f, pairs, kubelet, proxy), node_name);
}

static void add_pairs(struct facts *f, struct ek_tally *pairs)
{
    struct ek_skew_facts *out = f->out;
    size_t n = pairs->n < EK_SKEW_GROUPS_MAX ? pairs->n : EK_SKEW_GROUPS_MAX;

    qsort(pairs->entries, pairs->n, sizeof *pairs->entries, largest_first);
    out->pairs = ek_arena_alloc(f->arena, (n + 1) * sizeof *out->pairs);
    out->n_pairs = n;
    for (size_t i = 0; i < n; i++) {
        const struct ek_tally_entry *entry = &pairs->entries[i];
        out->pairs[i] = (struct ek_node_pair){
            .kubelet = ek_minor_parse(entry->key),
            .kube_proxy = ek_minor_parse(strchr(entry->key, '/') + 1),
            .count = entry->count,
            .names = entry->names,
            .n_names = entry->n_names,
        };
    }
    if (pairs->n > n)
        ek_notes_add(f->notes,
                     "only the %zu most frequent of %zu pairs of kubelet and kube-proxy versions "
                     "were examined",
                     n, pairs->n);
    qsort(out->pairs, n, sizeof *out->pairs, newest_pair_first);
}

static void collect_proxies(struct facts *f)
{
    const struct ek_objs *pods = &f->pods[EK_KUBE_PROXY];
    struct pairs pairs = {.n_known = 0};
    struct ek_tally versions;
    const char *stale = "";
    size_t n_stale = 0;

    ek_tally_init(&versions, f->arena, pods->n);
    ek_tally_init(&pairs.tally, f->arena, pods->n);
    for (size_t i = 0; i < pods->n; i++) {
        const struct ek_obj *pod = pods->items[i];
        const char *node = ek_json_str(ek_obj_root(pod), "spec", "nodeName", NULL);
        if (!node || !*node || !counts(pod))
            continue;
        struct ek_pod_image image;
        ek_pod_image_read(pod, ek_component_name(EK_KUBE_PROXY), f->arena, &image);
        ek_tally_add(&versions, image.version, node);
        pair_up(f, &pairs, node, image.version);
        bool said = *image.doubt && !ek_skew_ignored(f->spec, EK_KUBE_PROXY);
        if (said && n_stale++ == 0)
            stale = ek_arena_printf(f->arena, "the spec of %s %s", ek_obj_name(pod), image.doubt);
    }
    if (n_stale == 1)
        ek_notes_add(f->notes, "%s", stale);
    else if (n_stale)
        ek_notes_add(f->notes, "%s; the same is true of %zu more pods of kube-proxy", stale,
                     n_stale - 1);
    add_groups(f, EK_KUBE_PROXY, &versions);
    add_pairs(f, &pairs.tally);
}

static void collect_kubelets(struct facts *f)
{
    const struct ek_objs *nodes = &f->view->nodes;
    struct ek_tally versions;

    ek_tally_init(&versions, f->arena, nodes->n);
    for (size_t i = 0; i < nodes->n; i++)
        ek_tally_add(&versions,
                     ek_notes_cut(f->arena, kubelet_version(nodes->items[i]), VERSION_MAX),
                     ek_obj_name(nodes->items[i]));
    f->out->n_nodes = nodes->n;
    add_groups(f, EK_KUBELET, &versions);
}

void ek_facts_collect_nodes__(struct facts *f)
{
    struct ek_skew_facts *out = f->out;

    out->groups = ek_arena_alloc(f->arena, (size_t)2 * EK_SKEW_GROUPS_MAX * sizeof *out->groups);
    collect_kubelets(f);
    collect_proxies(f);
    qsort(out->groups, out->n_groups, sizeof *out->groups, newest_first);
}
