/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/plan/plan.h"

#include <stdio.h>
#include <string.h>

#include "api/cel/syntax/parse.h"
#include "api/cel/values/value.h"

/* ---- Building blocks ------------------------------------------------------------------------- */

bool ek_cel_plan_no_memory(struct ek_cel_planner *p)
{
    if (!p->code)
        p->code = EK_E_LIMIT;
    return false;
}

void *ek_cel_plan_alloc(struct ek_cel_planner *p, size_t size)
{
    void *memory = ek_arena_try(p->arena, size ? size : 1);

    if (!memory) {
        ek_cel_plan_no_memory(p);
        return NULL;
    }
    return memset(memory, 0, size);
}

bool ek_cel_plan_fail(struct ek_cel_planner *p, uint32_t position, const char *message)
{
    if (!p->code) {
        p->code = EK_E_INVAL;
        ek_cel_issue_add(p->issues, EK_CEL_E_TYPE, p->ast->text, p->ast->len, position,
                         "program instantiation failed: %s", message);
    }
    return false;
}

static bool reserve(struct ek_cel_planner *p, struct ek_cel_vec *vec, uint32_t more, size_t size)
{
    uint32_t cap = vec->cap ? vec->cap : 16;

    if (more <= vec->cap - vec->len)
        return true;
    if (more > UINT32_MAX / 4 || vec->len > UINT32_MAX / 4)
        return ek_cel_plan_no_memory(p);
    while (cap < vec->len + more)
        cap *= 2;
    if (!vec->cap || !ek_arena_extend(p->arena, vec->data, vec->cap * size, cap * size)) {
        void *data = ek_arena_try(p->arena, cap * size);
        if (!data)
            return ek_cel_plan_no_memory(p);
        if (vec->len)
            memcpy(data, vec->data, vec->len * size);
        vec->data = data;
    }
    vec->cap = cap;
    return true;
}

uint32_t ek_cel_plan_push_all(struct ek_cel_planner *p, struct ek_cel_vec *vec, const void *items,
                              uint32_t n, size_t size)
{
    if (!reserve(p, vec, n, size))
        return UINT32_MAX;
    if (n)
        memcpy((char *)vec->data + vec->len * size, items, n * size);
    vec->len += n;
    return vec->len - n;
}

uint32_t ek_cel_plan_push(struct ek_cel_planner *p, struct ek_cel_vec *vec, const void *item,
                          size_t size)
{
    return ek_cel_plan_push_all(p, vec, item, 1, size);
}

bool ek_cel_plan_op(struct ek_cel_planner *p, const struct ek_cel_op *op, struct ek_cel_plan *ret)
{
    uint32_t at = ek_cel_plan_push(p, &p->ops, op, sizeof *op);

    ret->kind = EK_CEL_PLAN_OP;
    ret->position = op->position;
    ret->op = at;
    return at != UINT32_MAX;
}

bool ek_cel_plan_emit(struct ek_cel_planner *p, struct ek_cel_plan *plan, uint32_t *ret_op)
{
    switch (plan->kind) {
    case EK_CEL_PLAN_CONST: {
        struct ek_cel_op op = {.code = EK_CEL_I_CONST, .position = plan->position};
        op.value = plan->value;
        *ret_op = ek_cel_plan_push(p, &p->ops, &op, sizeof op);
        return *ret_op != UINT32_MAX;
    }
    case EK_CEL_PLAN_ATTR:
        return ek_cel_plan_emit_attr(p, plan->attr, true, ret_op);
    default:
        *ret_op = plan->op;
        return true;
    }
}

/* ---- Lists, maps, structs -------------------------------------------------------------------- */

static bool plan_each(struct ek_cel_planner *p, struct ek_cel_node *const *nodes, uint32_t n,
                      struct ek_cel_plan *ret)
{
    for (uint32_t i = 0; i < n; i++)
        if (!ek_cel_plan_node(p, nodes[i], &ret[i]))
            return false;
    return true;
}

static bool all_constant(const struct ek_cel_plan *plans, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (plans[i].kind != EK_CEL_PLAN_CONST)
            return false;
    return true;
}

