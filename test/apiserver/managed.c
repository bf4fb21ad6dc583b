/* SPDX-License-Identifier: Apache-2.0 */
#include "test/apiserver/managed.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"

#define ENTRIES_MAX 64

struct entry {
    const char *name, *operation, *api_version, *subresource, *time;
    struct ek_fieldset *set;
};

struct entries {
    struct entry items[ENTRIES_MAX];
    size_t n;
};

static const char *text(yyjson_mut_val *object, const char *name)
{
    const char *s = yyjson_mut_get_str(yyjson_mut_obj_get(object, name));

    return s ? s : "";
}

static yyjson_mut_val *metadata_of(yyjson_mut_val *object)
{
    return yyjson_mut_obj_get(object, "metadata");
}

static void load(struct entries *entries, yyjson_mut_val *object)
{
    size_t index, max;
    yyjson_mut_val *item;

    entries->n = 0;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(metadata_of(object), "managedFields"), index, max,
                           item)
    {
        if (entries->n == ENTRIES_MAX)
            break;
        entries->items[entries->n++] = (struct entry){
            .name = text(item, "manager"),
            .operation = text(item, "operation"),
            .api_version = text(item, "apiVersion"),
            .subresource = text(item, "subresource"),
            .time = text(item, "time"),
            .set = ek_fieldset_decode(yyjson_mut_obj_get(item, "fieldsV1")),
        };
    }
}

static void unload(struct entries *entries)
{
    for (size_t i = 0; i < entries->n; i++)
        ek_fieldset_free(entries->items[i].set);
    entries->n = 0;
}

/* Apply before Update, then by time, then by name. */
static int entry_order(const struct entry *a, const struct entry *b)
{
    int order = strcmp(a->operation, b->operation);

    if (order == 0)
        order = strcmp(a->time, b->time);
    return order ? order : strcmp(a->name, b->name);
}

static void sort_entries(struct entries *entries)
{
    for (size_t i = 1; i < entries->n; i++) {
        struct entry moved = entries->items[i];
        size_t at = i;
        for (; at > 0 && entry_order(&entries->items[at - 1], &moved) > 0; at--)
            entries->items[at] = entries->items[at - 1];
        entries->items[at] = moved;
    }
}

/* Writes the entries into object, sorted; those without fields are left out. */
static void save(struct entries *entries, yyjson_mut_doc *doc, yyjson_mut_val *object)
{
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    yyjson_mut_val *metadata = metadata_of(object);

    sort_entries(entries);
    for (size_t i = 0; i < entries->n; i++) {
        const struct entry *e = &entries->items[i];
        if (ek_fieldset_is_empty(e->set))
            continue;
        yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, list);
        yyjson_mut_obj_add_strcpy(doc, item, "manager", e->name);
        yyjson_mut_obj_add_strcpy(doc, item, "operation", e->operation);
        yyjson_mut_obj_add_strcpy(doc, item, "apiVersion", e->api_version);
        yyjson_mut_obj_add_strcpy(doc, item, "time", e->time);
        yyjson_mut_obj_add_str(doc, item, "fieldsType", "FieldsV1");
        yyjson_mut_obj_add_val(doc, item, "fieldsV1", ek_fieldset_encode(e->set, doc));
        if (*e->subresource)
            yyjson_mut_obj_add_strcpy(doc, item, "subresource", e->subresource);
    }
    yyjson_mut_obj_remove_key(metadata, "managedFields");
    if (yyjson_mut_arr_size(list) > 0)
        yyjson_mut_obj_add_val(doc, metadata, "managedFields", list);
}

static struct entry *own_entry(struct entries *entries, const struct ek_field_manager *manager,
                               const char *operation)
{
    bool apply = strcmp(operation, "Apply") == 0;

    for (size_t i = 0; i < entries->n; i++) {
        struct entry *e = &entries->items[i];
        if (strcmp(e->name, manager->name) == 0 && strcmp(e->operation, operation) == 0 &&
            strcmp(e->subresource, manager->subresource) == 0 &&
            (apply || strcmp(e->api_version, manager->api_version) == 0))
            return e;
    }
    if (entries->n == ENTRIES_MAX)
        return &entries->items[ENTRIES_MAX - 1];
    struct entry *e = &entries->items[entries->n++];
    *e = (struct entry){manager->name,        operation, manager->api_version,
                        manager->subresource, "",        ek_fieldset_new()};
    return e;
}

/* What a manager cannot own through the endpoint it used. */
static void strip_reset(struct ek_fieldset *set, const struct ek_field_manager *manager)
{
    ek_fieldset_strip_system(set);
    if (!manager->has_status)
        return;
    if (strcmp(manager->subresource, "status") == 0) {
        ek_fieldset_drop(set, "f:spec");
        ek_fieldset_drop(set, "f:metadata");
    } else {
        ek_fieldset_drop(set, "f:status");
    }
}

void ek_managed_update(yyjson_mut_doc *doc, yyjson_mut_val *before, yyjson_mut_val *after,
                       const struct ek_shapes *shapes, const struct ek_field_manager *manager,
                       int64_t now_ms)
{
    struct entries entries;
    struct ek_fieldset *changed, *removed;
    char now[EK_TIME_SIZE];

    load(&entries, before);
    ek_fieldset_compare(before, after, shapes, &changed, &removed);
    strip_reset(changed, manager);
    ek_fieldset_strip_system(removed);
    for (size_t i = 0; i < entries.n; i++) {
        ek_fieldset_subtract_deep(entries.items[i].set, removed);
        if (strcmp(entries.items[i].name, manager->name) != 0 ||
            strcmp(entries.items[i].operation, "Update") != 0)
            ek_fieldset_subtract(entries.items[i].set, changed);
    }
    if (!ek_fieldset_is_empty(changed)) {
        struct entry *own = own_entry(&entries, manager, "Update");
        ek_fieldset_add(own->set, changed);
        own->time = ek_time_format(now_ms, now);
    }
    save(&entries, doc, after);
    unload(&entries);
    ek_fieldset_free(changed);
    ek_fieldset_free(removed);
}

