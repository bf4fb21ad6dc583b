/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/base/hash.h"
#include "api/base/mem.h"
#include "api/base/quote.h"
#include "api/base/table.h"
#include "api/base/work.h"
#include "api/cel/text/number.h"
#include "api/cel/text/time.h"
#include "api/cel/values/native.h"
#include "api/cel/values/type.h"
#include "api/cel/values/value.h"

/* What one conversion may make: octets of texts and values. Values can share parts, so that a
 * small one may stand for a huge text. */
#define OCTETS_MAX ((size_t)64 * 1024 * 1024)

#define SHOWN_STEPS 16 /* of a path, in a message */

/* The largest whole number that protobuf's JSON writes as a number. */
#define SAFE_INT_MAX ((INT64_C(1) << 53) - 1)

/*
 * How a value is seen from where it is. The reference converts in two steps, of which the second
 * knows fewer types (apiserver/pkg/cel/mutation/dynamic/objects.go: ObjectVal.ConvertToNative).
 */
enum place {
    PLAIN,   /* EK_CEL_JSON_PLAIN, at any depth */
    VALUE,   /* the value of a JSONPatch, in its lists and maps */
    SUMMAND, /* an element of a sum of lists there: the reference reads the Go value of each as CEL
                again (cel-go's common/types/list.go: concatList.Value) */
    MEMBER,  /* a field of an object in such a sum */
    FIELD,   /* a field of an object */
    ELEMENT, /* of a list or map that is a field: lists and maps only as they came from JSON */
};

struct step {
    const struct step *up;
    const char *name; /* NULL for an index */
    size_t len;
    uint32_t index;
};

struct conversion {
    enum ek_cel_json_rules rules;
    yyjson_mut_doc *doc;
    struct ek_work *work; /* NULL: without a limit */
    struct ek_err *err;
    size_t left; /* octets */
    unsigned depth;
};

static yyjson_mut_val *convert(struct conversion *c, const struct ek_cel_val *v, enum place place,
                               const struct step *at);

