/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kubeconfig's schema as a table, and the check of a file against it.
 *
 * Every entry is checked, not only the chosen one, because kubectl decodes the whole file too and a
 * file that works here has to work there. Values are never quoted: they may be secrets.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/line.h"
#include "informers/client/kubeconfig-internal.h"

enum field_kind {
    FIELD_STRING,
    FIELD_BOOL,
    FIELD_STRINGS,      /* a list of strings */
    FIELD_STRING_LISTS, /* an object of lists of strings */
    FIELD_OBJECT,       /* an object described by fields */
    FIELD_OBJECTS,      /* a list of such objects */
    FIELD_ANY,          /* not looked into */
};

struct field {
    const char *name;
    enum field_kind kind;
    const struct field *fields; /* ended by an empty row */
};

static const struct field cluster_fields[] = {
    {"server", FIELD_STRING, NULL},
    {"tls-server-name", FIELD_STRING, NULL},
    {"insecure-skip-tls-verify", FIELD_BOOL, NULL},
    {"certificate-authority", FIELD_STRING, NULL},
    {"certificate-authority-data", FIELD_STRING, NULL},
    {"proxy-url", FIELD_STRING, NULL},
    {"disable-compression", FIELD_BOOL, NULL},
    {"extensions", FIELD_ANY, NULL},
    {NULL, FIELD_ANY, NULL},
};

static const struct field env_fields[] = {
    {"name", FIELD_STRING, NULL},
    {"value", FIELD_STRING, NULL},
    {NULL, FIELD_ANY, NULL},
};

static const struct field exec_fields[] = {
    {"command", FIELD_STRING, NULL},         {"args", FIELD_STRINGS, NULL},
    {"env", FIELD_OBJECTS, env_fields},      {"apiVersion", FIELD_STRING, NULL},
    {"installHint", FIELD_STRING, NULL},     {"provideClusterInfo", FIELD_BOOL, NULL},
    {"interactiveMode", FIELD_STRING, NULL}, {NULL, FIELD_ANY, NULL},
};

static const struct field user_fields[] = {
    {"client-certificate", FIELD_STRING, NULL},
    {"client-certificate-data", FIELD_STRING, NULL},
    {"client-key", FIELD_STRING, NULL},
    {"client-key-data", FIELD_STRING, NULL},
    {"token", FIELD_STRING, NULL},
    {"tokenFile", FIELD_STRING, NULL},
    {"as", FIELD_STRING, NULL},
    {"as-uid", FIELD_STRING, NULL},
    {"as-groups", FIELD_STRINGS, NULL},
    {"as-user-extra", FIELD_STRING_LISTS, NULL},
    {"username", FIELD_STRING, NULL},
    {"password", FIELD_STRING, NULL},
    {"auth-provider", FIELD_ANY, NULL},
    {"exec", FIELD_OBJECT, exec_fields},
    {"extensions", FIELD_ANY, NULL},
    {NULL, FIELD_ANY, NULL},
};

static const struct field context_fields[] = {
    {"cluster", FIELD_STRING, NULL},   {"user", FIELD_STRING, NULL},
    {"namespace", FIELD_STRING, NULL}, {"extensions", FIELD_ANY, NULL},
    {NULL, FIELD_ANY, NULL},
};

static const struct field named_cluster[] = {
    {"name", FIELD_STRING, NULL},
    {"cluster", FIELD_OBJECT, cluster_fields},
    {NULL, FIELD_ANY, NULL},
};
static const struct field named_user[] = {
    {"name", FIELD_STRING, NULL},
    {"user", FIELD_OBJECT, user_fields},
    {NULL, FIELD_ANY, NULL},
};
static const struct field named_context[] = {
    {"name", FIELD_STRING, NULL},
    {"context", FIELD_OBJECT, context_fields},
    {NULL, FIELD_ANY, NULL},
};

static const struct field top_fields[] = {
    {"apiVersion", FIELD_STRING, NULL},
    {"kind", FIELD_STRING, NULL},
    {"preferences", FIELD_ANY, NULL},
    {"clusters", FIELD_OBJECTS, named_cluster},
    {"users", FIELD_OBJECTS, named_user},
    {"contexts", FIELD_OBJECTS, named_context},
    {"current-context", FIELD_STRING, NULL},
    {"extensions", FIELD_ANY, NULL},
    {NULL, FIELD_ANY, NULL},
};

