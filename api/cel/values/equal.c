/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "api/base/mem.h"
#include "api/cel/values/account.h"
#include "api/cel/values/type.h"
#include "api/cel/values/value.h"

struct comparison {
    uint64_t steps; /* that may still be taken */
    uint32_t depth;
    /*
     * Inside of Object{...}: kinds must agree (1 is not 1.0), and a list equals only itself. That
     * is what Go's reflect.DeepEqual, by which the reference compares objects, makes of its values.
     */
    bool exact;
};

static enum ek_cel_equality equal(struct comparison *c, const struct ek_cel_val *a,
                                  const struct ek_cel_val *b);

static enum ek_cel_equality truth(bool b)
{
    return b ? EK_CEL_EQUAL : EK_CEL_UNEQUAL;
}

/* Elements of lists and maps that cannot be compared count as equal. */
static enum ek_cel_equality element(struct comparison *c, const struct ek_cel_val *a,
                                    const struct ek_cel_val *b)
{
    enum ek_cel_equality e = equal(c, a, b);

    return e == EK_CEL_EQ_OVERLOAD ? EK_CEL_EQUAL : e;
}

/* ---- Lists without order ---- */

static int by_identity(const void *x, const void *y)
{
    const struct ek_cel_val *a = *(const struct ek_cel_val *const *)x;
    const struct ek_cel_val *b = *(const struct ek_cel_val *const *)y;
    uint32_t len = a->n < b->n ? a->n : b->n;
    int order = len ? memcmp(a->s, b->s, len) : 0;

    return order ? order : (a->n > b->n) - (a->n < b->n);
}

/* The identities of a list without order, sorted; owned. NULL without memory. */
static const struct ek_cel_val **sorted_identities(const struct ek_cel_val *list)
{
    const struct ek_cel_val **sorted = ek_alloc(list->n * sizeof(struct ek_cel_val *));

    for (uint32_t i = 0; sorted && i < list->n; i++)
        sorted[i] = &list->items->v[list->n + i];
    if (sorted)
        qsort(sorted, list->n, sizeof(struct ek_cel_val *), by_identity);
    return sorted;
}

/* Two lists without order: elements of one identity are compared. */
static enum ek_cel_equality by_identities(struct comparison *c, const struct ek_cel_val *a,
                                          const struct ek_cel_val *b)
{
    const struct ek_cel_val *ids = a->items->v + a->n, **sorted = NULL;
    enum ek_cel_equality e = EK_CEL_EQUAL;

    for (uint32_t i = 0; i < b->n && e == EK_CEL_EQUAL; i++) {
        const struct ek_cel_val *id = &b->items->v[b->n + i], *found = &ids[i], *const * at;
        if (!ek_cel_same_octets(id, found)) {
            sorted = sorted ? sorted : sorted_identities(a);
            if (!sorted)
                return EK_CEL_EQ_LIMIT;
            at = bsearch(&id, sorted, a->n, sizeof(struct ek_cel_val *), by_identity);
            found = at ? *at : NULL;
        }
        e = found ? element(c, found - a->n, &b->items->v[i]) : EK_CEL_UNEQUAL;
    }
    ek_free(sorted);
    return e;
}

/* The same for a list of another kind on the right: each of its elements is one on the left. */
static enum ek_cel_equality by_elements(struct comparison *c, const struct ek_cel_val *a,
                                        const struct ek_cel_val *b)
{
    struct ek_cel_iter iter;

    ek_cel_iter_init(&iter, b);
    while (ek_cel_iter_next(&iter)) {
        enum ek_cel_equality e = EK_CEL_UNEQUAL;
        for (uint32_t i = 0; i < a->n && e == EK_CEL_UNEQUAL; i++)
            e = element(c, &a->items->v[i], &iter.value);
        if (e != EK_CEL_EQUAL)
            return e;
    }
    return EK_CEL_EQUAL;
}

static enum ek_cel_equality lists(struct comparison *c, const struct ek_cel_val *a,
                                  const struct ek_cel_val *b)
{
    enum ek_cel_equality e = EK_CEL_EQUAL;
    struct ek_cel_iter i, j;

    if (c->exact)
        return truth(a->form == EK_CEL_NATIVE && b->form == EK_CEL_NATIVE && a->n == b->n &&
                     a->items == b->items);
    if (a->n != b->n)
        return EK_CEL_UNEQUAL;
    if (a->offset == EK_CEL_LIST_UNORDERED)
        return b->offset == EK_CEL_LIST_UNORDERED ? by_identities(c, a, b) : by_elements(c, a, b);
    ek_cel_iter_init(&i, a);
    ek_cel_iter_init(&j, b);
    while (e == EK_CEL_EQUAL && ek_cel_iter_next(&i) && ek_cel_iter_next(&j))
        e = element(c, &i.value, &j.value);
    return e;
}

/* Finding the keys of one map in another: where the last one was found is where the next one of
 * an equal map is; a large JSON object that is ordered otherwise gets an index. */
