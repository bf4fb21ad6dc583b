/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/lib/standard.h"

#include "api/cel/syntax/ast.h"

/* ---- Costs (cel-go 0.26, runtimecost.go) ----------------------------------------------------- */

/* A tenth of the first argument's size. */
static uint64_t cost_first(const struct ek_cel_val *args, uint32_t n,
                           const struct ek_cel_val *result)
{
    (void)n, (void)result;
    return ek_cel_cost_tenths(ek_cel_cost_size(&args[0]), 1);
}

/* A tenth of the smaller of two sizes. */
static uint64_t cost_min(const struct ek_cel_val *args, uint32_t n, const struct ek_cel_val *result)
{
    uint64_t a = ek_cel_cost_size(&args[0]), b = ek_cel_cost_size(&args[1]);

    (void)n, (void)result;
    return ek_cel_cost_tenths(a < b ? a : b, 1);
}

/* Kubernetes compares its own types at a flat price. */
static uint64_t cost_equal(const struct ek_cel_val *args, uint32_t n,
                           const struct ek_cel_val *result)
{
    return args[0].kind == EK_CEL_OPAQUE ? 1 : cost_min(args, n, result);
}

/* A tenth of what was copied. */
static uint64_t cost_sum(const struct ek_cel_val *args, uint32_t n, const struct ek_cel_val *result)
{
    (void)n, (void)result;
    return ek_cel_cost_tenths(ek_cel_cost_size(&args[0]) + ek_cel_cost_size(&args[1]), 1);
}

static uint64_t cost_contains(const struct ek_cel_val *args, uint32_t n,
                              const struct ek_cel_val *result)
{
    (void)n, (void)result;
    return ek_cel_cost_tenths(ek_cel_cost_size(&args[0]), 1) *
           ek_cel_cost_tenths(ek_cel_cost_size(&args[1]), 1);
}

/* A quarter of the pattern's length stands for its complexity. */
static uint64_t cost_matches(const struct ek_cel_val *args, uint32_t n,
                             const struct ek_cel_val *result)
{
    (void)n, (void)result;
    return ek_cel_cost_tenths(ek_cel_cost_size(&args[0]) + 1, 1) *
           ((ek_cel_cost_size(&args[1]) + 3) / 4);
}

static uint64_t cost_in_list(const struct ek_cel_val *args, uint32_t n,
                             const struct ek_cel_val *result)
{
    (void)n, (void)result;
    return ek_cel_cost_size(&args[1]);
}

/* ---- Overloads ------------------------------------------------------------------------------- */

