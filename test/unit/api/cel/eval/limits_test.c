/* SPDX-License-Identifier: Apache-2.0 */
/* What bounds an evaluation: cost, budget, cancellation, memory and native stack. */
#include <check.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/cel/cel.h"
#include "test/support/celtest.h"
#include "test/support/suite.h"

#define MEGABYTE ((size_t)1024 * 1024)

static struct ek_cel_env *env;
static struct ek_arena *arena;

static void set_up(void)
{
    struct ek_err err = {0};

    env = ek_cel_env_new(&(struct ek_cel_env_options){.set = EK_CEL_ENV_MUTATION}, &err);
    ck_assert_msg(env != NULL, "%s", err.message);
    ck_assert_int_eq(ek_cel_env_declare(env, "object", "dyn", &err), 0);
    arena = ek_arena_new(MEGABYTE);
}

static void tear_down(void)
{
    ek_arena_free(arena);
    ek_cel_env_unref(env);
}

/* Evaluates expr with limits; its `object` is null. */
static struct ek_cel_result eval(const char *expr, const struct ek_cel_limits *limits)
{
    struct ek_cel_program *program = ek_celtest_compile(env, expr);
    struct ek_cel_val object = ek_cel_null();
    struct ek_cel_result result;

    ek_cel_eval(program, &object, arena, limits, &result);
    ek_cel_program_unref(program);
    return result;
}

static void expect_error(const char *name, const struct ek_cel_result *result,
                         enum ek_cel_error_kind kind)
{
    ck_assert_msg(result->value.kind == EK_CEL_ERROR, "%s: no error", name);
    ck_assert_msg(result->value.fault->kind == kind, "%s: %s", name, result->value.fault->message);
}

/* An expression of n times part, between pre and post. */
static char *repeated(const char *pre, const char *part, int n, const char *post)
{
    struct ek_buf buf;

    ek_buf_init(&buf, MEGABYTE);
    ek_buf_puts(&buf, pre);
    for (int i = 0; i < n; i++)
        ek_buf_puts(&buf, part);
    ek_buf_puts(&buf, post);
    return ek_buf_steal(&buf);
}

/* ---- Cost ------------------------------------------------------------------------------------ */

static const struct {
    const char *name, *expr;
} costly[] = {
    {"a call", "size([object, object])"},
    {"a loop", "[1, 2, 3].map(x, x * 2)"},
    {"a loop in a loop", "[1, 2, 3].map(x, [1, 2].filter(y, y > x))"},
    {"within ||", "[1, 2, 3].all(x, x > 0) || object"},
    {"an attribute at the end", "object"},
    {"a literal at the end", "[object]"},
};

START_TEST(test_cost)
{
    struct ek_cel_result all = eval(costly[_i].expr, NULL);

    ck_assert_msg(all.value.kind != EK_CEL_ERROR, "%s", costly[_i].name);
    for (uint64_t limit = 1; limit < all.cost; limit++) {
        struct ek_cel_result r = eval(costly[_i].expr, &(struct ek_cel_limits){.cost = limit});
        expect_error(costly[_i].name, &r, EK_CEL_E_COST);
        ck_assert_str_eq(r.value.fault->message, "operation cancelled: actual cost limit exceeded");
        ck_assert_msg(r.cost > limit, "%s: %" PRIu64, costly[_i].name, r.cost);
    }
    struct ek_cel_result enough = eval(costly[_i].expr, &(struct ek_cel_limits){.cost = all.cost});
    ck_assert_msg(enough.value.kind != EK_CEL_ERROR, "%s", costly[_i].name);
    ck_assert_uint_eq(enough.cost, all.cost);
}
END_TEST

START_TEST(test_cost_is_not_absorbed)
{
    static const char *const exprs[] = {
        "[1, 2, 3, 4, 5, 6, 7].map(x, [x]) == [] || true",
        "true ? [1, 2, 3, 4, 5, 6, 7].exists(x, [x] == []) || true : false",
        "[1, 2, 3, 4, 5, 6, 7].all(x, [x, x, x] == [])",
        "[1, 2, 3, 4, 5, 6, 7].exists(x, size([x, x, x]) == 9 || true)",
    };
    const struct ek_cel_limits limits = {.cost = 12};

    for (size_t i = 0; i < sizeof exprs / sizeof *exprs; i++) {
        struct ek_cel_result r = eval(exprs[i], &limits);
        expect_error(exprs[i], &r, EK_CEL_E_COST);
    }
}
END_TEST

