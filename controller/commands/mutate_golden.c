/* SPDX-License-Identifier: Apache-2.0 */
/* Golden files of `evenkeel mutate`: one for each result, in a folder. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "api/base/words.h"
#include "api/yaml.h"
#include "controller/cli/print.h"
#include "controller/manifests/manifests-internal.h"
#include "informers/client/file.h"

#define TEXT_MAX     ((size_t)64 << 20)
#define NAME_LEN_MAX 230 /* octets; a number and ".yaml" fit the 255 of a file name, too */

static bool is_plain(unsigned char c)
{
    return islower(c) || isdigit(c) || c == '-' || c == '.';
}

static void put_small(unsigned char c, struct ek_buf *out)
{
    ek_buf_printf(out, "%c", tolower(c));
}

/* Appends text in lower case; what is no letter, digit, "-" or "." as %XX, so that two texts differ
 * as file names, too. fold: a capital letter is the same as a small one. */
static void put_part(const char *text, bool fold, struct ek_buf *out)
{
    for (const char *p = text; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (is_plain(c) || (fold && isupper(c)))
            put_small(c, out);
        else
            ek_buf_printf(out, "%%%02X", c);
    }
}

/* A file name that a result has. */
struct name {
    char *text;    /* owned; the key in the map */
    unsigned next; /* number in the name of the next result that would have this name */
};

/* A name that file systems take, without the end: a longer one is cut, and has a hash (FNV-1a,
 * which is the same in each run) of the whole. Owned. */
static char *shorten(const struct ek_buf *text)
{
    uint64_t hash = 0xcbf29ce484222325u;

    if (text->len <= NAME_LEN_MAX)
        return ek_xstrdup(ek_buf_str(text));
    for (size_t i = 0; i < text->len; i++)
        hash = (hash ^ (unsigned char)text->data[i]) * 0x100000001b3u;
    return ek_xasprintf("%.*s~%016" PRIx64, NAME_LEN_MAX - 17, ek_buf_str(text), hash);
}

/* "deployment.apps_prod_web.yaml": kind and group, namespace, name, subresource. A name that an
 * earlier result has, of objects with generateName, gets a number: "job.batch_prod_run-_2.yaml". */
static const char *take_name(struct ek_golden *golden, yyjson_val *result)
{
    const char *api_version = ek_json_text(result, "apiVersion");
    const char *slash = strchr(api_version, '/');
    const char *parts[] = {ek_json_text(result, "namespace"), ek_json_text(result, "name"),
                           ek_json_text(result, "subresource")};
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, TEXT_MAX);
    put_part(ek_json_text(result, "kind"), true, &text);
    if (slash) {
        EK_AUTOFREE char *group = ek_xstrndup(api_version, (size_t)(slash - api_version));
        ek_buf_puts(&text, ".");
        put_part(group, false, &text);
    }
    for (size_t i = 0; i < EK_ARRAY_SIZE(parts); i++)
        if (*parts[i] || i == 1) {
            ek_buf_puts(&text, "_");
            put_part(parts[i], false, &text);
        }
    EK_AUTOFREE char *base = shorten(&text);
    char *name = ek_xasprintf("%s.yaml", base);
    struct name *first = ek_map_get(&golden->names, name);
    while (ek_map_get(&golden->names, name)) {
        ek_free(name);
        name = ek_xasprintf("%s_%u.yaml", base, first->next++);
    }
    struct name *taken = ek_xalloc(sizeof *taken);
    *taken = (struct name){name, 2};
    ek_map_put(&golden->names, name, taken);
    return name;
}

/* The object; or a summary, if the request was denied or validating policies had something to say.
 */
static void put_golden(yyjson_val *result, struct ek_buf *out)
{
    static const char *const said[] = {"warnings", "auditAnnotations"};
    bool denied = !strcmp(ek_json_text(result, "result"), "denied"), plain = !denied;
    yyjson_mut_doc *doc;
    yyjson_mut_val *root;

    for (size_t i = 0; i < EK_ARRAY_SIZE(said); i++)
        plain = plain && !yyjson_obj_get(result, said[i]);
    if (plain) {
        ek_yaml_write(out, yyjson_obj_get(result, "object"), NULL);
        return;
    }
    doc = ek_json_doc_new();
    root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    if (denied)
        yyjson_mut_obj_add_str(doc, root, "denied", ek_json_text(result, "message"));
    else
        yyjson_mut_obj_add_val(doc, root, "object",
                               yyjson_val_mut_copy(doc, yyjson_obj_get(result, "object")));
    for (size_t i = 0; i < EK_ARRAY_SIZE(said); i++)
        if (yyjson_obj_get(result, said[i]))
            yyjson_mut_obj_add_val(doc, root, said[i],
                                   yyjson_val_mut_copy(doc, yyjson_obj_get(result, said[i])));
    yyjson_doc *copy = yyjson_mut_doc_imut_copy(doc, NULL);
    ek_yaml_write(out, yyjson_doc_get_root(copy), NULL);
    yyjson_doc_free(copy);
    yyjson_mut_doc_free(doc);
}

