/* SPDX-License-Identifier: Apache-2.0 */
/* What expressions read: shapes of values, from the variables through fields, loops and calls. */
#include <string.h>

#include "api/base/quote.h"
#include "api/base/words.h"
#include "reconcilers/policylint/typecheck-internal.h"

#define NAME_SHOWN_MAX 256u /* characters; longer ones are cut in paths */
#define STEPS_MAX      100000u

static const struct ek_shape any = {.kind = EK_SHAPE_ANY};

const struct ek_schema_type *ek_type_of(const struct ek_shape *shape)
{
    const struct ek_schema_type *t =
        shape->kind == EK_SHAPE_TYPED ? ek_schema_type(shape->schema, shape->type) : NULL;
    int forms =
        t ? (t->scalar != EK_SCALAR_NONE) + (t->list != EK_LIST_NONE) + (t->map != EK_MAP_NONE) : 0;

    return forms == 1 ? t : NULL;
}

const char *ek_type_noun(const struct ek_schema_type *type)
{
    if (type->list != EK_LIST_NONE)
        return "a list";
    if (type->map != EK_MAP_NONE)
        return "an object";
    switch (type->scalar) {
    case EK_SCALAR_STRING:
        return "a string";
    case EK_SCALAR_NUMERIC:
        return "a number";
    case EK_SCALAR_BOOLEAN:
        return "a boolean";
    default:
        return "a scalar";
    }
}

static bool is_identifier(struct ek_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return s.len > 0;
}

const char *ek_type_join(struct ek_typewalk *w, const char *path, struct ek_str name)
{
    char quoted[EK_QUOTE_SIZE];

    if (is_identifier(name) && name.len <= NAME_SHOWN_MAX)
        return ek_type_text_of(w->to, "%s%s%.*s", path, *path ? "." : "", (int)name.len, name.p);
    return ek_type_text_of(w->to, "%s[%s]", path, ek_quote_short(name, quoted));
}

/* The schema's own words, which know what may have been meant; they do not know the path. */
static void report_unknown(struct ek_typewalk *w, const struct ek_shape *shape, struct ek_str name,
                           uint32_t position, enum ek_type_use use)
{
    static const char start[] = "the object ";
    struct ek_err err = {0};
    uint32_t type;
    char where[EK_QUOTE_SIZE], what[EK_QUOTE_SIZE];
    const char *path =
        *shape->path ? ek_quote_short(ek_str_from(shape->path), where) : "the object";

    if (!memchr(name.p, '.', name.len))
        ek_schema_resolve(shape->schema, shape->type, name, &type, &err);
    if (!strncmp(err.message, start, sizeof start - 1))
        ek_type_report(w, EK_TYPE_UNKNOWN_FIELD, position, "%s %s", path,
                       err.message + sizeof start - 1);
    else
        ek_type_report(w, EK_TYPE_UNKNOWN_FIELD, position, "%s has no field %s", path,
                       ek_quote_short(name, what));
    ek_type_note_test(w, position, use == EK_TYPE_TESTS);
}

/* What is at a place of a shape's object: its shape, without a path. */
static struct ek_shape type_part(struct ek_typewalk *w, const struct ek_shape *shape, uint32_t type,
                                 const char *separator, struct ek_str name)
{
    struct ek_shape part = {
        .kind = EK_SHAPE_TYPED, .schema = shape->schema, .type = type, .path = shape->path};

    if (!w->gaps || !shape->root)
        return part;
    part.root = shape->root;
    part.place = ek_type_text_of(w->to, "%s%s%.*s", shape->place, separator, (int)name.len, name.p);
    return part;
}

/* Reports a member that API servers may not have; what is below the member is not looked at. */
static void check_gap(struct ek_typewalk *w, struct ek_shape *member, uint32_t position,
                      enum ek_type_use use)
{
    char at[EK_MINOR_SIZE], where[EK_QUOTE_SIZE];
    struct ek_type_gap gap;