START_TEST(test_budget)
{
    uint64_t budget = 100;
    const struct ek_cel_limits limits = {.cost = 40, .budget = &budget};

    struct ek_cel_result r = eval("[object, object]", &limits);
    ck_assert_uint_eq(r.cost, 12);
    ck_assert_uint_eq(budget, 88);
    r = eval("[[object, object], [object, object], [object, object]]", &limits);
    expect_error("the limit of one evaluation", &r, EK_CEL_E_COST);
    ck_assert_uint_lt(budget, 88);

    budget = 11;
    r = eval("[object, object]", &limits);
    expect_error("the budget", &r, EK_CEL_E_COST);
    ck_assert_uint_eq(budget, 0);
    r = eval("1", &limits);
    ck_assert_int_eq(r.value.kind, EK_CEL_INT);
    r = eval("object", &limits);
    expect_error("an empty budget", &r, EK_CEL_E_COST);
}
END_TEST

/* ---- Cancellation ---------------------------------------------------------------------------- */

struct asked {
    int times, stop_at;
};

static bool canceled(void *arg)
{
    struct asked *asked = arg;

    return ++asked->times == asked->stop_at;
}

#define LIST_1000 "lists.range(1000)"

START_TEST(test_cancel)
{
    struct asked never = {0, -1}, third = {0, 3};

    struct ek_cel_result r =
        eval(LIST_1000 ".all(x, x >= 0)",
             &(struct ek_cel_limits){.canceled = canceled, .canceled_arg = &never});
    ck_assert_int_eq(r.value.kind, EK_CEL_BOOL);
    ck_assert_int_eq(never.times, 11); /* once for making the list */

    r = eval(LIST_1000 ".all(x, x >= 0) || true",
             &(struct ek_cel_limits){.canceled = canceled, .canceled_arg = &third});
    expect_error("cancelled", &r, EK_CEL_E_CANCELED);
    ck_assert_int_eq(third.times, 3);

    never.times = 0;
    r = eval("lists.range(10).all(x, lists.range(99).all(y, y >= 0))",
             &(struct ek_cel_limits){.canceled = canceled, .canceled_arg = &never});
    ck_assert_int_eq(never.times, 10);
}
END_TEST

/* ---- Memory ---------------------------------------------------------------------------------- */

static const struct {
    const char *name, *pre, *part;
    int n;
    const char *post;
} greedy[] = {
    {"a string doubled", "['x']", ".map(x, x + x)", 40, "[0].size() > 0 || true"},
    {"a list doubled", "[[1]]", ".map(x, x + x)", 40, "[0].size() > 0 || true"},
    {"a tower of loops", "", "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(x, ", 8,
     "1))))))))"
     ".size() == 1 || true"},
    {"bytes doubled", "[b'x']", ".map(x, x + x)", 40, "[0].size() > 0 || true"},
    {"a text formatted ever longer", "['x']", ".map(x, '%s%s'.format([x, x]))", 40, " == []"},
    {"a text joined ever longer", "['x']", ".map(x, [x, x].join('-'))", 40, " == []"},
    {"a text replaced ever longer", "['x']", ".map(x, x.replace('x', 'xx'))", 40, " == []"},
    {"errors absorbed", "lists.range(100000).exists(x, [1][x + 1] == 1)", "", 0, " || true"},
};

START_TEST(test_memory)
{
    EK_AUTOFREE char *expr =
        repeated(greedy[_i].pre, greedy[_i].part, greedy[_i].n, greedy[_i].post);
    struct ek_cel_result r = eval(expr, NULL);

    expect_error(greedy[_i].name, &r, EK_CEL_E_MEMORY);
    ck_assert_msg(ek_arena_used(arena) <= MEGABYTE + 64, "%s: %zu", greedy[_i].name,
                  ek_arena_used(arena));
}
END_TEST

/* The cost that ends the comparisons. 0: the engine's own bound of steps does, after more than 20 s
 * under a sanitizer. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define COMPARISON_LIMIT 100000
#else
#define COMPARISON_LIMIT 0
#endif

/* Values that share their parts are small to hold and endless to compare. */
START_TEST(test_comparisons)
{
    static const struct {
        const char *between, *post;
    } rows[] = {{" == ", ""}, {" != ", ""}, {" in [", "]"}};
    EK_AUTOFREE char *value = repeated("[[1]]", ".map(x, [x, x, x, x, x, x, x, x, x, x])", 9, "");

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        EK_AUTOFREE char *expr = ek_xasprintf("lists.range(1000).exists(i, %s%s%s%s) || true",
                                              value, rows[i].between, value, rows[i].post);
        struct ek_cel_result r = eval(expr, &(struct ek_cel_limits){.cost = COMPARISON_LIMIT});
        expect_error(rows[i].between, &r, EK_CEL_E_COST);
        ek_arena_reset(arena);
    }
}
END_TEST

