/* SPDX-License-Identifier: Apache-2.0 */
/* What literals leave out, and what expressions would write, as hosts see them. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/cel/cel.h"
#include "test/support/celtest.h"
#include "test/support/suite.h"

static struct ek_cel_program *compile(const char *text)
{
    struct ek_cel_env *env =
        ek_cel_env_new(&(struct ek_cel_env_options){.set = EK_CEL_ENV_MUTATION}, NULL);
    EK_AUTO(ek_cel_issues) issues = {0};

    ck_assert_int_eq(ek_cel_env_declare(env, "object", "dyn", NULL), 0);
    struct ek_cel_program *program = ek_cel_compile(env, text, strlen(text), NULL, &issues);
    ck_assert_msg(program != NULL, "%s: %s", text, issues.len ? issues.list[0].message : "");
    ek_cel_env_unref(env);
    return program;
}

/* ---- What is left out ---- */

static const struct unset_row {
    const char *expr, *want; /* keys, blanks between */
} unset_rows[] = {
    {"{'a': 1}", ""},
    {"{?'a': optional.none()}", "\"a\""},
    {"{?'a': optional.none(), ?'b': optional.of(1), ?'c': optional.none()}", "\"a\" \"c\""},
    {"{?'a': optional.none(), 'a': 1}", ""},
    {"{'a': 1, ?'a': optional.none()}", "\"a\""},
    {"{?'a': optional.none(), ?'a': optional.none()}", "\"a\""},
    {"{?1: optional.none(), ?2: optional.none()}", "1 2"},
    {"{?object: optional.none()}", "null"},
    {"Object{?a: optional.none(), b: 1}", "\"a\""},
    {"Object{?a: optional.none(), a: 1}", ""},
    {"Object{a: 1, ?a: optional.none()}", "\"a\""},
    {"Object{a: optional.none()}", ""}, /* a value, which hosts see */
    {"true ? Object{?a: object.?b} : Object{}", "\"a\""},
    {"[1, 2].map(x, {?'a': optional.none()})[0]", "\"a\""},
    {"optional.of({?'a': optional.none()}).value()", "\"a\""},
    {"[1]", ""},
};

START_TEST(unset_row)
{
    const struct unset_row *row = &unset_rows[_i];
    struct ek_cel_program *program = compile(row->expr);
    struct ek_cel_val vars[1] = {ek_cel_null()};
    struct ek_arena *arena = ek_arena_new(1 << 20);
    struct ek_cel_result result;
    EK_AUTO(ek_buf) got;

    ek_buf_init(&got, 4096);
    bool fine = ek_cel_eval(program, vars, arena, &(struct ek_cel_limits){0}, &result);
    if (!fine)
        ek_buf_puts(&got, "error");
    for (size_t i = 0; fine && i < ek_cel_unset_len(&result.value); i++) {
        struct ek_cel_val key = ek_cel_unset_at(&result.value, i);
        ek_buf_puts(&got, i ? " " : "");
        ek_cel_format(&key, &got);
    }
    ck_assert_msg(strcmp(ek_buf_str(&got), row->want) == 0, "%s: %s, not %s", row->expr,
                  ek_buf_str(&got), row->want);
    ek_arena_free(arena);
    ek_cel_program_unref(program);
}
END_TEST

/* The language does not see it, and it costs nothing. */
static const struct {
    const char *expr, *want;
} unseen_rows[] = {
    {"size({?'a': optional.none(), 'b': 1})", "1 cost 32"},
    {"'a' in {?'a': optional.none()}", "false cost 32"},
    {"{?'a': optional.none()} == {}", "true cost 31"},
    {"{?'a': optional.none(), 'b': 1}.map(k, k)", "[\"b\"] cost 45"},
    {"has(Object{?a: optional.none()}.a)", "false cost 42"},
    {"Object{?a: optional.none()} == Object{}", "true cost 82"},
};

START_TEST(unseen_row)
{
    EK_AUTOFREE char *got = ek_celtest(EK_CEL_ENV_MUTATION, unseen_rows[_i].expr, NULL);

    ck_assert_msg(strcmp(got, unseen_rows[_i].want) == 0, "%s: %s, not %s", unseen_rows[_i].expr,
                  got, unseen_rows[_i].want);
}
END_TEST

/* ---- What is written ---- */

static const struct {
    const char *expr, *want; /* paths, blanks between; "(all)" is the whole */
} write_rows[] = {
    {"Object{}", ""},
    {"Object{spec: Object.spec{a: 1, b: object.x}}", "spec.a spec.b"},
    {"Object{spec: Object.spec{m: {}}}", "spec.m"},
    {"Object{spec: Object.spec{l: []}}", "spec.l"},
    {"Object{spec: Object.spec{l: [1, 2]}}", "spec.l[*] spec.l[*]"},
    {"Object{spec: Object.spec{l: object.l.map(x, x > 1, x)}}", "spec.l[*]"},
    {"Object{spec: Object.spec{l: object.l + [1]}}", "spec.l spec.l[*]"},
    {"Object{spec: Object.spec{?a: object.?x.optMap(v, v + 1)}}", "spec.a spec.a spec.a"},
    {"Object{spec: Object.spec{m: {'a': dyn({'b': 1}), 'c': dyn({'d.e': 2})}}}",
     "spec.m.a.b spec.m.c[\"d.e\"]"},
    {"object.b ? Object{a: 1} : Object{b: 1}", "a b"},
    {"object", "(all)"},
    {"[JSONPatch{op: 'replace', path: '/a/0/b~1c', value: 1}]", "a[*][\"b/c\"]"},
    {"[JSONPatch{op: object.op, path: '/a' + object.p, value: 1}]", "[*]"},
    {"[JSONPatch{op: 'copy', from: '/a', path: '/b'}, JSONPatch{op: 'move', from: '/c', path: "
     "'/d'}]",
     "b d c"},
    {"[JSONPatch{op: 'remove', path: object.b ? '/a' : '/b'}]", "a b"},
    {"object.l.map(x, JSONPatch{op: 'remove', path: '/a'})", "a"},
    {"[JSONPatch{op: 'replace', path: '', value: 1}]", "(all)"},
};

static void add_path(void *arg, const char *path)
{
    struct ek_buf *out = arg;

    ek_buf_printf(out, "%s%s", out->len ? " " : "", *path ? path : "(all)");
}

START_TEST(write_row)
{
    struct ek_cel_program *program = compile(write_rows[_i].expr);
    EK_AUTO(ek_buf) got;

    ek_buf_init(&got, 4096);
    ck_assert_int_eq(ek_cel_program_writes(program, add_path, &got), 0);
    ck_assert_msg(strcmp(ek_buf_str(&got), write_rows[_i].want) == 0, "%s: %s, not %s",
                  write_rows[_i].expr, ek_buf_str(&got), write_rows[_i].want);
    ek_cel_program_unref(program);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("rows");

    tcase_add_loop_test(tcase, unset_row, 0, (int)EK_ARRAY_SIZE(unset_rows));
    tcase_add_loop_test(tcase, unseen_row, 0, (int)EK_ARRAY_SIZE(unseen_rows));
    tcase_add_loop_test(tcase, write_row, 0, (int)EK_ARRAY_SIZE(write_rows));
    return ek_test_run("cel_unset", tcase);
}
