/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/syntax/macro.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/cel/syntax/parser.h"

static struct ek_cel_node *made(struct ek_cel_expander *x, enum ek_cel_node_kind kind)
{
    return ek_cel_node_new(x->parser, kind, x->position);
}

static bool all_there(struct ek_cel_node *const *nodes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!nodes[i])
            return false;
    return true;
}

struct ek_cel_node *ek_cel_make_literal(struct ek_cel_expander *x, struct ek_cel_val value)
{
    struct ek_cel_node *node = made(x, EK_CEL_N_LITERAL);

    if (node)
        node->literal = value;
    return node;
}

struct ek_cel_node *ek_cel_make_ident(struct ek_cel_expander *x, const char *name)
{
    struct ek_cel_node *node = name ? made(x, EK_CEL_N_IDENT) : NULL;

    if (node)
        node->ident = name;
    return node;
}

struct ek_cel_node *ek_cel_make_name(struct ek_cel_expander *x, const char *fmt, ...)
{
    const size_t size = 64;
    char *name = ek_cel_take(x->parser, size);
    va_list args;

    if (!name)
        return NULL;
    va_start(args, fmt);
    vsnprintf(name, size, fmt, args);
    va_end(args);
    return ek_cel_make_ident(x, name);
}

struct ek_cel_node *ek_cel_make_accu(struct ek_cel_expander *x)
{
    return ek_cel_make_ident(x, EK_CEL_ACCU);
}

/* Copies nodes to the arena and makes node deeper than all of them. */
static struct ek_cel_node **adopt(struct ek_cel_expander *x, struct ek_cel_node *node, uint32_t n,
                                  struct ek_cel_node *const *nodes)
{
    struct ek_cel_node **copy = ek_cel_take(x->parser, (n + !n) * sizeof(struct ek_cel_node *));

    for (uint32_t i = 0; copy && i < n; i++) {
        copy[i] = nodes[i];
        ek_cel_deepen(node, nodes[i]);
    }
    return copy;
}

struct ek_cel_node *ek_cel_make_call(struct ek_cel_expander *x, const char *function, uint32_t n,
                                     struct ek_cel_node *const *args)
{
    struct ek_cel_node *node = all_there(args, n) ? made(x, EK_CEL_N_CALL) : NULL;

    if (!node)
        return NULL;
    node->call.function = function;
    node->call.n = n;
    node->call.args = adopt(x, node, n, args);
    return node->call.args ? node : NULL;
}

struct ek_cel_node *ek_cel_make_member(struct ek_cel_expander *x, const char *function,
                                       struct ek_cel_node *target, uint32_t n,
                                       struct ek_cel_node *const *args)
{
    struct ek_cel_node *node = target ? ek_cel_make_call(x, function, n, args) : NULL;

    if (!node)
        return NULL;
    node->call.target = target;
    ek_cel_deepen(node, target);
    return node;
}

struct ek_cel_node *ek_cel_make_list(struct ek_cel_expander *x, uint32_t n,
                                     struct ek_cel_node *const *items)
{
    struct ek_cel_node *node = all_there(items, n) ? made(x, EK_CEL_N_LIST) : NULL;

    if (!node)
        return NULL;
    node->list.n = n;
    node->list.items = adopt(x, node, n, items);
    return node->list.items ? node : NULL;
}

struct ek_cel_node *ek_cel_make_map(struct ek_cel_expander *x, uint32_t n,
                                    const struct ek_cel_map_entry *entries)
{
    for (uint32_t i = 0; i < n; i++)
        if (!entries[i].key || !entries[i].value)
            return NULL;
    struct ek_cel_node *node = made(x, EK_CEL_N_MAP);
    struct ek_cel_map_entry *copy = ek_cel_take(x->parser, (n + !n) * sizeof *copy);
    if (!node || !copy)
        return NULL;
    node->map.entries = copy;
    node->map.n = n;
    for (uint32_t i = 0; i < n; i++) {
        copy[i] = entries[i];
        ek_cel_deepen(node, entries[i].key);
        ek_cel_deepen(node, entries[i].value);
    }
    return node;
}