START_TEST(test_failing_allocations)
{
    static const char *const exprs[] = {
        "object.a.b == 1 || [1, 2, 3].map(x, x * 2).size() == 3",
        "'abc'.matches('[a-z]+$') && 'abc'.matches('[a-z]+' + '$')",
        "Object{a: [1].map(x, Object.a{b: string(x)})}",
        "1 in [1, 2, 3] && {'a': [1, 2]}.a[0] == 1",
        "int('x')",
        "1 +",
    };

    for (size_t i = 0; i < sizeof exprs / sizeof *exprs; i++)
        for (long n = 1, done = 0; !done; n++) {
            EK_AUTO(ek_cel_issues) issues = {0};
            struct ek_cel_val object = ek_cel_null();
            struct ek_cel_result r;

            ek_alloc_fail_after(n);
            struct ek_cel_program *program =
                ek_cel_compile(env, exprs[i], strlen(exprs[i]), NULL, &issues);
            if (program)
                ek_cel_eval(program, &object, arena, NULL, &r);
            done = ek_alloc_unfailed();
            ek_alloc_fail_after(0);
            ck_assert_msg(program || issues.len || !done, "%s", exprs[i]);
            ek_cel_program_unref(program);
            ek_arena_free(arena);
            arena = ek_arena_new(MEGABYTE);
        }
}
END_TEST

START_TEST(test_starve)
{
    static const char *const exprs[] = {
        "[1, 2, 3].map(x, [x, x * 2].map(y, string(y)))",
        "{'a': [1, 2].map(x, {'b': x}), 'c': [{'d': 1}]}",
        "['a', 'b'].transformMap(i, v, {v: i})",
        "Object{a: [1, 2].map(x, Object.a{b: x})}.a.map(o, o.b)",
        "[1, 2].exists(x, [1][x] == 1) || true",
        "[1, 2].map(x, 'a'.matches('[a-z]' + string(x)))",
    };

    for (size_t i = 0; i < sizeof exprs / sizeof *exprs; i++)
        ek_celtest_starve(EK_CEL_ENV_MUTATION, exprs[i]);
}
END_TEST

/* ---- Native stack ---------------------------------------------------------------------------- */

static const struct {
    const char *name, *pre, *core, *post;
} nested[] = {
    {"parentheses", "(", "1", ")"},
    {"lists", "[", "1", "]"},
    {"indexed lists", "[", "1", "][0]"},
    {"negations", "-(", "1", ")"},
    {"ternaries", "(true ? ", "1", " : 2)"},
    {"calls", "optional.of(", "1", ")"},
    {"loops", "[1].map(x, ", "1", ")"},
    {"exists", "[1].exists(x, ", "true", ")"},
    {"two variables", "[1].transformList(i, x, ", "1", ")"},
    {"optMap", "optional.of(1).optMap(x, ", "1", ")"},
    {"sortBy", "[1].sortBy(x, ", "1", ")[0]"},
    {"objects", "Object{a: ", "1", "}"},
    {"maps", "{'a': ", "1", "}"},
    {"mixed", "[1].map(x, (true ? (1 + (-(", "1", "))) : 1))[0]"},
};

/* Nests ever deeper until the text is refused; false when that never happens. */
static bool nest(size_t row)
{
    for (int n = 1; n < 400; n++) {
        EK_AUTOFREE char *pre = repeated("", nested[row].pre, n, nested[row].core);
        EK_AUTOFREE char *expr = repeated(pre, nested[row].post, n, "");
        struct ek_cel_program *program = ek_cel_compile(env, expr, strlen(expr), NULL, NULL);
        struct ek_cel_val object = ek_cel_null();
        struct ek_cel_result result;

        if (!program)
            return n > 10;
        ek_arena_reset(arena);
        ek_cel_eval(program, &object, arena, &(struct ek_cel_limits){.cost = 100000}, &result);
        ek_cel_program_unref(program);
    }
    return false;
}

