/* SPDX-License-Identifier: Apache-2.0 */
#include "test/apiserver/fieldset.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"

#define NAME_MAX_SIZE ((size_t)64 * 1024)

struct ek_fieldset {
    char *name;
    bool member;
    struct ek_fieldset **children; /* in order of their names */
    size_t n, cap;
};

struct ek_fieldset *ek_fieldset_new(void)
{
    return ek_xalloc(sizeof(struct ek_fieldset));
}

void ek_fieldset_free(struct ek_fieldset *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->n; i++)
        ek_fieldset_free(set->children[i]);
    ek_free(set->children);
    ek_free(set->name);
    ek_free(set);
}

/* The position of name among the children; *ret_found says whether it is there. */
static size_t position(const struct ek_fieldset *set, const char *name, bool *ret_found)
{
    size_t low = 0, high = set->n;

    *ret_found = false;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(set->children[middle]->name, name);
        if (order == 0) {
            *ret_found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct ek_fieldset *find(const struct ek_fieldset *set, const char *name)
{
    bool found;
    size_t at = position(set, name, &found);

    return found ? set->children[at] : NULL;
}

static struct ek_fieldset *child(struct ek_fieldset *set, const char *name)
{
    bool found;
    size_t at = position(set, name, &found);

    if (found)
        return set->children[at];
    if (set->n == set->cap) {
        set->cap = set->cap ? set->cap * 2 : 4;
        set->children = ek_xrealloc(set->children, set->cap, sizeof(void *));
    }
    memmove(&set->children[at + 1], &set->children[at], (set->n - at) * sizeof(void *));
    set->n++;
    set->children[at] = ek_fieldset_new();
    set->children[at]->name = ek_xstrdup(name);
    return set->children[at];
}

static struct ek_fieldset *field(struct ek_fieldset *set, const char *name)
{
    char *full = ek_xasprintf("f:%s", name);
    struct ek_fieldset *node = child(set, full);

    ek_free(full);
    return node;
}

static void remove_at(struct ek_fieldset *set, size_t at)
{
    ek_fieldset_free(set->children[at]);
    set->n--;
    memmove(&set->children[at], &set->children[at + 1], (set->n - at) * sizeof(void *));
}

static bool is_hollow(const struct ek_fieldset *set)
{
    return !set->member && set->n == 0;
}

bool ek_fieldset_is_empty(const struct ek_fieldset *set)
{
    return !set || is_hollow(set);
}

struct ek_fieldset *ek_fieldset_dup(const struct ek_fieldset *set)
{
    struct ek_fieldset *copy = ek_fieldset_new();

    ek_fieldset_add(copy, set);
    return copy;
}

bool ek_fieldset_equal(const struct ek_fieldset *a, const struct ek_fieldset *b)
{
    if (a->member != b->member || a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        if (strcmp(a->children[i]->name, b->children[i]->name) != 0 ||
            !ek_fieldset_equal(a->children[i], b->children[i]))
            return false;
    }
    return true;
}

static void decode_into(struct ek_fieldset *set, yyjson_mut_val *fields)
{
    size_t index, max;
    yyjson_mut_val *key, *value;

    yyjson_mut_obj_foreach(fields, index, max, key, value)
    {
        const char *name = yyjson_mut_get_str(key);
        if (strcmp(name, ".") == 0) {
            set->member = true;
            continue;
        }
        struct ek_fieldset *node = child(set, name);
        if (yyjson_mut_obj_size(value) == 0)
            node->member = true;
        else
            decode_into(node, value);
    }
}

struct ek_fieldset *ek_fieldset_decode(yyjson_mut_val *fields)
{
    struct ek_fieldset *set = ek_fieldset_new();

    decode_into(set, fields);
    return set;
}

yyjson_mut_val *ek_fieldset_encode(const struct ek_fieldset *set, yyjson_mut_doc *doc)
{
    yyjson_mut_val *object = yyjson_mut_obj(doc);

    if (set->member && set->n > 0)
        yyjson_mut_obj_add_val(doc, object, ".", yyjson_mut_obj(doc));
    for (size_t i = 0; i < set->n; i++)
        yyjson_mut_obj_add(object, yyjson_mut_strcpy(doc, set->children[i]->name),
                           ek_fieldset_encode(set->children[i], doc));
    return object;
}

static yyjson_mut_val *key_of(yyjson_mut_doc *doc, yyjson_mut_val *item,
                              const struct ek_list_shape *shape)
{
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    const char *names[EK_LIST_KEYS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < EK_LIST_KEYS_MAX && shape->keys[i]; i++) {
        size_t at = n++;
        for (; at > 0 && strcmp(names[at - 1], shape->keys[i]) > 0; at--)
            names[at] = names[at - 1];
        names[at] = shape->keys[i];
    }
    for (size_t i = 0; i < n; i++) {
        yyjson_mut_val *value = yyjson_mut_obj_get(item, names[i]);
        const char *fallback = NULL;
        for (size_t k = 0; k < n; k++)
            fallback = strcmp(shape->keys[k], names[i]) == 0 ? shape->defaults[k] : fallback;
        if (value)
            yyjson_mut_obj_add_val(doc, object, names[i], yyjson_mut_val_mut_copy(doc, value));
        else if (fallback)
            yyjson_mut_obj_add_str(doc, object, names[i], fallback);
    }
    return object;
}

void ek_fieldset_item_name(struct ek_buf *out, yyjson_mut_val *item,
                           const struct ek_list_shape *shape)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    size_t len;
    bool map = shape->shape == EK_MERGE_MAP;
    char *json = yyjson_mut_val_write(map ? key_of(doc, item, shape) : item, 0, &len);

    ek_buf_puts(out, map ? "k:" : "v:");
    if (json)
        ek_buf_append(out, json, len);
    free(json);
    yyjson_mut_doc_free(doc);
}

static struct ek_fieldset *item_child(struct ek_fieldset *set, yyjson_mut_val *item,
                                      const struct ek_list_shape *shape)
{
    EK_AUTO(ek_buf) name;

    ek_buf_init(&name, NAME_MAX_SIZE);
    ek_fieldset_item_name(&name, item, shape);
    return child(set, ek_buf_str(&name));
}

/* Fills set with the fields of value. with_self: containers are members too, as in the entries of
 * managers that update; those that apply own containers only where they are list items. */
static void fields_of(struct ek_fieldset *set, yyjson_mut_val *value, struct ek_schema_at at,
                      bool with_self)
{
    struct ek_list_shape shape = ek_schema_shape(at, value);
    size_t index, max;
    yyjson_mut_val *key, *member;

    if (shape.shape == EK_MERGE_ATOMIC || yyjson_mut_get_len(value) == 0) {
        set->member = true;
        return;
    }
    set->member = set->member || with_self;
    if (shape.shape == EK_MERGE_GRANULAR) {
        yyjson_mut_obj_foreach(value, index, max, key, member)
        {
            const char *name = yyjson_mut_get_str(key);
            fields_of(field(set, name), member, ek_schema_at_member(at, name), with_self);
        }
        return;
    }
    yyjson_mut_arr_foreach(value, index, max, member)
    {
        struct ek_fieldset *item = item_child(set, member, &shape);
        item->member = true;
        if (shape.shape == EK_MERGE_MAP)
            fields_of(item, member, ek_schema_item(at), with_self);
    }
}

struct ek_fieldset *ek_fieldset_of(yyjson_mut_val *object, const struct ek_shapes *shapes)
{
    struct ek_fieldset *set = ek_fieldset_new();

    fields_of(set, object, ek_schema_root(shapes), false);
    return set;
}

static yyjson_mut_val *item_named(yyjson_mut_val *list, const char *name,
                                  const struct ek_list_shape *shape)
{
    size_t index, max;
    yyjson_mut_val *item, *found = NULL;
    EK_AUTO(ek_buf) other;

    ek_buf_init(&other, NAME_MAX_SIZE);
    yyjson_mut_arr_foreach(list, index, max, item)
    {
        ek_buf_reset(&other);
        ek_fieldset_item_name(&other, item, shape);
        if (strcmp(ek_buf_str(&other), name) == 0)
            found = item;
    }
    return found;
}

struct comparison {
    struct ek_fieldset *changed, *removed;
};

static void compare(struct comparison set, yyjson_mut_val *before, yyjson_mut_val *after,
                    struct ek_schema_at at);

/* The structs of built-in kinds are never absent, so nobody can own them as such. */
static bool is_struct(struct ek_schema_at at)
{
    return strcmp(at.field, "metadata") == 0 ||
           (!at.schema && *at.parent == '\0' &&
            (strcmp(at.field, "spec") == 0 || strcmp(at.field, "status") == 0));
}

static void compare_members(struct comparison set, yyjson_mut_val *before, yyjson_mut_val *after,
                            struct ek_schema_at at)
{
    size_t index, max;
    yyjson_mut_val *key, *member;

    yyjson_mut_obj_foreach(after, index, max, key, member)
    {
        const char *name = yyjson_mut_get_str(key);
        yyjson_mut_val *old = yyjson_mut_obj_get(before, name);
        if (old && yyjson_mut_equals(old, member))
            continue;
        struct comparison next = {field(set.changed, name), field(set.removed, name)};
        compare(next, old, member, ek_schema_at_member(at, name));
    }
    yyjson_mut_obj_foreach(before, index, max, key, member)
    {
        const char *name = yyjson_mut_get_str(key);
        if (!yyjson_mut_obj_get(after, name))
            fields_of(field(set.removed, name), member, ek_schema_at_member(at, name), true);
    }
}

static void compare_items(struct comparison set, yyjson_mut_val *before, yyjson_mut_val *after,
                          struct ek_schema_at at, const struct ek_list_shape *shape)
{
    size_t index, max;
    yyjson_mut_val *item;

    yyjson_mut_arr_foreach(after, index, max, item)
    {
        struct ek_fieldset *changed = item_child(set.changed, item, shape);
        yyjson_mut_val *old = item_named(before, changed->name, shape);
        if (old && shape->shape == EK_MERGE_MAP && !yyjson_mut_equals(old, item))
            compare_members((struct comparison){changed, child(set.removed, changed->name)}, old,
                            item, ek_schema_item(at));
        else if (!old)
            fields_of(changed, item, ek_schema_item(at), true);
    }
    yyjson_mut_arr_foreach(before, index, max, item)
    {
        EK_AUTO(ek_buf) name;
        ek_buf_init(&name, NAME_MAX_SIZE);
        ek_fieldset_item_name(&name, item, shape);
        if (!item_named(after, ek_buf_str(&name), shape))
            fields_of(child(set.removed, ek_buf_str(&name)), item, ek_schema_item(at), true);
    }
}

static void compare(struct comparison set, yyjson_mut_val *before, yyjson_mut_val *after,
                    struct ek_schema_at at)
{
    struct ek_list_shape shape = ek_schema_shape(at, after);

    if (!before) {
        fields_of(set.changed, after, at, true);
        if (is_struct(at) && set.changed->n > 0)
            set.changed->member = false;
        return;
    }
    if (shape.shape == EK_MERGE_GRANULAR && yyjson_mut_is_obj(before)) {
        compare_members(set, before, after, at);
    } else if (shape.shape >= EK_MERGE_MAP && yyjson_mut_is_arr(before)) {
        compare_items(set, before, after, at, &shape);
    } else if (!yyjson_mut_equals(before, after)) {
        fields_of(set.changed, after, at, true);
    }
}

/* Takes out what neither is a member nor holds one. */
static void prune(struct ek_fieldset *set)
{
    for (size_t i = set->n; i-- > 0;) {
        prune(set->children[i]);
        if (is_hollow(set->children[i]))
            remove_at(set, i);
    }
}

void ek_fieldset_compare(yyjson_mut_val *before, yyjson_mut_val *after,
                         const struct ek_shapes *shapes, struct ek_fieldset **ret_changed,
                         struct ek_fieldset **ret_removed)
{
    struct comparison set = {ek_fieldset_new(), ek_fieldset_new()};

    compare_members(set, before, after, ek_schema_root(shapes));
    prune(set.changed);
    prune(set.removed);
    *ret_changed = set.changed;
    *ret_removed = set.removed;
}

void ek_fieldset_add(struct ek_fieldset *a, const struct ek_fieldset *b)
{
    a->member = a->member || b->member;
    for (size_t i = 0; i < b->n; i++)
        ek_fieldset_add(child(a, b->children[i]->name), b->children[i]);
}

static void subtract(struct ek_fieldset *a, const struct ek_fieldset *b, bool deep)
{
    if (b->member) {
        a->member = false;
        while (deep && a->n > 0)
            remove_at(a, a->n - 1);
    }
    for (size_t i = a->n; i-- > 0;) {
        const struct ek_fieldset *other = find(b, a->children[i]->name);
        if (other)
            subtract(a->children[i], other, deep);
        if (is_hollow(a->children[i]))
            remove_at(a, i);
    }
}

void ek_fieldset_subtract(struct ek_fieldset *a, const struct ek_fieldset *b)
{
    subtract(a, b, false);
}

void ek_fieldset_subtract_deep(struct ek_fieldset *a, const struct ek_fieldset *b)
{
    subtract(a, b, true);
}

void ek_fieldset_intersect(struct ek_fieldset *a, const struct ek_fieldset *b)
{
    a->member = a->member && b->member;
    for (size_t i = a->n; i-- > 0;) {
        const struct ek_fieldset *other = find(b, a->children[i]->name);
        if (other)
            ek_fieldset_intersect(a->children[i], other);
        if (!other || is_hollow(a->children[i]))
            remove_at(a, i);
    }
}

void ek_fieldset_drop(struct ek_fieldset *set, const char *name)
{
    bool found;
    size_t at = position(set, name, &found);

    if (found)
        remove_at(set, at);
}

void ek_fieldset_strip_system(struct ek_fieldset *set)
{
    static const char *const owned_by_none[] = {
        "f:name",
        "f:namespace",
        "f:generateName",
        "f:uid",
        "f:generation",
        "f:resourceVersion",
        "f:creationTimestamp",
        "f:managedFields",
        "f:selfLink",
        "f:deletionTimestamp",
        "f:deletionGracePeriodSeconds",
    };
    struct ek_fieldset *metadata = find(set, "f:metadata");

    ek_fieldset_drop(set, "f:apiVersion");
    ek_fieldset_drop(set, "f:kind");
    if (!metadata)
        return;
    metadata->member = false;
    for (size_t i = 0; i < EK_ARRAY_SIZE(owned_by_none); i++)
        ek_fieldset_drop(metadata, owned_by_none[i]);
    if (is_hollow(metadata))
        ek_fieldset_drop(set, "f:metadata");
}

static void remove_items(yyjson_mut_val *list, const struct ek_fieldset *set,
                         const struct ek_fieldset *keep, struct ek_schema_at at);

static void remove_members(yyjson_mut_val *object, const struct ek_fieldset *set,
                           const struct ek_fieldset *keep, struct ek_schema_at at)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct ek_fieldset *gone = set->children[i];
        const struct ek_fieldset *kept = keep ? find(keep, gone->name) : NULL;
        const char *name = strncmp(gone->name, "f:", 2) == 0 ? gone->name + 2 : "";
        yyjson_mut_val *value = yyjson_mut_obj_get(object, name);
        if (!value)
            continue;
        if (yyjson_mut_is_obj(value))
            remove_members(value, gone, kept, ek_schema_at_member(at, name));
        else if (yyjson_mut_is_arr(value))
            remove_items(value, gone, kept, ek_schema_at_member(at, name));
        bool container = yyjson_mut_is_ctn(value) && gone->n > 0;
        if (!kept && (gone->member || (container && yyjson_mut_get_len(value) == 0)) &&
            (!container || yyjson_mut_get_len(value) == 0))
            yyjson_mut_obj_remove_key(object, name);
    }
}

