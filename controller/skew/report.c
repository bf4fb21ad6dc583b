/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/skew/report.h"

#include <stdio.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/cond.h"
#include "controller/cli/output.h"
#include "controller/page/page.h"
#include "reconcilers/plan/start.h"
#include "reconcilers/skew/facts.h"

/* Columns of a line of a condition's message, and rows that a list of differences gets. */
#define MESSAGE_WIDTH 100
#define ROWS_MAX      12

#define ASSUMED "assumed, not observed: proves nothing"
#define HEADING "Version skew of the control plane"

static const char *str(yyjson_val *v, const char *name)
{
    const char *s = ek_json_str(v, name, NULL);
    return s ? s : "";
}

static const char *or_dash(const char *s)
{
    return *s ? s : "-";
}

static enum ek_cell_style verdict_style(const char *verdict)
{
    if (!strcmp(verdict, "Supported"))
        return EK_CELL_GOOD;
    if (!strcmp(verdict, "Unsupported"))
        return EK_CELL_BAD;
    if (!strcmp(verdict, "AtLimit") || !strcmp(verdict, "Unknown"))
        return EK_CELL_WARN;
    return EK_CELL_FAINT;
}

/* Status of a condition: for all of ours, True is the good one. */
static enum ek_cell_style status_style(const char *status)
{
    if (!strcmp(status, "True"))
        return EK_CELL_GOOD;
    return !strcmp(status, "False") ? EK_CELL_BAD : EK_CELL_WARN;
}

/* How the tables are written: as text, or as parts of a page. */
struct form {
    bool color, page;
};

static void write_table(struct ek_buf *out, const char *title, const struct ek_text_table *table,
                        const struct form *form)
{
    if (ek_text_table_size(table) == 0)
        return;
    if (form->page) {
        ek_page_text_table(out, title, table);
        return;
    }
    ek_buf_puts(out, "\n");
    for (const char *p = title; *p; p++)
        ek_buf_append(out, (char[]){*p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p}, 1);
    ek_buf_puts(out, "\n");
    ek_text_table_write(table, form->color, out);
}

/* A version that was derived and not observed is marked, so that readers do not take it for a fact.
 */
static const char *version_cell(yyjson_val *row, const char *name, char *buf, size_t size,
                                bool *any_assumed)
{
    yyjson_val *assumed;
    size_t i, n;
    bool is_assumed = false;

    yyjson_arr_foreach(yyjson_obj_get(row, "assumed"), i, n, assumed)
    {
        const char *s = yyjson_get_str(assumed);
        is_assumed |= s && !strcmp(s, name);
    }
    *any_assumed |= is_assumed;
    snprintf(buf, size, "%s%s", or_dash(str(row, name)), is_assumed ? "*" : "");
    return buf;
}

/* Where the binary version was read, and the emulation version where that is another source. */
static const char *source_cell(yyjson_val *row, char *buf, size_t size)
{
    const char *binary = str(row, "versionSource"), *emulation = str(row, "emulationVersionSource");
    bool both = *binary && *emulation && strcmp(binary, emulation) != 0;

    snprintf(buf, size, "%s%s%s", *binary ? binary : or_dash(emulation), both ? "," : "",
             both ? emulation : "");
    return buf;
}

static const char *peer_state(yyjson_val *peer)
{
    yyjson_val *ready = yyjson_obj_get(peer, "ready");

    if (!yyjson_get_bool(yyjson_obj_get(peer, "reachable")))
        return or_dash(str(peer, "unreachableReason"));
    if (!ready)
        return "Reachable";
    return yyjson_get_bool(ready) ? "Ready" : "NotReady";
}

