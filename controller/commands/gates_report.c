/* SPDX-License-Identifier: Apache-2.0 */
/* Effective states of gates, and what is wrong with them: as data, and for people. */
#include <string.h>

#include "api/base/quote.h"
#include "api/cond.h"
#include "controller/cli/output.h"
#include "controller/commands/gates-internal.h"

/* Notes that need no action. */
static bool is_information(enum ek_gate_finding_kind kind)
{
    return kind == EK_GATE_PATH_MAP_KEY;
}

/* ---- As data ---- */

static void add_setting(yyjson_mut_doc *doc, yyjson_mut_val *v, const char *key,
                        enum ek_gate_setting setting)
{
    if (setting != EK_GATE_UNSET)
        yyjson_mut_obj_add_bool(doc, v, key, setting == EK_GATE_TRUE);
}

static bool is_refused(const struct ek_gates_input *input, const char *gate)
{
    for (size_t i = 0; i < input->resolution.n_refused; i++)
        if (!strcmp(input->resolution.refused[i], gate))
            return true;
    return false;
}

static void add_gate(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct ek_gates_input *input,
                     const struct ek_gate *gate)
{
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, list);

    yyjson_mut_obj_add_strcpy(doc, v, "name", gate->name);
    yyjson_mut_obj_add_str(doc, v, "preRelease", ek_gate_stage_name(gate->stage));
    add_setting(doc, v, "enabled", gate->enabled);
    add_setting(doc, v, "default", gate->initial);
    yyjson_mut_obj_add_str(doc, v, "state", gate->on ? "On" : "Off");
    yyjson_mut_obj_add_int(doc, v, "rule", (int)gate->rule);
    yyjson_mut_obj_add_str(doc, v, "reason", ek_gate_rule_text(gate->rule, gate->on));
    if (is_refused(input, gate->name))
        yyjson_mut_obj_add_bool(doc, v, "refused", true);
    if (gate->ignore_failures)
        yyjson_mut_obj_add_str(doc, v, "failurePolicy", "Ignore");
    yyjson_mut_val *paths = yyjson_mut_obj_add_arr(doc, v, "fieldPaths");
    for (size_t i = 0; i < gate->n_paths; i++)
        yyjson_mut_arr_add_strcpy(doc, paths, gate->paths[i].text);
}

/* What keeps a gate from its work, or other writes from theirs. */
static bool is_error(const struct ek_gate_finding *finding)
{
    return finding->refused || finding->guarded;
}

static void add_finding(yyjson_mut_doc *doc, yyjson_mut_val *list,
                        const struct ek_gate_finding *finding)
{
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, list);

    yyjson_mut_obj_add_str(doc, v, "severity",
                           is_error(finding)               ? "error"
                           : is_information(finding->kind) ? "info"
                                                           : "warning");
    yyjson_mut_obj_add_str(doc, v, "type", ek_gate_finding_name(finding->kind));
    yyjson_mut_obj_add_strcpy(doc, v, "gate", finding->gate->name);
    yyjson_mut_obj_add_strcpy(doc, v, "path", finding->path->text);
    yyjson_mut_obj_add_strcpy(doc, v, "version", finding->version);
    yyjson_mut_obj_add_strcpy(doc, v, "message", finding->message);
}

static void add_crd(yyjson_mut_doc *doc, yyjson_mut_val *v, const struct ek_gates_input *input)
{
    const struct ek_gates_crd *crd = &input->resolution.crd;

    if (input->crd_wanted)
        yyjson_mut_obj_add_bool(doc, v, "crdFound", input->resolved);
    if (!input->resolved)
        return;
    yyjson_mut_val *c = yyjson_mut_obj_add_obj(doc, v, "crd");
    yyjson_mut_obj_add_strcpy(doc, c, "kind", crd->kind);
    yyjson_mut_obj_add_strcpy(doc, c, "storageVersion", crd->storage);
    yyjson_mut_val *served = yyjson_mut_obj_add_arr(doc, c, "servedVersions");
    for (size_t i = 0; i < crd->n_served; i++)
        yyjson_mut_arr_add_strcpy(doc, served, crd->served[i]);
}

