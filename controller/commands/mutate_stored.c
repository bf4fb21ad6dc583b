/* SPDX-License-Identifier: Apache-2.0 */
/* What a write does not store: the strategies of API servers leave the status out of a write of the
 * whole object, and all else out of a write of the status (pkg/registry of Kubernetes 1.36:
 * strategy of each kind, PrepareForCreate and PrepareForUpdate; apiextensions-apiserver
 * pkg/registry/customresource/{strategy,status_strategy}.go). */
#include <string.h>

#include "controller/manifests/manifests-internal.h"

static bool is_deployment(const struct ek_gvk *kind)
{
    return !strcmp(kind->group, "apps") && !strcmp(kind->kind, "Deployment");
}

static bool has_status(const struct ek_ci *ci, const struct ek_gvr *resource)
{
    return ek_ci_builtin_subresource(ci, resource, "status") ||
           ek_ci_crd_subresource(ci, resource, "status");
}

/* Returns whether this changes the object. */
static bool put(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, yyjson_val *value)
{
    yyjson_mut_val *is = yyjson_mut_obj_get(object, name);
    yyjson_mut_val *was = value ? yyjson_val_mut_copy(doc, value) : NULL;

    if ((!is && !was) || (is && was && yyjson_mut_equals(is, was)))
        return false;
    if (was)
        yyjson_mut_obj_put(object, yyjson_mut_strcpy(doc, name), was);
    else
        yyjson_mut_obj_remove_key(object, name);
    return true;
}

/* All but the status becomes what it is in from. */
static bool keep_status(const struct ek_ci *ci, const struct ek_admission_request *request,
                        yyjson_mut_doc *doc, yyjson_mut_val *object, yyjson_val *from)
{
    bool keeps_metadata = !ek_ci_crd_of(ci, &request->kind), changed = false;
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(object);
    yyjson_mut_val *name;
    yyjson_val *key, *value;
    size_t i, n;

    while ((name = yyjson_mut_obj_iter_next(&iter)))
        if (!yyjson_mut_equals_str(name, "status") && !yyjson_mut_equals_str(name, "metadata") &&
            !yyjson_obj_get(from, yyjson_mut_get_str(name))) {
            yyjson_mut_obj_iter_remove(&iter);
            changed = true;
        }
    ek_json_each_member(from, i, n, key, value)
    {
        const char *member = yyjson_get_str(key);
        if (strcmp(member, "status") != 0 && (strcmp(member, "metadata") != 0 || !keeps_metadata))
            changed = put(doc, object, member, value) || changed;
    }
    if (is_deployment(&request->kind))
        changed = put(doc, yyjson_mut_obj_get(object, "metadata"), "labels",
                      ek_json_get(from, "metadata", "labels", NULL)) ||
                  changed;
    return changed;
}

bool ek_mutate_store(const struct ek_ci *ci, const struct ek_admission_request *request,
                     yyjson_val *from, yyjson_mut_doc *doc, yyjson_mut_val *object)
{
    if (!strcmp(request->subresource, "status"))
        return from && keep_status(ci, request, doc, object, from);
    return !*request->subresource && has_status(ci, &request->resource) &&
           put(doc, object, "status", yyjson_obj_get(from, "status"));
}
