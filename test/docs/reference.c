/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ek-reference: the reference of custom resources in Markdown, from their
 * CustomResourceDefinitions. usage: ek-reference CRD.yaml... >reference.md
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/mem.h"
#include "api/obj.h"
#include "api/yaml.h"

#define FILE_MAX_BYTES 1000000

static const char head[] =
    "# Reference of the custom resources\n\n"
    "Generated from the CustomResourceDefinitions in [crd](crd) by `test/docs/reference --write`. "
    "Do not edit.\n`kubectl explain KIND --recursive` prints the same for the cluster's version.\n";

/* Schemas that Kubernetes defines: recognised by one member, named, and not described again. */
static const struct {
    const char *member, *name;
} known[] = {{"lastTransitionTime", "[Condition]"}, {"matchExpressions", "[LabelSelector]"}};

static const char links[] =
    "\n[Condition]: "
    "https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/condition/\n"
    "[LabelSelector]: "
    "https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/label-selector/\n";

static const char *text_of(yyjson_val *value)
{
    const char *text = yyjson_get_str(value);
    return text ? text : "";
}

static const char *str_of(yyjson_val *object, const char *name)
{
    return text_of(yyjson_obj_get(object, name));
}

/* Appends text as one cell of a table: no character of it is Markdown's outside of backquotes. */
static void put_cell(struct ek_buf *out, const char *text)
{
    bool code = false;

    for (; *text; text++) {
        code ^= *text == '`';
        if (*text == '|' || (!code && strchr("*_<[]", *text)))
            ek_buf_puts(out, "\\");
        ek_buf_append(out, *text == '\n' ? " " : text, 1);
    }
}

/* Appends a scalar or a list as code. */
static void put_code(struct ek_buf *out, yyjson_val *value)
{
    EK_AUTO(ek_buf) text;
    char *json = yyjson_is_str(value) ? NULL : yyjson_val_write(value, 0, NULL);

    ek_buf_init(&text, FILE_MAX_BYTES);
    ek_buf_printf(&text, "`%s`", json ? json : text_of(value));
    put_cell(out, ek_buf_str(&text));
    free(json);
}

static const char *known_type(yyjson_val *schema)
{
    yyjson_val *properties = yyjson_obj_get(schema, "properties");

    for (size_t i = 0; i < EK_ARRAY_SIZE(known); i++) {
        if (yyjson_obj_get(properties, known[i].member))
            return known[i].name;
    }
    return NULL;
}

static void put_type(struct ek_buf *out, yyjson_val *schema)
{
    yyjson_val *items = yyjson_obj_get(schema, "items");
    yyjson_val *values = yyjson_obj_get(schema, "additionalProperties");
    const char *format = str_of(schema, "format"), *type = known_type(schema);

    if (items) {
        ek_buf_puts(out, "list of ");
        put_type(out, items);
    } else if (values) {
        ek_buf_puts(out, "map of ");
        put_type(out, values);
    } else if (!strcmp(format, "date-time")) {
        ek_buf_puts(out, "time");
    } else {
        ek_buf_puts(out, type ? type : str_of(schema, "type"));
    }
}

/* Appends what the schema demands of a value: choices, bounds, patterns, rules. */
static void put_limits(struct ek_buf *out, yyjson_val *schema)
{
    static const struct {
        const char *member, *before, *after;
    } limits[] = {
        {"minimum", " At least ", "."},
        {"maximum", " At most ", "."},
        {"minItems", " At least ", " items."},
        {"maxItems", " At most ", " items."},
        {"minLength", " At least ", " characters."},
        {"maxLength", " At most ", " characters."},
        {"pattern", " Pattern: ", "."},
    };
    yyjson_val *rule, *choice, *rules = yyjson_obj_get(schema, "x-kubernetes-validations");
    yyjson_val *choices = yyjson_obj_get(schema, "enum");
    size_t i, n;

    yyjson_arr_foreach(choices, i, n, choice)
    {
        ek_buf_puts(out, i ? ", " : " One of ");
        put_code(out, choice);
    }
    ek_buf_puts(out, choices ? "." : "");
    for (i = 0; i < EK_ARRAY_SIZE(limits); i++) {
        yyjson_val *value = yyjson_obj_get(schema, limits[i].member);
        if (!value)
            continue;
        ek_buf_puts(out, limits[i].before);
        put_code(out, value);
        ek_buf_puts(out, limits[i].after);
    }
    yyjson_arr_foreach(rules, i, n, rule)
    {
        ek_buf_puts(out, " Rule: ");
        put_cell(out, str_of(rule, "message"));
        ek_buf_puts(out, ".");
    }
}

