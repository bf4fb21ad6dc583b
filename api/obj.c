/* SPDX-License-Identifier: Apache-2.0 */
#include "api/obj.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include "api/members.h"

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

/* The content is either a document's, or follows the struct in the same block of memory: values
 * first, then their strings, then the key. */
struct ek_obj {
    atomic_uint refs;
    yyjson_doc *doc;  /* owned; NULL when the content follows */
    yyjson_val *root; /* borrowed from either, as all below */
    const char *name;
    const char *namespace;
    const char *uid;
    const char *resource_version;
    int64_t generation;
    const char *key;
    char *own_key; /* NULL when key is the name or follows */
};

static void *json_malloc(void *ctx, size_t size)
{
    (void)ctx;
    return ek_realloc(NULL, size); /* not ek_alloc: zeros are not needed */
}

static void *json_realloc(void *ctx, void *ptr, size_t old_size, size_t size)
{
    (void)ctx;
    (void)old_size;
    return ek_realloc(ptr, size);
}

static void *json_xmalloc(void *ctx, size_t size)
{
    (void)ctx;
    return ek_xrealloc(NULL, size, 1);
}

static void *json_xrealloc(void *ctx, void *ptr, size_t old_size, size_t size)
{
    (void)ctx;
    (void)old_size;
    return ek_xrealloc(ptr, size, 1);
}

static void json_free(void *ctx, void *ptr)
{
    (void)ctx;
    ek_free(ptr);
}

const yyjson_alc ek_json_alc = {json_malloc, json_realloc, json_free, NULL};
const yyjson_alc ek_json_xalc = {json_xmalloc, json_xrealloc, json_free, NULL};

yyjson_mut_doc *ek_json_doc_new(void)
{
    return yyjson_mut_doc_new(&ek_json_xalc);
}

static const char *str_or_empty(yyjson_val *v)
{
    const char *s = yyjson_get_str(v);
    return s ? s : "";
}

/* Fills all but the key of a namespaced object. */
static void read_metadata(struct ek_obj *obj)
{
    yyjson_val *meta = yyjson_obj_get(obj->root, "metadata");

    obj->name = str_or_empty(yyjson_obj_get(meta, "name"));
    obj->namespace = str_or_empty(yyjson_obj_get(meta, "namespace"));
    obj->uid = str_or_empty(yyjson_obj_get(meta, "uid"));
    obj->resource_version = str_or_empty(yyjson_obj_get(meta, "resourceVersion"));
    obj->generation = yyjson_get_sint(yyjson_obj_get(meta, "generation"));
    obj->key = obj->name;
}

static struct ek_obj *from_doc(yyjson_doc *doc)
{
    struct ek_obj *obj = ek_alloc(sizeof *obj);
    if (!obj) {
        yyjson_doc_free(doc);
        return NULL;
    }
    atomic_init(&obj->refs, 1);
    obj->doc = doc;
    obj->root = yyjson_doc_get_root(doc);
    read_metadata(obj);
    if (*obj->namespace)
        obj->key = obj->own_key = ek_xasprintf("%s/%s", obj->namespace, obj->name);
    return obj;
}

int ek_obj_parse(const char *json, size_t len, struct ek_obj **ret_obj, struct ek_err *err)
{
    struct ek_err local = {0};
    yyjson_doc *doc = ek_json_parse(json, len, &local);
    struct ek_obj *obj = doc ? from_doc(doc) : NULL;

    if (!obj) {
        if (!local.code)
            ek_err_set(&local, EK_E_NOMEM, "no memory for an object");
        if (err)
            *err = local;
        return local.code;
    }
    *ret_obj = obj;
    return 0;
}

struct ek_obj *ek_obj_from_mut(yyjson_mut_val *value)
{
    yyjson_doc *doc = yyjson_mut_val_imut_copy(value, &ek_json_alc);
    return doc ? from_doc(doc) : NULL;
}

struct ek_obj *ek_obj_from_val(yyjson_val *value)
{
    return ek_obj_from_item(value, NULL, NULL);
}