static bool sums(enum place place)
{
    return place == SUMMAND || place == MEMBER;
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static void format_path(const struct step *at, struct ek_buf *out)
{
    const struct step *steps[SHOWN_STEPS];
    size_t n = 0;

    for (; at && n < SHOWN_STEPS; at = at->up)
        steps[n++] = at;
    if (at)
        ek_buf_puts(out, "...");
    while (n--) {
        if (steps[n]->name)
            ek_buf_printf(out, ".%.*s", steps[n]->len > 64 ? 64 : (int)steps[n]->len,
                          steps[n]->name);
        else
            ek_buf_printf(out, "[%u]", steps[n]->index);
    }
}

static yyjson_mut_val *refuse(struct conversion *c, const struct step *at, const char *what)
{
    EK_AUTO(ek_buf) path;

    ek_buf_init(&path, 2048);
    format_path(at, &path);
    ek_err_set(c->err, EK_E_INVAL, "%s%s%s", ek_buf_str(&path), path.len ? ": " : "", what);
    return NULL;
}

/* A Go value that CEL has no type for (cel-go's common/types/provider.go: nativeToValue). */
static void refuse_adapted(struct conversion *c, const struct ek_cel_val *v)
{
    EK_AUTO(ek_buf) shown;

    ek_buf_init(&shown, 4096);
    ek_cel_native_text(v, &shown);
    ek_err_set(c->err, EK_E_INVAL, "unsupported conversion to ref.Val: (%.100s)%.200s",
               ek_cel_native_type(v), ek_buf_str(&shown));
}

/* What the reference says when it makes the value of a JSONPatch: protobuf does within objects
 * (with a no-break space), the types themselves do elsewhere. */
static yyjson_mut_val *refuse_native(struct conversion *c, const struct ek_cel_val *v,
                                     enum place place)
{
    if (sums(place) && v->kind == EK_CEL_OPAQUE)
        refuse_adapted(c, v);
    else if (place == FIELD || place == ELEMENT)
        ek_err_set(c->err, EK_E_INVAL, "proto:\xc2\xa0invalid type: %.100s", ek_cel_native_type(v));
    else if (v->kind == EK_CEL_TYPE)
        ek_err_set(c->err, EK_E_INVAL, "type conversion not supported for 'type'");
    else if (v->kind == EK_CEL_STRUCT)
        ek_err_set(c->err, EK_E_INVAL, "cannot convert to native type: *structpb.Value");
    else
        ek_err_set(c->err, EK_E_INVAL, "type conversion error from '%.100s' to '*structpb.Value'",
                   ek_cel_native_name(v));
    return NULL;
}

static yyjson_mut_val *refuse_kind(struct conversion *c, const struct step *at,
                                   const struct ek_cel_val *v)
{
    char what[160];

    snprintf(what, sizeof what, "a value of type %.100s has no JSON form here",
             ek_cel_type_name(v));
    return refuse(c, at, what);
}

static bool afford(struct conversion *c, const struct step *at, size_t octets)
{
    if (!ek_work_octets(c->work, octets)) {
        ek_err_set(c->err, EK_E_CANCELED, "the time is over");
        return false;
    }
    octets += sizeof(yyjson_mut_val);
    if (octets > c->left) {
        refuse(c, at, "the value is too large");
        return false;
    }
    c->left -= octets;
    return true;
}

static yyjson_mut_val *made(struct conversion *c, yyjson_mut_val *json)
{
    if (!json)
        ek_err_set(c->err, EK_E_NOMEM, "no memory for a JSON value");
    return json;
}

/* ---- Scalars --------------------------------------------------------------------------------- */

static yyjson_mut_val *text(struct conversion *c, const struct step *at, const char *s, size_t len)
{
    return afford(c, at, len) ? made(c, yyjson_mut_strncpy(c->doc, s, len)) : NULL;
}

static yyjson_mut_val *integer(struct conversion *c, int64_t i)
{
    return made(c, i < 0 ? yyjson_mut_sint(c->doc, i) : yyjson_mut_uint(c->doc, (uint64_t)i));
}

/* Whole doubles are written as ints, as Go does, whose decoder takes no 3.0 for an int. */
static yyjson_mut_val *number(struct conversion *c, const struct step *at, double d)
{
    if (!isfinite(d))
        return refuse(c, at, "NaN and infinities have no JSON form");
    if (d == floor(d) && d > -0x1p63 && d < 0x1p63)
        return integer(c, (int64_t)d);
    return made(c, yyjson_mut_real(c->doc, d));
}

/* An int or uint as the value of a JSONPatch: protobuf's numbers are doubles. */
static yyjson_mut_val *safe_int(struct conversion *c, const struct step *at,
                                const struct ek_cel_val *v)
{
    bool safe = v->kind == EK_CEL_UINT ? v->u <= (uint64_t)SAFE_INT_MAX
                                       : v->i >= -SAFE_INT_MAX && v->i <= SAFE_INT_MAX;
    char digits[32];

    if (safe)
        return integer(c, v->i);
    int len = v->kind == EK_CEL_UINT
                  ? snprintf(digits, sizeof digits, "%llu", (unsigned long long)v->u)
                  : snprintf(digits, sizeof digits, "%lld", (long long)v->i);
    return text(c, at, digits, (size_t)len);
}

static yyjson_mut_val *whole(struct conversion *c, const struct ek_cel_val *v, enum place place,
                             const struct step *at)
{
    bool object = place == FIELD || place == ELEMENT;

    if (place == VALUE || sums(place))
        return safe_int(c, at, v);
    if (object && c->rules == EK_CEL_JSON_JSONPATCH) /* a double all the same, but of any size */
        return number(c, at, v->kind == EK_CEL_UINT ? (double)v->u : (double)v->i);
    if (v->kind == EK_CEL_INT)
        return integer(c, v->i);
    return object ? refuse_kind(c, at, v) : made(c, yyjson_mut_uint(c->doc, v->u));
}

static yyjson_mut_val *base64(struct conversion *c, const struct ek_cel_val *v,
                              const struct step *at)
{
    size_t len = EK_BASE64_LEN((size_t)v->n);

    if (!afford(c, at, len))
        return NULL;
    char *encoded = ek_alloc(len + 1);
    if (!encoded)
        return made(c, NULL);
    ek_base64_write(v->s, v->n, encoded);
    yyjson_mut_val *json = yyjson_mut_strncpy(c->doc, encoded, len);
    ek_free(encoded);
    return made(c, json);
}

static yyjson_mut_val *time_text(struct conversion *c, const struct ek_cel_val *v,
                                 const struct step *at)
{
    char s[EK_CEL_TIME_TEXT_MAX];

    if (v->kind == EK_CEL_DURATION)
        return text(c, at, s, ek_cel_duration_text(v->i, s));
    return text(c, at, s, ek_cel_time_text(v, s));
}

/* ---- Containers ------------------------------------------------------------------------------ */

/* Copies what was read from JSON: nothing of it has to be refused. */
static yyjson_mut_val *copy(struct conversion *c, const struct ek_cel_val *v, const struct step *at)
{
    yyjson_val *end = unsafe_yyjson_get_next(v->json);

    for (yyjson_val *j = v->json; j < end; j++)
        if (!afford(c, at, yyjson_is_str(j) ? unsafe_yyjson_get_len(j) : 0))
            return NULL;
    return made(c, yyjson_val_mut_copy(c->doc, v->json));
}

/* The place of what a list or map holds. */
static enum place inside(const struct ek_cel_val *v, enum place place)
{
    switch (place) {
    case FIELD:
        return ELEMENT;
    case MEMBER:
        return v->form == EK_CEL_NATIVE ? SUMMAND : VALUE;
    case VALUE:
    case SUMMAND:
        return v->kind == EK_CEL_LIST && v->offset == EK_CEL_LIST_SUM ? SUMMAND : VALUE;
    default:
        return place;
    }
}

static yyjson_mut_val *list(struct conversion *c, const struct ek_cel_val *v, enum place place,
                            const struct step *at)
{
    enum place inner = inside(v, place);
    yyjson_mut_val *array = made(c, yyjson_mut_arr(c->doc)), *item;
    struct ek_cel_iter iter;
    struct step step = {.up = at};

    if (!array)
        return NULL;
    ek_cel_iter_init(&iter, v);
    for (; ek_cel_iter_next(&iter); step.index++) {
        item = convert(c, &iter.value, inner, &step);
        if (!item)
            return NULL;
        yyjson_mut_arr_append(array, item);
    }
    return array;
}

/* A map's key as text; rules other than plain take strings only. */
static yyjson_mut_val *key_text(struct conversion *c, const struct ek_cel_val *key,
                                enum place place, const struct step *at)
{
    char s[EK_CEL_DOUBLE_TEXT_MAX];
    int len;

    if (key->kind == EK_CEL_STRING)
        return text(c, at, key->s, key->n);
    if (place == MEMBER) {
        ek_cel_native_key_error(key, c->err);
        ek_err_prefix(c->err, "fail to convert field \"%s\"", at->name);
        return NULL;
    }
    if (place != PLAIN)
        return refuse(c, at, "the keys of maps must be strings");
    if (key->kind == EK_CEL_BOOL)
        len = snprintf(s, sizeof s, "%s", key->b ? "true" : "false");
    else if (key->kind == EK_CEL_INT)
        len = snprintf(s, sizeof s, "%lld", (long long)key->i);
    else if (key->kind == EK_CEL_UINT)
        len = snprintf(s, sizeof s, "%llu", (unsigned long long)key->u);
    else if (key->kind == EK_CEL_DOUBLE)
        len = (int)ek_cel_double_g(key->d, s);
    else
        return refuse_kind(c, at, key);
    return text(c, at, s, (size_t)len);
}

/* The members of an object under way. Only keys of several kinds can have one text; they are found
 * by hash. */
struct members {
    yyjson_mut_val *object;
    enum ek_cel_kind kind; /* of the first key */
    bool mixed;            /* keys has all of the object's */
    struct ek_table table; /* of the places in keys */
    struct ek_work *work;
    yyjson_mut_val **keys; /* owned */
    size_t n, max;
};

static void members_done(struct members *m)
{
    ek_table_done(&m->table);
    ek_free(m->keys);
}

static uint64_t hash_of(yyjson_mut_val *key)
{
    return ek_hash(unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key));
}

