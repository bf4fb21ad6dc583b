/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optional types (cel-go cel/library.go, version 2). The evaluator knows or() and orValue() itself,
 * because their argument is only evaluated when it is needed, and the forms `a.?b` and `a[?b]`;
 * what stands here for those is their declaration, and their meaning for strict calls.
 */
#include "api/cel/syntax/macro.h"
#include "api/cel/values/list.h"

/* Go's time.Time{}: the first of January of the year 1. */
#define GO_ZERO_TIME INT64_C(-62135596800)

static bool is_zero(const struct ek_cel_val *value)
{
    switch (value->kind) {
    case EK_CEL_NULL:
        return true;
    case EK_CEL_BOOL:
        return !value->b;
    case EK_CEL_INT:
    case EK_CEL_DURATION:
        return value->i == 0;
    case EK_CEL_UINT:
        return value->u == 0;
    case EK_CEL_DOUBLE:
        return value->d == 0;
    case EK_CEL_STRING:
    case EK_CEL_BYTES:
    case EK_CEL_LIST:
        return value->n == 0;
    case EK_CEL_MAP:
        return value->form != EK_CEL_HOST && value->n == 0;
    case EK_CEL_TIMESTAMP:
        return value->i == GO_ZERO_TIME && value->n == 0;
    case EK_CEL_STRUCT: /* JSONPatch{} counts as a value in the reference, Object{} does not */
        return ek_cel_struct_len(value) == 0 && ek_cel_struct_type(value)[0] == 'O';
    default:
        return false;
    }
}

static struct ek_cel_val of(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    (void)n;
    return ek_cel_optional(eval, &args[0]);
}

static struct ek_cel_val of_non_zero(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                     uint32_t n)
{
    (void)n;
    return ek_cel_optional(eval, is_zero(&args[0]) ? NULL : &args[0]);
}

static struct ek_cel_val none(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    (void)args;
    (void)n;
    return ek_cel_optional(eval, NULL);
}

static struct ek_cel_val value(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    (void)n;
    if (!args[0].some)
        return ek_cel_fail(eval, "optional.none() dereference");
    return *args[0].some;
}

static struct ek_cel_val has_value(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                   uint32_t n)
{
    (void)eval;
    (void)n;
    return ek_cel_bool(args[0].some != NULL);
}

/* What is no optional, an error among them, is its own answer. */
static struct ek_cel_val or (struct ek_cel_eval * eval, const struct ek_cel_val *args, uint32_t n)
{
    (void)eval;
    (void)n;
    return args[0].kind != EK_CEL_OPTIONAL || args[0].some ? args[0] : args[1];
}

static struct ek_cel_val or_value(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                  uint32_t n)
{
    (void)eval;
    (void)n;
    if (args[0].kind != EK_CEL_OPTIONAL)
        return args[0];
    return args[0].some ? *args[0].some : args[1];
}

static struct ek_cel_val element(struct ek_cel_eval *eval, const struct ek_cel_val *list,
                                 uint32_t index)
{
    if (!list->n)
        return ek_cel_optional(eval, NULL);
    struct ek_cel_val item = ek_cel_list_at(list, index);
    return ek_cel_optional(eval, &item);
}

static struct ek_cel_val first(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    (void)n;
    return element(eval, &args[0], 0);
}

static struct ek_cel_val last(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    (void)n;
    return element(eval, &args[0], args[0].n - 1);
}

static struct ek_cel_val unwrap(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    struct ek_cel_items *room = ek_cel_list_room(eval, args[0].n);
    struct ek_cel_iter iter;
    uint32_t kept = 0;

    (void)n;
    if (!room)
        return ek_cel_no_memory(eval);
    ek_cel_iter_init(&iter, &args[0]);
    while (ek_cel_iter_next(&iter)) {
        if (iter.value.kind != EK_CEL_OPTIONAL)
            return ek_cel_fail(eval, "value of type %s is not optional",
                               ek_cel_type_name(&iter.value));
        if (iter.value.some && kept < room->cap)
            room->v[kept++] = *iter.value.some;
    }
    room->used = kept;
    return ek_cel_list_of(room);
}

/* ---- Macros ---- */

/*
 * target.optMap(var, e) is target.hasValue() ? optional.of(bind(var, target.value(), e)) :
 * optional.none(); optFlatMap leaves out the optional.of. The target stands in it twice and is
 * evaluated twice, which its cost shows.
 */
static struct ek_cel_node *expand(struct ek_cel_expander *x, struct ek_cel_node *target,
                                  struct ek_cel_node **args, bool flat, const char *bad_name)
{
    if (args[0]->kind != EK_CEL_N_IDENT)
        return ek_cel_macro_error(x, args[0], bad_name);
    const char *var = args[0]->ident;
    struct ek_cel_node *bound = ek_cel_make_fold(
        x, ek_cel_make_list(x, 0, NULL), "#unused", NULL, var,
        ek_cel_make_member(x, "value", target, 0, NULL), ek_cel_make_literal(x, ek_cel_bool(false)),
        ek_cel_make_ident(x, var), args[1]);
    struct ek_cel_node *branches[] = {
        ek_cel_make_member(x, "hasValue", target, 0, NULL),
        flat ? bound : ek_cel_make_call(x, "optional.of", 1, &bound),
        ek_cel_make_call(x, "optional.none", 0, NULL),
    };
    return ek_cel_make_call(x, EK_CEL_OP_CONDITIONAL, 3, branches);
}