/* The stack that parsing, checking, planning and evaluating must do with. ThreadSanitizer keeps
 * most of a megabyte of it to itself, and AddressSanitizer makes the frames of inlined functions
 * several times as large. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define STACK_SIZE (4 * MEGABYTE)
#else
#define STACK_SIZE MEGABYTE
#endif

static void *nest_thread(void *arg)
{
    size_t *row = arg;

    *row = nest(*row) ? SIZE_MAX : 0;
    return NULL;
}

START_TEST(test_stack)
{
    pthread_attr_t attr;
    pthread_t thread;
    size_t row = (size_t)_i;

    ck_assert_int_eq(pthread_attr_init(&attr), 0);
    ck_assert_int_eq(pthread_attr_setstacksize(&attr, STACK_SIZE), 0);
    ck_assert_int_eq(pthread_create(&thread, &attr, nest_thread, &row), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    ck_assert_msg(row == SIZE_MAX, "%s", nested[_i].name);
}
END_TEST

START_TEST(test_expansion)
{
    EK_AUTOFREE char *expr = repeated("optional.of(1)", ".optMap(x, x)", 60, "");
    EK_AUTO(ek_cel_issues) issues = {0};

    ck_assert_ptr_null(ek_cel_compile(env, expr, strlen(expr), NULL, &issues));
    ck_assert_uint_eq(issues.len, 1);
    ck_assert_int_eq(issues.list[0].kind, EK_CEL_E_LIMIT);
}
END_TEST

/* ---- Hosts ----------------------------------------------------------------------------------- */

static int get(void *arg, const char *name, size_t len, struct ek_cel_val *ret_value,
               uint64_t *ret_cost)
{
    static const struct ek_cel_fault fault = {.kind = EK_CEL_E_EVAL, .message = "broken"};

    (void)arg;
    *ret_cost = 50;
    if (len == 4 && !memcmp(name, "none", len))
        return 0;
    *ret_value = len == 3 ? ek_cel_error(&fault) : ek_cel_int((int64_t)len);
    return len == 3 ? -1 : 1;
}

START_TEST(test_host)
{
    static const struct {
        const char *name, *expr;
        uint64_t limit;
        const char *want;
    } rows[] = {
        {"a value", "object.five5", 0, "5 52"},
        {"each read is charged", "object.five5 + object.five5", 0, "10 105"},
        {"by an index", "object['fi' + 've5']", 0, "5 53"},
        {"has", "has(object.five5)", 0, "true 51"},
        {"none", "object.none", 0, "no such key: none 52"},
        {"an optional none", "object.?none", 0, "optional.none() 51"},
        {"an error", "object.err", 0, "broken 52"},
        {"an absorbed error", "object.err == 1 || true", 0, "true 53"},
        {"a limit", "object.five5", 20, "operation cancelled: actual cost limit exceeded 52"},
        {"a limit, not absorbed", "object.five5 == 5 || true", 20,
         "operation cancelled: actual cost limit exceeded 52"},
    };
    const struct ek_cel_host host = {.get = get};
    struct ek_cel_val object = ek_cel_host_map(&host);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ek_cel_program *program = ek_celtest_compile(env, rows[i].expr);
        struct ek_cel_result r;
        EK_AUTO(ek_buf) text = {0};

        ek_buf_init(&text, MEGABYTE);
        ek_cel_eval(program, &object, arena, &(struct ek_cel_limits){.cost = rows[i].limit}, &r);
        if (r.value.kind == EK_CEL_ERROR)
            ek_buf_puts(&text, r.value.fault->message);
        else
            ek_cel_format(&r.value, &text);
        ek_buf_printf(&text, " %" PRIu64, r.cost);
        ck_assert_msg(!strcmp(ek_buf_str(&text), rows[i].want), "%s: %s, not %s", rows[i].name,
                      ek_buf_str(&text), rows[i].want);
        ek_cel_program_unref(program);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("limits");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, test_cost, 0, sizeof costly / sizeof *costly);
    tcase_add_test(tc, test_cost_is_not_absorbed);
    tcase_add_test(tc, test_budget);
    tcase_add_test(tc, test_cancel);
    tcase_add_loop_test(tc, test_memory, 0, sizeof greedy / sizeof *greedy);
    tcase_add_test(tc, test_comparisons);
    tcase_add_test(tc, test_failing_allocations);
    tcase_add_test(tc, test_starve);
    tcase_add_loop_test(tc, test_stack, 0, sizeof nested / sizeof *nested);
    tcase_add_test(tc, test_expansion);
    tcase_add_test(tc, test_host);
    return ek_test_run("cel_limits", tc);
}
