/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Macros with two variables (cel-go ext.TwoVarComprehensions): index and element of a list, key
 * and value of a map. Each becomes a fold; maps grow by cel.@mapInsert.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/cel/syntax/macro.h"

#define MAP_INSERT "cel.@mapInsert"

/* ---- cel.@mapInsert ---- */

#define KEY_SHOWN 1024 /* octets of a key that an error repeats */

static struct ek_cel_val exists_already(struct ek_cel_eval *eval, const struct ek_cel_val *key)
{
    static const char format[] = "insert failed: key %.*s already exists";
    char number[32];

    switch (key->kind) {
    case EK_CEL_STRING:
        return ek_cel_fail(eval, format, key->n > KEY_SHOWN ? KEY_SHOWN : (int)key->n, key->s);
    case EK_CEL_INT:
        snprintf(number, sizeof(number), "%" PRId64, key->i);
        break;
    case EK_CEL_UINT:
        snprintf(number, sizeof(number), "%" PRIu64, key->u);
        break;
    case EK_CEL_BOOL:
        snprintf(number, sizeof(number), "%s", key->b ? "true" : "false");
        break;
    default:
        return ek_cel_fail(eval, "insert failed: key of type %s already exists",
                           ek_cel_type_name(key));
    }
    return ek_cel_fail(eval, format, (int)sizeof(number), number);
}

static struct ek_cel_val put(struct ek_cel_eval *eval, struct ek_cel_val *map,
                             const struct ek_cel_val *key, const struct ek_cel_val *value)
{
    int added = ek_cel_map_put(eval, map, key, value, false);

    if (added < 0)
        return ek_cel_no_memory(eval);
    return added ? *map : exists_already(eval, key);
}

static struct ek_cel_val insert_entry(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                      uint32_t n)
{
    struct ek_cel_val map = args[0];

    (void)n;
    return put(eval, &map, &args[1], &args[2]);
}

static struct ek_cel_val insert_map(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                    uint32_t n)
{
    struct ek_cel_val map = args[0];
    struct ek_cel_iter iter;

    (void)n;
    ek_cel_iter_init(&iter, &args[1]);
    while (ek_cel_iter_next(&iter)) {
        struct ek_cel_val grown = put(eval, &map, &iter.key, &iter.value);
        if (grown.kind == EK_CEL_ERROR)
            return grown;
    }
    return map;
}

/* ---- Macros ---- */

static const char *variable(struct ek_cel_expander *x, const struct ek_cel_node *arg)
{
    const char *name = ek_cel_simple_name(arg);

    if (!name)
        ek_cel_macro_error(x, arg, "argument must be a simple name");
    return name;
}

static bool is_accumulator(const char *name)
{
    return !strcmp(name, EK_CEL_ACCU) || !strcmp(name, "__result__");
}

/* The two variables' names; false when they were refused. */
static bool variables(struct ek_cel_expander *x, struct ek_cel_node **args, const char **ret_a,
                      const char **ret_b)
{
    char message[160];

    *ret_a = variable(x, args[0]);
    *ret_b = *ret_a ? variable(x, args[1]) : NULL;
    if (!*ret_b)
        return false;
    if (!strcmp(*ret_a, *ret_b)) {
        snprintf(message, sizeof(message), "duplicate variable name: %s", *ret_a);
        ek_cel_macro_error(x, args[1], message);
        return false;
    }
    for (int i = 0; i < 2; i++) {
        if (is_accumulator(i ? *ret_b : *ret_a)) {
            ek_cel_macro_error(x, args[i], "iteration variable overwrites accumulator variable");
            return false;
        }
    }
    return true;
}

static struct ek_cel_node *call1(struct ek_cel_expander *x, const char *name, struct ek_cel_node *a)
{
    return ek_cel_make_call(x, name, 1, &a);
}

static struct ek_cel_node *call2(struct ek_cel_expander *x, const char *name, struct ek_cel_node *a,
                                 struct ek_cel_node *b)
{
    struct ek_cel_node *args[] = {a, b};
    return ek_cel_make_call(x, name, 2, args);
}

static struct ek_cel_node *call3(struct ek_cel_expander *x, const char *name, struct ek_cel_node *a,
                                 struct ek_cel_node *b, struct ek_cel_node *c)
{
    struct ek_cel_node *args[] = {a, b, c};
    return ek_cel_make_call(x, name, 3, args);
}

static struct ek_cel_node *boolean(struct ek_cel_expander *x, bool b)
{
    return ek_cel_make_literal(x, ek_cel_bool(b));
}

static struct ek_cel_node *expand_all(struct ek_cel_expander *x, struct ek_cel_node *target,
                                      struct ek_cel_node **args, uint32_t n)
{
    const char *a, *b;

    (void)n;
    if (!variables(x, args, &a, &b))
        return NULL;
    return ek_cel_make_fold(x, target, a, b, EK_CEL_ACCU, boolean(x, true),
                            call1(x, EK_CEL_OP_NOT_STRICTLY_FALSE, ek_cel_make_accu(x)),
                            call2(x, EK_CEL_OP_AND, ek_cel_make_accu(x), args[2]),
                            ek_cel_make_accu(x));
}

static struct ek_cel_node *expand_exists(struct ek_cel_expander *x, struct ek_cel_node *target,
                                         struct ek_cel_node **args, uint32_t n)
{
    const char *a, *b;

