/* SPDX-License-Identifier: Apache-2.0 */
#include "api/schema/schema.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "test/support/jsonlines.h"
#include "test/support/suite.h"

#define OPENAPI EK_SHARED_DATA "/mutation/openapi/"

static const char *const scalars[] = {"", "string", "numeric", "boolean", "any"};
static const char *const declared[] = {"",        "string", "integer", "number",
                                       "boolean", "array",  "object"};

static void describe(struct ek_buf *out, const struct ek_schema *schema, uint32_t type, int depth);

static void describe_flags(struct ek_buf *out, uint32_t flags)
{
    static const struct {
        uint32_t flag;
        const char *name;
    } names[] = {{EK_SCHEMA_NULLABLE, " nullable"}, {EK_SCHEMA_INT_OR_STRING, " int-or-string"},
                 {EK_SCHEMA_PRESERVE, " preserve"}, {EK_SCHEMA_EMBEDDED, " embedded"},
                 {EK_SCHEMA_MISSING, " missing"},   {EK_SCHEMA_REQUIRED, " required"}};

    for (size_t i = 0; i < EK_ARRAY_SIZE(names); i++)
        if (flags & names[i].flag)
            ek_buf_puts(out, names[i].name);
}

static void describe_list(struct ek_buf *out, const struct ek_schema *schema,
                          const struct ek_schema_type *t, int depth)
{
    static const char *const names[] = {"", " atomic", " set", " by"};

    ek_buf_printf(out, " list%s", names[t->list]);
    for (uint32_t i = 0; i < t->n_keys; i++)
        ek_buf_printf(out, " %s", ek_schema_key(schema, t, i).p);
    ek_buf_puts(out, " of(");
    describe(out, schema, t->item, depth);
    ek_buf_puts(out, ")");
}

static void describe_map(struct ek_buf *out, const struct ek_schema *schema,
                         const struct ek_schema_type *t, int depth)
{
    ek_buf_puts(out, t->map == EK_MAP_ATOMIC ? " atomic{" : " {");
    for (uint32_t i = 0; i < t->n_fields; i++) {
        const struct ek_schema_field *f = &ek_schema_fields(schema, t)[i];
        yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *initial = ek_schema_initial(schema, f, doc);
        ek_buf_printf(out, "%s%s:(", i ? " " : "", ek_schema_text(schema, f->name).p);
        describe(out, schema, f->type, depth);
        describe_flags(out, f->flags);
        if (initial) {
            char *text = jsonlines_mut_text(initial);
            ek_buf_printf(out, " =%s", text);
            free(text);
        }
        ek_buf_puts(out, ")");
        yyjson_mut_doc_free(doc);
    }
    if (t->member != EK_SCHEMA_NONE) {
        ek_buf_puts(out, t->n_fields ? " *:(" : "*:(");
        describe(out, schema, t->member, depth);
        ek_buf_puts(out, ")");
    }
    ek_buf_puts(out, "}");
}

/* Writes a type in one line; depth ends the types without a schema, which hold themselves. */
static void describe(struct ek_buf *out, const struct ek_schema *schema, uint32_t type, int depth)
{
    const struct ek_schema_type *t = ek_schema_type(schema, type);

    if (type <= 1 || depth == 0) {
        ek_buf_puts(out, depth == 0 ? "..." : type == 0 ? "deduced" : "opaque");
        return;
    }
    ek_buf_printf(out, "%s", declared[t->declared]);
    if (t->scalar)
        ek_buf_printf(out, "%s%s", t->declared ? "/" : "", scalars[t->scalar]);
    describe_flags(out, t->flags);
    if (t->list)
        describe_list(out, schema, t, depth - 1);
    if (t->map)
        describe_map(out, schema, t, depth - 1);
}

static struct ek_schema *compile_text(const char *schemas, struct ek_err *err)
{
    EK_AUTOFREE char *text = ek_xasprintf("{\"components\":{\"schemas\":{%s}}}", schemas);
    yyjson_doc *doc = ek_json_parse(text, strlen(text), err);
    struct ek_schema *schema = NULL;