static bool write_peers(yyjson_val *status, const struct form *form, struct ek_buf *out)
{
    EK_TEXT_TABLE(table, "name", "address", "state", "binary", "emulation", "min-compat", "source",
                  "verdict", "reason");
    yyjson_val *peer;
    size_t i, n;
    bool assumed = false;

    yyjson_arr_foreach(yyjson_obj_get(status, "peers"), i, n, peer)
    {
        char emulation[64], min_compat[64], source[64];
        const char *state = peer_state(peer);
        const char *cells[] = {
            str(peer, "name"),
            or_dash(str(peer, "address")),
            state,
            or_dash(str(peer, "binaryVersion")),
            version_cell(peer, "emulationVersion", emulation, sizeof emulation, &assumed),
            version_cell(peer, "minCompatibilityVersion", min_compat, sizeof min_compat, &assumed),
            source_cell(peer, source, sizeof source),
            str(peer, "verdict"),
            str(peer, "reason")};
        ek_text_table_row(table, cells);
        ek_text_table_style(table, 2, strcmp(state, "Ready") != 0 ? EK_CELL_WARN : EK_CELL_GOOD);
        ek_text_table_style(table, 7, verdict_style(str(peer, "verdict")));
    }
    write_table(out, "API servers", table, form);
    return assumed;
}

static bool write_components(yyjson_val *status, const struct form *form, struct ek_buf *out)
{
    EK_TEXT_TABLE(table, "component", "name", "role", "binary", "emulation", "source", "verdict",
                  "reason");
    yyjson_val *component;
    size_t i, n;
    bool assumed = false;

    yyjson_arr_foreach(yyjson_obj_get(status, "components"), i, n, component)
    {
        char emulation[64], source[64];
        const char *role = yyjson_get_bool(yyjson_obj_get(component, "leader"))  ? "leader"
                           : yyjson_get_bool(yyjson_obj_get(component, "stale")) ? "stale"
                                                                                 : "-";
        const char *cells[] = {
            str(component, "component"),
            or_dash(str(component, "name")),
            role,
            or_dash(str(component, "binaryVersion")),
            version_cell(component, "emulationVersion", emulation, sizeof emulation, &assumed),
            source_cell(component, source, sizeof source),
            str(component, "verdict"),
            str(component, "reason")};
        ek_text_table_row(table, cells);
        ek_text_table_style(table, 6, verdict_style(str(component, "verdict")));
    }
    write_table(out, "Components", table, form);
    return assumed;
}

/* "n1, n2, n3, 12 more" */
static void name_some(yyjson_val *names, size_t total, struct ek_buf *out)
{
    yyjson_val *name;
    size_t i, n;

    yyjson_arr_foreach(names, i, n, name)
    {
        const char *s = yyjson_get_str(name);
        ek_buf_printf(out, "%s%s", i ? ", " : "", s ? s : "");
    }
    if (total > yyjson_arr_size(names) && yyjson_arr_size(names) > 0)
        ek_buf_printf(out, ", %zu more", total - yyjson_arr_size(names));
}

static void write_nodes(yyjson_val *status, const struct form *form, struct ek_buf *out)
{
    EK_TEXT_TABLE(table, "component", "version", "count", "nodes", "verdict", "reason");
    yyjson_val *group;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(status, "nodes"), i, n, group)
    {
        EK_AUTO(ek_buf) names;
        char count[32];
        size_t total = (size_t)yyjson_get_uint(yyjson_obj_get(group, "count"));
        ek_buf_init(&names, 4096);
        name_some(yyjson_obj_get(group, "names"), total, &names);
        snprintf(count, sizeof count, "%zu", total);
        const char *cells[] = {
            str(group, "component"), or_dash(str(group, "version")), count,
            ek_buf_str(&names),      str(group, "verdict"),          str(group, "reason")};
        ek_text_table_row(table, cells);
        ek_text_table_style(table, 4, verdict_style(str(group, "verdict")));
    }
    write_table(out, "Nodes", table, form);
}

/* The length of the first line of text: the words that fit into MESSAGE_WIDTH columns, at least
 * one. */
static size_t line_of(const char *text)
{
    size_t len = strcspn(text, " ");

    while (text[len]) {
        size_t more = len + strspn(text + len, " ");
        more += strcspn(text + more, " ");
        EK_AUTOFREE char *line = ek_xstrndup(text, more);
        if (ek_text_width(line) > MESSAGE_WIDTH)
            break;
        len = more;
    }
    return len;
}