    if (!member->root || use == EK_TYPE_TESTS ||
        !w->gaps->find(w->gaps->ctx, member->root, member->place, &gap))
        return;
    const char *path = ek_quote_short(ek_str_from(member->path), where);
    ek_minor_format(gap.at, at);
    member->root = NULL;
    if (gap.why == EK_TYPE_GAP_GONE)
        ek_type_report(w, EK_TYPE_GONE, position,
                       "%s does not exist since %s: the target does not have the field", path, at);
    else if (gap.why == EK_TYPE_GAP_LATER && use == EK_TYPE_WRITES)
        ek_type_report(w, EK_TYPE_LATER_WRITE, position,
                       "%s exists only since %s: the target does not have the field", path, at);
    else if (gap.why == EK_TYPE_GAP_LATER)
        ek_type_report(w, EK_TYPE_LATER_READ, position,
                       "%s exists only since %s: no object of the target has the field", path, at);
    else if (use == EK_TYPE_WRITES)
        ek_type_report(w, EK_TYPE_BACK, position,
                       "%s exists only since %s: after a way back the field is dropped", path, at);
}

struct ek_shape ek_type_member(struct ek_typewalk *w, const struct ek_shape *shape,
                               struct ek_str name, uint32_t position, enum ek_type_use use)
{
    const struct ek_schema_type *t = ek_type_of(shape);
    char where[EK_QUOTE_SIZE], what[EK_QUOTE_SIZE];

    if (!t)
        return any;
    if (t->map == EK_MAP_NONE) {
        if (!(t->flags & EK_SCHEMA_MISSING))
            ek_type_report(w, EK_TYPE_MISMATCH, position, "%s is %s and has no field %s",
                           ek_quote_short(ek_str_from(shape->path), where), ek_type_noun(t),
                           ek_quote_short(name, what));
        return any;
    }
    uint32_t member = ek_schema_member(shape->schema, t, name);
    if (member != EK_SCHEMA_NONE) {
        bool field = ek_schema_field(shape->schema, t, name) != NULL;
        const char *dot = shape->place && *shape->place ? "." : "";
        struct ek_shape part =
            type_part(w, shape, member, field ? dot : "{}", field ? name : (struct ek_str){"", 0});
        part.path = ek_type_join(w, shape->path, name);
        if (field)
            check_gap(w, &part, position, use);
        return part;
    }
    if (!(t->flags & EK_SCHEMA_PRESERVE))
        report_unknown(w, shape, name, position, use);
    return any;
}

struct ek_shape ek_type_item(struct ek_typewalk *w, const struct ek_shape *shape)
{
    const struct ek_schema_type *t = ek_type_of(shape);

    if (shape->kind == EK_SHAPE_LIST)
        return *shape->item;
    if (!t || t->list == EK_LIST_NONE)
        return any;
    return type_part(w, shape, t->item, "[]", (struct ek_str){"", 0});
}

static struct ek_shape list_of(struct ek_typewalk *w, struct ek_shape item)
{
    struct ek_shape *copy = ek_type_room(w->to, sizeof *copy);

    if (!copy)
        return any;
    *copy = item;
    return (struct ek_shape){.kind = EK_SHAPE_LIST, .item = copy};
}

static bool is_list(const struct ek_shape *shape)
{
    const struct ek_schema_type *t = ek_type_of(shape);
    return shape->kind == EK_SHAPE_LIST || (t && t->list != EK_LIST_NONE);
}

static struct ek_shape join(struct ek_typewalk *w, struct ek_shape a, struct ek_shape b)
{
    if (a.kind == EK_SHAPE_EMPTY)
        return b;
    if (b.kind == EK_SHAPE_EMPTY)
        return a;
    if (a.kind == EK_SHAPE_TYPED && b.kind == EK_SHAPE_TYPED && a.schema == b.schema &&
        a.type == b.type)
        return a;
    if (is_list(&a) && is_list(&b))
        return list_of(w, join(w, ek_type_item(w, &a), ek_type_item(w, &b)));
    return any;
}

