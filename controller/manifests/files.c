/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests from files, folders and the standard input. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/base/words.h"
#include "api/yaml.h"
#include "controller/manifests/documents.h"
#include "controller/manifests/files.h"
#include "controller/manifests/manifests-internal.h"
#include "informers/client/file.h"

#define FOLDER_DEPTH_MAX 32
#define FOLDER_FILES_MAX 10000
#define LIST_DEPTH_MAX   4
#define TWINS_MAX        1000u /* members that stand twice, of a file */

/* A document of a file. */
struct place {
    struct ek_ci *ci;
    struct ek_ci_objects *objects;
    const char *source;
    size_t number; /* of the document in the file, from 1 */
    struct ek_ci_file *file;
    const char *prefix; /* of the object within the document: "items[3]." */
};

yyjson_doc *ek_manifest_item(yyjson_val *list, yyjson_val *item)
{
    const char *kind = ek_json_str(list, "kind", NULL);
    const char *api_version = ek_json_str(list, "apiVersion", NULL);
    size_t len = strlen(kind) - strlen("List");

    if (!len || !api_version || !yyjson_is_obj(item) ||
        (ek_json_str(item, "kind", NULL) && ek_json_str(item, "apiVersion", NULL)))
        return NULL;
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *copy = yyjson_val_mut_copy(doc, item);
    yyjson_mut_obj_remove_key(copy, "kind");
    yyjson_mut_obj_remove_key(copy, "apiVersion");
    yyjson_mut_obj_add_strcpy(doc, copy, "apiVersion", api_version);
    yyjson_mut_obj_add_strncpy(doc, copy, "kind", kind, len);
    yyjson_mut_doc_set_root(doc, copy);
    yyjson_doc *named = yyjson_mut_doc_imut_copy(doc, &ek_json_xalc);
    yyjson_mut_doc_free(doc);
    return named;
}

static yyjson_val *named_item(struct ek_ci *ci, yyjson_val *list, yyjson_val *item)
{
    yyjson_doc *named = ek_manifest_item(list, item);

    if (!named)
        return item;
    ek_ci_own(ci, named);
    return yyjson_doc_get_root(named);
}

/* The line of a path in the object (struct ek_plan_object.line). */
static size_t line_of(void *ctx, const char *path)
{
    const struct place *place = ctx;
    EK_AUTOFREE char *whole = ek_xasprintf("%s%s", place->prefix, path);

    return ek_manifest_line(&place->file->lines, place->number, whole);
}

static int add_object(struct place *place, yyjson_val *value, int depth, struct ek_err *err)
{
    const char *kind = ek_json_str(value, "kind", NULL);
    yyjson_val *items = yyjson_obj_get(value, "items"), *item;
    struct ek_ci_objects *objects = place->objects;
    size_t i, n;

    bool lists = yyjson_is_arr(items) ||
                 (yyjson_is_null(items) && !ek_json_str(value, "metadata", "name", NULL));
    if (kind && ek_ends_with(kind, "List") && lists && depth < LIST_DEPTH_MAX) {
        yyjson_arr_foreach(items, i, n, item)
        {
            EK_AUTOFREE char *prefix = ek_xasprintf("%sitems[%zu].", place->prefix, i);
            struct place inner = *place;
            inner.prefix = prefix;
            int rc = add_object(&inner, named_item(place->ci, value, item), depth + 1, err);
            if (rc)
                return rc;
        }
        return 0;
    }
    if (!kind || !ek_json_str(value, "apiVersion", NULL)) {
        place->ci->n_skipped += place->ci->skip_unknown;
        return place->ci->skip_unknown
                   ? 0
                   : ek_err_set(
                         err, EK_E_INVAL,
                         "%s: document %zu is not a Kubernetes object: apiVersion or kind is "
                         "missing",
                         place->source, place->number);
    }
    objects->list = ek_xrealloc(objects->list, objects->n + 1, sizeof *objects->list);
    objects->list[objects->n++] =
        (struct ek_ci_object){.value = value,
                              .seen = value,
                              .source = place->source,
                              .file = place->file,
                              .number = place->number,
                              .prefix = ek_arena_strdup(place->ci->arena, place->prefix)};
    ek_ci_fields_check(place->ci, &objects->list[objects->n - 1], line_of, place);
    return 0;
}