/* Writes an op whose operands are a list of kids. */
static bool plan_many(struct ek_cel_planner *p, struct ek_cel_op *op, struct ek_cel_plan *plans,
                      uint32_t n, struct ek_cel_plan *ret)
{
    uint32_t *kids = ek_cel_plan_alloc(p, n * sizeof *kids);

    if (!kids)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!ek_cel_plan_emit(p, &plans[i], &kids[i]))
            return false;
    op->a = ek_cel_plan_push_all(p, &p->kids, kids, n, sizeof *kids);
    return op->a != UINT32_MAX && ek_cel_plan_op(p, op, ret);
}

/* An op counts at most UINT16_MAX operands. */
static bool check_count(struct ek_cel_planner *p, const struct ek_cel_node *node, uint32_t n)
{
    if (n <= UINT16_MAX)
        return true;
    return ek_cel_plan_fail(p, node->position, "literal of more than 65535 elements");
}

static bool push_optionals(struct ek_cel_planner *p, const bool *flags, uint32_t n, uint32_t *ret)
{
    uint32_t at = ek_cel_plan_push_all(p, &p->optionals, flags, n, sizeof *flags);

    *ret = at + 1;
    return at != UINT32_MAX;
}

static bool constant(struct ek_cel_planner *p, const struct ek_cel_node *node,
                     struct ek_cel_val value, struct ek_cel_plan *ret)
{
    if (value.kind == EK_CEL_ERROR)
        return p->frame.account.ended ? ek_cel_plan_no_memory(p)
                                      : ek_cel_plan_fail(p, node->position, value.fault->message);
    *ret = (struct ek_cel_plan){.kind = EK_CEL_PLAN_CONST, .position = node->position};
    ret->value = value;
    return true;
}

static bool plan_list(struct ek_cel_planner *p, const struct ek_cel_node *node,
                      struct ek_cel_plan *ret)
{
    uint32_t n = node->list.n;
    struct ek_cel_plan *plans = ek_cel_plan_alloc(p, n * sizeof *plans);
    struct ek_cel_op op = {.code = EK_CEL_I_LIST, .position = node->position, .n = (uint16_t)n};

    if (!plans || !check_count(p, node, n) || !plan_each(p, node->list.items, n, plans))
        return false;
    if (node->list.optional) {
        if (!push_optionals(p, node->list.optional, n, &op.b))
            return false;
    } else if (all_constant(plans, n)) {
        struct ek_cel_val list = ek_cel_list_new(&p->frame.account, n);
        for (uint32_t i = 0; i < n && list.kind == EK_CEL_LIST; i++)
            if (!ek_cel_list_append(&p->frame.account, &list, &plans[i].value))
                list = ek_cel_no_memory(&p->frame.account);
        return constant(p, node, list, ret);
    }
    return plan_many(p, &op, plans, n, ret);
}

static bool constant_map(struct ek_cel_planner *p, const struct ek_cel_node *node,
                         const struct ek_cel_plan *plans, struct ek_cel_plan *ret)
{
    uint32_t n = node->map.n;
    struct ek_cel_val map = ek_cel_map_new(&p->frame.account, n);

    for (uint32_t i = 0; i < n && map.kind == EK_CEL_MAP; i++, plans += 2)
        if (ek_cel_map_put(&p->frame.account, &map, &plans[0].value, &plans[1].value, true) < 0)
            map = ek_cel_no_memory(&p->frame.account);
    return constant(p, node, map, ret);
}

/* Octets cannot be compared by the reference's hash, so a map refuses them as keys. */
static bool has_bytes_key(const struct ek_cel_plan *plans, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (plans[(size_t)2 * i].value.kind == EK_CEL_BYTES)
            return true;
    return false;
}

static bool plan_map(struct ek_cel_planner *p, const struct ek_cel_node *node,
                     struct ek_cel_plan *ret)
{
    uint32_t n = node->map.n;
    struct ek_cel_plan *plans = ek_cel_plan_alloc(p, (size_t)2 * n * sizeof *plans);
    bool *flags = ek_cel_plan_alloc(p, n), optional = false;
    struct ek_cel_op op = {.code = EK_CEL_I_MAP, .position = node->position, .n = (uint16_t)n};

