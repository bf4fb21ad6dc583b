/* SPDX-License-Identifier: Apache-2.0 */
/* One program, evaluated by several threads at the same time. */
#include <check.h>
#include <pthread.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/cel/cel.h"
#include "test/support/celtest.h"
#include "test/support/suite.h"

#define MEGABYTE ((size_t)1024 * 1024)

#define THREADS 4

struct shared {
    struct ek_cel_program *program;
    struct ek_cel_val object;
    const char *want;
    bool same;
};

static void *evaluate_often(void *arg)
{
    struct shared *shared = arg;
    struct ek_arena *own = ek_arena_new(MEGABYTE);
    struct ek_cel_program *program = ek_cel_program_ref(shared->program);

    for (int i = 0; i < 300; i++) {
        EK_AUTO(ek_buf) text = {0};
        struct ek_cel_result result;

        ek_buf_init(&text, MEGABYTE);
        ek_arena_reset(own);
        ek_cel_eval(program, &shared->object, own, NULL, &result);
        ek_cel_format(&result.value, &text);
        shared->same &= !strcmp(ek_buf_str(&text), shared->want);
    }
    ek_cel_program_unref(program);
    ek_arena_free(own);
    return NULL;
}

START_TEST(test_threads)
{
    static const char json[] = "{\"a\":[{\"image\":\"x:v1\"},{\"image\":\"y:v22\"}]}";
    struct ek_err err = {0};
    struct ek_cel_env *env =
        ek_cel_env_new(&(struct ek_cel_env_options){.set = EK_CEL_ENV_MUTATION}, &err);
    ck_assert_msg(env != NULL, "%s", err.message);
    ck_assert_int_eq(ek_cel_env_declare(env, "object", "dyn", &err), 0);
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    struct ek_cel_program *program = ek_celtest_compile(
        env,
        "object.a.filter(c, c.image.matches('v[0-9]{2}$')).map(c, c.image + string(size(object)))");
    pthread_t threads[THREADS];
    struct shared shared[THREADS];

    for (int i = 0; i < THREADS; i++) {
        shared[i] = (struct shared){program, ek_cel_from_json(yyjson_doc_get_root(doc)),
                                    "[\"y:v221\"]", true};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, evaluate_often, &shared[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert(shared[i].same);
    }
    ek_cel_program_unref(program);
    ek_cel_env_unref(env);
    yyjson_doc_free(doc);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("threads");

    tcase_add_test(tc, test_threads);
    return ek_test_run("cel_threads", tc);
}
