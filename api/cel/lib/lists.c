/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cel-go's ext.Lists, versions 0 to 3. Costs come with version 3 there; older versions never were
 * in a Kubernetes environment, so the costs are given for all.
 */
#include <inttypes.h>
#include <string.h>

#include "api/cel/syntax/macro.h"
#include "api/cel/values/account.h"
#include "api/cel/values/list.h"

/* Data nests as deep as JSON may, expressions add their own depth; what is deeper is refused. */

/* ---- Costs (cel-go ext/lists.go, "track...") ---- */

#define CALL_COST        1
#define LIST_CREATE_COST 10

/* What the reference's conversion from float64 to uint64 makes of huge and negative numbers does
 * not matter as long as a huge one ends the evaluation. */
static uint64_t allocating_cost(double factor, uint64_t size)
{
    double cost = (double)size * factor;

    if (cost >= 0x1p62)
        return UINT64_C(1) << 62;
    return (cost > 0 ? (uint64_t)cost : 0) + CALL_COST + LIST_CREATE_COST;
}

static uint64_t output_cost(const struct ek_cel_val *args, uint32_t n,
                            const struct ek_cel_val *result)
{
    (void)args;
    (void)n;
    return allocating_cost(1, ek_cel_cost_size(result));
}

static uint64_t flatten_cost(const struct ek_cel_val *args, uint32_t n,
                             const struct ek_cel_val *result)
{
    double depth = n == 2 && args[1].kind == EK_CEL_INT ? (double)args[1].i : 1;

    (void)result;
    return allocating_cost(depth, ek_cel_cost_size(&args[0]));
}

static double compare_factor(const struct ek_cel_val *list)
{
    if (list->kind != EK_CEL_LIST || !list->n)
        return 2;
    struct ek_cel_val first = ek_cel_list_at(list, 0);
    return first.kind == EK_CEL_STRING || first.kind == EK_CEL_BYTES ? 2.1 : 2;
}

static uint64_t compare_cost(const struct ek_cel_val *list)
{
    uint64_t n = ek_cel_cost_size(list);

    if (list->kind != EK_CEL_LIST)
        return EK_CEL_COST_INVALID;
    return allocating_cost(compare_factor(list), n * n);
}

static uint64_t self_compare_cost(const struct ek_cel_val *args, uint32_t n,
                                  const struct ek_cel_val *result)
{
    (void)n;
    (void)result;
    return compare_cost(&args[0]);
}

static uint64_t keys_compare_cost(const struct ek_cel_val *args, uint32_t n,
                                  const struct ek_cel_val *result)
{
    (void)n;
    (void)result;
    return compare_cost(&args[1]);
}

/* ---- slice, reverse, range ---- */

static struct ek_cel_val slice(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    int64_t start = args[1].i, end = args[2].i;

    (void)n;
    if (start < 0 || end < 0)
        return ek_cel_fail(eval,
                           "cannot slice(%" PRId64 ", %" PRId64 "), negative indexes not supported",
                           start, end);
    if (start > end)
        return ek_cel_fail(eval,
                           "cannot slice(%" PRId64 ", %" PRId64
                           "), start index must be less than or equal to end index",
                           start, end);
    if (end > args[0].n)
        return ek_cel_fail(eval, "cannot slice(%" PRId64 ", %" PRId64 "), list is length %" PRIu32,
                           start, end, args[0].n);
    struct ek_cel_items *room = ek_cel_list_room(eval, (uint32_t)(end - start));
    struct ek_cel_iter iter;
    if (!room)
        return ek_cel_no_memory(eval);
    if (args[0].form == EK_CEL_NATIVE) {
        memcpy(room->v, args[0].items->v + start, sizeof(room->v[0]) * room->used);
        return ek_cel_list_of(room);
    }
    ek_cel_iter_init(&iter, &args[0]);
    for (int64_t i = 0; i < end && ek_cel_iter_next(&iter); i++)
        if (i >= start)
            room->v[i - start] = iter.value;
    return ek_cel_list_of(room);
}

