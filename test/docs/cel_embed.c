/* SPDX-License-Identifier: Apache-2.0 */
/* A rule with a function of one's own, held against objects: all there is to embedding CEL. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/cel/cel.h"
#include "api/cel/library.h"

static const char rule[] = "isEven(object.spec.replicas) && object.spec.replicas <= params.max";

static const char *const objects[] = {
    "{\"metadata\": {\"name\": \"a\"}, \"spec\": {\"replicas\": 2}}",
    "{\"metadata\": {\"name\": \"b\"}, \"spec\": {\"replicas\": 7}}",
    "{\"metadata\": {\"name\": \"c\"}, \"spec\": {}}",
};

/* isEven(int) -> bool. Arguments have the types of the signature, whatever the expression. */
static struct ek_cel_val is_even(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    (void)eval;
    (void)n;
    return ek_cel_bool(args[0].i % 2 == 0);
}

static const struct ek_cel_overload is_even_overloads[] = {
    {.id = "example_is_even_int", .signature = "int -> bool", .fn = is_even},
    {.id = NULL},
};
static const struct ek_cel_function functions[] = {
    {.name = "isEven", .overloads = is_even_overloads},
    {.name = NULL},
};
static const struct ek_cel_library library = {.name = "example", .functions = functions};

/* The environment: what a condition may use that is new to servers at compatibility version 1.33,
 * and our function. Variables get slots, from 0 in the order of their declaration. */
static struct ek_cel_env *make_env(struct ek_err *err)
{
    struct ek_cel_env_options options = {
        .set = EK_CEL_ENV_KUBERNETES, .mode = EK_CEL_NEW, .compat_minor = 33};
    struct ek_cel_env *env = ek_cel_env_new(&options, err);

    if (env && !ek_cel_env_add_library(env, &library, 0, err) &&
        ek_cel_env_declare(env, "object", "dyn", err) == 0 &&
        ek_cel_env_declare(env, "params", "map(string, int)", err) == 1)
        return env;
    ek_cel_env_unref(env);
    return NULL;
}

/* The program, or NULL after the reasons were printed with carets under their places. */
static struct ek_cel_program *compile(struct ek_cel_env *env)
{
    EK_AUTO(ek_cel_issues) issues = {0};
    struct ek_cel_program *program = ek_cel_compile(env, rule, strlen(rule), "bool", &issues);
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, 65536);
    if (!program && !ek_cel_issues_format(&issues, rule, strlen(rule), &text))
        fprintf(stderr, "%s\n", ek_buf_str(&text));
    return program;
}

int main(void)
{
    struct ek_err err = {0};
    struct ek_cel_env *env = make_env(&err);
    struct ek_cel_program *program = env ? compile(env) : NULL;
    struct ek_arena *arena = ek_arena_new(1 << 20); /* an evaluation may take a megabyte */
    yyjson_doc *params = yyjson_read("{\"max\": 5}", 10, 0);

    if (!env)
        fprintf(stderr, "%s\n", err.message);
    for (size_t i = 0; program && i < sizeof(objects) / sizeof(objects[0]); i++) {
        yyjson_doc *doc = yyjson_read(objects[i], strlen(objects[i]), 0);
        struct ek_cel_val vars[] = {ek_cel_from_json(yyjson_doc_get_root(doc)),
                                    ek_cel_from_json(yyjson_doc_get_root(params))};
        struct ek_cel_limits limits = {.cost = EK_CEL_PER_CALL_LIMIT};
        struct ek_cel_result result;

        ek_arena_reset(arena); /* what the last evaluation made is gone */
        if (ek_cel_eval(program, vars, arena, &limits, &result))
            printf("%zu: %s at a cost of %" PRIu64 "\n", i, result.value.b ? "yes" : "no",
                   result.cost);
        else
            printf("%zu: %s\n", i, result.value.fault->message);
        yyjson_doc_free(doc);
    }
    int code = program ? 0 : 1;
    yyjson_doc_free(params);
    ek_arena_free(arena);
    ek_cel_program_unref(program);
    ek_cel_env_unref(env);
    return code;
}
