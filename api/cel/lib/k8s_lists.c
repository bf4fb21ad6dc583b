/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes' list functions. Their costs are odd and an API promise: the traversal of the first
 * argument, strings by tenths of their octets cut off (so 0 below ten), whatever the answer was
 * (apiserver/pkg/cel/library/cost.go, traversalCost). indexOf of strings shares them.
 */
#include "api/cel/values/account.h"
#include "api/cel/values/list.h"

static uint64_t traversal(const struct ek_cel_val *value, unsigned level)
{
    struct ek_cel_iter iter;
    uint64_t cost = 0;

    if (level > EK_CEL_VALUE_DEPTH_MAX)
        return 1;
    switch (value->kind) {
    case EK_CEL_STRING:
    case EK_CEL_BYTES:
        return value->n / 10;
    case EK_CEL_LIST:
        ek_cel_iter_init(&iter, value);
        while (ek_cel_iter_next(&iter))
            cost += traversal(&iter.value, level + 1);
        return cost;
    case EK_CEL_MAP:
        ek_cel_iter_init(&iter, value);
        while (ek_cel_iter_next(&iter))
            cost += traversal(&iter.key, level + 1) + traversal(&iter.value, level + 1);
        return cost;
    default:
        return 1;
    }
}

static uint64_t traversal_cost(const struct ek_cel_val *args, uint32_t n,
                               const struct ek_cel_val *result)
{
    (void)result;
    return n ? traversal(&args[0], 0) : 0;
}

/* Elements that have no order with each other pass, as long as each has one with its like. */
static struct ek_cel_val is_sorted(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                   uint32_t n)
{
    struct ek_cel_iter iter;
    struct ek_cel_val last = ek_cel_null();

    (void)n;
    ek_cel_iter_init(&iter, &args[0]);
    while (ek_cel_iter_next(&iter)) {
        if (!ek_cel_has_order(&iter.value))
            return ek_cel_no_overload(eval, NULL, &iter.value, 1);
        if (ek_cel_order(&last, &iter.value) == 1)
            return ek_cel_bool(false);
        last = iter.value;
    }
    return ek_cel_bool(true);
}

static struct ek_cel_val extreme(struct ek_cel_eval *eval, const struct ek_cel_val *list,
                                 int replaced_at, const char *name)
{
    struct ek_cel_iter iter;
    struct ek_cel_val best;
    bool any = false;

    ek_cel_iter_init(&iter, list);
    while (ek_cel_iter_next(&iter)) {
        if (!ek_cel_has_order(&iter.value))
            return ek_cel_no_overload(eval, NULL, &iter.value, 1);
        if (!any || ek_cel_order(&best, &iter.value) == replaced_at)
            best = iter.value;
        any = true;
    }
    return any ? best : ek_cel_fail(eval, "%s called on empty list", name);
}

static struct ek_cel_val min(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    (void)n;
    return extreme(eval, &args[0], 1, "min");
}

static struct ek_cel_val max(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    (void)n;
    return extreme(eval, &args[0], -1, "max");
}

/* Adds item to *sum; false when *sum has become an error. */
static bool add(struct ek_cel_eval *eval, struct ek_cel_val *sum, const struct ek_cel_val *item)
{
    const char *over = NULL;

    if (item->kind != sum->kind) {
        *sum = ek_cel_no_overload(eval, NULL, item, 1);
        return false;
    }
    switch (sum->kind) {
    case EK_CEL_INT:
    case EK_CEL_DURATION:
        if (__builtin_add_overflow(sum->i, item->i, &sum->i))
            over = "integer overflow";
        break;
    case EK_CEL_UINT:
        if (__builtin_add_overflow(sum->u, item->u, &sum->u))
            over = "unsigned integer overflow";
        break;
    default:
        sum->d += item->d;
        break;
    }
    if (over)
        *sum = ek_cel_fail(eval, "%s", over);
    return !over;
}

static struct ek_cel_val sum_from(struct ek_cel_eval *eval, const struct ek_cel_val *list,
                                  struct ek_cel_val sum)
{
    struct ek_cel_iter iter;

    ek_cel_iter_init(&iter, list);
    while (ek_cel_iter_next(&iter))
        if (!add(eval, &sum, &iter.value))
            break;
    return sum;
}

static struct ek_cel_val sum_int(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    (void)n;
    return sum_from(eval, &args[0], ek_cel_int(0));
}