    ck_assert_msg(doc != NULL, "%s", text);
    int rc = ek_schema_compile(yyjson_doc_get_root(doc), &schema, err);
    ck_assert_int_eq(rc == 0, schema != NULL);
    yyjson_doc_free(doc);
    return schema;
}

#define KIND                                                                                       \
    "\"x-kubernetes-group-version-kind\":[{\"group\":\"g\",\"version\":\"v1\",\"kind\":\"K\"}]"
#define REF "\"$ref\":\"#/components/schemas/"

/* The first component is K's, the property "f" is described. */
static const struct {
    const char *name, *f, *more, *want;
} rows[] = {
    {"string", "{\"type\":\"string\"}", "", "string/string"},
    {"bytes are a string", "{\"type\":\"string\",\"format\":\"byte\"}", "", "string/string"},
    {"time", "{\"type\":\"string\",\"format\":\"date-time\"}", "", "string/any"},
    {"integer", "{\"type\":\"integer\"}", "", "integer/numeric"},
    {"number", "{\"type\":\"number\",\"nullable\":true}", "", "number/numeric nullable"},
    {"boolean", "{\"type\":\"boolean\"}", "", "boolean/boolean"},
    {"type as a list", "{\"type\":[\"boolean\",\"null\"]}", "", "boolean/boolean"},
    {"no type", "{}", "", "any list atomic of(opaque) {*:(deduced)}"},
    {"int or string", "{\"x-kubernetes-int-or-string\":true}", "",
     "any int-or-string list atomic of(opaque) {*:(deduced)}"},
    {"preserve without type", "{\"x-kubernetes-preserve-unknown-fields\":true}", "",
     "any preserve list atomic of(opaque) {*:(deduced)}"},
    {"free object", "{\"type\":\"object\"}", "", "object {*:(deduced)}"},
    {"struct",
     "{\"type\":\"object\",\"required\":[\"b\",\"x\"],\"properties\":{\"b\":{\"type\":\"string\","
     "\"nullable\":true},\"a\":{\"type\":\"integer\"}}}",
     "", "object {a:(integer/numeric) b:(string/string nullable nullable required)}"},
    {"atomic struct",
     "{\"type\":\"object\",\"x-kubernetes-map-type\":\"atomic\",\"properties\":{\"a\":{\"type\":"
     "\"string\"}}}",
     "", "object atomic{a:(string/string)}"},
    {"struct that keeps unknown fields, also further down",
     "{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true,\"properties\":{\"a\":{"
     "\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"string\"}}}}}",
     "", "object preserve {a:(object {b:(string/string) *:(deduced)}) *:(deduced)}"},
    {"map", "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}", "",
     "object {*:(string/string)}"},
    {"additionalProperties true",
     "{\"type\":\"object\",\"additionalProperties\":true,\"properties\":{\"a\":{\"type\":"
     "\"string\"}}}",
     "", "object {a:(string/string) *:(deduced)}"},
    {"additionalProperties false", "{\"type\":\"object\",\"additionalProperties\":false}", "",
     "object {}"},
    {"list", "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}", "",
     "array list atomic of(string/string)"},
    {"set",
     "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"x-kubernetes-list-type\":\"set\"}", "",
     "array list set of(string/string)"},
    {"list by keys",
     "{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"p\","
     "\"a\"],\"items\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"p\":{"
     "\"type\":\"string\",\"default\":\"TCP\"}}}}",
     "", "array list by p a of(object {a:(integer/numeric) p:(string/string =\"TCP\")})"},
    {"list type before patch strategy",
     "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"x-kubernetes-list-type\":\"atomic\","
     "\"x-kubernetes-patch-strategy\":\"merge\"}",
     "", "array list atomic of(string/string)"},
    {"patch strategy: a set",
     "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"x-kubernetes-patch-strategy\":"
     "\"merge\"}",
     "", "array list set of(string/string)"},
    {"patch strategy: a key",
     "{\"type\":\"array\",\"items\":{\"type\":\"object\"},\"x-kubernetes-patch-strategy\":"
     "\"merge,retainKeys\",\"x-kubernetes-patch-merge-key\":\"n\"}",
     "", "array list by n of(object {*:(deduced)})"},
    {"defaults of all kinds",
     "{\"type\":\"object\",\"properties\":{\"a\":{\"default\":true,\"type\":\"boolean\"},\"b\":{"
     "\"default\":-3,\"type\":\"integer\"},\"c\":{\"default\":1.5,\"type\":\"number\"},\"d\":{"
     "\"default\":{\"x\":[1]},\"type\":\"object\"},\"e\":{\"default\":null,\"type\":\"string\"},"
     "\"f\":{\"default\":18446744073709551615,\"type\":\"integer\"}}}",
     "",
     "object {a:(boolean/boolean =true) b:(integer/numeric =-3) c:(number/numeric =1.5) "
     "d:(object {*:(deduced)} ={\"x\":[1]}) e:(string/string) "
     "f:(integer/numeric =18446744073709551615)}"},
    {"reference", "{" REF "T\"}", ",\"T\":{\"type\":\"integer\"}", "integer/numeric"},
    {"reference in allOf, with a default",
     "{\"type\":\"object\",\"properties\":{\"a\":{\"default\":{},\"allOf\":[{" REF "T\"}]}}}",
     ",\"T\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\"}}}",
     "object {a:(object {x:(string/string)} ={})}"},
    {"two in allOf are no reference", "{\"allOf\":[{" REF "T\"},{}]}",
     ",\"T\":{\"type\":\"integer\"}", "any list atomic of(opaque) {*:(deduced)}"},
    {"reference that makes a struct atomic", "{\"x-kubernetes-map-type\":\"atomic\"," REF "T\"}",
     ",\"T\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\"}}}",
     "object atomic{x:(string/string)}"},
    {"the same of a scalar finds nothing", "{\"x-kubernetes-map-type\":\"atomic\"," REF "T\"}",
     ",\"T\":{\"type\":\"string\"}", " missing"},
    {"reference to nothing", "{" REF "Gone\"}", "", " missing"},
    {"reference to a reference", "{" REF "T\"}", ",\"T\":{" REF "U\"},\"U\":{\"type\":\"string\"}",
     " missing"},
    {"quantity", "{" REF "io.k8s.apimachinery.pkg.api.resource.Quantity\"}",
     ",\"io.k8s.apimachinery.pkg.api.resource.Quantity\":{\"type\":\"string\"}", "string/any"},
    {"raw extension", "{" REF "io.k8s.apimachinery.pkg.runtime.RawExtension\"}",
     ",\"io.k8s.apimachinery.pkg.runtime.RawExtension\":{\"type\":\"object\"}",
     "any list atomic of(opaque) atomic{*:(opaque)}"},
    {"a type that holds itself", "{" REF "T\"}",
     ",\"T\":{\"type\":\"object\",\"properties\":{\"t\":{" REF "T\"}}}",
     "object {t:(object {t:(object {t:(object {t:(...)})})})}"},
};