    (void)n;
    if (!variables(x, args, &a, &b))
        return NULL;
    struct ek_cel_node *not_yet = call1(x, EK_CEL_OP_NOT, ek_cel_make_accu(x));
    return ek_cel_make_fold(x, target, a, b, EK_CEL_ACCU, boolean(x, false),
                            call1(x, EK_CEL_OP_NOT_STRICTLY_FALSE, not_yet),
                            call2(x, EK_CEL_OP_OR, ek_cel_make_accu(x), args[2]),
                            ek_cel_make_accu(x));
}

static struct ek_cel_node *expand_exists_one(struct ek_cel_expander *x, struct ek_cel_node *target,
                                             struct ek_cel_node **args, uint32_t n)
{
    const char *a, *b;

    (void)n;
    if (!variables(x, args, &a, &b))
        return NULL;
    struct ek_cel_node *one_more =
        call2(x, EK_CEL_OP_ADD, ek_cel_make_accu(x), ek_cel_make_literal(x, ek_cel_int(1)));
    return ek_cel_make_fold(
        x, target, a, b, EK_CEL_ACCU, ek_cel_make_literal(x, ek_cel_int(0)), boolean(x, true),
        call3(x, EK_CEL_OP_CONDITIONAL, args[2], one_more, ek_cel_make_accu(x)),
        call2(x, EK_CEL_OP_EQ, ek_cel_make_accu(x), ek_cel_make_literal(x, ek_cel_int(1))));
}

/* A fold that grows its accumulator from init by step, where the filter allows it: with four
 * arguments the third is the filter. */
static struct ek_cel_node *grow(struct ek_cel_expander *x, struct ek_cel_node *target,
                                struct ek_cel_node **args, uint32_t n, struct ek_cel_node *init,
                                struct ek_cel_node *step)
{
    if (n == 4)
        step = call3(x, EK_CEL_OP_CONDITIONAL, args[2], step, ek_cel_make_accu(x));
    return ek_cel_make_fold(x, target, ek_cel_simple_name(args[0]), ek_cel_simple_name(args[1]),
                            EK_CEL_ACCU, init, boolean(x, true), step, ek_cel_make_accu(x));
}

static struct ek_cel_node *expand_list(struct ek_cel_expander *x, struct ek_cel_node *target,
                                       struct ek_cel_node **args, uint32_t n)
{
    const char *a, *b;

    if (!variables(x, args, &a, &b))
        return NULL;
    struct ek_cel_node *item = ek_cel_make_list(x, 1, &args[n - 1]);
    return grow(x, target, args, n, ek_cel_make_list(x, 0, NULL),
                call2(x, EK_CEL_OP_ADD, ek_cel_make_accu(x), item));
}

static struct ek_cel_node *expand_map(struct ek_cel_expander *x, struct ek_cel_node *target,
                                      struct ek_cel_node **args, uint32_t n)
{
    const char *a, *b;

    if (!variables(x, args, &a, &b))
        return NULL;
    return grow(x, target, args, n, ek_cel_make_map(x, 0, NULL),
                call3(x, MAP_INSERT, ek_cel_make_accu(x), ek_cel_make_ident(x, a), args[n - 1]));
}

static struct ek_cel_node *expand_map_entry(struct ek_cel_expander *x, struct ek_cel_node *target,
                                            struct ek_cel_node **args, uint32_t n)
{
    const char *a, *b;

    if (!variables(x, args, &a, &b))
        return NULL;
    return grow(x, target, args, n, ek_cel_make_map(x, 0, NULL),
                call2(x, MAP_INSERT, ek_cel_make_accu(x), args[n - 1]));
}

static const struct ek_cel_overload insert_overloads[] = {
    {.id = "@mapInsert_map_key_value",
     .signature = "map(K, V), K, V -> map(K, V)",
     .fn = insert_entry},
    {.id = "@mapInsert_map_map",
     .signature = "map(K, V), map(K, V) -> map(K, V)",
     .fn = insert_map},
    {0},
};

static const struct ek_cel_function functions[] = {
    {.name = MAP_INSERT, .overloads = insert_overloads},
    {0},
};

static const struct ek_cel_macro macros[] = {
    {.name = "all", .member = true, .args = 3, .expand = expand_all},
    {.name = "exists", .member = true, .args = 3, .expand = expand_exists},
    {.name = "existsOne", .member = true, .args = 3, .expand = expand_exists_one},
    {.name = "exists_one", .member = true, .args = 3, .expand = expand_exists_one},
    {.name = "transformList", .member = true, .args = 3, .expand = expand_list},
    {.name = "transformList", .member = true, .args = 4, .expand = expand_list},
    {.name = "transformMap", .member = true, .args = 3, .expand = expand_map},
    {.name = "transformMap", .member = true, .args = 4, .expand = expand_map},
    {.name = "transformMapEntry", .member = true, .args = 3, .expand = expand_map_entry},
    {.name = "transformMapEntry", .member = true, .args = 4, .expand = expand_map_entry},
    {0},
};

const struct ek_cel_library ek_cel_lib_comprehensions = {
    .name = "cel.lib.ext.comprev2",
    .functions = functions,
    .macros = macros,
};
