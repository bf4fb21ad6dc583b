/* SPDX-License-Identifier: Apache-2.0 */
/* Environments: base declarations of a version with a host's own on top of them. */
#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/cel/env/scope-internal.h"

/*
 * An environment's scope points past ancestors that declare nothing, so that chains of extensions
 * (one per policy variable) cost a look-up next to nothing.
 */
struct ek_cel_env {
    atomic_uint refs;
    atomic_bool frozen;
    struct ek_cel_env *parent; /* NULL, or holds a reference */
    struct ek_cel_env_rules rules;
    bool no_macros;
    struct ek_cel_scope scope;
    const struct ek_cel_decl_variable **variables; /* its own, by slot */
    uint32_t n_variables, cap_variables;
    uint32_t first_slot; /* number of the ancestors' variables */
};

static struct ek_cel_env *env_alloc(void)
{
    struct ek_cel_env *env = ek_alloc(sizeof *env);

    if (env) {
        atomic_init(&env->refs, 1);
        atomic_init(&env->frozen, false);
    }
    return env;
}

struct ek_cel_env *ek_cel_env_new(const struct ek_cel_env_options *options, struct ek_err *err)
{
    struct ek_cel_env_rules rules;
    const struct ek_cel_scope *base = ek_cel_base_get(options, &rules, err);
    struct ek_cel_env *env = base ? env_alloc() : NULL;

    if (!env) {
        if (base)
            ek_cel_no_memory__(err);
        return NULL;
    }
    env->rules = rules;
    env->no_macros = options->no_macros;
    env->scope.up = base;
    if (options->container && *options->container) {
        env->rules.container = ek_cel_pool_strdup(&env->scope.pool, options->container);
        if (!env->rules.container) {
            ek_cel_no_memory__(err);
            ek_cel_env_unref(env);
            return NULL;
        }
    }
    return env;
}

static bool scope_empty(const struct ek_cel_scope *scope)
{
    return scope->n_symbols == 0 && scope->n_fields == 0;
}

struct ek_cel_env *ek_cel_env_extend(struct ek_cel_env *parent)
{
    struct ek_cel_env *env = env_alloc();

    if (!env)
        return NULL;
    ek_cel_env_freeze(parent);
    env->parent = ek_cel_env_ref(parent);
    env->rules = parent->rules;
    env->no_macros = parent->no_macros;
    env->scope.up = scope_empty(&parent->scope) ? parent->scope.up : &parent->scope;
    env->first_slot = parent->first_slot + parent->n_variables;
    return env;
}

struct ek_cel_env *ek_cel_env_ref(struct ek_cel_env *env)
{
    atomic_fetch_add_explicit(&env->refs, 1, memory_order_relaxed);
    return env;
}

void ek_cel_env_unref(struct ek_cel_env *env)
{
    while (env && atomic_fetch_sub_explicit(&env->refs, 1, memory_order_acq_rel) == 1) {
        struct ek_cel_env *parent = env->parent;
        ek_cel_scope_done(&env->scope);
        ek_free(env->variables);
        ek_free(env);
        env = parent;
    }
}

void ek_cel_env_freeze(struct ek_cel_env *env)
{
    atomic_store_explicit(&env->frozen, true, memory_order_release);
}

/* ---- Declaring ------------------------------------------------------------------------------- */

static bool valid_segment(const char *s, size_t len)
{
    if (len == 0 || isdigit((unsigned char)s[0]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)s[i]) && s[i] != '_')
            return false;
    return true;
}

/* A name with a part after an @ takes a slot, but no text can spell it. */
static bool valid_name(const char *name)
{
    for (;;) {
        name += *name == '@';
        size_t len = strcspn(name, ".");
        if (!valid_segment(name, len))
            return false;
        if (!name[len])
            return true;
        name += len + 1;
    }
}

static int must_be_open(const struct ek_cel_env *env, const char *what, struct ek_err *err)
{
    if (!atomic_load_explicit(&env->frozen, memory_order_acquire))
        return 0;
    return ek_err_set(err, EK_E_INVAL, "cannot declare %.200s: the environment is in use", what);
}

static const struct ek_cel_type *read_declared(struct ek_cel_env *env, const char *text,
                                               struct ek_err *err)
{
    struct ek_cel_taker taker = {ek_cel_pool_take, &env->scope.pool};

    return ek_cel_type_read(text, &env->scope, env->rules.object_types, &taker, err);
}

