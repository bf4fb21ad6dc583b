/* SPDX-License-Identifier: Apache-2.0 */
/* What expressions make: Object{...} literals, by where they go. */
#include <string.h>

#include "api/base/quote.h"
#include "reconcilers/policylint/typecheck-internal.h"

static struct ek_type_target child(struct ek_typewalk *w, const struct ek_type_target *target,
                                   const char *name, struct ek_shape shape)
{
    struct ek_type_target ret = *target;
    const struct ek_schema_type *t = ek_type_of(&target->shape);

    /* Below what is free or unknown nothing is looked at for atomic parts. */
    ret.atomics =
        target->atomics && t && ek_schema_field(target->shape.schema, t, ek_str_from(name)) != NULL;
    ret.shape = shape;
    if (shape.kind != EK_SHAPE_TYPED)
        ret.shape.path = ek_type_join(w, target->shape.path, ek_str_from(name));
    if (target->name)
        ret.name = ek_type_text_of(w->to, "%s.%s", target->name, name);
    return ret;
}

static bool is_null(const struct ek_cel_node *node)
{
    return node->kind == EK_CEL_N_LITERAL && node->literal.kind == EK_CEL_NULL;
}

/* A value set at target, which has members or not: refused when it is atomic. */
static void check_atomic(struct ek_typewalk *w, const struct ek_type_target *target,
                         uint32_t position)
{
    const struct ek_schema_type *t = ek_type_of(&target->shape);
    char where[EK_QUOTE_SIZE];

    if (!target->atomics || !t || (t->list != EK_LIST_ATOMIC && t->map != EK_MAP_ATOMIC))
        return;
    ek_type_report(w, EK_TYPE_ATOMIC, position,
                   "%s is atomic, which an ApplyConfiguration may not change: use a JSONPatch",
                   ek_quote_short(ek_str_from(target->shape.path), where));
}

static bool is_atomic(const struct ek_type_target *target)
{
    const struct ek_schema_type *t = ek_type_of(&target->shape);
    return t && (t->list == EK_LIST_ATOMIC || t->map == EK_MAP_ATOMIC);
}

/* One member that a literal sets. */
static void set_member(struct ek_typewalk *w, const struct ek_type_target *target,
                       struct ek_str name, uint32_t position, const struct ek_cel_node *value,
                       bool optional)
{
    bool removes = optional && ek_type_is_call(value, "optional", "none");
    struct ek_shape shape =
        ek_type_member(w, &target->shape, name, position, removes ? EK_TYPE_TESTS : EK_TYPE_WRITES);
    const char *text = ek_type_text_of(w->to, "%.*s", (int)name.len, name.p);
    struct ek_type_target to = child(w, target, text, shape);

    if (removes) {
        if (target->writes)
            ek_type_write(w, to.shape.path, position, NULL, true);
        return;
    }
    check_atomic(w, &to, position);
    if (to.writes && is_atomic(&to)) {
        ek_type_write(w, to.shape.path, position, value, false);
        to.writes = false;
    }
    to.atomics = to.atomics && !is_atomic(&to);
    ek_type_expect(w, value, &to);
}

/* True for a byte of a UTF-8 character that is not its first one. */
static bool continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* The character at position, counted in characters from the start of the expression; its end where
 * that has fewer. */
static const char *text_at(struct ek_typewalk *w, uint32_t position)
{
    const char *start = w->ast->text, *end = start + w->ast->len, *p = w->text_at;

    for (; w->text_position < position && p < end; w->text_position++)
        for (p++; p < end && continues(*p); p++) {
        }
    for (; w->text_position > position && p > start; w->text_position--)
        for (p--; p > start && continues(*p); p--) {
        }
    w->text_at = p;
    return p;
}

/* Field initialisers are reported at their colon; the name stands before it. */
static uint32_t name_position(struct ek_typewalk *w, uint32_t colon, const char *name)
{
    const char *start = w->ast->text, *p = text_at(w, colon);
    uint32_t at = w->text_position;

    while (p > start && strchr(" \t\r\n`", p[-1])) {
        p--;
        at--;
    }
    size_t len = strlen(name);
    if ((size_t)(p - start) < len || memcmp(p - len, name, len) != 0)
        return colon;
    return at - (uint32_t)len;
}

static void misfit(struct ek_typewalk *w, const struct ek_type_target *target,
                   const struct ek_cel_node *node, const char *what)
{
    const struct ek_schema_type *t = ek_type_of(&target->shape);
    char where[EK_QUOTE_SIZE];

    if (t && !(t->flags & EK_SCHEMA_MISSING))
        ek_type_report(w, EK_TYPE_MISMATCH, node->position, "%s is %s and cannot be %s",
                       *target->shape.path ? ek_quote_short(ek_str_from(target->shape.path), where)
                                           : "the object",
                       ek_type_noun(t), what);
}

