/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/cel/check/check-internal.h"

/* ---- Memory and reports ---------------------------------------------------------------------- */

void *ek_cel_check_take(struct ek_cel_check *c, size_t size)
{
    void *p = ek_arena_try(c->arena, size);

    if (!p)
        c->failed = EK_E_LIMIT;
    return p;
}

const char *ek_cel_check_text(struct ek_cel_check *c, const char *s, size_t len)
{
    char *copy = ek_cel_check_take(c, len + 1);

    if (!copy)
        return NULL;
    memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}

bool ek_cel_check_room(struct ek_cel_check *c, void *list, uint32_t n, uint32_t *cap, size_t size)
{
    void **slot = list;
    uint32_t more = *cap ? *cap * 2 : 32;
    void *p;

    if (n < *cap)
        return true;
    p = ek_cel_check_take(c, more * size);
    if (!p)
        return false;
    if (n)
        memcpy(p, *slot, n * size);
    *slot = p;
    *cap = more;
    return true;
}

void ek_cel_check_report(struct ek_cel_check *c, uint32_t position, const char *fmt, ...)
{
    char small[512], *text = small;
    va_list args;
    int n;

    if (c->failed)
        return; /* types are not to be trusted any more */
    c->wrong = true;
    va_start(args, fmt);
    n = vsnprintf(small, sizeof small, fmt, args);
    va_end(args);
    if (n >= (int)sizeof small) {
        char *large = ek_cel_check_take(c, (size_t)n + 1);
        text = large ? large : small;
        va_start(args, fmt);
        if (large)
            vsnprintf(large, (size_t)n + 1, fmt, args);
        va_end(args);
    }
    ek_cel_issue_add(c->issues, EK_CEL_E_TYPE, c->ast->text, c->ast->len, position, "%s", text);
}

void ek_cel_type_message(const struct ek_cel_type *type, struct ek_buf *out)
{
    if (type->kind == EK_CEL_T_TIMESTAMP) {
        ek_buf_puts(out, "timestamp");
    } else if (type->kind == EK_CEL_T_DURATION) {
        ek_buf_puts(out, "duration");
    } else if (type->kind == EK_CEL_T_NULL) {
        ek_buf_puts(out, "null");
    } else if (!type->n) {
        ek_cel_type_format(type, out);
    } else {
        ek_buf_puts(out, type->name);
        for (uint32_t i = 0; i < type->n; i++) {
            ek_buf_puts(out, i ? ", " : "(");
            ek_cel_type_message(type->params[i], out);
        }
        ek_buf_puts(out, ")");
    }
}