START_TEST(documents_become_types)
{
    EK_AUTOFREE char *text =
        ek_xasprintf("\"K\":{\"type\":\"object\"," KIND ",\"properties\":{\"f\":%s}}%s", rows[_i].f,
                     rows[_i].more);
    struct ek_err err = {0};
    EK_AUTOPTR(ek_schema, ek_schema_unref) *schema = compile_text(text, &err);
    EK_AUTO(ek_buf) out;
    uint32_t type = 0;

    ek_buf_init(&out, 4096);
    ck_assert_msg(schema != NULL, "%s: %s", rows[_i].name, err.message);
    ck_assert_int_eq(ek_schema_find_kind(schema, "g", "v1", "K", &type, NULL), 0);
    ck_assert_int_eq(ek_schema_resolve(schema, type, EK_STR("f"), &type, NULL), 0);
    describe(&out, schema, type, 4);
    ck_assert_msg(!strcmp(ek_buf_str(&out), rows[_i].want), "%s: got %s", rows[_i].name,
                  ek_buf_str(&out));
}
END_TEST

static const struct {
    const char *name, *schemas, *message;
    int code;
} broken[] = {
    {"unknown list type",
     "\"T\":{\"type\":\"array\",\"items\":{},\"x-kubernetes-list-type\":\"bag\"}",
     "schema \"T\": x-kubernetes-list-type is none of atomic, set and map", EK_E_PARSE},
    {"keys are missing",
     "\"T\":{\"type\":\"array\",\"items\":{},\"x-kubernetes-list-type\":\"map\"}",
     "schema \"T\": a list of type map lacks x-kubernetes-list-map-keys", EK_E_PARSE},
    {"unknown map type", "\"T\":{\"type\":\"object\",\"x-kubernetes-map-type\":7}",
     "schema \"T\": x-kubernetes-map-type is neither atomic nor granular", EK_E_PARSE},
    {"unknown patch strategy",
     "\"T\":{\"type\":\"array\",\"items\":{},\"x-kubernetes-patch-strategy\":\"replace\"}",
     "schema \"T\": x-kubernetes-patch-strategy is unknown", EK_E_PARSE},
    {"unknown type", "\"T\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"file\"}}}",
     "schema \"T\": unrecognized type \"file\"", EK_E_PARSE},
    {"array without items", "\"T\":{\"type\":\"array\"}", "schema \"T\": an array has no items",
     EK_E_PARSE},
    {"several items", "\"T\":{\"type\":\"array\",\"items\":[{}]}",
     "schema \"T\": items of an array must be one schema", EK_E_PARSE},
    {"schema is no object", "\"T\":{\"type\":\"object\",\"properties\":{\"a\":3}}",
     "schema \"T\": a schema must be an object", EK_E_PARSE},
    {"properties are no object", "\"T\":{\"properties\":[]}",
     "schema \"T\": a member of a schema has the wrong type", EK_E_PARSE},
    {"too many keys",
     "\"T\":{\"type\":\"array\",\"items\":{},\"x-kubernetes-list-type\":\"map\","
     "\"x-kubernetes-list-map-keys\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\"]}",
     "schema \"T\": a list has more than 8 keys", EK_E_PARSE},
};

