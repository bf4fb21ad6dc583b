/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions, in two shapes. Cases of Kubernetes ask an environment with the variables of the
 * file that --vars names; conformance cases bring their own world and ask the standard one.
 */
#include <stdio.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/cel/cel.h"
#include "api/obj.h"
#include "test/vectors/cel.h"
#include "test/vectors/vectors.h"

#define MEMORY_MAX  ((size_t)256 << 20)
#define VARS_MAX    64
#define FILE_MAX    ((size_t)64 << 20)
#define MESSAGE_MAX 200 /* characters of a message that are printed */

struct state {
    yyjson_doc *vars; /* NULL without --vars */
    struct ek_cel_env *env;
    struct ek_arena *arena, *world; /* of an evaluation; of a conformance case */
    struct ek_cel_val values[VARS_MAX];
};

/* ---- Cases of Kubernetes ---- */

static yyjson_doc *read_vars(const char *path)
{
    EK_AUTO(ek_buf) text;
    char chunk[4096];
    size_t n;
    struct ek_err err = {0};
    FILE *file = fopen(path, "r");

    ek_buf_init(&text, FILE_MAX);
    if (!file) {
        perror(path);
        return NULL;
    }
    while ((n = fread(chunk, 1, sizeof(chunk), file)) > 0)
        ek_buf_append(&text, chunk, n);
    fclose(file);
    yyjson_doc *doc = ek_json_parse(ek_buf_str(&text), text.len, &err);
    if (!doc)
        fprintf(stderr, "ek-vectors: %s: %s\n", path, err.message);
    return doc;
}

static const struct {
    const char *name, *type;
} admission[] = {
    {"request", "kubernetes.AdmissionRequest"},
    {"namespaceObject", "kubernetes.Namespace"},
    {"authorizer", "kubernetes.authorization.Authorizer"},
    {"authorizer.requestResource", "kubernetes.authorization.ResourceCheck"},
};

static const char *admission_type(const char *name)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(admission); i++)
        if (!strcmp(admission[i].name, name))
            return admission[i].type;
    return NULL;
}

/* Declares a variable with its value; names that the file lacks are null. */
static bool declare(struct state *state, const char *name, yyjson_val *value)
{
    const char *type = admission_type(name);
    struct ek_err err = {0};
    int slot = ek_cel_env_declare(state->env, name, type ? type : "dyn", &err);

    if (slot < 0 || slot >= VARS_MAX) {
        fprintf(stderr, "ek-vectors: %s: %s\n", name, err.message);
        return false;
    }
    state->values[slot] = ek_cel_from_json(value);
    return true;
}

static bool open_vars(struct state *state, const char *path)
{
    struct ek_err err = {0};
    yyjson_val *name, *value;
    size_t i, n;

    state->vars = read_vars(path);
    state->env = ek_cel_env_new(
        &(struct ek_cel_env_options){.set = EK_CEL_ENV_MUTATION, .mode = EK_CEL_STORED}, &err);
    if (!state->env)
        fprintf(stderr, "ek-vectors: %s\n", err.message);
    if (!state->vars || !state->env)
        return false;
    yyjson_val *root = yyjson_doc_get_root(state->vars);
    if (!yyjson_is_obj(root)) {
        fprintf(stderr, "ek-vectors: %s: not an object of variables\n", path);
        return false;
    }
    ek_json_each_member(root, i, n, name, value)
    {
        if (!declare(state, yyjson_get_str(name), value))
            return false;
    }
    static const char *const always[] = {"object",
                                         "oldObject",
                                         "params",
                                         "request",
                                         "namespaceObject",
                                         "authorizer",
                                         "authorizer.requestResource"};
    for (i = 0; i < EK_ARRAY_SIZE(always); i++)
        if (!yyjson_obj_get(root, always[i]) && !declare(state, always[i], NULL))
            return false;
    return true;
}

/* ---- Answers ---- */