/* Adds a condition; the lines of its message after the first one are rows of their own. Nothing is
 * cut, because the remedy is at the end. */
static void add_condition(struct ek_text_table *table, yyjson_val *condition, bool wrap)
{
    const char *message = str(condition, "message");
    size_t len = wrap ? line_of(message) : strlen(message);
    EK_AUTOFREE char *first = ek_xstrndup(message, len);
    const char *cells[] = {str(condition, "type"), str(condition, "status"),
                           str(condition, "reason"), first};

    ek_text_table_row(table, cells);
    ek_text_table_style(table, 1, status_style(str(condition, "status")));
    for (message += len; *(message += strspn(message, " ")); message += len) {
        len = line_of(message);
        EK_AUTOFREE char *line = ek_xstrndup(message, len);
        ek_text_table_row(table, (const char *const[]){"", "", "", line});
    }
}

static void write_conditions(yyjson_val *status, const struct form *form, struct ek_buf *out)
{
    EK_TEXT_TABLE(table, "condition", "status", "reason", "message");
    yyjson_val *condition;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(status, "conditions"), i, n, condition)
    {
        add_condition(table, condition, !form->page);
    }
    write_table(out, "Conditions", table, form);
}

/* Violations that differ in the instance alone are reported together: 30 kubelets of one rule. */
static bool same_advice(yyjson_val *a, yyjson_val *b)
{
    return !strcmp(str(a, "component"), str(b, "component")) &&
           !strcmp(str(a, "rule"), str(b, "rule")) && !strcmp(str(a, "remedy"), str(b, "remedy"));
}

static void write_violations(yyjson_val *status, struct ek_buf *out)
{
    yyjson_val *list = yyjson_obj_get(status, "violations");
    yyjson_val *violation, *previous = NULL;
    size_t i, n, number = 0, alike = 0;

    yyjson_arr_foreach(list, i, n, violation)
    {
        if (previous && same_advice(previous, violation)) {
            ek_quote_printf(out, "%s%s", alike++ ? ", " : "   also: ", str(violation, "instance"));
            continue;
        }
        if (alike)
            ek_buf_puts(out, "\n");
        alike = 0;
        ek_buf_puts(out, number ? "" : "\nVIOLATIONS\n");
        ek_quote_printf(out, "%zu. [%s] %s\n", number + 1, str(violation, "rule"),
                        str(violation, "message"));
        if (*str(violation, "remedy"))
            ek_quote_printf(out, "   -> %s\n", str(violation, "remedy"));
        previous = violation;
        number++;
    }
    if (alike)
        ek_buf_puts(out, "\n");
}

/* The last line of a list that is shown in part. */
static void write_more(yyjson_val *differences, const char *total_key, size_t shown,
                       struct ek_buf *out)
{
    uint64_t total = yyjson_get_uint(yyjson_obj_get(differences, total_key));
    if (shown > 0 && total > shown)
        ek_buf_printf(out, "... and %llu more (see -o yaml)\n",
                      (unsigned long long)(total - shown));
}

static void write_discovery(yyjson_val *differences, const struct form *form, struct ek_buf *out)
{
    EK_TEXT_TABLE(table, "group/version", "resource", "served by", "missing from");
    yyjson_val *row;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(differences, "discovery"), i, n, row)
    {
        if (i == ROWS_MAX)
            break;
        EK_AUTO(ek_buf) served;
        EK_AUTO(ek_buf) missing;
        char all[64];
        const char *resource = str(row, "resource");
        ek_buf_init(&served, 4096);
        ek_buf_init(&missing, 4096);
        name_some(yyjson_obj_get(row, "servedBy"),
                  (size_t)yyjson_get_uint(yyjson_obj_get(row, "servedByCount")), &served);
        name_some(yyjson_obj_get(row, "missingFrom"),
                  (size_t)yyjson_get_uint(yyjson_obj_get(row, "missingFromCount")), &missing);
        name_some(yyjson_obj_get(row, "differsAt"),
                  (size_t)yyjson_get_uint(yyjson_obj_get(row, "differsAtCount")), &missing);
        if (*str(row, "differs"))
            ek_buf_printf(&missing, " (other %s)", str(row, "differs"));
        snprintf(all, sizeof all, "(all %d)",
                 (int)yyjson_get_int(yyjson_obj_get(row, "resources")));
        const char *cells[] = {str(row, "groupVersion"), *resource ? resource : all,
                               ek_buf_str(&served), ek_buf_str(&missing)};
        ek_text_table_row(table, cells);
    }
    write_table(out, "Resources that API servers serve differently", table, form);
    write_more(differences, "discoveryTotal", ek_text_table_size(table), out);
}