START_TEST(broken_documents_are_refused)
{
    struct ek_err err = {0};

    ck_assert_ptr_null(compile_text(broken[_i].schemas, &err));
    ck_assert_msg(err.code == broken[_i].code && !strcmp(err.message, broken[_i].message),
                  "%s: %d %s", broken[_i].name, err.code, err.message);
}
END_TEST

START_TEST(what_is_no_document_is_refused)
{
    yyjson_doc *doc = yyjson_read("{\"components\":{}}", 17, 0);
    struct ek_schema *schema = NULL;
    struct ek_err err = {0};

    ck_assert_int_eq(ek_schema_compile(yyjson_doc_get_root(doc), &schema, &err), EK_E_PARSE);
    ck_assert_str_eq(err.message,
                     "the document has no components.schemas: it is no OpenAPI v3 document");
    ck_assert_int_eq(ek_schema_compile(NULL, &schema, NULL), EK_E_PARSE);
    yyjson_doc_free(doc);
}
END_TEST

/* Nesting that JSON's own limit lets pass is read; what was built by hand is not followed for ever.
 */
START_TEST(depth_is_bounded)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *inner = yyjson_mut_obj(doc);
    yyjson_mut_val *root = yyjson_mut_obj(doc), *components = yyjson_mut_obj(doc);
    yyjson_mut_val *schemas = yyjson_mut_obj(doc);
    struct ek_schema *schema = NULL;
    struct ek_err err = {0};

    for (int i = 0; i < 300; i++) {
        yyjson_mut_val *outer = yyjson_mut_obj(doc);
        yyjson_mut_obj_add_str(doc, outer, "type", "array");
        yyjson_mut_obj_add_val(doc, outer, "items", inner);
        inner = outer;
    }
    yyjson_mut_obj_add_val(doc, schemas, "T", inner);
    yyjson_mut_obj_add_val(doc, components, "schemas", schemas);
    yyjson_mut_obj_add_val(doc, root, "components", components);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_doc *fixed = yyjson_mut_doc_imut_copy(doc, NULL);
    ck_assert_int_eq(ek_schema_compile(yyjson_doc_get_root(fixed), &schema, &err), EK_E_LIMIT);
    ck_assert_str_eq(err.message, "a schema nests deeper than 256 levels");
    yyjson_doc_free(fixed);
    yyjson_mut_doc_free(doc);
}
END_TEST