static struct ek_cel_val reverse(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    struct ek_cel_items *room = ek_cel_list_room(eval, args[0].n);
    struct ek_cel_iter iter;
    uint32_t left = args[0].n;

    (void)n;
    if (!room)
        return ek_cel_no_memory(eval);
    ek_cel_iter_init(&iter, &args[0]);
    while (left > 0 && ek_cel_iter_next(&iter))
        room->v[--left] = iter.value;
    return ek_cel_list_of(room);
}

static struct ek_cel_val range(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    uint64_t len = args[0].i > 0 ? (uint64_t)args[0].i : 0;

    (void)n;
    if (!ek_cel_work(eval, len))
        return ek_cel_stopped(eval);
    struct ek_cel_items *room =
        len < UINT32_MAX / sizeof(room->v[0]) ? ek_cel_list_room(eval, (uint32_t)len) : NULL;
    if (!room)
        return ek_cel_no_memory(eval);
    for (uint32_t i = 0; i < room->used; i++)
        room->v[i] = ek_cel_int(i);
    return ek_cel_list_of(room);
}

/* ---- flatten ---- */

/* Appends list to *out, lists in it resolved to depth. Returns 0, or -1 with *ret_error. */
static int flatten_into(struct ek_cel_eval *eval, const struct ek_cel_val *list, int64_t depth,
                        unsigned level, struct ek_cel_val *out, struct ek_cel_val *ret_error)
{
    struct ek_cel_iter iter;

    if (level > EK_CEL_VALUE_DEPTH_MAX) {
        *ret_error =
            ek_cel_fail(eval, "cannot flatten lists nested deeper than %u", EK_CEL_VALUE_DEPTH_MAX);
        return -1;
    }
    ek_cel_iter_init(&iter, list);
    while (ek_cel_iter_next(&iter)) {
        if (iter.value.kind == EK_CEL_LIST && depth > 0) {
            if (flatten_into(eval, &iter.value, depth - 1, level + 1, out, ret_error))
                return -1;
        } else if (!ek_cel_list_append(eval, out, &iter.value)) {
            *ret_error = ek_cel_no_memory(eval);
            return -1;
        }
    }
    return 0;
}

/* The reference has its type guards off here, so that flat lists pass under dyn. */
static struct ek_cel_val flatten(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    struct ek_cel_val error;

    if (args[0].kind != EK_CEL_LIST || (n == 2 && args[1].kind != EK_CEL_INT))
        return n == 2 ? ek_cel_fail(eval, "no such overload: %s.flatten(%s)",
                                    ek_cel_type_name(&args[0]), ek_cel_type_name(&args[1]))
                      : ek_cel_fail(eval, "no such overload: %s.flatten()",
                                    ek_cel_type_name(&args[0]));
    int64_t depth = n == 2 ? args[1].i : 1;
    if (depth < 0)
        return ek_cel_fail(eval, "level must be non-negative");
    struct ek_cel_val out = ek_cel_list_new(eval, args[0].n);
    if (out.kind == EK_CEL_ERROR)
        return out;
    return flatten_into(eval, &args[0], depth, 0, &out, &error) ? error : out;
}

/* ---- sort, sortBy, distinct ---- */

