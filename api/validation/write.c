/* SPDX-License-Identifier: Apache-2.0 */
/* What an API server answers to a write of a custom resource: apiextensions-apiserver 1.36,
 * pkg/registry/customresource/{strategy,status_strategy,validator}.go. */
#include <stdio.h>
#include <string.h>

#include "api/cel/text/number.h"
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

/* ---- The scale subresource ---- */

/* A value as Go prints it with %v; lists and maps as JSON. */
static const char *go_text(struct ek_vwalk *w, yyjson_val *value)
{
    char number[EK_CEL_DOUBLE_TEXT_MAX];
    const struct ek_cel_val is = ek_cel_from_json(value);

    if (w->hides)
        return ek_vtext__(w, value);
    if (is.kind == EK_CEL_STRING)
        return yyjson_get_str(value);
    if (is.kind == EK_CEL_DOUBLE) {
        ek_cel_double_g(is.d, number);
        return ek_arena_strdup(w->arena, number);
    }
    return is.kind == EK_CEL_NULL ? "<nil>" : ek_vjson__(w, value);
}

static const char *go_type(yyjson_val *value)
{
    switch ((enum ek_cel_kind)ek_cel_from_json(value).kind) {
    case EK_CEL_STRING:
        return "string";
    case EK_CEL_DOUBLE:
        return "float64";
    case EK_CEL_INT:
        return "int64";
    case EK_CEL_BOOL:
        return "bool";
    case EK_CEL_LIST:
        return "[]interface {}";
    case EK_CEL_MAP:
        return "map[string]interface {}";
    default:
        return "<nil>";
    }
}

/* A path ".spec.replicas", and a part of it that leads to a value of the wrong type. */
static const char *wrong_type(struct ek_vwalk *w, const char *path, size_t len, yyjson_val *value,
                              const char *want)
{
    return ek_arena_printf(w->arena, ".%.*s accessor error: %s is of the type %s, expected %s",
                           (int)len, path, go_text(w, value), go_type(value), want);
}

/* The value at a path; NULL where there is none, or with *ret_error, where something else is in its
 * place (apimachinery/pkg/apis/meta/v1/unstructured/helpers.go: NestedFieldNoCopy). */
static yyjson_val *nested(struct ek_vwalk *w, yyjson_val *object, const char *path,
                          const char **ret_error)
{
    for (const char *at = path;; at++) {
        size_t len = strcspn(at, ".");
        if (!object || yyjson_is_null(object))
            return NULL;
        if (!yyjson_is_obj(object)) {
            *ret_error =
                wrong_type(w, path, (size_t)(at - path) + len, object, "map[string]interface{}");
            return NULL;
        }
        object = yyjson_obj_getn(object, at, len);
        at += len;
        if (!*at)
            return object;
    }
}

static const char *without_dot(const char *path)
{
    return path + (*path == '.');
}

/* ek_verror__ takes a path without its dot. */
static void add_scale_error(struct ek_vwalk *w, const char *path, const char *value,
                            const char *why)
{
    ek_verror__(w, *path == '.' ? ek_arena_printf(w->arena, ".%s", path) : path,
                "Invalid value: %s: %s", value, why);
}

static void check_replicas(struct ek_vwalk *w, yyjson_val *object, const char *path)
{
    const char *error = NULL, *plain = without_dot(path);
    yyjson_val *value = nested(w, object, plain, &error);
    struct ek_cel_val is = ek_cel_from_json(value);
    char number[24];

    if (value && is.kind != EK_CEL_INT)
        error = wrong_type(w, plain, strlen(plain), value, "int64");
    if (error) {
        add_scale_error(w, path, "0", error);
    } else if (value && (is.i < 0 || is.i > INT32_MAX)) {
        snprintf(number, sizeof number, "%lld", (long long)is.i);
        add_scale_error(w, path, w->hides ? ek_vtext__(w, value) : number,
                        is.i < 0 ? "should be a non-negative integer"
                                 : "should be less than or equal to 2147483647");
    }
}

static void check_selector(struct ek_vwalk *w, yyjson_val *object, const char *path)
{
    const char *error = NULL, *plain = without_dot(path);
    yyjson_val *value = nested(w, object, plain, &error);

    if (value && !yyjson_is_str(value))
        error = wrong_type(w, plain, strlen(plain), value, "string");
    if (error)
        add_scale_error(w, path, "\"\"", error);
}

/* validator.go:ValidateScaleSpec, ValidateScaleStatus. */
void ek_vscale__(struct ek_vwalk *w, yyjson_val *object, bool is_status)
{
    yyjson_val *scale = w->validator->is.scale;
    const char *selector = yyjson_get_str(yyjson_obj_get(scale, "labelSelectorPath"));

    if (!scale)
        return;
    if (!is_status)
        check_replicas(w, object, ek_json_text(scale, "specReplicasPath"));
    check_replicas(w, object, ek_json_text(scale, "statusReplicasPath"));
    if (selector && *selector)
        check_selector(w, object, selector);
}

/* ---- A write ---- */

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
        ek_vscale__(&w, write->object, write->is_status);
    }
    if (!write->is_status)
        ek_vembedded__(&w, validator->is.schema, write->object, &root);
    if (!write->old || !has_bad_lists(&w, write->old))
        ek_vlists__(&w, validator->is.schema, write->object, &root);
    ek_vrules__(&w, write->object, write->old);
    if (ek_work_is_over(work))
        ek_vunknown__(&w, NULL, "the object takes too long to validate");
}
