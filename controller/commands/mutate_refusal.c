/* SPDX-License-Identifier: Apache-2.0 */
/* What an API server refuses after mutating admission, and before validating admission
 * (apiserver/pkg/registry/rest/{create,update}.go of Kubernetes 1.36: BeforeCreate, BeforeUpdate).
 */
#include <string.h>

#include "controller/manifests/manifests-internal.h"

#define ERRORS_MAX ((size_t)64 << 10) /* octets of the errors of an object */

static yyjson_val *of_metadata(yyjson_val *object, const char *name)
{
    return ek_json_get(object, "metadata", name, NULL);
}

/* EnsureObjectNamespaceMatchesRequestNamespace. */
static bool has_left(const struct ek_admission_request *request, yyjson_val *object)
{
    yyjson_val *asked = of_metadata(request->object, "namespace");
    yyjson_val *is = of_metadata(object, "namespace");

    return asked && is && !ek_json_equal(asked, is);
}

/* A value as Go prints it in an error. */
static const char *value_text(struct ek_field_errors *errors, yyjson_val *value)
{
    if (yyjson_is_str(value) || !value)
        return ek_field_quote(errors, value ? yyjson_get_str(value) : "");
    return ek_arena_printf(errors->arena, "%lld", (long long)yyjson_get_sint(value));
}

/* What a policy changed that an update cannot change: metadata is as ek_mutate_store leaves it, and
 * what it restores is no error (apimachinery/pkg/api/validation/objectmeta.go:
 * ValidateObjectMetaAccessorUpdate). */
static void check_immutable(struct ek_field_errors *errors,
                            const struct ek_admission_request *request, yyjson_val *object)
{
    static const struct {
        const char *name;
        bool can_be_set, is_required;
    } fields[] = {{"name", false, true},
                  {"uid", false, false},
                  {"deletionTimestamp", true, false},
                  {"deletionGracePeriodSeconds", false, false}};

    for (size_t i = 0; i < EK_ARRAY_SIZE(fields); i++) {
        const char *name = fields[i].name;
        yyjson_val *was = of_metadata(request->old_object, name);
        yyjson_val *sent = of_metadata(request->object, name), *is = of_metadata(object, name);
        if ((!is && !fields[i].is_required) || ek_json_equal(is, sent) || ek_json_equal(is, was) ||
            (was && fields[i].can_be_set))
            continue;
        ek_field_invalid(errors, value_text(errors, is), "field is immutable", "metadata.%s", name);
    }
}

static const char *invalid_metadata(struct ek_ci *ci, const struct ek_admission_request *request,
                                    yyjson_val *object)
{
    const char *name = ek_json_text(yyjson_obj_get(object, "metadata"), "name");
    const char *start = ek_json_text(yyjson_obj_get(object, "metadata"), "generateName");
    struct ek_field_errors errors = {.arena = ek_arena_new(ERRORS_MAX)};
    const struct ek_gvk *kind = &request->kind;
    const char *refusal = NULL;
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, ERRORS_MAX);
    if (!*name && !*start && of_metadata(request->object, "name"))
        ek_field_required(&errors, "name or generateName is required", "metadata.name");
    if (!strcmp(request->operation, "UPDATE"))
        check_immutable(&errors, request, object);
    ek_field_errors_join(&errors, &text);
    if (errors.n)
        refusal = ek_arena_printf(ci->arena, "%s%s%s \"%s\" is invalid: %s", kind->kind,
                                  *kind->group ? "." : "", kind->group, name, ek_buf_str(&text));
    ek_arena_free(errors.arena);
    return refusal;
}

const char *ek_mutate_refusal(struct ek_ci *ci, const struct ek_admission_request *request,
                              yyjson_val *object)
{
    bool is_status = !strcmp(request->subresource, "status");
    yyjson_val *crd = ek_ci_crd_of(ci, &request->kind);
    const struct ek_custom_write write = {
        .object = object, .old = request->old_object, .is_status = is_status};
    const char *refusal;
    struct ek_err err = {0};

    if (*request->subresource && !is_status)
        return NULL;
    if (has_left(request, object))
        return "the namespace of the provided object does not match the namespace sent on the "
               "request";
    refusal = invalid_metadata(ci, request, object);
    if (!refusal && crd && ek_ci_validate(ci, crd, &request->kind, &write, &refusal, &err))
        ek_ci_note(ci, "objects of %s %s are not validated: %s", request->kind.group,
                   request->kind.kind, err.message);
    return refusal;
}
