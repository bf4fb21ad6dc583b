/* SPDX-License-Identifier: Apache-2.0 */
/* What an API server answers to a write of a custom resource: apiextensions-apiserver 1.36,
 * pkg/registry/customresource/{strategy,status_strategy,validator}.go. */
#include <string.h>

#include "api/obj.h"
#include "api/objectmeta.h"
#include "api/validation/validation-internal.h"

static const struct ek_vpath root = {.step = EK_VSTEP_ROOT};

/* validator.go:ValidateTypeMeta. */
static bool has_type(struct ek_vwalk *w, yyjson_val *object)
{
    const struct ek_custom_version *is = &w->validator->is;
    const char *api_version = ek_arena_printf(w->arena, "%s/%s", is->group, is->version);
    size_t before = w->errors->n;

    if (strcmp(ek_json_text(object, "kind"), is->kind) != 0)
        ek_field_invalid(w->errors, ek_field_quote(w->errors, ek_json_text(object, "kind")),
                         ek_arena_printf(w->arena, "must be %s", is->kind), "kind");
    if (strcmp(ek_json_text(object, "apiVersion"), api_version) != 0)
        ek_field_invalid(w->errors, ek_field_quote(w->errors, ek_json_text(object, "apiVersion")),
                         ek_arena_printf(w->arena, "must be %s", api_version), "apiVersion");
    return w->errors->n == before;
}

/* A create has a good name, an update does not change it: that is for who sends it. */
static void check_metadata(struct ek_vwalk *w, const struct ek_custom_write *write)
{
    yyjson_val *metadata = yyjson_obj_get(write->object, "metadata");
    bool has_name = *ek_json_text(metadata, "name") || *ek_json_text(metadata, "generateName");

    if (!write->old) {
        w->n_blocking += !has_name;
        ek_validate_object_name(w->errors, metadata, EK_NAME_DNS1123_SUBDOMAIN, "metadata");
    }
    ek_validate_object_meta(w->errors, metadata, "metadata");
}

static void check_schema(struct ek_vwalk *w, const struct ek_custom_write *write)
{
    yyjson_val *schema = w->validator->is.schema;
    yyjson_val *status = yyjson_obj_get(write->object, "status");

    if (!write->is_status) {
        ek_vschema__(w, schema, write->object, write->old);
        return;
    }
    schema = ek_json_get(schema, "properties", "status", NULL);
    if (!schema || !status)
        return;
    w->prefix = "status";
    ek_vschema__(w, schema, status, yyjson_obj_get(write->old, "status"));
    w->prefix = NULL;
}

static bool has_bad_lists(struct ek_vwalk *w, yyjson_val *object)
{
    struct ek_field_errors *errors = w->errors;
    size_t n_failed = w->n_failed;

    w->errors = NULL;
    ek_vlists__(w, w->validator->is.schema, object, &root);
    w->errors = errors;
    bool bad = w->n_failed != n_failed;
    w->n_failed = n_failed;
    return bad;
}

void ek_validate_write(struct ek_validator *validator, const struct ek_custom_write *write,
                       struct ek_arena *arena, struct ek_work *work, struct ek_field_errors *ret,
                       const char **ret_unknown)
{
    struct ek_vwalk w = {.validator = validator,
                         .arena = arena,
                         .work = work,
                         .errors = ret,
                         .unknown = ret_unknown};

    *ret = (struct ek_field_errors){.arena = arena};
    *ret_unknown = NULL;
    if (has_type(&w, write->object)) {
        check_metadata(&w, write);
        check_schema(&w, write);
    }
    if (!write->is_status)
        ek_vembedded__(&w, validator->is.schema, write->object, &root);
    if (!write->old || !has_bad_lists(&w, write->old))
        ek_vlists__(&w, validator->is.schema, write->object, &root);
    ek_vrules__(&w, write->object, write->old);
    if (ek_work_is_over(work))
        ek_vunknown__(&w, NULL, "the object takes too long to validate");
}