static struct ek_schema *recorded(const char *name)
{
    EK_AUTOFREE char *path = ek_xasprintf(OPENAPI "%s.json", name);
    yyjson_doc *doc = jsonlines_document(path);
    struct ek_schema *schema = NULL;
    struct ek_err err = {0};

    ck_assert_msg(ek_schema_compile(yyjson_doc_get_root(doc), &schema, &err) == 0, "%s: %s", name,
                  err.message);
    yyjson_doc_free(doc);
    return schema;
}

static const char *const documents[] = {
    "admissionregistration.k8s.io_v1",
    "apiextensions.k8s.io_v1",
    "apps_v1",
    "autoscaling_v1",
    "autoscaling_v2",
    "batch_v1",
    "coordination.k8s.io_v1",
    "core_v1",
    "discovery.k8s.io_v1",
    "events.k8s.io_v1",
    "mut-lab.example.com_v1",
    "mut-lab.example.com_v1beta1",
    "networking.k8s.io_v1",
    "policy_v1",
    "rbac.authorization.k8s.io_v1",
    "scheduling.k8s.io_v1",
    "storage.k8s.io_v1",
};

static void describe_all(struct ek_buf *out, const struct ek_schema *schema, int depth)
{
    size_t n;
    const struct ek_schema_kind *kinds = ek_schema_kinds(schema, &n);

    for (size_t i = 0; i < n; i++) {
        ek_buf_printf(out, "%s ", ek_schema_text(schema, kinds[i].kind).p);
        describe(out, schema, kinds[i].type, depth);
        ek_buf_puts(out, "\n");
    }
}

/* A schema read from a copy of its image says the same. */
START_TEST(images_can_be_read_elsewhere)
{
    EK_AUTOPTR(ek_schema, ek_schema_unref) *schema = recorded(documents[_i]);
    EK_AUTOPTR(ek_schema, ek_schema_unref) *again = NULL;
    EK_AUTO(ek_buf) one, two;
    struct ek_err err = {0};
    size_t size;
    const void *image = ek_schema_image(schema, &size);
    EK_AUTOFREE void *copy = ek_xalloc(size);

    ek_buf_init(&one, 1 << 24);
    ek_buf_init(&two, 1 << 24);
    memcpy(copy, image, size);
    ck_assert_msg(ek_schema_from_image(copy, size, &again, &err) == 0, "%s", err.message);
    describe_all(&one, schema, 6);
    ek_schema_unref(schema);
    schema = NULL;
    describe_all(&two, again, 6);
    ck_assert_uint_gt(one.len, 300);
    ck_assert_int_eq(one.failed, 0);
    ck_assert_str_eq(ek_buf_str(&one), ek_buf_str(&two));
}
END_TEST

/* A damaged image is refused, or harmless. */
START_TEST(damaged_images_do_no_harm)
{
    EK_AUTOPTR(ek_schema, ek_schema_unref) *schema = recorded("coordination.k8s.io_v1");
    size_t size, n_refused = 0;
    const void *image = ek_schema_image(schema, &size);
    EK_AUTOFREE char *copy = ek_xalloc(size);

    for (size_t i = 0; i < 2 * size; i++) {
        EK_AUTO(ek_buf) out;
        struct ek_schema *again = NULL;
        ek_buf_init(&out, 1 << 16);
        memcpy(copy, image, size);
        copy[i / 2] = (char)(copy[i / 2] ^ (i % 2 ? 0x80 : 0x01));
        if (ek_schema_from_image(copy, size, &again, NULL))
            n_refused++;
        else
            describe_all(&out, again, 5);
        ek_schema_unref(again);
    }
    ck_assert_uint_gt(n_refused, size / 4);
    memcpy(copy, image, size);
    for (size_t cut = 0; cut < size; cut++)
        ck_assert_int_eq(ek_schema_from_image(copy, cut, &schema, NULL), EK_E_PARSE);
}
END_TEST