static struct ek_cel_node *make_test(struct ek_cel_expander *x, struct ek_cel_node *operand,
                                     const char *field)
{
    struct ek_cel_node *node = operand && field ? made(x, EK_CEL_N_SELECT) : NULL;

    if (!node)
        return NULL;
    node->select.operand = operand;
    node->select.field = field;
    node->select.test = true;
    ek_cel_deepen(node, operand);
    return node;
}

struct ek_cel_node *ek_cel_make_fold(struct ek_cel_expander *x, struct ek_cel_node *range,
                                     const char *var, const char *var2, const char *accu,
                                     struct ek_cel_node *init, struct ek_cel_node *condition,
                                     struct ek_cel_node *step, struct ek_cel_node *result)
{
    struct ek_cel_node *const parts[] = {range, init, condition, step, result};
    const uint32_t n = sizeof parts / sizeof(struct ek_cel_node *);
    struct ek_cel_node *node = var && all_there(parts, n) ? made(x, EK_CEL_N_FOLD) : NULL;

    if (!node)
        return NULL;
    node->fold.var = var;
    node->fold.var2 = var2;
    node->fold.accu = accu;
    node->fold.range = range;
    node->fold.init = init;
    node->fold.condition = condition;
    node->fold.step = step;
    node->fold.result = result;
    for (uint32_t i = 0; i < n; i++)
        ek_cel_deepen(node, parts[i]);
    return node;
}

const char *ek_cel_simple_name(const struct ek_cel_node *node)
{
    return node->kind == EK_CEL_N_IDENT ? node->ident : NULL;
}

struct ek_cel_node *ek_cel_macro_error(struct ek_cel_expander *x, const struct ek_cel_node *node,
                                       const char *message)
{
    x->reported = true;
    ek_cel_complain(x->parser, node ? node->position : x->position, message);
    return NULL;
}

/* ---- The macros of the language -------------------------------------------------------------- */

static struct ek_cel_node *boolean(struct ek_cel_expander *x, bool b)
{
    return ek_cel_make_literal(x, ek_cel_bool(b));
}

static struct ek_cel_node *call1(struct ek_cel_expander *x, const char *function,
                                 struct ek_cel_node *a)
{
    return ek_cel_make_call(x, function, 1, &a);
}

static struct ek_cel_node *call2(struct ek_cel_expander *x, const char *function,
                                 struct ek_cel_node *a, struct ek_cel_node *b)
{
    return ek_cel_make_call(x, function, 2, (struct ek_cel_node *[]){a, b});
}

/* condition ? yes : accumulator */
static struct ek_cel_node *step_if(struct ek_cel_expander *x, struct ek_cel_node *condition,
                                   struct ek_cel_node *yes)
{
    struct ek_cel_node *args[] = {condition, yes, ek_cel_make_accu(x)};

    return ek_cel_make_call(x, EK_CEL_OP_CONDITIONAL, 3, args);
}

/* The variable that a macro's first argument names, or NULL, reported with refusal. */
static const char *variable(struct ek_cel_expander *x, const struct ek_cel_node *arg,
                            const char *refusal)
{
    const char *name = ek_cel_simple_name(arg);

    if (!name)
        ek_cel_macro_error(x, arg, refusal);
    else if (strcmp(name, EK_CEL_ACCU) == 0 || strcmp(name, "__result__") == 0)
        ek_cel_macro_error(x, arg, "iteration variable overwrites accumulator variable");
    return x->reported ? NULL : name;
}

static const char quantifier_refusal[] = "argument must be a simple name";
static const char map_refusal[] = "argument is not an identifier";

static struct ek_cel_node *fold(struct ek_cel_expander *x, struct ek_cel_node *range,
                                const char *var, struct ek_cel_node *init,
                                struct ek_cel_node *condition, struct ek_cel_node *step,
                                struct ek_cel_node *result)
{
    return ek_cel_make_fold(x, range, var, NULL, EK_CEL_ACCU, init, condition, step, result);
}

/* has(a.b): the selection is tested instead of made. */
static struct ek_cel_node *expand_has(struct ek_cel_expander *x, struct ek_cel_node *target,
                                      struct ek_cel_node **args, uint32_t n)
{
    (void)target, (void)n;
    if (args[0]->kind != EK_CEL_N_SELECT)
        return ek_cel_macro_error(x, args[0], "invalid argument to has() macro");
    return make_test(x, args[0]->select.operand, args[0]->select.field);
}