bool ek_type_is_call(const struct ek_cel_node *node, const char *space, const char *function)
{
    return node->kind == EK_CEL_N_CALL && node->call.target &&
           node->call.target->kind == EK_CEL_N_IDENT && !strcmp(node->call.target->ident, space) &&
           !strcmp(node->call.function, function);
}

static struct ek_shape infer_ident(const struct ek_typewalk *w, const char *name)
{
    for (const struct ek_binding_scope *s = w->scope; s && *name != '.'; s = s->outer)
        if (!strcmp(s->name, name))
            return s->shape;
    name += *name == '.';
    if (!strcmp(name, "object") || !strcmp(name, "oldObject"))
        return w->object;
    return !strcmp(name, "params") ? w->params : any;
}

static bool is_variables(const struct ek_typewalk *w, const struct ek_cel_node *node)
{
    if (node->kind != EK_CEL_N_IDENT)
        return false;
    for (const struct ek_binding_scope *s = w->scope; s; s = s->outer)
        if (!strcmp(s->name, "variables"))
            return false;
    return !strcmp(node->ident, "variables");
}

static struct ek_shape infer_select(struct ek_typewalk *w, const struct ek_cel_node *node)
{
    const char *name = node->select.field;

    if (is_variables(w, node->select.operand)) {
        for (size_t i = w->n_variables; i-- > 0;) /* of two of one name the last counts */
            if (w->policy->variables[i].name && !strcmp(w->policy->variables[i].name, name))
                return node->select.test ? any : w->variables[i];
        return any;
    }
    struct ek_shape operand = ek_type_infer(w, node->select.operand);
    struct ek_shape member = ek_type_member(w, &operand, ek_str_from(name), node->position,
                                            node->select.test ? EK_TYPE_TESTS : EK_TYPE_READS);
    return node->select.test ? any : member;
}

static struct ek_shape infer_index(struct ek_typewalk *w, const struct ek_cel_node *node)
{
    const struct ek_cel_node *key = node->call.args[1];
    struct ek_shape operand = ek_type_infer(w, node->call.args[0]);
    const struct ek_schema_type *t = ek_type_of(&operand);

    ek_type_infer(w, key);
    if (ek_type_is_text(key))
        return ek_type_member(w, &operand, ek_type_text(key), key->position, EK_TYPE_READS);
    if (t && t->map != EK_MAP_NONE && t->member != EK_SCHEMA_NONE && t->n_fields == 0) {
        struct ek_shape value = type_part(w, &operand, t->member, "{}", (struct ek_str){"", 0});
        value.path = ek_type_text_of(w->to, "%s[*]", operand.path);
        return value;
    }
    return ek_type_item(w, &operand);
}

/* A scalar of one kind held against a constant of another. */
static void compare(struct ek_typewalk *w, const struct ek_shape *shape,
                    const struct ek_cel_node *node)
{
    const struct ek_schema_type *t = ek_type_of(shape);
    char where[EK_QUOTE_SIZE];
    bool fits = true;

    if (!t || node->kind != EK_CEL_N_LITERAL || t->scalar == EK_SCALAR_NONE)
        return;
    switch (node->literal.kind) {
    case EK_CEL_STRING:
        fits = t->scalar == EK_SCALAR_STRING || t->scalar == EK_SCALAR_ANY;
        break;
    case EK_CEL_INT:
    case EK_CEL_UINT:
    case EK_CEL_DOUBLE:
        fits = t->scalar == EK_SCALAR_NUMERIC || t->scalar == EK_SCALAR_ANY;
        break;
    case EK_CEL_BOOL:
        fits = t->scalar == EK_SCALAR_BOOLEAN || t->scalar == EK_SCALAR_ANY;
        break;
    default:
        break;
    }
    if (!fits)
        ek_type_report(w, EK_TYPE_MISMATCH, node->position, "%s is %s and is compared with %s %s",
                       ek_quote_short(ek_str_from(shape->path), where), ek_type_noun(t), "a",
                       ek_cel_type_name(&node->literal));
}

