/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Literals of lists, maps and structs. Each costs its price also when one of its parts fails
 * (cel-go 0.26, interpreter/interpretable.go and runtimecost.go).
 */
#include <string.h>

#include "api/cel/eval/eval.h"
#include "api/cel/eval/flat.h"
#include "api/cel/values/native.h"
#include "api/cel/values/value.h"

#define LIST_COST   10u
#define MAP_COST    30u
#define STRUCT_COST 40u

/* Of a value within an error's message. */
#define MESSAGE_MAX ((size_t)1024)

static struct ek_cel_val not_optional(struct ek_cel_eval *e, const struct ek_cel_op *op,
                                      const struct ek_cel_val *key, const struct ek_cel_val *value)
{
    EK_AUTO(ek_buf) k = {0};
    EK_AUTO(ek_buf) v = {0};

    ek_buf_init(&k, MESSAGE_MAX);
    ek_buf_init(&v, MESSAGE_MAX);
    ek_cel_format(value, &v);
    e->position = op->position;
    if (!key)
        return ek_cel_fail(e, "cannot initialize optional list element from non-optional value %s",
                           ek_buf_str(&v));
    if (key->kind == EK_CEL_STRING)
        ek_buf_append(&k, key->s, key->n);
    else
        ek_cel_format(key, &k);
    return ek_cel_fail(e, "cannot initialize optional entry '%s' from non-optional value %s",
                       ek_buf_str(&k), ek_buf_str(&v));
}

/* Takes the value out of what an optional part gave; key is an entry's or field's. Returns 1, 0
 * when there is none, or -1 with *value an error. */
static int unwrap(struct ek_cel_eval *e, const struct ek_cel_op *op, const struct ek_cel_val *key,
                  struct ek_cel_val *value)
{
    if (value->kind != EK_CEL_OPTIONAL) {
        *value = not_optional(e, op, key, value);
        return -1;
    }
    if (!value->some)
        return 0;
    *value = *value->some;
    return value->kind == EK_CEL_ERROR ? -1 : 1;
}

static bool is_optional(struct ek_cel_eval *e, const struct ek_cel_op *op, uint32_t i)
{
    return op->b && ek_cel_frame_of(e)->program->optionals[op->b - 1 + i];
}

static struct ek_cel_val make_list(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    const uint32_t *kids = ek_cel_frame_of(e)->program->kids + op->a;
    struct ek_cel_val list = ek_cel_list_new(e, op->n);

    for (uint32_t i = 0; i < op->n && list.kind == EK_CEL_LIST; i++) {
        struct ek_cel_val v = ek_cel_run(e, kids[i]);
        if (v.kind == EK_CEL_ERROR)
            return v;
        int r = is_optional(e, op, i) ? unwrap(e, op, NULL, &v) : 1;
        if (r < 0)
            return v;
        if (r && !ek_cel_list_append(e, &list, &v))
            return ek_cel_no_memory(e);
    }
    return list;
}

struct ek_cel_val ek_cel_run_list(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    struct ek_cel_val list = make_list(e, op);

    e->cost += LIST_COST;
    return list;
}

struct ek_cel_val ek_cel_run_append(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    struct ek_cel_val list = ek_cel_run(e, op->a), item = ek_cel_run(e, op->b);

    e->cost += LIST_COST + 1;
    if (list.kind == EK_CEL_ERROR || item.kind == EK_CEL_ERROR)
        return e->ended ? ek_cel_error(&e->final) : list.kind == EK_CEL_ERROR ? list : item;
    e->position = op->position;
    if (list.kind != EK_CEL_LIST)
        return ek_cel_no_overload(e, NULL, NULL, 0);
    return ek_cel_list_append(e, &list, &item) ? list : ek_cel_no_memory(e);
}

/* Removes a key that an absent optional value follows: rebuilds, for it is rare. */
static bool drop_key(struct ek_cel_eval *e, struct ek_cel_val *map, const struct ek_cel_val *key)
{
    struct ek_cel_val without, ignored;
    struct ek_cel_iter iter;

    if (!ek_cel_map_find(map, key, &ignored))
        return true;
    without = ek_cel_map_new(e, map->n);
    ek_cel_iter_init(&iter, map);
    while (without.kind == EK_CEL_MAP && ek_cel_iter_next(&iter)) {
        if (iter.key.kind == key->kind && ek_cel_equal(&iter.key, key))
            continue;
        if (ek_cel_map_put(e, &without, &iter.key, &iter.value, true) < 0)
            return false;
    }
    *map = without;
    return without.kind == EK_CEL_MAP;
}

/* ---- What is left out ---- */

static void forget_unset(struct ek_cel_unset *unset, const struct ek_cel_val *key)
{
    for (uint32_t i = 0; unset && i < unset->n; i++)
        if (unset->keys[i].kind == key->kind && ek_cel_equal(&unset->keys[i], key)) {
            memmove(&unset->keys[i], &unset->keys[i + 1], (--unset->n - i) * sizeof unset->keys[0]);
            return;
        }
}

