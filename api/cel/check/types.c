/* SPDX-License-Identifier: Apache-2.0 */
/* Type variables, assignability and the more general of two types (cel-go checker, types.go). */
#include <string.h>

#include "api/cel/check/check-internal.h"

/* ---- Variables ------------------------------------------------------------------------------- */

uint32_t ek_cel_vars_new(struct ek_cel_check *c, uint32_t n)
{
    uint32_t first = c->n_bindings;

    for (uint32_t i = 0; i < n; i++) {
        if (!ek_cel_check_room(c, &c->bindings, c->n_bindings, &c->cap_bindings,
                               sizeof *c->bindings))
            return first;
        c->bindings[c->n_bindings++] = (struct ek_cel_binding){0};
    }
    return first;
}

const struct ek_cel_type *ek_cel_var_type(struct ek_cel_check *c, uint32_t index)
{
    struct ek_cel_type_var *var;

    if (index >= c->n_bindings)
        return &ek_cel_type_dyn;
    if (c->bindings[index].variable)
        return c->bindings[index].variable;
    var = ek_cel_check_take(c, sizeof *var);
    if (!var)
        return &ek_cel_type_dyn;
    *var = (struct ek_cel_type_var){
        .type = {.kind = EK_CEL_T_PARAM, .name = "_var", .size = 1}, .index = index, .free = true};
    c->bindings[index].variable = &var->type;
    return &var->type;
}

/* What the variable is bound to, one step, or NULL. */
static const struct ek_cel_type *binding(const struct ek_cel_check *c,
                                         const struct ek_cel_type *type)
{
    const struct ek_cel_type_var *var = ek_cel_type_var_of(type);

    if (type->kind != EK_CEL_T_PARAM || !var->free)
        return NULL;
    return c->bindings[var->index].type;
}

const struct ek_cel_type *ek_cel_bound(const struct ek_cel_check *c, const struct ek_cel_type *type)
{
    for (const struct ek_cel_type *next = binding(c, type); next; next = binding(c, type))
        type = next;
    return type;
}

static void bind_variable(struct ek_cel_check *c, const struct ek_cel_type *variable,
                          const struct ek_cel_type *type)
{
    const struct ek_cel_type_var *var = ek_cel_type_var_of(variable);

    if (!var->free)
        return;
    if (!ek_cel_check_room(c, &c->undo, c->n_undo, &c->cap_undo, sizeof *c->undo))
        return;
    c->undo[c->n_undo++] = (struct ek_cel_undo){var->index, c->bindings[var->index].type};
    c->bindings[var->index].type = type;
}

void ek_cel_assign_undo(struct ek_cel_check *c)
{
    while (c->n_undo) {
        const struct ek_cel_undo *u = &c->undo[--c->n_undo];
        c->bindings[u->index].type = u->old;
    }
}

void ek_cel_assign_commit(struct ek_cel_check *c)
{
    c->n_undo = 0;
}

/* ---- Making types ---------------------------------------------------------------------------- */

static const struct ek_cel_type *too_much(struct ek_cel_check *c, const char *what)
{
    if (!c->failed)
        ek_cel_issue_add(c->issues, EK_CEL_E_LIMIT, c->ast->text, c->ast->len,
                         c->ast->root->position, "%s", what);
    c->failed = EK_E_LIMIT;
    return &ek_cel_type_dyn;
}

static bool step(struct ek_cel_check *c)
{
    if (c->failed)
        return false;
    if (++c->steps <= EK_CEL_CHECK_STEPS)
        return true;
    too_much(c, "checking the types of the expression takes too long");
    return false;
}

static const struct ek_cel_type *make(struct ek_cel_check *c, enum ek_cel_type_kind kind,
                                      const char *name, const struct ek_cel_type *const *params,
                                      uint32_t n)
{
    const struct ek_cel_type *type;
    uint64_t size = 0;

    for (uint32_t i = 0; i < n; i++)
        size += params[i]->size;
    if (size > EK_CEL_TYPE_SIZE)
        return too_much(c, "a type in the expression is too large");
    if (kind == EK_CEL_T_LIST && ek_cel_is_dyn(params[0]))
        return &ek_cel_type_list_dyn;
    type = ek_cel_type_make(c->arena, kind, name, params, n);
    if (!type)
        c->failed = EK_E_LIMIT;
    return type ? type : &ek_cel_type_dyn;
}