static void write_gates(yyjson_val *differences, const struct form *form, struct ek_buf *out)
{
    static const char *const lists[][2] = {{"enabledBy", "enabledByCount"},
                                           {"disabledBy", "disabledByCount"},
                                           {"missingFrom", "missingFromCount"}};
    static const char *const keys[] = {"featureGates", "componentGates"};
    EK_TEXT_TABLE(table, "feature gate", "on", "off", "unknown to");
    yyjson_val *row;
    size_t i, n, shown = 0;

    for (size_t key = 0; key < EK_ARRAY_SIZE(keys); key++) {
        yyjson_arr_foreach(yyjson_obj_get(differences, keys[key]), i, n, row)
        {
            if (i == ROWS_MAX)
                break;
            struct ek_buf cells[3];
            const char *texts[4] = {str(row, "name")};
            for (size_t k = 0; k < 3; k++) {
                ek_buf_init(&cells[k], 4096);
                name_some(yyjson_obj_get(row, lists[k][0]),
                          (size_t)yyjson_get_uint(yyjson_obj_get(row, lists[k][1])), &cells[k]);
                texts[k + 1] = or_dash(ek_buf_str(&cells[k]));
            }
            ek_text_table_row(table, texts);
            for (size_t k = 0; k < 3; k++)
                ek_buf_done(&cells[k]);
        }
        shown = key == 0 ? ek_text_table_size(table) : shown;
    }
    write_table(out, "Feature gates that differ", table, form);
    write_more(differences, "featureGatesTotal", shown, out);
    write_more(differences, "componentGatesTotal", ek_text_table_size(table) - shown, out);
}

static void write_problems(yyjson_val *status, struct ek_buf *out)
{
    yyjson_val *problem;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(status, "problems"), i, n, problem)
    {
        const char *s = yyjson_get_str(problem);
        ek_buf_puts(out, i ? "" : "\nWHAT COULD NOT BE SEEN\n");
        ek_quote_printf(out, "- %s\n", s ? s : "");
    }
}

/* Without the metrics of a proxy nothing is known of clients. */
static void write_clients(yyjson_val *clients, const struct form *form, struct ek_buf *out)
{
    EK_TEXT_TABLE(table, "name", "version", "verdict", "last seen");
    yyjson_val *client;
    size_t i, n;

    yyjson_arr_foreach(clients, i, n, client)
    {
        const char *cells[] = {str(client, "name"), or_dash(str(client, "version")),
                               str(client, "verdict"), or_dash(str(client, "lastSeen"))};
        ek_text_table_row(table, cells);
        ek_text_table_style(table, 2, verdict_style(cells[2]));
    }
    write_table(out, "Clients of proxies", table, form);
}

static const char *verdict_of(yyjson_val *status)
{
    const char *verdict = str(yyjson_obj_get(status, "summary"), "verdict");

    return *verdict ? verdict : "Unknown";
}

struct ek_skew_headline ek_skew_headline(yyjson_val *status)
{
    yyjson_val *ready = ek_cond_find(yyjson_obj_get(status, "conditions"), "Ready");
    yyjson_val *skew = ek_cond_find(yyjson_obj_get(status, "conditions"), "SkewSupported");
    const char *is = str(ready, "status"), *reason = str(ready, "reason");
    const char *verdict = verdict_of(status);
    bool is_false = !strcmp(is, "False");