static const struct {
    const char *document, *group, *version, *kind, *path, *want; /* want: description or message */
    int code;
} paths[] = {
    {"apps_v1", "apps", "v1", "Deployment", "spec.replicas", "integer/numeric", 0},
    {"apps_v1", "apps", "v1", "Deployment", "spec.template.spec.containers.image", "string/string",
     0},
    {"apps_v1", "apps", "v1", "Deployment", "spec.template.spec.containers.ports.protocol",
     "string/string", 0},
    {"apps_v1", "apps", "v1", "Deployment", "spec.template.spec.containers.args",
     "array list atomic of(string/string)", 0},
    {"apps_v1", "apps", "v1", "Deployment", "metadata.labels.anything", "string/string", 0},
    {"apps_v1", "apps", "v1", "Deployment", "spec.strategy.rollingUpdate.maxSurge",
     "any int-or-string list atomic of(opaque) {*:(deduced)}", 0},
    {"apps_v1", "apps", "v1", "Deployment", "spec.template.spec.containers.resources.limits.cpu",
     "string/any", 0},
    {"apps_v1", "apps", "v1", "Deployment", "spec.replica",
     "\"spec\" has no field \"replica\"; did you mean \"replicas\"?", EK_E_NOENT},
    {"apps_v1", "apps", "v1", "Deployment", "spec.template.spec.Containers",
     "\"spec.template.spec\" has no field \"Containers\"; did you mean \"containers\"?",
     EK_E_NOENT},
    {"apps_v1", "apps", "v1", "Deployment", "replicas", "the object has no field \"replicas\"",
     EK_E_NOENT},
    {"apps_v1", "apps", "v1", "Deployment", "spec.replicas.x",
     "\"spec.replicas\" has no field \"x\"", EK_E_NOENT},
    {"apps_v1", "apps", "v1", "Deployment", "spec..x", "\"spec\" has no field \"\"", EK_E_NOENT},
    {"apps_v1", "apps", "v1", "Deploymnt", "", "no corresponding type for apps/v1, Kind=Deploymnt",
     EK_E_NOENT},
    {"core_v1", "", "v1", "PodExecOptions", "",
     "no corresponding type for /v1, Kind=PodExecOptions", EK_E_NOENT},
    {"mut-lab.example.com_v1", "mut-lab.example.com", "v1", "Gadget", "spec.extra.a.b.c", "deduced",
     0},
    {"mut-lab.example.com_v1", "mut-lab.example.com", "v1", "Gadget", "spec.parts.bits.v",
     "string/string", 0},
    {"mut-lab.example.com_v1", "mut-lab.example.com", "v1", "Gadget",
     "spec.embedded.metadata.labels", "object {*:(string/string)}", 0},
    {"mut-lab.example.com_v1", "mut-lab.example.com", "v1", "Matrix", "spec.grid.x",
     "\"spec.grid\" has no field \"x\"", EK_E_NOENT},
    {"apiextensions.k8s.io_v1", "apiextensions.k8s.io", "v1", "CustomResourceDefinition",
     "spec.versions.schema.openAPIV3Schema.properties.a.properties.b.items.type",
     "\"spec.versions.schema.openAPIV3Schema.properties.a.properties.b.items\" has no field "
     "\"type\"",
     1},
};

START_TEST(paths_lead_to_types)
{
    EK_AUTOPTR(ek_schema, ek_schema_unref) *schema = recorded(paths[_i].document);
    EK_AUTO(ek_buf) out;
    struct ek_err err = {0};
    uint32_t type = 0;

    ek_buf_init(&out, 1 << 16);
    int rc = ek_schema_find_kind(schema, paths[_i].group, paths[_i].version, paths[_i].kind, &type,
                                 &err);
    if (!rc)
        rc = ek_schema_resolve(schema, type, ek_str_from(paths[_i].path), &type, &err);
    if (paths[_i].code == 1) { /* a field of JSON is a schema or a list of them: anything goes */
        ck_assert_int_eq(rc, 0);
        return;
    }
    if (!rc)
        describe(&out, schema, type, 4);
    ck_assert_msg(rc == paths[_i].code, "%s: %d %s", paths[_i].path, rc, err.message);
    ck_assert_msg(!strcmp(rc ? err.message : ek_buf_str(&out), paths[_i].want), "%s: got %s",
                  paths[_i].path, rc ? err.message : ek_buf_str(&out));
}
END_TEST

