/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests: read document by document, so that findings have lines, and rewritten with --fix. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "api/obj.h"
#include "api/schema/builtin.h"
#include "api/yaml.h"
#include "api/yaml_place.h"
#include "controller/commands/plan-internal.h"
#include "controller/manifests/documents.h"
#include "controller/manifests/files.h"
#include "informers/client/file.h"

#define FILE_MAX       ((size_t)64 << 20)
#define SCRATCH_MAX    ((size_t)256 << 20)
#define LIST_DEPTH_MAX 4

struct files {
    const struct ek_plan_options *options;
    const struct ek_plan_target *target;
    struct ek_plan_report *report;
    struct ek_plan_counts *counts;
    struct ek_plan_fixes *fixes;
    struct ek_schema *schema; /* of the target, for --fix; NULL without */
    size_t named_len;         /* octets of the argument of -f that is read */
    struct ek_plan_kinds kinds;
};

/* A file, and the document of the file that is looked at. */
struct file {
    struct files *all;
    const char *shown;
    const char *text; /* of the whole file */
    size_t len;
    struct ek_str document;
    struct ek_yaml_places *places; /* of the document; NULL until a line is needed */
    size_t first_line;             /* of the document, from 0 */
    const char *prefix;            /* of the object within the document: "items[3]." */
    struct ek_buf fixed;           /* the file as it will be */
    size_t copied;                 /* octets of text that are in fixed */
    size_t n_fixed;
};

static struct ek_yaml_places *places_of(struct file *f)
{
    if (!f->places)
        f->places = ek_yaml_places_new(f->document.p, f->document.len);
    return f->places;
}

static size_t line_of(void *ctx, const char *path)
{
    struct file *f = ctx;
    EK_AUTOFREE char *whole = ek_xasprintf("%s%s", f->prefix, path);

    return f->first_line + ek_yaml_line(places_of(f), whole);
}

/* Checks the objects of a document. */
static void check_value(struct file *f, yyjson_val *value, const char *prefix, int depth);

static void check_root(struct file *f, yyjson_val *root)
{
    check_value(f, root, "", 0);
    ek_yaml_places_free(f->places);
    f->places = NULL;
}

/* ---- --fix ---- */

/* Where the API version of the object stands in the file, as the plain text old, in quotes or not;
 * NULL in another form. */
static const char *find_version(struct file *f, const char *old)
{
    EK_AUTOFREE char *path = ek_xasprintf("%sapiVersion", f->prefix);
    size_t start, len;

    if (!ek_yaml_octets(places_of(f), path, &start, &len))
        return NULL;
    const char *at = f->document.p + start;
    if (len >= 2 && (*at == '"' || *at == '\'') && at[len - 1] == *at) {
        at++;
        len -= 2;
    }
    return len == strlen(old) && !memcmp(at, old, len) ? at : NULL;
}

/* Replaces the API version; false when it is not of the usual form. */
static bool rewrite(struct file *f, const char *old, const char *replacement)
{
    const char *at = find_version(f, old);

    if (!at || at < f->text + f->copied)
        return false;
    ek_buf_append(&f->fixed, f->text + f->copied, (size_t)(at - f->text) - f->copied);
    ek_buf_puts(&f->fixed, replacement);
    f->copied = (size_t)(at - f->text) + strlen(old);
    f->n_fixed++;
    return !f->fixed.failed;
}

/* Rewrites the API version of an object where nothing else has to change; the finding reports the
 * result. */
static void fix(struct file *f, yyjson_val *object, size_t first)
{
    struct files *all = f->all;
    struct ek_arena *arena = all->report->arena;

    for (size_t i = first; i < all->report->n; i++) {
        struct ek_plan_finding *finding = &all->report->list[i];
        const char *why;
        if (strcmp(finding->rule, "api-removed") != 0 &&
            strcmp(finding->rule, "api-deprecated") != 0)
            continue;
        struct ek_arena *scratch = ek_arena_new(SCRATCH_MAX);
        const char *other = ek_plan_rewrite(all->target, all->schema, object, scratch, &why);
        if (other && !rewrite(f, ek_json_str(object, "apiVersion", NULL), other))
            why = "apiVersion stands in an unusual form, or the document has aliases";
        if (!why) {
            finding->severity = EK_PLAN_FIXED;
            finding->fix = ek_arena_strdup(arena, other);
        }
        finding->remedy =
            why ? ek_arena_printf(arena, "%s; not rewritten: %s", finding->remedy, why)
                : ek_arena_printf(arena, "rewritten to %s", other);
        ek_arena_free(scratch);
    }
}

/* ---- Documents ---- */

static void note_kind(struct file *f, yyjson_val *value)
{
    struct ek_plan_kind *kind = ek_plan_kinds_note(&f->all->kinds, value);

    if (kind->n > 1)
        return;
    kind->source = ek_xstrdup(f->shown);
    kind->line = line_of(f, "apiVersion");
}