const struct ek_cel_type *ek_cel_check_make(struct ek_cel_check *c, enum ek_cel_type_kind kind,
                                            const char *name, const struct ek_cel_type *a,
                                            const struct ek_cel_type *b)
{
    const struct ek_cel_type *params[] = {a, b};

    return make(c, kind, name, params, b ? 2 : 1);
}

#define PARAMS_MAX 16

/* type with every parameter replaced by what fn makes of it; type itself when nothing changes. */
static const struct ek_cel_type *
map_params(struct ek_cel_check *c, const struct ek_cel_type *type, uint32_t arg,
           const struct ek_cel_type *(*fn)(struct ek_cel_check *c, const struct ek_cel_type *type,
                                           uint32_t arg))
{
    const struct ek_cel_type *params[PARAMS_MAX];
    bool same = true;

    if (type->n > PARAMS_MAX)
        return type;
    for (uint32_t i = 0; i < type->n; i++) {
        params[i] = fn(c, type->params[i], arg);
        same = same && params[i] == type->params[i];
    }
    return same ? type : make(c, type->kind, type->name, params, type->n);
}

const struct ek_cel_type *ek_cel_instantiate(struct ek_cel_check *c, const struct ek_cel_type *type,
                                             uint32_t first)
{
    if (type->kind == EK_CEL_T_PARAM)
        return ek_cel_var_type(c, first + ek_cel_type_var_of(type)->index);
    return type->n ? map_params(c, type, first, ek_cel_instantiate) : type;
}

static const struct ek_cel_type *substituted(struct ek_cel_check *c, const struct ek_cel_type *type,
                                             uint32_t to_dyn)
{
    type = ek_cel_bound(c, type);
    if (type->kind == EK_CEL_T_PARAM)
        return to_dyn ? &ek_cel_type_dyn : type;
    if (!type->n)
        return type;
    return step(c) ? map_params(c, type, to_dyn, substituted) : &ek_cel_type_dyn;
}

const struct ek_cel_type *ek_cel_substitute(struct ek_cel_check *c, const struct ek_cel_type *type,
                                            bool to_dyn)
{
    return substituted(c, type, to_dyn);
}

const struct ek_cel_type *ek_cel_unwrap(const struct ek_cel_type *type, bool *ret_optional)
{
    *ret_optional = type->kind == EK_CEL_T_OPTIONAL && type->n == 1;
    return *ret_optional ? type->params[0] : type;
}

/* ---- Agreement ------------------------------------------------------------------------------- */

/* True when a says no more than b does: both agree already. */
static bool less_specific(struct ek_cel_check *c, const struct ek_cel_type *a,
                          const struct ek_cel_type *b)
{
    if (!step(c))
        return false;
    if (ek_cel_is_dyn(a) || a->kind == EK_CEL_T_PARAM)
        return true;
    if (ek_cel_is_dyn(b) || b->kind == EK_CEL_T_PARAM || a->kind != b->kind)
        return false;
    switch (a->kind) {
    case EK_CEL_T_TYPE:
        return true;
    case EK_CEL_T_LIST:
    case EK_CEL_T_MAP:
    case EK_CEL_T_OPTIONAL:
    case EK_CEL_T_OPAQUE:
        if (a->n != b->n || strcmp(a->name, b->name) != 0)
            return false;
        for (uint32_t i = 0; i < a->n; i++)
            if (!less_specific(c, a->params[i], b->params[i]))
                return false;
        return true;
    default:
        return ek_cel_type_equal(a, b);
    }
}

const struct ek_cel_type *ek_cel_most_general(struct ek_cel_check *c, const struct ek_cel_type *a,
                                              const struct ek_cel_type *b)
{
    return less_specific(c, a, b) ? a : b;
}

