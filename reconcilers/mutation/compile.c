/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/compile.h"

#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/mutation/objects.h"

#define ERROR_TEXT_MAX ((size_t)16 << 10) /* of one expression; carets under long lines are cut */
#define VARIABLES_TYPE "kubernetes.variables"

static const struct {
    enum ek_policy_slot slot;
    const char *name, *type;
} declarations[] = {
    {EK_SLOT_OBJECT, "object", "dyn"},
    {EK_SLOT_OLD_OBJECT, "oldObject", "dyn"},
    {EK_SLOT_REQUEST, "request", "kubernetes.AdmissionRequest"},
    {EK_SLOT_NAMESPACE_OBJECT, "namespaceObject", "kubernetes.Namespace"},
    {EK_SLOT_AUTHORIZER, "authorizer", "kubernetes.authorization.Authorizer"},
    {EK_SLOT_REQUEST_RESOURCE, "authorizer.requestResource",
     "kubernetes.authorization.ResourceCheck"},
    {EK_SLOT_VARIABLES, "variables", VARIABLES_TYPE},
    {EK_SLOT_PARAMS, "params", "dyn"},
    {EK_SLOT_OBJECTS, "objects", EK_OBJECTS_TYPE},
};

const char *ek_policy_slot_name(enum ek_policy_slot slot)
{
    return declarations[slot].name; /* in the order of the slots */
}

/* What a place has besides what all have. */
struct place {
    enum ek_cel_env_set set;
    bool variables, params, objects, no_authorizer;
};

static bool has_slot(const struct place *place, enum ek_policy_slot slot)
{
    return slot == EK_SLOT_VARIABLES                                        ? place->variables
           : slot == EK_SLOT_PARAMS                                         ? place->params
           : slot == EK_SLOT_OBJECTS                                        ? place->objects
           : slot == EK_SLOT_AUTHORIZER || slot == EK_SLOT_REQUEST_RESOURCE ? !place->no_authorizer
                                                                            : true;
}

/* Declares what that place has. Slots are handed out in order, so a place without variables or
 * params gets names there that no text can spell. */
static int declare(struct ek_cel_env *env, const struct place *place, struct ek_err *err)
{
    int rc = ek_cel_env_declare_field(env, VARIABLES_TYPE, "@none", "dyn", err);

    for (size_t i = 0; rc >= 0 && i < EK_ARRAY_SIZE(declarations); i++) {
        bool has = has_slot(place, declarations[i].slot);
        char name[64];
        snprintf(name, sizeof name, "%s%s", has ? "" : "@", declarations[i].name);
        rc = ek_cel_env_declare(env, name, has ? declarations[i].type : "dyn", err);
    }
    return rc < 0 ? rc : 0;
}

static struct ek_cel_env *make(const struct place *place, int compat_minor, struct ek_err *err)
{
    struct ek_cel_env *env = ek_cel_env_new(
        &(struct ek_cel_env_options){.set = place->set,
                                     .mode = compat_minor ? EK_CEL_NEW : EK_CEL_STORED,
                                     .compat_minor = compat_minor},
        err);

    if (env && ((place->objects && ek_cel_env_add_library(env, &ek_objects_library, 0, err)) ||
                declare(env, place, err))) {
        ek_cel_env_unref(env);
        return NULL;
    }
    return env;
}

int ek_policy_envs_init(struct ek_policy_envs *envs, bool has_params, bool extended,
                        int compat_minor, struct ek_err *err)
{
    const struct place condition = {EK_CEL_ENV_KUBERNETES, false, has_params, false, false};
    const struct place variable = {EK_CEL_ENV_KUBERNETES, true, has_params, extended, false};
    const struct place mutation = {EK_CEL_ENV_MUTATION, true, has_params, extended, false};

    *envs = (struct ek_policy_envs){0};
    envs->condition = make(&condition, compat_minor, err);
    envs->variable = envs->condition ? make(&variable, compat_minor, err) : NULL;
    envs->mutation = envs->variable ? make(&mutation, compat_minor, err) : NULL;
    if (envs->mutation)
        return 0;
    ek_policy_envs_done(envs);
    return err->code ? err->code : EK_E_NOMEM;
}

