/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/environment.h"

struct ek_cel_env *ek_cel_env_new(const struct ek_cel_env_options *options, struct ek_err *err)
{
    (void)options;
    ek_err_set(err, EK_E_UNSUPPORTED, "no environments yet");
    return NULL;
}

struct ek_cel_env *ek_cel_env_extend(struct ek_cel_env *parent)
{
    return ek_cel_env_ref(parent);
}

struct ek_cel_env *ek_cel_env_ref(struct ek_cel_env *env)
{
    return env;
}

void ek_cel_env_unref(struct ek_cel_env *env)
{
    (void)env;
}

int ek_cel_env_declare(struct ek_cel_env *env, const char *name, const char *type,
                       struct ek_err *err)
{
    (void)env;
    (void)name;
    (void)type;
    return ek_err_set(err, EK_E_INVAL, "no declarations yet");
}

int ek_cel_env_declare_field(struct ek_cel_env *env, const char *struct_name, const char *field,
                             const char *type, struct ek_err *err)
{
    (void)env;
    (void)struct_name;
    (void)field;
    (void)type;
    return ek_err_set(err, EK_E_INVAL, "no declarations yet");
}

size_t ek_cel_env_slots(const struct ek_cel_env *env)
{
    (void)env;
    return 0;
}

const char *ek_cel_env_slot_name(const struct ek_cel_env *env, size_t slot)
{
    (void)env;
    (void)slot;
    return NULL;
}

const struct ek_cel_env_rules *ek_cel_env_rules(const struct ek_cel_env *env)
{
    (void)env;
    return NULL;
}

const struct ek_cel_decl_function *ek_cel_env_function(const struct ek_cel_env *env,
                                                       const char *name)
{
    (void)env;
    (void)name;
    return NULL;
}

const struct ek_cel_decl_variable *ek_cel_env_variable(const struct ek_cel_env *env,
                                                       const char *name)
{
    (void)env;
    (void)name;
    return NULL;
}

const struct ek_cel_macro *ek_cel_env_macro(const struct ek_cel_env *env, const char *name,
                                            bool member, uint32_t n)
{
    (void)env;
    (void)name;
    (void)member;
    (void)n;
    return NULL;
}

const struct ek_cel_type *ek_cel_env_type(const struct ek_cel_env *env, const char *name)
{
    (void)env;
    (void)name;
    return NULL;
}

const struct ek_cel_type *ek_cel_env_struct(const struct ek_cel_env *env, const char *name,
                                            struct ek_arena *arena)
{
    (void)env;
    (void)name;
    (void)arena;
    return NULL;
}

const struct ek_cel_type *ek_cel_env_field(const struct ek_cel_env *env,
                                           const struct ek_cel_type *type, const char *field)
{
    (void)env;
    (void)type;
    (void)field;
    return NULL;
}

const struct ek_cel_type *ek_cel_env_read_type(const struct ek_cel_env *env, const char *text,
                                               struct ek_arena *arena, struct ek_err *err)
{
    (void)env;
    (void)text;
    (void)arena;
    ek_err_set(err, EK_E_INVAL, "no types yet");
    return NULL;
}

void ek_cel_env_freeze(struct ek_cel_env *env)
{
    (void)env;
}
