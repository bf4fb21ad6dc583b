/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel cel`: one CEL expression, evaluated or looked at, without a cluster. */
#include <stdio.h>
#include <string.h>

#include "controller/cli/commands.h"
#include "controller/cli/compat.h"
#include "controller/commands/cel-internal.h"

#define MEMORY_MAX ((size_t)128 << 20)

static int complain(const struct ek_err *err)
{
    ek_complain(err);
    return EK_CEL_EXIT_USAGE;
}

/* What a variable that was not given stands for: null where admission has it so. */
static bool may_lack(const char *name, const struct ek_cel_inputs *inputs)
{
    if (!strcmp(name, "oldObject"))
        return ek_cel_inputs_find(inputs, "object") != NULL;
    return !strcmp(name, "namespaceObject");
}

/* Values per slot; returns 0, or EK_E_INVAL with err when one is read that was not given. */
static int bind(const struct ek_cel_env *env, const struct ek_cel_program *program,
                const struct ek_cel_inputs *inputs, struct ek_cel_val *vars, struct ek_err *err)
{
    for (size_t slot = 0; slot < ek_cel_env_slots(env); slot++) {
        const char *name = ek_cel_env_slot_name(env, slot);
        const struct ek_cel_given *given = ek_cel_inputs_find(inputs, name);
        const char *flag = ek_cel_flag_for(name);

        vars[slot] = given ? ek_cel_from_json(yyjson_doc_get_root(given->doc)) : ek_cel_null();
        if (given || !ek_cel_program_uses(program, slot) || may_lack(name, inputs))
            continue;
        if (!strncmp(name, "authorizer", 10))
            return ek_err_set(err, EK_E_INVAL,
                              "the expression uses the authorizer, which only a server provides");
        return ek_err_set(err, EK_E_INVAL,
                          "the expression reads %s, which was not given: use %s%s%s%s", name,
                          flag ? flag : "--var ", flag ? "" : name, flag ? " " : "=", "FILE");
    }
    return 0;
}

/* Evaluates and returns the arena that the result lives in, NULL with err when a variable lacks. */
static struct ek_arena *evaluate(const struct ek_cel_options *options, const struct ek_cel_env *env,
                                 const struct ek_cel_program *program,
                                 const struct ek_cel_inputs *inputs, struct ek_cel_result *ret,
                                 struct ek_err *err)
{
    size_t slots = ek_cel_env_slots(env);
    struct ek_cel_val *vars = ek_xalloc((slots + 1) * sizeof(*vars));
    struct ek_cel_limits limits = {.cost = (uint64_t)options->cost_limit};
    struct ek_arena *arena = NULL;

    if (!bind(env, program, inputs, vars, err)) {
        arena = ek_arena_new(MEMORY_MAX);
        ek_cel_eval(program, vars, arena, &limits, ret);
    }
    ek_free(vars);
    return arena;
}

static int eval(const struct ek_cel_options *options, const struct ek_cel_env *env,
                const struct ek_cel_program *program, const struct ek_cel_inputs *inputs)
{
    struct ek_cel_result result;
    struct ek_err err = {0};
    struct ek_arena *arena = evaluate(options, env, program, inputs, &result, &err);

    if (!arena)
        return complain(&err);
    int code = ek_cel_show_result(options, inputs, program, &result);
    ek_arena_free(arena);
    return code;
}

/* The cost is known when all that is read was given, and the evaluation ends well. */
static int check(const struct ek_cel_options *options, const struct ek_cel_env *env,
                 const struct ek_cel_program *program, const struct ek_cel_inputs *inputs)
{
    struct ek_cel_result result;
    struct ek_arena *arena = evaluate(options, env, program, inputs, &result, NULL);
    bool known = arena && result.value.kind != EK_CEL_ERROR;
    int code = ek_cel_show_facts(options, inputs, env, program, known ? &result : NULL);

    ek_arena_free(arena);
    return code;
}

static int with_inputs(const struct ek_cel_options *options, const struct ek_cel_inputs *inputs,
                       bool only_check)
{
    EK_AUTO(ek_cel_issues) issues = {0};
    struct ek_err err = {0};
    enum ek_cel_env_mode mode = !strcmp(options->mode, "new") ? EK_CEL_NEW : EK_CEL_STORED;
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env =
        ek_cel_inputs_env(options, inputs, ek_compat_minor(options->compat), mode, &err);

    if (!env)
        return complain(&err);
    EK_AUTOPTR(ek_cel_program, ek_cel_program_unref) *program = ek_cel_compile(
        env, inputs->text, inputs->len, *options->type ? options->type : NULL, &issues);
    if (!program) {
        ek_cel_show_issues(options, inputs, &issues);
        return EK_EXIT_FAILED;
    }
    return only_check ? check(options, env, program, inputs) : eval(options, env, program, inputs);
}

static int run(void *parsed, char **args, int n_args)
{
    const struct ek_cel_options *options = parsed;
    EK_AUTO(ek_cel_inputs) inputs = {0};
    struct ek_err err = {0};
    bool only_check = n_args > 0 && !strcmp(args[0], "check");

    if (n_args < 1 || (!only_check && strcmp(args[0], "eval") != 0)) {
        ek_err_set(&err, EK_E_INVAL,
                   "say what to do: \"evenkeel cel eval EXPR\" or \"evenkeel cel "
                   "check EXPR\"");
        return complain(&err);
    }
    if (options->policies.n) {
        if (!only_check)
            ek_err_set(&err, EK_E_INVAL, "--policy is for \"evenkeel cel check\"");
        int code =
            only_check ? ek_cel_check_policies(options, n_args > 1 ? args[1] : NULL, &err) : -1;
        return code < 0 ? complain(&err) : code;
    }
    if (ek_cel_inputs_read(options, n_args > 1 ? args[1] : NULL, &inputs, &err))
        return complain(&err);
    return with_inputs(options, &inputs, only_check);
}

static int check_limit(const char *value, struct ek_err *err)
{
    return *value != '-' ? 0 : ek_err_set(err, EK_E_INVAL, "%s is below zero", value);
}

static const struct ek_flag variable_flags[] = {
    {.name = "object",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_cel_options, paths[EK_CEL_FLAG_OBJECT]),
     .help = "`FILE` with the variable object, in JSON or YAML"},
    {.name = "old-object",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_cel_options, paths[EK_CEL_FLAG_OLD_OBJECT]),
     .help = "`FILE` with the variable oldObject; by default null if --object is given"},
    {.name = "params",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_cel_options, paths[EK_CEL_FLAG_PARAMS]),
     .help = "`FILE` with the variable params"},
    {.name = "request",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_cel_options, paths[EK_CEL_FLAG_REQUEST]),
     .help = "`FILE` with the variable request, as in an AdmissionReview"},
    {.name = "namespace-object",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_cel_options, paths[EK_CEL_FLAG_NAMESPACE_OBJECT]),
     .help = "`FILE` with the variable namespaceObject; by default null"},
    {.name = "var",
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_cel_options, vars),
     .help = "Set a variable to the JSON or YAML value in a file: `name=FILE`; may be repeated"},
    {.name = "set",
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_cel_options, sets),
     .help = "Set a variable to a JSON value, or to a string if the value is not JSON: "
             "`name=value`; may be repeated"},
};

static const struct ek_flag flags[] = {
    {.name = "file",
     .letter = 'f',
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_cel_options, file),
     .help = "Read the expression from `FILE`"},
    {.name = "policy",
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_cel_options, policies),
     .help = "Check the expressions of the admission policies in a `FILE` or folder, or - for the "
             "standard input, instead of one expression; may be repeated"},
    {.name = "output",
     .letter = 'o',
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_cel_options, output),
     .initial = "text",
     .choices = {"text", "json", "yaml"},
     .help = "Output `format`"},
    {.name = "env",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_cel_options, env),
     .initial = "mutation",
     .choices = {"kubernetes", "mutation", "standard"},
     .help = "Libraries and types that the expression may use, by `environment`: those of match "
             "conditions and validations (kubernetes), the same with Object and JSONPatch "
             "(mutation), or every library (standard)"},
    EK_COMPAT_FLAG(struct ek_cel_options, compat, "the newest known version"),
    {.name = "mode",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_cel_options, mode),
     .initial = "new",
     .choices = {"new", "stored"},
     .help = "`mode` of the check: new to API servers of that version, or stored by them; a stored "
             "expression may use all that the API servers know"},
    {.name = "type",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_cel_options, type),
     .help = "Required `type` of the result, such as bool"},
    {.name = "cost",
     .type = EK_FLAG_BOOL,
     .offset = offsetof(struct ek_cel_options, cost),
     .help = "Print the cost of the evaluation to stderr (JSON and YAML output always contains the "
             "cost)"},
    {.name = "cost-limit",
     .type = EK_FLAG_INT,
     .offset = offsetof(struct ek_cel_options, cost_limit),
     .initial = "1000000",
     .help = "End an evaluation that costs more than `n`; 0 means no limit",
     .check = check_limit},
};
static const struct ek_flag_group variable_group = {"Variables", variable_flags,
                                                    EK_ARRAY_SIZE(variable_flags)};
static const struct ek_flag_group group = {"Flags", flags, EK_ARRAY_SIZE(flags)};
static const struct ek_flag_group *const groups[] = {&variable_group, &group};

static int run_cel(void *unused, int argc, char **argv)
{
    struct ek_cel_options options = {0};
    (void)unused;
    return ek_command_run(&ek_cel_command, argc, argv, &options, run);
}

const struct ek_command ek_cel_command = {
    .name = "cel",
    .usage = "eval|check EXPR|-",
    .words = {"eval", "check"},
    .summary = "Evaluate or check a CEL expression as a Kubernetes API server would",
    .text = "eval prints the value: strings as they are, other values as JSON. check prints the "
            "type of the expression, the variables and paths that it reads, its cost if all "
            "variables are given, and the oldest version that accepts the expression as a new one. "
            "With --policy, check compiles each expression of the policies in its place: match "
            "conditions without variables, variables and all others with the variables before "
            "them. Without EXPR, use --file. The argument - means the standard input, for the "
            "expression "
            "or for one FILE. Put -- before an EXPR that begins with a minus sign.\n\n  evenkeel "
            "cel eval 'object.spec.replicas > 2' --object deploy.yaml\n  kubectl get deploy web -o "
            "json | evenkeel cel eval object.metadata.name --object -\n  evenkeel cel check '[3, "
            "1].sort()' --compat 1.33\n  evenkeel cel check --policy policies/ -o "
            "json\n\nErrors in the expression are printed to stderr with their "
            "position. With -o json or -o yaml they are part of the output.\n\nExit codes: 0 "
            "success, 1 the expression does not compile or its evaluation failed, 2 a flag, an "
            "argument or a file is invalid.",
    .groups = groups,
    .n_groups = EK_ARRAY_SIZE(groups),
    .max_args = 2,
    .usage_exit = EK_CEL_EXIT_USAGE,
    .run = run_cel,
};
