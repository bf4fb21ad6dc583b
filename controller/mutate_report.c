/* SPDX-License-Identifier: Apache-2.0 */
/* What `evenkeel mutate` shows, and its golden files. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "api/quote.h"
#include "api/yaml.h"
#include "controller/ci-internal.h"
#include "controller/output.h"
#include "informers/file.h"

#define TEXT_MAX  ((size_t)64 << 20)
#define VALUE_MAX 60 /* characters of a value in a line */

static const char *text_of(yyjson_val *v, const char *name)
{
    const char *s = yyjson_get_str(yyjson_obj_get(v, name));
    return s ? s : "";
}

/* "apps/v1 Deployment prod/web", "apps/v1 Deployment prod/web /status". */
static void put_title(yyjson_val *object, struct ek_buf *out)
{
    const char *namespace = text_of(object, "namespace");

    const char *subresource = text_of(object, "subresource");

    ek_buf_printf(out, "%s %s %s%s%s", text_of(object, "apiVersion"), text_of(object, "kind"),
                  namespace, *namespace ? "/" : "", text_of(object, "name"));
    if (*subresource)
        ek_buf_printf(out, " /%s", subresource);
}

/* A value in a line: JSON, cut. */
static void put_value(yyjson_val *value, struct ek_buf *out)
{
    size_t len = 0;
    char *json = value ? yyjson_val_write_opts(value, 0, &ek_json_alc, &len, NULL) : NULL;

    if (!json) {
        ek_buf_puts(out, "-");
        return;
    }
    size_t cut = len > VALUE_MAX ? ek_utf8_cut((struct ek_str){json, len}, VALUE_MAX) : len;
    ek_buf_append(out, json, cut);
    ek_buf_puts(out, cut < len ? "..." : "");
    ek_free(json);
}

/* "mutations[0], [2]": which of the policy's did it. */
static void put_mutations(yyjson_val *change, struct ek_buf *out)
{
    yyjson_val *index;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(change, "mutations"), i, n, index)
        ek_buf_printf(out, "%s[%u]", i ? ", " : "mutations", (unsigned)yyjson_get_uint(index));
}

static void put_step(yyjson_val *step, struct ek_buf *out)
{
    const char *param = text_of(step, "param"), *message = text_of(step, "message");
    uint64_t pass = yyjson_get_uint(yyjson_obj_get(step, "pass"));
    yyjson_val *change;
    size_t i, n;

    ek_buf_printf(out, "#   %s", text_of(step, "policy"));
    if (*param)
        ek_buf_printf(out, " with %s", param);
    if (pass > 1)
        ek_buf_printf(out, ", pass %u", (unsigned)pass);
    ek_buf_printf(out, ": %s%s%s\n", text_of(step, "result"), *message ? ": " : "", message);
    yyjson_arr_foreach(yyjson_obj_get(step, "changes"), i, n, change)
    {
        ek_buf_printf(out, "#     %s: ", text_of(change, "path"));
        put_value(yyjson_obj_get(change, "before"), out);
        ek_buf_puts(out, " -> ");
        put_value(yyjson_obj_get(change, "after"), out);
        ek_buf_puts(out, " (");
        put_mutations(change, out);
        ek_buf_puts(out, ")\n");
    }
}

static void put_fights(yyjson_val *object, struct ek_buf *out)
{
    yyjson_val *fight, *party;
    size_t i, n, j, m;

    yyjson_arr_foreach(yyjson_obj_get(object, "fights"), i, n, fight)
    {
        ek_buf_printf(out, "#   fight over %s:", text_of(fight, "path"));
        yyjson_arr_foreach(yyjson_obj_get(fight, "parties"), j, m, party)
        {
            ek_buf_printf(out, "%s %s wants ", j ? "," : "", text_of(party, "policy"));
            put_value(yyjson_obj_get(party, "value"), out);
        }
        ek_buf_puts(out, "\n");
    }
}

static int put_diff(yyjson_val *object, bool color, struct ek_buf *out)
{
    EK_AUTO(ek_buf) before;
    EK_AUTO(ek_buf) after;
    yyjson_val *step;
    size_t i, n;

    ek_buf_init(&before, TEXT_MAX);
    ek_buf_init(&after, TEXT_MAX);
    ek_buf_puts(out, "# ");
    put_title(object, out);
    ek_buf_printf(out, " (%s): %s", text_of(object, "source"), text_of(object, "result"));
    ek_buf_printf(out, "%s%s\n", *text_of(object, "message") ? ": " : "",
                  text_of(object, "message"));
    yyjson_arr_foreach(yyjson_obj_get(object, "policies"), i, n, step) put_step(step, out);
    put_fights(object, out);
    if (strcmp(text_of(object, "result"), "changed") != 0)
        return out->failed;
    ek_yaml_write(&before, yyjson_obj_get(object, "before"), NULL);
    ek_yaml_write(&after, yyjson_obj_get(object, "object"), NULL);
    ek_buf_printf(out, "--- %s\n+++ mutated\n", text_of(object, "source"));
    return ek_text_diff(ek_buf_str(&before), ek_buf_str(&after), color, out);
}

int ek_mutate_diff(void *ctx, yyjson_val *report, bool color, struct ek_buf *out)
{
    yyjson_val *object;
    size_t i, n;

    (void)ctx;
    yyjson_arr_foreach(yyjson_obj_get(report, "objects"), i, n, object)
    {
        ek_buf_puts(out, i ? "\n" : "");
        put_diff(object, color, out);
    }
    return out->failed;
}

