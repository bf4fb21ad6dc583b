/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "api/cel/plan/plan.h"
#include "api/cel/text/number.h"

/* ---- Names ----------------------------------------------------------------------------------- */

const char *ek_cel_plan_name(struct ek_cel_planner *p, const struct ek_cel_node *node)
{
    size_t len = 0;
    const struct ek_cel_node *n = node;

    for (; n->kind == EK_CEL_N_SELECT && !n->select.test; n = n->select.operand)
        len += strlen(n->select.field) + 1;
    if (n->kind != EK_CEL_N_IDENT)
        return NULL;
    size_t root = strlen(n->ident), at = root + len;
    char *name = ek_cel_plan_alloc(p, at + 1);
    if (!name)
        return NULL;
    memcpy(name, n->ident, root);
    for (n = node; n->kind == EK_CEL_N_SELECT; n = n->select.operand) {
        size_t field = strlen(n->select.field);
        at -= field;
        memcpy(name + at, n->select.field, field);
        name[--at] = '.';
    }
    return name;
}

static struct ek_cel_attr *new_attr(struct ek_cel_planner *p, const struct ek_cel_node *node,
                                    enum ek_cel_base base)
{
    struct ek_cel_attr *attr = ek_cel_plan_alloc(p, sizeof *attr);

    if (attr) {
        attr->base = base;
        attr->position = node->position;
    }
    return attr;
}

static bool attr_plan(struct ek_cel_attr *attr, struct ek_cel_plan *ret)
{
    if (!attr)
        return false;
    ret->kind = EK_CEL_PLAN_ATTR;
    ret->position = attr->position;
    ret->attr = attr;
    return true;
}

static bool variable(struct ek_cel_planner *p, const struct ek_cel_node *node,
                     const struct ek_cel_decl_variable *v, struct ek_cel_plan *ret)
{
    struct ek_cel_attr *attr = new_attr(p, node, EK_CEL_BASE_VAR);

    if (attr) {
        attr->slot = v->slot;
        attr->paths = ek_cel_paths_of_slot(p, v->slot);
    }
    return attr_plan(attr, ret);
}

static const struct ek_cel_plan_scope *find_local(const struct ek_cel_planner *p, const char *name)
{
    const struct ek_cel_plan_scope *s = p->scope;

    name += *name == '.';
    while (s && strcmp(s->name, name) != 0)
        s = s->outer;
    return s;
}

static bool local(struct ek_cel_planner *p, const struct ek_cel_node *node,
                  const struct ek_cel_plan_scope *s, struct ek_cel_plan *ret)
{
    struct ek_cel_attr *attr = new_attr(p, node, s->accu ? EK_CEL_BASE_ACCU : EK_CEL_BASE_LOCAL);

    if (attr) {
        attr->slot = s->slot;
        attr->fold = s->fold;
        attr->grows = s->grows;
        attr->paths = s->paths;
    }
    return attr_plan(attr, ret);
}

/* An attribute of a value known now. */
static bool of_constant(struct ek_cel_planner *p, const struct ek_cel_node *node,
                        struct ek_cel_val value, struct ek_cel_plan *ret)
{
    struct ek_cel_attr *attr = new_attr(p, node, EK_CEL_BASE_VALUE);
    struct ek_cel_plan plan = {.kind = EK_CEL_PLAN_CONST, .position = node->position};

    plan.value = value;
    if (!attr || !ek_cel_plan_emit(p, &plan, &attr->op))
        return false;
    return attr_plan(attr, ret);
}

static struct ek_cel_val type_value(const struct ek_cel_type *type)
{
    return (struct ek_cel_val){.kind = EK_CEL_TYPE, .type = type};
}

/* ---- Names that no checker resolved ---------------------------------------------------------- */

struct lookup {
    struct ek_cel_planner *p;
    const struct ek_cel_node *node;
    struct ek_cel_plan *ret;
    bool failed;
};

static bool look_up(void *arg, const char *candidate)
{
    struct lookup *l = arg;
    const struct ek_cel_plan_scope *s = find_local(l->p, candidate);
    const struct ek_cel_decl_variable *v;
    const struct ek_cel_type *type;

    if (s)
        return (l->failed = !local(l->p, l->node, s, l->ret)) || true;
    if ((v = ek_cel_env_variable(l->p->env, candidate)))
        return (l->failed = !variable(l->p, l->node, v, l->ret)) || true;
    if ((type = ek_cel_env_type(l->p->env, candidate)))
        return (l->failed = !of_constant(l->p, l->node, type_value(type), l->ret)) || true;
    return false;
}