/* One value is a document, a list of values is as many. */
static void take_value(yyjson_mut_doc *all, yyjson_val *value)
{
    yyjson_mut_val *root = yyjson_mut_doc_get_root(all);
    yyjson_val *item;
    size_t i, n;

    if (yyjson_is_obj(value))
        yyjson_mut_arr_append(root, yyjson_val_mut_copy(all, value));
    yyjson_arr_foreach(value, i, n, item)
        yyjson_mut_arr_append(root, yyjson_val_mut_copy(all, item));
}

/* A file of JSON on its way. */
struct json_file {
    struct ek_ci *ci;
    struct ek_ci_file *file;
    yyjson_mut_doc *all; /* of all documents so far */
};

static bool add_twin(void *ctx, const char *path)
{
    const struct json_file *json = ctx;
    struct ek_ci_file *file = json->file;
    size_t number = yyjson_mut_arr_size(yyjson_mut_doc_get_root(json->all)) + 1;

    if (file->n_twins == TWINS_MAX || !path) {
        json->ci->has_more_twins = true;
        return false;
    }
    if (*path == '[') { /* items of a list are documents */
        char *end;
        number += strtoul(path + 1, &end, 10);
        path = end + strspn(end, "].");
    }
    file->twins = ek_xrealloc(file->twins, file->n_twins + 1, sizeof *file->twins);
    file->twins[file->n_twins++] =
        (struct ek_ci_twin){number, ek_arena_strdup(json->ci->arena, path)};
    return true;
}

static int take_text(void *ctx, const struct ek_manifest_document *document, struct ek_err *err)
{
    struct json_file *json = ctx;
    yyjson_doc *one =
        ek_json_parse_twins(document->text.p, document->text.len, add_twin, json, err);

    if (!one)
        return err->code;
    ek_json_write_whole(one); /* kubectl decodes the text and writes it again */
    take_value(json->all, yyjson_doc_get_root(one));
    yyjson_doc_free(one);
    return 0;
}

/* JSON values behind each other, as kubectl reads them. */
static int parse_json(struct ek_ci *ci, struct ek_ci_file *file, yyjson_doc **ret_doc,
                      struct ek_err *err)
{
    struct json_file json = {ci, file, ek_json_doc_new()};

    yyjson_mut_doc_set_root(json.all, yyjson_mut_arr(json.all));
    int rc = ek_manifest_each_value(file->text, file->len, take_text, &json, err);
    *ret_doc = rc ? NULL : yyjson_mut_doc_imut_copy(json.all, NULL);
    yyjson_mut_doc_free(json.all);
    if (rc)
        file->n_twins = 0;
    return rc || *ret_doc ? rc : ek_err_set(err, EK_E_NOMEM, "no memory");
}

static bool has_separator(const char *text)
{
    return !strncmp(text, "---", 3) || strstr(text, "\n---");
}

/* A text that begins as JSON may be YAML all the same, and so may documents of JSON with "---"
 * between them be in a file of JSON (apimachinery/pkg/util/yaml/decoder.go: YAMLOrJSONDecoder). */
static int parse(struct ek_ci *ci, const char *path, struct ek_ci_file *file, yyjson_doc **ret_doc,
                 struct ek_err *err)
{
    struct ek_err ignored = {0};

    file->json = ek_ends_with(path, ".json");
    if (file->json && !has_separator(file->text))
        return parse_json(ci, file, ret_doc, err);
    file->json = file->text[strspn(file->text, " \t\r\n")] == '{' &&
                 !parse_json(ci, file, ret_doc, &ignored);
    return file->json ? 0 : ek_yaml_parse_all(file->text, file->len, EK_CI_FILE_MAX, ret_doc, err);
}

