/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/commands/discovery_report.h"

#include <string.h>

#include "controller/cli/output.h"

/* The table cuts what is longer than it shows. */
#define CELL_MAX ((size_t)1 << 20)

static const char *const facets[EK_DISCOVERY_FACETS] = {
    [EK_DISCOVERY_KIND] = "kind",
    [EK_DISCOVERY_SCOPE] = "scope",
    [EK_DISCOVERY_VERBS] = "verbs",
    [EK_DISCOVERY_SHORT_NAMES] = "shortNames",
};

static void put_name(const struct ek_served_row *row, struct ek_buf *out)
{
    const struct ek_served_entry *e = row->entries;

    ek_buf_printf(out, "%s%s%s", e->resource, *e->sub ? "/" : "", e->sub);
}

static void put_group_version(const struct ek_served_row *row, struct ek_buf *out)
{
    const struct ek_served_entry *e = row->entries;

    ek_buf_printf(out, "%s%s%s", e->group, *e->group ? "/" : "", e->version);
}

/* ---- Tables ---- */

/* The servers that serve the resource, or those that do not. */
static void put_servers(const struct ek_discovery_shown *shown, const struct ek_served_row *row,
                        bool served, struct ek_buf *out)
{
    static const char *const marks[EK_SERVED_MAX] = {
        [EK_SERVED_NO] = "",
        [EK_SERVED_YES] = "",
        [EK_SERVED_STALE] = "(stale)",
        [EK_SERVED_UNKNOWN] = "?",
    };
    size_t n, n_yes = 0;
    const struct ek_view_peer *peers = ek_view_peers(shown->view, &n);

    for (size_t i = 0; i < n; i++)
        n_yes += row->at[i] == EK_SERVED_YES;
    if (served && n_yes == n)
        ek_buf_puts(out, "all");
    for (size_t i = 0; i < n && n_yes < n; i++)
        if ((row->at[i] != EK_SERVED_NO) == served)
            ek_buf_printf(out, "%s%s%s", out->len ? "," : "", peers[i].name, marks[row->at[i]]);
}

/* "verbs: get,list at cp-a,cp-c; get at cp-b" for one facet. */
static void put_values(const struct ek_discovery_shown *shown, const struct ek_served_row *row,
                       size_t facet, struct ek_buf *out)
{
    size_t n;
    const struct ek_view_peer *peers = ek_view_peers(shown->view, &n);

    ek_buf_printf(out, "%s%s:", out->len ? "; " : "", facets[facet]);
    for (size_t i = 0; i < row->n; i++) {
        const char *value = row->entries[i].facets[facet];
        size_t first = 0;
        while (strcmp(row->entries[first].facets[facet], value) != 0)
            first++;
        if (first < i)
            continue;
        ek_buf_printf(out, "%s %s at ", i ? ";" : "", *value ? value : "none");
        for (size_t k = i; k < row->n; k++)
            if (!strcmp(row->entries[k].facets[facet], value))
                ek_buf_printf(out, "%s%s", k > i ? "," : "", peers[row->entries[k].peer].name);
    }
}

static bool is_different(const struct ek_served_row *row)
{
    return row->uneven || row->differs;
}

static void add_difference(const struct ek_discovery_shown *shown, const struct ek_served_row *row,
                           struct ek_text_table *table)
{
    struct ek_buf cells[5];

    for (size_t i = 0; i < EK_ARRAY_SIZE(cells); i++)
        ek_buf_init(&cells[i], CELL_MAX);
    put_name(row, &cells[0]);
    put_group_version(row, &cells[1]);
    put_servers(shown, row, true, &cells[2]);
    put_servers(shown, row, false, &cells[3]);
    for (size_t f = 0; f < EK_DISCOVERY_FACETS; f++)
        if (row->differs & 1U << f)
            put_values(shown, row, f, &cells[4]);
    const char *texts[EK_ARRAY_SIZE(cells)];
    for (size_t i = 0; i < EK_ARRAY_SIZE(cells); i++)
        texts[i] = cells[i].len ? ek_buf_str(&cells[i]) : "-";
    ek_text_table_row(table, texts);
    ek_text_table_style(table, 3, EK_CELL_WARN);
    for (size_t i = 0; i < EK_ARRAY_SIZE(cells); i++)
        ek_buf_done(&cells[i]);
}

static int write_differences(const struct ek_discovery_shown *shown, bool color, struct ek_buf *out)
{
    EK_TEXT_TABLE(table, "name", "apiversion", "served by", "missing from", "differs");
    size_t n, read = 0;
    const struct ek_view_peer *peers = ek_view_peers(shown->view, &n);

    for (size_t i = 0; i < shown->n_rows; i++)
        if (is_different(&shown->rows[i]))
            add_difference(shown, &shown->rows[i], table);
    if (ek_text_table_size(table))
        return ek_text_table_write(table, color, out);
    for (size_t i = 0; i < n; i++)
        read += peers[i].fetched;
    if (!read)
        return 0;
    return ek_buf_printf(out, "No differences. API servers that were read: %zu of %zu\n", read, n);
}

/* The entry of which a row shows the kind and so on: that of the server that is asked for, else of
 * the first one; NULL where that server does not list the resource. */
static const struct ek_served_entry *entry_of(const struct ek_discovery_shown *shown,
                                              const struct ek_served_row *row)
{
    size_t n;
    const struct ek_view_peer *peers = ek_view_peers(shown->view, &n);

    for (size_t i = 0; i < row->n; i++)
        if (!shown->peer || &peers[row->entries[i].peer] == shown->peer)
            return &row->entries[i];
    return NULL;
}

