/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/check_report.h"

#include <stdio.h>
#include <string.h>

#include "controller/output.h"

/* Columns that a condition's message gets, and rows that a list of differences gets. */
#define MESSAGE_WIDTH 100
#define ROWS_MAX      12

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

static void write_table(struct ek_buf *out, const char *title, const struct ek_table *table,
                        bool color)
{
    if (ek_table_size(table) == 0)
        return;
    ek_buf_printf(out, "\n%s\n", title);
    ek_table_write(table, color, out);
}

/* A version that was derived and not observed is marked, so that nobody takes it for a fact. */
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

static const char *peer_state(yyjson_val *peer)
{
    yyjson_val *ready = yyjson_obj_get(peer, "ready");

    if (!yyjson_get_bool(yyjson_obj_get(peer, "reachable")))
        return or_dash(str(peer, "unreachableReason"));
    if (!ready)
        return "Reachable";
    return yyjson_get_bool(ready) ? "Ready" : "NotReady";
}

static bool write_peers(yyjson_val *status, bool color, struct ek_buf *out)
{
    static const char *const headers[] = {"name",       "address", "state",   "binary", "emulates",
                                          "min-compat", "source",  "verdict", "reason"};
    EK_AUTOPTR(ek_table, ek_table_free) *table = ek_table_new(headers, EK_ARRAY_SIZE(headers));
    yyjson_val *peer;
    size_t i, n;
    bool assumed = false;

    yyjson_arr_foreach(yyjson_obj_get(status, "peers"), i, n, peer)
    {
        char emulation[64], min_compat[64];
        const char *state = peer_state(peer);
        const char *cells[] = {
            str(peer, "name"),
            or_dash(str(peer, "address")),
            state,
            or_dash(str(peer, "binaryVersion")),
            version_cell(peer, "emulationVersion", emulation, sizeof emulation, &assumed),
            version_cell(peer, "minCompatibilityVersion", min_compat, sizeof min_compat, &assumed),
            or_dash(str(peer, "versionSource")),
            str(peer, "verdict"),
            str(peer, "reason")};
        ek_table_row(table, cells);
        ek_table_style(table, 2, strcmp(state, "Ready") != 0 ? EK_CELL_WARN : EK_CELL_GOOD);
        ek_table_style(table, 7, verdict_style(str(peer, "verdict")));
    }
    write_table(out, "API SERVERS", table, color);
    return assumed;
}

static bool write_components(yyjson_val *status, bool color, struct ek_buf *out)
{
    static const char *const headers[] = {"component", "name",   "role",    "binary",
                                          "emulates",  "source", "verdict", "reason"};
    EK_AUTOPTR(ek_table, ek_table_free) *table = ek_table_new(headers, EK_ARRAY_SIZE(headers));
    yyjson_val *component;
    size_t i, n;
    bool assumed = false;

    yyjson_arr_foreach(yyjson_obj_get(status, "components"), i, n, component)
    {
        char emulation[64];
        const char *role = yyjson_get_bool(yyjson_obj_get(component, "leader"))  ? "leader"
                           : yyjson_get_bool(yyjson_obj_get(component, "stale")) ? "stale"
                                                                                 : "-";
        const char *cells[] = {
            str(component, "component"),
            or_dash(str(component, "name")),
            role,
            or_dash(str(component, "binaryVersion")),
            version_cell(component, "emulationVersion", emulation, sizeof emulation, &assumed),
            or_dash(str(component, "versionSource")),
            str(component, "verdict"),
            str(component, "reason")};
        ek_table_row(table, cells);
        ek_table_style(table, 6, verdict_style(str(component, "verdict")));
    }
    write_table(out, "COMPONENTS", table, color);
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

static void write_nodes(yyjson_val *status, bool color, struct ek_buf *out)
{
    static const char *const headers[] = {"component", "version", "count",
                                          "nodes",     "verdict", "reason"};
    EK_AUTOPTR(ek_table, ek_table_free) *table = ek_table_new(headers, EK_ARRAY_SIZE(headers));
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
        ek_table_row(table, cells);
        ek_table_style(table, 4, verdict_style(str(group, "verdict")));
    }
    write_table(out, "NODES", table, color);
}

/* As much of a message as a line of a ticket takes; -o yaml has it whole. */
static const char *cut(const char *message, char *buf, size_t size)
{
    size_t len = strnlen(message, size - 1);

    memcpy(buf, message, len);
    buf[len] = '\0';
    while (ek_text_width(buf) > MESSAGE_WIDTH) {
        /* Back over a whole UTF-8 character. */
        do
            len--;
        while (len > 0 && ((unsigned char)buf[len] & 0xc0) == 0x80);
        snprintf(buf + len, size - len, "...");
        if (len == 0)
            break;
    }
    return buf;
}