    if (!ready || !strcmp(is, "True") ||
        (!strcmp(is, str(skew, "status")) && !strcmp(reason, str(skew, "reason"))))
        return (struct ek_skew_headline){ek_xstrdup(verdict), verdict_style(verdict), ""};
    return (struct ek_skew_headline){
        ek_xasprintf("%s (%s)", is_false ? "Not ready" : "Readiness unknown", reason),
        is_false ? EK_CELL_BAD : EK_CELL_WARN, str(ready, "message")};
}

void ek_skew_headline_done(struct ek_skew_headline *headline)
{
    ek_free(headline->words);
}

/* "3/3 API servers reachable, ..."; with the verdict on the skew where the headline is another. */
static char *summary_of(yyjson_val *status, const struct ek_skew_headline *headline)
{
    yyjson_val *summary = yyjson_obj_get(status, "summary");
    int n_violations = (int)yyjson_get_int(yyjson_obj_get(summary, "violations"));
    bool same = !strcmp(headline->words, verdict_of(status));

    return ek_xasprintf("%s API servers reachable, versions %s, %d violation%s, %d unknown%s%s",
                        or_dash(str(summary, "peers")), or_dash(str(summary, "versions")),
                        n_violations, n_violations == 1 ? "" : "s",
                        (int)yyjson_get_int(yyjson_obj_get(summary, "unknown")),
                        same ? "" : "; skew ", same ? "" : verdict_of(status));
}

/* The tables in front of what could not be seen. True when a version in them is assumed. */
static bool write_tables(yyjson_val *root, const struct form *form, struct ek_buf *out)
{
    yyjson_val *status = yyjson_obj_get(root, "status");
    yyjson_val *differences = yyjson_obj_get(status, "differences");
    bool assumed = write_peers(status, form, out);

    assumed |= write_components(status, form, out);
    write_nodes(status, form, out);
    write_clients(yyjson_obj_get(root, "clients"), form, out);
    write_discovery(differences, form, out);
    write_gates(differences, form, out);
    return assumed;
}

static void write_people(yyjson_val *root, bool color, struct ek_buf *out)
{
    const struct form form = {.color = color};
    yyjson_val *status = yyjson_obj_get(root, "status");
    EK_AUTO(ek_skew_headline) headline = ek_skew_headline(status);
    EK_AUTOFREE char *text = summary_of(status, &headline);

    ek_quote_printf(out, "%s: %s\n", headline.words, text);
    write_violations(status, out);
    bool assumed = write_tables(root, &form, out);
    write_problems(status, out);
    write_conditions(status, &form, out);
    if (assumed)
        ek_buf_puts(out, "\n* " ASSUMED "\n");
}

int ek_skew_report_tables(void *ctx, yyjson_val *root, bool color, struct ek_buf *out)
{
    (void)ctx;
    write_people(root, color, out);
    return out->failed;
}

/* ---- Page ---- */

/* The range of a component in the list of what is allowed. */
static void read_window(yyjson_val *status, const char *component, struct ek_page_component *row)
{
    yyjson_val *allowed;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(status, "allowedVersions"), i, n, allowed)
    {
        if (strcmp(str(allowed, "component"), component) != 0)
            continue;
        row->from = ek_minor_parse(str(allowed, "min"));
        row->to = ek_minor_parse(str(allowed, "max"));
    }
}

/* Adds a row for each of the list; those of an API server have no component. */
static size_t read_rows(yyjson_val *status, const char *list, const char *version,
                        struct ek_page_component *rows)
{
    yyjson_val *one;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(status, list), i, n, one)
    {
        const char *component = str(one, "component");
        struct ek_minor binary = ek_minor_parse(str(one, version));
        rows[i] = (struct ek_page_component){
            .name = *str(one, "name") ? str(one, "name") : or_dash(str(one, version)),
            .group = *component ? component : ek_component_name(EK_KUBE_APISERVER),
            .binary = binary,
            .emulation = ek_minor_parse(str(one, "emulationVersion")),
            .min_compat = ek_minor_parse(str(one, "minCompatibilityVersion")),
        };
        if (*component) {
            read_window(status, component, &rows[i]);
        } else if (binary.known) {
            rows[i].from = ek_start_floor(binary);
            rows[i].to = binary;
        }
    }
    return yyjson_arr_size(yyjson_obj_get(status, list));
}

