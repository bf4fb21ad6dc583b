/* SPDX-License-Identifier: Apache-2.0 */
#include "test/apiserver/kinds.h"

#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "test/apiserver/mvcc.h"

const char *ek_kind_api_version(const struct ek_kind *kind, char buf[EK_GV_SIZE])
{
    snprintf(buf, EK_GV_SIZE, "%s%s%s", kind->group, *kind->group ? "/" : "", kind->version);
    return buf;
}

const char *ek_kind_resource_name(const struct ek_kind *kind, char buf[EK_GV_SIZE])
{
    snprintf(buf, EK_GV_SIZE, "%s%s%s", kind->plural, *kind->group ? "." : "", kind->group);
    return buf;
}

bool ek_words_have(const char *words, const char *word)
{
    size_t len = strlen(word);

    for (const char *p = words; len > 0 && (p = strstr(p, word)) != NULL; p += len) {
        bool starts = p == words || p[-1] == ' ';
        if (starts && (p[len] == ' ' || p[len] == '\0'))
            return true;
    }
    return false;
}

/* Event has two group versions over one storage; so may any row. */
static int shared_storage(const struct ek_kinds *kinds, const struct ek_kind *kind)
{
    for (size_t i = 0; i < kinds->n; i++) {
        const struct ek_kind *other = kinds->items[i];
        bool events = strcmp(kind->plural, "events") == 0;
        if (strcmp(other->plural, kind->plural) == 0 &&
            (events || strcmp(other->group, kind->group) == 0))
            return other->storage;
    }
    return -1;
}

static struct ek_kind *add_kind(struct ek_kinds *kinds, struct ek_mvcc *store,
                                const struct ek_kind *row)
{
    struct ek_kind *kind = ek_xalloc(sizeof(*kind));

    *kind = *row;
    kind->storage = shared_storage(kinds, kind);
    if (kind->storage < 0)
        kind->storage = ek_mvcc_add_resource(store);
    kinds->items = ek_xrealloc(kinds->items, kinds->n + 1, sizeof(kinds->items[0]));
    kinds->items[kinds->n++] = kind;
    kinds->changes++;
    return kind;
}

void ek_kinds_init(struct ek_kinds *kinds, struct ek_mvcc *store)
{
    *kinds = (struct ek_kinds){0};
    for (size_t i = 0; i < ek_kinds_table_size; i++)
        add_kind(kinds, store, &ek_kinds_table[i]);
}

static void free_kind(struct ek_kind *kind)
{
    if (kind->owns_definition)
        yyjson_doc_free(kind->definition);
    ek_free(kind->own_columns);
    ek_free(kind->own_texts);
    ek_free(kind);
}

void ek_kinds_done(struct ek_kinds *kinds)
{
    for (size_t i = 0; i < kinds->n; i++)
        free_kind(kinds->items[i]);
    ek_free(kinds->items);
    *kinds = (struct ek_kinds){0};
}

const struct ek_kind *ek_kinds_find(const struct ek_kinds *kinds, const char *group,
                                    const char *version, const char *plural)
{
    for (size_t i = 0; i < kinds->n; i++) {
        const struct ek_kind *kind = kinds->items[i];
        if (!kind->gone && strcmp(kind->plural, plural) == 0 && strcmp(kind->group, group) == 0 &&
            strcmp(kind->version, version) == 0)
            return kind;
    }
    return NULL;
}

/* Joins a list of strings with blanks into an owned text. */
static void join(struct ek_buf *out, yyjson_val *list)
{
    size_t index, max;
    yyjson_val *item;

    yyjson_arr_foreach(list, index, max, item)
    {
        if (yyjson_is_str(item))
            ek_buf_printf(out, "%s%s", index ? " " : "", yyjson_get_str(item));
    }
    ek_buf_append(out, "", 1);
}