/*
 * A copy being made: one pass measures, with vals NULL, the second writes. In yyjson's immutable
 * form the values of a tree lie in a row, so that a subtree is copied like an array; a container
 * says by its offset where the next value begins.
 */
struct copy {
    yyjson_val *vals;
    char *chars;
    size_t n_vals, n_chars; /* so far */
};

static void copy_string(struct copy *copy, yyjson_val *to, const char *s, size_t len)
{
    memcpy(copy->chars + copy->n_chars, s, len);
    copy->chars[copy->n_chars + len] = '\0';
    to->uni.str = copy->chars + copy->n_chars;
}

/* Copies the values from val up to end. */
static void copy_row(struct copy *copy, const yyjson_val *val, const yyjson_val *end)
{
    for (; val < end; val++) {
        uint8_t type = (uint8_t)(val->tag & YYJSON_TYPE_MASK);
        size_t len = (size_t)(val->tag >> YYJSON_TAG_BIT);
        bool text = type == YYJSON_TYPE_STR || type == YYJSON_TYPE_RAW;
        if (copy->vals) {
            copy->vals[copy->n_vals] = *val;
            if (text)
                copy_string(copy, &copy->vals[copy->n_vals], val->uni.str, len);
        }
        copy->n_vals++;
        copy->n_chars += text ? len + 1 : 0;
    }
}

/* Adds a string that is not in the source. */
static void copy_text(struct copy *copy, const char *text)
{
    yyjson_val val = {.tag = (uint64_t)strlen(text) << YYJSON_TAG_BIT | YYJSON_TYPE_STR};

    val.uni.str = text;
    copy_row(copy, &val, &val + 1);
}

/* Adds the member where value has none; returns how many members that made. */
static size_t complete(struct copy *copy, yyjson_val *value, const char *key, const char *text)
{
    if (!text || yyjson_obj_get(value, key))
        return 0;
    copy_text(copy, key);
    copy_text(copy, text);
    return 1;
}

/* Gives a container that was begun at vals[at] its final size. */
static void close_container(struct copy *copy, size_t at, size_t n_members)
{
    if (!copy->vals)
        return;
    copy->vals[at].tag =
        (uint64_t)n_members << YYJSON_TAG_BIT | YYJSON_TYPE_OBJ | YYJSON_SUBTYPE_NONE;
    copy->vals[at].uni.ofs = (copy->n_vals - at) * sizeof(yyjson_val);
}

/* The members that informers drop, and the way to them. */
static const struct slim {
    const char *drop; /* NULL for none */
    const char *into; /* the object member to look into next, NULL for none */
} slims[] = {{NULL, "metadata"}, {"managedFields", "annotations"}, {LAST_APPLIED, NULL}};

/* Copies an object without what slims[level] and the levels below drop. Dropping after a copy
 * would keep the bytes. With level 0 also completes it. */
static void copy_slim(struct copy *copy, yyjson_val *value, size_t level, const char *api_version,
                      const char *kind)
{
    const struct slim *slim = &slims[level];
    size_t at = copy->n_vals, n_members = 0, i, n;
    yyjson_val *key, *member;

    copy_row(copy, value, value + 1);
    ek_json_each_member(value, i, n, key, member)
    {
        if (slim->drop && unsafe_yyjson_equals_str(key, slim->drop))
            continue;
        n_members++;
        if (slim->into && yyjson_is_obj(member) && unsafe_yyjson_equals_str(key, slim->into)) {
            copy_row(copy, key, key + 1);
            copy_slim(copy, member, level + 1, NULL, NULL);
        } else {
            copy_row(copy, key, unsafe_yyjson_get_next(member));
        }
    }
    n_members += complete(copy, value, "apiVersion", api_version);
    n_members += complete(copy, value, "kind", kind);
    close_container(copy, at, n_members);
}

static void copy_value(struct copy *copy, yyjson_val *value, const char *api_version,
                       const char *kind)
{
    copy->n_vals = copy->n_chars = 0;
    if ((api_version || kind) && yyjson_is_obj(value))
        copy_slim(copy, value, 0, api_version, kind);
    else
        copy_row(copy, value, unsafe_yyjson_get_next(value));
}