/* The first line of text, cut where the recordings are. */
static void add_message(yyjson_mut_doc *doc, yyjson_mut_val *answer, const char *prefix,
                        const char *text)
{
    EK_AUTO(ek_buf) message;
    size_t len = 0, characters = 0;

    ek_buf_init(&message, FILE_MAX);
    ek_buf_printf(&message, "%s%s", prefix, text);
    const char *s = ek_buf_str(&message);
    while (s[len] && s[len] != '\n' && characters < MESSAGE_MAX) {
        characters++;
        do
            len++;
        while (((unsigned char)s[len] & 0xc0) == 0x80);
    }
    yyjson_mut_obj_add_strncpy(doc, answer, "message", s, len);
}

static void answer_issues(const char *expr, size_t len, const struct ek_cel_issues *issues,
                          yyjson_mut_doc *doc, yyjson_mut_val *answer)
{
    static const char plan_failed[] = "program instantiation failed";
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, FILE_MAX);
    yyjson_mut_obj_add_str(doc, answer, "error", "compile");
    if (issues->len && !strncmp(issues->list[0].message, plan_failed, strlen(plan_failed))) {
        add_message(doc, answer, "", issues->list[0].message);
        return;
    }
    ek_cel_issues_format(issues, expr, len, &text);
    add_message(doc, answer, "compilation failed: ", ek_buf_str(&text));
}

static void answer_eval(struct state *state, const struct ek_cel_program *program,
                        const struct ek_cel_val *values, yyjson_mut_doc *doc,
                        yyjson_mut_val *answer)
{
    struct ek_cel_limits limits = {.cost = EK_CEL_PER_CALL_LIMIT};
    struct ek_cel_result result;

    ek_arena_reset(state->arena);
    if (!ek_cel_eval(program, values, state->arena, &limits, &result)) {
        yyjson_mut_obj_add_str(doc, answer, "error", "eval");
        add_message(doc, answer, "", result.value.fault->message);
        yyjson_mut_obj_add_strcpy(doc, answer, "type", ek_cel_program_type(program));
        return;
    }
    yyjson_mut_obj_add_strcpy(doc, answer, "type", ek_cel_program_type(program));
    yyjson_mut_obj_add_val(doc, answer, "value",
                           ek_cel_typed(doc, &result.value, values != state->values));
    yyjson_mut_obj_add_uint(doc, answer, "cost", result.cost);
}

static void answer_expr(struct state *state, struct ek_cel_env *env, yyjson_val *record,
                        const struct ek_cel_val *values, yyjson_mut_doc *doc,
                        yyjson_mut_val *answer)
{
    EK_AUTO(ek_cel_issues) issues = {0};
    yyjson_val *expr = yyjson_obj_get(record, "expr");
    const char *text = yyjson_get_str(expr);
    size_t len = yyjson_get_len(expr);
    EK_AUTOPTR(ek_cel_program, ek_cel_program_unref) *program =
        ek_cel_compile(env, text, len, NULL, &issues);

    if (!program)
        answer_issues(text, len, &issues, doc, answer);
    else if (yyjson_get_bool(yyjson_obj_get(record, "check_only")))
        yyjson_mut_obj_add_strcpy(doc, answer, "type", ek_cel_program_type(program));
    else
        answer_eval(state, program, values, doc, answer);
}

/* ---- Conformance cases ---- */

/* The value of a slot, by its name in bindings. */
static void bind(struct state *state, struct ek_cel_env *env, yyjson_val *bindings,
                 struct ek_cel_val *values)
{
    for (size_t slot = 0; slot < ek_cel_env_slots(env); slot++) {
        const char *name = ek_cel_env_slot_name(env, slot);
        yyjson_val *value = ek_json_get(yyjson_obj_get(bindings, name), "value", NULL);
        values[slot] = value ? ek_cel_spec_value(state->world, value) : ek_cel_null();
    }
}