static void check_value(struct file *f, yyjson_val *value, const char *prefix, int depth)
{
    struct files *all = f->all;
    const char *kind = ek_json_str(value, "kind", NULL);
    yyjson_val *items = yyjson_obj_get(value, "items"), *item;
    size_t i, n, first = all->report->n, len = kind ? strlen(kind) : 0;

    if (len >= 4 && !strcmp(kind + len - 4, "List") && yyjson_is_arr(items) &&
        depth < LIST_DEPTH_MAX) {
        yyjson_arr_foreach(items, i, n, item)
        {
            EK_AUTOFREE char *inner = ek_xasprintf("%sitems[%zu].", prefix, i);
            yyjson_doc *named = ek_manifest_item(value, item);
            check_value(f, named ? yyjson_doc_get_root(named) : item, inner, depth + 1);
            yyjson_doc_free(named);
        }
        return;
    }
    if (!kind || !ek_json_str(value, "apiVersion", NULL)) {
        all->counts->skipped++;
        return;
    }
    f->prefix = prefix;
    const struct ek_plan_object object = {
        .value = value, .source = f->shown, .line = line_of, .ctx = f};
    bool ours = ek_plan_check_object(all->target, &object, all->report);
    all->counts->objects += ours;
    all->counts->others += !ours;
    if (!strcmp(kind, "CustomResourceDefinition"))
        ek_plan_kinds_define(&all->kinds, value);
    if (!ours)
        note_kind(f, value);
    if (all->fixes)
        fix(f, value, first);
}

static int check_document(void *ctx, const struct ek_manifest_document *document,
                          struct ek_err *err)
{
    struct file *f = ctx;
    yyjson_doc *doc = NULL;

    f->document = document->text;
    f->first_line = document->first_line;
    int rc = ek_yaml_parse(f->document.p, f->document.len, FILE_MAX, &doc, err);

    if (rc)
        return ek_err_prefix(err, "%s, document at line %zu", f->shown, f->first_line + 1);
    if (!yyjson_is_null(yyjson_doc_get_root(doc)))
        check_root(f, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return 0;
}

static int check_text(struct file *f, struct ek_err *err)
{
    return ek_manifest_each_document(f->text, f->len, check_document, f, err);
}

static int check_json(struct file *f, struct ek_err *err)
{
    yyjson_doc *doc = ek_json_parse(f->text, f->len, err);

    if (!doc) {
        ek_err_prefix(err, "%s", f->shown);
        return err->code;
    }
    f->document = (struct ek_str){f->text, f->len};
    check_root(f, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return 0;
}

static int check_file(void *ctx, const char *path, const char *shown, struct ek_err *err)
{
    EK_AUTOFREE char *text = NULL;
    struct files *all = ctx;
    struct file f = {.all = all, .shown = shown, .prefix = ""};
    struct stat st;
    size_t len = strlen(path);

    if (all->fixes && lstat(path, &st) != 0)
        return ek_err_set(err, EK_E_IO, "%s: %s", shown, strerror(errno));
    int rc = ek_file_read(path, FILE_MAX, &text, &f.len, err);
    if (rc)
        return rc; /* the error names the path */
    f.text = text;
    ek_buf_init(&f.fixed, FILE_MAX + FILE_MAX);
    rc = len > 5 && !strcmp(path + len - 5, ".json") ? check_json(&f, err) : check_text(&f, err);
    if (!rc && f.n_fixed) {
        rc = ek_buf_append(&f.fixed, f.text + f.copied, f.len - f.copied);
        rc = rc ? ek_err_set(err, rc, "%s: %s", shown, ek_strerror(rc))
                : ek_plan_fixes_add(all->fixes, path, all->named_len, &st, &f.fixed, err);
    }
    ek_buf_done(&f.fixed);
    return rc;
}

/* Opens the schema of the target. A newer target accepts what the newest version of the program
 * accepts in a stable API version, and --fix writes no other ("Deprecation Policy" of Kubernetes,
 * rule 2). --data brings no schema. */
static void open_schema(struct files *all)
{
    struct ek_minor to = all->target->to, newest = EK_MINOR(1, EK_BUILTIN_MINOR_MAX);

    ek_schema_builtin_open((int)(ek_minor_cmp(to, newest) > 0 ? newest : to).minor, &all->schema,
                           NULL);
}

int ek_plan_check_files(const struct ek_plan_options *options, const struct ek_plan_target *target,
                        struct ek_plan_report *report, struct ek_plan_counts *counts,
                        struct ek_plan_fixes *fixes, struct ek_err *err)
{
    struct files all = {
        .options = options, .target = target, .report = report, .counts = counts, .fixes = fixes};
    bool taken = false; /* the standard input */
    int rc = 0;

    if (fixes)
        open_schema(&all);
    for (size_t i = 0; i < options->files.n && !rc; i++) {
        all.named_len = strlen(options->files.items[i]);
        bool is_stdin = !strcmp(options->files.items[i], "-");
        if (is_stdin && (taken || fixes))
            rc = ek_err_set(err, EK_E_INVAL,
                            fixes ? "--fix cannot rewrite the standard input"
                                  : "the standard input can be read only once");
        else
            rc = ek_manifests_each(options->files.items[i], check_file, &all, err);
        taken |= is_stdin;
    }
    if (!rc)
        ek_plan_kinds_say(&all.kinds, report);
    ek_plan_kinds_done(&all.kinds);
    ek_schema_unref(all.schema);
    return rc;
}