void ek_conflicts_done(struct ek_conflicts *conflicts)
{
    for (size_t i = 0; i < conflicts->n; i++) {
        ek_free(conflicts->items[i].holder);
        ek_free(conflicts->items[i].path);
    }
    ek_free(conflicts->items);
    *conflicts = (struct ek_conflicts){0};
}

void ek_conflicts_format(const struct ek_conflicts *conflicts, struct ek_buf *out)
{
    const char *holder = "";

    if (conflicts->n == 1) {
        ek_buf_printf(out, "Apply failed with 1 conflict: conflict with %s: %s",
                      conflicts->items[0].holder, conflicts->items[0].path);
        return;
    }
    ek_buf_printf(out, "Apply failed with %zu conflicts: ", conflicts->n);
    for (size_t i = 0; i < conflicts->n; i++) {
        const struct ek_conflict *c = &conflicts->items[i];
        if (strcmp(holder, c->holder) != 0)
            ek_buf_printf(out, "%sconflicts with %s:", *holder ? "\n" : "", c->holder);
        holder = c->holder;
        ek_buf_printf(out, "\n- %s", c->path);
    }
}

struct collector {
    struct ek_conflicts *conflicts;
    const struct entry *entry;
};

static void collect(void *ctx, const char *path)
{
    struct collector *c = ctx;
    const struct entry *e = c->entry;
    EK_AUTO(ek_buf) holder;

    ek_buf_init(&holder, 4096);
    ek_buf_printf(&holder, "\"%s\"", e->name);
    if (*e->subresource)
        ek_buf_printf(&holder, " with subresource \"%s\"", e->subresource);
    if (strcmp(e->operation, "Update") == 0)
        ek_buf_printf(&holder, " using %s at %s", e->api_version, e->time);
    c->conflicts->items =
        ek_xrealloc(c->conflicts->items, c->conflicts->n + 1, sizeof(c->conflicts->items[0]));
    c->conflicts->items[c->conflicts->n++] =
        (struct ek_conflict){ek_buf_steal(&holder), ek_xstrdup(path)};
}

/* Finds what the others hold of the fields that the merge changed; with force takes it from them.
 */
static void settle_conflicts(struct entries *entries, const struct entry *own,
                             const struct ek_fieldset *changed, bool force,
                             struct ek_conflicts *ret_conflicts)
{
    for (size_t i = 0; i < entries->n; i++) {
        struct entry *e = &entries->items[i];
        if (e == own)
            continue;
        struct ek_fieldset *both = ek_fieldset_dup(e->set);
        struct collector collector = {ret_conflicts, e};
        ek_fieldset_intersect(both, changed);
        if (force)
            ek_fieldset_subtract(e->set, both);
        else
            ek_fieldset_each(both, collect, &collector);
        ek_fieldset_free(both);
    }
}

/* All fields that anyone but own holds, and what own holds now. */
static struct ek_fieldset *held(const struct entries *entries, const struct entry *own,
                                const struct ek_fieldset *sent)
{
    struct ek_fieldset *all = ek_fieldset_dup(sent);

    for (size_t i = 0; i < entries->n; i++) {
        if (&entries->items[i] != own)
            ek_fieldset_add(all, entries->items[i].set);
    }
    return all;
}

yyjson_mut_val *ek_managed_apply(yyjson_mut_doc *doc, yyjson_mut_val *live, yyjson_mut_val *config,
                                 const struct ek_shapes *shapes,
                                 const struct ek_field_manager *manager, bool force, int64_t now_ms,
                                 struct ek_conflicts *ret_conflicts)
{
    struct entries entries;
    char now[EK_TIME_SIZE];
    struct ek_fieldset *changed, *removed;
    struct ek_fieldset *sent = ek_fieldset_of(config, shapes);
    yyjson_mut_val *merged = live ? ek_merge_values(doc, live, config, ek_schema_root(shapes))
                                  : yyjson_mut_val_mut_copy(doc, config);

    *ret_conflicts = (struct ek_conflicts){0};
    strip_reset(sent, manager);
    load(&entries, live);
    struct entry *own = own_entry(&entries, manager, "Apply");
    ek_fieldset_compare(live, merged, shapes, &changed, &removed);
    settle_conflicts(&entries, own, changed, force, ret_conflicts);
    if (ret_conflicts->n == 0) {
        struct ek_fieldset *dropped = ek_fieldset_dup(own->set);
        struct ek_fieldset *keep = held(&entries, own, sent);
        ek_fieldset_subtract(dropped, keep);
        ek_fieldset_remove_from(merged, dropped, keep, shapes);
        ek_fieldset_free(dropped);
        ek_fieldset_free(keep);
        if (!ek_fieldset_equal(own->set, sent) || !*own->time)
            own->time = ek_time_format(now_ms, now);
        ek_fieldset_free(own->set);
        own->set = sent;
        own->api_version = manager->api_version;
        sent = NULL;
        save(&entries, doc, merged);
    } else {
        merged = NULL;
    }
    unload(&entries);
    ek_fieldset_free(sent);
    ek_fieldset_free(changed);
    ek_fieldset_free(removed);
    return merged;
}
