/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ek-api-kept: whether a CustomResourceDefinition still takes what its predecessor took. Prints a
 * line for each change that can refuse, lose or change a stored object, or break a client; exits 1
 * when there is one. usage: ek-api-kept OLD.yaml NEW.yaml
 *
 * The rules are those of the deprecation policy of Kubernetes
 * (https://kubernetes.io/docs/reference/using-api/deprecation-policy/, rule 1 and rule 2) for the
 * parts of a structural schema.
 */
#include <stdio.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/mem.h"
#include "api/obj.h"
#include "api/yaml.h"

#define FILE_MAX_BYTES 1000000

static int n_changes;

static const char *text_of(yyjson_val *value)
{
    const char *text = yyjson_get_str(value);
    return text ? text : "";
}

static const char *str_of(yyjson_val *object, const char *name)
{
    return text_of(yyjson_obj_get(object, name));
}

static void report(const char *path, const char *member, const char *what)
{
    printf("%s: %s %s\n", path, member, what);
    n_changes++;
}

static bool equal(yyjson_val *a, yyjson_val *b)
{
    return a == b || (a && b && yyjson_equals(a, b));
}

/* The item of list whose member is name. */
static yyjson_val *find(yyjson_val *list, const char *member, const char *name)
{
    yyjson_val *item;
    size_t i, n;

    yyjson_arr_foreach(list, i, n, item)
    {
        if (!strcmp(str_of(item, member), name))
            return item;
    }
    return NULL;
}

static bool contains(yyjson_val *list, yyjson_val *value)
{
    yyjson_val *item;
    size_t i, n;

    yyjson_arr_foreach(list, i, n, item)
    {
        if (yyjson_equals(item, value))
            return true;
    }
    return false;
}

/* Reports members that may not change at all. */
static void keep_members(const char *path, yyjson_val *old, yyjson_val *new)
{
    static const char *const members[] = {"type",
                                          "format",
                                          "default",
                                          "x-kubernetes-int-or-string",
                                          "x-kubernetes-preserve-unknown-fields",
                                          "x-kubernetes-list-type",
                                          "x-kubernetes-list-map-keys",
                                          "x-kubernetes-map-type",
                                          "nullable"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(members); i++) {
        yyjson_val *was = yyjson_obj_get(old, members[i]), *is = yyjson_obj_get(new, members[i]);
        if (!equal(was, is))
            report(path, members[i], was && is ? "differs" : was ? "is gone" : "is new");
    }
}

/* Reports bounds that are narrower than they were. */
static void keep_bounds(const char *path, yyjson_val *old, yyjson_val *new)
{
    static const struct {
        const char *member;
        bool is_upper;
    } bounds[] = {{"minimum", false},       {"maximum", true},      {"minItems", false},
                  {"maxItems", true},       {"minLength", false},   {"maxLength", true},
                  {"minProperties", false}, {"maxProperties", true}};

    for (size_t i = 0; i < EK_ARRAY_SIZE(bounds); i++) {
        yyjson_val *was = yyjson_obj_get(old, bounds[i].member);
        yyjson_val *is = yyjson_obj_get(new, bounds[i].member);
        if (!is)
            continue;
        double by = was ? yyjson_get_num(is) - yyjson_get_num(was) : 0;
        if (!was || (bounds[i].is_upper ? by < 0 : by > 0))
            report(path, bounds[i].member, "is narrower");
    }
    if (yyjson_obj_get(new, "pattern") &&
        !equal(yyjson_obj_get(old, "pattern"), yyjson_obj_get(new, "pattern")))
        report(path, "pattern", "is narrower, as far as can be told");
}

/* Reports values and rules: a choice that is gone, a rule or a required field that is new. */
static void keep_choices(const char *path, yyjson_val *old, yyjson_val *new)
{
    yyjson_val *was = yyjson_obj_get(old, "enum"), *is = yyjson_obj_get(new, "enum"), *item;
    size_t i, n;

    if (is && !was)
        report(path, "enum", "is new");
    yyjson_arr_foreach(was, i, n, item)
    {
        if (is && !contains(is, item))
            report(path, text_of(item), "is no choice any more");
    }
    is = yyjson_obj_get(new, "required");
    yyjson_arr_foreach(is, i, n, item)
    {
        if (!contains(yyjson_obj_get(old, "required"), item))
            report(path, text_of(item), "is required now");
    }
    is = yyjson_obj_get(new, "x-kubernetes-validations");
    yyjson_arr_foreach(is, i, n, item)
    {
        if (!find(yyjson_obj_get(old, "x-kubernetes-validations"), "rule", str_of(item, "rule")))
            report(path, str_of(item, "rule"), "is a new rule");
    }
}

static void keep_schema(const char *path, yyjson_val *old, yyjson_val *new, int depth);

/* The schema of items, or of values: there or not, as it was. */
static void keep_part(const char *path, const char *part, yyjson_val *old, yyjson_val *new,
                      int depth)
{
    yyjson_val *was = yyjson_obj_get(old, part), *is = yyjson_obj_get(new, part);
    EK_AUTOFREE char *below = ek_xasprintf("%s%s", path, !strcmp(part, "items") ? "[]" : "{}");

    if (!was != !is)
        report(path, part, was ? "is gone" : "is new");
    else if (yyjson_is_obj(was) && yyjson_is_obj(is))
        keep_schema(below, was, is, depth + 1);
    else if (!equal(was, is))
        report(path, part, "differs");
}

/* A new optional field without a default is all that may come. */
static void keep_schema(const char *path, yyjson_val *old, yyjson_val *new, int depth)
{
    yyjson_val *name, *was;
    size_t i, n;

    if (depth > EK_JSON_DEPTH_MAX)
        return;
    keep_members(path, old, new);
    keep_bounds(path, old, new);
    keep_choices(path, old, new);
    keep_part(path, "items", old, new, depth);
    keep_part(path, "additionalProperties", old, new, depth);
    ek_json_each_member(yyjson_obj_get(old, "properties"), i, n, name, was)
    {
        yyjson_val *is = yyjson_obj_get(yyjson_obj_get(new, "properties"), text_of(name));
        EK_AUTOFREE char *below = ek_xasprintf("%s.%s", path, text_of(name));
        if (is)
            keep_schema(below, was, is, depth + 1);
        else
            report(path, text_of(name), "is gone");
    }
}

/* Scripts read columns by name, and clients use subresources. */
static void keep_version(const char *path, yyjson_val *old, yyjson_val *new)
{
    yyjson_val *item, *name;
    size_t i, n;

    if (yyjson_get_bool(yyjson_obj_get(old, "served")) &&
        !yyjson_get_bool(yyjson_obj_get(new, "served")))
        report(path, "served", "is false now");
    yyjson_arr_foreach(yyjson_obj_get(old, "additionalPrinterColumns"), i, n, item)
    {
        yyjson_val *is =
            find(yyjson_obj_get(new, "additionalPrinterColumns"), "name", str_of(item, "name"));
        if (!is)
            report(path, str_of(item, "name"), "is no column any more");
        else if (strcmp(str_of(item, "jsonPath"), str_of(is, "jsonPath")) != 0)
            report(path, str_of(item, "name"), "is a column of something else");
    }
    ek_json_each_member(yyjson_obj_get(old, "subresources"), i, n, name, item)
    {
        if (!equal(item, yyjson_obj_get(yyjson_obj_get(new, "subresources"), text_of(name))))
            report(path, text_of(name), "is no such subresource any more");
    }
    keep_schema(path, yyjson_ptr_get(old, "/schema/openAPIV3Schema"),
                yyjson_ptr_get(new, "/schema/openAPIV3Schema"), 0);
}

static void keep_definition(yyjson_val *old, yyjson_val *new)
{
    static const char *const members[] = {"/group", "/scope", "/names/plural", "/names/kind"};
    yyjson_val *version, *name;
    size_t i, n;

    for (i = 0; i < EK_ARRAY_SIZE(members); i++) {
        if (!equal(yyjson_ptr_get(old, members[i]), yyjson_ptr_get(new, members[i])))
            report("spec", members[i] + 1, "differs");
    }
    yyjson_arr_foreach(yyjson_ptr_get(old, "/names/shortNames"), i, n, name)
    {
        if (!contains(yyjson_ptr_get(new, "/names/shortNames"), name))
            report("spec.names", text_of(name), "is no short name any more");
    }
    yyjson_arr_foreach(yyjson_obj_get(old, "versions"), i, n, version)
    {
        const char *of = str_of(version, "name");
        yyjson_val *is = find(yyjson_obj_get(new, "versions"), "name", of);
        if (is)
            keep_version(of, version, is);
        else
            report("spec.versions", of, "is gone");
    }
}

static yyjson_doc *read_file(const char *path)
{
    struct ek_err err = {0};
    yyjson_doc *doc = NULL;
    EK_AUTOFREE char *text = ek_xalloc(FILE_MAX_BYTES);
    FILE *file = fopen(path, "re");
    size_t len = file ? fread(text, 1, FILE_MAX_BYTES, file) : 0;

    if (file)
        fclose(file);
    if (!len)
        ek_err_set(&err, EK_E_INVAL, "not readable");
    else
        ek_yaml_parse(text, len, FILE_MAX_BYTES, &doc, &err);
    if (!doc)
        fprintf(stderr, "ek-api-kept: %s: %s\n", path, err.message);
    return doc;
}

int main(int argc, char **argv)
{
    yyjson_doc *old = argc == 3 ? read_file(argv[1]) : NULL;
    yyjson_doc *new = argc == 3 ? read_file(argv[2]) : NULL;
    int rc = 2;

    if (old && new) {
        keep_definition(yyjson_obj_get(yyjson_doc_get_root(old), "spec"),
                        yyjson_obj_get(yyjson_doc_get_root(new), "spec"));
        rc = n_changes > 0;
    }
    yyjson_doc_free(old);
    yyjson_doc_free(new);
    return rc;
}