static bool is_comparison(const char *function)
{
    static const char *const all[] = {EK_CEL_OP_EQ, EK_CEL_OP_NE, EK_CEL_OP_LT,
                                      EK_CEL_OP_LE, EK_CEL_OP_GT, EK_CEL_OP_GE};

    for (size_t i = 0; i < EK_ARRAY_SIZE(all); i++)
        if (!strcmp(function, all[i]))
            return true;
    return false;
}

static struct ek_shape infer_conditional(struct ek_typewalk *w, const struct ek_cel_node *node)
{
    enum ek_truth truth = ek_type_truth(w, node->call.args[0]);
    struct ek_shape shapes[2];

    ek_type_infer(w, node->call.args[0]);
    for (size_t i = 0; i < 2; i++) {
        ek_type_enter_branch(w, truth, i == 0);
        shapes[i] = ek_type_infer(w, node->call.args[1 + i]);
        ek_type_leave_branch(w, truth, i == 0);
    }
    if (truth != EK_TRUTH_UNKNOWN)
        return shapes[truth == EK_TRUTH_FALSE];
    return join(w, shapes[0], shapes[1]);
}

/* && and ||: what one operand decides, errors of the others do not change. */
static void infer_logic(struct ek_typewalk *w, const struct ek_cel_node *node)
{
    bool is_and = !strcmp(node->call.function, EK_CEL_OP_AND);
    bool decided = ek_type_truth(w, node) == (is_and ? EK_TRUTH_FALSE : EK_TRUTH_TRUE);

    w->n_skipped += decided;
    for (uint32_t i = 0; i < node->call.n; i++)
        ek_type_infer(w, node->call.args[i]);
    w->n_skipped -= decided;
}

static struct ek_shape infer_operator(struct ek_typewalk *w, const struct ek_cel_node *node,
                                      bool *ret_known)
{
    const char *f = node->call.function;
    struct ek_cel_node **args = node->call.args;

    *ret_known = true;
    if (!strcmp(f, EK_CEL_OP_CONDITIONAL) && node->call.n == 3)
        return infer_conditional(w, node);
    if (!strcmp(f, EK_CEL_OP_AND) || !strcmp(f, EK_CEL_OP_OR)) {
        infer_logic(w, node);
        return any;
    }
    if ((!strcmp(f, EK_CEL_OP_INDEX) || !strcmp(f, EK_CEL_OP_OPT_INDEX)) && node->call.n == 2)
        return infer_index(w, node);
    if (!strcmp(f, EK_CEL_OP_OPT_SELECT) && node->call.n == 2 && ek_type_is_text(args[1])) {
        struct ek_shape operand = ek_type_infer(w, args[0]);
        return ek_type_member(w, &operand, ek_type_text(args[1]), args[1]->position, EK_TYPE_TESTS);
    }
    if (!strcmp(f, EK_CEL_OP_ADD) && node->call.n == 2) {
        struct ek_shape left = ek_type_infer(w, args[0]);
        struct ek_shape right = ek_type_infer(w, args[1]);
        return is_list(&left) || is_list(&right) ? join(w, left, right) : any;
    }
    if (!strcmp(f, EK_CEL_OP_IN) && node->call.n == 2) {
        struct ek_shape right = ek_type_infer(w, args[1]);
        const struct ek_schema_type *t = ek_type_of(&right);
        if (ek_type_is_text(args[0]) && t && t->map != EK_MAP_NONE)
            ek_type_member(w, &right, ek_type_text(args[0]), args[0]->position, EK_TYPE_TESTS);
        return any;
    }
    if (is_comparison(f) && node->call.n == 2) {
        struct ek_shape left = ek_type_infer(w, args[0]);
        struct ek_shape right = ek_type_infer(w, args[1]);
        compare(w, &left, args[1]);
        compare(w, &right, args[0]);
        return any;
    }
    *ret_known = false;
    return any;
}

