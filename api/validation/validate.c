/* SPDX-License-Identifier: Apache-2.0 */
#include "api/validation/validate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/decode/custom.h"
#include "api/decode/gotext.h"
#include "api/members.h"
#include "api/obj.h"
#include "api/validation/validation-internal.h"

#define ARENA_MAX ((size_t)16 << 20) /* texts of one validator */

/* Nodes of one schema, and levels of it: an API server takes neither. */
#define NODES_MAX ((size_t)1 << 18)
#define DEPTH_MAX 256

#define TEXT_MAX ((size_t)1 << 20) /* of one value */

static const char *const combined[] = {"allOf", "anyOf", "oneOf"};

/* ---- Birth ---- */

static struct ek_vnode *add_node(struct ek_validator *v, yyjson_val *schema)
{
    if (v->n_nodes == v->cap_nodes) {
        v->cap_nodes = v->cap_nodes ? 2 * v->cap_nodes : 16;
        v->nodes = ek_xrealloc(v->nodes, v->cap_nodes, sizeof *v->nodes);
    }
    struct ek_vnode *node = &v->nodes[v->n_nodes++];
    *node = (struct ek_vnode){.schema = schema};
    return node;
}

static void compile_pattern(struct ek_validator *v, struct ek_vnode *node)
{
    yyjson_val *pattern = yyjson_obj_get(node->schema, "pattern");
    struct ek_err err = {0};

    node->pattern = ek_cel_regex_new_within(yyjson_get_str(pattern), yyjson_get_len(pattern),
                                            &v->regex_budget, &err);
    if (!node->pattern)
        node->why =
            ek_arena_exhausted(v->arena) ? "no memory" : ek_arena_strdup(v->arena, err.message);
}

struct reading {
    struct ek_validator *validator;
    size_t n_seen;
};

static int read_schema(struct reading *r, yyjson_val *schema, unsigned depth);

static int read_members(struct reading *r, yyjson_val *schema, unsigned depth)
{
    static const char *const single[] = {"items", "additionalProperties", "not"};
    size_t i, n;
    yyjson_val *key, *value;
    int rc = 0;

    ek_json_each_member(yyjson_obj_get(schema, "properties"), i, n, key, value)
    {
        rc = rc ? rc : read_schema(r, value, depth);
    }
    for (size_t k = 0; k < EK_ARRAY_SIZE(single) && !rc; k++)
        rc = read_schema(r, yyjson_obj_get(schema, single[k]), depth);
    for (size_t k = 0; k < EK_ARRAY_SIZE(combined); k++)
        yyjson_arr_foreach(yyjson_obj_get(schema, combined[k]), i, n, value)
        {
            rc = rc ? rc : read_schema(r, value, depth);
        }
    return rc;
}

/* Finds the nodes that need more than their text. */
static int read_schema(struct reading *r, yyjson_val *schema, unsigned depth)
{
    if (!yyjson_is_obj(schema))
        return 0;
    if (depth > DEPTH_MAX || ++r->n_seen > NODES_MAX)
        return EK_E_LIMIT;
    bool has_pattern = yyjson_get_len(yyjson_obj_get(schema, "pattern")) > 0 &&
                       yyjson_is_str(yyjson_obj_get(schema, "pattern"));
    bool has_rules = yyjson_arr_size(yyjson_obj_get(schema, "x-kubernetes-validations")) > 0;
    int rc = 0;
    if (has_pattern || has_rules) {
        struct ek_vnode *node = add_node(r->validator, schema);
        if (has_pattern)
            compile_pattern(r->validator, node);
        if (has_rules)
            rc = ek_vrules_compile__(r->validator, node);
    }
    return rc ? rc : read_members(r, schema, depth + 1);
}

static int by_schema(const void *a, const void *b)
{
    const struct ek_vnode *x = a, *y = b;
    return (x->schema > y->schema) - (x->schema < y->schema);
}

/* What cannot be compiled is no schema that an API server takes. */
static int check_schema(yyjson_val *crd, const char *version, struct ek_err *err)
{
    struct ek_schema *schema = NULL;
    int rc = ek_schema_compile_crd(crd, version, &schema, err);

    ek_schema_unref(schema);
    return rc;
}

int ek_validator_new(yyjson_val *crd, const char *version, struct ek_validator **ret_validator,
                     struct ek_err *err)
{
    struct ek_validator *v = ek_xalloc(sizeof *v);
    struct reading reading = {.validator = v};

