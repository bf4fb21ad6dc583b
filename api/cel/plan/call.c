/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "api/cel/plan/plan.h"
#include "api/cel/values/value.h"

/* What a call's name and arguments were resolved to. */
struct callee {
    const char *name; /* qualified; as written when the function is not known */
    const struct ek_cel_node *target;
    const struct ek_cel_decl_function *function; /* or NULL */
    const struct ek_cel_decl_overload *only;     /* the one that remained, or NULL */
    const struct ek_cel_node *node;
    struct ek_cel_plan *args;
    uint32_t n;
};

/* ---- Resolving ------------------------------------------------------------------------------- */

struct lookup {
    const struct ek_cel_env *env;
    const struct ek_cel_decl_function *found;
};

static bool look_up(void *arg, const char *candidate)
{
    struct lookup *l = arg;

    l->found = ek_cel_env_function(l->env, candidate);
    return l->found != NULL;
}

static const struct ek_cel_decl_function *find_function(const struct ek_cel_planner *p,
                                                        const char *name)
{
    struct lookup l = {.env = p->env};

    ek_cel_candidates(p->rules->container, name, look_up, &l);
    return l.found;
}

/* Without a checker: "a.b.f(x)" may be a function of the namespace a.b. */
static bool resolve_unchecked(struct ek_cel_planner *p, struct callee *c)
{
    const char *prefix = c->target ? ek_cel_plan_name(p, c->target) : NULL;

    if (p->code)
        return false;
    if (prefix) {
        size_t size = strlen(prefix) + strlen(c->name) + 2;
        char *name = ek_cel_plan_alloc(p, size);
        if (!name)
            return false;
        snprintf(name, size, "%s.%s", prefix, c->name);
        c->function = find_function(p, name);
        if (c->function)
            c->target = NULL;
    }
    if (!c->function)
        c->function = c->target ? ek_cel_env_function(p->env, c->name) : find_function(p, c->name);
    if (c->function)
        c->name = c->function->def->name;
    return true;
}

static bool resolve(struct ek_cel_planner *p, struct callee *c)
{
    const struct ek_cel_ref *ref = c->node->ref;

    c->name = c->node->call.function;
    c->target = c->node->call.target;
    if (!ref || ref->kind != EK_CEL_REF_CALL)
        return resolve_unchecked(p, c);
    if (ref->namespaced)
        c->target = NULL;
    c->function = ref->function;
    c->name = ref->function->def->name;
    if (ref->n == 1)
        c->only = ref->overloads[0];
    return true;
}

/* ---- Dispatch -------------------------------------------------------------------------------- */

static uint32_t bound_overloads(const struct ek_cel_decl_function *f)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n; i++)
        n += f->overloads[i].def->fn != NULL;
    return n;
}

static const struct ek_cel_decl_overload *first_bound(const struct ek_cel_decl_function *f)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (f->overloads[i].def->fn)
            return &f->overloads[i];
    return NULL;
}

/* The kinds of value that a parameter of that type takes; false when the kind is not all there is
 * to it. */
static bool mask_of(const struct ek_cel_type *type, uint32_t *ret)
{
    switch (type->kind) {
    case EK_CEL_T_DYN:
    case EK_CEL_T_PARAM:
    case EK_CEL_T_ERROR:
        *ret = UINT32_MAX & ~(1u << EK_CEL_ERROR);
        return true;
    case EK_CEL_T_LIST:
    case EK_CEL_T_MAP:
        *ret = 1u << ek_cel_type_values[type->kind];
        for (uint32_t i = 0; i < type->n; i++)
            if (type->params[i]->kind != EK_CEL_T_DYN && type->params[i]->kind != EK_CEL_T_PARAM)
                return false;
        return true;
    case EK_CEL_T_OPAQUE:
    case EK_CEL_T_STRUCT:
        return false;
    default:
        *ret = 1u << ek_cel_type_values[type->kind];
        return true;
    }
}

