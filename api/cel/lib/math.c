/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mathematics library: ext.Math of cel-go 0.26, versions 0 to 2.
 *
 * math.least and math.greatest are macros: one argument stays as it is, more than two become a
 * list.
 */
#include <math.h>
#include <string.h>

#include "api/cel/library.h"
#include "api/cel/syntax/macro.h"

#define MIN "math.@min"
#define MAX "math.@max"

/* ---- least and greatest ---------------------------------------------------------------------- */

static bool may_be_number(const struct ek_cel_node *node)
{
    switch (node->kind) {
    case EK_CEL_N_LITERAL:
        return node->literal.kind == EK_CEL_INT || node->literal.kind == EK_CEL_UINT ||
               node->literal.kind == EK_CEL_DOUBLE;
    case EK_CEL_N_LIST:
    case EK_CEL_N_MAP:
    case EK_CEL_N_STRUCT:
        return false;
    default:
        return true;
    }
}

static bool may_be_numbers(const struct ek_cel_node *list)
{
    if (list->kind != EK_CEL_N_LIST || list->list.n == 0)
        return false;
    for (uint32_t i = 0; i < list->list.n; i++)
        if (!may_be_number(list->list.items[i]))
            return false;
    return true;
}

struct texts {
    const char *function, *none, *single, *several;
};

static struct ek_cel_node *expand(struct ek_cel_expander *x, const struct ek_cel_node *target,
                                  struct ek_cel_node **args, uint32_t n, const struct texts *texts)
{
    struct ek_cel_node *list;

    if (n == 0)
        return ek_cel_macro_error(x, target, texts->none);
    if (n == 1) {
        if (!may_be_number(args[0]) && !may_be_numbers(args[0]))
            return ek_cel_macro_error(x, args[0], texts->single);
        return ek_cel_make_call(x, texts->function, 1, args);
    }
    for (uint32_t i = 0; i < n; i++)
        if (!may_be_number(args[i]))
            return ek_cel_macro_error(x, args[i], texts->several);
    if (n == 2)
        return ek_cel_make_call(x, texts->function, 2, args);
    list = ek_cel_make_list(x, n, args);
    return ek_cel_make_call(x, texts->function, 1, &list);
}

static struct ek_cel_node *expand_least(struct ek_cel_expander *x, struct ek_cel_node *target,
                                        struct ek_cel_node **args, uint32_t n)
{
    static const struct texts texts = {MIN, "math.least() requires at least one argument",
                                       "math.least() invalid single argument value",
                                       "math.least() simple literal arguments must be numeric"};

    return expand(x, target, args, n, &texts);
}

static struct ek_cel_node *expand_greatest(struct ek_cel_expander *x, struct ek_cel_node *target,
                                           struct ek_cel_node **args, uint32_t n)
{
    static const struct texts texts = {MAX, "math.greatest() requires at least one argument",
                                       "math.greatest() invalid single argument value",
                                       "math.greatest() simple literal arguments must be numeric"};

    return expand(x, target, args, n, &texts);
}

static struct ek_cel_val same(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    (void)eval;
    (void)n;
    return args[0];
}

/* b when its order against a is worse, else a, which may be an error already. */
static struct ek_cel_val choose(struct ek_cel_eval *eval, const struct ek_cel_val *a,
                                const struct ek_cel_val *b, int worse, const char *name)
{
    struct ek_cel_val error;
    int order;

    if (ek_cel_compare(eval, a, b, &order, &error))
        return order == worse ? *b : *a;
    if (error.kind != EK_CEL_ERROR || error.fault->kind != EK_CEL_E_EVAL ||
        strstr(error.fault->message, name))
        return error;
    return ek_cel_fail(eval, "%s: %s", error.fault->message, name);
}

static bool is_number(const struct ek_cel_val *value)
{
    return value->kind == EK_CEL_INT || value->kind == EK_CEL_UINT || value->kind == EK_CEL_DOUBLE;
}

static struct ek_cel_val choose_of(struct ek_cel_eval *eval, const struct ek_cel_val *list,
                                   int worse, const char *name)
{
    struct ek_cel_val chosen;
    struct ek_cel_iter iter;

    ek_cel_iter_init(&iter, list);
    if (!ek_cel_iter_next(&iter))
        return ek_cel_fail(eval, "%s(list) argument must not be empty", name);
    chosen = iter.value;
    while (chosen.kind != EK_CEL_ERROR && ek_cel_iter_next(&iter))
        chosen = choose(eval, &chosen, &iter.value, worse, name);
    if (chosen.kind != EK_CEL_ERROR && !is_number(&chosen))
        return ek_cel_fail(eval, "no such overload: %s", name);
    return chosen;
}

static struct ek_cel_val min_pair(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                  uint32_t n)
{
    (void)n;
    return choose(eval, &args[0], &args[1], 1, MIN);
}