/* What the server published for the recorded definitions is what we make of them. */
START_TEST(definitions_become_what_the_server_publishes)
{
    yyjson_doc *doc = jsonlines_document(EK_SHARED_DATA "/mutation/crds.json");
    yyjson_val *crd, *version;
    size_t i, j, max, max_j, n = 0;

    yyjson_arr_foreach(yyjson_doc_get_root(doc), i, max, crd)
    {
        yyjson_arr_foreach(ek_json_get(crd, "spec", "versions", NULL), j, max_j, version)
        {
            const char *name = yyjson_get_str(yyjson_obj_get(version, "name"));
            const char *kind = ek_json_str(crd, "spec", "names", "kind", NULL);
            const char *group = ek_json_str(crd, "spec", "group", NULL);
            EK_AUTOFREE char *file = ek_xasprintf("%s_%s", group, name);
            EK_AUTOPTR(ek_schema, ek_schema_unref) *ours = NULL, *theirs = recorded(file);
            EK_AUTO(ek_buf) one, two;
            struct ek_err err = {0};
            uint32_t type = 0;

            ek_buf_init(&one, 1 << 20);
            ek_buf_init(&two, 1 << 20);
            ck_assert_msg(ek_schema_compile_crd(crd, name, &ours, &err) == 0, "%s", err.message);
            ck_assert_int_eq(ek_schema_find_kind(ours, group, name, kind, &type, NULL), 0);
            describe(&one, ours, type, 12);
            ck_assert_int_eq(ek_schema_find_kind(theirs, group, name, kind, &type, NULL), 0);
            describe(&two, theirs, type, 12);
            size_t same = 0;
            while (one.data[same] && one.data[same] == two.data[same])
                same++;
            ck_assert_msg(one.len == two.len && same == one.len, "%s %s: %.200s, not %.200s", kind,
                          name, one.data + same, two.data + same);
            n++;
        }
    }
    ck_assert_uint_ge(n, 5);
    yyjson_doc_free(doc);
}
END_TEST

static const struct {
    const char *name, *crd, *want; /* description of the object, or the message */
    int code;
} definitions[] = {
    {"no schema: anything goes",
     "{\"spec\":{\"group\":\"g\",\"names\":{\"kind\":\"K\"},\"versions\":[{\"name\":\"v1\"}]}}",
     "object {*:(deduced)}", 0},
    {"no such version",
     "{\"spec\":{\"group\":\"g\",\"names\":{\"kind\":\"K\"},\"versions\":[{\"name\":\"v2\"}]}}",
     "the definition of K.g has no version v1", EK_E_NOENT},
    {"no definition", "{\"spec\":{}}",
     "spec.group or spec.names.kind is absent: this is no CustomResourceDefinition", EK_E_PARSE},
    {"faulty schema",
     "{\"spec\":{\"group\":\"g\",\"names\":{\"kind\":\"K\"},\"versions\":[{\"name\":\"v1\","
     "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
     "\"array\"}}}}}]}}",
     "schema \"K\": an array has no items", EK_E_PARSE},
    {"properties are odd",
     "{\"spec\":{\"group\":\"g\",\"names\":{\"kind\":\"K\"},\"versions\":[{\"name\":\"v1\","
     "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"a\":{\"properties\":"
     "3}}}}}]}}",
     "schema \"K\": a member of a schema has the wrong type", EK_E_PARSE},
};

START_TEST(odd_definitions)
{
    const char *text = definitions[_i].crd;
    yyjson_doc *doc = ek_json_parse(text, strlen(text), NULL);
    EK_AUTOPTR(ek_schema, ek_schema_unref) *schema = NULL;
    EK_AUTO(ek_buf) out;
    struct ek_err err = {0};
    uint32_t type = 0;

    ek_buf_init(&out, 4096);
    int rc = ek_schema_compile_crd(yyjson_doc_get_root(doc), "v1", &schema, &err);
    if (!rc) {
        ck_assert_int_eq(ek_schema_find_kind(schema, "g", "v1", "K", &type, NULL), 0);
        describe(&out, schema, type, 3);
    }
    ck_assert_msg(rc == definitions[_i].code, "%s: %s", definitions[_i].name, err.message);
    ck_assert_msg(!strcmp(rc ? err.message : ek_buf_str(&out), definitions[_i].want), "%s: got %s",
                  definitions[_i].name, rc ? err.message : ek_buf_str(&out));
    yyjson_doc_free(doc);
}
END_TEST