static void add_row(struct ek_table *table, yyjson_val *object, const char *result,
                    const char *policy, yyjson_val *change)
{
    EK_AUTO(ek_buf) title;
    EK_AUTO(ek_buf) mutations;
    EK_AUTO(ek_buf) before;
    EK_AUTO(ek_buf) after;

    ek_buf_init(&title, TEXT_MAX);
    ek_buf_init(&mutations, TEXT_MAX);
    ek_buf_init(&before, TEXT_MAX);
    ek_buf_init(&after, TEXT_MAX);
    put_title(object, &title);
    if (change) {
        put_value(yyjson_obj_get(change, "before"), &before);
        put_value(yyjson_obj_get(change, "after"), &after);
        put_mutations(change, &mutations);
    }
    const char *cells[] = {ek_buf_str(&title),
                           result,
                           policy,
                           ek_buf_str(&mutations),
                           change ? text_of(change, "path") : "",
                           ek_buf_str(&before),
                           ek_buf_str(&after)};
    ek_table_row(table, cells);
    ek_table_style(table, 1,
                   !strcmp(result, "denied")    ? EK_CELL_BAD
                   : !strcmp(result, "changed") ? EK_CELL_GOOD
                                                : EK_CELL_PLAIN);
}

int ek_mutate_table(void *ctx, yyjson_val *report, bool color, struct ek_buf *out)
{
    static const char *const headers[] = {"object", "result", "policy", "by",
                                          "path",   "before", "after"};
    EK_AUTOPTR(ek_table, ek_table_free) *table = ek_table_new(headers, EK_ARRAY_SIZE(headers));
    yyjson_val *object, *step, *change;
    size_t i, n, j, m, k, l;

    (void)ctx;
    yyjson_arr_foreach(yyjson_obj_get(report, "objects"), i, n, object)
    {
        size_t rows = ek_table_size(table);
        yyjson_arr_foreach(yyjson_obj_get(object, "policies"), j, m, step)
        {
            yyjson_val *changes = yyjson_obj_get(step, "changes");
            yyjson_arr_foreach(changes, k, l, change)
                add_row(table, object, text_of(step, "result"), text_of(step, "policy"), change);
            if (!changes && strcmp(text_of(step, "result"), "skipped") != 0)
                add_row(table, object, text_of(step, "result"), text_of(step, "policy"), NULL);
        }
        if (ek_table_size(table) == rows)
            add_row(table, object, text_of(object, "result"), "", NULL);
    }
    return ek_table_write(table, color, out);
}

int ek_mutate_yaml(yyjson_val *report, struct ek_buf *out)
{
    yyjson_val *object;
    size_t i, n;
    bool first = true;

    yyjson_arr_foreach(yyjson_obj_get(report, "objects"), i, n, object)
    {
        yyjson_val *v = yyjson_obj_get(object, "object");
        if (!v)
            continue;
        ek_buf_puts(out, first ? "" : "---\n");
        ek_yaml_write(out, v, NULL);
        first = false;
    }
    return out->failed;
}

/* ---- Golden files ---- */

/* "deployment_prod_web.yaml": letters, digits, "-", "." and "_" of the names. */
static char *golden_path(const char *folder, yyjson_val *object)
{
    const char *namespace = text_of(object, "namespace");
    const char *subresource = text_of(object, "subresource");
    char *path = ek_xasprintf("%s/%s%s%s_%s%s%s.yaml", folder, text_of(object, "kind"),
                              *namespace ? "_" : "", namespace, text_of(object, "name"),
                              *subresource ? "_" : "", subresource);

    for (char *p = path + strlen(folder) + 1; *p; p++)
        *p = isalnum((unsigned char)*p) || strchr("-._", *p) ? (char)tolower((unsigned char)*p)
                                                             : '-';
    return path;
}

static void put_golden(yyjson_val *object, struct ek_buf *out)
{
    yyjson_mut_doc *doc;
    yyjson_mut_val *root;

    if (strcmp(text_of(object, "result"), "denied") != 0) {
        ek_yaml_write(out, yyjson_obj_get(object, "object"), NULL);
        return;
    }
    doc = ek_json_doc_new();
    root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "denied", text_of(object, "message"));
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

static int compare_golden(const char *path, const struct ek_buf *got, struct ek_err *err)
{
    EK_AUTO(ek_buf) shown;
    EK_AUTO(ek_buf) diff;
    EK_AUTOFREE char *golden = NULL;
    struct stat st;
    size_t len = 0;

    ek_buf_init(&shown, TEXT_MAX);
    ek_buf_init(&diff, TEXT_MAX);
    if (stat(path, &st) != 0) {
        fprintf(stderr, "evenkeel: %s is missing: write it with --update-golden\n", path);
        return 1;
    }
    int rc = ek_file_read(path, TEXT_MAX, &golden, &len, err);
    if (rc)
        return rc;
    if (is_same(golden, len, ek_buf_str(got), &shown))
        return 0;
    ek_text_diff(ek_buf_str(&shown), ek_buf_str(got), false, &diff);
    fprintf(stderr, "evenkeel: %s differs:\n%s", path, ek_buf_str(&diff));
    return 1;
}

int ek_mutate_golden(const char *folder, bool update, yyjson_val *report, struct ek_err *err)
{
    yyjson_val *object;
    size_t i, n;
    int differ = 0;

    if (update && mkdir(folder, 0777) && errno != EEXIST)
        return ek_err_set(err, EK_E_INVAL, "%s: %s", folder, strerror(errno));
    yyjson_arr_foreach(yyjson_obj_get(report, "objects"), i, n, object)
    {
        EK_AUTO(ek_buf) text;
        EK_AUTOFREE char *path = golden_path(folder, object);
        ek_buf_init(&text, TEXT_MAX);
        put_golden(object, &text);
        int rc = update ? write_file(path, &text, err) : compare_golden(path, &text, err);
        if (rc < 0)
            return rc;
        differ += rc;
    }
    return differ;
}
