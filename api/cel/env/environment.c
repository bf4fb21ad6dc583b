/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of environments: which library, in which version, with which options, belongs to which
 * set at which compatibility version.
 *
 * Source: Kubernetes 1.36,
 * apiserver/pkg/cel/environment/base.go and admission/plugin/cel/compile.go.
 */
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/cel/env/scope-internal.h"
#include "api/cel/syntax/macro.h"

enum {
    IN_KUBERNETES = 1 << EK_CEL_ENV_KUBERNETES,
    IN_MUTATION = 1 << EK_CEL_ENV_MUTATION,
    IN_STANDARD = 1 << EK_CEL_ENV_STANDARD,
    IN_SERVER = IN_KUBERNETES | IN_MUTATION,
    IN_ALL = IN_SERVER | IN_STANDARD,
};

#define NEWEST INT_MAX

/* From since (minor of the compatibility version; 0 is always) until before until (0 is never). The
 * standard set has no versions. Rows are in the reference's order, which is that of overloads. */
static const struct part {
    const struct ek_cel_library *library;
    int version; /* of the library */
    int since, until;
    unsigned sets;
} parts[] = {
    {&ek_cel_lib_standard, NEWEST, 0, 0, IN_ALL},
    {&ek_cel_lib_k8s_urls, NEWEST, 0, 0, IN_ALL},
    {&ek_cel_lib_k8s_regex, NEWEST, 0, 0, IN_ALL},
    {&ek_cel_lib_k8s_lists, NEWEST, 0, 0, IN_ALL},
    {&ek_cel_lib_k8s_authz, NEWEST, 27, 0, IN_ALL},
    {&ek_cel_lib_optional, NEWEST, 28, 0, IN_ALL},
    {&ek_cel_lib_k8s_quantity, NEWEST, 28, 0, IN_ALL},
    {&ek_cel_lib_strings, 0, 0, 29, IN_SERVER},
    {&ek_cel_lib_strings, 2, 29, 0, IN_SERVER},
    {&ek_cel_lib_sets, NEWEST, 29, 0, IN_ALL},
    {&ek_cel_lib_k8s_ip, NEWEST, 30, 0, IN_ALL},
    {&ek_cel_lib_k8s_cidr, NEWEST, 30, 0, IN_ALL},
    {&ek_cel_lib_k8s_format, NEWEST, 31, 0, IN_ALL},
    /* Brought by 1.31 behind the gate AuthorizeWithSelectors, whose being on is enough: servers
     * since 1.34 (where it is locked) offer it at every compatibility version. */
    {&ek_cel_lib_k8s_authz_selectors, NEWEST, 0, 0, IN_ALL},
    {&ek_cel_lib_comprehensions, NEWEST, 32, 0, IN_ALL},
    {&ek_cel_lib_k8s_semver, 1, 33, 0, IN_ALL},
    {&ek_cel_lib_lists, 3, 34, 0, IN_SERVER},
    {&ek_cel_lib_k8s_jsonpatch, NEWEST, 0, 0, IN_MUTATION | IN_STANDARD},
    {&ek_cel_lib_strings, NEWEST, 0, 0, IN_STANDARD},
    {&ek_cel_lib_lists, NEWEST, 0, 0, IN_STANDARD},
    {&ek_cel_lib_math, NEWEST, 0, 0, IN_STANDARD},
    {&ek_cel_lib_encoders, NEWEST, 0, 0, IN_STANDARD},
    {&ek_cel_lib_bindings, NEWEST, 0, 0, IN_STANDARD},
    {&ek_cel_lib_block, NEWEST, 0, 0, IN_STANDARD},
};

/* Options of the language. Tests of presence are free in every set. */
static const struct option {
    size_t rule; /* offset in struct ek_cel_env_rules */
    int since;
    unsigned sets;
} options_table[] = {
    {offsetof(struct ek_cel_env_rules, homogeneous), 0, IN_SERVER},
    {offsetof(struct ek_cel_env_rules, mixed_numeric_order), 28, IN_ALL},
    {offsetof(struct ek_cel_env_rules, optional_syntax), 28, IN_ALL},
    {offsetof(struct ek_cel_env_rules, backticks), 0, IN_STANDARD},
    {offsetof(struct ek_cel_env_rules, keyword_fields), 31, IN_ALL},
    {offsetof(struct ek_cel_env_rules, validate_literals), 29, IN_SERVER},
    {offsetof(struct ek_cel_env_rules, object_types), 0, IN_MUTATION | IN_STANDARD},
    {offsetof(struct ek_cel_env_rules, locals_first), 0, IN_STANDARD},
    {offsetof(struct ek_cel_env_rules, early_errors), 0, IN_SERVER},
};

/* The typed variables of admission (admission/plugin/cel/compile.go: BuildRequestType,
 * BuildNamespaceType); "" declares the type alone. */