static bool variables_grow(struct ek_cel_env *env)
{
    uint32_t cap = env->cap_variables ? env->cap_variables * 2 : 8;
    void *p;

    if (env->n_variables < env->cap_variables)
        return true;
    p = ek_realloc(env->variables, cap * sizeof(void *));
    if (!p)
        return false;
    env->variables = p;
    env->cap_variables = cap;
    return true;
}

/* Makes the variable; the name is known to be free. */
static int add_variable(struct ek_cel_env *env, const char *name, const struct ek_cel_type *type,
                        struct ek_err *err)
{
    struct ek_cel_decl_variable *variable = ek_cel_pool_take(&env->scope.pool, sizeof *variable);

    if (!variable || !variables_grow(env) ||
        !ek_cel_scope_mark_heads(&env->scope, name, EK_CEL_HEAD_VALUE))
        return ek_cel_no_memory__(err);
    struct ek_cel_symbol *symbol = ek_cel_scope_make(&env->scope, name);
    if (!symbol)
        return ek_cel_no_memory__(err);
    *variable =
        (struct ek_cel_decl_variable){symbol->name, type, env->first_slot + env->n_variables};
    symbol->variable = variable;
    env->variables[env->n_variables++] = variable;
    return (int)variable->slot;
}

#define SLOTS_MAX 100000

int ek_cel_env_declare(struct ek_cel_env *env, const char *name, const char *type,
                       struct ek_err *err)
{
    const struct ek_cel_type *read;
    int rc = must_be_open(env, name, err);

    if (rc)
        return rc;
    if (!valid_name(name))
        return ek_err_set(err, EK_E_INVAL, "\"%.200s\" is not a valid name of a CEL variable",
                          name);
    if (ek_cel_env_variable(env, name))
        return ek_err_set(err, EK_E_INVAL, "the CEL variable %.200s is declared twice", name);
    if (env->first_slot + env->n_variables >= SLOTS_MAX)
        return ek_err_set(err, EK_E_LIMIT, "more than %d CEL variables", SLOTS_MAX);
    read = read_declared(env, type, err);
    if (!read) {
        ek_err_prefix(err, "CEL variable %.200s", name);
        return EK_E_INVAL;
    }
    return add_variable(env, name, read, err);
}

int ek_cel_env_declare_field(struct ek_cel_env *env, const char *struct_name, const char *field,
                             const char *type, struct ek_err *err)
{
    const struct ek_cel_type *read;
    struct ek_cel_symbol *symbol;
    int rc = must_be_open(env, struct_name, err);

    if (rc)
        return rc;
    if (!valid_name(struct_name) || !*field)
        return ek_err_set(err, EK_E_INVAL, "\"%.200s\", field \"%.200s\": no name", struct_name,
                          field);
    read = read_declared(env, type, err);
    if (!read) {
        ek_err_prefix(err, "field %.200s of %.200s", field, struct_name);
        return EK_E_INVAL;
    }
    if (!ek_cel_env_struct(env, struct_name, NULL)) {
        struct ek_cel_taker taker = {ek_cel_pool_take, &env->scope.pool};
        if (!ek_cel_scope_mark_heads(&env->scope, struct_name, EK_CEL_HEAD_VALUE))
            return ek_cel_no_memory__(err);
        symbol = ek_cel_scope_make(&env->scope, struct_name);
        if (!symbol)
            return ek_cel_no_memory__(err);
        symbol->object = ek_cel_type_build(&taker, EK_CEL_T_STRUCT, symbol->name, NULL, 0);
        if (!symbol->object)
            return ek_cel_no_memory__(err);
    }
    return ek_cel_scope_put_field(&env->scope, struct_name, field, read) ? 0
                                                                         : ek_cel_no_memory__(err);
}

int ek_cel_env_add_library(struct ek_cel_env *env, const struct ek_cel_library *library,
                           int version, struct ek_err *err)
{
    int rc = must_be_open(env, library->name, err);

    return rc ? rc : ek_cel_scope_add_library(&env->scope, library, version, err);
}

/* ---- Reading --------------------------------------------------------------------------------- */

size_t ek_cel_env_slots(const struct ek_cel_env *env)
{
    return env->first_slot + env->n_variables;
}

const char *ek_cel_env_slot_name(const struct ek_cel_env *env, size_t slot)
{
    while (slot < env->first_slot)
        env = env->parent;
    slot -= env->first_slot;
    return slot < env->n_variables ? env->variables[slot]->name : NULL;
}

const struct ek_cel_env_rules *ek_cel_env_rules(const struct ek_cel_env *env)
{
    return &env->rules;
}