int ek_ci_read_documents(struct ek_ci *ci, const char *path, const char *shown,
                         yyjson_doc **ret_doc, struct ek_err *err)
{
    struct ek_ci_file *file = ek_xalloc(sizeof *file);

    *file = (struct ek_ci_file){0};
    ci->files = ek_xrealloc(ci->files, ci->n_files + 1, sizeof(struct ek_ci_file *));
    ci->files[ci->n_files++] = file;
    int rc = ek_file_read(path, EK_CI_FILE_MAX, &file->text, &file->len, err);
    if (rc)
        return rc; /* the error names the path */
    rc = parse(ci, path, file, ret_doc, err);
    file->lines =
        (struct ek_manifest_lines){.text = file->text, .len = file->len, .json = file->json};
    if (rc)
        ek_err_prefix(err, "%s", shown);
    else
        ek_ci_own(ci, *ret_doc);
    return rc;
}

static int read_file(struct ek_ci *ci, const char *path, const char *shown,
                     struct ek_ci_objects *objects, struct ek_err *err)
{
    yyjson_doc *doc;
    yyjson_val *value;
    size_t i, n;
    int rc = ek_ci_read_documents(ci, path, shown, &doc, err);

    if (rc)
        return rc;
    struct ek_ci_file *file = ci->files[ci->n_files - 1];
    const char *source = ek_arena_strdup(ci->arena, shown);
    yyjson_arr_foreach(yyjson_doc_get_root(doc), i, n, value)
    {
        struct place place = {ci, objects, source, i + 1, file, ""};
        rc = rc ? rc : add_object(&place, value, 0, err);
    }
    return rc;
}

/* Appends what a path has for one token of a pointer, and returns the value there. */
static yyjson_val *put_part(yyjson_val *in, const char *token, size_t len, struct ek_buf *path)
{
    char *name = ek_xalloc(len + 1);
    size_t n = 0;
    yyjson_val *found;

    for (size_t i = 0; i < len; i++) {
        bool escaped = token[i] == '~' && i + 1 < len;
        name[n++] = (char)(!escaped ? token[i] : token[i + 1] == '1' ? '/' : '~');
        i += escaped;
    }
    if (yyjson_is_arr(in)) {
        ek_buf_printf(path, "[%.*s]", (int)n, name);
        found = yyjson_arr_get(in, strtoul(name, NULL, 10));
    } else {
        bool plain = !memchr(name, '.', n) && !memchr(name, '[', n);
        ek_buf_printf(path, plain ? "%s%.*s" : "%s[%.*s]", path->len && plain ? "." : "", (int)n,
                      name);
        found = yyjson_obj_getn(in, name, n);
    }
    ek_free(name);
    return found;
}

size_t ek_ci_path_line(const struct ek_ci_object *object, const char *path)
{
    if (!object->file)
        return 0;
    EK_AUTOFREE char *whole = ek_xasprintf("%s%s", object->prefix, path);
    return ek_manifest_line(&object->file->lines, object->number, whole);
}