static void expect_struct(struct ek_typewalk *w, const struct ek_cel_node *node,
                          const struct ek_type_target *target)
{
    const struct ek_schema_type *t = ek_type_of(&target->shape);
    struct ek_type_target here = *target;

    if (target->name && strcmp(target->name, node->object.name) != 0)
        ek_type_report(w, EK_TYPE_NAME, node->position,
                       "%s{} stands where %s{} belongs: type names are the path from Object",
                       node->object.name, target->name);
    here.name = target->name ? target->name : node->object.name;
    if (t && t->map == EK_MAP_NONE) {
        misfit(w, target, node, "an object");
        return;
    }
    for (uint32_t i = 0; i < node->object.n; i++) {
        const struct ek_cel_field_init *f = &node->object.fields[i];
        set_member(w, &here, ek_str_from(f->name), name_position(w, f->position, f->name), f->value,
                   f->optional);
    }
}

static void expect_map(struct ek_typewalk *w, const struct ek_cel_node *node,
                       const struct ek_type_target *target)
{
    const struct ek_schema_type *t = ek_type_of(&target->shape);

    if (t && t->map == EK_MAP_NONE) {
        misfit(w, target, node, "a map");
        return;
    }
    for (uint32_t i = 0; i < node->map.n; i++) {
        const struct ek_cel_map_entry *e = &node->map.entries[i];
        if (ek_type_is_text(e->key)) {
            set_member(w, target, ek_type_text(e->key), e->key->position, e->value, e->optional);
            continue;
        }
        ek_type_infer(w, e->key);
        ek_type_infer(w, e->value);
    }
}

/* The value of a key in a literal item; NULL when it is not set, or not constant. */
static const struct ek_cel_node *key_of(const struct ek_cel_node *item, struct ek_str key,
                                        bool *ret_set)
{
    *ret_set = false;
    if (item->kind == EK_CEL_N_STRUCT) {
        for (uint32_t i = 0; i < item->object.n; i++)
            if (ek_str_eq(ek_str_from(item->object.fields[i].name), key)) {
                *ret_set = true;
                return item->object.fields[i].value;
            }
        return NULL;
    }
    for (uint32_t i = 0; i < item->map.n; i++) {
        const struct ek_cel_node *k = item->map.entries[i].key;
        if (!ek_type_is_text(k)) {
            *ret_set = true; /* it may be this one */
        } else if (ek_str_eq(ek_type_text(k), key)) {
            *ret_set = true;
            return item->map.entries[i].value;
        }
    }
    return NULL;
}

/* The path of a literal item of a keyed list, "spec.containers[name="a"]"; checks its keys. */
static const char *item_path(struct ek_typewalk *w, const struct ek_type_target *list,
                             const struct ek_shape *shape, const struct ek_cel_node *item)
{
    const struct ek_schema_type *t = ek_type_of(&list->shape), *of = ek_type_of(shape);
    const char *path = list->shape.path, *comma = "[";
    char where[EK_QUOTE_SIZE], what[EK_QUOTE_SIZE];

    for (uint32_t i = 0; t && t->list == EK_LIST_MAP && i < t->n_keys; i++) {
        struct ek_str key = ek_schema_key(list->shape.schema, t, i);
        const struct ek_schema_field *f = of ? ek_schema_field(list->shape.schema, of, key) : NULL;
        bool set,
            has_default = f && f->initial != EK_SCHEMA_NONE && !(f->flags & EK_SCHEMA_REQUIRED);
        const struct ek_cel_node *value = key_of(item, key, &set);
        if (!set && !has_default)
            ek_type_report(w, EK_TYPE_KEYS, item->position,
                           "an item of %s lacks its key %s: it would be added as an item of its "
                           "own",
                           ek_quote_short(ek_str_from(list->shape.path), where),
                           ek_quote_short(key, what));
        if (value && ek_type_is_text(value)) {
            path = ek_type_text_of(w->to, "%s%s%.*s=%s", path, comma, (int)key.len, key.p,
                                   ek_quote_short(ek_type_text(value), what));
            comma = ",";
        }
    }
    return *comma == ',' ? ek_type_text_of(w->to, "%s]", path) : path;
}

static void expect_list(struct ek_typewalk *w, const struct ek_cel_node *node,
                        const struct ek_type_target *target)
{
    const struct ek_schema_type *t = ek_type_of(&target->shape);

    if (t && t->list == EK_LIST_NONE) {
        misfit(w, target, node, "a list");
        return;
    }
    for (uint32_t i = 0; i < node->list.n; i++) {
        const struct ek_cel_node *item = node->list.items[i];
        struct ek_type_target to = *target;
        to.shape = ek_type_item(w, &target->shape);
        to.shape.path = target->shape.path;
        if (item->kind == EK_CEL_N_STRUCT || item->kind == EK_CEL_N_MAP)
            to.shape.path = item_path(w, target, &to.shape, item);
        ek_type_expect(w, item, &to);
    }
}