/* What a running Evenkeel says of it. */
static void add_enforced(yyjson_mut_doc *doc, yyjson_mut_val *v, yyjson_val *object)
{
    static const char *const keys[] = {"status", "reason", "message"};
    yyjson_val *condition =
        ek_cond_find(ek_json_get(object, "status", "conditions", NULL), "Enforced");

    if (!condition)
        return;
    yyjson_mut_val *e = yyjson_mut_obj_add_obj(doc, v, "enforced");
    for (size_t i = 0; i < EK_ARRAY_SIZE(keys); i++) {
        const char *text = ek_json_str(condition, keys[i], NULL);
        yyjson_mut_obj_add_strcpy(doc, e, keys[i], text ? text : "");
    }
}

static void add_notes(yyjson_mut_doc *doc, yyjson_mut_val *v, const struct ek_gates_input *input)
{
    const struct ek_gates *gates = input->gates;
    yyjson_mut_val *notes = yyjson_mut_obj_add_arr(doc, v, "notes");

    for (size_t i = 0; i < gates->n_gates; i++) {
        if (!gates->gates[i].ignored_enabled)
            continue;
        EK_AUTOFREE char *text =
            ek_xasprintf("gate %s: enabled: false is ignored, because stable gates are always on",
                         gates->gates[i].name);
        yyjson_mut_arr_add_strcpy(doc, notes, text);
    }
    if (input->crd_wanted && !input->resolved)
        yyjson_mut_arr_add_str(doc, notes,
                               "there is no CustomResourceDefinition of this name: paths are not "
                               "looked up");
}

static void add_lists(yyjson_mut_doc *doc, yyjson_mut_val *v, const struct ek_gates_input *input,
                      struct ek_gates_totals *totals)
{
    const struct ek_gates *gates = input->gates;
    yyjson_mut_val *problems = yyjson_mut_obj_add_arr(doc, v, "problems");

    for (size_t i = 0; i < gates->n_problems; i++)
        yyjson_mut_arr_add_strcpy(doc, problems, gates->problems[i]);
    yyjson_mut_val *findings = yyjson_mut_obj_add_arr(doc, v, "findings");
    for (size_t i = 0; i < input->resolution.n_findings; i++) {
        const struct ek_gate_finding *f = &input->resolution.findings[i];
        add_finding(doc, findings, f);
        totals->errors += is_error(f);
        totals->warnings += !is_error(f) && !is_information(f->kind);
    }
    add_notes(doc, v, input);
    totals->errors += gates->n_problems;
    totals->warnings += input->crd_wanted && !input->resolved;
}

static void add_definition(yyjson_mut_doc *doc, yyjson_mut_val *list,
                           const struct ek_gates_input *input, struct ek_gates_totals *totals)
{
    const struct ek_gates *gates = input->gates;
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, list);

    yyjson_mut_obj_add_strcpy(doc, v, "name", gates->name);
    yyjson_mut_obj_add_strcpy(doc, v, "source", input->source);
    if (*gates->component)
        yyjson_mut_obj_add_strcpy(doc, v, "component", gates->component);
    yyjson_mut_obj_add_str(doc, v, "onDisabled",
                           gates->on_disabled == EK_GATES_REJECT ? "Reject" : "Suppress");
    add_crd(doc, v, input);
    add_enforced(doc, v, input->object);
    yyjson_mut_val *array = yyjson_mut_obj_add_arr(doc, v, "gates");
    for (size_t i = 0; i < gates->n_gates; i++)
        add_gate(doc, array, input, &gates->gates[i]);
    add_lists(doc, v, input, totals);
}

yyjson_doc *ek_gates_report(const struct ek_gates_inputs *in, struct ek_gates_totals *ret_totals)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);

    *ret_totals = (struct ek_gates_totals){0};
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "definitions");
    for (size_t i = 0; i < in->n; i++)
        add_definition(doc, list, &in->list[i], ret_totals);
    yyjson_mut_obj_add_uint(doc, root, "errors", ret_totals->errors);
    yyjson_mut_obj_add_uint(doc, root, "warnings", ret_totals->warnings);
    yyjson_doc *ret = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_mut_doc_free(doc);
    return ret;
}

/* ---- For people ---- */

static const char *setting_text(yyjson_val *gate, const char *key)
{
    yyjson_val *v = yyjson_obj_get(gate, key);
    return !v ? "-" : yyjson_is_true(v) ? "true" : "false";
}