/* Notes that key was left out of a literal with n parts; false without memory. */
static bool note_unset(struct ek_cel_eval *e, struct ek_cel_unset **unset, uint32_t n,
                       const struct ek_cel_val *key)
{
    if (!*unset) {
        *unset = ek_cel_alloc(e, sizeof **unset + n * sizeof(*unset)->keys[0]);
        if (!*unset)
            return false;
        (*unset)->n = 0;
    }
    forget_unset(*unset, key);
    (*unset)->keys[(*unset)->n++] = *key;
    return true;
}

/* An entry with its value; without one it is left out. */
static bool put_entry(struct ek_cel_eval *e, struct ek_cel_val *map, struct ek_cel_unset **unset,
                      uint32_t n, const struct ek_cel_val *key, const struct ek_cel_val *value)
{
    if (!value)
        return drop_key(e, map, key) && note_unset(e, unset, n, key);
    forget_unset(*unset, key);
    return ek_cel_map_put(e, map, key, value, true) >= 0;
}

static struct ek_cel_val make_map(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    const uint32_t *kids = ek_cel_frame_of(e)->program->kids + op->a;
    struct ek_cel_val map = ek_cel_map_new(e, op->n);
    struct ek_cel_unset *unset = NULL;

    for (uint32_t i = 0; i < op->n && map.kind == EK_CEL_MAP; i++, kids += 2) {
        struct ek_cel_val key = ek_cel_run(e, kids[0]), v;
        if (key.kind == EK_CEL_ERROR)
            return key;
        v = ek_cel_run(e, kids[1]);
        if (v.kind == EK_CEL_ERROR)
            return v;
        int r = is_optional(e, op, i) ? unwrap(e, op, &key, &v) : 1;
        if (r < 0)
            return v;
        if (ek_cel_unhashable(&key)) {
            e->position = op->position;
            return ek_cel_fail(e, "unsupported key type: %s", ek_cel_unhashable(&key));
        }
        if (!put_entry(e, &map, &unset, op->n, &key, r ? &v : NULL))
            return ek_cel_no_memory(e);
    }
    if (unset && map.kind == EK_CEL_MAP)
        ek_cel_map_set_unset(&map, unset);
    return map;
}

struct ek_cel_val ek_cel_run_map(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    struct ek_cel_val map = make_map(e, op);

    e->cost += MAP_COST;
    return map;
}

/* ---- Structs --------------------------------------------------------------------------------- */

static void set_field(struct ek_cel_struct *object, const char *name, const struct ek_cel_val *v)
{
    uint32_t at = 0;

    while (at < object->n && strcmp(object->fields[at].name, name) != 0)
        at++;
    object->fields[at] = (struct ek_cel_field){name, *v};
    object->n += at == object->n;
}

static void drop_field(struct ek_cel_struct *object, const char *name)
{
    for (uint32_t i = 0; i < object->n; i++)
        if (!strcmp(object->fields[i].name, name)) {
            memmove(&object->fields[i], &object->fields[i + 1],
                    (object->n - i - 1) * sizeof object->fields[0]);
            object->n--;
            return;
        }
}

/* A patch operation's fields but value are strings. */
static struct ek_cel_val check_patch(struct ek_cel_eval *e, const struct ek_cel_struct *patch)
{
    for (uint32_t i = 0; i < patch->n; i++) {
        const struct ek_cel_field *f = &patch->fields[i];
        if (f->value.kind != EK_CEL_STRING && strcmp(f->name, "value") != 0)
            return ek_cel_fail(e, "unexpected type %s for JSONPatchType '%s' field",
                               ek_cel_native_type(&f->value), f->name);
    }
    return (struct ek_cel_val){.kind = EK_CEL_STRUCT, .object = patch};
}

static struct ek_cel_val make_struct(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    const struct ek_cel_struct_names *names = &ek_cel_frame_of(e)->program->structs[op->c];
    const uint32_t *kids = ek_cel_frame_of(e)->program->kids + op->a;
    struct ek_cel_struct *object =
        ek_cel_alloc(e, sizeof *object + op->n * sizeof object->fields[0]);
    struct ek_cel_unset *unset = NULL;

    if (!object)
        return ek_cel_no_memory(e);
    object->type = names->type;
    object->n = 0;
    for (uint32_t i = 0; i < op->n; i++) {
        struct ek_cel_val v = ek_cel_run(e, kids[i]);
        if (v.kind == EK_CEL_ERROR)
            return v;
        struct ek_cel_val name = ek_cel_string(names->fields[i], strlen(names->fields[i]));
        int r = is_optional(e, op, i) ? unwrap(e, op, &name, &v) : 1;
        if (r < 0)
            return v;
        if (r) {
            set_field(object, names->fields[i], &v);
            forget_unset(unset, &name);
        } else {
            drop_field(object, names->fields[i]);
            if (!note_unset(e, &unset, op->n, &name))
                return ek_cel_no_memory(e);
        }
    }
    object->unset = unset;
    e->position = op->position;
    if (!strcmp(object->type, "JSONPatch"))
        return check_patch(e, object);
    return (struct ek_cel_val){.kind = EK_CEL_STRUCT, .object = object};
}

struct ek_cel_val ek_cel_run_struct(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    struct ek_cel_val object = make_struct(e, op);

    e->cost += STRUCT_COST;
    return object;
}