/* Finds what name stands for at run time. 1: found, 0: not, -1: planning failed. */
static int resolve_name(struct ek_cel_planner *p, const struct ek_cel_node *node, const char *name,
                        struct ek_cel_plan *ret)
{
    struct lookup l = {p, node, ret, false};

    if (!ek_cel_candidates(p->rules->container, name, look_up, &l))
        return 0;
    return l.failed ? -1 : 1;
}

static bool missing_name(struct ek_cel_planner *p, const struct ek_cel_node *node,
                         struct ek_cel_plan *ret)
{
    p->frame.account.position = node->position;
    return of_constant(p, node,
                       ek_cel_fail(&p->frame.account, "no such attribute(s): %s",
                                   node->ident + (*node->ident == '.')),
                       ret);
}

/* The reference looks up what is of type type(T) among the names of types, variables too. */
static bool refuse_type_variable(struct ek_cel_planner *p, const struct ek_cel_node *node)
{
    char message[128];

    snprintf(message, sizeof message, "reference to undefined type: %s", node->ident);
    return ek_cel_plan_fail(p, node->position, message);
}

bool ek_cel_plan_ident(struct ek_cel_planner *p, const struct ek_cel_node *node,
                       struct ek_cel_plan *ret)
{
    const struct ek_cel_plan_scope *s;

    if (p->rules->early_errors && node->kind == EK_CEL_N_IDENT && node->type &&
        node->type->kind == EK_CEL_T_TYPE && !(node->ref && node->ref->kind == EK_CEL_REF_TYPE))
        return refuse_type_variable(p, node);
    if (node->ref && node->ref->kind == EK_CEL_REF_VARIABLE)
        return variable(p, node, node->ref->variable, ret);
    if (node->ref && node->ref->kind == EK_CEL_REF_TYPE) {
        ret->kind = EK_CEL_PLAN_CONST;
        ret->value = type_value(node->ref->type);
        return true;
    }
    if ((node->ref || p->rules->checked || *node->ident != '.') && (s = find_local(p, node->ident)))
        return local(p, node, s, ret);
    int r = resolve_name(p, node, node->ident, ret);
    return r ? r > 0 : missing_name(p, node, ret);
}

/* ---- Qualifiers ------------------------------------------------------------------------------ */

static const char *missing_text(struct ek_cel_planner *p, const struct ek_cel_val *key)
{
    EK_AUTO(ek_buf) buf = {0};
    char *text, number[EK_CEL_DOUBLE_TEXT_MAX];

    ek_buf_init(&buf, (size_t)64 * 1024);
    ek_buf_puts(&buf, "no such key: ");
    if (key->kind == EK_CEL_STRING)
        ek_buf_append(&buf, key->s, key->n < 4096 ? key->n : 4096);
    else if (key->kind == EK_CEL_UINT)
        ek_buf_printf(&buf, "%llu", (unsigned long long)key->u);
    else if (key->kind == EK_CEL_DOUBLE)
        ek_buf_append(&buf, number, ek_cel_double_g(key->d, number));
    else
        ek_cel_format(key, &buf);
    text = ek_cel_plan_alloc(p, buf.len + 1);
    return text ? memcpy(text, ek_buf_str(&buf), buf.len + 1) : NULL;
}

static void append(struct ek_cel_attr *attr, struct ek_cel_plan_qual *q)
{
    if (attr->last)
        attr->last->next = q;
    else
        attr->first = q;
    attr->last = q;
}

/* Adds a qualifier behind those that attr has; key is the constant it has, if it has one. */
static bool add_qual(struct ek_cel_planner *p, struct ek_cel_attr *attr, struct ek_cel_qual qual,
                     const struct ek_cel_val *key)
{
    struct ek_cel_plan_qual *q = ek_cel_plan_alloc(p, sizeof *q);

    if (!q)
        return false;
    if (key) {
        qual.key = *key;
        qual.missing.kind = EK_CEL_E_EVAL;
        qual.missing.message = missing_text(p, key);
        if (!qual.missing.message)
            return false;
    }
    if (attr->test) {
        if (!key)
            return ek_cel_plan_fail(p, attr->position,
                                    "test only expressions must have constant qualifiers");
        qual.test = true;
    }
    q->qual = qual;
    append(attr, q);
    attr->paths = ek_cel_paths_step(p, attr->paths, key);
    return !p->code;
}

/* The attribute that a plan is, or a new one relative to its value. */
static struct ek_cel_attr *as_attr(struct ek_cel_planner *p, const struct ek_cel_node *node,
                                   struct ek_cel_plan *plan)
{
    if (plan->kind == EK_CEL_PLAN_ATTR)
        return plan->attr;
    struct ek_cel_attr *attr = new_attr(p, node, EK_CEL_BASE_VALUE);
    return attr && ek_cel_plan_emit(p, plan, &attr->op) ? attr : NULL;
}

