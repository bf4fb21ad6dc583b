/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schemas: an OpenAPI document or a CustomResourceDefinition becomes a schema or an error; what
 * became one can be read from its image, be searched for every field, and hold the document itself
 * against every type. The same octets are taken for an image, too.
 */
#include <string.h>

#include "api/obj.h"
#include "api/schema/merge.h"
#include "test/fuzz/fuzz.h"

/* Follows a type down, as far as names go. */
static void walk(const struct ek_schema *schema, uint32_t type, int depth)
{
    const struct ek_schema_type *t = ek_schema_type(schema, type);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);

    for (uint32_t i = 0; i < t->n_keys; i++)
        fuzz_require(ek_schema_key(schema, t, i).p != NULL);
    for (uint32_t i = 0; depth > 0 && i < t->n_fields; i++) {
        const struct ek_schema_field *f = &ek_schema_fields(schema, t)[i];
        fuzz_require(ek_schema_text(schema, f->name).p != NULL);
        ek_schema_initial(schema, f, doc);
        walk(schema, f->type, depth - 1);
    }
    if (depth > 0 && t->item != EK_SCHEMA_NONE)
        walk(schema, t->item, depth - 1);
    if (depth > 0 && t->member != EK_SCHEMA_NONE)
        walk(schema, t->member, depth - 1);
    yyjson_mut_doc_free(doc);
}

static void use(const struct ek_schema *schema, yyjson_val *value)
{
    size_t n;
    const struct ek_schema_kind *kinds = ek_schema_kinds(schema, &n);

    for (size_t i = 0; i < n && i < 8; i++) {
        uint32_t type = kinds[i].type, leaf;
        struct ek_err err = {0};
        walk(schema, type, 3);
        ek_schema_resolve(schema, type, EK_STR("spec.template.a"), &leaf, &err);
        ek_schema_find_kind(schema, ek_schema_text(schema, kinds[i].group).p,
                            ek_schema_text(schema, kinds[i].version).p,
                            ek_schema_text(schema, kinds[i].kind).p, &leaf, &err);
        yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *copy = yyjson_val_mut_copy(doc, value);
        if (copy)
            ek_merge_validate(schema, type, copy, 0, NULL, NULL, &err);
        yyjson_mut_doc_free(doc);
    }
}

static void read_image(const void *data, size_t size, yyjson_val *value, bool must)
{
    void *copy = malloc(size + 1); /* aligned */
    struct ek_schema *schema = NULL;

    if (!copy)
        return;
    memcpy(copy, data, size);
    int rc = ek_schema_from_image(copy, size, &schema, NULL);
    fuzz_require((rc == 0) == (schema != NULL) && (rc == 0 || !must));
    if (schema)
        use(schema, value);
    ek_schema_unref(schema);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ek_err err = {0};
    struct ek_schema *schema = NULL;
    yyjson_doc *doc = ek_json_parse((const char *)data, size, &err);
    yyjson_val *root = yyjson_doc_get_root(doc);
    size_t image_size;

    if (!doc) {
        read_image(data, size, NULL, false);
        return 0;
    }
    int rc = ek_schema_compile(root, &schema, &err);
    if (rc)
        rc = ek_schema_compile_crd(root, "v1", &schema, &err);
    fuzz_require((rc == 0) == (schema != NULL) && (rc == 0 || err.message[0]));
    if (schema) {
        use(schema, root);
        const void *image = ek_schema_image(schema, &image_size);
        read_image(image, image_size, root, true);
    }
    ek_schema_unref(schema);
    yyjson_doc_free(doc);
    return 0;
}
