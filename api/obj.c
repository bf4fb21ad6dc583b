/* SPDX-License-Identifier: Apache-2.0 */
#include "api/obj.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

struct ek_obj {
    atomic_uint refs;
    yyjson_doc *doc;  /* owned */
    const char *name; /* borrowed from doc, as all below but key */
    const char *namespace;
    const char *uid;
    const char *resource_version;
    int64_t generation;
    char *key; /* owned when namespaced, else name */
};

static void *json_malloc(void *ctx, size_t size)
{
    (void)ctx;
    return ek_realloc(NULL, size); /* not ek_alloc: nobody needs the zeros */
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

/* yyjson parses without recursion, so depth is measured on the text before anything walks it. */
static bool too_deep(const char *json, size_t len)
{
    size_t depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < len; i++) {
        char c = json[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > EK_JSON_DEPTH_MAX)
                return true;
        } else if ((c == '}' || c == ']') && depth > 0) {
            depth--;
        }
    }
    return false;
}

yyjson_doc *ek_json_parse(const char *json, size_t len, struct ek_err *err)
{
    yyjson_read_err read_err;

    if (too_deep(json, len)) {
        ek_err_set(err, EK_E_LIMIT, "JSON nests deeper than %d levels", EK_JSON_DEPTH_MAX);
        return NULL;
    }
    /* Without an in-situ flag yyjson only reads the bytes. */
    yyjson_doc *doc =
        yyjson_read_opts((char *)(uintptr_t)json, len, YYJSON_READ_NOFLAG, &ek_json_alc, &read_err);
    if (doc)
        return doc;
    if (read_err.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        ek_err_set(err, EK_E_NOMEM, "no memory for %zu bytes of JSON", len);
        return NULL;
    }
    size_t line = 1, column = 1;
    for (size_t i = 0; i < read_err.pos && i < len; i++) {
        column++;
        if (json[i] == '\n') {
            line++;
            column = 1;
        }
    }
    ek_err_set(err, EK_E_PARSE, "malformed JSON at line %zu column %zu: %s", line, column,
               read_err.msg);
    return NULL;
}

static const char *str_or_empty(yyjson_val *v)
{
    const char *s = yyjson_get_str(v);
    return s ? s : "";
}

static struct ek_obj *from_doc(yyjson_doc *doc)
{
    struct ek_obj *obj = ek_alloc(sizeof *obj);
    if (!obj) {
        yyjson_doc_free(doc);
        return NULL;
    }
    yyjson_val *meta = yyjson_obj_get(yyjson_doc_get_root(doc), "metadata");
    atomic_init(&obj->refs, 1);
    obj->doc = doc;
    obj->name = str_or_empty(yyjson_obj_get(meta, "name"));
    obj->namespace = str_or_empty(yyjson_obj_get(meta, "namespace"));
    obj->uid = str_or_empty(yyjson_obj_get(meta, "uid"));
    obj->resource_version = str_or_empty(yyjson_obj_get(meta, "resourceVersion"));
    obj->generation = yyjson_get_sint(yyjson_obj_get(meta, "generation"));
    if (*obj->namespace)
        obj->key = ek_xasprintf("%s/%s", obj->namespace, obj->name);
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

/* Copies value without the members that informers drop: dropping after a copy would keep their
 * bytes in the pool. NULL without memory. */
static yyjson_mut_val *copy_slim(yyjson_mut_doc *doc, yyjson_val *value, const char *drop)
{
    yyjson_mut_val *out = yyjson_mut_obj(doc);
    yyjson_val *key;
    size_t i, n;
    yyjson_val *member;

    yyjson_obj_foreach(value, i, n, key, member)
    {
        if (drop && !strcmp(yyjson_get_str(key), drop))
            continue;
        yyjson_mut_val *copy;
        if (!strcmp(yyjson_get_str(key), "metadata") && yyjson_is_obj(member))
            copy = copy_slim(doc, member, "managedFields");
        else if (!strcmp(yyjson_get_str(key), "annotations") && yyjson_is_obj(member))
            copy = copy_slim(doc, member, LAST_APPLIED);
        else
            copy = yyjson_val_mut_copy(doc, member);
        if (!copy || !yyjson_mut_obj_add(out, yyjson_val_mut_copy(doc, key), copy))
            return NULL;
    }
    return out;
}

/* Adds the member where value has none; false without memory. */
static bool complete(yyjson_mut_doc *doc, yyjson_mut_val *root, yyjson_val *value, const char *key,
                     const char *text)
{
    return !text || !yyjson_is_obj(value) || yyjson_obj_get(value, key) ||
           yyjson_mut_obj_add_str(doc, root, key, text);
}

struct ek_obj *ek_obj_from_item(yyjson_val *value, const char *api_version, const char *kind)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&ek_json_alc);
    if (!doc)
        return NULL;
    bool slim = api_version || kind;
    yyjson_mut_val *root = slim && yyjson_is_obj(value) ? copy_slim(doc, value, NULL)
                                                        : yyjson_val_mut_copy(doc, value);
    bool whole = root && complete(doc, root, value, "apiVersion", api_version) &&
                 complete(doc, root, value, "kind", kind);
    struct ek_obj *obj = whole ? ek_obj_from_mut(root) : NULL;
    yyjson_mut_doc_free(doc);
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
    ek_free(obj->key);
    ek_free(obj);
}

yyjson_val *ek_obj_root(const struct ek_obj *obj)
{
    return yyjson_doc_get_root(obj->doc);
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
    return obj->key ? obj->key : obj->name;
}

const char *ek_obj_label(const struct ek_obj *obj, const char *name)
{
    return ek_json_str(ek_obj_root(obj), "metadata", "labels", name, NULL);
}

const char *ek_obj_annotation(const struct ek_obj *obj, const char *name)
{
    return ek_json_str(ek_obj_root(obj), "metadata", "annotations", name, NULL);
}

char *ek_obj_to_json(const struct ek_obj *obj, size_t *ret_len)
{
    return yyjson_write_opts(obj->doc, YYJSON_WRITE_NOFLAG, &ek_json_alc, ret_len, NULL);
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

static bool objects_equal(yyjson_val *a, yyjson_val *b)
{
    yyjson_val *key, *member;
    size_t i, n;

    if (yyjson_obj_size(a) != yyjson_obj_size(b))
        return false;
    yyjson_obj_foreach(a, i, n, key, member)
    {
        if (!ek_json_equal(member, yyjson_obj_getn(b, yyjson_get_str(key), yyjson_get_len(key))))
            return false;
    }
    return true;
}

static bool arrays_equal(yyjson_val *a, yyjson_val *b)
{
    size_t n = yyjson_arr_size(a);
    if (n != yyjson_arr_size(b))
        return false;
    yyjson_val *x = yyjson_arr_get_first(a), *y = yyjson_arr_get_first(b);
    for (size_t i = 0; i < n; i++) {
        if (!ek_json_equal(x, y))
            return false;
        x = unsafe_yyjson_get_next(x);
        y = unsafe_yyjson_get_next(y);
    }
    return true;
}

bool ek_json_equal(yyjson_val *a, yyjson_val *b)
{
    if (!a || !b)
        return a == b;
    if (yyjson_is_obj(a) && yyjson_is_obj(b))
        return objects_equal(a, b);
    if (yyjson_is_arr(a) && yyjson_is_arr(b))
        return arrays_equal(a, b);
    if (yyjson_is_real(a) || yyjson_is_real(b))
        return yyjson_is_num(a) && yyjson_is_num(b) && yyjson_get_num(a) == yyjson_get_num(b);
    return yyjson_equals(a, b);
}
