/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/policy.h"

#include <stdatomic.h>
#include <string.h>

#include "api/fielderr.h"
#include "api/mem.h"
#include "reconcilers/mutation/compile.h"
#include "reconcilers/mutation/scopes.h"
#include "reconcilers/mutation/validation.h"

#define POLICY_ARENA_LIMIT ((size_t)64 << 20) /* an object is at most some MB of text */
#define CONDITIONS_MAX     64

static const char native_group[] = "admissionregistration.k8s.io/";

/* A policy while it is being read. */
struct policy {
    struct ek_policy pub;
    atomic_uint refs;
    struct ek_obj *obj;
    struct ek_arena *arena;
    struct ek_rules *rules;
    struct ek_field_errors errors;
    struct ek_policy_envs envs;
};

static bool is_native(const struct ek_obj *obj)
{
    return !strncmp(ek_obj_api_version(obj), native_group, sizeof native_group - 1);
}

static const char *text(yyjson_val *v, const char *name)
{
    const char *s = ek_json_str(v, name, NULL);

    return s ? s : "";
}

static bool is_blank(const char *s)
{
    return s[strspn(s, " \t\r\n\v\f")] == '\0';
}

/* The API server validates and reports expressions without blanks around them. */
static const char *trimmed(struct policy *p, const char *s)
{
    s += strspn(s, " \t\r\n\v\f");
    size_t len = strlen(s);
    while (len && strchr(" \t\r\n\v\f", s[len - 1]))
        len--;
    return ek_arena_strndup(p->arena, s, len);
}

static void report(struct policy *p, enum ek_compile_error kind, const struct ek_expression *e)
{
    if (kind == EK_COMPILE_INVALID)
        ek_field_invalid(&p->errors, ek_field_quote(&p->errors, trimmed(p, e->text)), e->error,
                         "%s", e->field);
    else if (kind == EK_COMPILE_INTERNAL)
        ek_field_internal(&p->errors, e->error, "%s", e->field);
}

/* Compiles e->text, whatever blanks are around it, and reports what is wrong with it. */
static void compile(struct policy *p, struct ek_cel_env *env, const char *want,
                    struct ek_expression *e)
{
    report(p, ek_policy_compile(env, trimmed(p, e->text), want, p->arena, &e->program, &e->error),
           e);
}

/* ---- Parts of a policy ---- */

static void read_condition(struct policy *p, yyjson_val *v, size_t i, struct ek_expression *e)
{
    e->name = text(v, "name");
    e->text = text(v, "expression");
    e->field = ek_arena_printf(p->arena, "spec.matchConditions[%zu].expression", i);
    if (is_blank(e->text)) {
        e->error = "Required value";
        ek_field_required(&p->errors, "", "%s", e->field);
    } else {
        compile(p, p->envs.condition, "bool", e);
    }
    if (!*e->name)
        ek_field_required(&p->errors, "", "spec.matchConditions[%zu].name", i);
    else
        ek_validate_qualified_name(&p->errors, e->name,
                                   ek_arena_printf(p->arena, "spec.matchConditions[%zu].name", i));
}

static void read_conditions(struct policy *p, yyjson_val *list)
{
    size_t n = yyjson_arr_size(list);
    struct ek_expression *conditions = ek_arena_alloc(p->arena, (n + 1) * sizeof *conditions);

    if (n > CONDITIONS_MAX)
        ek_field_too_many(&p->errors, n, CONDITIONS_MAX, "spec.matchConditions");
    for (size_t i = 0; i < n; i++) {
        read_condition(p, yyjson_arr_get(list, i), i, &conditions[i]);
        for (size_t j = 0; j < i && *conditions[i].name; j++)
            if (!strcmp(conditions[i].name, conditions[j].name)) {
                ek_field_duplicate(&p->errors, conditions[i].name, "spec.matchConditions[%zu].name",
                                   i);
                break;
            }
    }
    p->pub.conditions = conditions;
    p->pub.n_conditions = n;
}