static void remove_items(yyjson_mut_val *list, const struct ek_fieldset *set,
                         const struct ek_fieldset *keep, struct ek_schema_at at)
{
    struct ek_list_shape shape = ek_schema_shape(at, list);

    for (size_t i = 0; i < set->n && shape.shape >= EK_MERGE_MAP; i++) {
        const struct ek_fieldset *gone = set->children[i];
        const struct ek_fieldset *kept = keep ? find(keep, gone->name) : NULL;
        size_t index, max, found = SIZE_MAX;
        yyjson_mut_val *item, *wanted = item_named(list, gone->name, &shape);
        if (!wanted)
            continue;
        yyjson_mut_arr_foreach(list, index, max, item)
        {
            found = item == wanted ? index : found;
        }
        if (kept)
            remove_members(wanted, gone, kept, ek_schema_item(at));
        else if (gone->member)
            yyjson_mut_arr_remove(list, found);
    }
}

void ek_fieldset_remove_from(yyjson_mut_val *object, const struct ek_fieldset *set,
                             const struct ek_fieldset *keep, const struct ek_shapes *shapes)
{
    remove_members(object, set, keep, ek_schema_root(shapes));
}

static void each(const struct ek_fieldset *set, struct ek_buf *path,
                 void (*fn)(void *ctx, const char *path), void *ctx)
{
    if (set->member)
        fn(ctx, ek_buf_str(path));
    for (size_t i = 0; i < set->n; i++) {
        const struct ek_fieldset *node = set->children[i];
        size_t len = path->len;
        if (node->name[0] == 'f') {
            ek_buf_printf(path, ".%s", node->name + 2);
        } else if (node->name[0] == 'k') {
            struct ek_err err;
            yyjson_doc *doc = ek_json_parse(node->name + 2, strlen(node->name + 2), &err);
            size_t index, max;
            yyjson_val *key, *value;
            ek_json_each_member(yyjson_doc_get_root(doc), index, max, key, value)
            {
                char *text = yyjson_val_write(value, 0, NULL);
                ek_buf_printf(path, "%s%s=%s", index ? "," : "[", yyjson_get_str(key), text);
                free(text);
            }
            ek_buf_puts(path, "]");
            yyjson_doc_free(doc);
        } else {
            ek_buf_printf(path, "[=%s]", node->name + 2);
        }
        each(node, path, fn, ctx);
        path->len = len;
        path->data[len] = '\0';
    }
}