static struct ek_shape infer_call(struct ek_typewalk *w, const struct ek_cel_node *node)
{
    static const char *const keep[] = {"orValue", "or", "value", "sort", "distinct", NULL};
    static const char *const element[] = {"first", "last", NULL};
    struct ek_shape target = any, first = any;
    bool known;

    struct ek_shape shape = infer_operator(w, node, &known);
    if (known)
        return shape;
    if (node->call.target)
        target = ek_type_infer(w, node->call.target);
    for (uint32_t i = 0; i < node->call.n; i++) {
        shape = ek_type_infer(w, node->call.args[i]);
        first = i ? first : shape;
    }
    if (ek_type_is_call(node, "optional", "of") ||
        ek_type_is_call(node, "optional", "ofNonZeroValue") ||
        (!node->call.target && !strcmp(node->call.function, "dyn")))
        return first;
    if (!node->call.target)
        return any;
    if (ek_is_one_of(node->call.function, keep))
        return target;
    return ek_is_one_of(node->call.function, element) ? ek_type_item(w, &target) : any;
}

struct ek_shape ek_type_fold(struct ek_typewalk *w, const struct ek_cel_node *node,
                             const struct ek_type_target *target)
{
    const struct ek_binding_scope *outer = w->scope;
    struct ek_shape range = ek_type_infer(w, node->fold.range);
    struct ek_shape item = ek_type_item(w, &range), init = ek_type_infer(w, node->fold.init), step;
    const char *value = node->fold.var2 ? node->fold.var2 : node->fold.var;
    struct ek_binding_scope key = {node->fold.var, any, outer, NULL};
    struct ek_binding_scope element = {value, item, node->fold.var2 ? &key : outer, node};
    struct ek_binding_scope accu = {node->fold.accu, init, &element, node};

    w->scope = &accu;
    w->n_unsure++;
    ek_type_infer(w, node->fold.condition);
    if (target)
        ek_type_expect(w, node->fold.step, target);
    step = target ? any : ek_type_infer(w, node->fold.step);
    accu.shape = target ? init : join(w, init, step);
    accu.outer = outer;
    if (target)
        ek_type_expect(w, node->fold.result, target);
    struct ek_shape result = target ? any : ek_type_infer(w, node->fold.result);
    w->n_unsure--;
    w->scope = outer;
    return result;
}

static struct ek_shape infer_list(struct ek_typewalk *w, const struct ek_cel_node *node)
{
    struct ek_shape item = {.kind = EK_SHAPE_EMPTY};

    for (uint32_t i = 0; i < node->list.n; i++)
        item = join(w, item, ek_type_infer(w, node->list.items[i]));
    return node->list.n ? list_of(w, item) : item;
}

static void infer_parts(struct ek_typewalk *w, const struct ek_cel_node *node)
{
    if (node->kind == EK_CEL_N_MAP) {
        for (uint32_t i = 0; i < node->map.n; i++) {
            ek_type_infer(w, node->map.entries[i].key);
            ek_type_infer(w, node->map.entries[i].value);
        }
        return;
    }
    if (!strcmp(node->object.name, "JSONPatch")) {
        ek_type_operation(w, node);
        return;
    }
    for (uint32_t i = 0; i < node->object.n; i++)
        ek_type_infer(w, node->object.fields[i].value);
}

struct ek_shape ek_type_infer(struct ek_typewalk *w, const struct ek_cel_node *node)
{
    if (w->to->failed || w->steps++ > STEPS_MAX)
        return any;
    switch (node->kind) {
    case EK_CEL_N_IDENT:
        return infer_ident(w, node->ident);
    case EK_CEL_N_SELECT:
        return infer_select(w, node);
    case EK_CEL_N_CALL:
        return infer_call(w, node);
    case EK_CEL_N_FOLD:
        return ek_type_fold(w, node, NULL);
    case EK_CEL_N_LIST:
        return infer_list(w, node);
    case EK_CEL_N_MAP:
    case EK_CEL_N_STRUCT:
        infer_parts(w, node);
        return any;
    default:
        return any;
    }
}
