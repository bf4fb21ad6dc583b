/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the files of data/. */
#include "reconcilers/plan/data.h"

#include <stdlib.h>
#include <string.h>

#include "api/obj.h"
#include "reconcilers/plan/data-internal.h"

#define ARENA_MAX ((size_t)256 << 20)

/* ---- Order ---- */

static int compare3(const char *const a[3], const char *const b[3])
{
    for (int i = 0; i < 3; i++) {
        int sign = strcmp(a[i], b[i]);
        if (sign)
            return sign;
    }
    return 0;
}

static int by_kind(const void *a, const void *b)
{
    const struct ek_api_lifecycle *x = a, *y = b;
    return compare3((const char *const[]){x->group, x->version, x->kind},
                    (const char *const[]){y->group, y->version, y->kind});
}

static int by_resource(const void *a, const void *b)
{
    const struct ek_api_row *x = a, *y = b;
    return compare3((const char *const[]){x->group, x->version, x->resource},
                    (const char *const[]){y->group, y->version, y->resource});
}

static int by_field_kind(const void *a, const void *b)
{
    const struct ek_field_kind *x = a, *y = b;
    return compare3((const char *const[]){x->api_version, x->kind, ""},
                    (const char *const[]){y->api_version, y->kind, ""});
}

static int by_change(const void *a, const void *b)
{
    return ek_minor_cmp(((const struct ek_field_change *)a)->at,
                        ((const struct ek_field_change *)b)->at);
}

const struct ek_api_lifecycle *ek_plan_find_kind(const struct ek_plan_data *data, const char *group,
                                                 const char *version, const char *kind)
{
    struct ek_api_lifecycle key = {.group = group, .version = version, .kind = kind};

    return data->n_kinds ? bsearch(&key, data->kinds, data->n_kinds, sizeof key, by_kind) : NULL;
}

/* ---- A binary ---- */

static struct ek_minor minor_of(yyjson_val *value, const char *name)
{
    const char *text = ek_json_str(value, name, NULL);

    return text ? ek_minor_parse(text) : EK_MINOR_UNKNOWN;
}

/* Kubernetes declares IngressClassList as the replacement of IngressClass v1beta1
 * (api/networking/v1beta1/types.go at 1.36). */
static bool is_list_of(const char *list, const char *kind)
{
    size_t len = kind ? strlen(kind) : 0;

    return len && !strncmp(list, kind, len) && !strcmp(list + len, "List");
}

static bool read_kind(yyjson_val *value, struct ek_api_lifecycle *ret)
{
    yyjson_val *other = yyjson_obj_get(value, "replacement");

    *ret = (struct ek_api_lifecycle){
        .group = ek_json_str(value, "group", NULL),
        .version = ek_json_str(value, "version", NULL),
        .kind = ek_json_str(value, "kind", NULL),
        .introduced = minor_of(value, "introduced"),
        .deprecated = minor_of(value, "deprecated"),
        .removed = minor_of(value, "removed"),
        .new_group = ek_json_str(other, "group", NULL),
        .new_version = ek_json_str(other, "version", NULL),
        .new_kind = ek_json_str(other, "kind", NULL),
    };
    if (!ret->new_group || !ret->new_kind)
        ret->new_version = NULL;
    if (ret->new_version && is_list_of(ret->new_kind, ret->kind))
        ret->new_kind = ret->kind;
    return ret->group && ret->version && ret->kind;
}

static bool read_resource(const struct ek_plan_data *data, yyjson_val *value,
                          struct ek_api_row *ret)
{
    *ret = (struct ek_api_row){
        .group = ek_json_str(value, "group", NULL),
        .version = ek_json_str(value, "version", NULL),
        .resource = ek_json_str(value, "resource", NULL),
        .kind = ek_json_str(value, "kind", NULL),
        .gate = ek_json_str(value, "gate", NULL),
        .subresources = yyjson_obj_get(value, "subresources"),
        .stored = yyjson_get_bool(yyjson_obj_get(value, "stored")),
    };
    if (!ret->group || !ret->version || !ret->resource || !ret->kind)
        return false;
    ret->lifecycle = ek_plan_find_kind(data, ret->group, ret->version, ret->kind);
    return true;
}