/* The room for the key, 0 when the name does. */
static size_t key_size(yyjson_val *value)
{
    yyjson_val *meta = yyjson_obj_get(value, "metadata");
    size_t namespace_len = yyjson_get_len(yyjson_obj_get(meta, "namespace"));

    return namespace_len ? namespace_len + yyjson_get_len(yyjson_obj_get(meta, "name")) + 2 : 0;
}

/* Writes the key of a namespaced object to the room of key_size; returns it. Not by a format: each
 * item of a list passes here. */
static const char *write_key(const struct ek_obj *obj, char *key)
{
    size_t namespace_len = strlen(obj->namespace);

    memcpy(key, obj->namespace, namespace_len);
    key[namespace_len] = '/';
    memcpy(key + namespace_len + 1, obj->name, strlen(obj->name) + 1);
    return key;
}

struct ek_obj *ek_obj_from_item(yyjson_val *value, const char *api_version, const char *kind)
{
    struct copy copy = {0};

    if (!value)
        return NULL;
    copy_value(&copy, value, api_version, kind);
    size_t vals_size = copy.n_vals * sizeof(yyjson_val), key_room = key_size(value);
    size_t chars_size = copy.n_chars;
    /* Not ek_alloc: zeros are not needed. */
    struct ek_obj *obj = ek_realloc(NULL, sizeof *obj + vals_size + chars_size + key_room);
    if (!obj)
        return NULL;
    *obj = (struct ek_obj){.root = (yyjson_val *)(obj + 1)};
    atomic_init(&obj->refs, 1);
    copy.vals = obj->root;
    copy.chars = (char *)obj->root + vals_size;
    copy_value(&copy, value, api_version, kind);
    read_metadata(obj);
    if (*obj->namespace)
        obj->key = write_key(obj, copy.chars + chars_size);
    return obj;
}

struct ek_obj *ek_obj_ref(const struct ek_obj *obj)
{
    struct ek_obj *shared = (struct ek_obj *)(uintptr_t)obj; /* only the count changes */
    if (shared)
        atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
    return shared;
}

void ek_obj_unref(struct ek_obj *obj)
{
    if (!obj || atomic_fetch_sub_explicit(&obj->refs, 1, memory_order_acq_rel) != 1)
        return;
    yyjson_doc_free(obj->doc);
    ek_free(obj->own_key);
    ek_free(obj);
}

yyjson_val *ek_obj_root(const struct ek_obj *obj)
{
    return obj->root;
}

const char *ek_obj_api_version(const struct ek_obj *obj)
{
    return str_or_empty(yyjson_obj_get(ek_obj_root(obj), "apiVersion"));
}

const char *ek_obj_kind(const struct ek_obj *obj)
{
    return str_or_empty(yyjson_obj_get(ek_obj_root(obj), "kind"));
}

const char *ek_obj_name(const struct ek_obj *obj)
{
    return obj->name;
}

const char *ek_obj_namespace(const struct ek_obj *obj)
{
    return obj->namespace;
}

const char *ek_obj_uid(const struct ek_obj *obj)
{
    return obj->uid;
}

const char *ek_obj_resource_version(const struct ek_obj *obj)
{
    return obj->resource_version;
}

int64_t ek_obj_generation(const struct ek_obj *obj)
{
    return obj->generation;
}

const char *ek_obj_key(const struct ek_obj *obj)
{
    return obj->key;
}

int ek_obj_by_key(const void *a, const void *b)
{
    const struct ek_obj *const *x = a, *const *y = b;

    return strcmp(ek_obj_key(*x), ek_obj_key(*y));
}

const char *ek_obj_label(const struct ek_obj *obj, const char *name)
{
    return ek_json_str(ek_obj_root(obj), "metadata", "labels", name, NULL);
}

const char *ek_obj_annotation(const struct ek_obj *obj, const char *name)
{
    return ek_json_str(ek_obj_root(obj), "metadata", "annotations", name, NULL);
}