const char *ek_cel_type_text(struct ek_cel_check *c, const struct ek_cel_type *type)
{
    const char *text;
    struct ek_buf buf;

    ek_buf_init(&buf, EK_BUF_SMALL_MAX + 1); /* one that fails instead of aborting */
    ek_cel_type_message(type, &buf);
    text = ek_cel_check_text(c, ek_buf_str(&buf), buf.len);
    ek_buf_done(&buf);
    return text ? text : "?";
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static const struct ek_cel_type *literal_type(const struct ek_cel_val *value)
{
    static const struct ek_cel_type *const types[EK_CEL_KIND_MAX] = {
        [EK_CEL_NULL] = &ek_cel_type_null,     [EK_CEL_BOOL] = &ek_cel_type_bool,
        [EK_CEL_INT] = &ek_cel_type_int,       [EK_CEL_UINT] = &ek_cel_type_uint,
        [EK_CEL_DOUBLE] = &ek_cel_type_double, [EK_CEL_STRING] = &ek_cel_type_string,
        [EK_CEL_BYTES] = &ek_cel_type_bytes,
    };
    const struct ek_cel_type *type = value->kind < EK_CEL_KIND_MAX ? types[value->kind] : NULL;

    return type ? type : &ek_cel_type_dyn;
}

/* Sets node to what a name stands for. Variables are called by the names of their declarations
 * from here on. */
static void refer_to_named(struct ek_cel_check *c, struct ek_cel_node *node,
                           const struct ek_cel_named *named)
{
    struct ek_cel_ref *ref = ek_cel_check_refer(c, node, named->kind);

    node->type = ek_cel_named_type(c, named);
    if (!ref)
        return;
    ref->variable = named->variable;
    ref->type = named->kind == EK_CEL_REF_TYPE ? named->type : NULL;
    if (node->kind == EK_CEL_N_IDENT && named->local)
        node->ident = named->local->name;
}

static void check_ident(struct ek_cel_check *c, struct ek_cel_node *node)
{
    struct ek_cel_named named;

    if (ek_cel_check_find(c, node->ident, &named)) {
        refer_to_named(c, node, &named);
        return;
    }
    ek_cel_check_report(c, node->position, "undeclared reference to '%s' (in container '%s')",
                        node->ident, c->rules->container);
    node->type = &ek_cel_type_error;
}

const struct ek_cel_type *ek_cel_check_select(struct ek_cel_check *c, struct ek_cel_node *node,
                                              struct ek_cel_node *operand, const char *field,
                                              bool optional)
{
    const struct ek_cel_type *type, *result;
    bool unwrapped;

    ek_cel_check_node(c, operand);
    type = ek_cel_unwrap(ek_cel_substitute(c, operand->type, false), &unwrapped);
    switch (type->kind) {
    case EK_CEL_T_MAP:
        result = type->params[1];
        break;
    case EK_CEL_T_STRUCT:
    case EK_CEL_T_OPAQUE:
        /* Opaque types whose names can be written are known to have no fields. */
        if (type->kind == EK_CEL_T_STRUCT || !ek_cel_env_type(c->env, type->name)) {
            result = ek_cel_check_field(c, node->position, type, field);
            result = result ? result : &ek_cel_type_error;
            break;
        }
        /* fall through */
    default:
        if (type->kind == EK_CEL_T_PARAM)
            ek_cel_assignable(c, &ek_cel_type_dyn, type);
        else if (!ek_cel_is_dyn(type) && type->kind != EK_CEL_T_ERROR)
            ek_cel_check_report(c, node->position, "type '%s' does not support field selection",
                                ek_cel_type_text(c, type));
        result = &ek_cel_type_dyn;
    }
    if (unwrapped || optional)
        return ek_cel_check_make(c, EK_CEL_T_OPTIONAL, "optional_type", result, NULL);
    return result;
}

static void check_select_node(struct ek_cel_check *c, struct ek_cel_node *node)
{
    const char *name = ek_cel_check_chain(c, node, NULL, false);
    const struct ek_cel_type *type;
    struct ek_cel_named named;

    if (name && ek_cel_check_find(c, name, &named)) {
        refer_to_named(c, node, &named);
        return;
    }
    type = ek_cel_check_select(c, node, node->select.operand, node->select.field, false);
    node->type = node->select.test ? &ek_cel_type_bool : ek_cel_substitute(c, type, false);
}

/* The types of a fold's variables, by the type of its range. */
static void range_types(struct ek_cel_check *c, const struct ek_cel_node *range, bool two,
                        const struct ek_cel_type **ret_var, const struct ek_cel_type **ret_var2)
{
    const struct ek_cel_type *type = ek_cel_substitute(c, range->type, false);

    switch (type->kind) {
    case EK_CEL_T_LIST:
        *ret_var = two ? &ek_cel_type_int : type->params[0];
        *ret_var2 = type->params[0];
        return;
    case EK_CEL_T_MAP:
        *ret_var = type->params[0];
        *ret_var2 = type->params[1];
        return;
    case EK_CEL_T_DYN:
    case EK_CEL_T_ERROR:
    case EK_CEL_T_PARAM:
        ek_cel_assignable(c, &ek_cel_type_dyn, type);
        *ret_var = *ret_var2 = &ek_cel_type_dyn;
        return;
    default:
        ek_cel_check_report(c, range->position,
                            "expression of type '%s' cannot be range of a comprehension (must be "
                            "list, map, or dynamic)",
                            ek_cel_type_text(c, type));
        *ret_var = *ret_var2 = &ek_cel_type_error;
    }
}

static void expect_type(struct ek_cel_check *c, const struct ek_cel_node *node,
                        const struct ek_cel_type *type)
{
    if (!ek_cel_assignable(c, type, node->type))
        ek_cel_check_report(c, node->position, "expected type '%s' but found '%s'",
                            ek_cel_type_text(c, type), ek_cel_type_text(c, node->type));
}

static void check_fold(struct ek_cel_check *c, struct ek_cel_node *node)
{
    const struct ek_cel_local *outer = c->locals;
    const struct ek_cel_type *var, *var2;

    ek_cel_check_node(c, node->fold.range);
    ek_cel_check_node(c, node->fold.init);
    const struct ek_cel_type *accu_type = node->fold.init->type;
    struct ek_cel_local accu = {node->fold.accu, accu_type, outer};
    /* The reference forgets on entering a scope which overloads are off. */
    c->mixed_order = true;
    range_types(c, node->fold.range, node->fold.var2 != NULL, &var, &var2);
    struct ek_cel_local first = {node->fold.var, var, &accu};
    struct ek_cel_local second = {node->fold.var2 ? node->fold.var2 : "", var2, &first};
    c->locals = node->fold.var2 ? &second : &first;
    ek_cel_check_node(c, node->fold.condition);
    expect_type(c, node->fold.condition, &ek_cel_type_bool);
    ek_cel_check_node(c, node->fold.step);
    expect_type(c, node->fold.step, accu_type);
    c->locals = &accu;
    ek_cel_check_node(c, node->fold.result);
    c->locals = outer;
    node->type = ek_cel_substitute(c, node->fold.result->type, false);
}

void ek_cel_check_node(struct ek_cel_check *c, struct ek_cel_node *node)
{
    if (node->type)
        return;
    if (!c->failed && ek_cel_check_room(c, &c->nodes, c->n_nodes, &c->cap_nodes, sizeof(void *))) {
        c->nodes[c->n_nodes++] = node;
        switch ((enum ek_cel_node_kind)node->kind) {
        case EK_CEL_N_LITERAL:
            node->type = literal_type(&node->literal);
            break;
        case EK_CEL_N_IDENT:
            check_ident(c, node);
            break;
        case EK_CEL_N_SELECT:
            check_select_node(c, node);
            break;
        case EK_CEL_N_CALL:
            ek_cel_check_call(c, node);
            break;
        case EK_CEL_N_LIST:
            ek_cel_check_list(c, node);
            break;
        case EK_CEL_N_MAP:
            ek_cel_check_map(c, node);
            break;
        case EK_CEL_N_STRUCT:
            ek_cel_check_struct(c, node);
            break;
        case EK_CEL_N_FOLD:
            check_fold(c, node);
            break;
        }
    }
    if (!node->type)
        node->type = &ek_cel_type_error;
}

/* True for the type of a field that there is none of, and for types made of it. */
static bool holds_none(const struct ek_cel_type *type)
{
    for (uint32_t i = 0; i < type->n; i++)
        if (holds_none(type->params[i]))
            return true;
    return type->kind == EK_CEL_T_NONE;
}

/* Puts the final types in: bound variables' types, and dyn for what was left open. */
static void finish_types(struct ek_cel_check *c)
{
    for (uint32_t i = 0; i < c->n_nodes && !c->failed; i++) {
        struct ek_cel_node *node = c->nodes[i];
        if (node->type->n || node->type->kind == EK_CEL_T_PARAM)
            node->type = ek_cel_substitute(c, node->type, true);
        if (c->rules->object_types && holds_none(node->type) && !c->wrong)
            ek_cel_check_report(c, node->position, "undefined field '%s'",
                                node->kind == EK_CEL_N_SELECT ? node->select.field : "");
    }
}

int ek_cel_check(const struct ek_cel_env *env, struct ek_cel_ast *ast, struct ek_arena *arena,
                 struct ek_cel_issues *issues)
{
    const struct ek_cel_env_rules *rules = ek_cel_env_rules(env);
    struct ek_cel_check c = {.env = env,
                             .rules = rules,
                             .ast = ast,
                             .arena = arena,
                             .issues = issues,
                             .mixed_order = rules->mixed_numeric_order};

    ek_cel_check_node(&c, ast->root);
    finish_types(&c);
    if (c.failed)
        return c.failed;
    return c.wrong ? EK_E_INVAL : 0;
}
