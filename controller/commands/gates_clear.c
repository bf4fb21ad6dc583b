/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `evenkeel gates clear`: removes the values of gates from the stored objects of their kind, so
 * that a field can be retired. One object after another, in pages of a list; each patch holds only
 * for the resourceVersion that was listed.
 */
#include <string.h>

#include "controller/cli/output.h"
#include "controller/commands/gates-internal.h"
#include "controller/commands/wait.h"
#include "controller/fieldgates/census.h"
#include "reconcilers/fieldgates/census.h"

#define BODY_MAX ((size_t)64 << 20)
#define ROWS_MAX 1000 /* objects that the report names */

/* What becomes of an object's values. */
enum result { WOULD_BE_CLEARED, CLEARED, CHANGED_MEANWHILE, PUT_BACK, FAILED };

struct clearing {
    const struct ek_gates_options *options;
    const struct ek_gates_input *input;
    struct ek_wait wait;
    yyjson_mut_doc *doc; /* the report */
    yyjson_mut_val *rows;
    size_t objects, held, cleared, failed;
};

static bool is_dry(const struct clearing *c, const char *how)
{
    return !strcmp(c->options->dry_run, how);
}

/* ---- Which gates ---- */

static int check_gate(const struct ek_gates_input *input, const char *name, struct ek_err *err)
{
    const struct ek_gate *gate = ek_gates_find(input->gates, name);

    if (!gate)
        return ek_err_set(err, EK_E_NOENT, "%s has no gate %s", input->gates->name, name);
    if (gate->on && gate->stage != EK_GATE_DEPRECATED)
        return ek_err_set(err, EK_E_INVAL,
                          "gate %s is on and not deprecated: its fields are in use", name);
    if (!gate->on && !gate->removable)
        return ek_err_set(err, EK_E_INVAL,
                          "gate %s is off, and its values are frozen: set allowRemoval of the gate "
                          "to true first",
                          name);
    return 0;
}

static int check(const struct ek_gates_options *o, int n, struct ek_err *err)
{
    if (n != 1)
        return ek_err_set(err, EK_E_INVAL, "gates clear needs the NAME of one CustomFeatureGates");
    if (!o->gates.n)
        return ek_err_set(err, EK_E_INVAL, "gates clear needs the gates to clear: --gate GATE");
    if (o->files.n || o->crds.n || *o->old || *o->new)
        return ek_err_set(err, EK_E_INVAL,
                          "gates clear works on the cluster: without --filename, --crd, --old and "
                          "--new");
    return 0;
}

static int check_gates(const struct clearing *c, struct ek_err *err)
{
    int rc = 0;

    if (!c->input->resolved)
        return ek_err_set(err, EK_E_NOENT, "there is no CustomResourceDefinition %s",
                          c->input->gates->name);
    for (size_t i = 0; i < c->options->gates.n && !rc; i++)
        rc = check_gate(c->input, c->options->gates.items[i], err);
    return rc;
}

/* ---- One object ---- */

static void add_row(struct clearing *c, yyjson_val *object, const struct ek_gate *gate,
                    enum result result)
{
    static const char *const texts[] = {
        [WOULD_BE_CLEARED] = "would be cleared",
        [CLEARED] = "cleared",
        [CHANGED_MEANWHILE] = "changed meanwhile",
        [PUT_BACK] = "put back",
        [FAILED] = "failed",
    };
    bool fine = result <= CLEARED;

    c->cleared += fine;
    c->failed += !fine;
    if (yyjson_mut_arr_size(c->rows) == ROWS_MAX)
        return;
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(c->doc, c->rows);
    const char *namespace = ek_json_str(object, "metadata", "namespace", NULL);
    const char *name = ek_json_str(object, "metadata", "name", NULL);
    if (namespace)
        yyjson_mut_obj_add_strcpy(c->doc, row, "namespace", namespace);
    yyjson_mut_obj_add_strcpy(c->doc, row, "name", name ? name : "");
    yyjson_mut_obj_add_strcpy(c->doc, row, "gate", gate->name);
    yyjson_mut_obj_add_str(c->doc, row, "result", texts[result]);
    if (result == FAILED)
        yyjson_mut_obj_add_strcpy(c->doc, row, "message", c->wait.err.message);
}