static const struct field {
    const char *object, *name, *type;
} admission_fields[] = {
    {"kubernetes.variables", "", ""},
    {"kubernetes.GroupVersionKind", "group", "string"},
    {"kubernetes.GroupVersionKind", "version", "string"},
    {"kubernetes.GroupVersionKind", "kind", "string"},
    {"kubernetes.GroupVersionResource", "group", "string"},
    {"kubernetes.GroupVersionResource", "version", "string"},
    {"kubernetes.GroupVersionResource", "resource", "string"},
    {"kubernetes.UserInfo", "username", "string"},
    {"kubernetes.UserInfo", "uid", "string"},
    {"kubernetes.UserInfo", "groups", "list(string)"},
    {"kubernetes.UserInfo", "extra", "map(string, list(string))"},
    {"kubernetes.AdmissionRequest", "kind", "kubernetes.GroupVersionKind"},
    {"kubernetes.AdmissionRequest", "resource", "kubernetes.GroupVersionResource"},
    {"kubernetes.AdmissionRequest", "subResource", "string"},
    {"kubernetes.AdmissionRequest", "requestKind", "kubernetes.GroupVersionKind"},
    {"kubernetes.AdmissionRequest", "requestResource", "kubernetes.GroupVersionResource"},
    {"kubernetes.AdmissionRequest", "requestSubResource", "string"},
    {"kubernetes.AdmissionRequest", "name", "string"},
    {"kubernetes.AdmissionRequest", "namespace", "string"},
    {"kubernetes.AdmissionRequest", "operation", "string"},
    {"kubernetes.AdmissionRequest", "userInfo", "kubernetes.UserInfo"},
    {"kubernetes.AdmissionRequest", "dryRun", "bool"},
    {"kubernetes.AdmissionRequest", "options", "dyn"},
    {"kubernetes.NamespaceSpec", "finalizers", "list(string)"},
    {"kubernetes.NamespaceCondition", "status", "string"},
    {"kubernetes.NamespaceCondition", "type", "string"},
    {"kubernetes.NamespaceCondition", "lastTransitionTime", "timestamp"},
    {"kubernetes.NamespaceCondition", "message", "string"},
    {"kubernetes.NamespaceCondition", "reason", "string"},
    {"kubernetes.NamespaceStatus", "conditions", "list(kubernetes.NamespaceCondition)"},
    {"kubernetes.NamespaceStatus", "phase", "string"},
    {"kubernetes.NamespaceMetadata", "name", "string"},
    {"kubernetes.NamespaceMetadata", "generateName", "string"},
    {"kubernetes.NamespaceMetadata", "namespace", "string"},
    {"kubernetes.NamespaceMetadata", "labels", "map(string, string)"},
    {"kubernetes.NamespaceMetadata", "annotations", "map(string, string)"},
    {"kubernetes.NamespaceMetadata", "UID", "string"},
    {"kubernetes.NamespaceMetadata", "creationTimestamp", "timestamp"},
    {"kubernetes.NamespaceMetadata", "deletionGracePeriodSeconds", "int"},
    {"kubernetes.NamespaceMetadata", "deletionTimestamp", "timestamp"},
    {"kubernetes.NamespaceMetadata", "generation", "int"},
    {"kubernetes.NamespaceMetadata", "resourceVersion", "string"},
    {"kubernetes.NamespaceMetadata", "finalizers", "list(string)"},
    {"kubernetes.Namespace", "metadata", "kubernetes.NamespaceMetadata"},
    {"kubernetes.Namespace", "spec", "kubernetes.NamespaceSpec"},
    {"kubernetes.Namespace", "status", "kubernetes.NamespaceStatus"},
};

static const struct field patch_fields[] = {
    {"JSONPatch", "op", "string"},
    {"JSONPatch", "path", "string"},
    {"JSONPatch", "from", "string"},
    {"JSONPatch", "value", "dyn"},
};

/* Types that every expression may name. */
static const struct ek_cel_type *const type_names[] = {
    &ek_cel_type_bool,   &ek_cel_type_bytes,     &ek_cel_type_double,  &ek_cel_type_duration,
    &ek_cel_type_int,    &ek_cel_type_list_dyn,  &ek_cel_type_map_dyn, &ek_cel_type_null,
    &ek_cel_type_string, &ek_cel_type_timestamp, &ek_cel_type_type,    &ek_cel_type_uint,
};

static const struct ek_cel_type optional_name = {.kind = EK_CEL_T_OPTIONAL,
                                                 .name = "optional_type"};

/* What decides the content of base declarations. */
struct key {
    enum ek_cel_env_set set;
    int minor; /* INT_MAX for everything there is */
};

static bool applies(const struct key *key, int since, int until, unsigned sets)
{
    if (!(sets & 1U << key->set))
        return false;
    return key->set == EK_CEL_ENV_STANDARD ||
           (key->minor >= since && (!until || key->minor < until));
}

static bool add_type_name(struct ek_cel_scope *scope, const struct ek_cel_type *type)
{
    struct ek_cel_symbol *symbol;

    if (!ek_cel_scope_mark_heads(scope, type->name, EK_CEL_HEAD_VALUE))
        return false;
    symbol = ek_cel_scope_make(scope, type->name);
    if (!symbol)
        return false;
    symbol->type = type;
    symbol->named = true;
    return true;
}