static bool note(struct members *m, yyjson_mut_val *key)
{
    if (m->n == m->max) {
        size_t max = m->max ? 2 * m->max : 16;
        yyjson_mut_val **keys = ek_realloc(m->keys, max * sizeof(yyjson_mut_val *));
        if (!keys)
            return false;
        m->keys = keys;
        m->max = max;
    }
    m->keys[m->n] = key;
    return ek_table_add(&m->table, hash_of(key), m->n++) == 0;
}

/* From now on keys are found by hash. */
static bool mix(struct members *m)
{
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(m->object);
    yyjson_mut_val *key;

    m->mixed = true;
    if (ek_table_init(&m->table, yyjson_mut_obj_size(m->object)))
        return false;
    while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL)
        if (!note(m, key))
            return false;
    return true;
}

/* The member of that name; NULL for none. */
static yyjson_mut_val *find_key(const struct members *m, yyjson_mut_val *key)
{
    struct ek_table_cursor at = ek_table_at(hash_of(key));
    size_t i;

    while (ek_table_next(&m->table, &at, &i) && ek_work_do(m->work, 1))
        if (unsafe_yyjson_equals_strn(m->keys[i], unsafe_yyjson_get_str(key),
                                      unsafe_yyjson_get_len(key)))
            return m->keys[i];
    return NULL;
}