static bool read_apis(struct ek_plan_data *data, yyjson_val *root)
{
    yyjson_val *kinds = yyjson_obj_get(root, "kinds"), *rows = yyjson_obj_get(root, "resources");
    yyjson_val *storage = yyjson_obj_get(root, "storage"), *value;
    size_t i, n;
    bool good = true;

    data->kinds = ek_arena_alloc(data->arena, (yyjson_arr_size(kinds) + ek_plan_n_retired + 1) *
                                                  sizeof *data->kinds);
    data->resources =
        ek_arena_alloc(data->arena, (yyjson_arr_size(rows) + 1) * sizeof *data->resources);
    data->overrides =
        ek_arena_alloc(data->arena, (yyjson_arr_size(storage) + 1) * sizeof *data->overrides);
    data->priority = yyjson_obj_get(root, "priority");
    yyjson_arr_foreach(kinds, i, n, value)
    {
        good = good && read_kind(value, &data->kinds[data->n_kinds++]);
    }
    if (!good)
        return false;
    data->n_kinds = ek_plan_add_retired(data->kinds, data->n_kinds);
    qsort(data->kinds, data->n_kinds, sizeof *data->kinds, by_kind);
    yyjson_arr_foreach(rows, i, n, value)
    {
        good = good && read_resource(data, value, &data->resources[data->n_resources++]);
    }
    if (!good)
        return false;
    qsort(data->resources, data->n_resources, sizeof *data->resources, by_resource);
    yyjson_arr_foreach(storage, i, n, value)
    {
        struct ek_api_override *o = &data->overrides[data->n_overrides++];
        *o = (struct ek_api_override){ek_json_str(value, "group", NULL),
                                      ek_json_str(value, "resource", NULL),
                                      ek_json_str(value, "stored", NULL)};
        good = good && o->group && o->resource && o->stored;
    }
    return good && yyjson_is_obj(data->priority);
}

static int read_binary(struct ek_plan_data *data, yyjson_val *root, struct ek_err *err)
{
    yyjson_val *gates = yyjson_obj_get(root, "gates");

    data->binary = minor_of(root, "version");
    data->binary_version = ek_json_str(root, "binary", NULL);
    data->recorded = ek_json_str(root, "recorded", NULL);
    data->flags = yyjson_obj_get(root, "flags");
    int rc = ek_feature_registry_read(gates, data->arena, &data->features, err);
    if (!rc)
        rc = ek_feature_registry_link(gates, data->arena, &data->features, err);
    if (!rc && (!data->recorded || !read_apis(data, root)))
        rc = ek_err_set(err, EK_E_INVAL, "the lifecycle of APIs is incomplete");
    return rc;
}

/* ---- Fields ---- */

static struct ek_field_kind *field_kind(struct ek_plan_data *data, const char *api_version,
                                        const char *kind)
{
    for (size_t i = 0; i < data->n_fields; i++)
        if (!strcmp(data->fields[i].kind, kind) &&
            !strcmp(data->fields[i].api_version, api_version))
            return &data->fields[i];
    struct ek_field_kind *ret = &data->fields[data->n_fields++];
    *ret = (struct ek_field_kind){
        api_version, kind,
        ek_arena_alloc(data->arena, data->n_docs * sizeof(struct ek_field_change)), 0};
    return ret;
}

static bool read_fields(struct ek_plan_data *data, struct ek_minor at, yyjson_val *root)
{
    yyjson_val *value;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(root, "fields"), i, n, value)
    {
        const char *api_version = ek_json_str(value, "apiVersion", NULL);
        const char *kind = ek_json_str(value, "kind", NULL);
        if (!api_version || !kind)
            return false;
        struct ek_field_kind *row = field_kind(data, api_version, kind);
        if (row->n_changes == data->n_docs)
            return false;
        row->changes[row->n_changes++] = (struct ek_field_change){
            .at = at,
            .is_new = yyjson_get_bool(yyjson_obj_get(value, "new")),
            .gone = yyjson_get_bool(yyjson_obj_get(value, "gone")),
            .came = yyjson_obj_get(value, "came"),
            .went = yyjson_obj_get(value, "went"),
        };
    }
    return true;
}

static int read_all_fields(struct ek_plan_data *data, struct ek_err *err)
{
    size_t n = 0;

    for (size_t i = 0; i < data->n_docs; i++)
        n += yyjson_arr_size(yyjson_obj_get(yyjson_doc_get_root(data->docs[i]), "fields"));
    data->fields = ek_arena_alloc(data->arena, (n + 1) * sizeof *data->fields);
    for (size_t i = 0; i < data->n_docs; i++) {
        yyjson_val *root = yyjson_doc_get_root(data->docs[i]);
        struct ek_minor at = minor_of(root, "version");
        if (!read_fields(data, at, root))
            return ek_err_set(err, EK_E_INVAL, "the fields of a kind are incomplete");
        if (!data->oldest.known || ek_minor_cmp(at, data->oldest) < 0)
            data->oldest = at;
        if (!data->newest.known || ek_minor_cmp(at, data->newest) > 0)
            data->newest = at;
    }
    for (size_t i = 0; i < data->n_fields; i++)
        qsort(data->fields[i].changes, data->fields[i].n_changes, sizeof(struct ek_field_change),
              by_change);
    if (data->n_fields)
        qsort(data->fields, data->n_fields, sizeof *data->fields, by_field_kind);
    return 0;
}