static void write_conditions(yyjson_val *status, bool color, struct ek_buf *out)
{
    static const char *const headers[] = {"condition", "status", "reason", "message"};
    EK_AUTOPTR(ek_table, ek_table_free) *table = ek_table_new(headers, EK_ARRAY_SIZE(headers));
    yyjson_val *condition;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(status, "conditions"), i, n, condition)
    {
        char message[MESSAGE_WIDTH * 4 + 1];
        const char *cells[] = {str(condition, "type"), str(condition, "status"),
                               str(condition, "reason"),
                               cut(str(condition, "message"), message, sizeof message)};
        ek_table_row(table, cells);
        ek_table_style(table, 1, status_style(str(condition, "status")));
    }
    write_table(out, "CONDITIONS", table, color);
}

/* Two violations that differ in the instance alone are told together: 30 kubelets of one rule. */
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
            ek_buf_printf(out, "%s%s", alike++ ? ", " : "   also: ", str(violation, "instance"));
            continue;
        }
        if (alike)
            ek_buf_puts(out, "\n");
        alike = 0;
        ek_buf_printf(out, "%s%zu. [%s] %s\n", number ? "" : "\nVIOLATIONS\n", number + 1,
                      str(violation, "rule"), str(violation, "message"));
        if (*str(violation, "remedy"))
            ek_buf_printf(out, "   -> %s\n", str(violation, "remedy"));
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

static void write_discovery(yyjson_val *differences, bool color, struct ek_buf *out)
{
    static const char *const headers[] = {"group/version", "resource", "served by", "missing from"};
    EK_AUTOPTR(ek_table, ek_table_free) *table = ek_table_new(headers, EK_ARRAY_SIZE(headers));
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
        snprintf(all, sizeof all, "(all %d)",
                 (int)yyjson_get_int(yyjson_obj_get(row, "resources")));
        const char *cells[] = {str(row, "groupVersion"), *resource ? resource : all,
                               ek_buf_str(&served), ek_buf_str(&missing)};
        ek_table_row(table, cells);
    }
    write_table(out, "RESOURCES THAT ONLY SOME API SERVERS SERVE", table, color);
    write_more(differences, "discoveryTotal", ek_table_size(table), out);
}

static void write_gates(yyjson_val *differences, bool color, struct ek_buf *out)
{
    static const char *const headers[] = {"feature gate", "on", "off", "unknown to"};
    static const char *const lists[][2] = {{"enabledBy", "enabledByCount"},
                                           {"disabledBy", "disabledByCount"},
                                           {"missingFrom", "missingFromCount"}};
    EK_AUTOPTR(ek_table, ek_table_free) *table = ek_table_new(headers, EK_ARRAY_SIZE(headers));
    yyjson_val *row;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(differences, "featureGates"), i, n, row)
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
        ek_table_row(table, texts);
        for (size_t k = 0; k < 3; k++)
            ek_buf_done(&cells[k]);
    }
    write_table(out, "FEATURE GATES THAT DIFFER", table, color);
    write_more(differences, "featureGatesTotal", ek_table_size(table), out);
}

static void write_problems(yyjson_val *status, struct ek_buf *out)
{
    yyjson_val *problem;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(status, "problems"), i, n, problem)
    {
        const char *s = yyjson_get_str(problem);
        ek_buf_printf(out, "%s- %s\n", i ? "" : "\nWHAT COULD NOT BE SEEN\n", s ? s : "");
    }
}

static void write_people(yyjson_val *status, bool color, struct ek_buf *out)
{
    yyjson_val *summary = yyjson_obj_get(status, "summary");
    yyjson_val *differences = yyjson_obj_get(status, "differences");
    int n_violations = (int)yyjson_get_int(yyjson_obj_get(summary, "violations"));

    ek_buf_printf(out, "%s: %s API servers reachable, versions %s, %d violation%s, %d unknown\n",
                  or_dash(str(summary, "verdict")), or_dash(str(summary, "peers")),
                  or_dash(str(summary, "versions")), n_violations, n_violations == 1 ? "" : "s",
                  (int)yyjson_get_int(yyjson_obj_get(summary, "unknown")));
    write_violations(status, out);
    bool assumed = write_peers(status, color, out);
    assumed |= write_components(status, color, out);
    write_nodes(status, color, out);
    write_discovery(differences, color, out);
    write_gates(differences, color, out);
    write_problems(status, out);
    write_conditions(status, color, out);
    if (assumed)
        ek_buf_puts(out, "\n* assumed, not observed\n");
}

int ek_check_report(void *ctx, yyjson_val *root, bool color, struct ek_buf *out)
{
    (void)ctx;
    write_people(yyjson_obj_get(root, "status"), color, out);
    return out->failed;
}
