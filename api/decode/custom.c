/* SPDX-License-Identifier: Apache-2.0 */
#include "api/decode/custom.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/decode/gotext.h"
#include "api/members.h"
#include "api/obj.h"

#define TEXT_MAX       ((size_t)1 << 20) /* octets of one value in an error */
#define NAME_MAX_SHOWN 1024              /* octets of an apiVersion in an error */

/* A step on the way to a value. */
enum step { STEP_ROOT, STEP_FIELD, STEP_KEY, STEP_INDEX };
struct place {
    const struct place *up;
    enum step step;
    struct ek_str name;
    size_t index;
};

struct decoder {
    const struct ek_custom_version *version;
    yyjson_mut_doc *doc;
    struct ek_arena *arena;
    struct ek_work *work;
    bool from_storage;
    struct ek_paths *unknown;
    const char *error;
    int rc;
};

bool ek_custom_version_of(yyjson_val *crd, const char *version, struct ek_custom_version *ret)
{
    yyjson_val *spec = ek_json_get(crd, "spec", NULL), *entry;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(spec, "versions"), i, n, entry)
    {
        if (strcmp(ek_json_text(entry, "name"), version) != 0)
            continue;
        *ret = (struct ek_custom_version){
            .group = ek_json_text(spec, "group"),
            .version = ek_json_text(entry, "name"),
            .kind = ek_json_text(yyjson_obj_get(spec, "names"), "kind"),
            .schema = ek_json_get(entry, "schema", "openAPIV3Schema", NULL),
            .scale = ek_json_get(entry, "subresources", "scale", NULL),
            .has_status = ek_json_get(entry, "subresources", "status", NULL) != NULL,
            .namespaced = !strcmp(ek_json_text(spec, "scope"), "Namespaced"),
        };
        return true;
    }
    return false;
}

/* ---- Paths and values as text ---- */

/* brackets: keys of maps stand in brackets, as in errors; reports of unknown fields have none. */
static void put_place(struct ek_buf *out, const struct place *at, bool brackets)
{
    if (at->step == STEP_ROOT)
        return;
    put_place(out, at->up, brackets);
    if (at->step == STEP_INDEX) {
        ek_buf_printf(out, "[%zu]", at->index);
        return;
    }
    bool in_brackets = brackets && at->step == STEP_KEY;
    ek_buf_puts(out, in_brackets ? "[" : out->len ? "." : "");
    ek_buf_append(out, at->name.p, at->name.len);
    if (in_brackets)
        ek_buf_puts(out, "]");
}

static const char *path_of(struct decoder *d, const struct place *at, bool brackets)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, EK_BUF_SMALL_MAX);
    put_place(&out, at, brackets);
    ek_work_octets(d->work, out.len);
    return ek_arena_strdup(d->arena, ek_buf_str(&out));
}

/* A value as it stands in a field error (apimachinery 1.36, pkg/util/validation/field/errors.go).
 */
static const char *value_text(struct decoder *d, yyjson_mut_val *value)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, TEXT_MAX);
    if (yyjson_mut_is_str(value)) {
        ek_quote(&out, (struct ek_str){yyjson_mut_get_str(value), yyjson_mut_get_len(value)});
    } else {
        yyjson_doc *doc = yyjson_mut_val_imut_copy(value, &ek_json_alc);
        ek_go_value(yyjson_doc_get_root(doc), &out);
        yyjson_doc_free(doc);
    }
    ek_work_octets(d->work, out.len);
    return ek_arena_strdup(d->arena, ek_buf_str(&out));
}

static void refuse(struct decoder *d, const struct place *up, const char *name,
                   yyjson_mut_val *value, const char *why)
{
    const struct place at = {.up = up, .step = STEP_FIELD, .name = ek_str_from(name)};

    if (!d->error)
        d->error = ek_arena_printf(d->arena, "%s: Invalid value: %s: %s", path_of(d, &at, true),
                                   value_text(d, value), why);
}