/* ---- Files ---- */

static int add_file(struct ek_plan_data *data, struct ek_str text, struct ek_err *err)
{
    yyjson_doc *doc = ek_json_parse(text.p, text.len, err);

    if (!doc)
        return err ? err->code : EK_E_PARSE;
    struct ek_minor at = minor_of(yyjson_doc_get_root(doc), "version");
    if (!at.known || at.major != 1) {
        yyjson_doc_free(doc);
        return ek_err_set(err, EK_E_INVAL, "the text has no version of Kubernetes");
    }
    for (size_t i = 0; i < data->n_docs; i++)
        if (!ek_minor_cmp(minor_of(yyjson_doc_get_root(data->docs[i]), "version"), at)) {
            yyjson_doc_free(data->docs[i]);
            data->docs[i] = doc;
            return 0;
        }
    data->docs[data->n_docs++] = doc;
    return 0;
}

/* Data without gaps: a release in between would have changes that nobody knows. */
static int check_gaps(const struct ek_plan_data *data, struct ek_err *err)
{
    char oldest[EK_MINOR_SIZE], newest[EK_MINOR_SIZE];

    if (data->newest.minor - data->oldest.minor + 1 == data->n_docs)
        return 0;
    return ek_err_set(err, EK_E_INVAL, "the data has no file for each version from %s to %s",
                      ek_minor_format(data->oldest, oldest), ek_minor_format(data->newest, newest));
}

/* Keeps what the program knows of its own newest binary beside that of a newer one. */
static int keep_older(struct ek_plan_data *data, struct ek_err *err)
{
    struct ek_plan_data *older = ek_arena_alloc(data->arena, sizeof *older);
    int rc = ek_plan_data_open((struct ek_str){0}, older, err);

    if (rc || ek_minor_cmp(older->binary, data->binary) >= 0)
        ek_plan_data_done(older);
    else
        data->older = older;
    return rc;
}

const struct ek_plan_data *ek_plan_data_at(const struct ek_plan_data *data, struct ek_minor binary)
{
    return data->older && ek_minor_cmp(binary, data->older->binary) <= 0 ? data->older : data;
}

int ek_plan_data_open(struct ek_str more, struct ek_plan_data *ret_data, struct ek_err *err)
{
    struct ek_plan_data *data = ret_data;
    struct ek_err why = {0};
    yyjson_val *newest = NULL;
    int rc = 0;

    *data = (struct ek_plan_data){.arena = ek_arena_new(ARENA_MAX)};
    data->docs = ek_arena_alloc(data->arena, (ek_plan_n_embedded + 1) * sizeof(yyjson_doc *));
    for (size_t i = 0; i < ek_plan_n_embedded && !rc; i++)
        rc = add_file(data, (struct ek_str){ek_plan_embedded[i].text, ek_plan_embedded[i].size},
                      &why);
    if (!rc && more.p)
        rc = add_file(data, more, &why);
    if (!rc)
        rc = read_all_fields(data, &why);
    if (!rc)
        rc = check_gaps(data, &why);
    for (size_t i = 0; i < data->n_docs && !rc; i++) {
        yyjson_val *root = yyjson_doc_get_root(data->docs[i]);
        if (yyjson_obj_get(root, "gates") &&
            (!newest || ek_minor_cmp(minor_of(root, "version"), minor_of(newest, "version")) > 0))
            newest = root;
    }
    if (!rc)
        rc = newest ? read_binary(data, newest, &why)
                    : ek_err_set(&why, EK_E_INVAL, "no file has feature gates");
    if (!rc && more.p)
        rc = keep_older(data, &why);
    if (rc && err)
        *err = why;
    return rc;
}

void ek_plan_data_done(struct ek_plan_data *data)
{
    if (data->older)
        ek_plan_data_done(data->older);
    for (size_t i = 0; i < data->n_docs; i++)
        yyjson_doc_free(data->docs[i]);
    ek_arena_free(data->arena);
    *data = (struct ek_plan_data){0};
}
