/* SPDX-License-Identifier: Apache-2.0 */
/* What a program says of itself: the paths it reads, its type, its text; and result demands. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cel/cel.h"
#include "test/support/suite.h"

#define TEXT_MAX ((size_t)4096)

static struct ek_cel_env *env;

static void set_up(void)
{
    static const char *const names[][2] = {
        {"object", "dyn"},
        {"oldObject", "dyn"},
        {"numbers", "list(int)"},
        {"a.dotted.name", "dyn"},
    };
    struct ek_err err = {0};

    env = ek_cel_env_new(&(struct ek_cel_env_options){.set = EK_CEL_ENV_MUTATION}, &err);
    ck_assert_msg(env != NULL, "%s", err.message);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_int_eq(ek_cel_env_declare(env, names[i][0], names[i][1], &err), (int)i);
}

static void tear_down(void)
{
    ek_cel_env_unref(env);
}

static int compare(const void *a, const void *b)
{
    const struct ek_cel_read *left = a, *right = b;

    if (left->slot != right->slot)
        return left->slot < right->slot ? -1 : 1;
    return strcmp(left->path, right->path);
}

/* Paths are listed as "slot:path", in order. */
static const struct {
    const char *name, *expr, *want;
} rows[] = {
    {"nothing", "1 + 2", ""},
    {"all of a variable", "object", "0:"},
    {"a field", "object.spec.replicas", "0:spec.replicas"},
    {"two fields", "object.spec.replicas < oldObject.spec.replicas",
     "0:spec.replicas 1:spec.replicas"},
    {"what is above covers what is below", "object.spec.replicas > 0 && size(object.spec) > 0",
     "0:spec"},
    {"the same field twice", "object.a + object.a", "0:a"},
    {"has", "has(object.spec.replicas)", "0:spec.replicas"},
    {"a key that is no name", "object.metadata.labels['a.b/c']", "0:metadata.labels[\"a.b/c\"]"},
    {"a key that is a name", "object['metadata']['name']", "0:metadata.name"},
    {"a key with a quote", "object['a\"b']", "0:[\"a\\\"b\"]"},
    {"a number", "object.list[0].name", "0:list[0].name"},
    {"something computed", "object.list[size(oldObject.list)].name", "0:list[*].name 1:list"},
    {"optional fields", "object.?spec.?replicas.orValue(1)", "0:spec.replicas"},
    {"elements", "object.spec.containers.all(c, c.image != c.name)",
     "0:spec.containers[*].image 0:spec.containers[*].name"},
    {"elements of elements", "object.a.all(x, x.b.exists(y, y.c == 1))", "0:a[*].b[*].c"},
    {"whole elements", "object.a.exists(x, x == 1)", "0:a[*]"},
    {"elements that are not looked at", "object.a.map(x, 1)", "0:a[*]"},
    {"values by two variables", "object.a.all(k, v, v.b == k)", "0:a[*].b"},
    {"a ternary", "(oldObject.x ? object.a : object.b).c", "0:a.c 0:b.c 1:x"},
    {"elements of a ternary", "(oldObject.x ? object.a : object.b).all(e, e.f)",
     "0:a[*].f 0:b[*].f 1:x"},
    {"through a function", "size(object.a.b)", "0:a.b"},
    {"through a list", "[object.a][0].b", "0:a"},
    {"through a concatenation", "(object.a + object.b).all(x, x.c)", "0:a 0:b"},
    {"an optional's content", "object.?a.optMap(x, x.b)", "0:a"},
    {"a branch that is never taken", "false && object.a", "0:a"},
    {"a typed variable", "numbers.all(n, n > 0)", "2:[*]"},
    {"a dotted variable", "a.dotted.name.x", "3:x"},
    {"a shadowed variable", "[1].all(object, object == 1)", ""},
    {"an index that is an attribute", "object[oldObject.key].x", "0:[*].x 1:key"},
    {"in a struct", "Object{a: object.b.c}", "0:b.c"},
    {"in a map", "{object.k: object.v}", "0:k 0:v"},
};

