/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/obj.h"
#include "api/schema/schema-internal.h"

#define META_PREFIX "io.k8s.apimachinery.pkg.apis.meta.v1."
#define META_REF    "#/components/schemas/" META_PREFIX "ObjectMeta"

/* The metadata of every object, as all servers since Kubernetes 1.27 publish it. */
static const char meta_schemas[] =
    "{\"" META_PREFIX "FieldsV1\":{\"type\":\"object\"},"
    "\"" META_PREFIX "Time\":{\"type\":\"string\",\"format\":\"date-time\"},"
    "\"" META_PREFIX "ManagedFieldsEntry\":{\"type\":\"object\",\"properties\":{"
    "\"apiVersion\":{\"type\":\"string\"},\"fieldsType\":{\"type\":\"string\"},"
    "\"fieldsV1\":{\"$ref\":\"#/components/schemas/" META_PREFIX "FieldsV1\"},"
    "\"manager\":{\"type\":\"string\"},\"operation\":{\"type\":\"string\"},"
    "\"subresource\":{\"type\":\"string\"},"
    "\"time\":{\"$ref\":\"#/components/schemas/" META_PREFIX "Time\"}}},"
    "\"" META_PREFIX "OwnerReference\":{\"type\":\"object\","
    "\"required\":[\"apiVersion\",\"kind\",\"name\",\"uid\"],"
    "\"x-kubernetes-map-type\":\"atomic\",\"properties\":{"
    "\"apiVersion\":{\"type\":\"string\",\"default\":\"\"},"
    "\"blockOwnerDeletion\":{\"type\":\"boolean\"},\"controller\":{\"type\":\"boolean\"},"
    "\"kind\":{\"type\":\"string\",\"default\":\"\"},"
    "\"name\":{\"type\":\"string\",\"default\":\"\"},"
    "\"uid\":{\"type\":\"string\",\"default\":\"\"}}},"
    "\"" META_PREFIX "ObjectMeta\":{\"type\":\"object\",\"properties\":{"
    "\"annotations\":{\"type\":\"object\","
    "\"additionalProperties\":{\"type\":\"string\",\"default\":\"\"}},"
    "\"creationTimestamp\":{\"$ref\":\"#/components/schemas/" META_PREFIX "Time\"},"
    "\"deletionGracePeriodSeconds\":{\"type\":\"integer\",\"format\":\"int64\"},"
    "\"deletionTimestamp\":{\"$ref\":\"#/components/schemas/" META_PREFIX "Time\"},"
    "\"finalizers\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"default\":\"\"},"
    "\"x-kubernetes-list-type\":\"set\"},"
    "\"generateName\":{\"type\":\"string\"},"
    "\"generation\":{\"type\":\"integer\",\"format\":\"int64\"},"
    "\"labels\":{\"type\":\"object\","
    "\"additionalProperties\":{\"type\":\"string\",\"default\":\"\"}},"
    "\"managedFields\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"atomic\","
    "\"items\":{\"$ref\":\"#/components/schemas/" META_PREFIX "ManagedFieldsEntry\"}},"
    "\"name\":{\"type\":\"string\"},\"namespace\":{\"type\":\"string\"},"
    "\"ownerReferences\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\","
    "\"x-kubernetes-list-map-keys\":[\"uid\"],"
    "\"items\":{\"$ref\":\"#/components/schemas/" META_PREFIX "OwnerReference\"}},"
    "\"resourceVersion\":{\"type\":\"string\"},\"selfLink\":{\"type\":\"string\"},"
    "\"uid\":{\"type\":\"string\"}}}}";

/* Puts one property in place of what properties had under the name. */
static bool put_property(yyjson_mut_doc *doc, yyjson_mut_val *properties, const char *name,
                         const char *member, const char *value)
{
    yyjson_mut_val *schema = yyjson_mut_obj(doc), *key = yyjson_mut_str(doc, name);

    return yyjson_mut_obj_add_str(doc, schema, member, value) &&
           yyjson_mut_obj_put(properties, key, schema);
}

/* Declares what every object has: the server publishes its own idea of these three. */
static bool add_object_fields(yyjson_mut_doc *doc, yyjson_mut_val *schema)
{
    yyjson_mut_val *properties = yyjson_mut_obj_get(schema, "properties");

    if (!yyjson_mut_is_obj(properties)) {
        yyjson_mut_obj_remove_key(schema, "properties");
        properties = yyjson_mut_obj(doc);
        if (!yyjson_mut_obj_add_val(doc, schema, "properties", properties))
            return false;
    }
    return put_property(doc, properties, "apiVersion", "type", "string") &&
           put_property(doc, properties, "kind", "type", "string") &&
           put_property(doc, properties, "metadata", "$ref", META_REF);
}

/* An embedded resource must have apiVersion and kind. */
static bool require_kind(yyjson_mut_doc *doc, yyjson_mut_val *schema)
{
    yyjson_mut_val *required = yyjson_mut_obj_get(schema, "required");

    if (!yyjson_mut_is_arr(required)) {
        yyjson_mut_obj_remove_key(schema, "required");
        required = yyjson_mut_arr(doc);
        if (!yyjson_mut_obj_add_val(doc, schema, "required", required))
            return false;
    }
    return yyjson_mut_arr_add_str(doc, required, "kind") &&
           yyjson_mut_arr_add_str(doc, required, "apiVersion");
}