static void read_columns(struct ek_kind *kind, yyjson_val *list)
{
    static const struct ek_column name = {"Name", "string", ".metadata.name", 0};
    static const struct ek_column age = {"Age", "date", ".metadata.creationTimestamp", 0};
    size_t index, max, n = 0;
    yyjson_val *item;

    kind->own_columns = ek_xalloc((yyjson_arr_size(list) + 3) * sizeof(kind->own_columns[0]));
    kind->own_columns[n++] = name;
    yyjson_arr_foreach(list, index, max, item)
    {
        const char *path = ek_json_str(item, "jsonPath", NULL);
        const char *title = ek_json_str(item, "name", NULL);
        const char *type = ek_json_str(item, "type", NULL);
        if (path && title)
            kind->own_columns[n++] =
                (struct ek_column){title, type ? type : "string", path,
                                   (int)yyjson_get_int(yyjson_obj_get(item, "priority"))};
    }
    if (n == 1)
        kind->own_columns[n++] = age;
    kind->columns = kind->own_columns;
}

static void read_version(struct ek_kinds *kinds, struct ek_mvcc *store, yyjson_doc *doc,
                         yyjson_val *version, bool *owned)
{
    yyjson_val *spec = ek_json_get(yyjson_doc_get_root(doc), "spec", NULL);
    yyjson_val *names = ek_json_get(spec, "names", NULL);
    const char *singular = ek_json_str(names, "singular", NULL);
    const char *scope = ek_json_str(spec, "scope", NULL);
    EK_AUTO(ek_buf) texts;

    ek_buf_init(&texts, 65536);
    join(&texts, ek_json_get(names, "shortNames", NULL));
    size_t categories = texts.len;
    join(&texts, ek_json_get(names, "categories", NULL));
    struct ek_kind row = {
        .group = ek_json_str(spec, "group", NULL),
        .version = ek_json_str(version, "name", NULL),
        .kind = ek_json_str(names, "kind", NULL),
        .plural = ek_json_str(names, "plural", NULL),
        .flags = EK_KIND_CUSTOM | EK_KIND_GENERATION,
        .subresources = "",
        .empty = "",
        .shapes.schema = ek_json_get(version, "schema", "openAPIV3Schema", NULL),
        .definition = doc,
        .owns_definition = !*owned,
    };
    *owned = true;
    row.singular = singular ? singular : row.plural;
    row.own_texts = ek_buf_steal(&texts);
    row.short_names = row.own_texts;
    row.categories = row.own_texts + categories;
    row.flags |= scope && strcmp(scope, "Namespaced") == 0 ? EK_KIND_NAMESPACED : 0;
    row.flags |= ek_json_get(version, "subresources", "status", NULL) ? EK_KIND_STATUS : 0;
    struct ek_kind *kind = add_kind(kinds, store, &row);
    read_columns(kind, ek_json_get(version, "additionalPrinterColumns", NULL));
}

int ek_kinds_define(struct ek_kinds *kinds, struct ek_mvcc *store, const char *json, size_t len,
                    struct ek_err *err)
{
    yyjson_doc *doc = ek_json_parse(json, len, err);
    yyjson_val *spec = ek_json_get(yyjson_doc_get_root(doc), "spec", NULL), *version;
    const char *group = ek_json_str(spec, "group", NULL);
    const char *plural = ek_json_str(spec, "names", "plural", NULL);
    size_t index, max;
    bool owned = false;

    if (!group || !plural || !ek_json_str(spec, "names", "kind", NULL)) {
        yyjson_doc_free(doc);
        return ek_err_set(err, EK_E_INVAL, "a definition needs spec.group and spec.names");
    }
    int storage = ek_kinds_undefine(kinds, group, plural);
    size_t before = kinds->n;
    yyjson_arr_foreach(ek_json_get(spec, "versions", NULL), index, max, version)
    {
        if (yyjson_get_bool(yyjson_obj_get(version, "served")) &&
            ek_json_str(version, "name", NULL))
            read_version(kinds, store, doc, version, &owned);
    }
    for (size_t i = before; storage >= 0 && i < kinds->n; i++)
        kinds->items[i]->storage = storage;
    if (!owned)
        yyjson_doc_free(doc);
    return 0;
}

int ek_kinds_undefine(struct ek_kinds *kinds, const char *group, const char *plural)
{
    int storage = -1;

    /* Rows stay, because watches and requests may still point to them. */
    for (size_t i = 0; i < kinds->n; i++) {
        struct ek_kind *kind = kinds->items[i];
        if (!(kind->flags & EK_KIND_CUSTOM) || strcmp(kind->group, group) != 0 ||
            strcmp(kind->plural, plural) != 0)
            continue;
        kind->gone = true;
        storage = kind->storage;
        kinds->changes++;
    }
    return storage;
}