/* Sets a member: in its place when there is one of that name, else at the end. */
static bool set_member(struct members *m, enum ek_cel_kind kind, yyjson_mut_val *key,
                       yyjson_mut_val *value)
{
    yyjson_mut_val *there;

    if (m->object && yyjson_mut_obj_size(m->object) == 0)
        m->kind = kind;
    /* Doubles are written with as many digits as Go writes: two can look the same. */
    if (!m->mixed && (kind != m->kind || kind == EK_CEL_DOUBLE) && !mix(m))
        return false;
    if (m->mixed && (there = find_key(m, key)) != NULL) {
        yyjson_mut_val *old = there->next, *next = old->next;
        *old = *value;
        old->next = next;
        return true;
    }
    return yyjson_mut_obj_add(m->object, key, value) && (!m->mixed || note(m, key));
}

static bool fill_map(struct conversion *c, const struct ek_cel_val *v, enum place place,
                     const struct step *at, struct members *m)
{
    yyjson_mut_val *key, *value;
    struct ek_cel_iter iter;

    ek_cel_iter_init(&iter, v);
    while (ek_cel_iter_next(&iter)) {
        struct step step = {.up = at, .name = "?", .len = 1};
        if (iter.key.kind == EK_CEL_STRING) {
            step.name = iter.key.s;
            step.len = iter.key.n;
        }
        key = key_text(c, &iter.key, place, at);
        value = key ? convert(c, &iter.value, inside(v, place), &step) : NULL;
        if (!value)
            return false;
        if (!set_member(m, (enum ek_cel_kind)iter.key.kind, key, value)) {
            made(c, NULL);
            return false;
        }
    }
    return true;
}

static yyjson_mut_val *map(struct conversion *c, const struct ek_cel_val *v, enum place place,
                           const struct step *at)
{
    struct members m = {.work = c->work};

    if (v->form == EK_CEL_HOST)
        return refuse_kind(c, at, v);
    m.object = made(c, yyjson_mut_obj(c->doc));
    bool filled = m.object && fill_map(c, v, place, at, &m);
    members_done(&m);
    return filled ? m.object : NULL;
}