    v->arena = ek_arena_new(ARENA_MAX);
    v->regex_budget = EK_CEL_REGEX_BUDGET;
    int rc = check_schema(crd, version, err);
    if (!rc && !ek_custom_version_of(crd, version, &v->is))
        rc = ek_err_set(err, EK_E_NOENT, "there is no version %s", version);
    if (!rc) {
        rc = read_schema(&reading, v->is.schema, 0);
        if (rc)
            ek_err_set(err, rc, "the schema of version %s is too large", version);
    }
    if (rc) {
        ek_validator_free(v);
        return rc;
    }
    if (v->n_nodes)
        qsort(v->nodes, v->n_nodes, sizeof *v->nodes, by_schema);
    *ret_validator = v;
    return 0;
}

void ek_validator_free(struct ek_validator *v)
{
    if (!v)
        return;
    for (size_t i = 0; i < v->n_nodes; i++) {
        ek_cel_regex_free(v->nodes[i].pattern);
        ek_vrules_done__(&v->nodes[i]);
    }
    ek_free(v->nodes);
    ek_cel_env_unref(v->env);
    ek_arena_free(v->arena);
    ek_free(v);
}

/* ---- Common parts ---- */

const struct ek_vnode *ek_vnode_of__(const struct ek_validator *v, yyjson_val *schema)
{
    const struct ek_vnode key = {.schema = schema};
    return v->n_nodes ? bsearch(&key, v->nodes, v->n_nodes, sizeof key, by_schema) : NULL;
}

static void add_step(struct ek_buf *out, const struct ek_vpath *path, bool brackets)
{
    if (path->step == EK_VSTEP_ROOT)
        return;
    add_step(out, path->up, brackets);
    if (path->step == EK_VSTEP_INDEX) {
        ek_buf_printf(out, "[%zu]", path->index);
        return;
    }
    bool in_brackets = brackets && path->step == EK_VSTEP_KEY;
    bool has_dot = out->len || (!brackets && path->step == EK_VSTEP_KEY);
    ek_buf_puts(out, in_brackets ? "[" : has_dot ? "." : "");
    ek_buf_append(out, path->name.p, path->name.len);
    if (in_brackets)
        ek_buf_puts(out, "]");
}

const char *ek_vpath_text__(struct ek_vwalk *w, const struct ek_vpath *path, bool brackets)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, EK_BUF_SMALL_MAX);
    if (!ek_work_is_over(w->work) && !ek_arena_exhausted(w->arena))
        add_step(&out, path, brackets);
    ek_work_octets(w->work, out.len);
    return ek_arena_strdup(w->arena, ek_buf_str(&out));
}

bool ek_vkeeps__(const struct ek_vwalk *w)
{
    return w->errors && !ek_field_errors_full(w->errors) && !ek_work_is_over(w->work);
}

const char *ek_vat__(struct ek_vwalk *w, const struct ek_vpath *path)
{
    return ek_vkeeps__(w) ? ek_vpath_text__(w, path, false) : "";
}

void ek_vunknown__(struct ek_vwalk *w, const struct ek_vpath *path, const char *fmt, ...)
{
    char text[512];
    va_list args;

    if (*w->unknown)
        return;
    if (ek_arena_exhausted(w->arena)) { /* there may be one of each value */
        *w->unknown = "the object has more errors than fit";
        return;
    }
    const char *at = path ? ek_vpath_text__(w, path, true) : "";
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    *w->unknown = ek_arena_printf(w->arena, "%s%s%s", at, path ? ": " : "", text);
}

void ek_verror__(struct ek_vwalk *w, const char *path, const char *fmt, ...)
{
    va_list args;

    if (ek_work_is_over(w->work)) /* what was found since means nothing */
        return;
    w->n_failed++;
    if (!ek_vkeeps__(w))
        return;
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    EK_AUTOFREE char *text = ek_xalloc((size_t)(n > 0 ? n : 0) + 1);
    va_start(args, fmt);
    vsnprintf(text, (size_t)(n > 0 ? n : 0) + 1, fmt, args);
    va_end(args);
    const char *below = *path == '.' ? path + 1 : path;
    if (w->prefix)
        below = ek_arena_printf(w->arena, "%s%s%s", w->prefix, *below ? "." : "", below);
    ek_field_error(w->errors, *below ? below : "<nil>", text);
}

const char *ek_vjson__(struct ek_vwalk *w, yyjson_val *value)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, TEXT_MAX);
    if (ek_work_is_over(w->work) || ek_arena_exhausted(w->arena))
        return "";
    if (yyjson_is_str(value)) {
        ek_quote(&out, (struct ek_str){yyjson_get_str(value), yyjson_get_len(value)});
    } else {
        ek_go_value(value, &out);
    }
    ek_work_octets(w->work, out.len);
    if (out.failed)
        ek_vunknown__(w, NULL, "a value is too long to be compared");
    return ek_arena_strdup(w->arena, ek_buf_str(&out));
}