static void put_path(const struct clearing *c, yyjson_val *object, bool status, struct ek_buf *out)
{
    const struct ek_gates_crd *crd = &c->input->resolution.crd;
    const char *namespace = ek_json_str(object, "metadata", "namespace", NULL);
    const char *name = ek_json_str(object, "metadata", "name", NULL);

    ek_buf_printf(out, "/apis/%s/%s/", crd->group, crd->storage);
    if (namespace) {
        ek_buf_puts(out, "namespaces/");
        ek_uri_escape(out, namespace);
        ek_buf_puts(out, "/");
    }
    ek_buf_printf(out, "%s/", crd->plural);
    ek_uri_escape(out, name ? name : "");
    ek_buf_printf(out, "%s?fieldManager=evenkeel-clear%s", status ? "/status" : "",
                  is_dry(c, "server") ? "&dryRun=All" : "");
}

/* The patch of that part, as text; NULL when there is nothing to remove. Owned. */
static char *patch_text(const struct clearing *c, const struct ek_gate *gate, yyjson_val *object,
                        bool status)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *patch =
        ek_gate_clear_patch(gate, object, c->input->resolution.crd.shape.has_status, status, doc);
    char *text =
        patch ? yyjson_mut_val_write_opts(patch, YYJSON_WRITE_NOFLAG, &ek_json_xalc, NULL, NULL)
              : NULL;

    yyjson_mut_doc_free(doc);
    return text;
}

/* Keeps the object that a removal has left, which has another resourceVersion. A dry run leaves the
 * object as it was. */
static void renew(const struct clearing *c, yyjson_doc *answer, yyjson_doc **io_now)
{
    if (is_dry(c, "server")) {
        yyjson_doc_free(answer);
        return;
    }
    yyjson_doc_free(*io_now);
    *io_now = answer;
}

/* Removes the values that are written through /status, or the others. *io_now is the object as
 * earlier removals left it; NULL: as listed. */
static enum result clear_part(struct clearing *c, const struct ek_gate *gate, yyjson_val *listed,
                              bool status, yyjson_doc **io_now)
{
    yyjson_val *object = *io_now ? yyjson_doc_get_root(*io_now) : listed;
    EK_AUTOFREE char *body = patch_text(c, gate, object, status);
    EK_AUTO(ek_buf) path;

    ek_buf_init(&path, 4096);
    if (!body)
        return CLEARED;
    put_path(c, object, status, &path);
    const struct ek_request request = {.method = "PATCH",
                                       .path = ek_buf_str(&path),
                                       .content_type = *body == '['
                                                           ? "application/json-patch+json"
                                                           : "application/merge-patch+json",
                                       .body = body,
                                       .body_size = strlen(body)};
    int rc = ek_wait_send(&c->wait, &request);
    if (rc)
        return rc == EK_E_CONFLICT ? CHANGED_MEANWHILE : rc == EK_E_NOENT ? CLEARED : FAILED;
    EK_AUTOFREE char *rest = patch_text(c, gate, yyjson_doc_get_root(c->wait.doc), status);
    renew(c, c->wait.doc, io_now);
    return rest ? PUT_BACK : CLEARED;
}

static enum result clear_object(struct clearing *c, const struct ek_gate *gate, yyjson_val *listed,
                                yyjson_doc **io_now)
{
    if (is_dry(c, "client"))
        return WOULD_BE_CLEARED;
    enum result result = clear_part(c, gate, listed, false, io_now);
    if (result == CLEARED)
        result = clear_part(c, gate, listed, true, io_now);
    return result == CLEARED && is_dry(c, "server") ? WOULD_BE_CLEARED : result;
}

/* ---- All objects ---- */

static void clear_page(struct clearing *c, yyjson_val *list)
{
    yyjson_val *item;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(list, "items"), i, n, item)
    {
        yyjson_doc *now = NULL;
        c->objects++;
        for (size_t k = 0; k < c->options->gates.n; k++) {
            const struct ek_gate *gate = ek_gates_find(c->input->gates, c->options->gates.items[k]);
            if (!ek_gate_holds(gate, item))
                continue;
            c->held++;
            add_row(c, item, gate, clear_object(c, gate, item, &now));
        }
        yyjson_doc_free(now);
    }
}