static void report_unknown(struct decoder *d, const struct place *at)
{
    bool full = d->unknown->n == EK_PATHS_MAX || ek_arena_exhausted(d->arena);
    ek_paths_add__(d->unknown, d->arena, full ? "" : path_of(d, at, false));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts the paths from the first-th on. */
static void sort_unknown(struct decoder *d, size_t first)
{
    if (d->unknown->n > first + 1)
        qsort(d->unknown->list + first, d->unknown->n - first, sizeof *d->unknown->list, by_text);
}

/* ---- The schema ---- */

static bool flag(yyjson_val *schema, const char *name)
{
    return yyjson_is_true(yyjson_obj_get(schema, name));
}

static bool is_meta(struct ek_str name)
{
    return ek_str_eq(name, EK_STR("apiVersion")) || ek_str_eq(name, EK_STR("kind")) ||
           ek_str_eq(name, EK_STR("metadata"));
}

static struct ek_str name_of(yyjson_mut_val *key)
{
    return (struct ek_str){yyjson_mut_get_str(key), yyjson_mut_get_len(key)};
}

/* How a schema sees the members of an object. */
struct shape {
    struct ek_members properties;
    yyjson_val *more; /* additionalProperties; NULL: none */
};

static void shape_init(struct shape *shape, struct decoder *d, yyjson_val *schema)
{
    ek_members_init(&shape->properties, yyjson_obj_get(schema, "properties"), d->work);
    shape->more = yyjson_obj_get(schema, "additionalProperties");
}

static void shape_done(struct shape *shape)
{
    ek_members_done(&shape->properties);
}

/* What the schema declares for a member: false for nothing. *ret_schema is NULL where it says that
 * there may be one, but not what (additionalProperties: true). */
static bool find_member(struct shape *shape, struct ek_str name, yyjson_val **ret_schema,
                        enum step *ret_step)
{
    yyjson_val *found = ek_members_find(&shape->properties, name);

    *ret_step = found || !shape->more ? STEP_FIELD : STEP_KEY;
    found = found ? found : shape->more;
    *ret_schema = yyjson_is_obj(found) ? found : NULL;
    return found != NULL;
}

static bool goes_on(struct decoder *d)
{
    if (!ek_work_do(d->work, 2) && !d->rc)
        d->rc = EK_E_CANCELED;
    return !d->rc;
}

/* ---- Pruning ---- */

/* pruning/algorithm.go: prune and skipPrune, which differ in what becomes of a member that is not
 * declared, and of lists. keeps: an object around is preserved, and value is a list in it. */
static void prune(struct decoder *d, yyjson_val *schema, yyjson_mut_val *value, bool is_root,
                  bool keeps, const struct place *at);

static void prune_members(struct decoder *d, yyjson_val *schema, yyjson_mut_val *object,
                          bool is_resource, bool keeps, const struct place *at)
{
    yyjson_mut_obj_iter members;
    yyjson_mut_val *key;
    struct shape shape;

    shape_init(&shape, d, schema);
    yyjson_mut_obj_iter_init(object, &members);
    while ((key = yyjson_mut_obj_iter_next(&members)) && goes_on(d)) {
        struct place inner = {.up = at, .name = name_of(key)};
        yyjson_val *of;
        if (is_resource && is_meta(inner.name))
            continue;
        if (find_member(&shape, inner.name, &of, &inner.step)) {
            prune(d, of, yyjson_mut_obj_iter_get_val(key), false, false, &inner);
        } else if (!keeps) {
            report_unknown(d, &inner);
            yyjson_mut_obj_iter_remove(&members);
        }
    }
    shape_done(&shape);
}

static void prune(struct decoder *d, yyjson_val *schema, yyjson_mut_val *value, bool is_root,
                  bool keeps, const struct place *at)
{
    yyjson_mut_val *item;
    size_t i, n;

    keeps = (keeps && schema) || flag(schema, "x-kubernetes-preserve-unknown-fields");
    if (yyjson_mut_is_obj(value)) {
        bool is_resource = is_root || flag(schema, "x-kubernetes-embedded-resource");
        prune_members(d, schema, value, is_resource, keeps, at);
        return;
    }
    yyjson_val *items = yyjson_obj_get(schema, "items");
    items = yyjson_is_obj(items) ? items : NULL;
    if (!yyjson_mut_is_arr(value) || (keeps && !items))
        return;
    yyjson_mut_arr_foreach(value, i, n, item)
    {
        const struct place inner = {.up = at, .step = STEP_INDEX, .index = i};
        if (!goes_on(d))
            return;
        prune(d, items, item, false, keeps, &inner);
    }
}

/* True for a value that may be null, or has a default to take the place of null. */
static bool takes_null(yyjson_val *schema)
{
    yyjson_val *initial = yyjson_obj_get(schema, "default");
    return flag(schema, "nullable") || (initial && !yyjson_is_null(initial));
}

/* defaulting/prunenulls.go. */
static void prune_nulls(struct decoder *d, yyjson_val *schema, yyjson_mut_val *value)
{
    yyjson_mut_obj_iter members;
    yyjson_mut_val *key, *item;
    yyjson_val *of;
    enum step step;
    size_t i, n;

    if (!schema)
        return;
    if (yyjson_mut_is_arr(value) && yyjson_is_obj(of = yyjson_obj_get(schema, "items")))
        yyjson_mut_arr_foreach(value, i, n, item)
        {
            if (!goes_on(d))
                return;
            prune_nulls(d, of, item);
        }
    if (!yyjson_mut_is_obj(value))
        return;
    struct shape shape;
    shape_init(&shape, d, schema);
    yyjson_mut_obj_iter_init(value, &members);
    while ((key = yyjson_mut_obj_iter_next(&members)) && goes_on(d)) {
        item = yyjson_mut_obj_iter_get_val(key);
        find_member(&shape, name_of(key), &of, &step);
        if (of && yyjson_mut_is_null(item) && !takes_null(of))
            yyjson_mut_obj_iter_remove(&members);
        else
            prune_nulls(d, of, item);
    }
    shape_done(&shape);
}

/* ---- Embedded resources ---- */

static void set_value(yyjson_mut_val *place, const yyjson_mut_val *value)
{
    place->tag = value->tag;
    place->uni = value->uni;
}

/* Reports what is unknown in the metadata of the object at `at`. Keys of maps stand in brackets
 * here, as in the server. */
static void report_unknown_metadata(struct decoder *d, const struct ek_paths *found,
                                    const struct place *at)
{
    for (size_t i = 0; i < found->n; i++) {
        bool full = d->unknown->n == EK_PATHS_MAX || ek_arena_exhausted(d->arena);
        const char *path =
            full || at->step == STEP_ROOT
                ? found->list[i]
                : ek_arena_printf(d->arena, "%s.%s", path_of(d, at, true), found->list[i]);
        ek_paths_add__(d->unknown, d->arena, path);
    }
    d->unknown->n_all += found->n_all - found->n;
}

/* Reads metadata, a member of the object at `at`, in place. */
static void read_metadata(struct decoder *d, yyjson_mut_val *metadata, const struct place *at)
{
    struct ek_paths found = {0};
    const struct ek_metadata_reader reader = {.doc = d->doc,
                                              .arena = d->arena,
                                              .work = d->work,
                                              .is_lenient = d->from_storage,
                                              .unknown = &found};
    const char *why;
    yyjson_mut_val *read = ek_metadata_read__(&reader, metadata, &why);

    report_unknown_metadata(d, &found, at);
    if (read)
        set_value(metadata, read);
    else if (!why)
        d->rc = ek_work_is_over(d->work) ? EK_E_CANCELED : EK_E_NOMEM;
    else if (at->step == STEP_ROOT)
        d->error = why;
    else if (!d->from_storage)
        refuse(d, at, "metadata", metadata, why);
}

static void coerce(struct decoder *d, yyjson_val *schema, yyjson_mut_val *value,
                   const struct place *at);

static void coerce_members(struct decoder *d, yyjson_val *schema, yyjson_mut_val *object,
                           const struct place *at)
{
    bool is_resource = flag(schema, "x-kubernetes-embedded-resource");
    yyjson_mut_obj_iter members;
    yyjson_mut_val *key;
    struct shape shape;

    shape_init(&shape, d, schema);
    yyjson_mut_obj_iter_init(object, &members);
    while ((key = yyjson_mut_obj_iter_next(&members)) && goes_on(d) && !d->error) {
        struct place inner = {.up = at, .name = name_of(key)};
        yyjson_mut_val *item = yyjson_mut_obj_iter_get_val(key);
        yyjson_val *of;
        if (is_resource && ek_str_eq(inner.name, EK_STR("metadata"))) {
            read_metadata(d, item, at);
        } else if (is_resource && is_meta(inner.name) && !yyjson_mut_is_str(item)) {
            if (!d->from_storage)
                refuse(d, at, inner.name.p, item, "must be a string");
            else
                yyjson_mut_obj_iter_remove(&members);
            continue;
        }
        if (find_member(&shape, inner.name, &of, &inner.step) && !d->error)
            coerce(d, of, item, &inner);
    }
    shape_done(&shape);
}

/* objectmeta/algorithm.go: CoerceWithOptions. */
static void coerce(struct decoder *d, yyjson_val *schema, yyjson_mut_val *value,
                   const struct place *at)
{
    yyjson_val *items = yyjson_obj_get(schema, "items");
    yyjson_mut_val *item;
    size_t i, n;

    if (!schema || !goes_on(d) || d->error)
        return;
    if (yyjson_mut_is_obj(value))
        coerce_members(d, schema, value, at);
    if (!yyjson_mut_is_arr(value) || !yyjson_is_obj(items))
        return;
    yyjson_mut_arr_foreach(value, i, n, item)
    {
        const struct place inner = {.up = at, .step = STEP_INDEX, .index = i};
        coerce(d, items, item, &inner);
    }
}

/* ---- Defaults ---- */

/* A copy of the default of a schema; NULL: it has none. */
static yyjson_mut_val *initial_of(struct decoder *d, yyjson_val *schema)
{
    yyjson_val *initial = yyjson_obj_get(schema, "default");

    if (!initial || yyjson_is_null(initial))
        return NULL;
    if (!ek_work_do(d->work, (uint64_t)(unsafe_yyjson_get_next(initial) - initial)))
        d->rc = EK_E_CANCELED;
    yyjson_mut_val *copy = d->rc ? NULL : yyjson_val_mut_copy(d->doc, initial);
    if (!copy && !d->rc)
        d->rc = EK_E_NOMEM;
    return copy;
}

static void give(struct decoder *d, yyjson_val *schema, yyjson_mut_val *value);

/* Puts the default in the place of a null that may not be. */
static void replace_null(struct decoder *d, yyjson_val *schema, yyjson_mut_val *value)
{
    if (!schema || !yyjson_mut_is_null(value) || flag(schema, "nullable"))
        return;
    yyjson_mut_val *initial = initial_of(d, schema);
    if (initial)
        set_value(value, initial);
}

/* The members that are missing. */
static void give_missing(struct decoder *d, yyjson_val *schema, yyjson_mut_val *object)
{
    struct ek_members members;
    yyjson_val *key, *of;
    size_t i, n;

    ek_members_init_mut(&members, object, d->work);
    ek_json_each_member(yyjson_obj_get(schema, "properties"), i, n, key, of)
    {
        struct ek_str name = {yyjson_get_str(key), yyjson_get_len(key)};
        if (d->rc)
            break;
        if (!yyjson_obj_get(of, "default") || ek_members_find_mut(&members, name))
            continue;
        yyjson_mut_val *initial = initial_of(d, of);
        if (initial &&
            !yyjson_mut_obj_add(object, yyjson_mut_strn(d->doc, name.p, name.len), initial))
            d->rc = EK_E_NOMEM;
    }
    ek_members_done(&members);
}

/* defaulting/algorithm.go: Default. */
static void give(struct decoder *d, yyjson_val *schema, yyjson_mut_val *value)
{
    yyjson_mut_val *key, *item;
    yyjson_val *of;
    enum step step;
    size_t i, n;

    if (!schema || !goes_on(d))
        return;
    if (yyjson_mut_is_arr(value) && yyjson_is_obj(of = yyjson_obj_get(schema, "items")))
        yyjson_mut_arr_foreach(value, i, n, item)
        {
            replace_null(d, of, item);
            give(d, of, item);
        }
    if (!yyjson_mut_is_obj(value))
        return;
    give_missing(d, schema, value);
    struct shape shape;
    shape_init(&shape, d, schema);
    yyjson_mut_obj_foreach(value, i, n, key, item)
    {
        if (find_member(&shape, name_of(key), &of, &step)) {
            replace_null(d, of, item);
            give(d, of, item);
        }
        if (d->rc)
            break;
    }
    shape_done(&shape);
}

/* ---- An object ---- */

static const struct place root = {.step = STEP_ROOT};

/* What Go's reflection calls a value, and the value as %v. */
static const char *accessor_error(struct decoder *d, const char *name, yyjson_mut_val *value)
{
    const char *type = yyjson_mut_is_bool(value)   ? "bool"
                       : yyjson_mut_is_real(value) ? "float64"
                       : yyjson_mut_is_num(value)  ? "int64"
                       : yyjson_mut_is_arr(value)  ? "[]interface {}"
                       : yyjson_mut_is_obj(value)  ? "map[string]interface {}"
                                                   : "<nil>";

    return ek_arena_printf(d->arena, ".%s accessor error: %s is of the type %s, expected string",
                           name, yyjson_mut_is_null(value) ? "<nil>" : value_text(d, value), type);
}

/* The text of a member at the root, "" where there is none. */
static const char *root_text(struct decoder *d, yyjson_mut_val *object, const char *name)
{
    yyjson_mut_val *value = yyjson_mut_obj_get(object, name);

    if (value && !yyjson_mut_is_str(value) && !d->error)
        d->error = accessor_error(d, name, value);
    return yyjson_mut_is_str(value) ? yyjson_mut_get_str(value) : "";
}

/* True for "GROUP/VERSION" with the group of the definition. *ret_known: it is its version, too. */
static bool has_group(struct decoder *d, const char *api_version, bool *ret_known)
{
    const char *slash = strchr(api_version, '/');
    size_t len = strlen(d->version->group);

    if (slash && strchr(slash + 1, '/') && !d->error)
        d->error = ek_arena_printf(d->arena, "unexpected GroupVersion string: %.*s", NAME_MAX_SHOWN,
                                   api_version);
    *ret_known = slash && !strcmp(slash + 1, d->version->version);
    return slash && (size_t)(slash - api_version) == len &&
           !memcmp(api_version, d->version->group, len);
}

/* unstructuredSchemaCoercer.apply. True for an object of the definition; *ret_schema is its schema,
 * NULL for one of a version that is not there. */
static bool settle(struct decoder *d, yyjson_mut_val *object, yyjson_val **ret_schema)
{
    yyjson_mut_val *metadata = yyjson_mut_obj_get(object, "metadata");
    const char *kind = root_text(d, object, "kind");
    const char *api_version = root_text(d, object, "apiVersion");
    bool is_known;

    if (metadata && !d->error)
        read_metadata(d, metadata, &root);
    bool is_ours = has_group(d, api_version, &is_known) && !strcmp(kind, d->version->kind);
    *ret_schema = is_known ? d->version->schema : NULL;
    if (!is_ours || d->error || d->rc)
        return is_ours;
    /* metadata is what its struct made of it, whatever the schema says: it is put back. */
    yyjson_mut_val kept = metadata ? *metadata : (yyjson_mut_val){0};
    size_t n_unknown = d->unknown->n;
    prune(d, *ret_schema, object, true, false, &root);
    sort_unknown(d, n_unknown);
    prune_nulls(d, *ret_schema, object);
    n_unknown = d->unknown->n;
    coerce(d, *ret_schema, object, &root);
    sort_unknown(d, n_unknown);
    metadata = metadata ? yyjson_mut_obj_get(object, "metadata") : NULL;
    if (metadata)
        set_value(metadata, &kept);
    return true;
}

int ek_custom_decode(const struct ek_custom_version *version, yyjson_mut_doc *doc,
                     yyjson_mut_val *object, const struct ek_custom_options *options,
                     struct ek_custom_decoding *ret)
{
    struct decoder d = {.version = version,
                        .doc = doc,
                        .arena = options->arena,
                        .work = options->work,
                        .from_storage = options->from_storage,
                        .unknown = &ret->unknown};

    *ret = (struct ek_custom_decoding){0};
    yyjson_val *schema;
    bool is_ours = settle(&d, object, &schema);
    if (is_ours && options->defaults && !d.error && !d.rc)
        give(&d, schema, object);
    ret->error = d.error;
    return d.rc || !ek_work_is_over(options->work) ? d.rc : EK_E_CANCELED;
}