static void expect_literal(struct ek_typewalk *w, const struct ek_cel_node *node,
                           const struct ek_type_target *target)
{
    const struct ek_schema_type *t = ek_type_of(&target->shape);
    uint8_t kind = node->literal.kind, scalar = t ? t->scalar : EK_SCALAR_ANY;
    bool number = kind == EK_CEL_INT || kind == EK_CEL_UINT || kind == EK_CEL_DOUBLE;

    if (target->writes)
        ek_type_write(w, target->shape.path, node->position, node, false);
    if (!t || scalar == EK_SCALAR_ANY || is_null(node))
        return;
    if ((kind == EK_CEL_STRING && scalar != EK_SCALAR_STRING) ||
        (number && scalar != EK_SCALAR_NUMERIC) ||
        (kind == EK_CEL_BOOL && scalar != EK_SCALAR_BOOLEAN))
        misfit(w, target, node,
               number                ? "a number"
               : kind == EK_CEL_BOOL ? "a boolean"
                                     : "a string");
}

static void expect_call(struct ek_typewalk *w, const struct ek_cel_node *node,
                        const struct ek_type_target *target)
{
    const char *f = node->call.function;
    const struct ek_schema_type *t = ek_type_of(&target->shape);

    if (!strcmp(f, EK_CEL_OP_CONDITIONAL) && node->call.n == 3) {
        enum ek_truth truth = ek_type_truth(w, node->call.args[0]);
        ek_type_infer(w, node->call.args[0]);
        for (size_t i = 0; i < 2; i++) {
            ek_type_enter_branch(w, truth, i == 0);
            ek_type_expect(w, node->call.args[1 + i], target);
            ek_type_leave_branch(w, truth, i == 0);
        }
    } else if (!strcmp(f, EK_CEL_OP_ADD) && node->call.n == 2 && t && t->list != EK_LIST_NONE) {
        ek_type_expect(w, node->call.args[0], target);
        ek_type_expect(w, node->call.args[1], target);
    } else if (ek_type_is_call(node, "optional", "of") && node->call.n == 1) {
        ek_type_expect(w, node->call.args[0], target);
    } else if (node->call.target && !strcmp(f, "orValue") && node->call.n == 1) {
        w->n_unsure++;
        ek_type_expect(w, node->call.target, target);
        ek_type_expect(w, node->call.args[0], target);
        w->n_unsure--;
    } else {
        ek_type_infer(w, node);
        if (target->writes && !ek_type_is_call(node, "optional", "none"))
            ek_type_write(w, target->shape.path, node->position, NULL, false);
    }
}

/* A value that is read elsewhere and put here: of another form than this takes. */
static void expect_value(struct ek_typewalk *w, const struct ek_cel_node *node,
                         const struct ek_type_target *target)
{
    struct ek_shape shape = ek_type_infer(w, node);
    const struct ek_schema_type *from = ek_type_of(&shape), *to = ek_type_of(&target->shape);

    if (target->writes && !(node->kind == EK_CEL_N_IDENT && *node->ident == '@'))
        ek_type_write(w, target->shape.path, node->position, NULL, false);
    if (!from || !to || from->flags & EK_SCHEMA_MISSING || from->scalar == EK_SCALAR_ANY ||
        to->scalar == EK_SCALAR_ANY)
        return;
    if ((from->list != EK_LIST_NONE) != (to->list != EK_LIST_NONE) ||
        (from->map != EK_MAP_NONE) != (to->map != EK_MAP_NONE) ||
        (from->scalar != EK_SCALAR_NONE && from->scalar != to->scalar))
        misfit(w, target, node, ek_type_noun(from));
}

void ek_type_expect(struct ek_typewalk *w, const struct ek_cel_node *node,
                    const struct ek_type_target *target)
{
    switch (node->kind) {
    case EK_CEL_N_STRUCT:
        expect_struct(w, node, target);
        break;
    case EK_CEL_N_MAP:
        expect_map(w, node, target);
        break;
    case EK_CEL_N_LIST:
        expect_list(w, node, target);
        break;
    case EK_CEL_N_LITERAL:
        expect_literal(w, node, target);
        break;
    case EK_CEL_N_CALL:
        expect_call(w, node, target);
        break;
    case EK_CEL_N_FOLD:
        ek_type_fold(w, node, target);
        break;
    default:
        expect_value(w, node, target);
        break;
    }
}