/* Names that are bound but not declared can be used by what is not checked. */
static int declare_bound(struct ek_cel_env *env, yyjson_val *bindings, struct ek_err *err)
{
    yyjson_val *name, *value;
    size_t i, n;

    ek_json_each_member(bindings, i, n, name, value)
    {
        const char *s = yyjson_get_str(name);
        bool there = false;
        for (size_t slot = 0; slot < ek_cel_env_slots(env) && !there; slot++)
            there = !strcmp(ek_cel_env_slot_name(env, slot), s);
        if (!there && ek_cel_env_declare(env, s, "dyn", err) < 0)
            return err->code;
    }
    return 0;
}

static int too_many(const struct ek_cel_env *env, struct ek_err *err)
{
    if (ek_cel_env_slots(env) <= VARS_MAX)
        return 0;
    return ek_err_set(err, EK_E_LIMIT, "more than %d variables", VARS_MAX);
}

static bool answer_spec(struct state *state, yyjson_val *record, yyjson_mut_doc *doc,
                        yyjson_mut_val *answer)
{
    yyjson_val *bindings = yyjson_obj_get(record, "bindings");
    struct ek_cel_env_options options = {
        .set = EK_CEL_ENV_STANDARD,
        .container = ek_json_str(record, "container", NULL),
        .no_check = yyjson_get_bool(yyjson_obj_get(record, "disable_check")),
        .no_macros = yyjson_get_bool(yyjson_obj_get(record, "disable_macros")),
    };
    struct ek_cel_val values[VARS_MAX];
    struct ek_err err = {0};

    ek_arena_reset(state->world);
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env = ek_cel_env_new(&options, &err);
    if (!env || ek_cel_spec_declare(env, yyjson_obj_get(record, "type_env"), state->world, &err) ||
        declare_bound(env, bindings, &err) || too_many(env, &err)) {
        yyjson_mut_obj_add_str(doc, answer, "error", "compile");
        add_message(doc, answer, "declarations: ", err.message);
        return true;
    }
    bind(state, env, bindings, values);
    answer_expr(state, env, record, values, doc, answer);
    return true;
}

/* A conformance case has an id of three parts and answers in another form. */
static bool is_spec(const struct state *state, yyjson_val *record)
{
    static const char *const members[] = {"type_env",      "bindings",   "container",
                                          "disable_check", "check_only", "disable_macros",
                                          "typed_result",  "eval_error"};
    const char *id = ek_json_str(record, "id", NULL);
    const char *slash = id ? strchr(id, '/') : NULL;

    for (size_t i = 0; i < EK_ARRAY_SIZE(members); i++)
        if (yyjson_obj_get(record, members[i]))
            return true;
    return !state->env || (slash && strchr(slash + 1, '/'));
}

static bool answer_case(void *arg, yyjson_val *record, yyjson_mut_doc *doc, yyjson_mut_val *answer)
{
    struct state *state = arg;

    if (!yyjson_is_str(yyjson_obj_get(record, "expr")))
        return false;
    if (is_spec(state, record))
        return answer_spec(state, record, doc, answer);
    answer_expr(state, state->env, record, state->values, doc, answer);
    return true;
}

static void close_cel(void *arg)
{
    struct state *state = arg;

    ek_cel_env_unref(state->env);
    yyjson_doc_free(state->vars);
    ek_arena_free(state->arena);
    ek_arena_free(state->world);
    ek_free(state);
}

static void *open_cel(char **options, int n)
{
    struct state *state = ek_xalloc(sizeof(*state));
    bool good = n == 0 || (n == 2 && !strcmp(options[0], "--vars"));

    *state = (struct state){.arena = ek_arena_new(MEMORY_MAX), .world = ek_arena_new(MEMORY_MAX)};
    if (!good)
        fputs("ek-vectors: the only option of cel is --vars FILE\n", stderr);
    if (good && (n == 0 || open_vars(state, options[1])))
        return state;
    close_cel(state);
    return NULL;
}

const struct ek_vectors_subject ek_vectors_cel = {
    .name = "cel",
    .options = "[--vars FILE]",
    .open = open_cel,
    .close = close_cel,
    .answer = answer_case,
};