    if (!plans || !flags || !check_count(p, node, n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct ek_cel_map_entry *entry = &node->map.entries[i];
        if (!ek_cel_plan_node(p, entry->key, &plans[(size_t)2 * i]) ||
            !ek_cel_plan_node(p, entry->value, &plans[(size_t)2 * i + 1]))
            return false;
        flags[i] = entry->optional;
        optional |= entry->optional;
    }
    if (optional) {
        if (!push_optionals(p, flags, n, &op.b))
            return false;
    } else if (all_constant(plans, 2 * n) && !has_bytes_key(plans, n)) {
        return constant_map(p, node, plans, ret);
    }
    return plan_many(p, &op, plans, 2 * n, ret);
}

static bool plan_struct(struct ek_cel_planner *p, const struct ek_cel_node *node,
                        struct ek_cel_plan *ret)
{
    uint32_t n = node->object.n;
    struct ek_cel_plan *plans = ek_cel_plan_alloc(p, n * sizeof *plans);
    const char **fields = ek_cel_plan_alloc(p, n * sizeof *fields);
    bool *flags = ek_cel_plan_alloc(p, n), optional = false;
    struct ek_cel_op op = {.code = EK_CEL_I_STRUCT, .position = node->position, .n = (uint16_t)n};
    const struct ek_cel_type *type = node->ref ? node->ref->type : NULL;

    if (!plans || !fields || !flags || !check_count(p, node, n))
        return false;
    if (!type)
        type = ek_cel_env_struct(p->env, node->object.name + (*node->object.name == '.'), p->arena);
    if (!type)
        return ek_cel_plan_fail(p, node->position, "unknown type");
    for (uint32_t i = 0; i < n; i++) {
        const struct ek_cel_field_init *init = &node->object.fields[i];
        if (!ek_cel_plan_node(p, init->value, &plans[i]))
            return false;
        fields[i] = init->name;
        flags[i] = init->optional;
        optional |= init->optional;
    }
    if (optional && !push_optionals(p, flags, n, &op.b))
        return false;
    struct ek_cel_struct_names names = {type->name, fields, n};
    op.c = ek_cel_plan_push(p, &p->structs, &names, sizeof names);
    return op.c != UINT32_MAX && plan_many(p, &op, plans, n, ret);
}

/* ---- Folds ----------------------------------------------------------------------------------- */

static bool is_true(const struct ek_cel_plan *plan)
{
    return plan->kind == EK_CEL_PLAN_CONST && plan->value.kind == EK_CEL_BOOL && plan->value.b;
}

static bool is_empty_list(const struct ek_cel_plan *plan)
{
    return plan->kind == EK_CEL_PLAN_CONST && plan->value.kind == EK_CEL_LIST && !plan->value.n;
}

struct fold_plans {
    struct ek_cel_plan init, range, condition, step, result;
    struct ek_cel_plan_scope accu, var, var2;
    struct ek_cel_paths *elements;
};

/* The names that the loop's parts may use. The accumulator comes first in the reference's look-up,
 * so it is the innermost. */
static void open_scopes(struct ek_cel_planner *p, const struct ek_cel_node *node,
                        struct fold_plans *plans, const struct ek_cel_fold *fold, uint32_t index)
{
    plans->var = (struct ek_cel_plan_scope){.outer = p->scope, .slot = fold->var};
    plans->var.name = node->fold.var;
    plans->var2 = (struct ek_cel_plan_scope){.outer = &plans->var, .slot = fold->var2};
    plans->var2.name = node->fold.var2 ? node->fold.var2 : "";
    plans->accu =
        (struct ek_cel_plan_scope){.outer = &plans->var2, .slot = fold->accu, .accu = true};
    plans->accu.name = node->fold.accu;
    plans->accu.fold = index;
}

/*
 * The accumulator's first value is evaluated when it is first read, with other loops of this one's
 * parts at work: its own loops get locals that those don't use.
 */
static bool plan_init(struct ek_cel_planner *p, const struct ek_cel_node *node,
                      struct fold_plans *plans, struct ek_cel_fold *fold)
{
    uint32_t most = p->n_locals;