static void put_row(struct ek_buf *out, const char *path, yyjson_val *schema, bool required)
{
    yyjson_val *initial = yyjson_obj_get(schema, "default"),
               *items = yyjson_obj_get(schema, "items");

    ek_buf_printf(out, "| `%s` | ", path);
    put_type(out, schema);
    ek_buf_printf(out, "%s | ", required ? ", required" : "");
    put_cell(out, str_of(schema, "description"));
    if (initial && !yyjson_is_obj(initial)) {
        ek_buf_puts(out, " Default: ");
        put_code(out, initial);
        ek_buf_puts(out, ".");
    }
    put_limits(out, schema);
    if (items && !yyjson_obj_get(items, "properties")) {
        ek_buf_puts(out, " Each item:");
        size_t before = out->len;
        put_limits(out, items);
        if (out->len == before) /* there is nothing to say of an item */
            out->len -= strlen(" Each item:");
    }
    ek_buf_puts(out, " |\n");
}

/* Appends a row for each field below schema, whose own path is given. */
static void put_fields(struct ek_buf *out, const char *path, yyjson_val *schema)
{
    yyjson_val *name, *field, *needed, *required = yyjson_obj_get(schema, "required");
    size_t i, n, r, n_required;

    ek_json_each_member(yyjson_obj_get(schema, "properties"), i, n, name, field)
    {
        yyjson_val *items = yyjson_obj_get(field, "items");
        bool is_required = false;
        yyjson_arr_foreach(required, r, n_required, needed) is_required |=
            yyjson_equals_str(needed, text_of(name));
        EK_AUTOFREE char *below = ek_xasprintf("%s.%s%s", path, text_of(name), items ? "[]" : "");
        put_row(out, below, field, is_required);
        if (!known_type(items ? items : field))
            put_fields(out, below, items ? items : field);
    }
}

static void put_columns(struct ek_buf *out, yyjson_val *version)
{
    yyjson_val *column, *columns = yyjson_obj_get(version, "additionalPrinterColumns");
    size_t i, n;

    ek_buf_puts(out, "\n| column of `kubectl get` | description |\n|---|---|\n");
    yyjson_arr_foreach(columns, i, n, column)
    {
        ek_buf_printf(out, "| %s%s | ", str_of(column, "name"),
                      yyjson_obj_get(column, "priority") ? " (with `-o wide`)" : "");
        put_cell(out, str_of(column, "description"));
        ek_buf_printf(out, "%s`%s` |\n", *str_of(column, "description") ? " " : "",
                      str_of(column, "jsonPath"));
    }
}

static void put_version(struct ek_buf *out, yyjson_val *spec, yyjson_val *version)
{
    yyjson_val *names = yyjson_obj_get(spec, "names"), *part, *key;
    yyjson_val *schema = yyjson_ptr_get(version, "/schema/openAPIV3Schema");
    size_t i, n;

    ek_buf_printf(out, "\n## %s\n\n", str_of(names, "kind"));
    put_cell(out, str_of(schema, "description"));
    ek_buf_printf(out, "\n\n`apiVersion: %s/%s`; resource `%s`, short name `%s`; scope %s.",
                  str_of(spec, "group"), str_of(version, "name"), str_of(names, "plural"),
                  text_of(yyjson_arr_get_first(yyjson_obj_get(names, "shortNames"))),
                  str_of(spec, "scope"));
    put_limits(out, schema);
    ek_buf_puts(out, "\n");
    put_columns(out, version);
    ek_json_each_member(yyjson_obj_get(schema, "properties"), i, n, key, part)
    {
        if (!yyjson_obj_get(part, "properties"))
            continue; /* apiVersion, kind, metadata */
        ek_buf_printf(out, "\n### %s %s\n\n", str_of(names, "kind"), text_of(key));
        put_cell(out, str_of(part, "description"));
        put_limits(out, part);
        ek_buf_puts(out, "\n\n| field | type | description |\n|---|---|---|\n");
        put_fields(out, text_of(key), part);
    }
}

static int put_file(struct ek_buf *out, const char *path)
{
    struct ek_err err = {0};
    yyjson_doc *doc = NULL;
    yyjson_val *version;
    size_t i, n;
    char *text = ek_xalloc(FILE_MAX_BYTES);
    FILE *file = fopen(path, "re");
    size_t len = file ? fread(text, 1, FILE_MAX_BYTES, file) : 0;

    if (file)
        fclose(file);
    int rc = len ? ek_yaml_parse(text, len, FILE_MAX_BYTES, &doc, &err)
                 : ek_err_set(&err, EK_E_INVAL, "not readable");
    ek_free(text);
    if (rc) {
        fprintf(stderr, "ek-reference: %s: %s\n", path, err.message);
        return rc;
    }
    yyjson_val *spec = yyjson_obj_get(yyjson_doc_get_root(doc), "spec");
    yyjson_arr_foreach(yyjson_obj_get(spec, "versions"), i, n, version)
        put_version(out, spec, version);
    yyjson_doc_free(doc);
    return 0;
}

int main(int argc, char **argv)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, FILE_MAX_BYTES);
    ek_buf_puts(&out, head);
    for (int i = 1; i < argc; i++) {
        if (put_file(&out, argv[i]))
            return 1;
    }
    ek_buf_puts(&out, links);
    fputs(ek_buf_str(&out), stdout);
    return out.failed ? 1 : 0;
}