static bool is_object(const struct ek_cel_planner *p, const struct ek_cel_type *type)
{
    return p->rules->object_types && type && type->kind == EK_CEL_T_STRUCT &&
           !strncmp(type->name, "Object", 6) && (type->name[6] == '\0' || type->name[6] == '.');
}

/* True when the name that node begins with is a fold's, and those come first. */
static bool hidden_by_local(const struct ek_cel_planner *p, const struct ek_cel_node *node)
{
    while (node->kind == EK_CEL_N_SELECT)
        node = node->select.operand;
    return p->rules->locals_first && node->kind == EK_CEL_N_IDENT && *node->ident != '.' &&
           find_local(p, node->ident);
}

bool ek_cel_plan_select(struct ek_cel_planner *p, const struct ek_cel_node *node,
                        struct ek_cel_plan *ret)
{
    struct ek_cel_val key = ek_cel_string(node->select.field, strlen(node->select.field));
    struct ek_cel_qual qual = {.kind = EK_CEL_Q_FIELD};
    struct ek_cel_plan operand;

    if (node->ref)
        return ek_cel_plan_ident(p, node, ret);
    if (!p->rules->checked && !node->select.test && !hidden_by_local(p, node)) {
        const char *name = ek_cel_plan_name(p, node);
        int r = name ? resolve_name(p, node, name, ret) : 0;
        if (r || p->code)
            return r > 0;
    }
    if (!ek_cel_plan_node(p, node->select.operand, &operand))
        return false;
    struct ek_cel_attr *attr = as_attr(p, node->select.operand, &operand);
    if (!attr)
        return false;
    if (is_object(p, node->select.operand->type))
        qual.kind = EK_CEL_Q_OBJECT;
    qual.missing.position = node->position;
    attr->position = node->position;
    attr->test |= node->select.test;
    return add_qual(p, attr, qual, &key) && attr_plan(attr, ret);
}

static bool may_be_key(const struct ek_cel_val *key)
{
    return key->kind == EK_CEL_STRING || key->kind == EK_CEL_BOOL || key->kind == EK_CEL_INT ||
           key->kind == EK_CEL_UINT || key->kind == EK_CEL_DOUBLE;
}

static bool constant_qual(struct ek_cel_planner *p, const struct ek_cel_node *node,
                          const struct ek_cel_val *key, struct ek_cel_qual *qual)
{
    char message[64];

    switch (key->kind) {
    case EK_CEL_STRING:
        qual->kind = EK_CEL_Q_FIELD; /* of an object too: only a select knows its fields */
        return true;
    case EK_CEL_BOOL:
    case EK_CEL_INT:
    case EK_CEL_UINT:
    case EK_CEL_DOUBLE:
        qual->kind = EK_CEL_Q_KEY;
        return true;
    default:
        snprintf(message, sizeof message, "invalid qualifier type: %s", ek_cel_go_type(key));
        return ek_cel_plan_fail(p, node->position, message);
    }
}

bool ek_cel_plan_index(struct ek_cel_planner *p, const struct ek_cel_node *node,
                       struct ek_cel_plan *operand, struct ek_cel_plan *index, bool optional,
                       struct ek_cel_plan *ret)
{
    const struct ek_cel_node *of = node->call.target ? node->call.target : node->call.args[0];
    struct ek_cel_attr *attr = as_attr(p, of, operand);
    struct ek_cel_qual qual = {.optional = optional};
    const struct ek_cel_val *key = NULL;

    if (!attr)
        return false;
    qual.missing.position = node->position;
    if (index->kind == EK_CEL_PLAN_CONST && (p->rules->early_errors || may_be_key(&index->value))) {
        key = &index->value;
        if (!constant_qual(p, node, key, &qual))
            return false;
    } else {
        qual.kind = EK_CEL_Q_OP;
        qual.resolve = index->kind == EK_CEL_PLAN_ATTR;
        if (qual.resolve)
            index->attr->test = false; /* what is resolved has no has() around it */
        if (!ek_cel_plan_emit(p, index, &qual.op))
            return false;
    }
    attr->position = node->position;
    return add_qual(p, attr, qual, key) && attr_plan(attr, ret);
}

bool ek_cel_plan_cond(struct ek_cel_planner *p, const struct ek_cel_node *node,
                      struct ek_cel_plan args[3], struct ek_cel_plan *ret)
{
    struct ek_cel_attr *attr = new_attr(p, node, EK_CEL_BASE_COND);