static yyjson_mut_val *structure(struct conversion *c, const struct ek_cel_val *v, enum place place,
                                 const struct step *at)
{
    const struct ek_cel_struct *s = v->object;
    enum place inner = place == PLAIN ? PLAIN : sums(place) ? MEMBER : FIELD;
    yyjson_mut_val *object, *key, *value;

    if ((place == VALUE || sums(place)) && !strcmp(s->type, "JSONPatch"))
        return refuse_native(c, v, place);
    /* protobuf has another type for these than for what lists and maps hold */
    if (place == VALUE && at)
        return refuse(c, at, "an object in a list or map cannot be the value of a JSONPatch");
    object = made(c, yyjson_mut_obj(c->doc));
    for (uint32_t i = 0; object && i < s->n; i++) {
        const char *name = s->fields[i].name;
        struct step step = {.up = at, .name = name, .len = strlen(name)};
        key = text(c, at, name, step.len);
        value = key ? convert(c, &s->fields[i].value, inner, &step) : NULL;
        if (!value)
            return NULL;
        yyjson_mut_obj_add(object, key, value);
    }
    return object;
}

static yyjson_mut_val *container(struct conversion *c, const struct ek_cel_val *v, enum place place,
                                 const struct step *at)
{
    if (v->kind == EK_CEL_STRUCT)
        return structure(c, v, place, at);
    if (v->form == EK_CEL_JSON && place != VALUE && !sums(place))
        return copy(c, v, at);
    if (place == ELEMENT && c->rules == EK_CEL_JSON_JSONPATCH)
        return refuse_native(c, v, place);
    if (place == ELEMENT)
        return refuse(c, at,
                      v->kind == EK_CEL_LIST
                          ? "a list made by the expression cannot be in a list or map of an object"
                          : "a map made by the expression cannot be in a list or map of an object");
    return v->kind == EK_CEL_LIST ? list(c, v, place, at) : map(c, v, place, at);
}

/* ---- All kinds ------------------------------------------------------------------------------- */

static yyjson_mut_val *optional(struct conversion *c, const struct ek_cel_val *v, enum place place,
                                const struct step *at)
{
    if (v->some)
        return convert(c, v->some, place, at);
    if (place == VALUE)
        return refuse(c, at, "optional.none() dereference");
    return made(c, yyjson_mut_null(c->doc));
}

/* Kinds that the value of a JSONPatch cannot have. */
static bool is_foreign(const struct ek_cel_val *v, enum place place)
{
    bool object = place == FIELD || place == ELEMENT;

    if (sums(place))
        return v->kind == EK_CEL_OPAQUE;
    if (v->kind == EK_CEL_NULL || v->kind == EK_CEL_TIMESTAMP || v->kind == EK_CEL_DURATION)
        return object;
    return v->kind == EK_CEL_OPAQUE || (v->kind == EK_CEL_TYPE && !object);
}

static yyjson_mut_val *convert_kind(struct conversion *c, const struct ek_cel_val *v,
                                    enum place place, const struct step *at)
{
    bool object = place == FIELD || place == ELEMENT;

    if (c->rules == EK_CEL_JSON_JSONPATCH && is_foreign(v, place))
        return refuse_native(c, v, place);
    switch (v->kind) {
    case EK_CEL_NULL: /* protobuf's null, in an object, is of a type that JSON has not */
        return object ? refuse(c, at, "null cannot be set: optional.none() does what it would")
                      : made(c, yyjson_mut_null(c->doc));
    case EK_CEL_BOOL:
        return made(c, yyjson_mut_bool(c->doc, v->b));
    case EK_CEL_INT:
    case EK_CEL_UINT:
        return whole(c, v, place, at);
    case EK_CEL_DOUBLE:
        return number(c, at, v->d);
    case EK_CEL_STRING:
        return text(c, at, v->s, v->n);
    case EK_CEL_BYTES:
        return object && c->rules == EK_CEL_JSON_APPLY ? refuse_kind(c, at, v) : base64(c, v, at);
    case EK_CEL_TIMESTAMP:
    case EK_CEL_DURATION:
        return object ? refuse_kind(c, at, v) : time_text(c, v, at);
    case EK_CEL_TYPE:
        return object || sums(place) ? text(c, at, v->type->name, strlen(v->type->name))
                                     : refuse_kind(c, at, v);
    case EK_CEL_LIST:
    case EK_CEL_MAP:
    case EK_CEL_STRUCT:
        return container(c, v, place, at);
    case EK_CEL_OPTIONAL:
        return optional(c, v, place, at);
    default:
        return refuse_kind(c, at, v);
    }
}