const char *ek_vtext__(struct ek_vwalk *w, yyjson_val *value)
{
    if (w->hides || !ek_vkeeps__(w))
        return "<value>";
    return ek_vjson__(w, value);
}

yyjson_val *ek_vmember__(struct ek_work *work, yyjson_val *schema, struct ek_str name,
                         bool *ret_is_key)
{
    yyjson_val *declared = yyjson_obj_get(schema, "properties");
    yyjson_val *member = yyjson_obj_getn(declared, name.p, name.len);

    ek_work_do(work, yyjson_obj_size(declared) / 16);
    *ret_is_key = !member;
    if (!member)
        member = yyjson_obj_get(schema, "additionalProperties");
    return yyjson_is_obj(member) ? member : NULL;
}

/* ---- The schema ---- */

static void walk(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value, struct ek_vbefore *was,
                 const struct ek_vpath *path);

static bool flag(yyjson_val *schema, const char *name)
{
    return yyjson_is_true(yyjson_obj_get(schema, name));
}

/* The type of a value as schemas name it. Whole numbers that do not fit are read as doubles. */
static const char *type_of(yyjson_val *value)
{
    switch (yyjson_get_type(value)) {
    case YYJSON_TYPE_BOOL:
        return "boolean";
    case YYJSON_TYPE_STR:
        return "string";
    case YYJSON_TYPE_ARR:
        return "array";
    case YYJSON_TYPE_OBJ:
        return "object";
    case YYJSON_TYPE_NUM:
        return yyjson_is_sint(value) ||
                       (yyjson_is_uint(value) && yyjson_get_uint(value) <= INT64_MAX)
                   ? "integer"
                   : "number";
    default:
        return "null";
    }
}

static bool is_whole(yyjson_val *value)
{
    double d = yyjson_get_num(value);
    return d >= -9007199254740991.0 && d <= 9007199254740991.0 && d == (double)(int64_t)d;
}

static bool is_number_format(const char *format)
{
    return !strcmp(format, "int32") || !strcmp(format, "int64") || !strcmp(format, "float") ||
           !strcmp(format, "double");
}

/* kube-openapi pkg/validation/validate/type.go:Validate. */
static void check_type(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                       const struct ek_vpath *path)
{
    bool either = flag(schema, "x-kubernetes-int-or-string");
    const char *declared = either ? "integer,string" : ek_json_text(schema, "type");
    const char *format = ek_json_text(schema, "format"), *is = type_of(value), *want = declared;
    bool is_number = !strcmp(declared, "number") || !strcmp(declared, "integer") || either;

    if (yyjson_is_null(value)) {
        if (!*declared || flag(schema, "nullable"))
            return;
    } else {
        bool formatted =
            is_number_format(format) || ek_vformat__(format, EK_STR("")) != EK_VFORMAT_NONE;
        if (formatted && !is_number && (yyjson_is_str(value) || yyjson_is_arr(value)))
            return;
        bool fits = (either && (!strcmp(is, "string") || !strcmp(is, "integer"))) ||
                    !strcmp(is, declared) ||
                    (!strcmp(is, "integer") && !strcmp(declared, "number")) ||
                    (!strcmp(is, "number") && is_number && strcmp(declared, "number") != 0 &&
                     is_whole(value));
        if (fits || (!*declared && !formatted))
            return;
        const char *of_go = !strcmp(is, "integer")  ? "int64"
                            : !strcmp(is, "number") ? "float64"
                                                    : "";
        if (formatted && !yyjson_is_str(value) && !yyjson_is_arr(value) &&
            strcmp(format, of_go) != 0) {
            want = format;
            is = of_go;
        }
    }
    const char *at = ek_vat__(w, path);
    w->n_blocking++;
    ek_verror__(w, at, "Invalid value: \"%s\": %s in body must be of type %s: \"%s\"", is, at, want,
                is);
}

/* ---- Values within ---- */