static void set_masks(struct ek_cel_call *call)
{
    const struct ek_cel_decl_overload *o = call->only;

    if (!o || o->n > sizeof call->masks / sizeof *call->masks)
        return;
    call->masked = true;
    for (uint32_t i = 0; i < o->n; i++)
        if (!mask_of(o->args[i], &call->masks[i]))
            call->masked = false;
}

static struct ek_cel_call make_call(const struct callee *c)
{
    struct ek_cel_call call = {.function = c->function, .name = c->name};
    const struct ek_cel_decl_overload *o = c->only;

    if (!c->function)
        return call;
    if (o && o->def->cost)
        call.cost = o->def->cost;
    else
        call.cost = c->function->def->cost;
    if (!o || !o->def->fn)
        o = !c->function->def->singleton && bound_overloads(c->function) == 1
                ? first_bound(c->function)
                : NULL;
    if (o) {
        call.only = o;
        call.fn = o->def->fn;
        call.nonstrict = (o->def->flags & EK_CEL_NONSTRICT) != 0;
    } else {
        if (!bound_overloads(c->function) || c->only) /* else whichever takes the arguments */
            call.fn = c->function->def->singleton;
        for (uint32_t i = 0; i < c->function->n; i++)
            call.nonstrict |= (c->function->overloads[i].def->flags & EK_CEL_NONSTRICT) != 0;
    }
    set_masks(&call);
    return call;
}

/*
 * Whether the reference evaluates both of two arguments before it looks at errors: so it does for
 * functions bound as binary. A function of several bound overloads is called with a list of
 * arguments, whose evaluation stops at the first error, and so are format and whatever has a
 * regular expression compiled with the program. It matters for cost alone.
 */
static bool is_binary(const struct callee *c, const struct ek_cel_call *call)
{
    if (call->regex || !c->function || c->n != 2)
        return false;
    if (call->only)
        return strcmp(call->only->def->id, "string_format") != 0;
    return c->function->def->singleton && !bound_overloads(c->function);
}

/* ---- Evaluating what is constant ------------------------------------------------------------- */