static struct ek_cel_val sum_uint(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                  uint32_t n)
{
    (void)n;
    return sum_from(eval, &args[0], ek_cel_uint(0));
}

static struct ek_cel_val sum_double(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                    uint32_t n)
{
    (void)n;
    return sum_from(eval, &args[0], ek_cel_double(0));
}

static struct ek_cel_val sum_duration(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                      uint32_t n)
{
    (void)n;
    return sum_from(eval, &args[0], ek_cel_duration(0));
}

static struct ek_cel_val index_of(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                  uint32_t n)
{
    uint64_t *steps = &eval->compare_steps;
    struct ek_cel_iter iter;

    (void)n;
    ek_cel_iter_init(&iter, &args[0]);
    for (int64_t i = 0; ek_cel_iter_next(&iter); i++)
        if (ek_cel_same(&iter.value, &args[1], steps))
            return ek_cel_int(i);
    return *steps ? ek_cel_int(-1) : ek_cel_too_large(eval);
}

static struct ek_cel_val last_index_of(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                       uint32_t n)
{
    uint64_t *steps = &eval->compare_steps;
    struct ek_cel_iter iter;
    int64_t found = -1;

    (void)n;
    ek_cel_iter_init(&iter, &args[0]);
    for (int64_t i = 0; ek_cel_iter_next(&iter); i++)
        if (ek_cel_same(&iter.value, &args[1], steps))
            found = i;
    return *steps ? ek_cel_int(found) : ek_cel_too_large(eval);
}

#define IS_SORTED(type)                                                                            \
    {                                                                                              \
        .id = "list_" type "_is_sorted_bool", .signature = "list(" type ") -> bool",               \
        .flags = EK_CEL_MEMBER, .fn = is_sorted                                                    \
    }
#define MIN(type)                                                                                  \
    {                                                                                              \
        .id = "list_" type "_min_" type, .signature = "list(" type ") -> " type,                   \
        .flags = EK_CEL_MEMBER, .fn = min                                                          \
    }
#define MAX(type)                                                                                  \
    {                                                                                              \
        .id = "list_" type "_max_" type, .signature = "list(" type ") -> " type,                   \
        .flags = EK_CEL_MEMBER, .fn = max                                                          \
    }
#define SUM(type)                                                                                  \
    {                                                                                              \
        .id = "list_" #type "_sum_" #type, .signature = "list(" #type ") -> " #type,               \
        .flags = EK_CEL_MEMBER, .fn = sum_##type                                                   \
    }
#define EACH_ORDERED(ROW)                                                                          \
    ROW("int"), ROW("uint"), ROW("double"), ROW("bool"), ROW("duration"), ROW("timestamp"),        \
        ROW("string"), ROW("bytes")

static const struct ek_cel_overload is_sorted_overloads[] = {EACH_ORDERED(IS_SORTED), {0}};
static const struct ek_cel_overload min_overloads[] = {EACH_ORDERED(MIN), {0}};
static const struct ek_cel_overload max_overloads[] = {EACH_ORDERED(MAX), {0}};
static const struct ek_cel_overload sum_overloads[] = {
    SUM(int), SUM(uint), SUM(double), SUM(duration), {0},
};

static const struct ek_cel_overload index_of_overloads[] = {
    {.id = "list_a_index_of_int",
     .signature = "list(A), A -> int",
     .flags = EK_CEL_MEMBER,
     .fn = index_of},
    {0},
};

static const struct ek_cel_overload last_index_of_overloads[] = {
    {.id = "list_a_last_index_of_int",
     .signature = "list(A), A -> int",
     .flags = EK_CEL_MEMBER,
     .fn = last_index_of},
    {0},
};

static const struct ek_cel_function functions[] = {
    {.name = "isSorted", .overloads = is_sorted_overloads, .cost = traversal_cost},
    {.name = "sum", .overloads = sum_overloads, .cost = traversal_cost},
    {.name = "min", .overloads = min_overloads, .cost = traversal_cost},
    {.name = "max", .overloads = max_overloads, .cost = traversal_cost},
    {.name = "indexOf", .overloads = index_of_overloads, .cost = traversal_cost},
    {.name = "lastIndexOf", .overloads = last_index_of_overloads, .cost = traversal_cost},
    {0},
};

const struct ek_cel_library ek_cel_lib_k8s_lists = {
    .name = "kubernetes.lists",
    .functions = functions,
};