static struct ek_cel_val max_pair(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                  uint32_t n)
{
    (void)n;
    return choose(eval, &args[0], &args[1], -1, MAX);
}

static struct ek_cel_val min_list(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                  uint32_t n)
{
    (void)n;
    return choose_of(eval, &args[0], 1, MIN);
}

static struct ek_cel_val max_list(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                  uint32_t n)
{
    (void)n;
    return choose_of(eval, &args[0], -1, MAX);
}

/* ---- Functions of one double ----------------------------------------------------------------- */

#define OF_DOUBLE(name, make, expression)                                                          \
    static struct ek_cel_val name(struct ek_cel_eval *eval, const struct ek_cel_val *args,         \
                                  uint32_t n)                                                      \
    {                                                                                              \
        double d = args[0].d;                                                                      \
                                                                                                   \
        (void)eval;                                                                                \
        (void)n;                                                                                   \
        return make(expression);                                                                   \
    }

OF_DOUBLE(ceil_of, ek_cel_double, ceil(d))
OF_DOUBLE(floor_of, ek_cel_double, floor(d))
OF_DOUBLE(round_of, ek_cel_double, round(d)) /* halves away from zero */
OF_DOUBLE(trunc_of, ek_cel_double, trunc(d))
OF_DOUBLE(is_inf, ek_cel_bool, isinf(d) != 0)
OF_DOUBLE(is_nan, ek_cel_bool, isnan(d) != 0)
OF_DOUBLE(is_finite, ek_cel_bool, isfinite(d) != 0)
OF_DOUBLE(abs_double, ek_cel_double, fabs(d))
OF_DOUBLE(sign_double, ek_cel_double, isnan(d) ? d : (double)((d > 0) - (d < 0)))
OF_DOUBLE(sqrt_double, ek_cel_double, sqrt(d))

/* ---- Integers -------------------------------------------------------------------------------- */

static struct ek_cel_val abs_int(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    (void)n;
    if (args[0].i == INT64_MIN)
        return ek_cel_fail(eval, "integer overflow");
    return ek_cel_int(args[0].i < 0 ? -args[0].i : args[0].i);
}

static struct ek_cel_val sign_int(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                  uint32_t n)
{
    (void)eval;
    (void)n;
    return ek_cel_int((args[0].i > 0) - (args[0].i < 0));
}

static struct ek_cel_val sign_uint(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                   uint32_t n)
{
    (void)eval;
    (void)n;
    return ek_cel_uint(args[0].u != 0);
}

static struct ek_cel_val sqrt_int(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                  uint32_t n)
{
    (void)eval;
    (void)n;
    return ek_cel_double(sqrt((double)args[0].i));
}

static struct ek_cel_val sqrt_uint(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                   uint32_t n)
{
    (void)eval;
    (void)n;
    return ek_cel_double(sqrt((double)args[0].u));
}

/* A value of the first argument's kind, int or uint, with those bits. */
static struct ek_cel_val like(const struct ek_cel_val *args, uint64_t bits)
{
    return args[0].kind == EK_CEL_INT ? ek_cel_int((int64_t)bits) : ek_cel_uint(bits);
}

static struct ek_cel_val bit_and(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    (void)eval;
    (void)n;
    return like(args, args[0].u & args[1].u);
}

static struct ek_cel_val bit_or(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    (void)eval;
    (void)n;
    return like(args, args[0].u | args[1].u);
}

static struct ek_cel_val bit_xor(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    (void)eval;
    (void)n;
    return like(args, args[0].u ^ args[1].u);
}

static struct ek_cel_val bit_not(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    (void)eval;
    (void)n;
    return like(args, ~args[0].u);
}

static struct ek_cel_val shift_left(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                    uint32_t n)
{
    (void)n;
    if (args[1].i < 0)
        return ek_cel_fail(eval, "math.bitShiftLeft() negative offset: %lld", (long long)args[1].i);
    return like(args, args[1].i < 64 ? args[0].u << args[1].i : 0);
}

/* Of ints too, zeros come in from the left. */
static struct ek_cel_val shift_right(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                     uint32_t n)
{
    (void)n;
    if (args[1].i < 0)
        return ek_cel_fail(eval, "math.bitShiftRight() negative offset: %lld",
                           (long long)args[1].i);
    return like(args, args[1].i < 64 ? args[0].u >> args[1].i : 0);
}

/* ---- The table ------------------------------------------------------------------------------- */

#define ID(id_, signature_, fn_, version_)                                                         \
    {                                                                                              \
        .id = (id_), .signature = (signature_), .fn = (fn_), .version = (version_)                 \
    }
#define OVERLOADS(...) ((const struct ek_cel_overload[]){__VA_ARGS__, {.id = NULL}})