/* Finds the embedded resources in a schema and declares their fields. */
static bool complete(yyjson_mut_doc *doc, yyjson_mut_val *schema, size_t depth)
{
    size_t i, max;
    yyjson_mut_val *key, *val;
    yyjson_mut_val *properties = yyjson_mut_obj_get(schema, "properties");

    if (!yyjson_mut_is_obj(schema) || depth > EK_SCHEMA_DEPTH_MAX)
        return true; /* the conversion finds fault with both */
    yyjson_mut_obj_foreach(properties, i, max, key, val)
    {
        if (!complete(doc, val, depth + 1))
            return false;
    }
    if (!complete(doc, yyjson_mut_obj_get(schema, "items"), depth + 1) ||
        !complete(doc, yyjson_mut_obj_get(schema, "additionalProperties"), depth + 1))
        return false;
    bool embedded =
        yyjson_mut_is_true(yyjson_mut_obj_get(schema, "x-kubernetes-embedded-resource"));
    return !embedded || (add_object_fields(doc, schema) && require_kind(doc, schema));
}

static yyjson_val *find_version(yyjson_val *crd, const char *version)
{
    size_t i, max;
    yyjson_val *entry, *versions = ek_json_get(crd, "spec", "versions", NULL);

    if (!yyjson_is_arr(versions))
        return NULL;
    yyjson_arr_foreach(versions, i, max, entry)
    {
        if (yyjson_equals_str(yyjson_obj_get(entry, "name"), version))
            return entry;
    }
    return NULL;
}

/* The schema of a version with all that the server adds; NULL without memory. */
static yyjson_mut_val *published(yyjson_mut_doc *doc, yyjson_val *crd, yyjson_val *version)
{
    yyjson_val *declared = ek_json_get(version, "schema", "openAPIV3Schema", NULL);
    yyjson_mut_val *schema = yyjson_mut_obj(doc), *kind = yyjson_mut_obj(doc);
    yyjson_mut_val *kinds = yyjson_mut_arr(doc);
    yyjson_val *group = ek_json_get(crd, "spec", "group", NULL);
    yyjson_val *name = ek_json_get(crd, "spec", "names", "kind", NULL);

    if (declared) {
        schema = yyjson_val_mut_copy(doc, declared);
        if (!schema || !complete(doc, schema, 0) || !add_object_fields(doc, schema))
            return NULL;
    } else if (!yyjson_mut_obj_add_str(doc, schema, "type", "object")) {
        return NULL;
    }
    bool added =
        yyjson_mut_obj_add_val(doc, kind, "group", yyjson_val_mut_copy(doc, group)) &&
        yyjson_mut_obj_add_val(doc, kind, "version",
                               yyjson_val_mut_copy(doc, yyjson_obj_get(version, "name"))) &&
        yyjson_mut_obj_add_val(doc, kind, "kind", yyjson_val_mut_copy(doc, name)) &&
        yyjson_mut_arr_append(kinds, kind) &&
        yyjson_mut_obj_put(schema, yyjson_mut_str(doc, "x-kubernetes-group-version-kind"), kinds);
    return added ? schema : NULL;
}

/* Makes an OpenAPI document of the schema and of metadata's; NULL without memory. */
static yyjson_doc *wrap(yyjson_mut_doc *doc, yyjson_mut_val *schema, const char *name)
{
    yyjson_doc *meta = yyjson_read(meta_schemas, sizeof meta_schemas - 1, 0);
    yyjson_mut_val *root = yyjson_mut_obj(doc), *components = yyjson_mut_obj(doc);
    yyjson_mut_val *schemas = yyjson_val_mut_copy(doc, yyjson_doc_get_root(meta));

    yyjson_doc_free(meta);
    yyjson_mut_doc_set_root(doc, root);
    /* Put, not added: a CustomResourceDefinition may give its kind the name of one of metadata's.
     */
    if (!yyjson_mut_obj_put(schemas, yyjson_mut_str(doc, name), schema) ||
        !yyjson_mut_obj_add_val(doc, components, "schemas", schemas) ||
        !yyjson_mut_obj_add_val(doc, root, "components", components))
        return NULL;
    return yyjson_mut_doc_imut_copy(doc, &ek_json_alc);
}

int ek_schema_compile_crd(yyjson_val *crd, const char *version, struct ek_schema **ret_schema,
                          struct ek_err *err)
{
    const char *group = ek_json_str(crd, "spec", "group", NULL);
    const char *kind = ek_json_str(crd, "spec", "names", "kind", NULL);
    yyjson_val *entry = find_version(crd, version);

    if (!group || !kind)
        return ek_err_set(err, EK_E_PARSE,
                          "spec.group or spec.names.kind is absent: this is no "
                          "CustomResourceDefinition");
    if (!entry)
        return ek_err_set(err, EK_E_NOENT, "the definition of %s.%s has no version %s", kind, group,
                          version);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&ek_json_alc);
    yyjson_mut_val *schema = doc ? published(doc, crd, entry) : NULL;
    yyjson_doc *wrapped = schema ? wrap(doc, schema, kind) : NULL;
    int rc = wrapped
                 ? ek_schema_compile(yyjson_doc_get_root(wrapped), ret_schema, err)
                 : ek_err_set(err, EK_E_NOMEM, "no memory for the schema of %s.%s", kind, group);
    yyjson_doc_free(wrapped);
    yyjson_mut_doc_free(doc);
    return rc;
}
