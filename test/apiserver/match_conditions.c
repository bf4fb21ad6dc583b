/* SPDX-License-Identifier: Apache-2.0 */
/* Match conditions of webhooks: CEL over object, oldObject and request, evaluated by our own engine
 * in the newest version. authorizer is not known here. */
#include "api/base/arena.h"
#include "api/cel/cel.h"
#include "api/obj.h"
#include "test/apiserver/server-internal.h"

#define ARENA_MAX ((size_t)16 << 20)

enum slot { OBJECT, OLD_OBJECT, REQUEST, SLOTS };

static struct ek_cel_env *make_env(void)
{
    static const char *const names[SLOTS] = {"object", "oldObject", "request"};
    struct ek_cel_env *env = ek_cel_env_new(&(struct ek_cel_env_options){0}, NULL);

    for (size_t i = 0; env && i < SLOTS; i++)
        ek_cel_env_declare(env, names[i], "dyn", NULL);
    return env;
}

/* 1: it holds, 0: it does not, below: it fails. */
static int holds(struct ek_cel_env *env, const char *text, const struct ek_cel_val vars[SLOTS])
{
    const struct ek_cel_limits limits = {.cost = EK_CEL_MATCH_CONDITION_BUDGET};
    struct ek_cel_program *program = ek_cel_compile(env, text, strlen(text), "bool", NULL);
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    struct ek_cel_result result;
    int is = EK_E_INVAL;

    if (program && ek_cel_eval(program, vars, arena, &limits, &result) &&
        result.value.kind == EK_CEL_BOOL)
        is = result.value.b;
    ek_cel_program_unref(program);
    ek_arena_free(arena);
    return is;
}

int ek_match_conditions(yyjson_val *conditions, const char *review, struct ek_err *err)
{
    EK_AUTOFREE char *text = ek_xasprintf("{%s}", review);
    struct ek_cel_env *env;
    size_t index, max;
    yyjson_val *condition;
    int all = 1;

    if (yyjson_arr_size(conditions) == 0)
        return 1;
    yyjson_doc *doc = ek_json_parse(text, strlen(text), err);
    yyjson_val *root = yyjson_doc_get_root(doc);
    env = doc ? make_env() : NULL;
    if (!env) {
        yyjson_doc_free(doc);
        return EK_E_PARSE;
    }
    const struct ek_cel_val vars[SLOTS] = {
        [OBJECT] = ek_cel_from_json(yyjson_obj_get(root, "object")),
        [OLD_OBJECT] = ek_cel_from_json(yyjson_obj_get(root, "oldObject")),
        [REQUEST] = ek_cel_from_json(root)};
    /* One that does not hold goes before one that fails. */
    yyjson_arr_foreach(conditions, index, max, condition)
    {
        const char *expression = ek_json_str(condition, "expression", NULL);
        int is = holds(env, expression ? expression : "", vars);
        if (is == 0 || all == 1)
            all = is;
        if (is < 0 && all < 0)
            ek_err_set(err, is, "match condition \"%.100s\" fails",
                       ek_json_str(condition, "name", NULL));
        if (is == 0)
            break;
    }
    ek_cel_env_unref(env);
    yyjson_doc_free(doc);
    return all;
}