static struct ek_cel_val sort_by_keys(struct ek_cel_eval *eval, const struct ek_cel_val *list,
                                      const struct ek_cel_val *keys)
{
    if (list->n != keys->n)
        return ek_cel_fail(eval,
                           "@sortByAssociatedKeys() expected a list of the same size as the "
                           "associated keys list, but got %" PRIu32 " and %" PRIu32
                           " elements respectively",
                           list->n, keys->n);
    if (!list->n)
        return *list;
    const struct ek_cel_val *k = ek_cel_list_elements(eval, keys);
    if (k && !ek_cel_has_order(&k[0]))
        return ek_cel_fail(eval, "list elements must be comparable");
    const struct ek_cel_val *v = keys == list ? k : ek_cel_list_elements(eval, list);
    struct ek_cel_items *room = ek_cel_list_room(eval, list->n);
    uint32_t *order = ek_cel_alloc(eval, sizeof(*order) * list->n);
    if (!k || !v || !room || !order)
        return ek_cel_no_memory(eval);
    if (!ek_cel_sort_order(k, list->n, order))
        return ek_cel_fail(eval, "list elements must have the same type");
    for (uint32_t i = 0; i < list->n; i++)
        room->v[i] = v[order[i]];
    return ek_cel_list_of(room);
}

static struct ek_cel_val sort(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    if (args[0].kind != EK_CEL_LIST)
        return ek_cel_no_overload(eval, NULL, args, n);
    return sort_by_keys(eval, &args[0], &args[0]);
}

static struct ek_cel_val sort_by(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    if (args[0].kind != EK_CEL_LIST || args[1].kind != EK_CEL_LIST)
        return ek_cel_no_overload(eval, NULL, args, n);
    return sort_by_keys(eval, &args[0], &args[1]);
}

static struct ek_cel_val distinct(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                  uint32_t n)
{
    uint64_t *steps = &eval->compare_steps;
    uint32_t len = args[0].n;

    (void)n;
    if (!len)
        return args[0];
    if (!ek_cel_work(eval, 2 * (uint64_t)len * len))
        return ek_cel_stopped(eval);
    const struct ek_cel_val *v = ek_cel_list_elements(eval, &args[0]);
    struct ek_cel_items *room = ek_cel_list_room(eval, len);
    if (!v || !room)
        return ek_cel_no_memory(eval);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < len; i++) {
        uint32_t j = 0;
        while (j < kept && !ek_cel_same(&v[i], &room->v[j], steps))
            j++;
        if (j == kept)
            room->v[kept++] = v[i];
    }
    room->used = kept;
    return *steps ? ek_cel_list_of(room) : ek_cel_too_large(eval);
}

/*
 * list.sortBy(x, key) binds the list, maps it to its keys and sorts by them:
 * fold over nothing with accumulator @__sortBy_input__ = list, whose result is
 * @__sortBy_input__.@sortByAssociatedKeys(@__sortBy_input__.map(x, key)).
 */
static struct ek_cel_node *expand_sort_by(struct ek_cel_expander *x, struct ek_cel_node *target,
                                          struct ek_cel_node **args, uint32_t n)
{
    static const char input[] = "@__sortBy_input__";
    const char *var = ek_cel_simple_name(args[0]);

    (void)n;
    if (target->kind == EK_CEL_N_LITERAL || target->kind == EK_CEL_N_MAP ||
        target->kind == EK_CEL_N_STRUCT)
        return ek_cel_macro_error(x, target,
                                  "sortBy can only be applied to a list, identifier, "
                                  "comprehension, call or select expression");
    if (!var)
        return ek_cel_macro_error(x, args[0], "argument is not an identifier");
    if (!strcmp(var, EK_CEL_ACCU) || !strcmp(var, "__result__"))
        return ek_cel_macro_error(x, args[0], "iteration variable overwrites accumulator variable");
    struct ek_cel_node *item[] = {args[1]};
    struct ek_cel_node *sum[] = {ek_cel_make_accu(x), ek_cel_make_list(x, 1, item)};
    struct ek_cel_node *keys =
        ek_cel_make_fold(x, ek_cel_make_ident(x, input), var, NULL, EK_CEL_ACCU,
                         ek_cel_make_list(x, 0, NULL), ek_cel_make_literal(x, ek_cel_bool(true)),
                         ek_cel_make_call(x, EK_CEL_OP_ADD, 2, sum), ek_cel_make_accu(x));
    struct ek_cel_node *call =
        ek_cel_make_member(x, "@sortByAssociatedKeys", ek_cel_make_ident(x, input), 1, &keys);
    return ek_cel_make_fold(x, ek_cel_make_list(x, 0, NULL), "#unused", NULL, input, target,
                            ek_cel_make_literal(x, ek_cel_bool(false)), ek_cel_make_ident(x, input),
                            call);
}