struct finder {
    const struct ek_cel_val *map;
    yyjson_obj_iter hint;
    struct ek_cel_json_index *index;
};

static int find(struct comparison *c, struct finder *f, const struct ek_cel_val *key,
                struct ek_cel_val *ret_value)
{
    yyjson_val *found;

    if (f->map->form != EK_CEL_JSON)
        return ek_cel_map_find(f->map, key, ret_value);
    if (key->kind != EK_CEL_STRING)
        return 0;
    yyjson_val *next = f->hint.idx < f->hint.max ? f->hint.cur : NULL;
    if (next && unsafe_yyjson_get_len(next) == key->n &&
        memcmp(unsafe_yyjson_get_str(next), key->s, key->n) == 0) {
        yyjson_obj_iter_next(&f->hint);
        found = next + 1;
    } else if (f->map->n <= EK_CEL_JSON_LINEAR_MAX) {
        found = ek_cel_json_find(f->map->json, key->s, key->n);
    } else {
        if (!f->index) {
            f->index = ek_alloc(ek_cel_json_index_size(f->map->json));
            if (f->index)
                ek_cel_json_index_fill(f->index, f->map->json);
        }
        if (!f->index) { /* no memory: linear, and accounted for */
            c->steps -= c->steps < f->map->n ? c->steps : f->map->n;
            found = ek_cel_json_find(f->map->json, key->s, key->n);
        } else {
            found = ek_cel_json_index_find(f->index, key->s, key->n);
        }
    }
    if (found)
        *ret_value = ek_cel_from_json(found);
    return found != NULL;
}

static enum ek_cel_equality maps(struct comparison *c, const struct ek_cel_val *a,
                                 const struct ek_cel_val *b)
{
    enum ek_cel_equality e = EK_CEL_EQUAL;
    struct finder f = {.map = b};
    struct ek_cel_val value;
    struct ek_cel_iter i;
    bool exact = c->exact;

    if (a->form == EK_CEL_HOST || b->form == EK_CEL_HOST || a->n != b->n)
        return EK_CEL_UNEQUAL;
    if (exact && a->form != b->form)
        return EK_CEL_UNEQUAL;
    if (b->form == EK_CEL_JSON)
        yyjson_obj_iter_init(b->json, &f.hint);
    /* what was read from documents compares by content */
    c->exact = exact && a->form == EK_CEL_NATIVE;
    ek_cel_iter_init(&i, a);
    while (e == EK_CEL_EQUAL && ek_cel_iter_next(&i)) {
        if (find(c, &f, &i.key, &value) != 1)
            e = EK_CEL_UNEQUAL;
        else
            e = element(c, &i.value, &value);
    }
    c->exact = exact;
    ek_free(f.index);
    return e;
}

static bool text_field_equal(const struct ek_cel_val *a, const struct ek_cel_val *b,
                             const char *name)
{
    struct ek_cel_val x = ek_cel_string("", 0), y = x;

    ek_cel_struct_find(a, name, strlen(name), &x);
    ek_cel_struct_find(b, name, strlen(name), &y);
    return ek_cel_same_octets(&x, &y);
}

/* JSONPatch{...}: a text that was not set is "" (apiserver/pkg/cel/mutation/jsonpatch.go:
 * JSONPatchVal). */
static enum ek_cel_equality patches(struct comparison *c, const struct ek_cel_val *a,
                                    const struct ek_cel_val *b)
{
    struct ek_cel_val x, y;
    int has_x = ek_cel_struct_find(a, "value", 5, &x);
    int has_y = ek_cel_struct_find(b, "value", 5, &y);

    if (has_x != has_y || !text_field_equal(a, b, "op") || !text_field_equal(a, b, "from") ||
        !text_field_equal(a, b, "path"))
        return EK_CEL_UNEQUAL;
    return has_x ? equal(c, &x, &y) : EK_CEL_EQUAL;
}

static enum ek_cel_equality structs(struct comparison *c, const struct ek_cel_val *a,
                                    const struct ek_cel_val *b)
{
    const struct ek_cel_struct *s = a->object;
    enum ek_cel_equality e = EK_CEL_EQUAL;
    struct ek_cel_val value;
    bool exact = c->exact;

    if (s == b->object)
        return EK_CEL_EQUAL;
    if (strcmp(s->type, b->object->type) != 0)
        return EK_CEL_UNEQUAL;
    if (strcmp(s->type, "JSONPatch") == 0)
        return patches(c, a, b);
    if (s->n != b->object->n)
        return EK_CEL_UNEQUAL;
    c->exact = true;
    for (uint32_t i = 0; i < s->n && e == EK_CEL_EQUAL; i++) {
        const struct ek_cel_field *f = &s->fields[i];
        e = ek_cel_struct_find(b, f->name, strlen(f->name), &value) ? element(c, &f->value, &value)
                                                                    : EK_CEL_UNEQUAL;
    }
    c->exact = exact;
    return e;
}

