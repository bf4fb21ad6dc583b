/* SPDX-License-Identifier: Apache-2.0 */
/* What a write does not store: the strategies of API servers leave the status out of a write of the
 * whole object, and all else out of a write of the status (pkg/registry of Kubernetes 1.36:
 * strategy of each kind, PrepareForCreate and PrepareForUpdate; apiextensions-apiserver
 * pkg/registry/customresource/{strategy,status_strategy}.go). Of metadata they write some fields
 * themselves (apiserver pkg/registry/rest/{create,update,meta}.go: BeforeCreate, BeforeUpdate,
 * FillObjectMetaSystemFields). */
#include <string.h>

#include "controller/manifests/manifests-internal.h"

#define DECODING_MAX ((size_t)16 << 20) /* octets of errors and paths of one object */

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

/* Whether the first generation of an object is 1, whatever the request says (PrepareForCreate of
 * the strategies). */
static bool counts_generation(const struct ek_ci *ci, const struct ek_gvk *kind)
{
    static const char *const kinds[][2] = {
        {"", "Pod"},
        {"", "PodTemplate"},
        {"", "ReplicationController"},
        {"admissionregistration.k8s.io", "MutatingAdmissionPolicy"},
        {"admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"},
        {"admissionregistration.k8s.io", "MutatingWebhookConfiguration"},
        {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy"},
        {"admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"},
        {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration"},
        {"apiextensions.k8s.io", "CustomResourceDefinition"},
        {"apps", "DaemonSet"},
        {"apps", "Deployment"},
        {"apps", "ReplicaSet"},
        {"apps", "StatefulSet"},
        {"batch", "CronJob"},
        {"batch", "Job"},
        {"discovery.k8s.io", "EndpointSlice"},
        {"flowcontrol.apiserver.k8s.io", "FlowSchema"},
        {"flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"},
        {"networking.k8s.io", "Ingress"},
        {"networking.k8s.io", "IngressClass"},
        {"networking.k8s.io", "NetworkPolicy"},
        {"policy", "PodDisruptionBudget"},
        {"resource.k8s.io", "DeviceClass"},
        {"resource.k8s.io", "DeviceTaintRule"},
        {"resource.k8s.io", "ResourceSlice"},
        {"scheduling.k8s.io", "PriorityClass"},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(kinds); i++)
        if (!strcmp(kinds[i][0], kind->group) && !strcmp(kinds[i][1], kind->kind))
            return true;
    return ek_ci_crd_of(ci, kind) != NULL;
}

/* The fields of metadata that no policy can change become what they are in from. */
static bool keep_metadata(const struct ek_ci *ci, const struct ek_admission_request *request,
                          yyjson_mut_doc *doc, yyjson_mut_val *object, yyjson_val *from)
{
    bool updates = !strcmp(request->operation, "UPDATE"), changed;
    yyjson_mut_val *metadata = yyjson_mut_obj_get(object, "metadata");
    yyjson_val *was = yyjson_obj_get(from, "metadata");
    yyjson_val *namespace = ek_json_get(request->object, "metadata", "namespace", NULL);

    if (!yyjson_mut_is_obj(metadata))
        return false;
    changed = put(doc, metadata, "creationTimestamp", yyjson_obj_get(was, "creationTimestamp"));
    if (!updates || !yyjson_mut_obj_get(metadata, "uid"))
        changed = put(doc, metadata, "uid", yyjson_obj_get(was, "uid")) || changed;
    if (updates || counts_generation(ci, &request->kind))
        changed = put(doc, metadata, "generation", yyjson_obj_get(was, "generation")) || changed;
    if (!namespace || !yyjson_mut_obj_get(metadata, "namespace"))
        changed = put(doc, metadata, "namespace", namespace) || changed;
    return changed;
}

/* Takes out fields that the schema of a custom resource does not declare: policies can add them,
 * and the encoding for storage drops them. */
static bool prune(const struct ek_ci *ci, const struct ek_gvk *kind, yyjson_mut_doc *doc,
                  yyjson_mut_val *object)
{
    yyjson_val *crd = ek_ci_crd_of(ci, kind);
    struct ek_custom_version version;
    struct ek_custom_decoding decoding = {0};

    if (!crd || !ek_custom_version_of(crd, kind->version, &version))
        return false;
    const struct ek_custom_options options = {.from_storage = true,
                                              .arena = ek_arena_new(DECODING_MAX)};
    bool pruned =
        !ek_custom_decode(&version, doc, object, &options, &decoding) && decoding.unknown.n_all;
    ek_arena_free(options.arena);
    return pruned;
}

unsigned ek_mutate_store(const struct ek_ci *ci, const struct ek_admission_request *request,
                         yyjson_val *from, yyjson_mut_doc *doc, yyjson_mut_val *object)
{
    bool is_status = !strcmp(request->subresource, "status"), part = false;
    unsigned unstored = 0;

    if (*request->subresource && !is_status)
        return 0;
    if (is_status)
        part = from && keep_status(ci, request, doc, object, from);
    else if (has_status(ci, &request->resource))
        part = put(doc, object, "status", yyjson_obj_get(from, "status"));
    if (part)
        unstored |= EK_UNSTORED_PART;
    if (keep_metadata(ci, request, doc, object, from))
        unstored |= EK_UNSTORED_METADATA;
    if (!is_status && prune(ci, &request->kind, doc, object))
        unstored |= EK_UNSTORED_FIELDS;
    return unstored;
}