static void put_matrix(yyjson_val *status, struct ek_buf *out)
{
    size_t n = yyjson_arr_size(yyjson_obj_get(status, "peers")) +
               yyjson_arr_size(yyjson_obj_get(status, "components")) +
               yyjson_arr_size(yyjson_obj_get(status, "nodes"));
    EK_AUTOFREE struct ek_page_component *rows = ek_xalloc((n + 1) * sizeof *rows);

    n = read_rows(status, "peers", "binaryVersion", rows);
    n += read_rows(status, "components", "binaryVersion", rows + n);
    n += read_rows(status, "nodes", "version", rows + n);
    ek_page_fold_begin(out, "matrix", "Components and versions", NULL, true);
    ek_page_matrix_legend(out);
    ek_page_matrix(out, &(struct ek_page_matrix){
                            "As read", rows, n,
                            ek_minor_parse(str(yyjson_obj_get(status, "summary"), "nextVersion")),
                            "next"});
    ek_page_fold_end(out);
}

static void put_violations(yyjson_val *status, struct ek_buf *out)
{
    EK_TEXT_TABLE(table, "rule", "component", "instance", "message", "remedy", "since");
    yyjson_val *one;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(status, "violations"), i, n, one)
    {
        const char *cells[] = {str(one, "rule"),    str(one, "component"), str(one, "instance"),
                               str(one, "message"), str(one, "remedy"),    str(one, "since")};
        ek_text_table_row(table, cells);
        ek_text_table_style(table, 0, EK_CELL_BAD);
    }
    write_table(out, "Violations", table, &(struct form){.page = true});
}

static void put_problems(yyjson_val *status, struct ek_buf *out)
{
    EK_TEXT_TABLE(table, "problem");
    yyjson_val *problem;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(status, "problems"), i, n, problem)
    {
        const char *text = yyjson_get_str(problem);
        ek_text_table_row(table, &text);
    }
    write_table(out, "What could not be seen", table, &(struct form){.page = true});
}

/* Verdict, heading and parts of a status. */
static bool put_parts(yyjson_val *root, const struct ek_skew_headline *headline, struct ek_buf *out)
{
    const struct form form = {.page = true};
    yyjson_val *status = yyjson_obj_get(root, "status");
    EK_AUTOFREE char *text = summary_of(status, headline);

    ek_page_banner(out, headline->style, headline->words, HEADING, text);
    put_violations(status, out);
    put_matrix(status, out);
    bool assumed = write_tables(root, &form, out);
    put_problems(status, out);
    write_conditions(status, &form, out);
    return assumed;
}

int ek_skew_report_page(yyjson_val *root, int64_t at_ms,
                        void (*more)(void *ctx, struct ek_buf *out), void *ctx, struct ek_buf *out)
{
    yyjson_val *status = ek_json_get(root, "status", NULL);
    EK_AUTO(ek_skew_headline) headline = ek_skew_headline(status);
    EK_AUTOFREE char *title = ek_xasprintf("%s: version skew", headline.words);
    bool assumed = false;

    ek_page_begin(out, title);
    if (yyjson_obj_get(status, "summary"))
        assumed = put_parts(root, &headline, out);
    else
        ek_page_banner(out, EK_CELL_WARN, headline.words, HEADING,
                       "The ControlPlane has no status yet.");
    if (more)
        more(ctx, out);
    ek_page_end(out, assumed ? "* " ASSUMED : "", at_ms);
    return out->failed;
}

int ek_skew_report_html(void *ctx, yyjson_val *root, bool color, struct ek_buf *out)
{
    const int64_t *at_ms = ctx;

    (void)color;
    return ek_skew_report_page(root, *at_ms, NULL, NULL, out);
}
