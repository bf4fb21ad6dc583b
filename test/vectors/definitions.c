/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions with validation rules: what an API server says when one is created. */
#include <stdio.h>
#include <string.h>

#include "api/obj.h"
#include "reconcilers/policylint/definition.h"
#include "test/vectors/vectors.h"

/* What the recording server validates new expressions by: the version before its own. */
#define COMPAT_MINOR 35

static void *open_schema(char **options, int n)
{
    char path[8192];

    if (n != 2 || strcmp(options[0], "--data") != 0) {
        fputs("ek-vectors: definitions needs --data DIR, with item.json\n", stderr);
        return NULL;
    }
    snprintf(path, sizeof path, "%s/item.json", options[1]);
    yyjson_doc *doc = yyjson_read_file(path, YYJSON_READ_NOFLAG, NULL, NULL);
    if (!doc)
        fprintf(stderr, "ek-vectors: there is no JSON in %s\n", path);
    return doc;
}

static void close_schema(void *state)
{
    yyjson_doc_free(state);
}

/* A definition with a list of maxItems items of the recording's schema, which have one rule. */
static yyjson_doc *assemble(yyjson_val *record, yyjson_val *item)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc), *spec = yyjson_mut_obj_add_obj(doc, root, "spec");
    yyjson_mut_val *version =
        yyjson_mut_arr_add_obj(doc, yyjson_mut_obj_add_arr(doc, spec, "versions"));
    yyjson_mut_val *schema = yyjson_mut_obj_add_obj(
        doc, yyjson_mut_obj_add_obj(doc, version, "schema"), "openAPIV3Schema");
    static const char *const properties[] = {"spec", "list"};

    for (size_t i = 0; i < 2; i++) {
        yyjson_mut_obj_add_str(doc, schema, "type", "object");
        schema = yyjson_mut_obj_add_obj(doc, yyjson_mut_obj_add_obj(doc, schema, "properties"),
                                        properties[i]);
    }
    yyjson_mut_obj_add_str(doc, schema, "type", "array");
    yyjson_mut_obj_add_uint(doc, schema, "maxItems",
                            yyjson_get_uint(yyjson_obj_get(record, "maxItems")));
    yyjson_mut_val *items = yyjson_val_mut_copy(doc, item);
    yyjson_mut_obj_add_val(doc, schema, "items", items);
    yyjson_mut_obj_add_strcpy(
        doc,
        yyjson_mut_arr_add_obj(doc, yyjson_mut_obj_add_arr(doc, items, "x-kubernetes-validations")),
        "rule", yyjson_get_str(yyjson_obj_get(record, "rule")));
    yyjson_mut_doc_set_root(doc, root);
    yyjson_doc *ret = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_mut_doc_free(doc);
    return ret;
}

static bool answer(void *state, yyjson_val *record, yyjson_mut_doc *doc, yyjson_mut_val *answer)
{
    yyjson_val *definition = yyjson_obj_get(record, "definition");
    yyjson_doc *made = definition ? NULL : assemble(record, yyjson_doc_get_root(state));
    struct ek_arena *arena = ek_arena_new((size_t)256 << 20);
    struct ek_definition_report report;

    int rc = ek_definition_lint(definition ? definition : yyjson_doc_get_root(made), COMPAT_MINOR,
                                arena, &report);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, answer, "causes");
    for (size_t i = 0; !rc && i < report.n; i++) {
        yyjson_mut_val *cause = yyjson_mut_arr_add_obj(doc, list);
        yyjson_mut_obj_add_strcpy(doc, cause, "field", report.list[i].field);
        yyjson_mut_obj_add_strcpy(doc, cause, "message", report.list[i].message);
    }
    ek_arena_free(arena);
    yyjson_doc_free(made);
    return !rc;
}

const struct ek_vectors_subject ek_vectors_definitions = {.name = "definitions",
                                                          .options = "--data DIR",
                                                          .open = open_schema,
                                                          .close = close_schema,
                                                          .answer = answer};