const struct ek_cel_decl_function *ek_cel_env_function(const struct ek_cel_env *env,
                                                       const char *name)
{
    const struct ek_cel_decl_function *function;

    EK_CEL_SCOPE_LOOKUP(&env->scope, name, function, function);
    return function;
}

const struct ek_cel_decl_variable *ek_cel_env_variable(const struct ek_cel_env *env,
                                                       const char *name)
{
    const struct ek_cel_decl_variable *variable;

    EK_CEL_SCOPE_LOOKUP(&env->scope, name, variable, variable);
    return variable;
}

const struct ek_cel_macro *ek_cel_env_macro(const struct ek_cel_env *env, const char *name,
                                            bool member, uint32_t n)
{
    uint32_t hash = ek_cel_name_hash(name);

    if (env->no_macros)
        return NULL;
    for (const struct ek_cel_scope *s = &env->scope; s; s = s->up) {
        const struct ek_cel_symbol *symbol = ek_cel_scope_find(s, name, hash);
        const struct ek_cel_macro_entry *e = symbol ? symbol->macros : NULL;
        for (; e; e = e->next)
            if (e->macro->member == member && (e->macro->args < 0 || e->macro->args == (int)n))
                return e->macro;
    }
    return NULL;
}

const struct ek_cel_type *ek_cel_env_type(const struct ek_cel_env *env, const char *name)
{
    uint32_t hash = ek_cel_name_hash(name);

    for (const struct ek_cel_scope *s = &env->scope; s; s = s->up) {
        const struct ek_cel_symbol *symbol = ek_cel_scope_find(s, name, hash);
        if (symbol && symbol->type && symbol->named)
            return symbol->type;
    }
    return NULL;
}

const struct ek_cel_type *ek_cel_env_struct(const struct ek_cel_env *env, const char *name,
                                            struct ek_arena *arena)
{
    static const struct ek_cel_type root = {.kind = EK_CEL_T_STRUCT, .name = "Object"};
    const struct ek_cel_type *type;
    size_t len = strlen(name) + 1;
    char *copy;

    EK_CEL_SCOPE_LOOKUP(&env->scope, name, object, type);
    if (type || !env->rules.object_types || strncmp(name, "Object", 6) != 0)
        return type;
    if (!name[6])
        return &root;
    if (name[6] != '.' || !arena)
        return NULL;
    copy = ek_arena_try(arena, len);
    return copy ? ek_cel_type_make(arena, EK_CEL_T_STRUCT, memcpy(copy, name, len), NULL, 0) : NULL;
}

/* Words that fields of types made from schemas are escaped for, as "__namespace__" (Kubernetes
 * 1.36, apiserver/pkg/cel/escaping.go). */
static bool is_keyword(const char *name)
{
    static const char *const words[] = {
        "true",     "false",   "null", "in",        "as",     "break",  "const",
        "continue", "else",    "for",  "function",  "if",     "import", "let",
        "loop",     "package", "var",  "namespace", "return", "void",   "while",
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(words); i++)
        if (!strcmp(words[i], name))
            return true;
    return false;
}

const struct ek_cel_type *ek_cel_env_field(const struct ek_cel_env *env,
                                           const struct ek_cel_type *type, const char *field)
{
    const struct ek_cel_type *found;
    char escaped[32];

    if (env->rules.object_types && !strncmp(type->name, "Object", 6) &&
        (!type->name[6] || type->name[6] == '.'))
        return &ek_cel_type_dyn;
    found = ek_cel_scope_field(&env->scope, type->name, field);
    if (found || !env->rules.keyword_fields || !is_keyword(field))
        return found;
    snprintf(escaped, sizeof escaped, "__%s__", field);
    return ek_cel_scope_field(&env->scope, type->name, escaped);
}

static void *take_from_arena(void *arena, size_t size)
{
    return ek_arena_try(arena, size);
}

const struct ek_cel_type *ek_cel_env_read_type(const struct ek_cel_env *env, const char *text,
                                               struct ek_arena *arena, struct ek_err *err)
{
    struct ek_cel_taker taker = {take_from_arena, arena};

    return ek_cel_type_read(text, &env->scope, env->rules.object_types, &taker, err);
}

bool ek_cel_env_may_qualify(const struct ek_cel_env *env, const char *head, bool function)
{
    return ek_cel_scope_heads(&env->scope, head) &
           (function ? EK_CEL_HEAD_FUNCTION : EK_CEL_HEAD_VALUE);
}