    p->n_locals = p->next_local;
    if (!ek_cel_plan_node(p, node->fold.init, &plans->init))
        return false;
    if (plans->init.kind == EK_CEL_PLAN_ATTR) {
        plans->accu.paths = plans->init.attr->paths;
        if (!ek_cel_plan_emit_attr(p, plans->init.attr, false, &fold->init))
            return false;
    } else if (!ek_cel_plan_emit(p, &plans->init, &fold->init)) {
        return false;
    }
    p->next_local = p->n_locals;
    if (most > p->n_locals)
        p->n_locals = most;
    return true;
}

static bool plan_range(struct ek_cel_planner *p, const struct ek_cel_node *node,
                       struct fold_plans *plans, struct ek_cel_fold *fold)
{
    if (!ek_cel_plan_node(p, node->fold.range, &plans->range))
        return false;
    if (plans->range.kind != EK_CEL_PLAN_ATTR)
        return ek_cel_plan_emit(p, &plans->range, &fold->range);
    plans->elements = ek_cel_paths_step(p, plans->range.attr->paths, NULL);
    /* a has() or a ternary's test are still marked; what is walked is marked by its elements */
    return ek_cel_plan_emit_attr(p, plans->range.attr, false, &fold->range);
}

static const struct ek_cel_op *op_at(const struct ek_cel_planner *p, uint32_t op)
{
    return &((const struct ek_cel_op *)p->ops.data)[op];
}

static bool is_accu(const struct ek_cel_planner *p, uint32_t op, const struct ek_cel_fold *fold)
{
    return op_at(p, op)->code == EK_CEL_I_ACCU && op_at(p, op)->a == fold->accu;
}

/* Recognises what the macros all and exists expand to. */
static void classify(const struct ek_cel_planner *p, struct ek_cel_fold *fold)
{
    const struct ek_cel_op *condition = op_at(p, fold->condition), *step = op_at(p, fold->step);
    const uint32_t *kids = p->kids.data;
    bool all = step->code == EK_CEL_I_AND;

    if ((!all && step->code != EK_CEL_I_OR) || step->n != 2 || !fold->constant_init ||
        op_at(p, fold->init)->value.kind != EK_CEL_BOOL || condition->code != EK_CEL_I_NOT_FALSE ||
        !is_accu(p, fold->result, fold) || !is_accu(p, kids[step->a], fold))
        return;
    if (!all && op_at(p, condition->a)->code != EK_CEL_I_NOT)
        return;
    if (!is_accu(p, all ? condition->a : op_at(p, condition->a)->a, fold))
        return;
    fold->pred = kids[step->a + 1];
    fold->kind = all ? EK_CEL_FOLD_ALL : EK_CEL_FOLD_EXISTS;
}

static bool plan_fold(struct ek_cel_planner *p, const struct ek_cel_node *node,
                      struct ek_cel_plan *ret)
{
    struct fold_plans plans = {0};
    struct ek_cel_plan_scope *outer = p->scope;
    uint32_t base = p->next_local;
    struct ek_cel_fold fold = {.var = base, .var2 = base + 1, .accu = base + 2};
    uint32_t index = ek_cel_plan_push(p, &p->folds, &fold, sizeof fold);

