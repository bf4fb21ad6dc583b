/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: which function, and which of its overloads may be meant. */
#include <string.h>

#include "api/cel/check/check-internal.h"

/* A call being resolved. */
struct resolution {
    struct ek_cel_check *c;
    struct ek_cel_node *node;
    const struct ek_cel_decl_function *function;
    struct ek_cel_node *target; /* NULL when it is called as a function */
    const struct ek_cel_type *result;
    uint32_t n_args; /* with the target */
    uint32_t n;      /* candidates so far */
    const struct ek_cel_decl_overload **candidates;
};

static const struct ek_cel_type *arg_type(const struct resolution *r, uint32_t i)
{
    if (r->target && i == 0)
        return r->target->type;
    return r->node->call.args[r->target ? i - 1 : i]->type;
}

static bool numeric(const struct ek_cel_type *type)
{
    return type->kind == EK_CEL_T_INT || type->kind == EK_CEL_T_UINT ||
           type->kind == EK_CEL_T_DOUBLE;
}

/* Comparisons of numbers of two kinds, which came to Kubernetes with 1.28. */
static bool mixed_order(const struct ek_cel_decl_function *function,
                        const struct ek_cel_decl_overload *o)
{
    const char *name = function->def->name;

    return name[0] == '_' && (name[1] == '<' || name[1] == '>') && o->n == 2 &&
           numeric(o->args[0]) && numeric(o->args[1]) && o->args[0]->kind != o->args[1]->kind;
}

static bool in_question(const struct resolution *r, const struct ek_cel_decl_overload *o)
{
    if (!r->c->mixed_order && mixed_order(r->function, o))
        return false;
    return ((o->def->flags & EK_CEL_MEMBER) != 0) == (r->target != NULL);
}

/* True when no binding can make the two agree; spares making the overload's types. */
static bool never_agree(const struct ek_cel_check *c, const struct ek_cel_type *arg,
                        const struct ek_cel_type *param)
{
    arg = ek_cel_bound(c, arg);
    switch (arg->kind) {
    case EK_CEL_T_DYN:
    case EK_CEL_T_ERROR:
    case EK_CEL_T_NULL:
    case EK_CEL_T_PARAM:
        return false;
    default:
        return param->kind != arg->kind && param->kind != EK_CEL_T_PARAM &&
               param->kind != EK_CEL_T_DYN && param->kind != EK_CEL_T_NULL;
    }
}

/* Tries one overload; true when it may be meant, with its result type in *ret. */
static bool try_overload(struct resolution *r, const struct ek_cel_decl_overload *o,
                         const struct ek_cel_type **ret)
{
    uint32_t first = o->variables ? ek_cel_vars_new(r->c, o->variables) : 0;

    if (o->n != r->n_args)
        return false;
    for (uint32_t i = 0; i < o->n; i++)
        if (never_agree(r->c, arg_type(r, i), o->args[i]))
            return false;
    for (uint32_t i = 0; i < o->n; i++) {
        const struct ek_cel_type *param = o->args[i];
        if (o->variables)
            param = ek_cel_instantiate(r->c, param, first);
        if (!ek_cel_assignable_try(r->c, arg_type(r, i), param)) {
            ek_cel_assign_undo(r->c);
            return false;
        }
    }
    ek_cel_assign_commit(r->c);
    *ret = o->result;
    if (o->variables)
        *ret = ek_cel_substitute(r->c, ek_cel_instantiate(r->c, o->result, first), false);
    return true;
}

static void report_no_overload(const struct resolution *r)
{
    struct ek_cel_check *c = r->c;
    struct ek_buf text;

    ek_buf_init(&text, EK_BUF_SMALL_MAX + 1);
    for (uint32_t i = 0; i < r->n_args; i++) {
        bool target = r->target && i == 0;
        if (i == (r->target ? 1U : 0U))
            ek_buf_puts(&text, "(");
        else if (!target)
            ek_buf_puts(&text, ", ");
        ek_cel_type_message(ek_cel_substitute(c, arg_type(r, i), true), &text);
        if (target)
            ek_buf_puts(&text, ".");
    }
    if (r->n_args == (r->target ? 1U : 0U))
        ek_buf_puts(&text, "(");
    ek_buf_puts(&text, ")");
    ek_cel_check_report(c, r->node->position, "found no matching overload for '%s' applied to '%s'",
                        r->function->def->name, ek_buf_str(&text));
    ek_buf_done(&text);
}

/* && and ||, whose operands are reported one by one. */
static const struct ek_cel_type *resolve_logic(struct resolution *r)
{
    const struct ek_cel_type *result = &ek_cel_type_bool;

    for (uint32_t i = 0; i < r->n_args; i++) {
        if (ek_cel_assignable(r->c, arg_type(r, i), &ek_cel_type_bool))
            continue;
        ek_cel_check_report(r->c, r->node->call.args[i]->position,
                            "expected type 'bool' but found '%s'",
                            ek_cel_type_text(r->c, arg_type(r, i)));
        result = &ek_cel_type_error;
    }
    r->candidates[r->n++] = &r->function->overloads[0];
    return result;
}

