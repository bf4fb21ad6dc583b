/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/custom_groups.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"

/* "true" on APIServices of CRDs, "onstart" on those of kube-apiserver itself
 * (kube-aggregator/pkg/controllers/autoregister/autoregister_controller.go). */
#define MANAGED "kube-aggregator.kubernetes.io/automanaged"

struct entry {
    char *name;      /* "apps/v1" */
    int64_t gone_ms; /* since when it is gone; EK_TIME_UNSET while it is there */
};

struct ek_custom_groups {
    struct entry *entries; /* sorted by name */
    size_t n;
    const char **names; /* of entries */
    struct ek_exclusions exclusions;
};

struct ek_custom_groups *ek_custom_groups_new(void)
{
    return ek_xalloc(sizeof(struct ek_custom_groups));
}

static void free_entries(struct entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ek_free(entries[i].name);
    ek_free(entries);
}

void ek_custom_groups_free(struct ek_custom_groups *groups)
{
    if (!groups)
        return;
    free_entries(groups->entries, groups->n);
    ek_free(groups->names);
    ek_free(groups);
}

static bool is_custom(const struct ek_obj *api_service)
{
    const char *managed = ek_obj_label(api_service, MANAGED);

    return yyjson_is_obj(ek_json_get(ek_obj_root(api_service), "spec", "service", NULL)) ||
           (managed && !strcmp(managed, "true"));
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* The group versions of now, sorted; room for n_more behind them. */
static struct entry *read_active(struct ek_obj *const *api_services, size_t n, size_t n_more,
                                 size_t *ret_n)
{
    struct entry *entries = ek_xrealloc(NULL, n + n_more + 1, sizeof *entries);
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        yyjson_val *root = ek_obj_root(api_services[i]);
        const char *group = ek_json_str(root, "spec", "group", NULL);
        const char *version = ek_json_str(root, "spec", "version", NULL);
        if (group && version && is_custom(api_services[i]))
            entries[kept++] =
                (struct entry){*group ? ek_xasprintf("%s/%s", group, version) : ek_xstrdup(version),
                               EK_TIME_UNSET};
    }
    if (kept)
        qsort(entries, kept, sizeof *entries, by_name);
    *ret_n = kept;
    return entries;
}

/* Adds what is gone, and not for too long; takes these out of groups. */
static size_t add_gone(struct ek_custom_groups *groups, struct entry *entries, size_t n,
                       int64_t now_ms)
{
    size_t active = n;

    for (size_t i = 0; i < groups->n; i++) {
        struct entry *old = &groups->entries[i];
        if (active && bsearch(old, entries, active, sizeof *entries, by_name))
            continue;
        /* The clock may have been set back. */
        int64_t gone_ms =
            old->gone_ms == EK_TIME_UNSET || old->gone_ms > now_ms ? now_ms : old->gone_ms;
        if (now_ms - gone_ms > EK_CUSTOM_GROUPS_KEPT_MS)
            continue;
        entries[n++] = (struct entry){old->name, gone_ms};
        old->name = NULL;
    }
    if (n)
        qsort(entries, n, sizeof *entries, by_name);
    return n;
}

static void list_names(struct ek_custom_groups *groups)
{
    size_t n = 0;

    groups->names = ek_xrealloc(groups->names, groups->n + 1, sizeof *groups->names);
    for (size_t i = 0; i < groups->n; i++)
        if (n == 0 || strcmp(groups->names[n - 1], groups->entries[i].name) != 0)
            groups->names[n++] = groups->entries[i].name;
    groups->exclusions = (struct ek_exclusions){groups->names, n};
}

static int64_t again_in(const struct ek_custom_groups *groups, int64_t now_ms)
{
    int64_t again = 0;

    for (size_t i = 0; i < groups->n; i++) {
        if (groups->entries[i].gone_ms == EK_TIME_UNSET)
            continue;
        int64_t left = groups->entries[i].gone_ms + EK_CUSTOM_GROUPS_KEPT_MS + 1 - now_ms;
        again = !again || left < again ? left : again;
    }
    return again;
}

const struct ek_exclusions *ek_custom_groups_update(struct ek_custom_groups *groups,
                                                    struct ek_obj *const *api_services, size_t n,
                                                    int64_t now_ms, int64_t *ret_again_ms)
{
    size_t kept = 0;
    struct entry *entries = read_active(api_services, n, groups->n, &kept);

    kept = add_gone(groups, entries, kept, now_ms);
    free_entries(groups->entries, groups->n);
    groups->entries = entries;
    groups->n = kept;
    list_names(groups);
    *ret_again_ms = again_in(groups, now_ms);
    return &groups->exclusions;
}