static int write_file(const char *path, const struct ek_buf *text, struct ek_err *err)
{
    FILE *f = fopen(path, "w");

    if (!f)
        return ek_err_set(err, EK_E_INVAL, "%s: %s", path, strerror(errno));
    bool ok = fwrite(ek_buf_str(text), 1, text->len, f) == text->len;
    if (fclose(f) || !ok)
        return ek_err_set(err, EK_E_INVAL, "%s cannot be written", path);
    return 0;
}

/* Golden files are data, not text: another order of members or another style is no difference. */
static bool is_same(const char *golden, size_t len, const char *got, struct ek_buf *ret_shown)
{
    yyjson_doc *a = NULL, *b = NULL;
    bool same = !ek_yaml_parse(golden, len, TEXT_MAX, &a, NULL) &&
                !ek_yaml_parse(got, strlen(got), TEXT_MAX, &b, NULL) &&
                ek_json_equal(yyjson_doc_get_root(a), yyjson_doc_get_root(b));

    if (!same && a)
        ek_yaml_write(ret_shown, yyjson_doc_get_root(a), NULL);
    yyjson_doc_free(a);
    yyjson_doc_free(b);
    return same;
}

/* Notes how the result differs, and prints it. */
static int compare_golden(struct ek_golden *golden, const char *path, const struct ek_buf *got,
                          struct ek_err *err)
{
    EK_AUTO(ek_buf) shown;
    EK_AUTOFREE char *text = NULL;
    struct stat st;
    size_t len = 0;

    ek_buf_init(&shown, TEXT_MAX);
    if (stat(path, &st) != 0) {
        golden->rule = "golden-missing";
        ek_buf_printf(&golden->text, "%s is missing: write it with --update-golden", path);
        ek_print_stderr("evenkeel: ", "%s", ek_buf_str(&golden->text));
        return 0;
    }
    int rc = ek_file_read(path, TEXT_MAX, &text, &len, err);
    if (rc || is_same(text, len, ek_buf_str(got), &shown))
        return rc;
    golden->rule = "golden-differs";
    ek_print_stderr("evenkeel: ", "%s differs:", path);
    ek_buf_printf(&golden->text, "%s differs:\n", path);
    size_t head = golden->text.len;
    ek_text_diff(ek_buf_str(&shown), ek_buf_str(got), false, &golden->text);
    fputs(ek_buf_str(&golden->text) + head, stderr);
    return 0;
}

int ek_golden_open(struct ek_golden *golden, const char *folder, bool update, struct ek_err *err)
{
    *golden = (struct ek_golden){.folder = folder, .update = update};
    ek_buf_init(&golden->text, TEXT_MAX);
    if (update && mkdir(folder, 0777) && errno != EEXIST)
        return ek_err_set(err, EK_E_INVAL, "%s: %s", folder, strerror(errno));
    return 0;
}

int ek_golden_add(struct ek_golden *golden, yyjson_val *result, struct ek_err *err)
{
    EK_AUTO(ek_buf) text;
    EK_AUTOFREE char *path = ek_xasprintf("%s/%s", golden->folder, take_name(golden, result));

    ek_buf_init(&text, TEXT_MAX);
    put_golden(result, &text);
    golden->rule = NULL;
    ek_buf_done(&golden->text);
    ek_buf_init(&golden->text, TEXT_MAX);
    if (golden->update)
        return write_file(path, &text, err);
    int rc = compare_golden(golden, path, &text, err);
    golden->differ += golden->rule != NULL;
    return rc;
}

int ek_golden_end(struct ek_golden *golden,
                  void (*on_stale)(void *ctx, const char *path, const char *text), void *ctx,
                  struct ek_err *err)
{
    struct dirent *entry;
    DIR *dir = opendir(golden->folder);

    if (!dir && errno == ENOENT)
        return 0; /* each result was reported as missing */
    if (!dir)
        return ek_err_set(err, EK_E_INVAL, "%s: %s", golden->folder, strerror(errno));
    while ((entry = readdir(dir))) {
        if (*entry->d_name == '.' || !ek_ends_with(entry->d_name, ".yaml") ||
            ek_map_get(&golden->names, entry->d_name))
            continue;
        EK_AUTOFREE char *path = ek_xasprintf("%s/%s", golden->folder, entry->d_name);
        EK_AUTOFREE char *text =
            ek_xasprintf("%s is stale: no object has this result; delete the file", path);
        ek_print_stderr("evenkeel: ", "%s", text);
        on_stale(ctx, path, text);
        golden->differ++;
    }
    closedir(dir);
    return 0;
}

void ek_golden_done(struct ek_golden *golden)
{
    size_t cursor = 0;
    void *value;

    while (ek_map_next(&golden->names, &cursor, NULL, &value)) {
        struct name *name = value;
        ek_free(name->text);
        ek_free(name);
    }
    ek_map_done(&golden->names);
    ek_buf_done(&golden->text);
    *golden = (struct ek_golden){0};
}