static const struct ek_cel_type *resolve(struct resolution *r)
{
    for (uint32_t i = 0; i < r->function->n; i++) {
        const struct ek_cel_decl_overload *o = &r->function->overloads[i];
        const struct ek_cel_type *result;

        if (!in_question(r, o) || !try_overload(r, o, &result))
            continue;
        r->candidates[r->n++] = o;
        if (result->kind == EK_CEL_T_NONE)
            continue;
        if (!r->result)
            r->result = result;
        else if (!ek_cel_is_dyn(r->result) && !ek_cel_type_equal(result, r->result))
            r->result = &ek_cel_type_dyn;
    }
    if (r->result)
        return r->result;
    report_no_overload(r);
    return &ek_cel_type_error;
}

#define CANDIDATES_MAX 64

/* Resolves node as a call of function; target is NULL when it is called as a function. */
static void resolve_call(struct ek_cel_check *c, struct ek_cel_node *node,
                         const struct ek_cel_decl_function *function, struct ek_cel_node *target,
                         bool namespaced)
{
    const struct ek_cel_decl_overload *few[CANDIDATES_MAX];
    struct resolution r = {.c = c,
                           .node = node,
                           .function = function,
                           .target = target,
                           .n_args = node->call.n + (target ? 1U : 0U),
                           .candidates = few};
    const char *name = function->def->name;

    if (function->n > CANDIDATES_MAX)
        r.candidates = ek_cel_check_take(c, function->n * sizeof(void *));
    if (!r.candidates)
        return;
    if (!strcmp(name, EK_CEL_OP_AND) || !strcmp(name, EK_CEL_OP_OR))
        node->type = resolve_logic(&r);
    else
        node->type = resolve(&r);
    struct ek_cel_ref *ref = ek_cel_check_refer(c, node, EK_CEL_REF_CALL);
    const struct ek_cel_decl_overload **own = ek_cel_check_take(c, (r.n + 1) * sizeof(void *));
    if (!ref || !own)
        return;
    memcpy(own, r.candidates, r.n * sizeof(void *));
    ref->function = function;
    ref->overloads = own;
    ref->n = r.n;
    ref->namespaced = namespaced;
}

static void report_undeclared(struct ek_cel_check *c, struct ek_cel_node *node)
{
    ek_cel_check_report(c, node->position, "undeclared reference to '%s' (in container '%s')",
                        node->call.function, c->rules->container);
    node->type = &ek_cel_type_error;
}

/* a.?b: the type of a field, in an optional. */
static void check_opt_select(struct ek_cel_check *c, struct ek_cel_node *node)
{
    const struct ek_cel_decl_function *function = ek_cel_env_function(c->env, EK_CEL_OP_OPT_SELECT);
    struct ek_cel_node *operand = node->call.n == 2 ? node->call.args[0] : NULL;
    struct ek_cel_node *field = node->call.n == 2 ? node->call.args[1] : NULL;

    if (!operand || field->kind != EK_CEL_N_LITERAL || field->literal.kind != EK_CEL_STRING) {
        ek_cel_check_report(c, node->position, "unsupported optional field selection");
        node->type = &ek_cel_type_error;
        return;
    }
    const char *name = ek_cel_check_text(c, field->literal.s, field->literal.n);
    if (!name)
        return;
    ek_cel_check_node(c, field);
    node->type = ek_cel_substitute(c, ek_cel_check_select(c, node, operand, name, true), false);
    struct ek_cel_ref *ref = ek_cel_check_refer(c, node, EK_CEL_REF_CALL);
    const struct ek_cel_decl_overload **own =
        function ? ek_cel_check_take(c, sizeof(void *)) : NULL;
    if (!ref || !own)
        return;
    own[0] = &function->overloads[0];
    ref->function = function;
    ref->overloads = own;
    ref->n = function->n ? 1 : 0;
}

void ek_cel_check_call(struct ek_cel_check *c, struct ek_cel_node *node)
{
    const struct ek_cel_decl_function *function;

    if (!strcmp(node->call.function, EK_CEL_OP_OPT_SELECT)) {
        check_opt_select(c, node);
        return;
    }
    for (uint32_t i = 0; i < node->call.n; i++)
        ek_cel_check_node(c, node->call.args[i]);
    if (node->call.target) {
        /* a.b.f(): a function of that whole name is meant before a method f. */
        const char *name = ek_cel_check_chain(c, node->call.target, node->call.function, true);
        function = name ? ek_cel_check_find_function(c, name) : NULL;
        if (function) {
            resolve_call(c, node, function, NULL, true);
            return;
        }
        ek_cel_check_node(c, node->call.target);
    }
    function = ek_cel_check_find_function(c, node->call.function);
    if (function)
        resolve_call(c, node, function, node->call.target, false);
    else
        report_undeclared(c, node);
}