/* all: accumulates with &&, for as long as that is not false. */
static struct ek_cel_node *expand_all(struct ek_cel_expander *x, struct ek_cel_node *target,
                                      struct ek_cel_node **args, uint32_t n)
{
    (void)n;
    const char *var = variable(x, args[0], quantifier_refusal);
    if (!var)
        return NULL;
    return fold(x, target, var, boolean(x, true),
                call1(x, EK_CEL_OP_NOT_STRICTLY_FALSE, ek_cel_make_accu(x)),
                call2(x, EK_CEL_OP_AND, ek_cel_make_accu(x), args[1]), ek_cel_make_accu(x));
}

/* exists: accumulates with ||, for as long as that is not true. */
static struct ek_cel_node *expand_exists(struct ek_cel_expander *x, struct ek_cel_node *target,
                                         struct ek_cel_node **args, uint32_t n)
{
    (void)n;
    const char *var = variable(x, args[0], quantifier_refusal);
    if (!var)
        return NULL;
    struct ek_cel_node *not_yet = call1(x, EK_CEL_OP_NOT, ek_cel_make_accu(x));
    return fold(x, target, var, boolean(x, false), call1(x, EK_CEL_OP_NOT_STRICTLY_FALSE, not_yet),
                call2(x, EK_CEL_OP_OR, ek_cel_make_accu(x), args[1]), ek_cel_make_accu(x));
}

/* exists_one: counts. */
static struct ek_cel_node *expand_exists_one(struct ek_cel_expander *x, struct ek_cel_node *target,
                                             struct ek_cel_node **args, uint32_t n)
{
    (void)n;
    const char *var = variable(x, args[0], quantifier_refusal);
    if (!var)
        return NULL;
    struct ek_cel_node *one = ek_cel_make_literal(x, ek_cel_int(1));
    struct ek_cel_node *more = call2(x, EK_CEL_OP_ADD, ek_cel_make_accu(x), one);
    return fold(x, target, var, ek_cel_make_literal(x, ek_cel_int(0)), boolean(x, true),
                step_if(x, args[1], more), call2(x, EK_CEL_OP_EQ, ek_cel_make_accu(x), one));
}

/* Appends item to the list that is accumulated, where filter (NULL: always) is true. */
static struct ek_cel_node *gather(struct ek_cel_expander *x, struct ek_cel_node *target,
                                  const char *var, struct ek_cel_node *filter,
                                  struct ek_cel_node *item)
{
    struct ek_cel_node *step =
        call2(x, EK_CEL_OP_ADD, ek_cel_make_accu(x), ek_cel_make_list(x, 1, &item));

    if (filter)
        step = step_if(x, filter, step);
    return fold(x, target, var, ek_cel_make_list(x, 0, NULL), boolean(x, true), step,
                ek_cel_make_accu(x));
}

/* map(x, item) and map(x, filter, item) */
static struct ek_cel_node *expand_map(struct ek_cel_expander *x, struct ek_cel_node *target,
                                      struct ek_cel_node **args, uint32_t n)
{
    const char *var = variable(x, args[0], map_refusal);

    return var ? gather(x, target, var, n == 3 ? args[1] : NULL, args[n - 1]) : NULL;
}

static struct ek_cel_node *expand_filter(struct ek_cel_expander *x, struct ek_cel_node *target,
                                         struct ek_cel_node **args, uint32_t n)
{
    const char *var = variable(x, args[0], map_refusal);

    (void)n;
    return var ? gather(x, target, var, args[1], args[0]) : NULL;
}

const struct ek_cel_macro ek_cel_standard_macros[] = {
    {.name = "has", .args = 1, .expand = expand_has},
    {.name = "all", .member = true, .args = 2, .expand = expand_all},
    {.name = "exists", .member = true, .args = 2, .expand = expand_exists},
    {.name = "exists_one", .member = true, .args = 2, .expand = expand_exists_one},
    {.name = "map", .member = true, .args = 2, .expand = expand_map},
    {.name = "map", .member = true, .args = 3, .expand = expand_map},
    {.name = "filter", .member = true, .args = 2, .expand = expand_filter},
    {.name = NULL},
};