/* True when variable does not occur in type, bindings followed. */
static bool absent_from(struct ek_cel_check *c, const struct ek_cel_type *variable,
                        const struct ek_cel_type *type)
{
    for (;; type = binding(c, type)) {
        if (!step(c) || ek_cel_type_equal(variable, type))
            return false;
        if (type->kind != EK_CEL_T_PARAM)
            break;
        if (!binding(c, type))
            return true;
    }
    for (uint32_t i = 0; i < type->n; i++)
        if (!absent_from(c, variable, type->params[i]))
            return false;
    return true;
}

/* Null may stand for values of these types, which the reference calls nullable for old times'
 * sake. */
static bool nullable(const struct ek_cel_type *type)
{
    switch (type->kind) {
    case EK_CEL_T_NULL:
    case EK_CEL_T_OPAQUE:
    case EK_CEL_T_OPTIONAL:
    case EK_CEL_T_STRUCT:
    case EK_CEL_T_DURATION:
    case EK_CEL_T_TIMESTAMP:
        return true;
    default:
        return false;
    }
}

#define DEPTH_MAX 2000 /* of variables bound to variables, and of types */

static bool agree(struct ek_cel_check *c, const struct ek_cel_type *a, const struct ek_cel_type *b,
                  uint32_t depth);

/* Binds variable to type if type agrees with the present binding. *ret_has: there is one. */
static bool substitutes(struct ek_cel_check *c, const struct ek_cel_type *type,
                        const struct ek_cel_type *variable, bool *ret_has, uint32_t depth)
{
    const struct ek_cel_type *has = binding(c, variable);

    *ret_has = true;
    if (ek_cel_type_equal(type, variable))
        return true;
    if (has) {
        if (ek_cel_type_equal(type, has))
            return true;
        if (!agree(c, type, has, depth))
            return false;
        const struct ek_cel_type *general = ek_cel_most_general(c, type, has);
        if (absent_from(c, variable, general))
            bind_variable(c, variable, general);
        return true;
    }
    *ret_has = false;
    if (!absent_from(c, variable, type))
        return false;
    bind_variable(c, variable, type);
    return true;
}

static bool agree_params(struct ek_cel_check *c, const struct ek_cel_type *a,
                         const struct ek_cel_type *b, uint32_t depth)
{
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!agree(c, a->params[i], b->params[i], depth))
            return false;
    return true;
}

static bool wild(const struct ek_cel_type *type)
{
    return type->kind == EK_CEL_T_DYN || type->kind == EK_CEL_T_ERROR;
}

static bool agree(struct ek_cel_check *c, const struct ek_cel_type *a, const struct ek_cel_type *b,
                  uint32_t depth)
{
    bool has;

    if (!step(c))
        return false;
    if (depth > DEPTH_MAX) {
        too_much(c, "a type in the expression is nested too deeply");
        return false;
    }
    if (b->kind == EK_CEL_T_PARAM) {
        if (substitutes(c, a, b, &has, depth + 1))
            return true;
        if (has)
            return false;
    }
    if (a->kind == EK_CEL_T_PARAM)
        return substitutes(c, b, a, &has, depth + 1);
    if (wild(a) || wild(b))
        return true;
    if (a->kind == EK_CEL_T_NULL)
        return nullable(b);
    if (b->kind == EK_CEL_T_NULL)
        return nullable(a);
    if (a->kind != b->kind || a->kind == EK_CEL_T_NONE)
        return false;
    switch (a->kind) {
    case EK_CEL_T_TYPE:
        return true;
    case EK_CEL_T_OPAQUE:
    case EK_CEL_T_OPTIONAL:
    case EK_CEL_T_LIST:
    case EK_CEL_T_MAP:
        return !strcmp(a->name, b->name) && agree_params(c, a, b, depth + 1);
    case EK_CEL_T_STRUCT:
        return !strcmp(a->name, b->name);
    default:
        return true;
    }
}

bool ek_cel_assignable_try(struct ek_cel_check *c, const struct ek_cel_type *a,
                           const struct ek_cel_type *b)
{
    return agree(c, a, b, 0);
}

bool ek_cel_assignable(struct ek_cel_check *c, const struct ek_cel_type *a,
                       const struct ek_cel_type *b)
{
    bool ok = agree(c, a, b, 0);

    if (!ok)
        ek_cel_assign_undo(c);
    ek_cel_assign_commit(c);
    return ok;
}