static yyjson_mut_val *convert(struct conversion *c, const struct ek_cel_val *v, enum place place,
                               const struct step *at)
{
    if (c->depth >= EK_CEL_VALUE_DEPTH_MAX)
        return refuse(c, at, "the value is nested too deep");
    if (!afford(c, at, 0))
        return NULL;
    c->depth++;
    yyjson_mut_val *json = convert_kind(c, v, place, at);
    c->depth--;
    return json;
}

/* ---- Names of object types ------------------------------------------------------------------- */

/* The name that an object's type must have: the root's, and the fields that lead to it. */
static void expected_name(const char *root, const struct step *at, struct ek_buf *out)
{
    if (!at) {
        ek_buf_puts(out, root);
        return;
    }
    expected_name(root, at->up, out);
    ek_buf_printf(out, ".%s", at->name);
}

static bool check_names(struct conversion *c, const struct ek_cel_val *v, const char *root,
                        const struct step *at);

static bool check_struct(struct conversion *c, const struct ek_cel_val *v, const char *root,
                         const struct step *at)
{
    const struct ek_cel_struct *s = v->object;
    EK_AUTO(ek_buf) expected;

    ek_buf_init(&expected, 16384);
    expected_name(root, at, &expected);
    if (strcmp(ek_buf_str(&expected), s->type) != 0) {
        ek_err_set(c->err, EK_E_INVAL,
                   "type mismatch: unexpected type name \"%.200s\", expected \"%.200s\", which "
                   "matches field name path from root Object type",
                   s->type, ek_buf_str(&expected));
        return false;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        struct step step = {.up = at, .name = s->fields[i].name};
        if (!check_names(c, &s->fields[i].value, root, &step))
            return false;
    }
    return true;
}

/* Lists and maps have no part in names: what is in them is named by the field that holds them. */
static bool check_names(struct conversion *c, const struct ek_cel_val *v, const char *root,
                        const struct step *at)
{
    struct ek_cel_iter iter;
    bool fine = true;

    if (v->kind == EK_CEL_OPTIONAL && v->some && v->some->kind != EK_CEL_STRUCT)
        return check_names(c, v->some, root, at);
    if (v->kind != EK_CEL_STRUCT && v->kind != EK_CEL_LIST && v->kind != EK_CEL_MAP)
        return true;
    if (v->kind != EK_CEL_STRUCT && v->form != EK_CEL_NATIVE)
        return true;
    if (c->depth >= EK_CEL_VALUE_DEPTH_MAX) {
        refuse(c, NULL, "the value is nested too deep");
        return false;
    }
    if (!afford(c, NULL, 0))
        return false;
    c->depth++;
    if (v->kind == EK_CEL_STRUCT) {
        fine = check_struct(c, v, root, at);
    } else {
        ek_cel_iter_init(&iter, v);
        while (fine && ek_cel_iter_next(&iter))
            fine = check_names(c, &iter.value, root, at);
    }
    c->depth--;
    return fine;
}

yyjson_mut_val *ek_cel_to_json(const struct ek_cel_val *value, enum ek_cel_json_rules rules,
                               yyjson_mut_doc *doc, struct ek_work *work, struct ek_err *err)
{
    struct conversion c = {
        .rules = rules, .doc = doc, .work = work, .err = err, .left = OCTETS_MAX};
    enum place place = rules == EK_CEL_JSON_PLAIN       ? PLAIN
                       : rules == EK_CEL_JSON_JSONPATCH ? VALUE
                                                        : FIELD;

    if (value->kind == EK_CEL_STRUCT && rules != EK_CEL_JSON_PLAIN) {
        if (!check_names(&c, value, value->object->type, NULL))
            return NULL;
        c.left = OCTETS_MAX;
    }
    return convert(&c, value, place, NULL);
}