    if (!attr || !ek_cel_plan_emit(p, &args[0], &attr->op) ||
        !(attr->yes = as_attr(p, node->call.args[1], &args[1])) ||
        !(attr->no = as_attr(p, node->call.args[2], &args[2])))
        return false;
    attr->paths = ek_cel_paths_join(p, attr->yes->paths, attr->no->paths);
    return attr_plan(attr, ret);
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* Writes a list of qualifiers that goes on with the one numbered tail (1 + index); fills *ret. */
static bool emit_quals(struct ek_cel_planner *p, const struct ek_cel_plan_qual *first,
                       uint32_t tail, uint32_t *ret_first, uint16_t *ret_n)
{
    uint32_t n = 0;

    *ret_first = tail;
    if (!first)
        return true;
    for (const struct ek_cel_plan_qual *q = first; q; q = q->next) {
        struct ek_cel_qual qual = q->qual;
        qual.next = q->next ? p->quals.len + 2 : tail;
        uint32_t at = ek_cel_plan_push(p, &p->quals, &qual, sizeof qual);
        if (at == UINT32_MAX)
            return false;
        if (q == first)
            *ret_first = at + 1;
        n++;
    }
    *ret_n = n < UINT16_MAX ? (uint16_t)n : 0;
    return true;
}

static bool all_fields(const struct ek_cel_plan_qual *q)
{
    for (; q; q = q->next)
        if (q->qual.kind != EK_CEL_Q_FIELD || q->qual.optional || q->qual.test)
            return false;
    return true;
}

static uint8_t code_of(const struct ek_cel_attr *attr, bool plain)
{
    switch (attr->base) {
    case EK_CEL_BASE_VAR:
        return plain ? EK_CEL_I_VAR_PATH : EK_CEL_I_VAR_ATTR;
    case EK_CEL_BASE_LOCAL:
        return plain ? EK_CEL_I_LOCAL_PATH : EK_CEL_I_LOCAL_ATTR;
    case EK_CEL_BASE_ACCU:
        return EK_CEL_I_ACCU_ATTR;
    case EK_CEL_BASE_VALUE:
        return EK_CEL_I_VALUE_ATTR;
    default:
        return EK_CEL_I_COND;
    }
}

static uint8_t bare_code(const struct ek_cel_attr *attr)
{
    switch (attr->base) {
    case EK_CEL_BASE_VAR:
        return EK_CEL_I_VAR;
    case EK_CEL_BASE_LOCAL:
        return EK_CEL_I_LOCAL;
    case EK_CEL_BASE_ACCU:
        return EK_CEL_I_ACCU;
    default:
        return EK_CEL_I_VALUE_ATTR;
    }
}

/* Writes attr, with the qualifiers from tail on behind its own. */
static bool emit(struct ek_cel_planner *p, struct ek_cel_attr *attr, uint32_t tail, uint32_t *ret)
{
    struct ek_cel_op op = {.position = attr->position};
    uint32_t first;

    if (!emit_quals(p, attr->first, tail, &first, &op.n))
        return false;
    if (attr->base == EK_CEL_BASE_COND) {
        op.code = EK_CEL_I_COND;
        op.a = attr->op;
        if (!emit(p, attr->yes, first, &op.b) || !emit(p, attr->no, first, &op.c))
            return false;
    } else {
        op.code = first ? code_of(attr, !tail && op.n && all_fields(attr->first)) : bare_code(attr);
        op.a = attr->base == EK_CEL_BASE_VALUE ? attr->op : attr->slot;
        op.b = attr->fold;
        op.first = first;
    }
    *ret = ek_cel_plan_push(p, &p->ops, &op, sizeof op);
    return *ret != UINT32_MAX;
}

bool ek_cel_plan_emit_attr(struct ek_cel_planner *p, struct ek_cel_attr *attr, bool whole,
                           uint32_t *ret_op)
{
    if (whole || attr->test)
        ek_cel_paths_use(attr->paths);
    if (!emit(p, attr, 0, ret_op))
        return false;
    if (!attr->test)
        return true;

    struct ek_cel_op op = {.code = EK_CEL_I_HAS, .position = attr->position, .a = *ret_op};
    if (p->rules->presence_test_costs)
        op.flags |= EK_CEL_OPF_COSTS;
    if (attr->base == EK_CEL_BASE_COND)
        op.flags |= EK_CEL_OPF_COND;
    *ret_op = ek_cel_plan_push(p, &p->ops, &op, sizeof op);
    return *ret_op != UINT32_MAX;
}