static bool is_conversion(const char *name)
{
    static const char *const names[] = {"bool", "bytes",  "double",    "dyn",  "duration",
                                        "int",  "string", "timestamp", "type", "uint"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

/* Returns 1, 0 when it is left to the evaluation, or -1 when planning failed. */
static int convert(struct ek_cel_planner *p, const struct callee *c, const struct ek_cel_call *call,
                   struct ek_cel_plan *ret)
{
    p->frame.account.position = c->node->position;
    struct ek_cel_val value = ek_cel_call_apply(&p->frame.account, call, &c->args[0].value, 1);

    if (value.kind == EK_CEL_ERROR && !p->rules->early_errors && !p->frame.account.ended)
        return 0;
    if (value.kind == EK_CEL_ERROR) {
        if (p->frame.account.ended)
            ek_cel_plan_no_memory(p);
        else
            ek_cel_plan_fail(p, c->node->position, value.fault->message);
        return -1;
    }
    *ret = (struct ek_cel_plan){.kind = EK_CEL_PLAN_CONST, .position = c->node->position};
    ret->value = value;
    return 1;
}

static bool compile_regex(struct ek_cel_planner *p, const struct callee *c,
                          struct ek_cel_call *call)
{
    const struct ek_cel_plan *pattern = &c->args[1];
    struct ek_err err;
    struct ek_cel_regex *regex;
    bool wanted = false;

    for (uint32_t i = 0; i < c->function->n; i++)
        wanted |= (c->function->overloads[i].def->flags & EK_CEL_REGEX_1) != 0;
    if (!wanted || pattern->kind != EK_CEL_PLAN_CONST || pattern->value.kind != EK_CEL_STRING)
        return true;
    regex = ek_cel_regex_new_within(pattern->value.s, pattern->value.n, &p->regex_budget, &err);
    if (!regex && !p->rules->early_errors)
        return true;
    if (!regex)
        return err.code == EK_E_NOMEM ? ek_cel_plan_no_memory(p)
                                      : ek_cel_plan_fail(p, c->node->position, err.message);
    if (ek_cel_plan_push(p, &p->regexes, &regex, sizeof(struct ek_cel_regex *)) == UINT32_MAX) {
        ek_cel_regex_free(regex);
        return false;
    }
    call->regex = regex;
    call->regex_text = pattern->value.s;
    return true;
}

/* ---- Sets ------------------------------------------------------------------------------------ */

static void set_add(struct ek_cel_val *slots, uint32_t mask, struct ek_cel_val value)
{
    uint32_t at = ek_cel_set_hash(&value) & mask;

    while (slots[at].kind != EK_CEL_ERROR) {
        if (ek_cel_set_same(&slots[at], &value))
            return;
        at = (at + 1) & mask;
    }
    slots[at] = value;
}

/* Adds the other kinds of number that stand for the same. The reference converts ints and uints
 * to double without a check that the value stays the same. */
static void set_add_number(struct ek_cel_val *slots, uint32_t mask, const struct ek_cel_val *v)
{
    switch (v->kind) {
    case EK_CEL_INT:
        set_add(slots, mask, ek_cel_double((double)v->i));
        if (v->i >= 0)
            set_add(slots, mask, ek_cel_uint((uint64_t)v->i));
        break;
    case EK_CEL_UINT:
        set_add(slots, mask, ek_cel_double((double)v->u));
        if (v->u <= INT64_MAX)
            set_add(slots, mask, ek_cel_int((int64_t)v->u));
        break;
    case EK_CEL_DOUBLE:
        if (v->d > -9223372036854775808.0 && v->d < 9223372036854775808.0 &&
            (double)(int64_t)v->d == v->d)
            set_add(slots, mask, ek_cel_int((int64_t)v->d));
        if (v->d >= 0 && v->d < 18446744073709551616.0 && (double)(uint64_t)v->d == v->d)
            set_add(slots, mask, ek_cel_uint((uint64_t)v->d));
        break;
    default:
        break;
    }
}

static bool all_hashable(const struct ek_cel_val *list)
{
    for (uint32_t i = 0; i < list->n; i++)
        switch (list->items->v[i].kind) {
        case EK_CEL_BOOL:
        case EK_CEL_INT:
        case EK_CEL_UINT:
        case EK_CEL_DOUBLE:
        case EK_CEL_STRING:
            break;
        default:
            return false;
        }
    return true;
}

/* `x in [constants]`. Returns 1 when it became a look-up in a set, 0 when it stays a call, -1 when
 * planning failed. */
static int plan_set(struct ek_cel_planner *p, const struct callee *c, struct ek_cel_plan *ret)
{
    struct ek_cel_val *slots, list;
    struct ek_cel_set set = {.mask = 3};
    struct ek_cel_op op = {.code = EK_CEL_I_IN_SET, .position = c->node->position};

    if (!c->only || strcmp(c->only->def->id, "in_list") != 0 ||
        c->args[1].kind != EK_CEL_PLAN_CONST || c->args[1].value.kind != EK_CEL_LIST)
        return 0;
    list = c->args[1].value;
    if (!list.n) {
        *ret = (struct ek_cel_plan){.kind = EK_CEL_PLAN_CONST, .position = c->node->position};
        ret->value = ek_cel_bool(false);
        return 1;
    }
    if (!all_hashable(&list))
        return 0;
    while (set.mask < 6 * list.n)
        set.mask = set.mask * 2 + 1;
    slots = ek_cel_plan_alloc(p, (set.mask + 1) * sizeof *slots);
    if (!slots)
        return -1;
    for (uint32_t i = 0; i < list.n; i++) {
        set_add(slots, set.mask, list.items->v[i]);
        set_add_number(slots, set.mask, &list.items->v[i]);
    }
    set.slots = slots;
    op.b = ek_cel_plan_push(p, &p->sets, &set, sizeof set);
    if (op.b == UINT32_MAX || !ek_cel_plan_emit(p, &c->args[0], &op.a) ||
        !ek_cel_plan_op(p, &op, ret))
        return -1;
    return 1;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static bool emit_many(struct ek_cel_planner *p, const struct callee *c, struct ek_cel_op *op,
                      struct ek_cel_plan *ret)
{
    uint32_t *kids = ek_cel_plan_alloc(p, c->n * sizeof *kids);

    if (!kids)
        return false;
    if (c->n > UINT16_MAX)
        return ek_cel_plan_fail(p, c->node->position, "call of more than 65535 arguments");
    for (uint32_t i = 0; i < c->n; i++)
        if (!ek_cel_plan_emit(p, &c->args[i], &kids[i]))
            return false;
    op->n = (uint16_t)c->n;
    op->a = ek_cel_plan_push_all(p, &p->kids, kids, c->n, sizeof *kids);
    return op->a != UINT32_MAX && ek_cel_plan_op(p, op, ret);
}

/* accu + [item], as map and filter make it, needs no list of one item: there the accumulator grows
 * (cel-go interpreter/interpretable.go: folder.ResolveName). A sum with a name that cel.bind or
 * optMap gives is a sum. */
static bool is_append(const struct ek_cel_planner *p, const struct callee *c,
                      const struct ek_cel_call *call)
{
    const struct ek_cel_plan *list = &c->args[1];

    if (strcmp(c->name, EK_CEL_OP_ADD) != 0 || call->cost || list->kind != EK_CEL_PLAN_OP ||
        c->args[0].kind != EK_CEL_PLAN_ATTR || c->args[0].attr->base != EK_CEL_BASE_ACCU ||
        !c->args[0].attr->grows)
        return false;
    const struct ek_cel_op *op = &((const struct ek_cel_op *)p->ops.data)[list->op];
    return op->code == EK_CEL_I_LIST && op->n == 1 && !op->b;
}

static bool emit_append(struct ek_cel_planner *p, const struct callee *c, struct ek_cel_op *op,
                        struct ek_cel_plan *ret)
{
    const struct ek_cel_op *list = &((const struct ek_cel_op *)p->ops.data)[c->args[1].op];

    op->code = EK_CEL_I_APPEND;
    op->b = ((const uint32_t *)p->kids.data)[list->a];
    return ek_cel_plan_emit(p, &c->args[0], &op->a) && ek_cel_plan_op(p, op, ret);
}

static bool emit_two(struct ek_cel_planner *p, const struct callee *c, struct ek_cel_op *op,
                     struct ek_cel_plan *ret)
{
    return ek_cel_plan_emit(p, &c->args[0], &op->a) && ek_cel_plan_emit(p, &c->args[1], &op->b) &&
           ek_cel_plan_op(p, op, ret);
}

/* Operators of two arguments that have an op of their own. */
static uint8_t binary_code(const char *name)
{
    static const struct {
        const char *name;
        uint8_t code;
    } codes[] = {
        {EK_CEL_OP_LT, EK_CEL_I_LT},   {EK_CEL_OP_LE, EK_CEL_I_LE},   {EK_CEL_OP_GT, EK_CEL_I_GT},
        {EK_CEL_OP_GE, EK_CEL_I_GE},   {EK_CEL_OP_ADD, EK_CEL_I_ADD}, {EK_CEL_OP_SUB, EK_CEL_I_SUB},
        {EK_CEL_OP_MUL, EK_CEL_I_MUL}, {EK_CEL_OP_EQ, EK_CEL_I_EQ},   {EK_CEL_OP_NE, EK_CEL_I_NE},
    };

    if (name[0] == '_')
        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
            if (!strcmp(codes[i].name, name))
                return codes[i].code;
    return EK_CEL_I_CALL2;
}

static bool emit_call(struct ek_cel_planner *p, struct callee *c, struct ek_cel_plan *ret)
{
    struct ek_cel_op op = {.position = c->node->position};
    struct ek_cel_call call = make_call(c);

    if (c->function && c->n == 1 && is_conversion(c->name) &&
        c->args[0].kind == EK_CEL_PLAN_CONST) {
        int converted = convert(p, c, &call, ret);
        if (converted)
            return converted > 0;
    }
    if (c->function && c->n > 1 && !compile_regex(p, c, &call))
        return false;
    op.c = ek_cel_plan_push(p, &p->calls, &call, sizeof call);
    if (op.c == UINT32_MAX)
        return false;
    if (c->function && c->n == 1) {
        op.code = EK_CEL_I_CALL1;
        if (!strcmp(c->name, EK_CEL_OP_NOT))
            op.code = EK_CEL_I_NOT;
        else if (!strcmp(c->name, EK_CEL_OP_NOT_STRICTLY_FALSE))
            op.code = EK_CEL_I_NOT_FALSE;
        return ek_cel_plan_emit(p, &c->args[0], &op.a) && ek_cel_plan_op(p, &op, ret);
    }
    if (is_binary(c, &call)) {
        if (is_append(p, c, &call))
            return emit_append(p, c, &op, ret);
        op.code = binary_code(c->name);
        return emit_two(p, c, &op, ret);
    }
    if (!c->function && !c->n)
        return ek_cel_plan_fail(p, c->node->position, "no such overload: a function of that name");
    op.code = c->function && c->n <= EK_CEL_ARGS_MAX ? EK_CEL_I_CALLN : EK_CEL_I_UNKNOWN;
    return emit_many(p, c, &op, ret);
}

/* optional.or and orValue evaluate their argument only when they need it, at no cost of their own
 * (cel-go, cel/library.go, decorateOptionalOr). */
static uint8_t optional_code(const struct callee *c)
{
    if (c->n != 2 || !c->function)
        return 0;
    if (!strcmp(c->name, "or") && (!c->only || !strcmp(c->only->def->id, "optional_or_optional")))
        return EK_CEL_I_OPT_OR;
    if (!strcmp(c->name, "orValue") &&
        (!c->only || !strcmp(c->only->def->id, "optional_orValue_value")))
        return EK_CEL_I_OPT_OR_VALUE;
    return 0;
}

/* Calls that are no calls to the evaluator. Returns -1 when it is none of them. */
static int plan_special(struct ek_cel_planner *p, struct callee *c, struct ek_cel_plan *ret)
{
    struct ek_cel_op op = {.position = c->node->position};

    if (c->name[0] == '_' && c->n >= 2) {
        if (!strcmp(c->name, EK_CEL_OP_AND) || !strcmp(c->name, EK_CEL_OP_OR)) {
            op.code = c->name[1] == '&' ? EK_CEL_I_AND : EK_CEL_I_OR;
            return emit_many(p, c, &op, ret);
        }
        if (!strcmp(c->name, EK_CEL_OP_CONDITIONAL) && c->n == 3)
            return ek_cel_plan_cond(p, c->node, c->args, ret);
        if (!strcmp(c->name, EK_CEL_OP_INDEX) && c->n == 2)
            return ek_cel_plan_index(p, c->node, &c->args[0], &c->args[1], false, ret);
        if ((!strcmp(c->name, EK_CEL_OP_OPT_INDEX) || !strcmp(c->name, EK_CEL_OP_OPT_SELECT)) &&
            c->n == 2)
            return ek_cel_plan_index(p, c->node, &c->args[0], &c->args[1], true, ret);
    }
    op.code = optional_code(c);
    if (op.code)
        return emit_two(p, c, &op, ret);
    int r = plan_set(p, c, ret);
    return r ? r > 0 : -1;
}

bool ek_cel_plan_call(struct ek_cel_planner *p, const struct ek_cel_node *node,
                      struct ek_cel_plan *ret)
{
    struct callee c = {.node = node};

    if (!resolve(p, &c))
        return false;
    c.n = node->call.n + (c.target != NULL);
    c.args = ek_cel_plan_alloc(p, c.n * sizeof *c.args);
    if (!c.args || (c.target && !ek_cel_plan_node(p, c.target, &c.args[0])))
        return false;
    for (uint32_t i = 0; i < node->call.n; i++)
        if (!ek_cel_plan_node(p, node->call.args[i], &c.args[i + (c.target != NULL)]))
            return false;
    int r = plan_special(p, &c, ret);
    if (r >= 0)
        return r > 0;
    return emit_call(p, &c, ret);
}