size_t ek_ci_line(const struct ek_ci_object *object, const char *pointer)
{
    yyjson_val *in = object->value;
    EK_AUTO(ek_buf) path = {0};

    ek_buf_init(&path, EK_CI_FILE_MAX);
    while (*pointer == '/') {
        size_t len = strcspn(++pointer, "/");
        in = put_part(in, pointer, len, &path);
        pointer += len;
    }
    return ek_ci_path_line(object, path.len ? ek_buf_str(&path) : "apiVersion");
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A folder that is being read, within outer: a link may lead back to it. */
struct folder {
    dev_t device;
    ino_t inode;
    int depth;
    const struct folder *outer; /* NULL for one that -f names */
};

/* outer: the folder of the path; NULL for a path that -f names. */
static int walk_path(const char *path, const struct folder *outer, ek_manifest_fn fn, void *ctx,
                     struct ek_err *err);

/* Reads the names of a folder, sorted; *ret_names and the names are owned by the caller, also after
 * an error. A name too many is an error: a file that is left out would count as checked. */
static int read_names(const char *path, DIR *dir, char ***ret_names, size_t *ret_n,
                      struct ek_err *err)
{
    struct dirent *entry;
    char **names = NULL;
    size_t n = 0;
    int rc = 0;

    errno = 0;
    while (!rc && (entry = readdir(dir)))
        if (*entry->d_name != '.' && n == FOLDER_FILES_MAX) {
            rc = ek_err_set(err, EK_E_LIMIT,
                            "%s: the folder has more than %d entries: split the folder, or name "
                            "the files and folders below the folder one by one",
                            path, FOLDER_FILES_MAX);
        } else if (*entry->d_name != '.') {
            names = ek_xrealloc(names, n + 1, sizeof(char *));
            names[n++] = ek_xstrdup(entry->d_name);
            errno = 0;
        }
    if (!rc && errno)
        rc = ek_err_set(err, EK_E_IO, "%s: the folder cannot be read: %s", path, strerror(errno));
    if (n)
        qsort(names, n, sizeof(char *), by_name);
    *ret_names = names;
    *ret_n = n;
    return rc;
}

/* The manifests of a folder in the order of their names, folders within included. */
static int walk_folder(const char *path, const struct folder *folder, ek_manifest_fn fn, void *ctx,
                       struct ek_err *err)
{
    DIR *dir = folder->depth < FOLDER_DEPTH_MAX ? opendir(path) : NULL;
    char **names = NULL;
    size_t n = 0;

    if (!dir)
        return ek_err_set(err, EK_E_INVAL, "%s: the folder cannot be read", path);
    int rc = read_names(path, dir, &names, &n, err);
    closedir(dir);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(path);
        EK_AUTOFREE char *inner =
            ek_xasprintf("%s%s%s", path, len && path[len - 1] == '/' ? "" : "/", names[i]);
        if (!rc)
            rc = walk_path(inner, folder, fn, ctx, err);
        ek_free(names[i]);
    }
    ek_free(names);
    return rc;
}

static int walk_path(const char *path, const struct folder *outer, ek_manifest_fn fn, void *ctx,
                     struct ek_err *err)
{
    bool named = !outer;
    struct stat st;

    if (stat(path, &st) != 0)
        st.st_mode = S_IFREG; /* reading it has the error */
    if (S_ISDIR(st.st_mode)) {
        struct folder folder = {st.st_dev, st.st_ino, outer ? outer->depth + 1 : 0, outer};
        while (outer && (outer->device != st.st_dev || outer->inode != st.st_ino))
            outer = outer->outer;
        return outer ? 0 : walk_folder(path, &folder, fn, ctx, err);
    }
    /* What waits for a writer is read where it is named. */
    if (!named && !S_ISREG(st.st_mode))
        return 0;
    if (!named && !ek_ends_with(path, ".yaml") && !ek_ends_with(path, ".yml") &&
        !ek_ends_with(path, ".json"))
        return 0;
    return fn(ctx, path, path, err);
}

int ek_manifests_each(const char *path, ek_manifest_fn fn, void *ctx, struct ek_err *err)
{
    return strcmp(path, "-") != 0 ? walk_path(path, NULL, fn, ctx, err)
                                  : fn(ctx, "/dev/stdin", "standard input", err);
}

struct reading {
    struct ek_ci *ci;
    struct ek_ci_objects *objects;
};

static int read_one(void *ctx, const char *path, const char *shown, struct ek_err *err)
{
    const struct reading *r = ctx;

    return read_file(r->ci, path, shown, r->objects, err);
}

int ek_ci_read(struct ek_ci *ci, const char *path, struct ek_ci_objects *objects,
               struct ek_err *err)
{
    struct reading r = {ci, objects};
    bool is_stdin = !strcmp(path, "-");

    if (is_stdin && ci->stdin_taken)
        return ek_err_set(err, EK_E_INVAL, "the standard input can be read only once");
    ci->stdin_taken |= is_stdin;
    return ek_manifests_each(path, read_one, &r, err);
}
