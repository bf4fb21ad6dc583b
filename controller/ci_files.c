/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests from files, folders and the standard input. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/yaml.h"
#include "controller/ci-internal.h"
#include "informers/file.h"

#define FOLDER_DEPTH_MAX 32
#define FOLDER_FILES_MAX 10000
#define LIST_DEPTH_MAX   4

static bool has_suffix(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);
    return n >= m && !strcmp(s + n - m, suffix);
}

static int add_object(struct ek_ci_objects *objects, yyjson_val *value, const char *source,
                      int depth, struct ek_err *err)
{
    const char *kind = ek_json_str(value, "kind", NULL);
    yyjson_val *items = yyjson_obj_get(value, "items"), *item;
    size_t i, n;

    if (kind && has_suffix(kind, "List") && yyjson_is_arr(items) && depth < LIST_DEPTH_MAX) {
        yyjson_arr_foreach(items, i, n, item)
        {
            int rc = add_object(objects, item, source, depth + 1, err);
            if (rc)
                return rc;
        }
        return 0;
    }
    if (!kind || !ek_json_str(value, "apiVersion", NULL))
        return ek_err_set(err, EK_E_INVAL,
                          "%s: document %zu is no Kubernetes object: it has no apiVersion or kind",
                          source, objects->n + 1);
    objects->list = ek_xrealloc(objects->list, objects->n + 1, sizeof *objects->list);
    objects->list[objects->n++] = (struct ek_ci_object){value, source};
    return 0;
}

static int read_file(struct ek_ci *ci, const char *path, const char *shown,
                     struct ek_ci_objects *objects, struct ek_err *err)
{
    EK_AUTOFREE char *text = NULL;
    size_t len = 0;
    yyjson_doc *doc = NULL;
    int rc = ek_file_read(path, EK_CI_FILE_MAX, &text, &len, err);

    if (!rc && has_suffix(path, ".json")) {
        doc = ek_json_parse(text, len, err);
        rc = doc ? 0 : err->code;
    } else if (!rc) {
        rc = ek_yaml_parse_all(text, len, EK_CI_FILE_MAX, &doc, err);
    }
    if (rc) {
        ek_err_prefix(err, "%s", shown);
        return rc;
    }
    ci->docs = ek_xrealloc(ci->docs, ci->n_docs + 1, sizeof(yyjson_doc *));
    ci->docs[ci->n_docs++] = doc;
    yyjson_val *root = yyjson_doc_get_root(doc), *value;
    const char *source = ek_arena_strdup(ci->arena, shown);
    size_t i, n;
    if (yyjson_is_obj(root))
        return add_object(objects, root, source, 0, err);
    yyjson_arr_foreach(root, i, n, value)
    {
        rc = add_object(objects, value, source, 0, err);
        if (rc)
            return rc;
    }
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_path(struct ek_ci *ci, const char *path, bool named, int depth,
                     struct ek_ci_objects *objects, struct ek_err *err);

/* The manifests of a folder in the order of their names, folders within included. */
static int read_folder(struct ek_ci *ci, const char *path, int depth, struct ek_ci_objects *objects,
                       struct ek_err *err)
{
    DIR *dir = depth < FOLDER_DEPTH_MAX ? opendir(path) : NULL;
    struct dirent *entry;
    char **names = NULL;
    size_t n = 0;
    int rc = 0;

    if (!dir)
        return ek_err_set(err, EK_E_INVAL, "%s: the folder cannot be read", path);
    while ((entry = readdir(dir)) && n < FOLDER_FILES_MAX)
        if (*entry->d_name != '.') {
            names = ek_xrealloc(names, n + 1, sizeof(char *));
            names[n++] = ek_xstrdup(entry->d_name);
        }
    closedir(dir);
    if (n)
        qsort(names, n, sizeof(char *), by_name);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(path);
        EK_AUTOFREE char *inner =
            ek_xasprintf("%s%s%s", path, len && path[len - 1] == '/' ? "" : "/", names[i]);
        if (!rc)
            rc = read_path(ci, inner, false, depth + 1, objects, err);
        ek_free(names[i]);
    }
    ek_free(names);
    return rc;
}

static int read_path(struct ek_ci *ci, const char *path, bool named, int depth,
                     struct ek_ci_objects *objects, struct ek_err *err)
{
    struct stat st;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return read_folder(ci, path, depth, objects, err);
    if (!named && !has_suffix(path, ".yaml") && !has_suffix(path, ".yml") &&
        !has_suffix(path, ".json"))
        return 0;
    return read_file(ci, path, path, objects, err);
}

int ek_ci_read(struct ek_ci *ci, const char *path, struct ek_ci_objects *objects,
               struct ek_err *err)
{
    if (strcmp(path, "-") != 0)
        return read_path(ci, path, true, 0, objects, err);
    if (ci->stdin_taken)
        return ek_err_set(err, EK_E_INVAL, "the standard input can be read only once");
    ci->stdin_taken = true;
    return read_file(ci, "/dev/stdin", "standard input", objects, err);
}
