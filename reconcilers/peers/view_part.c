/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "reconcilers/peers/view-internal.h"

void ek_view_page_done(struct ek_view_page *page)
{
    ek_document_done(&page->document);
}

void ek_view_page_make(struct ek_view_page *page, struct ek_buf *body, const char *etag)
{
    const struct ek_document *document = &page->document;

    ek_buf_puts(body, "\n");
    if (body->failed) {
        ek_buf_done(body);
        return;
    }
    ek_document_make(&page->document, body, etag);
    page->shown.body = (struct ek_str){document->body.data, document->body.len};
    page->shown.gzip = (struct ek_str){document->gzip.data, document->gzip.len};
    page->shown.etag = document->etag;
}

static void fill_form(struct ek_view_page *page, enum ek_view_place place, enum ek_view_form form,
                      const struct ek_api_list *list, const char *etag)
{
    struct ek_buf out;

    ek_buf_init(&out, EK_DOCUMENT_MAX);
    if (form != EK_VIEW_PLAIN)
        ek_api_write_aggregated(&out, list, form == EK_VIEW_V2 ? "v2" : "v2beta1");
    else if (place == EK_VIEW_API)
        ek_api_write_versions(&out, list);
    else
        ek_api_write_group_list(&out, list);
    ek_view_page_make(page, &out, form == EK_VIEW_PLAIN ? NULL : etag);
}

void ek_view_pages_fill(struct ek_view_page pages[EK_VIEW_FORM_MAX], enum ek_view_place place,
                        const struct ek_api_list *list)
{
    char etag[EK_ETAG_SIZE];
    struct ek_buf out;

    ek_buf_init(&out, EK_DOCUMENT_MAX);
    ek_api_write_aggregated(&out, list, NULL);
    ek_document_etag(out.data, out.len, etag);
    ek_buf_done(&out);
    for (enum ek_view_form form = 0; form < EK_VIEW_FORM_MAX; form++)
        fill_form(&pages[form], place, form, list, etag);
}

static size_t count_entries(const struct ek_api_list *list)
{
    size_t n = 0;

    for (size_t g = 0; g < list->n; g++) {
        for (size_t v = 0; v < list->groups[g].n; v++) {
            const struct ek_api_version *version = &list->groups[g].versions[v];
            n++;
            for (size_t r = 0; r < version->n; r++)
                n += 1 + version->resources[r].subresources.n;
        }
    }
    return n;
}

static void add_resource(struct ek_view_part *part, const struct ek_view_entry *version,
                         const struct ek_api_resource *resource)
{
    struct ek_view_entry entry = *version;

    /* The entry of the group version has the empty name. */
    if (!*resource->name)
        return;
    entry.any = false;
    entry.resource = resource->name;
    if (resource->kind)
        part->entries[part->n_entries++] = entry;
    for (size_t s = 0; s < resource->subresources.n; s++) {
        entry.sub = resource->subresources.items[s].name;
        if (*entry.sub)
            part->entries[part->n_entries++] = entry;
    }
}

static void add_list(struct ek_view_part *part, const struct ek_api_list *list)
{
    for (size_t g = 0; g < list->n; g++) {
        const struct ek_api_group *group = &list->groups[g];
        for (size_t v = 0; v < group->n; v++) {
            const struct ek_api_version *version = &group->versions[v];
            struct ek_view_entry entry = {.group = group->name,
                                          .version = version->name,
                                          .resource = "",
                                          .sub = "",
                                          .any = version->n == 0 &&
                                                 !strcmp(version->freshness, "Stale")};
            part->entries[part->n_entries++] = entry;
            for (size_t r = 0; r < version->n; r++)
                add_resource(part, &entry, &version->resources[r]);
        }
    }
}

static int by_entry(const void *a, const void *b)
{
    const struct ek_view_entry *x = a, *y = b;
    int c = strcmp(x->group, y->group);

    if (!c)
        c = strcmp(x->version, y->version);
    if (!c)
        c = strcmp(x->resource, y->resource);
    return c ? c : strcmp(x->sub, y->sub);
}