static int clear_all(struct clearing *c)
{
    EK_AUTOFREE char *next = ek_xstrdup("");

    do {
        EK_AUTO(ek_buf) path;
        ek_buf_init(&path, EK_GATES_CENSUS_PATH_MAX);
        ek_gates_census_path(&c->input->resolution.crd, next, EK_GATES_CENSUS_PAGE, &path);
        int rc = ek_wait_get(&c->wait, ek_buf_str(&path));
        if (rc)
            return rc;
        yyjson_doc *page = c->wait.doc;
        clear_page(c, yyjson_doc_get_root(page));
        ek_free(next);
        next = ek_xstrdup(ek_gates_census_next(yyjson_doc_get_root(page)));
        yyjson_doc_free(page);
    } while (*next);
    return 0;
}

/* ---- The report ---- */

static int put_table(void *ctx, yyjson_val *report, bool color, struct ek_buf *out)
{
    EK_TEXT_TABLE(table, "namespace", "name", "gate", "result");
    yyjson_val *row;
    size_t i, n;

    (void)ctx;
    yyjson_arr_foreach(yyjson_obj_get(report, "values"), i, n, row)
    {
        const char *result = ek_json_text(row, "result"), *message = ek_json_text(row, "message");
        EK_AUTOFREE char *whole = ek_xasprintf("%s%s%s", result, *message ? ": " : "", message);
        const char *cells[] = {ek_json_text(row, "namespace"), ek_json_text(row, "name"),
                               ek_json_text(row, "gate"), whole};
        ek_text_table_row(table, cells);
    }
    if (ek_text_table_size(table))
        ek_text_table_write(table, color, out);
    unsigned long long held = yyjson_get_uint(yyjson_obj_get(report, "held"));
    if (held > n)
        ek_buf_printf(out, "and %llu more\n", held - n);
    bool dry = strcmp(ek_json_text(report, "dryRun"), "none") != 0;
    return ek_buf_printf(out, "%llu objects, %llu values of these gates, %llu %s, %llu failed\n",
                         (unsigned long long)yyjson_get_uint(yyjson_obj_get(report, "objects")),
                         held,
                         (unsigned long long)yyjson_get_uint(yyjson_obj_get(report, "cleared")),
                         dry ? "would be cleared" : "cleared",
                         (unsigned long long)yyjson_get_uint(yyjson_obj_get(report, "failed")));
}

static int print(struct clearing *c)
{
    yyjson_mut_val *root = yyjson_mut_obj(c->doc);

    yyjson_mut_doc_set_root(c->doc, root);
    yyjson_mut_obj_add_strcpy(c->doc, root, "name", c->input->gates->name);
    yyjson_mut_obj_add_strcpy(c->doc, root, "dryRun", c->options->dry_run);
    yyjson_mut_obj_add_uint(c->doc, root, "objects", c->objects);
    yyjson_mut_obj_add_uint(c->doc, root, "held", c->held);
    yyjson_mut_obj_add_uint(c->doc, root, "cleared", c->cleared);
    yyjson_mut_obj_add_uint(c->doc, root, "failed", c->failed);
    yyjson_mut_obj_add_val(c->doc, root, "values", c->rows);
    yyjson_doc *report = yyjson_mut_doc_imut_copy(c->doc, NULL);
    int code = ek_print(&c->options->print, yyjson_doc_get_root(report), put_table, NULL);
    yyjson_doc_free(report);
    return code ? code : c->failed ? EK_CI_EXIT_FOUND : EK_EXIT_OK;
}

int ek_gates_clear(const struct ek_gates_options *options, char *const *names, int n_names)
{
    struct ek_gates_options whole = *options;
    struct clearing c = {.options = options, .wait = {.max_body = BODY_MAX}};
    struct ek_err err = {0};
    EK_AUTO(ek_gates_inputs) in = {0};

    whole.cluster = true;
    if (check(options, n_names, &err) || ek_gates_inputs_init(&in, &whole, names, n_names, &err))
        return ek_ci_complain(&err);
    c.input = &in.list[0];
    if (check_gates(&c, &err))
        return ek_ci_complain(&err);
    c.doc = ek_json_doc_new();
    c.rows = yyjson_mut_arr(c.doc);
    int rc = ek_wait_open(&c.wait, &options->which);
    rc = rc ? rc : clear_all(&c);
    ek_wait_close(&c.wait);
    /* A failure hides nothing of what was cleared before. */
    int code = !rc || c.objects ? print(&c) : EK_EXIT_OK;
    if (rc)
        code = ek_ci_complain(&c.wait.err);
    yyjson_mut_doc_free(c.doc);
    return code;
}