static void read_variable(struct policy *p, yyjson_val *v, size_t i, struct ek_expression *e)
{
    struct ek_err err = {0};

    e->name = text(v, "name");
    e->text = text(v, "expression");
    e->field = ek_arena_printf(p->arena, "spec.variables[%zu].expression", i);
    if (is_blank(e->name))
        ek_field_required(&p->errors, "name is not specified", "spec.variables[%zu].name", i);
    else if (!ek_is_cel_identifier(e->name))
        ek_field_invalid(&p->errors, ek_field_quote(&p->errors, e->name),
                         "must be a valid CEL identifier", "spec.variables[%zu].name", i);
    if (is_blank(e->text)) {
        e->error = "Required value: expression is not specified";
        ek_field_required(&p->errors, "expression is not specified", "%s", e->field);
        return;
    }
    compile(p, p->envs.variable, NULL, e);
    const char *type = e->program ? ek_cel_program_type(e->program) : "dyn";
    if (!ek_is_cel_identifier(e->name) || !e->program)
        return;
    /* A type that cannot be declared is known at run time only. */
    if (ek_policy_envs_add(&p->envs, e->name, type, &err))
        ek_policy_envs_add(&p->envs, e->name, "dyn", &err);
}

static void read_variables(struct policy *p, yyjson_val *list)
{
    size_t n = yyjson_arr_size(list);
    struct ek_expression *variables = ek_arena_alloc(p->arena, (n + 1) * sizeof *variables);

    for (size_t i = 0; i < n; i++)
        read_variable(p, yyjson_arr_get(list, i), i, &variables[i]);
    p->pub.variables = variables;
    p->pub.n_variables = n;
}

/* The member that patchType names, and the one it forbids. */
static void read_patch(struct policy *p, yyjson_val *v, size_t i, const char *member,
                       const char *other, const char *type, struct ek_mutation *m)
{
    yyjson_val *patch = yyjson_obj_get(v, member);
    struct ek_expression *e = &m->expression;

    e->text = text(patch, "expression");
    e->field = ek_arena_printf(p->arena, "spec.mutations[%zu].%s.expression", i, member);
    e->error = "Required value";
    if (!yyjson_is_obj(patch))
        ek_field_required(&p->errors,
                          ek_arena_printf(p->arena, "must be specified when patchType is %s", type),
                          "spec.mutations[%zu].%s", i, member);
    else if (is_blank(e->text))
        ek_field_required(&p->errors, "", "%s", e->field);
    else
        compile(p, p->envs.mutation, m->type == EK_MUTATION_APPLY ? "Object" : "list(JSONPatch)",
                e);
    if (yyjson_is_obj(yyjson_obj_get(v, other)))
        ek_field_invalid(
            &p->errors, ek_arena_printf(p->arena, "\"{%s}\"", other),
            ek_arena_printf(p->arena, "must not be specified when patchType is %s", type),
            "spec.mutations[%zu].%s", i, other);
}

static void read_mutation(struct policy *p, yyjson_val *v, size_t i, struct ek_mutation *m)
{
    const char *type = text(v, "patchType");

    m->expression.text = "";
    m->expression.error = "patchType is none of ApplyConfiguration, JSONPatch";
    m->expression.field = ek_arena_printf(p->arena, "spec.mutations[%zu].patchType", i);
    if (!*type) {
        ek_field_required(&p->errors, "", "%s", m->expression.field);
    } else if (!strcmp(type, "JSONPatch")) {
        m->type = EK_MUTATION_JSON_PATCH;
        read_patch(p, v, i, "jsonPatch", "applyConfiguration", type, m);
    } else if (!strcmp(type, "ApplyConfiguration")) {
        m->type = EK_MUTATION_APPLY;
        read_patch(p, v, i, "applyConfiguration", "jsonPatch", type, m);
    } else {
        ek_field_unsupported(&p->errors, type, ek_patch_types, "%s", m->expression.field);
    }
}

static bool is_listed(const char *s, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(s, *list))
            return true;
    return false;
}