    if (index == UINT32_MAX)
        return false;
    p->next_local += 3;
    if (p->next_local > p->n_locals)
        p->n_locals = p->next_local;
    open_scopes(p, node, &plans, &fold, index);
    if (!plan_init(p, node, &plans, &fold))
        return false;
    if (!plan_range(p, node, &plans, &fold))
        return false;
    plans.accu.grows = !is_empty_list(&plans.range);
    (node->fold.var2 ? &plans.var2 : &plans.var)->paths = plans.elements;
    p->scope = &plans.accu;
    if (!ek_cel_plan_node(p, node->fold.condition, &plans.condition) ||
        !ek_cel_plan_emit(p, &plans.condition, &fold.condition) ||
        !ek_cel_plan_node(p, node->fold.step, &plans.step) ||
        !ek_cel_plan_emit(p, &plans.step, &fold.step))
        return false;
    plans.accu.outer = outer;
    if (!ek_cel_plan_node(p, node->fold.result, &plans.result) ||
        !ek_cel_plan_emit(p, &plans.result, &fold.result))
        return false;
    p->scope = outer;
    p->next_local = base;
    ek_cel_paths_use_leaves(plans.elements);
    fold.pairs = node->fold.var2 != NULL;
    fold.always = is_true(&plans.condition);
    fold.constant_init = plans.init.kind == EK_CEL_PLAN_CONST;
    classify(p, &fold);
    ((struct ek_cel_fold *)p->folds.data)[index] = fold;
    struct ek_cel_op op = {.position = node->position};
    op.code = is_empty_list(&plans.range) ? EK_CEL_I_BIND : EK_CEL_I_FOLD;
    op.a = index;
    return ek_cel_plan_op(p, &op, ret);
}

/* ---- All of it ------------------------------------------------------------------------------- */

bool ek_cel_plan_node(struct ek_cel_planner *p, const struct ek_cel_node *node,
                      struct ek_cel_plan *ret)
{
    if (p->code || ++p->nodes > EK_CEL_PLAN_NODES_MAX)
        return ek_cel_plan_no_memory(p);
    *ret = (struct ek_cel_plan){.position = node->position};
    switch ((enum ek_cel_node_kind)node->kind) {
    case EK_CEL_N_LITERAL:
        ret->kind = EK_CEL_PLAN_CONST;
        ret->value = node->literal;
        return true;
    case EK_CEL_N_IDENT:
        return ek_cel_plan_ident(p, node, ret);
    case EK_CEL_N_SELECT:
        return ek_cel_plan_select(p, node, ret);
    case EK_CEL_N_CALL:
        return ek_cel_plan_call(p, node, ret);
    case EK_CEL_N_LIST:
        return plan_list(p, node, ret);
    case EK_CEL_N_MAP:
        return plan_map(p, node, ret);
    case EK_CEL_N_STRUCT:
        return plan_struct(p, node, ret);
    case EK_CEL_N_FOLD:
        return plan_fold(p, node, ret);
    }
    return ek_cel_plan_fail(p, node->position, "unsupported expression");
}

static const char *result_type(struct ek_cel_planner *p, struct ek_buf *buf)
{
    const struct ek_cel_type *type = p->ast->root->type;

    if (!type || !p->rules->checked)
        return "dyn";
    return ek_cel_type_format(type, buf) ? NULL : ek_buf_str(buf);
}

struct ek_cel_program *ek_cel_plan(struct ek_cel_env *env, const struct ek_cel_ast *ast,
                                   struct ek_arena *arena, struct ek_cel_issues *issues)
{
    struct ek_cel_planner p = {.env = env,
                               .arena = arena,
                               .ast = ast,
                               .issues = issues,
                               .regex_budget = EK_CEL_REGEX_BUDGET};
    struct ek_cel_plan root;
    struct ek_cel_vec reads = {0};
    struct ek_cel_program *program = NULL;
    EK_AUTO(ek_buf) type = {0};
    uint32_t op = 0;

    ek_buf_init(&type, (size_t)1024 * 1024);
    p.rules = ek_cel_env_rules(env);
    p.frame.account = (struct ek_cel_eval){.arena = arena, .cost_limit = UINT64_MAX};
    p.frame.account.compare_steps = EK_CEL_COMPARE_STEPS_MAX;
    p.n_slots = (uint32_t)ek_cel_env_slots(env);
    p.roots = ek_cel_plan_alloc(&p, p.n_slots * sizeof(void *));
    if (p.roots && ek_cel_plan_node(&p, ast->root, &root) && ek_cel_plan_emit(&p, &root, &op) &&
        ek_cel_plan_reads(&p, &reads)) {
        const char *text = result_type(&p, &type);
        program = text ? ek_cel_pack(&p, op, &reads, text) : NULL;
        if (!program)
            ek_cel_plan_no_memory(&p);
    }
    if (!program)
        for (uint32_t i = 0; i < p.regexes.len; i++)
            ek_cel_regex_free(((struct ek_cel_regex **)p.regexes.data)[i]);
    if (p.code == EK_E_LIMIT)
        ek_cel_issue_add(issues, EK_CEL_E_LIMIT, ast->text, ast->len, EK_CEL_NOWHERE,
                         "expression needs too much memory");
    return program;
}
