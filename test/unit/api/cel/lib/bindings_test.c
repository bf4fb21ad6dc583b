/* SPDX-License-Identifier: Apache-2.0 */
/* What a host binds: values that could not be had, more variables than a word has bits, lists that
 * a call refuses for their cost. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/cel/cel.h"
#include "test/support/celtest.h"
#include "test/support/suite.h"

#define MEGABYTE    ((size_t)1024 * 1024)
#define N_VARIABLES 130

static struct ek_cel_env *env;
static struct ek_arena *arena;
static struct ek_cel_val vars[N_VARIABLES];

/* v0, v1, ... of which each is its number. */
static void set_up(void)
{
    struct ek_err err = {0};

    env = ek_cel_env_new(&(struct ek_cel_env_options){.set = EK_CEL_ENV_KUBERNETES}, &err);
    ck_assert_msg(env != NULL, "%s", err.message);
    for (int i = 0; i < N_VARIABLES; i++) {
        char name[16];
        snprintf(name, sizeof name, "v%d", i);
        ck_assert_int_eq(ek_cel_env_declare(env, name, "dyn", &err), i);
        vars[i] = ek_cel_int(i);
    }
    arena = ek_arena_new(MEGABYTE);
}

static void tear_down(void)
{
    ek_arena_free(arena);
    ek_cel_env_unref(env);
}

/* The value as text: "7", "true", "error: why". */
static const char *shown(const struct ek_cel_result *result)
{
    static char text[256];

    switch (result->value.kind) {
    case EK_CEL_ERROR:
        snprintf(text, sizeof text, "error: %s", result->value.fault->message);
        break;
    case EK_CEL_BOOL:
        snprintf(text, sizeof text, "%s", result->value.b ? "true" : "false");
        break;
    case EK_CEL_INT:
        snprintf(text, sizeof text, "%" PRId64, result->value.i);
        break;
    default:
        snprintf(text, sizeof text, "kind %d", result->value.kind);
    }
    return text;
}

/* ---- Values that could not be had ---- */

/* v1 is an error. */
static const struct {
    const char *name, *expr, *want;
} unread_rows[] = {
    {"the value itself", "v1", "error: it could not be read"},
    {"not asked for", "v2 + 1", "3"},
    {"asked for in vain", "v2 == 2 || v1 == 1", "true"},
    {"first, and in vain", "v1 == 1 || v2 == 2", "true"},
    {"neither is enough", "v1 == 1 || v2 == 3", "error: it could not be read"},
    {"and", "v1 == 1 && v2 == 3", "false"},
    {"the arm that is not taken", "v2 == 2 ? 7 : v1", "7"},
    {"the condition", "v1 ? 1 : 2", "error: it could not be read"},
    {"a field of it", "v1.spec.replicas", "error: it could not be read"},
    {"whether it has one", "has(v1.spec)", "error: it could not be read"},
    {"an optional field", "v1.?spec.hasValue()", "error: it could not be read"},
    {"an element", "v1[0]", "error: it could not be read"},
    {"an index", "[1, 2][v1]", "error: it could not be read"},
    {"in a list", "size([v1])", "error: it could not be read"},
    {"in a map", "size({'a': v1})", "error: it could not be read"},
    {"an operand", "v1 + 1", "error: it could not be read"},
    {"compared", "v1 == v1", "error: it could not be read"},
    {"an argument", "string(v1)", "error: it could not be read"},
    {"what is gone through", "v1.all(x, x > 0)", "error: it could not be read"},
    {"once in a loop", "[1, 2].exists(x, x == v1 || x == 2)", "true"},
    {"each time in a loop", "[1, 2].all(x, x == v1)", "error: it could not be read"},
};

START_TEST(what_could_not_be_had)
{
    static const struct ek_cel_fault fault = {.kind = EK_CEL_E_EVAL,
                                              .message = "it could not be read"};
    struct ek_cel_program *program = ek_celtest_compile(env, unread_rows[_i].expr);
    struct ek_cel_result result;

    vars[1] = ek_cel_error(&fault);
    bool ok = ek_cel_eval(program, vars, arena, NULL, &result);
    ck_assert_msg(!strcmp(shown(&result), unread_rows[_i].want), "%s: %s", unread_rows[_i].name,
                  shown(&result));
    ck_assert_msg(ok == (result.value.kind != EK_CEL_ERROR), "%s", unread_rows[_i].name);
    ek_cel_program_unref(program);
}
END_TEST

/* ---- Many variables ---- */

START_TEST(more_variables_than_bits)
{
    static const int used[] = {0, 1, 62, 63, 64, 65, 127, 128, 129};
    const struct ek_cel_read *reads;
    struct ek_cel_result result;
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, 4096);
    ek_buf_puts(&text, "0");
    for (size_t i = 0; i < EK_ARRAY_SIZE(used); i++)
        ek_buf_printf(&text, " + v%d", used[i]);
    struct ek_cel_program *program = ek_celtest_compile(env, ek_buf_str(&text));
    ck_assert(ek_cel_eval(program, vars, arena, NULL, &result));
    ck_assert_str_eq(shown(&result), "639");
    ck_assert_uint_eq(ek_cel_program_reads(program, &reads), EK_ARRAY_SIZE(used));
    for (size_t slot = 0, k = 0; slot < N_VARIABLES; slot++) {
        bool want = k < EK_ARRAY_SIZE(used) && (int)slot == used[k];
        ck_assert_msg(ek_cel_program_uses(program, slot) == want, "%zu", slot);
        k += want;
    }
    ek_cel_program_unref(program);
}
END_TEST