static void walk_members(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                         struct ek_vbefore *was, const struct ek_vpath *path)
{
    yyjson_val *key, *member, *name;
    size_t i, n;
    struct ek_members olds;
    struct ek_vbefore before;

    ek_members_init(&olds, was ? was->old : NULL, w->work);
    ek_json_each_member(value, i, n, key, member)
    {
        struct ek_vpath at = {.up = path, .step = EK_VSTEP_FIELD};
        bool is_key;
        at.name = (struct ek_str){yyjson_get_str(key), yyjson_get_len(key)};
        yyjson_val *of = ek_vmember__(w->work, schema, at.name, &is_key);
        at.step = is_key ? EK_VSTEP_KEY : EK_VSTEP_FIELD;
        if (!ek_work_do(w->work, 1))
            break;
        if (of)
            walk(w, of, member, ek_vbefore_member__(w, was, &olds, &at, member, &before), &at);
    }
    ek_members_done(&olds);
    struct ek_members members;
    ek_members_init(&members, value, w->work);
    yyjson_arr_foreach(yyjson_obj_get(schema, "required"), i, n, name)
    {
        struct ek_vpath at = {.up = path, .step = EK_VSTEP_FIELD};
        at.name = (struct ek_str){yyjson_get_str(name), yyjson_get_len(name)};
        if (!yyjson_is_str(name) || ek_members_find(&members, at.name))
            continue;
        w->n_blocking++;
        ek_verror__(w, ek_vat__(w, &at), "Required value");
    }
    ek_members_done(&members);
}

static void walk_items(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                       struct ek_vbefore *was, const struct ek_vpath *path)
{
    yyjson_val *items = yyjson_obj_get(schema, "items"), *item;
    size_t i, n;
    struct ek_volds olds;

    w->n_matched++;
    if (!yyjson_is_obj(items))
        return;
    ek_volds_init__(&olds, w, was ? was->schema : NULL, was ? was->old : NULL);
    yyjson_arr_foreach(value, i, n, item)
    {
        const struct ek_vpath at = {.up = path, .step = EK_VSTEP_INDEX, .index = i};
        struct ek_vbefore before = {.value = item, .old = ek_volds_find__(&olds, w, item)};
        if (before.old)
            before.schema = yyjson_obj_get(was->schema, "items");
        walk(w, items, item, before.old ? &before : NULL, &at);
    }
    ek_volds_done__(&olds);
}

/* A value against a schema. The number of checks that match is counted as the server does: it
 * chooses among the schemas of anyOf by it (schema.go:Validate). */
void ek_vnode_walk__(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                     struct ek_vbefore *was, const struct ek_vpath *path)
{
    size_t before = w->n_failed;
    bool has_type = *ek_json_text(schema, "type") || flag(schema, "x-kubernetes-int-or-string") ||
                    *ek_json_text(schema, "format");

    if (!ek_work_do(w->work, 8)) {
        ek_vunknown__(w, NULL, "the object takes too long to validate");
        return;
    }
    if (!yyjson_is_obj(schema))
        return;
    check_type(w, schema, value, path);
    w->n_matched += has_type && w->n_failed == before;
    if (yyjson_is_null(value)) {
        ek_venum__(w, schema, value, path);
        return;
    }
    /* Types, schemas in schemas, the value's own kind, its format, enum, and all of it. */
    w->n_matched += has_type + 4;
    if (yyjson_is_str(value))
        w->n_matched += ek_vformat__(ek_json_text(schema, "format"), EK_STR("")) != EK_VFORMAT_NONE;
    ek_vcombined__(w, schema, value, was, path);
    if (yyjson_is_arr(value))
        walk_items(w, schema, value, was, path);
    ek_vscalar__(w, schema, value, path);
    ek_venum__(w, schema, value, path);
    ek_vsize__(w, schema, yyjson_is_obj(value) ? value : NULL, path);
    if (yyjson_is_obj(value))
        walk_members(w, schema, value, was, path);
}

/* The same, but for what is wrong with a value that was so before: apiextensions-apiserver,
 * pkg/apiserver/validation/ratcheting.go. was: the value before the update; NULL: none. */
static void walk(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value, struct ek_vbefore *was,
                 const struct ek_vpath *path)
{
    size_t n_failed = w->n_failed, n_blocking = w->n_blocking;
    size_t n_kept = w->errors ? w->errors->n : 0;

    ek_vnode_walk__(w, schema, value, was, path);
    if (w->n_failed == n_failed || !ek_vsame__(w, was))
        return;
    w->n_failed = n_failed;
    w->n_blocking = n_blocking;
    if (w->errors)
        w->errors->n = n_kept;
}

void ek_vschema__(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value, yyjson_val *old)
{
    static const struct ek_vpath root = {.step = EK_VSTEP_ROOT};
    struct ek_vbefore was = {.schema = schema, .old = old, .value = value};

    walk(w, schema, value, old ? &was : NULL, &root);
}

/* ---- Pruning ---- */