struct ek_view_part *ek_view_part_new(const struct ek_api_groups *core,
                                      const struct ek_api_groups *groups)
{
    struct ek_view_part *part = ek_xalloc(sizeof *part);
    size_t n = count_entries(&core->list) + count_entries(&groups->list);

    atomic_init(&part->refs, 1);
    part->core = ek_api_groups_ref(core);
    part->groups = ek_api_groups_ref(groups);
    part->entries = ek_xrealloc(NULL, n + 1, sizeof *part->entries);
    add_list(part, &core->list);
    add_list(part, &groups->list);
    qsort(part->entries, part->n_entries, sizeof *part->entries, by_entry);
    part->n_repeats = ek_merge_repeats(&core->list) + ek_merge_repeats(&groups->list);
    ek_view_pages_fill(part->pages[EK_VIEW_API], EK_VIEW_API, &core->list);
    ek_view_pages_fill(part->pages[EK_VIEW_APIS], EK_VIEW_APIS, &groups->list);
    return part;
}

struct ek_view_part *ek_view_part_ref(struct ek_view_part *part)
{
    if (part)
        atomic_fetch_add_explicit(&part->refs, 1, memory_order_relaxed);
    return part;
}

void ek_view_part_unref(struct ek_view_part *part)
{
    if (!part || atomic_fetch_sub_explicit(&part->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (int place = 0; place < EK_VIEW_PLACE_MAX; place++)
        for (int form = 0; form < EK_VIEW_FORM_MAX; form++)
            ek_view_page_done(&part->pages[place][form]);
    ek_api_groups_unref(part->core);
    ek_api_groups_unref(part->groups);
    ek_free(part->entries);
    ek_free(part);
}

/* The first entry that is not before key; n_entries without one. */
static size_t lower_bound(const struct ek_view_part *part, const struct ek_view_entry *key)
{
    size_t low = 0, high = part->n_entries;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_entry(&part->entries[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct ek_view_entry *find(const struct ek_view_part *part,
                                        const struct ek_view_entry *key)
{
    size_t at = lower_bound(part, key);

    return at < part->n_entries && by_entry(&part->entries[at], key) == 0 ? &part->entries[at]
                                                                          : NULL;
}

static bool serves_version(const struct ek_view_part *part, const struct ek_view_entry *key)
{
    const struct ek_view_entry version = {
        .group = key->group, .version = key->version, .resource = "", .sub = ""};
    const struct ek_view_entry *found = find(part, &version);

    return found && (!*key->resource || found->any || find(part, key));
}

/* As above for any version of the group. */
static bool serves_group(const struct ek_view_part *part, const struct ek_view_entry *key)
{
    const struct ek_view_entry start = {
        .group = key->group, .version = "", .resource = "", .sub = ""};

    for (size_t i = lower_bound(part, &start);
         i < part->n_entries && !strcmp(part->entries[i].group, key->group); i++) {
        const struct ek_view_entry *entry = &part->entries[i];
        if (!*key->resource || entry->any ||
            (!strcmp(entry->resource, key->resource) && !strcmp(entry->sub, key->sub)))
            return true;
    }
    return false;
}

enum ek_view_answer ek_view_serves(const struct ek_view *view, size_t i, const char *group,
                                   const char *version, const char *resource,
                                   const char *subresource)
{
    const struct ek_view_entry key = {
        .group = group, .version = version, .resource = resource, .sub = subresource};

    if (i >= view->n || !view->parts[i])
        return EK_VIEW_UNKNOWN;
    bool yes = *version ? serves_version(view->parts[i], &key) : serves_group(view->parts[i], &key);
    return yes ? EK_VIEW_YES : EK_VIEW_NO;
}

const struct ek_view_document *ek_view_own(const struct ek_view *view, size_t i,
                                           enum ek_view_place place, enum ek_view_form form)
{
    if (i >= view->n || !view->parts[i])
        return NULL;
    const struct ek_view_page *page = &view->parts[i]->pages[place][form];
    return page->shown.body.len ? &page->shown : NULL;
}