/* ---- What the cluster's own kind does not have ---- */

static const char *const behaviours[] = {"InTree", "Extended", NULL};
static const char *const enforcements[] = {"Auto", "Observe", "Enforce", NULL};
static const char *const atomics[] = {"Refuse", "Replace", NULL};
static const char *const safeties[] = {"Exact", "Overwritable", "Condition", NULL};

/* The index of s in values; 0 where it is absent, or none of them, which is reported. */
static int choice(struct policy *p, const char *s, const char *const *values, const char *field)
{
    for (int i = 0; values[i]; i++)
        if (!strcmp(s, values[i]))
            return i;
    if (*s)
        ek_field_unsupported(&p->errors, s, values, "%s", field);
    return 0;
}

/* What the field of our kind says, or the annotation of the cluster's. */
static const char *own_field(struct policy *p, yyjson_val *spec, const char *name,
                             const char *annotation, const char **ret_field)
{
    yyjson_val *annotations = ek_json_get(ek_obj_root(p->obj), "metadata", "annotations", NULL);

    *ret_field = p->pub.native ? ek_arena_printf(p->arena, "metadata.annotations[%s]", annotation)
                               : ek_arena_printf(p->arena, "spec.%s", name);
    return p->pub.native ? text(annotations, annotation) : text(spec, name);
}

static void read_own_fields(struct policy *p, yyjson_val *spec)
{
    const char *field, *s;

    s = own_field(p, spec, "behaviour", EK_POLICY_BEHAVIOUR_ANNOTATION, &field);
    p->pub.behaviour = (enum ek_policy_behaviour)choice(p, s, behaviours, field);
    s = own_field(p, spec, "enforcement", EK_POLICY_ENFORCEMENT_ANNOTATION, &field);
    p->pub.enforcement = (enum ek_policy_enforcement)choice(p, s, enforcements, field);
}

static void read_condition_of(struct policy *p, const char *expression, const char *field,
                              struct ek_mutation *m)
{
    m->safety = EK_SAFETY_CONDITION;
    m->condition = (struct ek_expression){.text = expression, .field = field};
    if (!is_blank(expression)) {
        compile(p, p->envs.variable, "bool", &m->condition);
    } else {
        m->condition.error = "Required value";
        ek_field_required(&p->errors, "must be specified when type is Condition", "%s", field);
    }
}

static void read_safety(struct policy *p, yyjson_val *v, size_t i, struct ek_mutation *m)
{
    yyjson_val *safety = yyjson_obj_get(v, "safety");
    const char *type = text(safety, "type"), *expression = text(safety, "expression");
    const char *field = ek_arena_printf(p->arena, "spec.mutations[%zu].safety", i);

    if (!yyjson_is_obj(safety))
        return;
    if (!*type)
        ek_field_required(&p->errors, "", "%s.type", field);
    else if (!is_listed(type, safeties))
        ek_field_unsupported(&p->errors, type, safeties, "%s.type", field);
    const char *at = ek_arena_printf(p->arena, "%s.expression", field);
    if (!strcmp(type, "Condition"))
        read_condition_of(p, expression, at, m);
    else if (*expression)
        ek_field_forbidden(&p->errors, "may only be specified when type is Condition", "%s", at);
    if (!strcmp(type, "Exact"))
        m->safety = EK_SAFETY_EXACT;
    if (!strcmp(type, "Overwritable"))
        m->safety = EK_SAFETY_OVERWRITABLE;
}

static void read_safety_annotation(struct policy *p, const char *s, struct ek_mutation *m)
{
    if (!strcmp(s, "Exact"))
        m->safety = EK_SAFETY_EXACT;
    else if (!strcmp(s, "Overwritable"))
        m->safety = EK_SAFETY_OVERWRITABLE;
    else if (!is_blank(s))
        read_condition_of(p, s, "metadata.annotations[" EK_POLICY_SAFETY_ANNOTATION "]", m);
}