/* Lazy ones that are read but not needed, beyond a word. */
START_TEST(each_alone)
{
    for (int i = 0; i < N_VARIABLES; i++) {
        char expr[64], want[16];
        struct ek_cel_result result;
        snprintf(expr, sizeof expr, "[1].map(x, v%d)[0]", i);
        snprintf(want, sizeof want, "%d", i);
        struct ek_cel_program *program = ek_celtest_compile(env, expr);
        ek_cel_eval(program, vars, arena, NULL, &result);
        ck_assert_str_eq(shown(&result), want);
        for (size_t slot = 0; slot < N_VARIABLES; slot++)
            ck_assert_int_eq(ek_cel_program_uses(program, slot), (int)slot == i);
        ek_cel_program_unref(program);
        ek_arena_reset(arena);
    }
}
END_TEST

/* ---- The cost of a call that was refused ---- */

static struct ek_cel_result cost_of(const char *expr, uint64_t limit)
{
    const struct ek_cel_limits limits = {.cost = limit};
    struct ek_cel_program *program = ek_celtest_compile(env, expr);
    struct ek_cel_result result;

    ek_arena_reset(arena);
    ek_cel_eval(program, vars, arena, &limits, &result);
    ek_cel_program_unref(program);
    return result;
}

/* Calls whose work depends on their lists look whether it is paid for before they do it. What they
 * would have cost is reported, so that the limit can be chosen. */
static const struct {
    const char *name, *expr;
    uint64_t whole; /* what it costs */
    uint64_t work;  /* of which the call announces at once */
} refused_rows[] = {
    {"indexOf", "[1, 2, 3, 4, 5, 6, 7, 8].indexOf(9)", 8, 8},
    {"distinct", "[1, 2, 3, 4, 5, 6, 7, 8].distinct()", 139, 128},
    {"contains", "sets.contains([1, 2, 3, 4], [5, 6, 7, 8])", 17, 16},
    {"intersects", "sets.intersects([1, 2, 3, 4], [5, 6, 7, 8])", 17, 16},
    {"equivalent", "sets.equivalent([1, 2, 3, 4], [5, 6, 7, 8])", 33, 32},
    {"after other work", "v1 + v2 == 3 && [v1, v2, v3, v4].indexOf(v9) == -1", 24, 4},
};

START_TEST(a_refused_call_tells_its_cost)
{
    const char *name = refused_rows[_i].name, *expr = refused_rows[_i].expr;
    uint64_t whole = cost_of(expr, 0).cost;

    ck_assert_msg(whole == refused_rows[_i].whole, "%s: %" PRIu64, name, whole);
    for (uint64_t limit = 1; limit <= whole; limit++) {
        struct ek_cel_result result = cost_of(expr, limit);
        if (limit == whole) {
            ck_assert_msg(result.value.kind != EK_CEL_ERROR && result.cost == whole, "%s", name);
            continue;
        }
        ck_assert_msg(result.value.kind == EK_CEL_ERROR &&
                          result.value.fault->kind == EK_CEL_E_COST,
                      "%s: %" PRIu64 ": %s", name, limit, shown(&result));
        ck_assert_msg(result.cost > limit && result.cost <= whole, "%s: %" PRIu64 ": %" PRIu64,
                      name, limit, result.cost);
    }
    /* Just too little for the call: all announced work is reported. */
    ck_assert_uint_ge(cost_of(expr, whole - refused_rows[_i].work).cost, refused_rows[_i].work);
}
END_TEST

/* It lowers a budget that evaluations share to nothing, and no further. */
START_TEST(a_refused_call_ends_a_budget)
{
    uint64_t budget = 100;
    const struct ek_cel_limits limits = {.budget = &budget};
    struct ek_cel_program *program = ek_celtest_compile(env, refused_rows[1].expr);
    struct ek_cel_result result;

    ck_assert(!ek_cel_eval(program, vars, arena, &limits, &result));
    ck_assert_uint_eq(budget, 0);
    ck_assert_uint_eq(result.cost, 128);
    ek_cel_program_unref(program);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("bindings");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, what_could_not_be_had, 0, EK_ARRAY_SIZE(unread_rows));
    tcase_add_test(tc, more_variables_than_bits);
    tcase_add_test(tc, each_alone);
    tcase_add_loop_test(tc, a_refused_call_tells_its_cost, 0, EK_ARRAY_SIZE(refused_rows));
    tcase_add_test(tc, a_refused_call_ends_a_budget);
    return ek_test_run("cel_bindings", tc);
}
