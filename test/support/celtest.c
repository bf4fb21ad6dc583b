/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/celtest.h"

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"

#define PLENTY ((size_t)64 * 1024 * 1024)

static struct ek_cel_env *environment(enum ek_cel_env_set set)
{
    struct ek_err err = {0};
    struct ek_cel_env *env = ek_cel_env_new(&(struct ek_cel_env_options){.set = set}, &err);

    ck_assert_msg(env != NULL, "%s", err.message);
    ck_assert_msg(ek_cel_env_declare(env, "object", "dyn", &err) == 0, "%s", err.message);
    return env;
}

static void put_result(const struct ek_cel_result *result, struct ek_buf *out)
{
    if (result->value.kind == EK_CEL_ERROR) {
        ek_buf_printf(out, "eval: %s", result->value.fault->message);
        return;
    }
    ek_cel_format(&result->value, out);
    ek_buf_printf(out, " cost %" PRIu64, result->cost);
}

char *ek_celtest(enum ek_cel_env_set set, const char *expr, const char *json)
{
    EK_AUTO(ek_cel_issues) issues = {0};
    struct ek_cel_env *env = environment(set);
    struct ek_cel_program *program = ek_cel_compile(env, expr, strlen(expr), NULL, &issues);
    struct ek_arena *arena = ek_arena_new(PLENTY);
    yyjson_doc *doc = json ? yyjson_read(json, strlen(json), 0) : NULL;
    struct ek_cel_val object = doc ? ek_cel_from_json(yyjson_doc_get_root(doc)) : ek_cel_null();
    struct ek_cel_result result;
    struct ek_buf out;

    ek_buf_init(&out, PLENTY);
    if (program) {
        ek_cel_eval(program, &object, arena, &(struct ek_cel_limits){.cost = 1000000}, &result);
        put_result(&result, &out);
    } else {
        ek_buf_printf(&out, "compile: %s", issues.len ? issues.list[0].message : "");
    }
    yyjson_doc_free(doc);
    ek_arena_free(arena);
    ek_cel_program_unref(program);
    ek_cel_env_unref(env);
    return ek_buf_steal(&out);
}

void ek_celtest_starve(enum ek_cel_env_set set, const char *expr)
{
    EK_AUTOFREE char *want = ek_celtest(set, expr, NULL);
    struct ek_cel_env *env = environment(set);
    struct ek_cel_program *program = ek_cel_compile(env, expr, strlen(expr), NULL, NULL);
    struct ek_cel_val object = ek_cel_null();
    bool enough = false;

    ck_assert_msg(program != NULL, "%s: %s", expr, want);
    for (size_t limit = 16; !enough && limit < PLENTY; limit += limit / 16 + 8) {
        struct ek_arena *arena = ek_arena_new(limit);
        struct ek_cel_result result;

        ek_cel_eval(program, &object, arena, &(struct ek_cel_limits){.cost = 1000000}, &result);
        enough = result.value.kind != EK_CEL_ERROR || result.value.fault->kind != EK_CEL_E_MEMORY;
        if (enough) {
            struct ek_buf out;

            ek_buf_init(&out, PLENTY);
            put_result(&result, &out);
            ck_assert_msg(strcmp(ek_buf_str(&out), want) == 0, "%s with %zu octets: %s, not %s",
                          expr, limit, ek_buf_str(&out), want);
            ek_buf_done(&out);
        }
        ek_arena_free(arena);
    }
    ck_assert_msg(enough, "%s", expr);
    ek_cel_program_unref(program);
    ek_cel_env_unref(env);
}

static void expect(enum ek_cel_env_set set, const struct ek_celtest_row *row, const char *json,
                   size_t len)
{
    EK_AUTOFREE char *got = ek_celtest(set, row->expr, json);

    ck_assert_msg(strncmp(got, row->want, len) == 0, "%s: %s: %s, not %s", row->name, row->expr,
                  got, row->want);
}

void ek_celtest_is(enum ek_cel_env_set set, const struct ek_celtest_row *row, const char *json)
{
    expect(set, row, json, strlen(row->want) + 1);
}

void ek_celtest_begins(enum ek_cel_env_set set, const struct ek_celtest_row *row, const char *json)
{
    expect(set, row, json, strlen(row->want));
}

struct ek_cel_program *ek_celtest_compile(struct ek_cel_env *env, const char *expr)
{
    EK_AUTO(ek_cel_issues) issues = {0};
    struct ek_cel_program *program = ek_cel_compile(env, expr, strlen(expr), NULL, &issues);

    ck_assert_msg(program != NULL, "%s: %s", expr, issues.len ? issues.list[0].message : "");
    return program;
}