/* Safety and atomics of one mutation. */
static void read_own_mutation(struct policy *p, yyjson_val *v, size_t i, struct ek_mutation *m)
{
    yyjson_val *annotations = ek_json_get(ek_obj_root(p->obj), "metadata", "annotations", NULL);
    const char *field = ek_arena_printf(p->arena, "spec.mutations[%zu].atomics", i);
    const char *s = text(v, "atomics");

    if (p->pub.native) {
        field = "metadata.annotations[" EK_POLICY_ATOMICS_ANNOTATION "]";
        s = text(annotations, EK_POLICY_ATOMICS_ANNOTATION);
        read_safety_annotation(p, text(annotations, EK_POLICY_SAFETY_ANNOTATION), m);
    } else {
        read_safety(p, v, i, m);
    }
    m->replace_atomics = choice(p, s, atomics, field) == 1;
    if (m->replace_atomics && p->pub.behaviour != EK_POLICY_EXTENDED) {
        m->replace_atomics = false;
        ek_field_forbidden(&p->errors, "Replace needs behaviour Extended", "%s", field);
    }
}

static void read_mutations(struct policy *p, yyjson_val *list)
{
    size_t n = yyjson_arr_size(list);
    struct ek_mutation *mutations = ek_arena_alloc(p->arena, (n + 1) * sizeof *mutations);

    if (n == 0)
        ek_field_required(&p->errors, "mutations must contain at least one item", "spec.mutations");
    for (size_t i = 0; i < n; i++)
        read_mutation(p, yyjson_arr_get(list, i), i, &mutations[i]);
    for (size_t i = 0; i < n; i++)
        read_own_mutation(p, yyjson_arr_get(list, i), i, &mutations[i]);
    p->pub.mutations = mutations;
    p->pub.n_mutations = n;
}

static void read_match_constraints(struct policy *p, yyjson_val *v)
{
    static const char path[] = "spec.matchConstraints";
    struct ek_err err = {0};

    if (!yyjson_is_obj(v)) {
        ek_field_required(&p->errors, "", path);
        return;
    }
    ek_validate_match_resources(&p->errors, v, path);
    if (yyjson_arr_size(yyjson_obj_get(v, "resourceRules")) == 0)
        ek_field_required(&p->errors, "", "%s.resourceRules", path);
    ek_validate_mutating_operations(&p->errors, v, path);
    p->rules = ek_rules_new(v, &err);
    p->pub.rules = p->rules;
}

static void read_params(struct policy *p, yyjson_val *v)
{
    p->pub.param_api_version = text(v, "apiVersion");
    p->pub.param_kind = text(v, "kind");
    p->pub.has_params = yyjson_is_obj(v);
    if (p->pub.has_params)
        ek_validate_param_kind(&p->errors, v);
}

static void read_failure_policy(struct policy *p, const char *s)
{
    p->pub.ignore_failures = !strcmp(s, "Ignore");
    if (*s && !is_listed(s, ek_failure_policies)) /* absent is defaulted to Fail */
        ek_field_unsupported(&p->errors, s, ek_failure_policies, "spec.failurePolicy");
}

static void read_reinvocation_policy(struct policy *p, const char *s)
{
    p->pub.reinvoke = !strcmp(s, "IfNeeded");
    if (!*s)
        ek_field_required(&p->errors, "", "spec.reinvocationPolicy");
    else if (!is_listed(s, ek_reinvocation_policies))
        ek_field_unsupported(&p->errors, s, ek_reinvocation_policies, "spec.reinvocationPolicy");
}