int ek_policy_envs_init_validating(struct ek_policy_envs *envs, bool has_params, int compat_minor,
                                   struct ek_err *err)
{
    const struct place condition = {EK_CEL_ENV_KUBERNETES, false, has_params, false, false};
    const struct place variable = {EK_CEL_ENV_KUBERNETES, true, has_params, false, false};
    const struct place message = {EK_CEL_ENV_KUBERNETES, true, has_params, false, true};
    const struct place plain = {EK_CEL_ENV_KUBERNETES, false, has_params, false, true};

    *envs = (struct ek_policy_envs){0};
    envs->condition = make(&condition, compat_minor, err);
    envs->variable = envs->condition ? make(&variable, compat_minor, err) : NULL;
    envs->message = envs->variable ? make(&message, compat_minor, err) : NULL;
    envs->plain_message = envs->message ? make(&plain, compat_minor, err) : NULL;
    if (envs->plain_message)
        return 0;
    ek_policy_envs_done(envs);
    return err->code ? err->code : EK_E_NOMEM;
}

void ek_policy_envs_done(struct ek_policy_envs *envs)
{
    ek_cel_env_unref(envs->condition);
    ek_cel_env_unref(envs->variable);
    ek_cel_env_unref(envs->mutation);
    ek_cel_env_unref(envs->message);
    ek_cel_env_unref(envs->plain_message);
    *envs = (struct ek_policy_envs){0};
}

/* Replaces *env, which is frozen once it has compiled something, by one that knows the field. */
static int add_field(struct ek_cel_env **env, const char *name, const char *type,
                     struct ek_err *err)
{
    struct ek_cel_env *extended = ek_cel_env_extend(*env);

    if (!extended)
        return EK_E_NOMEM;
    ek_cel_env_unref(*env);
    *env = extended;
    return ek_cel_env_declare_field(extended, VARIABLES_TYPE, name, type, err);
}

int ek_policy_envs_add(struct ek_policy_envs *envs, const char *name, const char *type,
                       struct ek_err *err)
{
    int rc = add_field(&envs->variable, name, type, err);

    if (!rc && envs->mutation)
        rc = add_field(&envs->mutation, name, type, err);
    return rc || !envs->message ? rc : add_field(&envs->message, name, type, err);
}

/* Whether a type is what is required: one type, or one of several. */
static bool is_wanted(const char *want, const char *type)
{
    size_t len = strlen(type);

    for (const char *p = want; *p; p += strcspn(p, " "), p += *p == ' ')
        if (strcspn(p, " ") == len && !memcmp(p, type, len))
            return true;
    return !strcmp(want, type);
}

enum ek_compile_error ek_policy_compile(struct ek_cel_env *env, const char *text, const char *want,
                                        struct ek_arena *arena,
                                        const struct ek_cel_program **ret_program,
                                        const char **ret_error)
{
    static const char instantiation[] = "program instantiation failed";
    EK_AUTO(ek_cel_issues) issues = {0};
    EK_AUTO(ek_buf) out;
    struct ek_cel_program *program = ek_cel_compile(env, text, strlen(text), NULL, &issues);

    *ret_program = NULL;
    *ret_error = NULL;
    ek_buf_init(&out, ERROR_TEXT_MAX);
    if (!program) {
        const char *first = issues.len ? issues.list[0].message : "no memory";
        if (!strncmp(first, instantiation, sizeof instantiation - 1)) {
            *ret_error = ek_arena_strdup(arena, first);
            return EK_COMPILE_INTERNAL;
        }
        ek_buf_puts(&out, "compilation failed: ");
        ek_cel_issues_format(&issues, text, strlen(text), &out);
        while (out.len && out.data[out.len - 1] == '\n')
            out.data[--out.len] = '\0';
        *ret_error = ek_arena_strdup(arena, ek_buf_str(&out));
        return EK_COMPILE_INVALID;
    }
    if (want && !is_wanted(want, ek_cel_program_type(program))) {
        const char *type = ek_cel_program_type(program);
        *ret_error =
            strchr(want, ' ')
                ? ek_arena_printf(arena, "must evaluate to one of [%s] but got %s", want, type)
                : ek_arena_printf(arena, "must evaluate to %s but got %s", want, type);
        ek_cel_program_unref(program);
        return EK_COMPILE_INVALID;
    }
    *ret_program = program;
    return EK_COMPILE_OK;
}