/* Declares the struct types of n fields, each after those that its fields are of. */
static int add_fields(struct ek_cel_scope *scope, const struct field *fields, size_t n,
                      struct ek_err *err)
{
    struct ek_cel_taker taker = {ek_cel_pool_take, &scope->pool};

    for (const struct field *f = fields; f < fields + n; f++) {
        struct ek_cel_symbol *symbol = ek_cel_scope_make(scope, f->object);
        if (!symbol || !ek_cel_scope_mark_heads(scope, f->object, EK_CEL_HEAD_VALUE))
            return ek_cel_no_memory__(err);
        symbol = ek_cel_scope_make(scope, f->object);
        if (!symbol->object)
            symbol->object = ek_cel_type_build(&taker, EK_CEL_T_STRUCT, f->object, NULL, 0);
        if (!symbol->object)
            return ek_cel_no_memory__(err);
        if (!*f->name)
            continue;
        const struct ek_cel_type *type = ek_cel_type_read(f->type, scope, false, &taker, err);
        if (!type)
            return err ? err->code : EK_E_INVAL;
        if (!ek_cel_scope_put_field(scope, f->object, f->name, type))
            return ek_cel_no_memory__(err);
    }
    return 0;
}

static int build(const struct key *key, struct ek_cel_scope *scope, struct ek_err *err)
{
    bool optional = false;
    int rc;

    if (!ek_cel_scope_add_macros(scope, ek_cel_standard_macros, NEWEST))
        return ek_cel_no_memory__(err);
    for (size_t i = 0; i < EK_ARRAY_SIZE(type_names); i++)
        if (!add_type_name(scope, type_names[i]))
            return ek_cel_no_memory__(err);
    /* Admission declares its authorizer in every version. */
    rc = ek_cel_scope_add_types(scope, &ek_cel_lib_k8s_authz, err);
    for (const struct part *p = parts; !rc && p < parts + EK_ARRAY_SIZE(parts); p++) {
        if (!applies(key, p->since, p->until, p->sets))
            continue;
        optional = optional || p->library == &ek_cel_lib_optional;
        rc = ek_cel_scope_add_library(scope, p->library, p->version, err);
    }
    if (!rc && optional && !add_type_name(scope, &optional_name))
        rc = ek_cel_no_memory__(err);
    if (!rc)
        rc = add_fields(scope, admission_fields, EK_ARRAY_SIZE(admission_fields), err);
    if (!rc && key->set != EK_CEL_ENV_KUBERNETES) {
        rc = add_fields(scope, patch_fields, EK_ARRAY_SIZE(patch_fields), err);
        if (!rc && !ek_cel_scope_mark_heads(scope, "Object.any", EK_CEL_HEAD_VALUE))
            rc = ek_cel_no_memory__(err);
    }
    return rc;
}

/* Base declarations that were made: immutable, few, and kept for the life of the process. */
#define MINORS (EK_CEL_COMPAT_MAX - EK_CEL_COMPAT_MIN + 1)

static struct {
    pthread_mutex_t lock;
    struct ek_cel_scope *scopes[EK_CEL_ENV_STANDARD + 1][MINORS + 1]; /* the last is everything */
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct ek_cel_scope *cached(const struct key *key, struct ek_err *err)
{
    int column = key->minor == INT_MAX ? MINORS : key->minor - EK_CEL_COMPAT_MIN;
    struct ek_cel_scope **slot = &cache.scopes[key->set][column];
    struct ek_cel_scope *scope;

    pthread_mutex_lock(&cache.lock);
    scope = *slot;
    if (!scope) {
        scope = ek_alloc(sizeof *scope);
        if (!scope) {
            ek_cel_no_memory__(err);
        } else if (build(key, scope, err)) {
            ek_cel_scope_done(scope);
            ek_free(scope);
            scope = NULL;
        }
        *slot = scope;
    }
    pthread_mutex_unlock(&cache.lock);
    return scope;
}

const struct ek_cel_scope *ek_cel_base_get(const struct ek_cel_env_options *options,
                                           struct ek_cel_env_rules *ret_rules, struct ek_err *err)
{
    int minor = options->compat_minor ? options->compat_minor : EK_CEL_COMPAT_MAX;
    struct key key = {options->set, minor};

    if ((unsigned)options->set > EK_CEL_ENV_STANDARD || minor < EK_CEL_COMPAT_MIN ||
        minor > EK_CEL_COMPAT_MAX) {
        ek_err_set(err, EK_E_INVAL,
                   "no CEL environment is known for compatibility version 1.%d; known are 1.%d "
                   "to 1.%d",
                   minor, EK_CEL_COMPAT_MIN, EK_CEL_COMPAT_MAX);
        return NULL;
    }
    if (options->set == EK_CEL_ENV_STANDARD || options->mode == EK_CEL_STORED)
        key.minor = INT_MAX;
    *ret_rules = (struct ek_cel_env_rules){.checked = !options->no_check, .container = ""};
    for (const struct option *o = options_table; o < options_table + EK_ARRAY_SIZE(options_table);
         o++)
        *(bool *)((char *)ret_rules + o->rule) = applies(&key, o->since, 0, o->sets);
    return cached(&key, err);
}