/* The order is that of the API server's report. */
static void read_spec(struct policy *p, yyjson_val *spec, int compat_minor)
{
    struct ek_err err = {0};

    read_failure_policy(p, text(spec, "failurePolicy"));
    read_params(p, yyjson_obj_get(spec, "paramKind"));
    read_match_constraints(p, yyjson_obj_get(spec, "matchConstraints"));
    read_own_fields(p, spec);
    if (ek_policy_envs_init(&p->envs, p->pub.has_params, p->pub.behaviour == EK_POLICY_EXTENDED,
                            compat_minor, &err)) {
        ek_field_internal(&p->errors, ek_arena_strdup(p->arena, err.message), "spec");
        return;
    }
    read_conditions(p, yyjson_obj_get(spec, "matchConditions"));
    read_variables(p, yyjson_obj_get(spec, "variables"));
    read_mutations(p, yyjson_obj_get(spec, "mutations"));
    read_reinvocation_policy(p, text(spec, "reinvocationPolicy"));
}

const struct ek_policy *ek_policy_new(const struct ek_obj *obj, int compat_minor)
{
    struct policy *p = ek_xalloc(sizeof *p);

    atomic_init(&p->refs, 1);
    p->obj = ek_obj_ref(obj);
    p->arena = ek_arena_new(POLICY_ARENA_LIMIT);
    p->errors.arena = p->arena;
    p->pub.name = ek_obj_name(obj);
    p->pub.uid = ek_obj_uid(obj);
    p->pub.generation = ek_obj_generation(obj);
    p->pub.native = is_native(obj);
    ek_validate_name(&p->errors, p->pub.name, "metadata.name");
    read_spec(p, yyjson_obj_get(ek_obj_root(obj), "spec"), compat_minor);
    ek_policy_envs_done(&p->envs);
    struct ek_scopes *scopes = ek_arena_alloc(p->arena, sizeof *scopes);
    ek_scopes_of(&p->pub, p->arena, scopes);
    p->pub.scopes = scopes;
    p->pub.problems = p->errors.texts;
    p->pub.n_problems = p->errors.n;
    return &p->pub;
}

/* The public struct is the first member, and the caller's const is a promise to the caller. */
static struct policy *inner(const struct ek_policy *policy)
{
    return (struct policy *)(uintptr_t)policy;
}

const struct ek_policy *ek_policy_ref(const struct ek_policy *policy)
{
    if (policy)
        atomic_fetch_add_explicit(&inner(policy)->refs, 1, memory_order_relaxed);
    return policy;
}

static void drop(const struct ek_cel_program *program)
{
    ek_cel_program_unref((struct ek_cel_program *)(uintptr_t)program);
}

void ek_policy_unref(const struct ek_policy *policy)
{
    struct policy *p = policy ? inner(policy) : NULL;

    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < policy->n_conditions; i++)
        drop(policy->conditions[i].program);
    for (size_t i = 0; i < policy->n_variables; i++)
        drop(policy->variables[i].program);
    for (size_t i = 0; i < policy->n_mutations; i++) {
        drop(policy->mutations[i].expression.program);
        drop(policy->mutations[i].condition.program);
    }
    ek_rules_free(p->rules);
    ek_arena_free(p->arena);
    ek_obj_unref(p->obj);
    ek_free(p);
}

/* ---- Bindings ---- */

struct binding {
    struct ek_binding pub;
    atomic_uint refs;
    struct ek_obj *obj;
    struct ek_arena *arena;
    struct ek_rules *rules;
    struct ek_selector *selector;
    struct ek_field_errors errors;
};

static void read_param_ref(struct binding *b, yyjson_val *v)
{
    yyjson_val *selector = yyjson_obj_get(v, "selector");

    b->pub.has_param_ref = yyjson_is_obj(v);
    b->pub.param_name = text(v, "name");
    b->pub.param_namespace = text(v, "namespace");
    b->pub.allow_missing_params = !strcmp(text(v, "parameterNotFoundAction"), "Allow");
    if (!b->pub.has_param_ref)
        return;
    ek_validate_param_ref(&b->errors, v);
    if (yyjson_is_obj(selector) && !ek_selector_from_json(selector, &b->selector, NULL))
        b->pub.param_selector = b->selector;
}