static yyjson_val *walk(yyjson_val *value, va_list path)
{
    const char *name;
    while (value && (name = va_arg(path, const char *)))
        value = yyjson_obj_get(value, name);
    return value;
}

yyjson_val *ek_json_get(yyjson_val *value, ...)
{
    va_list path;
    va_start(path, value);
    value = walk(value, path);
    va_end(path);
    return value;
}

const char *ek_json_str(yyjson_val *value, ...)
{
    va_list path;
    va_start(path, value);
    value = walk(value, path);
    va_end(path);
    return yyjson_get_str(value);
}

const char *ek_json_text(yyjson_val *value, const char *name)
{
    const char *s = yyjson_get_str(yyjson_obj_get(value, name));
    return s ? s : "";
}

const char *ek_json_kind(yyjson_type type)
{
    switch (type) {
    case YYJSON_TYPE_BOOL:
        return "bool";
    case YYJSON_TYPE_NUM:
        return "number";
    case YYJSON_TYPE_STR:
        return "string";
    case YYJSON_TYPE_ARR:
        return "array";
    default:
        return "object";
    }
}

/* Each value is compared once, whichever way: twice would double with every level of nesting. */
static bool objects_equal(yyjson_val *a, yyjson_val *b, struct ek_work *work)
{
    struct ek_members others;
    yyjson_val *key, *member;
    size_t i, n;
    bool equal = yyjson_obj_size(a) == yyjson_obj_size(b);

    ek_members_init(&others, b, work);
    ek_json_each_member(a, i, n, key, member)
    {
        struct ek_str name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
        yyjson_val *its = equal ? ek_members_find(&others, name) : NULL;
        equal = its && ek_json_equal_within(member, its, work);
        if (!equal)
            break;
    }
    ek_members_done(&others);
    return equal;
}

static bool arrays_equal(yyjson_val *a, yyjson_val *b, struct ek_work *work)
{
    size_t n = yyjson_arr_size(a);
    if (n != yyjson_arr_size(b))
        return false;
    yyjson_val *x = yyjson_arr_get_first(a), *y = yyjson_arr_get_first(b);
    for (size_t i = 0; i < n; i++) {
        if (!ek_json_equal_within(x, y, work))
            return false;
        x = unsafe_yyjson_get_next(x);
        y = unsafe_yyjson_get_next(y);
    }
    return true;
}

bool ek_json_equal_within(yyjson_val *a, yyjson_val *b, struct ek_work *work)
{
    if (!a || !b)
        return a == b;
    if (!ek_work_octets(work, yyjson_is_str(a) ? unsafe_yyjson_get_len(a) : 0))
        return false;
    if (yyjson_is_obj(a) && yyjson_is_obj(b))
        return objects_equal(a, b, work);
    if (yyjson_is_arr(a) && yyjson_is_arr(b))
        return arrays_equal(a, b, work);
    if (yyjson_is_real(a) || yyjson_is_real(b))
        return yyjson_is_num(a) && yyjson_is_num(b) && yyjson_get_num(a) == yyjson_get_num(b);
    return unsafe_yyjson_get_type(a) == unsafe_yyjson_get_type(b) && yyjson_equals(a, b);
}

bool ek_json_equal(yyjson_val *a, yyjson_val *b)
{
    return ek_json_equal_within(a, b, NULL);
}

void ek_json_write_whole(yyjson_doc *doc)
{
    yyjson_val *v = yyjson_doc_get_root(doc), *end = v ? unsafe_yyjson_get_next(v) : NULL;

    for (; v < end; v++) {
        double d = yyjson_is_real(v) ? unsafe_yyjson_get_real(v) : 0.5;
        bool fits = d >= -9223372036854775808.0 && d < 9223372036854775808.0;
        if (!fits || (double)(int64_t)d != d)
            continue;
        if (d < 0)
            yyjson_set_sint(v, (int64_t)d);
        else
            yyjson_set_uint(v, (uint64_t)d);
    }
}