/* Where the check is, for messages: "users[1] \"admin\"" and the like. */
struct place {
    const char *file;
    char path[256];
};

void kubeconfig_warn__(struct ek_strings *warnings, const char *fmt, ...)
{
    char line[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args); /* NOLINT(clang-analyzer-valist.Uninitialized) */
    va_end(args);
    ek_line_clean(line);
    if (warnings->n < EK_KUBECONFIG_WARNINGS_MAX)
        ek_strings_add(warnings, line);
}

static const char *type_name(yyjson_val *value)
{
    switch (yyjson_get_type(value)) {
    case YYJSON_TYPE_NULL:
        return "nothing";
    case YYJSON_TYPE_BOOL:
        return "a boolean";
    case YYJSON_TYPE_NUM:
        return "a number";
    case YYJSON_TYPE_STR:
        return "a string";
    case YYJSON_TYPE_ARR:
        return "a list";
    case YYJSON_TYPE_OBJ:
        return "an object";
    default:
        return "something else";
    }
}

static struct place place_in(const struct place *at, const char *name)
{
    struct place inner = {.file = at->file};

    snprintf(inner.path, sizeof inner.path, "%.180s%s%.64s", at->path, at->path[0] ? "." : "",
             name);
    ek_line_clean(inner.path);
    return inner;
}

/* The place of a list's item, with its name where it has one. */
static struct place place_at(const struct place *at, size_t index, yyjson_val *item)
{
    struct place inner = {.file = at->file};
    const char *name = yyjson_get_str(yyjson_obj_get(item, "name"));

    if (name)
        snprintf(inner.path, sizeof inner.path, "%.100s[%zu] (%.100s)", at->path, index, name);
    else
        snprintf(inner.path, sizeof inner.path, "%.200s[%zu]", at->path, index);
    ek_line_clean(inner.path);
    return inner;
}

static int wrong_type(const struct place *at, const char *want, yyjson_val *value,
                      struct ek_err *err)
{
    return ek_err_set(err, EK_E_PARSE, "%s: %s must be %s, not %s", at->file, at->path, want,
                      type_name(value));
}

static int check_strings(const struct place *at, yyjson_val *value, struct ek_err *err)
{
    yyjson_arr_iter iter;
    yyjson_val *item;

    if (!yyjson_is_arr(value))
        return wrong_type(at, "a list of strings", value, err);
    yyjson_arr_iter_init(value, &iter);
    while ((item = yyjson_arr_iter_next(&iter)))
        if (!yyjson_is_str(item))
            return wrong_type(at, "a list of strings", item, err);
    return 0;
}

static int check_string_lists(const struct place *at, yyjson_val *value, struct ek_err *err)
{
    yyjson_obj_iter iter;
    yyjson_val *key;
    int rc = 0;

    if (!yyjson_is_obj(value))
        return wrong_type(at, "an object of lists of strings", value, err);
    yyjson_obj_iter_init(value, &iter);
    while (!rc && (key = yyjson_obj_iter_next(&iter))) {
        struct place inner = place_in(at, yyjson_get_str(key));
        yyjson_val *list = yyjson_obj_iter_get_val(key);
        if (!yyjson_is_null(list))
            rc = check_strings(&inner, list, err);
    }
    return rc;
}

static int check_object(const struct place *at, yyjson_val *object, const struct field *fields,
                        struct ek_strings *warnings, struct ek_err *err);

static int check_objects(const struct place *at, yyjson_val *list, const struct field *fields,
                         struct ek_strings *warnings, struct ek_err *err)
{
    yyjson_arr_iter iter;
    yyjson_val *item;
    size_t index = 0;
    int rc = 0;

    if (!yyjson_is_arr(list))
        return wrong_type(at, "a list", list, err);
    yyjson_arr_iter_init(list, &iter);
    while (!rc && (item = yyjson_arr_iter_next(&iter))) {
        struct place inner = place_at(at, index++, item);
        rc = check_object(&inner, item, fields, warnings, err);
    }
    return rc;
}