#define ON_DOUBLE(name_, id_, result_, fn_)                                                        \
    {                                                                                              \
        .name = (name_), .overloads = OVERLOADS(ID(id_, "double -> " result_, fn_, 1))             \
    }

#define EXTREME(which, pair, list)                                                                 \
    OVERLOADS(ID("math_@" which "_double", "double -> double", same, 0),                           \
              ID("math_@" which "_int", "int -> int", same, 0),                                    \
              ID("math_@" which "_uint", "uint -> uint", same, 0),                                 \
              ID("math_@" which "_double_double", "double, double -> double", pair, 0),            \
              ID("math_@" which "_int_int", "int, int -> int", pair, 0),                           \
              ID("math_@" which "_uint_uint", "uint, uint -> uint", pair, 0),                      \
              ID("math_@" which "_int_uint", "int, uint -> dyn", pair, 0),                         \
              ID("math_@" which "_int_double", "int, double -> dyn", pair, 0),                     \
              ID("math_@" which "_double_int", "double, int -> dyn", pair, 0),                     \
              ID("math_@" which "_double_uint", "double, uint -> dyn", pair, 0),                   \
              ID("math_@" which "_uint_int", "uint, int -> dyn", pair, 0),                         \
              ID("math_@" which "_uint_double", "uint, double -> dyn", pair, 0),                   \
              ID("math_@" which "_list_double", "list(double) -> double", list, 0),                \
              ID("math_@" which "_list_int", "list(int) -> int", list, 0),                         \
              ID("math_@" which "_list_uint", "list(uint) -> uint", list, 0))

#define BITS(name_, fn_)                                                                           \
    {                                                                                              \
        .name = "math." name_,                                                                     \
        .overloads = OVERLOADS(ID("math_" name_ "_int_int", "int, int -> int", fn_, 1),            \
                               ID("math_" name_ "_uint_uint", "uint, uint -> uint", fn_, 1))       \
    }

#define SHIFT(name_, fn_)                                                                          \
    {                                                                                              \
        .name = "math." name_,                                                                     \
        .overloads = OVERLOADS(ID("math_" name_ "_int_int", "int, int -> int", fn_, 1),            \
                               ID("math_" name_ "_uint_int", "uint, int -> uint", fn_, 1))         \
    }

static const struct ek_cel_function functions[] = {
    {.name = MIN, .overloads = EXTREME("min", min_pair, min_list)},
    {.name = MAX, .overloads = EXTREME("max", max_pair, max_list)},
    ON_DOUBLE("math.ceil", "math_ceil_double", "double", ceil_of),
    ON_DOUBLE("math.floor", "math_floor_double", "double", floor_of),
    ON_DOUBLE("math.round", "math_round_double", "double", round_of),
    ON_DOUBLE("math.trunc", "math_trunc_double", "double", trunc_of),
    ON_DOUBLE("math.isInf", "math_isInf_double", "bool", is_inf),
    ON_DOUBLE("math.isNaN", "math_isNaN_double", "bool", is_nan),
    ON_DOUBLE("math.isFinite", "math_isFinite_double", "bool", is_finite),
    {.name = "math.abs",
     .overloads = OVERLOADS(ID("math_abs_double", "double -> double", abs_double, 1),
                            ID("math_abs_int", "int -> int", abs_int, 1),
                            ID("math_abs_uint", "uint -> uint", same, 1))},
    {.name = "math.sign",
     .overloads = OVERLOADS(ID("math_sign_double", "double -> double", sign_double, 1),
                            ID("math_sign_int", "int -> int", sign_int, 1),
                            ID("math_sign_uint", "uint -> uint", sign_uint, 1))},
    BITS("bitAnd", bit_and),
    BITS("bitOr", bit_or),
    BITS("bitXor", bit_xor),
    {.name = "math.bitNot",
     .overloads = OVERLOADS(ID("math_bitNot_int_int", "int -> int", bit_not, 1),
                            ID("math_bitNot_uint_uint", "uint -> uint", bit_not, 1))},
    SHIFT("bitShiftLeft", shift_left),
    SHIFT("bitShiftRight", shift_right),
    {.name = "math.sqrt",
     .overloads = OVERLOADS(ID("math_sqrt_double", "double -> double", sqrt_double, 2),
                            ID("math_sqrt_int", "int -> double", sqrt_int, 2),
                            ID("math_sqrt_uint", "uint -> double", sqrt_uint, 2))},
    {.name = NULL},
};

static const struct ek_cel_macro macros[] = {
    {.name = "least", .target_name = "math", .member = true, .args = -1, .expand = expand_least},
    {.name = "greatest",
     .target_name = "math",
     .member = true,
     .args = -1,
     .expand = expand_greatest},
    {.name = NULL},
};

const struct ek_cel_library ek_cel_lib_math = {
    .name = "cel.lib.ext.math", .functions = functions, .macros = macros};