/* Many names in one hash slot cost memory, not time; and all are found. */
START_TEST(many_fields)
{
    EK_AUTO(ek_buf) text;
    struct ek_err err = {0};
    uint32_t type = 0;

    ek_buf_init(&text, 1 << 24);
    ek_buf_puts(&text, "\"K\":{\"type\":\"object\"," KIND ",\"properties\":{");
    for (int i = 0; i < 30000; i++)
        ek_buf_printf(&text,
                      "%s\"f%d\":{\"type\":\"object\",\"properties\":{\"g%d\":{\"type\":"
                      "\"string\"}}}",
                      i ? "," : "", i, i);
    ek_buf_puts(&text, "}}");
    EK_AUTOPTR(ek_schema, ek_schema_unref) *schema = compile_text(ek_buf_str(&text), &err);
    ck_assert_msg(schema != NULL, "%s", err.message);
    ck_assert_int_eq(ek_schema_find_kind(schema, "g", "v1", "K", &type, NULL), 0);
    for (int i = 0; i < 30000; i += 7) {
        char path[40];
        uint32_t leaf = 0;
        snprintf(path, sizeof path, "f%d.g%d", i, i);
        ck_assert_int_eq(ek_schema_resolve(schema, type, ek_str_from(path), &leaf, NULL), 0);
        ck_assert_int_eq(ek_schema_type(schema, leaf)->scalar, EK_SCALAR_STRING);
    }
}
END_TEST

/* Every allocation fails in turn: an error each time, and memory is given back. */
START_TEST(memory_may_end)
{
    static const char text[] =
        "{\"spec\":{\"group\":\"g\",\"names\":{\"kind\":\"K\"},\"versions\":[{\"name\":\"v1\","
        "\"schema\":"
        "{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\","
        "\"items\":{"
        "\"type\":\"string\"}},\"b\":{\"type\":\"object\",\"x-kubernetes-embedded-resource\":true,"
        "\"default\":{\"x\":1}}}}}}]}}";
    yyjson_doc *crd = ek_json_parse(text, sizeof text - 1, NULL);
    struct ek_schema *schema = NULL;
    int rc = EK_E_NOMEM;

    for (long n = 1; rc && n < 500; n++) {
        ek_alloc_fail_after(n);
        rc = ek_schema_compile_crd(yyjson_doc_get_root(crd), "v1", &schema, NULL);
        ek_alloc_fail_after(0);
        ck_assert_msg(rc == 0 || rc == EK_E_NOMEM, "%ld: %d", n, rc);
        ck_assert_int_eq(rc == 0, schema != NULL);
    }
    ck_assert_int_eq(rc, 0);
    ek_schema_unref(schema);
    yyjson_doc_free(crd);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("schema");

    tcase_add_loop_test(t, documents_become_types, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(t, broken_documents_are_refused, 0, EK_ARRAY_SIZE(broken));
    tcase_add_test(t, what_is_no_document_is_refused);
    tcase_add_test(t, depth_is_bounded);
    tcase_add_loop_test(t, odd_definitions, 0, EK_ARRAY_SIZE(definitions));
    tcase_add_test(t, many_fields);
    tcase_add_test(t, memory_may_end);
    if (access(OPENAPI, R_OK) == 0) {
        tcase_add_loop_test(t, images_can_be_read_elsewhere, 0, EK_ARRAY_SIZE(documents));
        tcase_add_test(t, damaged_images_do_no_harm);
        tcase_add_loop_test(t, paths_lead_to_types, 0, EK_ARRAY_SIZE(paths));
        tcase_add_test(t, definitions_become_what_the_server_publishes);
    } else {
        printf("no recorded schemas in %s: their cases are not run\n", EK_SHARED_DATA);
    }
    return ek_test_run("schema", t);
}