void ek_fieldset_each(const struct ek_fieldset *set, void (*fn)(void *ctx, const char *path),
                      void *ctx)
{
    EK_AUTO(ek_buf) path;

    ek_buf_init(&path, NAME_MAX_SIZE);
    ek_buf_puts(&path, "");
    each(set, &path, fn, ctx);
}

static yyjson_mut_val *merge_items(yyjson_mut_doc *doc, yyjson_mut_val *live, yyjson_mut_val *patch,
                                   struct ek_schema_at at, const struct ek_list_shape *shape)
{
    yyjson_mut_val *merged = yyjson_mut_arr(doc);
    size_t index, max;
    yyjson_mut_val *item;
    EK_AUTO(ek_buf) name;

    ek_buf_init(&name, NAME_MAX_SIZE);
    yyjson_mut_arr_foreach(live, index, max, item)
    {
        ek_buf_reset(&name);
        ek_fieldset_item_name(&name, item, shape);
        yyjson_mut_val *other = item_named(patch, ek_buf_str(&name), shape);
        yyjson_mut_val *value =
            other ? ek_merge_values(doc, item, other, ek_schema_item(at)) : item;
        yyjson_mut_arr_append(merged, yyjson_mut_val_mut_copy(doc, value));
    }
    yyjson_mut_arr_foreach(patch, index, max, item)
    {
        ek_buf_reset(&name);
        ek_fieldset_item_name(&name, item, shape);
        if (!item_named(live, ek_buf_str(&name), shape))
            yyjson_mut_arr_append(merged, yyjson_mut_val_mut_copy(doc, item));
    }
    return merged;
}

yyjson_mut_val *ek_merge_values(yyjson_mut_doc *doc, yyjson_mut_val *live, yyjson_mut_val *patch,
                                struct ek_schema_at at)
{
    struct ek_list_shape shape = ek_schema_shape(at, patch);
    size_t index, max;
    yyjson_mut_val *key, *member;

    if (shape.shape >= EK_MERGE_MAP && yyjson_mut_is_arr(live))
        return merge_items(doc, live, patch, at, &shape);
    if (shape.shape != EK_MERGE_GRANULAR || !yyjson_mut_is_obj(live))
        return yyjson_mut_val_mut_copy(doc, patch);
    yyjson_mut_val *merged = yyjson_mut_val_mut_copy(doc, live);
    yyjson_mut_obj_foreach(patch, index, max, key, member)
    {
        const char *name = yyjson_mut_get_str(key);
        yyjson_mut_val *old = yyjson_mut_obj_get(merged, name);
        yyjson_mut_val *value =
            old ? ek_merge_values(doc, old, member, ek_schema_at_member(at, name))
                : yyjson_mut_val_mut_copy(doc, member);
        yyjson_mut_obj_put(merged, yyjson_mut_strcpy(doc, name), value);
    }
    return merged;
}
