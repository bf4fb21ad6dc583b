/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/rehearse/copy.h"

#include <stdio.h>
#include <string.h>

#include "api/obj.h"

#define EMPTY_OBJECT "e30=" /* {} */

/* ---- Keys ---- */

static bool is_segment(const char *name)
{
    bool good = name && *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;

    for (const char *p = name; good && *p; p++)
        good = (unsigned char)*p > ' ' && *p != 127 && *p != '/' && *p != '%';
    return good;
}

bool ek_rehearse_copy_key(const char *root, const char *folder, bool namespaced, yyjson_val *object,
                          char out[EK_REHEARSE_KEY_SIZE])
{
    const char *name = ek_json_str(object, "metadata", "name", NULL);
    const char *namespace = ek_json_str(object, "metadata", "namespace", NULL);

    if (!is_segment(name) || (namespaced && !is_segment(namespace)))
        return false;
    int n = snprintf(out, EK_REHEARSE_KEY_SIZE, "%s/%s/%s%s%s", root, folder,
                     namespaced ? namespace : "", namespaced ? "/" : "", name);
    return n > 0 && n < EK_REHEARSE_KEY_SIZE;
}

/* ---- Objects ---- */

yyjson_mut_doc *ek_rehearse_copy_object(const struct ek_rehearse_type *type, yyjson_val *object,
                                        const char *const *without, size_t n)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, object);
    yyjson_mut_val *metadata = yyjson_mut_obj_get(root, "metadata");
    EK_AUTOFREE char *version =
        ek_xasprintf("%s%s%s", type->group, *type->group ? "/" : "", type->version);

    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_remove_key(root, "apiVersion");
    yyjson_mut_obj_remove_key(root, "kind");
    yyjson_mut_obj_add_strcpy(doc, root, "apiVersion", version);
    yyjson_mut_obj_add_strcpy(doc, root, "kind", type->kind);
    for (size_t i = 0; i < n; i++)
        yyjson_mut_obj_remove_key(metadata, without[i]);
    return doc;
}

/* Base64 of as many zero octets. API servers parse the two keys (kubernetes
 * pkg/apis/core/validation/validation.go:ValidateSecret). */
static yyjson_mut_val *nothing_of(yyjson_mut_doc *doc, const char *key, yyjson_val *value)
{
    size_t len = yyjson_get_len(value) / 4 * 4;
    const char *text = yyjson_get_str(value);

    if (!strcmp(key, ".dockercfg") || !strcmp(key, ".dockerconfigjson"))
        return yyjson_mut_str(doc, EMPTY_OBJECT);
    if (!text || !len)
        return yyjson_mut_str(doc, "");
    EK_AUTOFREE char *zeros = ek_xalloc(len + 1);
    memset(zeros, 'A', len);
    for (size_t i = len - 2; i < len; i++)
        if (text[i] == '=')
            zeros[i] = '=';
    return yyjson_mut_strncpy(doc, zeros, len);
}

/* Tools keep whole objects in annotations. API servers require those of a token of a ServiceAccount
 * (kubernetes pkg/apis/core/validation/validation.go:ValidateSecret). */
static void keep_annotations(yyjson_mut_doc *doc, yyjson_mut_val *metadata, yyjson_val *annotations)
{
    static const char *const kept[] = {"kubernetes.io/service-account.name",
                                       "kubernetes.io/service-account.uid"};
    yyjson_mut_val *rest = yyjson_mut_obj(doc);

    yyjson_mut_obj_remove_key(metadata, "annotations");
    for (size_t i = 0; i < EK_ARRAY_SIZE(kept); i++) {
        const char *value = yyjson_get_str(yyjson_obj_get(annotations, kept[i]));
        if (value)
            yyjson_mut_obj_add_strcpy(doc, rest, kept[i], value);
    }
    if (yyjson_mut_obj_size(rest))
        yyjson_mut_obj_add_val(doc, metadata, "annotations", rest);
}

static void hide_values(yyjson_mut_doc *doc, yyjson_val *secret)
{
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    yyjson_mut_val *metadata = yyjson_mut_obj_get(root, "metadata");
    yyjson_val *data = yyjson_obj_get(secret, "data"), *key, *value;
    yyjson_mut_val *hidden = yyjson_mut_obj(doc);
    size_t i, n;

    yyjson_mut_obj_remove_key(root, "data");
    yyjson_mut_obj_remove_key(root, "stringData");
    keep_annotations(doc, metadata,
                     yyjson_obj_get(yyjson_obj_get(secret, "metadata"), "annotations"));
    ek_json_each_member(data, i, n, key, value)
    {
        const char *name = yyjson_get_str(key);
        yyjson_mut_obj_add(hidden, yyjson_mut_strcpy(doc, name), nothing_of(doc, name, value));
    }
    yyjson_mut_obj_add_val(doc, root, "data", hidden);
}

char *ek_rehearse_copy_text(const struct ek_rehearse_type *type, yyjson_val *object,
                            bool secret_values)
{
    /* Stored objects have none (apiserver pkg/storage/api_object_versioner.go:
     * PrepareObjectForStorage). */
    static const char *const without[] = {"resourceVersion", "selfLink"};
    yyjson_mut_doc *doc = ek_rehearse_copy_object(type, object, without, EK_ARRAY_SIZE(without));

    if (!*type->group && !strcmp(type->resource, "secrets") && !secret_values)
        hide_values(doc, object);
    char *text = yyjson_mut_write_opts(doc, 0, &ek_json_xalc, NULL, NULL);
    yyjson_mut_doc_free(doc);
    return text;
}

/* ---- Selection ---- */

bool ek_rehearse_copy_defines(const struct ek_rehearse_type *type)
{
    return (!strcmp(type->group, "apiregistration.k8s.io") &&
            !strcmp(type->resource, "apiservices")) ||
           (!strcmp(type->group, "apiextensions.k8s.io") &&
            !strcmp(type->resource, "customresourcedefinitions"));
}

static bool is_name_of(const char *name, size_t len, const struct ek_rehearse_type *type)
{
    size_t resource = strlen(type->resource);

    if (len < resource || memcmp(name, type->resource, resource) != 0)
        return false;
    return len == resource ||
           (name[resource] == '.' && *type->group && strlen(type->group) == len - resource - 1 &&
            !memcmp(name + resource + 1, type->group, len - resource - 1));
}

bool ek_rehearse_copy_has(const char *list, const struct ek_rehearse_type *type)
{
    bool has = !*list;

    while (*list && !has) {
        size_t len = strcspn(list, ",");
        has = is_name_of(list, len, type);
        list += len + (list[len] == ',');
    }
    return has;
}

const char *ek_rehearse_copy_unknown(const char *list, const struct ek_rehearse_view *view,
                                     struct ek_arena *arena)
{
    while (*list) {
        size_t len = strcspn(list, ",");
        bool known = false;
        for (size_t i = 0; i < view->n_types && !known; i++)
            known = view->types[i].can_list && view->types[i].can_create &&
                    is_name_of(list, len, &view->types[i]);
        if (!known)
            return ek_arena_strndup(arena, list, len);
        list += len + (list[len] == ',');
    }
    return NULL;
}
