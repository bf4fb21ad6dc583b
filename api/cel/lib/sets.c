/* SPDX-License-Identifier: Apache-2.0 */
/* cel-go's ext.Sets: lists as sets, elements compared by CEL's ==. */
#include "api/cel/values/account.h"
#include "api/cel/values/list.h"

static bool holds(const struct ek_cel_val *list, const struct ek_cel_val *item, uint64_t *steps)
{
    struct ek_cel_iter iter;

    ek_cel_iter_init(&iter, list);
    while (ek_cel_iter_next(&iter))
        if (ek_cel_same(item, &iter.value, steps))
            return true;
    return false;
}

static bool holds_all(const struct ek_cel_val *list, const struct ek_cel_val *items,
                      uint64_t *steps)
{
    struct ek_cel_iter iter;

    ek_cel_iter_init(&iter, items);
    while (ek_cel_iter_next(&iter))
        if (!holds(list, &iter.value, steps))
            return false;
    return true;
}

static bool holds_any(const struct ek_cel_val *list, const struct ek_cel_val *items,
                      uint64_t *steps)
{
    struct ek_cel_iter iter;

    ek_cel_iter_init(&iter, items);
    while (ek_cel_iter_next(&iter))
        if (holds(list, &iter.value, steps))
            return true;
    return false;
}

static uint64_t pairs(const struct ek_cel_val *args)
{
    return ek_cel_cost_size(&args[0]) * ek_cel_cost_size(&args[1]);
}

static struct ek_cel_val answer(struct ek_cel_eval *eval, bool b)
{
    return eval->compare_steps ? ek_cel_bool(b) : ek_cel_too_large(eval);
}

static struct ek_cel_val contains(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                  uint32_t n)
{
    uint64_t *steps = &eval->compare_steps;

    (void)n;
    if (!ek_cel_work(eval, pairs(args)))
        return ek_cel_stopped(eval);
    bool b = holds_all(&args[0], &args[1], steps);
    return answer(eval, b);
}

static struct ek_cel_val equivalent(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                    uint32_t n)
{
    uint64_t *steps = &eval->compare_steps;

    (void)n;
    if (!ek_cel_work(eval, 2 * pairs(args)))
        return ek_cel_stopped(eval);
    bool b = holds_all(&args[0], &args[1], steps) && holds_all(&args[1], &args[0], steps);
    return answer(eval, b);
}

static struct ek_cel_val intersects(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                    uint32_t n)
{
    uint64_t *steps = &eval->compare_steps;

    (void)n;
    if (!ek_cel_work(eval, pairs(args)))
        return ek_cel_stopped(eval);
    bool b = holds_any(&args[1], &args[0], steps);
    return answer(eval, b);
}

static uint64_t cost(const struct ek_cel_val *args, uint32_t n, const struct ek_cel_val *result)
{
    (void)n;
    (void)result;
    return 1 + pairs(args);
}

static uint64_t cost_both_ways(const struct ek_cel_val *args, uint32_t n,
                               const struct ek_cel_val *result)
{
    (void)n;
    (void)result;
    return 1 + 2 * pairs(args);
}

static const struct ek_cel_overload contains_overloads[] = {
    {.id = "list_sets_contains_list",
     .signature = "list(T), list(T) -> bool",
     .fn = contains,
     .cost = cost},
    {0},
};

static const struct ek_cel_overload equivalent_overloads[] = {
    {.id = "list_sets_equivalent_list",
     .signature = "list(T), list(T) -> bool",
     .fn = equivalent,
     .cost = cost_both_ways},
    {0},
};

static const struct ek_cel_overload intersects_overloads[] = {
    {.id = "list_sets_intersects_list",
     .signature = "list(T), list(T) -> bool",
     .fn = intersects,
     .cost = cost},
    {0},
};

static const struct ek_cel_function functions[] = {
    {.name = "sets.contains", .overloads = contains_overloads},
    {.name = "sets.equivalent", .overloads = equivalent_overloads},
    {.name = "sets.intersects", .overloads = intersects_overloads},
    {0},
};

const struct ek_cel_library ek_cel_lib_sets = {
    .name = "cel.lib.ext.sets",
    .functions = functions,
};
