/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/fieldgates/annotation.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
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

/* The author's part of one gate, besides its name; and the administrator's. */
static const char *const authors[] = {"preRelease", "default", "fieldDeprecationWarning",
                                      "fieldPaths"};
static const char *const administrators[] = {"enabled", "failurePolicy", "allowRemoval"};

static bool same_gate(yyjson_val *a, yyjson_val *b)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(authors); i++)
        if (!same_member(a, b, authors[i]))
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

/* ---- Following ---- */

/* FNV-1a, 64 bits, of JSON texts with an end each; null is absent, as API servers have it. Whoever
 * may write the object may write the digest, too, so that a collision gains nothing. */
static uint64_t digest_value(uint64_t digest, yyjson_val *value)
{
    EK_AUTOFREE char *text =
        value && !yyjson_is_null(value)
            ? yyjson_val_write_opts(value, YYJSON_WRITE_NOFLAG, &ek_json_xalc, NULL, NULL)
            : NULL;

    for (const char *p = text ? text : ""; *p; p++)
        digest = (digest ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    return (digest ^ 0xff) * UINT64_C(0x100000001b3);
}

static void digest_of(yyjson_val *spec, char ret[17])
{
    uint64_t digest = digest_value(UINT64_C(0xcbf29ce484222325), yyjson_obj_get(spec, "component"));
    yyjson_val *gate;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(spec, "featureGates"), i, n, gate)
    {
        digest = digest_value(digest, yyjson_obj_get(gate, "name"));
        for (size_t k = 0; k < EK_ARRAY_SIZE(authors); k++)
            digest = digest_value(digest, yyjson_obj_get(gate, authors[k]));
    }
    snprintf(ret, 17, "%016llx", (unsigned long long)digest);
}

static yyjson_mut_val *content_of(yyjson_val *spec, yyjson_mut_val *copy, yyjson_mut_doc *doc)
{
    yyjson_mut_val *content = yyjson_mut_obj(doc);
    yyjson_mut_val *metadata = yyjson_mut_obj_add_obj(doc, content, "metadata");
    char digest[17];

    digest_of(spec, digest);
    yyjson_mut_obj_add_strcpy(doc, yyjson_mut_obj_add_obj(doc, metadata, "annotations"),
                              EK_GATES_IMPORTED_ANNOTATION, digest);
    yyjson_mut_obj_add_val(doc, content, "spec", copy);
    return content;
}

yyjson_mut_val *ek_gates_import_content(yyjson_val *spec, yyjson_mut_doc *doc)
{
    return content_of(spec, yyjson_val_mut_copy(doc, spec), doc);
}

bool ek_gates_import_is_new(const struct ek_obj *obj, yyjson_val *spec)
{
    const char *imported = ek_obj_annotation(obj, EK_GATES_IMPORTED_ANNOTATION);
    char now[17], next[17];

    if (!imported)
        return false;
    digest_of(yyjson_obj_get(ek_obj_root(obj), "spec"), now);
    digest_of(spec, next);
    return !strcmp(imported, now) && strcmp(now, next) != 0;
}

static void put_members(yyjson_mut_doc *doc, yyjson_mut_val *to, yyjson_val *from,
                        const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        yyjson_val *value = yyjson_obj_get(from, names[i]);
        if (value)
            yyjson_mut_obj_add_val(doc, to, names[i], yyjson_val_mut_copy(doc, value));
    }
}

/* A gate that the object has keeps what the administrator decided. */
static void follow_gate(yyjson_mut_doc *doc, yyjson_mut_val *list, yyjson_val *gate,
                        yyjson_val *old)
{
    yyjson_mut_val *to = yyjson_mut_arr_add_obj(doc, list);
    yyjson_val *name = yyjson_obj_get(gate, "name"), *is = find_gate(old, name);

    if (name)
        yyjson_mut_obj_add_val(doc, to, "name", yyjson_val_mut_copy(doc, name));
    put_members(doc, to, gate, authors, EK_ARRAY_SIZE(authors));
    put_members(doc, to, is ? is : gate, administrators, EK_ARRAY_SIZE(administrators));
}

yyjson_mut_val *ek_gates_import_patch(const struct ek_obj *obj, yyjson_val *spec,
                                      yyjson_mut_doc *doc)
{
    yyjson_val *old = yyjson_obj_get(ek_obj_root(obj), "spec"), *gate;
    yyjson_val *component = yyjson_obj_get(spec, "component");
    yyjson_mut_val *copy = yyjson_mut_obj(doc);
    size_t i, n;

    yyjson_mut_obj_add_val(doc, copy, "component",
                           component ? yyjson_val_mut_copy(doc, component) : yyjson_mut_null(doc));
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, copy, "featureGates");
    yyjson_arr_foreach(yyjson_obj_get(spec, "featureGates"), i, n, gate)
        follow_gate(doc, list, gate, old);
    return content_of(spec, copy, doc);
}

/* ---- What is said ---- */

char *ek_gates_import_message(const struct ek_obj *crd, const struct ek_obj *obj)
{
    yyjson_val *spec = yyjson_obj_get(ek_obj_root(obj), "spec");
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
                               " differs in gate %.100s from spec, which is in effect: %s",
                               gate,
                               ek_gates_import_is_new(obj, root)
                                   ? "spec follows the annotation soon, unless the change is "
                                     "refused (see the Events of the CustomResourceDefinition)"
                                   : "the annotation is followed only while nobody else has "
                                     "changed the gates since their import");
    yyjson_doc_free(doc);
    return message;
}