static void add_row(struct ek_text_table *table, yyjson_val *gate)
{
    bool on = !strcmp(ek_json_text(gate, "state"), "On");
    bool refused = yyjson_is_true(yyjson_obj_get(gate, "refused"));
    const char *stage = ek_json_text(gate, "preRelease");
    yyjson_val *path;
    size_t i, n;
    EK_AUTO(ek_buf) paths;
    EK_AUTO(ek_buf) rule;

    ek_buf_init(&paths, (size_t)1 << 20);
    ek_buf_init(&rule, 1024);
    yyjson_arr_foreach(yyjson_obj_get(gate, "fieldPaths"), i, n, path)
        ek_buf_printf(&paths, "%s%s", i ? ", " : "", yyjson_get_str(path));
    ek_buf_printf(&rule, "%d: %s", (int)yyjson_get_int(yyjson_obj_get(gate, "rule")),
                  ek_json_text(gate, "reason"));
    const char *cells[] = {ek_json_text(gate, "name"),
                           *stage ? stage : "?",
                           setting_text(gate, "enabled"),
                           setting_text(gate, "default"),
                           refused ? on ? "On (refused)" : "Off (refused)"
                           : on    ? "On"
                                   : "Off",
                           ek_buf_str(&rule),
                           ek_buf_str(&paths)};
    ek_text_table_row(table, cells);
    ek_text_table_style(table, 4, refused ? EK_CELL_BAD : on ? EK_CELL_GOOD : EK_CELL_WARN);
}

static void put_title(yyjson_val *d, struct ek_buf *out)
{
    yyjson_val *crd = yyjson_obj_get(d, "crd"), *enforced = yyjson_obj_get(d, "enforced");

    ek_quote_printf(out, "%s (%s)", ek_json_text(d, "name"), ek_json_text(d, "source"));
    if (crd)
        ek_quote_printf(out, ", stored as %s %s", ek_json_text(crd, "kind"),
                        ek_json_text(crd, "storageVersion"));
    if (!strcmp(ek_json_text(d, "onDisabled"), "Reject"))
        ek_buf_puts(out, ", denies writes to fields that are off");
    if (enforced)
        ek_quote_printf(out, ", enforced: %s (%s)", ek_json_text(enforced, "status"),
                        ek_json_text(enforced, "reason"));
    ek_buf_puts(out, "\n");
}

static void put_severity(const char *severity, bool color, struct ek_buf *out)
{
    const char *paint = *severity == 'e' ? "\033[31m" : *severity == 'w' ? "\033[33m" : "\033[2m";

    ek_buf_printf(out, "%s%s%s: ", color ? paint : "", severity, color ? "\033[0m" : "");
}

static void put_lists(yyjson_val *d, bool color, struct ek_buf *out)
{
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(d, "problems"), i, n, v)
    {
        put_severity("error", color, out);
        ek_quote_printf(out, "%s\n", yyjson_get_str(v));
    }
    yyjson_arr_foreach(yyjson_obj_get(d, "findings"), i, n, v)
    {
        put_severity(ek_json_text(v, "severity"), color, out);
        ek_quote_printf(out, "gate %s: %s [%s]\n", ek_json_text(v, "gate"),
                        ek_json_text(v, "message"), ek_json_text(v, "type"));
    }
    yyjson_arr_foreach(yyjson_obj_get(d, "notes"), i, n, v)
    {
        put_severity("note", color, out);
        ek_quote_printf(out, "%s\n", yyjson_get_str(v));
    }
}

static void put_definition(yyjson_val *d, bool color, struct ek_buf *out)
{
    EK_TEXT_TABLE(table, "gate", "stage", "enabled", "default", "state", "rule", "paths");
    yyjson_val *gate;
    size_t i, n;

    put_title(d, out);
    yyjson_arr_foreach(yyjson_obj_get(d, "gates"), i, n, gate) add_row(table, gate);
    if (ek_text_table_size(table))
        ek_text_table_write(table, color, out);
    put_lists(d, color, out);
    ek_buf_puts(out, "\n");
}

int ek_gates_table(void *ctx, yyjson_val *report, bool color, struct ek_buf *out)
{
    unsigned errors = (unsigned)yyjson_get_uint(yyjson_obj_get(report, "errors"));
    unsigned warnings = (unsigned)yyjson_get_uint(yyjson_obj_get(report, "warnings"));
    yyjson_val *d;
    size_t i, n;

    (void)ctx;
    yyjson_arr_foreach(yyjson_obj_get(report, "definitions"), i, n, d)
        put_definition(d, color, out);
    return ek_buf_printf(out, "%u error%s, %u warning%s\n", errors, errors == 1 ? "" : "s",
                         warnings, warnings == 1 ? "" : "s");
}