const struct ek_binding *ek_binding_new(const struct ek_obj *obj)
{
    struct binding *b = ek_xalloc(sizeof *b);
    yyjson_val *spec = yyjson_obj_get(ek_obj_root(obj), "spec");
    yyjson_val *match_resources = yyjson_obj_get(spec, "matchResources");

    atomic_init(&b->refs, 1);
    b->obj = ek_obj_ref(obj);
    b->arena = ek_arena_new(POLICY_ARENA_LIMIT);
    b->errors.arena = b->arena;
    b->pub.name = ek_obj_name(obj);
    b->pub.native = is_native(obj);
    b->pub.policy_name = text(spec, "policyName");
    ek_validate_name(&b->errors, b->pub.name, "metadata.name");
    if (!*b->pub.policy_name)
        ek_field_required(&b->errors, "", "spec.policyName");
    else
        ek_validate_name(&b->errors, b->pub.policy_name, "spec.policyName");
    read_param_ref(b, yyjson_obj_get(spec, "paramRef"));
    if (yyjson_is_obj(match_resources)) {
        ek_validate_match_resources(&b->errors, match_resources, "spec.matchResources");
        ek_validate_mutating_operations(&b->errors, match_resources, "spec.matchResources");
    }
    b->rules = ek_rules_new(yyjson_is_obj(match_resources) ? match_resources : NULL, NULL);
    b->pub.rules = b->rules;
    b->pub.problems = b->errors.texts;
    b->pub.n_problems = b->errors.n;
    return &b->pub;
}

static struct binding *inner_binding(const struct ek_binding *binding)
{
    return (struct binding *)(uintptr_t)binding;
}

const struct ek_binding *ek_binding_ref(const struct ek_binding *binding)
{
    if (binding)
        atomic_fetch_add_explicit(&inner_binding(binding)->refs, 1, memory_order_relaxed);
    return binding;
}

void ek_binding_unref(const struct ek_binding *binding)
{
    struct binding *b = binding ? inner_binding(binding) : NULL;

    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1)
        return;
    ek_rules_free(b->rules);
    ek_selector_free(b->selector);
    ek_arena_free(b->arena);
    ek_obj_unref(b->obj);
    ek_free(b);
}

/* ---- The API server's answer ---- */

static int answer(const struct ek_obj *obj, const struct ek_field_errors *errors,
                  struct ek_buf *out, const char **ret_reason)
{
    const char *api_version = ek_obj_api_version(obj);

    if (errors->n == 0)
        return 0;
    ek_buf_printf(out, "%s.%.*s \"%s\" is invalid: ", ek_obj_kind(obj),
                  (int)strcspn(api_version, "/"), api_version, ek_obj_name(obj));
    ek_field_errors_join(errors, out);
    *ret_reason = "Invalid";
    return 422;
}

int ek_policy_validate(const struct ek_obj *obj, bool strict, int compat_minor, struct ek_buf *out,
                       const char **ret_reason)
{
    bool is_binding = !strcmp(ek_obj_kind(obj), "MutatingAdmissionPolicyBinding");
    struct ek_arena *arena = ek_arena_new(POLICY_ARENA_LIMIT);
    const char *unknown =
        strict ? ek_unknown_fields(ek_obj_root(obj), is_binding, !is_native(obj), arena) : "";
    const char *version = strchr(ek_obj_api_version(obj), '/');
    int code;

    *ret_reason = "";
    if (*unknown) {
        ek_buf_printf(out,
                      "%s in version \"%s\" cannot be handled as a %s: strict decoding error: %s",
                      ek_obj_kind(obj), version ? version + 1 : "", ek_obj_kind(obj), unknown);
        *ret_reason = "BadRequest";
        code = 400;
    } else if (is_binding) {
        const struct ek_binding *binding = ek_binding_new(obj);
        code = answer(obj, &inner_binding(binding)->errors, out, ret_reason);
        ek_binding_unref(binding);
    } else {
        const struct ek_policy *policy = ek_policy_new(obj, compat_minor);
        code = answer(obj, &inner(policy)->errors, out, ret_reason);
        ek_policy_unref(policy);
    }
    ek_arena_free(arena);
    return code;
}