/* Whether those of numbers of two kinds are there is a rule of the environment. */
#define ORDER(name)                                                                                \
    static const struct ek_cel_overload name[] = {                                                 \
        {.id = #name "_bool", .signature = "bool, bool -> bool"},                                  \
        {.id = #name "_int64", .signature = "int, int -> bool"},                                   \
        {.id = #name "_int64_double", .signature = "int, double -> bool"},                         \
        {.id = #name "_int64_uint64", .signature = "int, uint -> bool"},                           \
        {.id = #name "_uint64", .signature = "uint, uint -> bool"},                                \
        {.id = #name "_uint64_double", .signature = "uint, double -> bool"},                       \
        {.id = #name "_uint64_int64", .signature = "uint, int -> bool"},                           \
        {.id = #name "_double", .signature = "double, double -> bool"},                            \
        {.id = #name "_double_int64", .signature = "double, int -> bool"},                         \
        {.id = #name "_double_uint64", .signature = "double, uint -> bool"},                       \
        {.id = #name "_string", .signature = "string, string -> bool", .cost = cost_min},          \
        {.id = #name "_bytes", .signature = "bytes, bytes -> bool", .cost = cost_min},             \
        {.id = #name "_timestamp", .signature = "timestamp, timestamp -> bool"},                   \
        {.id = #name "_duration", .signature = "duration, duration -> bool"},                      \
        {0},                                                                                       \
    }

ORDER(less);
ORDER(less_equals);
ORDER(greater);
ORDER(greater_equals);

static const struct ek_cel_overload conditional[] = {
    {.id = "conditional", .signature = "bool, A, A -> A", .flags = EK_CEL_NONSTRICT},
    {0},
};

static const struct ek_cel_overload logical_and[] = {
    {.id = "logical_and", .signature = "bool, bool -> bool", .flags = EK_CEL_NONSTRICT},
    {0},
};

static const struct ek_cel_overload logical_or[] = {
    {.id = "logical_or", .signature = "bool, bool -> bool", .flags = EK_CEL_NONSTRICT},
    {0},
};

static const struct ek_cel_overload logical_not[] = {
    {.id = "logical_not", .signature = "bool -> bool"},
    {0},
};

static const struct ek_cel_overload not_strictly_false[] = {
    {.id = "not_strictly_false", .signature = "bool -> bool", .flags = EK_CEL_NONSTRICT},
    {0},
};

static const struct ek_cel_overload equals[] = {
    {.id = "equals", .signature = "A, A -> bool", .cost = cost_equal},
    {0},
};

static const struct ek_cel_overload not_equals[] = {
    {.id = "not_equals", .signature = "A, A -> bool", .cost = cost_min},
    {0},
};

static const struct ek_cel_overload add[] = {
    {.id = "add_bytes", .signature = "bytes, bytes -> bytes", .cost = cost_sum},
    {.id = "add_double", .signature = "double, double -> double"},
    {.id = "add_duration_duration", .signature = "duration, duration -> duration"},
    {.id = "add_duration_timestamp", .signature = "duration, timestamp -> timestamp"},
    {.id = "add_timestamp_duration", .signature = "timestamp, duration -> timestamp"},
    {.id = "add_int64", .signature = "int, int -> int"},
    {.id = "add_list", .signature = "list(A), list(A) -> list(A)"},
    {.id = "add_string", .signature = "string, string -> string", .cost = cost_sum},
    {.id = "add_uint64", .signature = "uint, uint -> uint"},
    {0},
};

static const struct ek_cel_overload divide[] = {
    {.id = "divide_double", .signature = "double, double -> double"},
    {.id = "divide_int64", .signature = "int, int -> int"},
    {.id = "divide_uint64", .signature = "uint, uint -> uint"},
    {0},
};

static const struct ek_cel_overload modulo[] = {
    {.id = "modulo_int64", .signature = "int, int -> int"},
    {.id = "modulo_uint64", .signature = "uint, uint -> uint"},
    {0},
};

static const struct ek_cel_overload multiply[] = {
    {.id = "multiply_double", .signature = "double, double -> double"},
    {.id = "multiply_int64", .signature = "int, int -> int"},
    {.id = "multiply_uint64", .signature = "uint, uint -> uint"},
    {0},
};

static const struct ek_cel_overload negate[] = {
    {.id = "negate_double", .signature = "double -> double"},
    {.id = "negate_int64", .signature = "int -> int"},
    {0},
};

static const struct ek_cel_overload subtract[] = {
    {.id = "subtract_double", .signature = "double, double -> double"},
    {.id = "subtract_duration_duration", .signature = "duration, duration -> duration"},
    {.id = "subtract_int64", .signature = "int, int -> int"},
    {.id = "subtract_timestamp_duration", .signature = "timestamp, duration -> timestamp"},
    {.id = "subtract_timestamp_timestamp", .signature = "timestamp, timestamp -> duration"},
    {.id = "subtract_uint64", .signature = "uint, uint -> uint"},
    {0},
};

static const struct ek_cel_overload index_[] = {
    {.id = "index_list", .signature = "list(A), int -> A"},
    {.id = "index_map", .signature = "map(A, B), A -> B"},
    {0},
};

static const struct ek_cel_overload in_[] = {
    {.id = "in_list", .signature = "A, list(A) -> bool", .cost = cost_in_list},
    {.id = "in_map", .signature = "A, map(A, B) -> bool"},
    {0},
};

static const struct ek_cel_overload size[] = {
    {.id = "size_bytes", .signature = "bytes -> int"},
    {.id = "bytes_size", .signature = "bytes -> int", .flags = EK_CEL_MEMBER},
    {.id = "size_list", .signature = "list(A) -> int"},
    {.id = "list_size", .signature = "list(A) -> int", .flags = EK_CEL_MEMBER},
    {.id = "size_map", .signature = "map(A, B) -> int"},
    {.id = "map_size", .signature = "map(A, B) -> int", .flags = EK_CEL_MEMBER},
    {.id = "size_string", .signature = "string -> int"},
    {.id = "string_size", .signature = "string -> int", .flags = EK_CEL_MEMBER},
    {0},
};

static const struct ek_cel_overload type_[] = {
    {.id = "type", .signature = "A -> type(A)"},
    {0},
};

static const struct ek_cel_overload dyn[] = {
    {.id = "to_dyn", .signature = "A -> dyn"},
    {0},
};

static const struct ek_cel_overload to_bool[] = {
    {.id = "bool_to_bool", .signature = "bool -> bool", .fn = ek_cel_fn_identity},
    {.id = "string_to_bool", .signature = "string -> bool", .fn = ek_cel_to_bool},
    {0},
};

static const struct ek_cel_overload to_bytes[] = {
    {.id = "bytes_to_bytes", .signature = "bytes -> bytes", .fn = ek_cel_fn_identity},
    {.id = "string_to_bytes",
     .signature = "string -> bytes",
     .fn = ek_cel_to_bytes,
     .cost = cost_first},
    {0},
};

static const struct ek_cel_overload to_double[] = {
    {.id = "double_to_double", .signature = "double -> double", .fn = ek_cel_fn_identity},
    {.id = "int64_to_double", .signature = "int -> double", .fn = ek_cel_to_double},
    {.id = "string_to_double", .signature = "string -> double", .fn = ek_cel_to_double},
    {.id = "uint64_to_double", .signature = "uint -> double", .fn = ek_cel_to_double},
    {0},
};

static const struct ek_cel_overload to_duration[] = {
    {.id = "duration_to_duration", .signature = "duration -> duration", .fn = ek_cel_fn_identity},
    {.id = "int64_to_duration", .signature = "int -> duration", .fn = ek_cel_to_duration},
    {.id = "string_to_duration", .signature = "string -> duration", .fn = ek_cel_to_duration},
    {0},
};

static const struct ek_cel_overload to_int[] = {
    {.id = "int64_to_int64", .signature = "int -> int", .fn = ek_cel_fn_identity},
    {.id = "double_to_int64", .signature = "double -> int", .fn = ek_cel_to_int},
    {.id = "duration_to_int64", .signature = "duration -> int", .fn = ek_cel_to_int},
    {.id = "string_to_int64", .signature = "string -> int", .fn = ek_cel_to_int},
    {.id = "timestamp_to_int64", .signature = "timestamp -> int", .fn = ek_cel_to_int},
    {.id = "uint64_to_int64", .signature = "uint -> int", .fn = ek_cel_to_int},
    {0},
};

static const struct ek_cel_overload to_string[] = {
    {.id = "string_to_string", .signature = "string -> string", .fn = ek_cel_fn_identity},
    {.id = "bool_to_string", .signature = "bool -> string", .fn = ek_cel_to_string},
    {.id = "bytes_to_string",
     .signature = "bytes -> string",
     .fn = ek_cel_to_string,
     .cost = cost_first},
    {.id = "double_to_string", .signature = "double -> string", .fn = ek_cel_to_string},
    {.id = "duration_to_string", .signature = "duration -> string", .fn = ek_cel_to_string},
    {.id = "int64_to_string", .signature = "int -> string", .fn = ek_cel_to_string},
    {.id = "timestamp_to_string", .signature = "timestamp -> string", .fn = ek_cel_to_string},
    {.id = "uint64_to_string", .signature = "uint -> string", .fn = ek_cel_to_string},
    {0},
};

static const struct ek_cel_overload to_timestamp[] = {
    {.id = "timestamp_to_timestamp",
     .signature = "timestamp -> timestamp",
     .fn = ek_cel_fn_identity},
    {.id = "int64_to_timestamp", .signature = "int -> timestamp", .fn = ek_cel_to_timestamp},
    {.id = "string_to_timestamp", .signature = "string -> timestamp", .fn = ek_cel_to_timestamp},
    {0},
};

static const struct ek_cel_overload to_uint[] = {
    {.id = "uint64_to_uint64", .signature = "uint -> uint", .fn = ek_cel_fn_identity},
    {.id = "double_to_uint64", .signature = "double -> uint", .fn = ek_cel_to_uint},
    {.id = "int64_to_uint64", .signature = "int -> uint", .fn = ek_cel_to_uint},
    {.id = "string_to_uint64", .signature = "string -> uint", .fn = ek_cel_to_uint},
    {0},
};

static const struct ek_cel_overload contains[] = {
    {.id = "contains_string",
     .signature = "string, string -> bool",
     .flags = EK_CEL_MEMBER,
     .cost = cost_contains},
    {0},
};

static const struct ek_cel_overload ends_with[] = {
    {.id = "ends_with_string",
     .signature = "string, string -> bool",
     .flags = EK_CEL_MEMBER,
     .cost = cost_first},
    {0},
};

static const struct ek_cel_overload starts_with[] = {
    {.id = "starts_with_string",
     .signature = "string, string -> bool",
     .flags = EK_CEL_MEMBER,
     .cost = cost_first},
    {0},
};

static const struct ek_cel_overload matches[] = {
    {.id = "matches", .signature = "string, string -> bool", .flags = EK_CEL_REGEX_1},
    {.id = "matches_string",
     .signature = "string, string -> bool",
     .flags = EK_CEL_MEMBER | EK_CEL_REGEX_1,
     .cost = cost_matches},
    {0},
};

static const struct ek_cel_overload full_year[] = {
    {.id = "timestamp_to_year",
     .signature = "timestamp -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_get_full_year},
    {.id = "timestamp_to_year_with_tz",
     .signature = "timestamp, string -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_get_full_year},
    {0},
};

static const struct ek_cel_overload month[] = {
    {.id = "timestamp_to_month",
     .signature = "timestamp -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_get_month},
    {.id = "timestamp_to_month_with_tz",
     .signature = "timestamp, string -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_get_month},
    {0},
};

static const struct ek_cel_overload day_of_year[] = {
    {.id = "timestamp_to_day_of_year",
     .signature = "timestamp -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_get_day_of_year},
    {.id = "timestamp_to_day_of_year_with_tz",
     .signature = "timestamp, string -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_get_day_of_year},
    {0},
};

static const struct ek_cel_overload day_of_month[] = {
    {.id = "timestamp_to_day_of_month",
     .signature = "timestamp -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_get_day_of_month},
    {.id = "timestamp_to_day_of_month_with_tz",
     .signature = "timestamp, string -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_get_day_of_month},
    {0},
};

static const struct ek_cel_overload date[] = {
    {.id = "timestamp_to_day_of_month_1_based",
     .signature = "timestamp -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_get_date},
    {.id = "timestamp_to_day_of_month_1_based_with_tz",
     .signature = "timestamp, string -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_get_date},
    {0},
};

static const struct ek_cel_overload day_of_week[] = {
    {.id = "timestamp_to_day_of_week",
     .signature = "timestamp -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_get_day_of_week},
    {.id = "timestamp_to_day_of_week_with_tz",
     .signature = "timestamp, string -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_get_day_of_week},
    {0},
};

static const struct ek_cel_overload hours[] = {
    {.id = "timestamp_to_hours",
     .signature = "timestamp -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_get_hours},
    {.id = "timestamp_to_hours_with_tz",
     .signature = "timestamp, string -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_get_hours},
    {.id = "duration_to_hours",
     .signature = "duration -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_duration_hours},
    {0},
};

static const struct ek_cel_overload minutes[] = {
    {.id = "timestamp_to_minutes",
     .signature = "timestamp -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_get_minutes},
    {.id = "timestamp_to_minutes_with_tz",
     .signature = "timestamp, string -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_get_minutes},
    {.id = "duration_to_minutes",
     .signature = "duration -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_duration_minutes},
    {0},
};

static const struct ek_cel_overload seconds[] = {
    {.id = "timestamp_to_seconds",
     .signature = "timestamp -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_get_seconds},
    {.id = "timestamp_to_seconds_tz",
     .signature = "timestamp, string -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_get_seconds},
    {.id = "duration_to_seconds",
     .signature = "duration -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_duration_seconds},
    {0},
};

static const struct ek_cel_overload milliseconds[] = {
    {.id = "timestamp_to_milliseconds",
     .signature = "timestamp -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_get_milliseconds},
    {.id = "timestamp_to_milliseconds_with_tz",
     .signature = "timestamp, string -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_get_milliseconds},
    {.id = "duration_to_milliseconds",
     .signature = "duration -> int",
     .flags = EK_CEL_MEMBER,
     .fn = ek_cel_duration_milliseconds},
    {0},
};

/* ---- Functions ------------------------------------------------------------------------------- */

static const struct ek_cel_function functions[] = {
    {.name = EK_CEL_OP_CONDITIONAL, .overloads = conditional, .singleton = ek_cel_op_none},
    {.name = EK_CEL_OP_AND, .overloads = logical_and, .singleton = ek_cel_op_none},
    {.name = EK_CEL_OP_OR, .overloads = logical_or, .singleton = ek_cel_op_none},
    {.name = EK_CEL_OP_NOT, .overloads = logical_not, .singleton = ek_cel_op_not},
    {.name = EK_CEL_OP_NOT_STRICTLY_FALSE,
     .overloads = not_strictly_false,
     .singleton = ek_cel_op_not_strictly_false},
    {.name = EK_CEL_OP_EQ, .overloads = equals, .singleton = ek_cel_op_equals},
    {.name = EK_CEL_OP_NE, .overloads = not_equals, .singleton = ek_cel_op_not_equals},
    {.name = EK_CEL_OP_ADD, .overloads = add, .singleton = ek_cel_op_add},
    {.name = EK_CEL_OP_DIV, .overloads = divide, .singleton = ek_cel_op_divide},
    {.name = EK_CEL_OP_MOD, .overloads = modulo, .singleton = ek_cel_op_modulo},
    {.name = EK_CEL_OP_MUL, .overloads = multiply, .singleton = ek_cel_op_multiply},
    {.name = EK_CEL_OP_NEGATE, .overloads = negate, .singleton = ek_cel_op_negate},
    {.name = EK_CEL_OP_SUB, .overloads = subtract, .singleton = ek_cel_op_subtract},
    {.name = EK_CEL_OP_LT, .overloads = less, .singleton = ek_cel_op_less},
    {.name = EK_CEL_OP_LE, .overloads = less_equals, .singleton = ek_cel_op_less_equals},
    {.name = EK_CEL_OP_GT, .overloads = greater, .singleton = ek_cel_op_greater},
    {.name = EK_CEL_OP_GE, .overloads = greater_equals, .singleton = ek_cel_op_greater_equals},
    {.name = EK_CEL_OP_INDEX, .overloads = index_, .singleton = ek_cel_op_none},
    {.name = EK_CEL_OP_IN, .overloads = in_, .singleton = ek_cel_op_in},
    {.name = "size", .overloads = size, .singleton = ek_cel_fn_size},
    {.name = "type", .overloads = type_, .singleton = ek_cel_fn_type},
    {.name = "bool", .overloads = to_bool},
    {.name = "bytes", .overloads = to_bytes},
    {.name = "double", .overloads = to_double},
    {.name = "duration", .overloads = to_duration},
    {.name = "dyn", .overloads = dyn, .singleton = ek_cel_fn_identity},
    {.name = "int", .overloads = to_int},
    {.name = "string", .overloads = to_string},
    {.name = "timestamp", .overloads = to_timestamp},
    {.name = "uint", .overloads = to_uint},
    {.name = "contains", .overloads = contains, .singleton = ek_cel_fn_contains},
    {.name = "endsWith", .overloads = ends_with, .singleton = ek_cel_fn_ends_with},
    {.name = "startsWith", .overloads = starts_with, .singleton = ek_cel_fn_starts_with},
    {.name = "matches", .overloads = matches, .singleton = ek_cel_fn_matches},
    {.name = "getFullYear", .overloads = full_year},
    {.name = "getMonth", .overloads = month},
    {.name = "getDayOfYear", .overloads = day_of_year},
    {.name = "getDayOfMonth", .overloads = day_of_month},
    {.name = "getDate", .overloads = date},
    {.name = "getDayOfWeek", .overloads = day_of_week},
    {.name = "getHours", .overloads = hours},
    {.name = "getMinutes", .overloads = minutes},
    {.name = "getSeconds", .overloads = seconds},
    {.name = "getMilliseconds", .overloads = milliseconds},
    {0},
};

const struct ek_cel_library ek_cel_lib_standard = {.name = "stdlib", .functions = functions};