START_TEST(test_reads)
{
    EK_AUTO(ek_cel_issues) issues = {0};
    EK_AUTO(ek_buf) have = {0};
    const char *expr = rows[_i].expr;
    struct ek_cel_program *program = ek_cel_compile(env, expr, strlen(expr), NULL, &issues);
    const struct ek_cel_read *reads;
    struct ek_cel_read sorted[16];

    ck_assert_msg(program != NULL, "%s: %s", rows[_i].name,
                  issues.len ? issues.list[0].message : "");
    size_t n = ek_cel_program_reads(program, &reads);
    ck_assert_uint_le(n, sizeof sorted / sizeof *sorted);
    memcpy(sorted, reads, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare);
    ek_buf_init(&have, TEXT_MAX);
    for (size_t i = 0; i < n; i++) {
        ek_buf_printf(&have, "%s%zu:%s", i ? " " : "", sorted[i].slot, sorted[i].path);
        ck_assert_msg(ek_cel_program_uses(program, sorted[i].slot), "%s", rows[_i].name);
    }
    ck_assert_msg(!strcmp(ek_buf_str(&have), rows[_i].want), "%s: %s, not %s", rows[_i].name,
                  ek_buf_str(&have), rows[_i].want);
    ck_assert(!ek_cel_program_uses(program, 4));
    ek_cel_program_unref(program);
}
END_TEST

START_TEST(test_many_paths)
{
    EK_AUTO(ek_buf) expr = {0};
    const struct ek_cel_read *reads;

    ek_buf_init(&expr, (size_t)1024 * 1024);
    for (int i = 0; i < 3000; i++)
        ek_buf_printf(&expr, "%sobject.f%d", i ? " || " : "", i);
    struct ek_cel_program *program = ek_cel_compile(env, ek_buf_str(&expr), expr.len, NULL, NULL);
    ck_assert_ptr_nonnull(program);
    ck_assert_uint_eq(ek_cel_program_reads(program, &reads), 1);
    ck_assert_str_eq(reads[0].path, "");
    ek_cel_program_unref(program);
}
END_TEST

START_TEST(test_program)
{
    static const char text[] = "numbers.map(n, string(n))";
    struct ek_cel_program *program = ek_cel_compile(env, text, strlen(text), NULL, NULL);

    ck_assert_ptr_nonnull(program);
    ck_assert_str_eq(ek_cel_program_type(program), "list(string)");
    ck_assert_str_eq(ek_cel_program_text(program), text);
    ck_assert_uint_gt(ek_cel_program_size(program), sizeof text);
    ck_assert_uint_lt(ek_cel_program_size(program), 4096);
    ck_assert_ptr_eq(ek_cel_program_ref(program), program);
    ek_cel_program_unref(program);
    ek_cel_program_unref(program);
    ek_cel_program_unref(NULL);
}
END_TEST

static const struct {
    const char *name, *expr, *want;
    bool compiles;
} demands[] = {
    {"bool", "1 < 2", "bool", true},
    {"no bool", "1 + 2", "bool", false},
    {"dyn is no bool", "object.a", "bool", false},
    {"an object", "Object{a: 1}", "Object", true},
    {"an object of another path", "Object.a{b: 1}", "Object", false},
    {"patches", "[JSONPatch{op: 'add', path: '/a'}]", "list(JSONPatch)", true},
    {"an empty list", "[]", "list(JSONPatch)", false},
    {"a ternary of lists", "object.a ? [] : [JSONPatch{op: 'a'}]", "list(JSONPatch)", true},
    {"anything", "object.a", NULL, true},
};

START_TEST(test_demand)
{
    EK_AUTO(ek_cel_issues) issues = {0};
    const char *expr = demands[_i].expr;
    struct ek_cel_program *program =
        ek_cel_compile(env, expr, strlen(expr), demands[_i].want, &issues);

    ck_assert_msg((program != NULL) == demands[_i].compiles, "%s: %s", demands[_i].name,
                  issues.len ? issues.list[0].message : "compiles");
    if (!program)
        ck_assert_msg(strstr(issues.list[0].message, "must evaluate to ") != NULL, "%s: %s",
                      demands[_i].name, issues.list[0].message);
    ek_cel_program_unref(program);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("reads");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, test_reads, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, test_many_paths);
    tcase_add_test(tc, test_program);
    tcase_add_loop_test(tc, test_demand, 0, sizeof demands / sizeof *demands);
    return ek_test_run("cel_reads", tc);
}
