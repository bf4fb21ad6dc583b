/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/fieldgates/import.h"

#include <string.h>

#include "api/mem.h"
#include "api/yaml.h"
#include "reconcilers/fieldgates/gates.h"

/* ---- Reading ---- */

/* YAML has JSON in it. */
int ek_gates_import_read(const char *text, yyjson_doc **ret_doc, struct ek_err *err)
{
    struct ek_err local = {0};
    yyjson_doc *doc = NULL;
    int rc = ek_yaml_parse(text, strlen(text), EK_GATES_IMPORT_MAX, &doc, &local);

    if (rc)
        return ek_err_set(err, rc, "annotation " EK_GATES_ANNOTATION ": %s", local.message);
    if (!yyjson_is_arr(ek_json_get(yyjson_doc_get_root(doc), "featureGates", NULL))) {
        yyjson_doc_free(doc);
        return ek_err_set(err, EK_E_PARSE,
                          "annotation " EK_GATES_ANNOTATION
                          ": has no list featureGates; it must be the spec of a "
                          "CustomFeatureGates, as JSON or YAML");
    }
    *ret_doc = doc;
    return 0;
}

/* ---- Comparing ---- */

static yyjson_val *find_gate(yyjson_val *spec, yyjson_val *name)
{
    yyjson_val *gate;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(spec, "featureGates"), i, n, gate)
    {
        if (name && ek_json_equal(yyjson_obj_get(gate, "name"), name))
            return gate;
    }
    return NULL;
}

static bool same_member(yyjson_val *a, yyjson_val *b, const char *name)
{
    yyjson_val *x = yyjson_obj_get(a, name), *y = yyjson_obj_get(b, name);
    return (!x && !y) || (x && y && ek_json_equal(x, y));
}

/* The author's part of one gate. */
static bool same_gate(yyjson_val *a, yyjson_val *b)
{
    static const char *const members[] = {"preRelease", "default", "fieldDeprecationWarning",
                                          "fieldPaths"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(members); i++)
        if (!same_member(a, b, members[i]))
            return false;
    return true;
}

/* The first gate of a that b has not, or differently; NULL for none. */
static const char *first_difference(yyjson_val *a, yyjson_val *b)
{
    yyjson_val *gate;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(a, "featureGates"), i, n, gate)
    {
        const char *name = ek_json_str(gate, "name", NULL);
        yyjson_val *other = find_gate(b, yyjson_obj_get(gate, "name"));
        if (!other || !same_gate(gate, other))
            return name ? name : "?";
    }
    return NULL;
}

char *ek_gates_import_message(const struct ek_obj *crd, yyjson_val *spec)
{
    const char *text = crd ? ek_obj_annotation(crd, EK_GATES_ANNOTATION) : NULL;
    struct ek_err err = {0};
    yyjson_doc *doc = NULL;
    char *message = NULL;

    if (!text)
        return NULL;
    if (ek_gates_import_read(text, &doc, &err))
        return ek_xasprintf("the CustomResourceDefinition's %s", err.message);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *gate = first_difference(root, spec);
    if (!gate)
        gate = first_difference(spec, root);
    if (gate)
        message = ek_xasprintf("the CustomResourceDefinition's annotation " EK_GATES_ANNOTATION
                               " differs in gate %.100s; what counts is spec, the annotation is "
                               "only taken over when there is no CustomFeatureGates",
                               gate);
    yyjson_doc_free(doc);
    return message;
}