static int check_field(const struct place *at, yyjson_val *value, const struct field *field,
                       struct ek_strings *warnings, struct ek_err *err)
{
    if (yyjson_is_null(value)) /* as absent, to Go's decoder too */
        return 0;
    switch (field->kind) {
    case FIELD_STRING:
        return yyjson_is_str(value) ? 0 : wrong_type(at, "a string", value, err);
    case FIELD_BOOL:
        return yyjson_is_bool(value) ? 0 : wrong_type(at, "a boolean", value, err);
    case FIELD_STRINGS:
        return check_strings(at, value, err);
    case FIELD_STRING_LISTS:
        return check_string_lists(at, value, err);
    case FIELD_OBJECT:
        return check_object(at, value, field->fields, warnings, err);
    case FIELD_OBJECTS:
        return check_objects(at, value, field->fields, warnings, err);
    case FIELD_ANY:
    default:
        return 0;
    }
}

static const struct field *find_field(const struct field *fields, yyjson_val *key)
{
    for (; fields->name; fields++)
        if (yyjson_equals_str(key, fields->name))
            return fields;
    return NULL;
}

static int check_object(const struct place *at, yyjson_val *object, const struct field *fields,
                        struct ek_strings *warnings, struct ek_err *err)
{
    yyjson_obj_iter iter;
    yyjson_val *key;

    if (!yyjson_is_obj(object))
        return wrong_type(at, "an object", object, err);
    yyjson_obj_iter_init(object, &iter);
    while ((key = yyjson_obj_iter_next(&iter))) {
        const struct field *field = find_field(fields, key);
        struct place inner = place_in(at, yyjson_get_str(key));
        if (!field) {
            kubeconfig_warn__(warnings, "%s: unknown field %s", at->file, inner.path);
            continue;
        }
        int rc = check_field(&inner, yyjson_obj_iter_get_val(key), field, warnings, err);
        if (rc)
            return rc;
    }
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Entries need names, and a name may occur once in a file (as in clientcmd's conversion). */
static int check_names(const struct place *at, yyjson_val *list, struct ek_err *err)
{
    const char **names = ek_xrealloc(NULL, yyjson_arr_size(list), sizeof *names);
    size_t n = 0;
    yyjson_arr_iter iter;
    yyjson_val *item;
    int rc = 0;

    yyjson_arr_iter_init(list, &iter);
    while (!rc && (item = yyjson_arr_iter_next(&iter))) {
        struct place inner = place_at(at, n, item);
        names[n] = yyjson_get_str(yyjson_obj_get(item, "name"));
        if (!names[n] || !*names[n])
            rc = ek_err_set(err, EK_E_PARSE, "%s: %s has no name", at->file, inner.path);
        n++;
    }
    if (!rc && n > 1)
        qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 1; !rc && i < n; i++)
        if (!strcmp(names[i - 1], names[i]))
            rc = ek_err_set(err, EK_E_PARSE, "%s: the name %.100s occurs twice in %s", at->file,
                            names[i], at->path);
    ek_free(names);
    return rc;
}

static int check_identity(const struct kubeconfig_file *file, yyjson_val *root, struct ek_err *err)
{
    const char *version = yyjson_get_str(yyjson_obj_get(root, "apiVersion"));
    const char *kind = yyjson_get_str(yyjson_obj_get(root, "kind"));

    if ((version && *version && strcmp(version, "v1") != 0) ||
        (kind && *kind && strcmp(kind, "Config") != 0))
        return ek_err_set(err, EK_E_PARSE,
                          "%s is not a kubeconfig: it has apiVersion %.40s and kind %.40s, "
                          "expected v1 and Config",
                          file->path, version && *version ? version : "(none)",
                          kind && *kind ? kind : "(none)");
    return 0;
}

int kubeconfig_check__(const struct kubeconfig_file *file, struct ek_strings *warnings,
                       struct ek_err *err)
{
    static const char *const sections[] = {"clusters", "users", "contexts"};
    yyjson_val *root = yyjson_doc_get_root(file->doc);
    struct place top = {.file = file->path};

    if (!root || yyjson_is_null(root)) /* an empty file is an empty configuration */
        return 0;
    if (!yyjson_is_obj(root))
        return ek_err_set(err, EK_E_PARSE, "%s is not a kubeconfig: it holds %s", file->path,
                          type_name(root));
    int rc = check_identity(file, root, err);
    if (!rc)
        rc = check_object(&top, root, top_fields, warnings, err);
    for (size_t i = 0; !rc && i < EK_ARRAY_SIZE(sections); i++) {
        struct place at = place_in(&top, sections[i]);
        rc = check_names(&at, yyjson_obj_get(root, sections[i]), err);
    }
    return rc;
}
