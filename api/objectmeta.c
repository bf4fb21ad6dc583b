/* SPDX-License-Identifier: Apache-2.0 */
#include "api/objectmeta.h"

#include <ctype.h>
#include <string.h>

#include "api/obj.h"

#define ANNOTATIONS_MAX ((size_t)256 << 10) /* octets of all keys and values */

/* shown: the text of the error, where it is not the one that is checked. */
static void check(struct ek_field_errors *errors, enum ek_name_format format, const char *text,
                  const char *shown, const char *path, const char *name)
{
    const char *wrong[EK_NAME_ERRORS_MAX];
    size_t n = ek_name_check(format, ek_str_from(text), wrong);

    for (size_t i = 0; i < n; i++)
        ek_field_invalid(errors, ek_field_quote(errors, shown), wrong[i], "%s.%s", path, name);
}

/* ---- Names ---- */

/* A name that the server is to complete ends in what may stand before more
 * (apimachinery/pkg/api/validation/generic.go: maskTrailingDash). */
static const char *masked(struct ek_field_errors *errors, enum ek_name_format format,
                          const char *name)
{
    size_t len = strlen(name);

    if (format == EK_NAME_PATH_SEGMENT || len < 2 || name[len - 1] != '-')
        return name;
    return ek_arena_printf(errors->arena, "%.*sa", (int)(len - 2), name);
}

void ek_validate_object_name(struct ek_field_errors *errors, yyjson_val *metadata,
                             enum ek_name_format format, const char *path)
{
    const char *name = ek_json_text(metadata, "name");
    const char *start = ek_json_text(metadata, "generateName");

    if (*start)
        check(errors, format, masked(errors, format, start), start, path, "generateName");
    if (*name)
        check(errors, format, name, name, path, "name");
    else if (!*start)
        ek_field_required(errors, "name or generateName is required", "%s.name", path);
}

/* ---- The rest ---- */

static void check_labels(struct ek_field_errors *errors, yyjson_val *labels, const char *path)
{
    yyjson_val *key, *value;
    size_t i, n;

    ek_json_each_member(labels, i, n, key, value)
    {
        const char *name = yyjson_get_str(key), *text = yyjson_get_str(value);
        check(errors, EK_NAME_LABEL_KEY, name, name, path, "labels");
        if (text)
            check(errors, EK_NAME_LABEL_VALUE, text, text, path, "labels");
    }
}

/* Keys may be in capitals. */
static void check_annotation(struct ek_field_errors *errors, const char *key, const char *path)
{
    char *small = ek_arena_strdup(errors->arena, key);

    for (char *c = small; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    check(errors, EK_NAME_LABEL_KEY, small, key, path, "annotations");
}

static void check_annotations(struct ek_field_errors *errors, yyjson_val *annotations,
                              const char *path)
{
    yyjson_val *key, *value;
    size_t i, n, size = 0;

    ek_json_each_member(annotations, i, n, key, value)
    {
        check_annotation(errors, yyjson_get_str(key), path);
        size += yyjson_get_len(key) + yyjson_get_len(value);
    }
    if (size > ANNOTATIONS_MAX)
        ek_field_error(errors, ek_arena_printf(errors->arena, "%s.annotations", path),
                       "Too long: may not be more than 262144 bytes");
}

static void check_owner(struct ek_field_errors *errors, yyjson_val *owner, const char *path)
{
    static const char *const names[] = {"kind", "name", "uid"};
    const char *version = ek_json_text(owner, "apiVersion"), *slash = strchr(version, '/');

    if (!*(slash ? slash + 1 : version))
        ek_field_invalid(errors, ek_field_quote(errors, version), "version must not be empty",
                         "%s.ownerReferences.apiVersion", path);
    for (size_t i = 0; i < EK_ARRAY_SIZE(names); i++)
        if (!*ek_json_text(owner, names[i]))
            ek_field_invalid(errors, "\"\"", "must not be empty", "%s.ownerReferences.%s", path,
                             names[i]);
}

void ek_validate_object_meta(struct ek_field_errors *errors, yyjson_val *metadata, const char *path)
{
    yyjson_val *item;
    size_t i, n;

    check_labels(errors, yyjson_obj_get(metadata, "labels"), path);
    check_annotations(errors, yyjson_obj_get(metadata, "annotations"), path);
    yyjson_arr_foreach(yyjson_obj_get(metadata, "ownerReferences"), i, n, item)
    {
        check_owner(errors, item, path);
    }
    yyjson_arr_foreach(yyjson_obj_get(metadata, "finalizers"), i, n, item)
    {
        const char *name = yyjson_get_str(item);
        if (name)
            check(errors, EK_NAME_LABEL_KEY, name, name, path, "finalizers");
    }
}