static struct ek_cel_node *expand_opt_map(struct ek_cel_expander *x, struct ek_cel_node *target,
                                          struct ek_cel_node **args, uint32_t n)
{
    (void)n;
    return expand(x, target, args, false, "optMap() variable name must be a simple identifier");
}

static struct ek_cel_node *expand_opt_flat_map(struct ek_cel_expander *x,
                                               struct ek_cel_node *target,
                                               struct ek_cel_node **args, uint32_t n)
{
    (void)n;
    return expand(x, target, args, true, "optFlatMap() variable name must be a simple identifier");
}

/* ---- Tables ---- */

static const struct ek_cel_overload of_overloads[] = {
    {.id = "optional_of", .signature = "V -> optional_type(V)", .fn = of},
    {0},
};

static const struct ek_cel_overload of_non_zero_overloads[] = {
    {.id = "optional_ofNonZeroValue", .signature = "V -> optional_type(V)", .fn = of_non_zero},
    {0},
};

static const struct ek_cel_overload none_overloads[] = {
    {.id = "optional_none", .signature = "-> optional_type(V)", .fn = none},
    {0},
};

static const struct ek_cel_overload value_overloads[] = {
    {.id = "optional_value",
     .signature = "optional_type(V) -> V",
     .flags = EK_CEL_MEMBER,
     .fn = value},
    {0},
};

static const struct ek_cel_overload has_value_overloads[] = {
    {.id = "optional_hasValue",
     .signature = "optional_type(V) -> bool",
     .flags = EK_CEL_MEMBER,
     .fn = has_value},
    {0},
};

static const struct ek_cel_overload or_overloads[] = {
    {.id = "optional_or_optional",
     .signature = "optional_type(V), optional_type(V) -> optional_type(V)",
     .flags = EK_CEL_MEMBER | EK_CEL_NONSTRICT,
     .fn = or },
    {0},
};

static const struct ek_cel_overload or_value_overloads[] = {
    {.id = "optional_orValue_value",
     .signature = "optional_type(V), V -> V",
     .flags = EK_CEL_MEMBER | EK_CEL_NONSTRICT,
     .fn = or_value},
    {0},
};

static const struct ek_cel_overload opt_select_overloads[] = {
    {.id = "select_optional_field", .signature = "dyn, string -> optional_type(V)"},
    {0},
};

static const struct ek_cel_overload opt_index_overloads[] = {
    {.id = "list_optindex_optional_int", .signature = "list(V), int -> optional_type(V)"},
    {.id = "optional_list_optindex_optional_int",
     .signature = "optional_type(list(V)), int -> optional_type(V)"},
    {.id = "map_optindex_optional_value", .signature = "map(K, V), K -> optional_type(V)"},
    {.id = "optional_map_optindex_optional_value",
     .signature = "optional_type(map(K, V)), K -> optional_type(V)"},
    {0},
};

static const struct ek_cel_overload index_overloads[] = {
    {.id = "optional_list_index_int",
     .signature = "optional_type(list(V)), int -> optional_type(V)"},
    {.id = "optional_map_index_value",
     .signature = "optional_type(map(K, V)), K -> optional_type(V)"},
    {0},
};

static const struct ek_cel_overload last_overloads[] = {
    {.id = "list_last",
     .signature = "list(V) -> optional_type(V)",
     .flags = EK_CEL_MEMBER,
     .fn = last,
     .version = 2},
    {0},
};

static const struct ek_cel_overload first_overloads[] = {
    {.id = "list_first",
     .signature = "list(V) -> optional_type(V)",
     .flags = EK_CEL_MEMBER,
     .fn = first,
     .version = 2},
    {0},
};

static const struct ek_cel_overload unwrap_overloads[] = {
    {.id = "optional_unwrap",
     .signature = "list(optional_type(V)) -> list(V)",
     .fn = unwrap,
     .version = 2},
    {0},
};

static const struct ek_cel_overload unwrap_opt_overloads[] = {
    {.id = "optional_unwrapOpt",
     .signature = "list(optional_type(V)) -> list(V)",
     .flags = EK_CEL_MEMBER,
     .fn = unwrap,
     .version = 2},
    {0},
};

static const struct ek_cel_function functions[] = {
    {.name = "optional.of", .overloads = of_overloads},
    {.name = "optional.ofNonZeroValue", .overloads = of_non_zero_overloads},
    {.name = "optional.none", .overloads = none_overloads},
    {.name = "value", .overloads = value_overloads},
    {.name = "hasValue", .overloads = has_value_overloads},
    {.name = "or", .overloads = or_overloads},
    {.name = "orValue", .overloads = or_value_overloads},
    {.name = EK_CEL_OP_OPT_SELECT, .overloads = opt_select_overloads},
    {.name = EK_CEL_OP_OPT_INDEX, .overloads = opt_index_overloads},
    {.name = EK_CEL_OP_INDEX, .overloads = index_overloads},
    {.name = "last", .overloads = last_overloads},
    {.name = "first", .overloads = first_overloads},
    {.name = "optional.unwrap", .overloads = unwrap_overloads},
    {.name = "unwrapOpt", .overloads = unwrap_opt_overloads},
    {0},
};

static const struct ek_cel_macro macros[] = {
    {.name = "optMap", .member = true, .args = 2, .expand = expand_opt_map},
    {.name = "optFlatMap", .member = true, .args = 2, .expand = expand_opt_flat_map, .version = 1},
    {0},
};

const struct ek_cel_library ek_cel_lib_optional = {
    .name = "cel.lib.optional",
    .functions = functions,
    .macros = macros,
};