static enum ek_cel_equality optionals(struct comparison *c, const struct ek_cel_val *a,
                                      const struct ek_cel_val *b)
{
    if (!a->some || !b->some)
        return truth(a->some == b->some);
    if (a->some->kind == EK_CEL_OPAQUE && b->some->kind == EK_CEL_NULL)
        return EK_CEL_EQ_OVERLOAD; /* contents are compared without the look for null */
    return equal(c, a->some, b->some);
}

static enum ek_cel_equality opaques(const struct ek_cel_opaque *a, const struct ek_cel_val *b)
{
    const struct ek_cel_opaque_kind *peer = a->kind->peer ? a->kind->peer : a->kind;

    if (b->kind == EK_CEL_NULL)
        return EK_CEL_UNEQUAL;
    if (!a->kind->equal || !ek_cel_is_opaque(b, peer))
        return EK_CEL_EQ_OVERLOAD;
    return truth(a->kind->equal(a, b->opaque));
}

static enum ek_cel_equality nested(struct comparison *c, const struct ek_cel_val *a,
                                   const struct ek_cel_val *b)
{
    enum ek_cel_equality e;

    if (c->depth >= EK_CEL_VALUE_DEPTH_MAX)
        return EK_CEL_EQ_LIMIT;
    c->depth++;
    if (a->kind == EK_CEL_LIST)
        e = lists(c, a, b);
    else if (a->kind == EK_CEL_MAP)
        e = maps(c, a, b);
    else if (a->kind == EK_CEL_STRUCT)
        e = structs(c, a, b);
    else
        e = optionals(c, a, b);
    c->depth--;
    return e;
}

static bool is_number(const struct ek_cel_val *v)
{
    return v->kind >= EK_CEL_INT && v->kind <= EK_CEL_DOUBLE;
}

static enum ek_cel_equality equal(struct comparison *c, const struct ek_cel_val *a,
                                  const struct ek_cel_val *b)
{
    if (!c->steps)
        return EK_CEL_EQ_LIMIT;
    c->steps--;
    if (a->kind == EK_CEL_OPAQUE)
        return opaques(a->opaque, b);
    if (a->kind != b->kind)
        return truth(!c->exact && is_number(a) && is_number(b) && ek_cel_numbers_equal(a, b));
    switch (a->kind) {
    case EK_CEL_NULL:
        return EK_CEL_EQUAL;
    case EK_CEL_BOOL:
        return truth(a->b == b->b);
    case EK_CEL_DOUBLE:
        return truth(a->d == b->d);
    case EK_CEL_STRING:
    case EK_CEL_BYTES:
        c->steps -= c->steps < a->n / 64 ? c->steps : a->n / 64; /* long texts take longer */
        return truth(ek_cel_same_octets(a, b));
    case EK_CEL_INT:
    case EK_CEL_UINT:
    case EK_CEL_DURATION:
        return truth(a->u == b->u);
    case EK_CEL_TIMESTAMP:
        return truth(a->i == b->i && a->n == b->n && (!c->exact || a->offset == b->offset));
    case EK_CEL_TYPE:
        return truth(strcmp(a->type->name, b->type->name) == 0);
    case EK_CEL_LIST:
    case EK_CEL_MAP:
    case EK_CEL_STRUCT:
    case EK_CEL_OPTIONAL:
        return nested(c, a, b);
    default:
        return EK_CEL_UNEQUAL;
    }
}

enum ek_cel_equality ek_cel_equal_within(const struct ek_cel_val *a, const struct ek_cel_val *b,
                                         uint64_t *steps)
{
    struct comparison c = {.steps = *steps};
    enum ek_cel_equality e = equal(&c, a, b);

    *steps = c.steps;
    return e;
}

bool ek_cel_equal(const struct ek_cel_val *a, const struct ek_cel_val *b)
{
    uint64_t steps = EK_CEL_EQUAL_STEPS_MAX;

    return ek_cel_equal_within(a, b, &steps) == EK_CEL_EQUAL;
}

struct ek_cel_val ek_cel_too_large(struct ek_cel_eval *eval)
{
    if (!eval->compare_steps)
        return ek_cel_end(eval, EK_CEL_E_COST, "values are too large to compare");
    return ek_cel_fail(eval, "values are too large to compare");
}

int ek_cel_try_equal(struct ek_cel_eval *eval, const struct ek_cel_val *a,
                     const struct ek_cel_val *b, struct ek_cel_val *ret_error)
{
    enum ek_cel_equality e = ek_cel_equal_within(a, b, &eval->compare_steps);

    if (e == EK_CEL_EQ_OVERLOAD)
        *ret_error = ek_cel_no_overload(eval, NULL, NULL, 0);
    else if (e == EK_CEL_EQ_LIMIT)
        *ret_error = ek_cel_too_large(eval);
    else
        return e == EK_CEL_EQUAL;
    return -1;
}