/* "true" and "false", as `kubectl api-resources` has them. */
static const char *namespaced(const struct ek_served_entry *entry)
{
    const char *scope = entry->facets[EK_DISCOVERY_SCOPE];

    return !*scope ? "" : !strcmp(scope, "Namespaced") ? "true" : "false";
}

static void add_resource(const struct ek_discovery_shown *shown, const struct ek_served_row *row,
                         struct ek_text_table *table)
{
    const struct ek_served_entry *entry = entry_of(shown, row);
    if (!entry)
        return;
    EK_AUTO(ek_buf) name, group_version, servers;
    ek_buf_init(&name, CELL_MAX);
    ek_buf_init(&group_version, CELL_MAX);
    ek_buf_init(&servers, CELL_MAX);
    put_name(row, &name);
    put_group_version(row, &group_version);
    if (shown->peer)
        ek_buf_puts(&servers, entry->stale ? "Stale" : "Current");
    else
        put_servers(shown, row, true, &servers);
    const char *cells[] = {
        name.len ? ek_buf_str(&name) : "-", entry->facets[EK_DISCOVERY_SHORT_NAMES],
        ek_buf_str(&group_version),         namespaced(entry),
        entry->facets[EK_DISCOVERY_KIND],   ek_buf_str(&servers),
        entry->facets[EK_DISCOVERY_VERBS],
    };
    ek_text_table_row(table, cells);
    ek_text_table_style(table, 5, row->uneven ? EK_CELL_WARN : EK_CELL_PLAIN);
}

int ek_discovery_table(void *ctx, yyjson_val *root, bool color, struct ek_buf *out)
{
    const struct ek_discovery_shown *shown = ctx;
    const char *const headers[] = {
        "name",       "shortnames", "apiversion",
        "namespaced", "kind",       shown->peer ? "freshness" : "served by",
        "verbs",
    };

    (void)root;
    if (shown->differences)
        return write_differences(shown, color, out);
    EK_AUTOPTR(ek_text_table, ek_text_table_free) *table =
        ek_text_table_new(headers, EK_ARRAY_SIZE(headers) - (shown->wide ? 0 : 1));
    for (size_t i = 0; i < shown->n_rows; i++)
        add_resource(shown, &shown->rows[i], table);
    return ek_text_table_size(table) ? ek_text_table_write(table, color, out) : 0;
}

/* ---- The object ---- */

/* The servers at which the resource is so; no member without any. */
static void add_servers(const struct ek_discovery_shown *shown, const struct ek_served_row *row,
                        enum ek_served how, const char *key, yyjson_mut_doc *doc,
                        yyjson_mut_val *object)
{
    size_t n;
    const struct ek_view_peer *peers = ek_view_peers(shown->view, &n);
    yyjson_mut_val *list = NULL;

    for (size_t i = 0; i < n; i++) {
        if (row->at[i] != how)
            continue;
        list = list ? list : yyjson_mut_obj_add_arr(doc, object, key);
        yyjson_mut_arr_add_strcpy(doc, list, peers[i].name);
    }
}

static void add_values(const struct ek_discovery_shown *shown, const struct ek_served_row *row,
                       yyjson_mut_doc *doc, yyjson_mut_val *object)
{
    size_t n;
    const struct ek_view_peer *peers = ek_view_peers(shown->view, &n);
    yyjson_mut_val *differs = row->differs ? yyjson_mut_obj_add_obj(doc, object, "differs") : NULL;

    for (size_t f = 0; f < EK_DISCOVERY_FACETS; f++) {
        if (!(row->differs & 1U << f))
            continue;
        yyjson_mut_val *values = yyjson_mut_obj_add_obj(doc, differs, facets[f]);
        for (size_t i = 0; i < row->n; i++)
            yyjson_mut_obj_add(values, yyjson_mut_strcpy(doc, peers[row->entries[i].peer].name),
                               yyjson_mut_strcpy(doc, row->entries[i].facets[f]));
    }
}

static void add_texts(const struct ek_served_row *row, yyjson_mut_doc *doc, yyjson_mut_val *object)
{
    EK_AUTO(ek_buf) name, group_version;

    ek_buf_init(&name, CELL_MAX);
    ek_buf_init(&group_version, CELL_MAX);
    put_name(row, &name);
    put_group_version(row, &group_version);
    yyjson_mut_obj_add_strcpy(doc, object, "groupVersion", ek_buf_str(&group_version));
    yyjson_mut_obj_add_strcpy(doc, object, "resource", ek_buf_str(&name));
}

struct ek_obj *ek_discovery_differences(const struct ek_discovery_shown *shown)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_val *servers = yyjson_mut_obj_add_arr(doc, root, "apiServers");
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "differences");
    size_t n;
    const struct ek_view_peer *peers = ek_view_peers(shown->view, &n);

    for (size_t i = 0; i < n; i++) {
        yyjson_mut_val *server = yyjson_mut_arr_add_obj(doc, servers);
        yyjson_mut_obj_add_strcpy(doc, server, "name", peers[i].name);
        if (shown->unread[i])
            yyjson_mut_obj_add_strcpy(doc, server, "error", shown->unread[i]);
    }
    for (size_t i = 0; i < shown->n_rows; i++) {
        const struct ek_served_row *row = &shown->rows[i];
        if (!is_different(row))
            continue;
        yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, list);
        add_texts(row, doc, object);
        add_servers(shown, row, EK_SERVED_YES, "servedBy", doc, object);
        add_servers(shown, row, EK_SERVED_STALE, "staleAt", doc, object);
        add_servers(shown, row, EK_SERVED_NO, "missingFrom", doc, object);
        add_values(shown, row, doc, object);
    }
    struct ek_obj *object = ek_obj_from_mut(root);
    yyjson_mut_doc_free(doc);
    return object;
}