/* True for what each resource has, whatever the schema declares of it: never pruned. */
static bool is_meta(yyjson_val *schema, const char *name, bool is_root)
{
    return (is_root || flag(schema, "x-kubernetes-embedded-resource")) &&
           (!strcmp(name, "apiVersion") || !strcmp(name, "kind") || !strcmp(name, "metadata"));
}

/* True for a member that the schema does not know, and that is not kept either. */
static bool is_unknown(yyjson_val *schema, yyjson_val *of)
{
    return !of && !flag(schema, "x-kubernetes-preserve-unknown-fields") &&
           !flag(schema, "additionalProperties");
}

/* apiextensions-apiserver pkg/apiserver/schema/pruning/algorithm.go:PruneWithOptions. */
static void find_dropped(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                         const struct ek_vpath *path, bool is_root, struct ek_validation *ret)
{
    yyjson_val *key, *member;
    size_t i, n;

    if (!ek_work_do(w->work, 1))
        return;
    yyjson_arr_foreach(yyjson_is_arr(value) ? value : NULL, i, n, member)
    {
        const struct ek_vpath at = {.up = path, .step = EK_VSTEP_INDEX, .index = i};
        if (yyjson_is_obj(yyjson_obj_get(schema, "items")))
            find_dropped(w, yyjson_obj_get(schema, "items"), member, &at, false, ret);
    }
    ek_json_each_member(value, i, n, key, member)
    {
        const char *name = yyjson_get_str(key);
        bool is_key;
        struct ek_vpath at = {.up = path};
        if (is_meta(schema, name, is_root))
            continue;
        at.name = (struct ek_str){name, yyjson_get_len(key)};
        yyjson_val *of = ek_vmember__(w->work, schema, at.name, &is_key);
        at.step = of && is_key ? EK_VSTEP_KEY : EK_VSTEP_FIELD;
        if (of)
            find_dropped(w, of, member, &at, false, ret);
        else if (is_unknown(schema, of) && !ret->n_dropped++)
            ret->dropped = ek_vpath_text__(w, &at, true);
    }
}

/* ---- An object ---- */

static const struct ek_vpath root_path = {.step = EK_VSTEP_ROOT};

/* The object as an API server decodes it, owned; NULL when it cannot be made. */
static yyjson_doc *decoded(struct ek_vwalk *w, yyjson_val *object)
{
    const struct ek_custom_options options = {.defaults = true, .arena = w->arena, .work = w->work};
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&ek_json_alc);
    yyjson_mut_val *copy = doc ? yyjson_val_mut_copy(doc, object) : NULL;
    yyjson_doc *made = NULL;
    struct ek_custom_decoding decoding = {0};

    yyjson_mut_doc_set_root(doc, copy);
    if (copy && !ek_custom_decode(&w->validator->is, doc, copy, &options, &decoding) &&
        !decoding.error)
        made = yyjson_mut_doc_imut_copy(doc, &ek_json_alc);
    yyjson_mut_doc_free(doc);
    if (decoding.error)
        ek_vunknown__(w, NULL, "an API server cannot read the object%s%s", w->hides ? "" : ": ",
                      w->hides ? "" : decoding.error);
    else if (!made)
        ek_vunknown__(w, NULL, "the defaults of the schema cannot be set");
    return made;
}

static void as_created(struct ek_vwalk *w, yyjson_val *object)
{
    ek_vschema__(w, w->validator->is.schema, object, NULL);
    ek_vscale__(w, object, false);
    ek_vembedded__(w, w->validator->is.schema, object, &root_path);
    ek_vlists__(w, w->validator->is.schema, object, &root_path);
    ek_vrules__(w, object, NULL);
}

void ek_validate(struct ek_validator *validator, yyjson_val *object, struct ek_arena *arena,
                 struct ek_work *work, bool hides_values, struct ek_validation *ret)
{
    struct ek_vwalk w = {.validator = validator,
                         .arena = arena,
                         .work = work,
                         .hides = hides_values,
                         .unknown = &ret->unknown};

    *ret = (struct ek_validation){.as_stored = {.arena = arena}, .as_created = {.arena = arena}};
    w.errors = &ret->as_stored;
    ek_vschema__(&w, validator->is.schema, object, NULL);
    find_dropped(&w, validator->is.schema, object, &root_path, true, ret);
    w.errors = &ret->as_created;
    w.n_failed = w.n_blocking = 0;
    yyjson_doc *made = decoded(&w, object);
    if (made)
        as_created(&w, yyjson_doc_get_root(made));
    yyjson_doc_free(made);
    if (ek_work_is_over(work))
        ek_vunknown__(&w, NULL, "the object takes too long to validate");
    if (ek_arena_exhausted(arena))
        ret->unknown = "the object has more errors than fit";
}