/* ---- Tables ---- */

static const struct ek_cel_overload slice_overloads[] = {
    {.id = "list_slice",
     .signature = "list(T), int, int -> list(T)",
     .flags = EK_CEL_MEMBER,
     .fn = slice,
     .cost = output_cost},
    {0},
};

static const struct ek_cel_overload flatten_overloads[] = {
    {.id = "list_flatten",
     .signature = "list(list(T)) -> list(T)",
     .flags = EK_CEL_MEMBER,
     .cost = flatten_cost,
     .version = 1},
    {.id = "list_flatten_int",
     .signature = "list(dyn), int -> list(dyn)",
     .flags = EK_CEL_MEMBER,
     .cost = flatten_cost,
     .version = 1},
    {0},
};

#define SORT(type, text)                                                                           \
    {                                                                                              \
        .id = "list_" text "_sort", .signature = "list(" type ") -> list(" type ")",               \
        .flags = EK_CEL_MEMBER, .cost = self_compare_cost, .version = 2                            \
    }
#define SORT_BY(type, text)                                                                        \
    {                                                                                              \
        .id = "list_" text "_sortByAssociatedKeys",                                                \
        .signature = "list(T), list(" type ") -> list(T)", .flags = EK_CEL_MEMBER,                 \
        .cost = keys_compare_cost, .version = 2                                                    \
    }
#define EACH_ORDERED(ROW)                                                                          \
    ROW("int", "int"), ROW("uint", "uint"), ROW("double", "double"), ROW("bool", "bool"),          \
        ROW("duration", "google.protobuf.Duration"),                                               \
        ROW("timestamp", "google.protobuf.Timestamp"), ROW("string", "string"),                    \
        ROW("bytes", "bytes")

static const struct ek_cel_overload sort_overloads[] = {EACH_ORDERED(SORT), {0}};
static const struct ek_cel_overload sort_by_overloads[] = {EACH_ORDERED(SORT_BY), {0}};

static const struct ek_cel_overload range_overloads[] = {
    {.id = "lists_range",
     .signature = "int -> list(int)",
     .fn = range,
     .cost = output_cost,
     .version = 2},
    {0},
};

static const struct ek_cel_overload reverse_overloads[] = {
    {.id = "list_reverse",
     .signature = "list(T) -> list(T)",
     .flags = EK_CEL_MEMBER,
     .fn = reverse,
     .cost = output_cost,
     .version = 2},
    {0},
};

static const struct ek_cel_overload distinct_overloads[] = {
    {.id = "list_distinct",
     .signature = "list(T) -> list(T)",
     .flags = EK_CEL_MEMBER,
     .fn = distinct,
     .cost = self_compare_cost,
     .version = 2},
    {0},
};

static const struct ek_cel_function functions[] = {
    {.name = "slice", .overloads = slice_overloads},
    {.name = "flatten", .overloads = flatten_overloads, .singleton = flatten},
    {.name = "sort", .overloads = sort_overloads, .singleton = sort},
    {.name = "@sortByAssociatedKeys", .overloads = sort_by_overloads, .singleton = sort_by},
    {.name = "lists.range", .overloads = range_overloads},
    {.name = "reverse", .overloads = reverse_overloads},
    {.name = "distinct", .overloads = distinct_overloads},
    {0},
};

static const struct ek_cel_macro macros[] = {
    {.name = "sortBy", .member = true, .args = 2, .expand = expand_sort_by, .version = 2},
    {0},
};

const struct ek_cel_library ek_cel_lib_lists = {
    .name = "cel.lib.ext.lists",
    .functions = functions,
    .macros = macros,
};
