/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/policy.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/base/words.h"
#include "api/objectmeta.h"
#include "reconcilers/mutation/decoding.h"
#include "reconcilers/mutation/policy-internal.h"
#include "reconcilers/mutation/scopes.h"
#include "reconcilers/mutation/validation.h"

#define CONDITIONS_MAX 64

#define CONDITIONS_READ_MAX 1000

#define UNKNOWN_MAX ((size_t)16 << 20) /* octets of the text about unknown fields */

static const char native_group[] = "admissionregistration.k8s.io/";

bool ek_policy_obj_is_native(const struct ek_obj *obj)
{
    return !strncmp(ek_obj_api_version(obj), native_group, sizeof native_group - 1);
}

bool ek_policy_obj_is_validating(const struct ek_obj *obj)
{
    return ek_policy_obj_is_native(obj) && !strncmp(ek_obj_kind(obj), "Validating", 10);
}

bool ek_policy_is_blank(const char *s)
{
    return s[strspn(s, EK_POLICY_BLANKS)] == '\0';
}

const char *ek_policy_trimmed(struct ek_policy_reader *p, const char *s)
{
    s += strspn(s, EK_POLICY_BLANKS);
    size_t len = strlen(s);
    while (len && strchr(EK_POLICY_BLANKS, s[len - 1]))
        len--;
    return ek_arena_strndup(p->arena, s, len);
}

void ek_policy_compile_text(struct ek_policy_reader *p, struct ek_cel_env *env, const char *text,
                            const char *want, struct ek_expression *e)
{
    enum ek_compile_error kind =
        ek_policy_compile(env, text, want, p->arena, &e->program, &e->error);

    if (kind == EK_COMPILE_INVALID)
        ek_field_invalid(&p->errors, ek_field_quote(&p->errors, text), e->error, "%s", e->field);
    else if (kind == EK_COMPILE_INTERNAL)
        ek_field_internal(&p->errors, e->error, "%s", e->field);
}

/* Compiles e->text, whatever blanks are around it: the API server validates and reports it without
 * them. */
static void compile(struct ek_policy_reader *p, struct ek_cel_env *env, const char *want,
                    struct ek_expression *e)
{
    ek_policy_compile_text(p, env, ek_policy_trimmed(p, e->text), want, e);
}

/* ---- Parts of a policy ---- */

/* The items of a list to read: not all of a list with more than max, which is reported. */
size_t ek_policy_count_items(struct ek_policy_reader *p, yyjson_val *list, size_t max,
                             const char *field)
{
    size_t n = yyjson_arr_size(list);

    if (n > max)
        ek_field_too_many(&p->errors, n, max, "%s", field);
    return n < max ? n : max;
}

static void read_condition(struct ek_policy_reader *p, yyjson_val *v, size_t i,
                           struct ek_expression *e)
{
    e->name = ek_json_text(v, "name");
    e->text = ek_json_text(v, "expression");
    e->field = ek_arena_printf(p->arena, "spec.matchConditions[%zu].expression", i);
    if (ek_policy_is_blank(e->text)) {
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

static void read_conditions(struct ek_policy_reader *p, yyjson_val *list)
{
    size_t n = yyjson_arr_size(list), i, size;
    yyjson_val *v;

    if (n > CONDITIONS_MAX)
        ek_field_too_many(&p->errors, n, CONDITIONS_MAX, "spec.matchConditions");
    n = n < CONDITIONS_READ_MAX ? n : CONDITIONS_READ_MAX;
    struct ek_expression *conditions = ek_arena_alloc(p->arena, (n + 1) * sizeof *conditions);
    yyjson_arr_foreach(list, i, size, v)
    {
        if (i == n)
            break;
        read_condition(p, v, i, &conditions[i]);
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

/* A text as the API server compiles it: that of a validating policy has its blanks. */
static const char *as_compiled(struct ek_policy_reader *p, const char *s)
{
    return p->pub.validating ? s : ek_policy_trimmed(p, s);
}

static void read_variable(struct ek_policy_reader *p, yyjson_val *v, size_t i,
                          struct ek_expression *e)
{
    struct ek_err err = {0};

    e->name = ek_json_text(v, "name");
    e->text = ek_json_text(v, "expression");
    e->field = ek_arena_printf(p->arena, "spec.variables[%zu].expression", i);
    if (ek_policy_is_blank(e->name))
        ek_field_required(&p->errors, "name is not specified", "spec.variables[%zu].name", i);
    else if (!ek_is_cel_identifier(e->name))
        ek_field_invalid(&p->errors, ek_field_quote(&p->errors, e->name),
                         "must be a valid CEL identifier", "spec.variables[%zu].name", i);
    if (ek_policy_is_blank(e->text)) {
        e->error = "Required value: expression is not specified";
        ek_field_required(&p->errors, "expression is not specified", "%s", e->field);
        return;
    }
    ek_policy_compile_text(p, p->envs.variable, as_compiled(p, e->text), NULL, e);
    const char *type = e->program ? ek_cel_program_type(e->program) : "dyn";
    if (!ek_is_cel_identifier(e->name) || !e->program)
        return;
    /* A type that cannot be declared is known at run time only. */
    if (ek_policy_envs_add(&p->envs, e->name, type, &err))
        ek_policy_envs_add(&p->envs, e->name, "dyn", &err);
}

static void read_variables(struct ek_policy_reader *p, yyjson_val *list)
{
    size_t n = ek_policy_count_items(p, list, EK_POLICY_ITEMS_MAX, "spec.variables"), i, size;
    struct ek_expression *variables = ek_arena_alloc(p->arena, (n + 1) * sizeof *variables);
    yyjson_val *v;

    yyjson_arr_foreach(list, i, size, v)
    {
        if (i == n || ek_field_errors_full(&p->errors))
            break;
        read_variable(p, v, i, &variables[i]);
    }
    p->pub.variables = variables;
    p->pub.n_variables = i;
}

/* The member that patchType names, and the one it forbids. */
static void read_patch(struct ek_policy_reader *p, yyjson_val *v, size_t i, const char *member,
                       const char *other, const char *type, struct ek_mutation *m)
{
    yyjson_val *patch = yyjson_obj_get(v, member);
    struct ek_expression *e = &m->expression;

    e->text = ek_json_text(patch, "expression");
    e->field = ek_arena_printf(p->arena, "spec.mutations[%zu].%s.expression", i, member);
    e->error = "Required value";
    if (!yyjson_is_obj(patch))
        ek_field_required(&p->errors,
                          ek_arena_printf(p->arena, "must be specified when patchType is %s", type),
                          "spec.mutations[%zu].%s", i, member);
    else if (ek_policy_is_blank(e->text))
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

static void read_mutation(struct ek_policy_reader *p, yyjson_val *v, size_t i,
                          struct ek_mutation *m)
{
    const char *type = ek_json_text(v, "patchType");

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

/* ---- What the cluster's own kind does not have ---- */

static const char *const behaviours[] = {"InTree", "Extended", NULL};
static const char *const enforcements[] = {"Auto", "Observe", "Enforce", NULL};
static const char *const atomics[] = {"Refuse", "Replace", NULL};
static const char *const safeties[] = {"Exact", "Overwritable", "Condition", NULL};

const char *ek_policy_enforcement_name(enum ek_policy_enforcement enforcement)
{
    return enforcements[enforcement];
}

/* The index of s in values; 0 where it is absent, or none of them, which is reported. */
static int choice(struct ek_policy_reader *p, const char *s, const char *const *values,
                  const char *field)
{
    for (int i = 0; values[i]; i++)
        if (!strcmp(s, values[i]))
            return i;
    if (*s)
        ek_field_unsupported(&p->errors, s, values, "%s", field);
    return 0;
}

/* What the field of our kind says, or the annotation of the cluster's. */
static const char *own_field(struct ek_policy_reader *p, yyjson_val *spec, const char *name,
                             const char *annotation, const char **ret_field)
{
    yyjson_val *annotations = ek_json_get(ek_obj_root(p->obj), "metadata", "annotations", NULL);

    *ret_field = p->pub.native ? ek_arena_printf(p->arena, "metadata.annotations[%s]", annotation)
                               : ek_arena_printf(p->arena, "spec.%s", name);
    return p->pub.native ? ek_json_text(annotations, annotation) : ek_json_text(spec, name);
}

static void read_own_fields(struct ek_policy_reader *p, yyjson_val *spec)
{
    const char *field, *s;

    s = own_field(p, spec, "behaviour", EK_POLICY_BEHAVIOUR_ANNOTATION, &field);
    p->pub.behaviour = (enum ek_policy_behaviour)choice(p, s, behaviours, field);
    s = own_field(p, spec, "enforcement", EK_POLICY_ENFORCEMENT_ANNOTATION, &field);
    p->pub.enforcement = (enum ek_policy_enforcement)choice(p, s, enforcements, field);
}

static void read_condition_of(struct ek_policy_reader *p, const char *expression, const char *field,
                              struct ek_mutation *m)
{
    m->safety = EK_SAFETY_CONDITION;
    m->condition = (struct ek_expression){.text = expression, .field = field};
    if (!ek_policy_is_blank(expression)) {
        compile(p, p->envs.variable, "bool", &m->condition);
    } else {
        m->condition.error = "Required value";
        ek_field_required(&p->errors, "must be specified when type is Condition", "%s", field);
    }
}

static void read_safety(struct ek_policy_reader *p, yyjson_val *v, size_t i, struct ek_mutation *m)
{
    yyjson_val *safety = yyjson_obj_get(v, "safety");
    const char *type = ek_json_text(safety, "type"),
               *expression = ek_json_text(safety, "expression");
    const char *field = ek_arena_printf(p->arena, "spec.mutations[%zu].safety", i);

    if (!yyjson_is_obj(safety))
        return;
    if (!*type)
        ek_field_required(&p->errors, "", "%s.type", field);
    else if (!ek_is_one_of(type, safeties))
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

static void read_safety_annotation(struct ek_policy_reader *p, const char *s, struct ek_mutation *m)
{
    if (!strcmp(s, "Exact"))
        m->safety = EK_SAFETY_EXACT;
    else if (!strcmp(s, "Overwritable"))
        m->safety = EK_SAFETY_OVERWRITABLE;
    else if (!ek_policy_is_blank(s))
        read_condition_of(p, s, "metadata.annotations[" EK_POLICY_SAFETY_ANNOTATION "]", m);
}

/* Safety and atomics of one mutation. */
static void read_own_mutation(struct ek_policy_reader *p, yyjson_val *v, size_t i,
                              struct ek_mutation *m)
{
    yyjson_val *annotations = ek_json_get(ek_obj_root(p->obj), "metadata", "annotations", NULL);
    const char *field = ek_arena_printf(p->arena, "spec.mutations[%zu].atomics", i);
    const char *s = ek_json_text(v, "atomics");

    if (p->pub.native) {
        field = "metadata.annotations[" EK_POLICY_ATOMICS_ANNOTATION "]";
        s = ek_json_text(annotations, EK_POLICY_ATOMICS_ANNOTATION);
        read_safety_annotation(p, ek_json_text(annotations, EK_POLICY_SAFETY_ANNOTATION), m);
    } else {
        read_safety(p, v, i, m);
    }
    m->replace_atomics = choice(p, s, atomics, field) == 1;
    if (m->replace_atomics && p->pub.behaviour != EK_POLICY_EXTENDED) {
        m->replace_atomics = false;
        ek_field_forbidden(&p->errors, "Replace needs behaviour Extended", "%s", field);
    }
}

static void read_mutations(struct ek_policy_reader *p, yyjson_val *list)
{
    size_t n = ek_policy_count_items(p, list, EK_POLICY_ITEMS_MAX, "spec.mutations"), i, read, size;
    struct ek_mutation *mutations = ek_arena_alloc(p->arena, (n + 1) * sizeof *mutations);
    yyjson_val *v;

    if (n == 0)
        ek_field_required(&p->errors, "mutations must contain at least one item", "spec.mutations");
    yyjson_arr_foreach(list, i, size, v)
    {
        if (i == n || ek_field_errors_full(&p->errors))
            break;
        read_mutation(p, v, i, &mutations[i]);
    }
    read = i;
    yyjson_arr_foreach(list, i, size, v)
    {
        if (i == read)
            break;
        read_own_mutation(p, v, i, &mutations[i]);
    }
    p->pub.mutations = mutations;
    p->pub.n_mutations = read;
}

static void read_match_constraints(struct ek_policy_reader *p, yyjson_val *v)
{
    static const char path[] = "spec.matchConstraints";

    if (!yyjson_is_obj(v)) {
        ek_field_required(&p->errors, "", path);
        return;
    }
    ek_validate_match_resources(&p->errors, v, path);
    if (yyjson_arr_size(yyjson_obj_get(v, "resourceRules")) == 0)
        ek_field_required(&p->errors, "", "%s.resourceRules", path);
    if (!p->pub.validating)
        ek_validate_mutating_operations(&p->errors, v, path);
    p->rules = ek_rules_new(v);
    p->pub.rules = p->rules;
}

static void read_params(struct ek_policy_reader *p, yyjson_val *v)
{
    p->pub.param_api_version = ek_json_text(v, "apiVersion");
    p->pub.param_kind = ek_json_text(v, "kind");
    p->pub.has_params = yyjson_is_obj(v);
    if (p->pub.has_params)
        ek_validate_param_kind(&p->errors, v);
}

static void read_failure_policy(struct ek_policy_reader *p, const char *s)
{
    p->pub.ignore_failures = !strcmp(s, "Ignore");
    if (*s && !ek_is_one_of(s, ek_failure_policies)) /* absent is defaulted to Fail */
        ek_field_unsupported(&p->errors, s, ek_failure_policies, "spec.failurePolicy");
}

static void read_reinvocation_policy(struct ek_policy_reader *p, const char *s)
{
    p->pub.reinvoke = !strcmp(s, "IfNeeded");
    if (!*s)
        ek_field_required(&p->errors, "", "spec.reinvocationPolicy");
    else if (!ek_is_one_of(s, ek_reinvocation_policies))
        ek_field_unsupported(&p->errors, s, ek_reinvocation_policies, "spec.reinvocationPolicy");
}

static int make_envs(struct ek_policy_reader *p, int compat_minor, struct ek_err *err)
{
    if (p->pub.validating)
        return ek_policy_envs_init_validating(&p->envs, p->pub.has_params, compat_minor, err);
    return ek_policy_envs_init(&p->envs, p->pub.has_params, p->pub.behaviour == EK_POLICY_EXTENDED,
                               compat_minor, err);
}

/* The order is that of the API server's report. */
static void read_spec(struct ek_policy_reader *p, yyjson_val *spec, int compat_minor)
{
    struct ek_err err = {0};

    read_failure_policy(p, ek_json_text(spec, "failurePolicy"));
    read_params(p, yyjson_obj_get(spec, "paramKind"));
    read_match_constraints(p, yyjson_obj_get(spec, "matchConstraints"));
    if (!p->pub.validating)
        read_own_fields(p, spec);
    if (make_envs(p, compat_minor, &err)) {
        ek_field_internal(&p->errors, ek_arena_strdup(p->arena, err.message), "spec");
        return;
    }
    read_conditions(p, yyjson_obj_get(spec, "matchConditions"));
    read_variables(p, yyjson_obj_get(spec, "variables"));
    if (p->pub.validating) {
        ek_policy_read_validations(p, spec);
        return;
    }
    read_mutations(p, yyjson_obj_get(spec, "mutations"));
    read_reinvocation_policy(p, ek_json_text(spec, "reinvocationPolicy"));
}

const char *ek_policy_obj_name(const struct ek_obj *obj)
{
    const char *name = ek_obj_name(obj);
    yyjson_val *metadata = yyjson_obj_get(ek_obj_root(obj), "metadata");

    return *name ? name : ek_json_text(metadata, "generateName");
}

const struct ek_policy *ek_policy_new(const struct ek_obj *obj, int compat_minor)
{
    struct ek_policy_reader *p = ek_xalloc(sizeof *p);

    atomic_init(&p->refs, 1);
    p->obj = ek_obj_ref(obj);
    p->arena = ek_arena_new(EK_POLICY_ARENA_LIMIT);
    p->errors.arena = p->arena;
    p->pub.name = ek_policy_obj_name(obj);
    p->pub.uid = ek_obj_uid(obj);
    p->pub.generation = ek_obj_generation(obj);
    p->pub.native = ek_policy_obj_is_native(obj);
    p->pub.validating = ek_policy_obj_is_validating(obj);
    yyjson_val *metadata = yyjson_obj_get(ek_obj_root(obj), "metadata");
    ek_validate_object_name(&p->errors, metadata, EK_NAME_DNS1123_SUBDOMAIN, "metadata");
    ek_validate_object_meta(&p->errors, metadata, "metadata");
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
static struct ek_policy_reader *inner(const struct ek_policy *policy)
{
    return (struct ek_policy_reader *)(uintptr_t)policy;
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
    struct ek_policy_reader *p = policy ? inner(policy) : NULL;

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
    ek_policy_drop_validations(policy);
    ek_rules_free(p->rules);
    ek_arena_free(p->arena);
    ek_obj_unref(p->obj);
    ek_free(p);
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

/* Why the server cannot decode an object; "" for one that it can. */
static const char *decoding_error(const struct ek_obj *obj, bool binding, bool strict,
                                  struct ek_arena *arena)
{
    const struct ek_decoding_problem *list;
    size_t n = ek_decoding_problems(ek_obj_root(obj), binding, !ek_policy_obj_is_native(obj), arena,
                                    &list);
    EK_AUTO(ek_buf) unknown;

    ek_buf_init(&unknown, UNKNOWN_MAX);
    for (size_t i = 0; i < n; i++)
        if (!list[i].unknown)
            return list[i].message;
    for (size_t i = 0; i < n && strict; i++)
        ek_buf_printf(&unknown, "%s%s", i ? ", " : "strict decoding error: ", list[i].message);
    return ek_arena_strdup(arena, ek_buf_str(&unknown));
}

int ek_policy_validate(const struct ek_obj *obj, bool strict, int compat_minor, struct ek_buf *out,
                       const char **ret_reason)
{
    bool is_binding = ek_ends_with(ek_obj_kind(obj), "Binding");
    struct ek_arena *arena = ek_arena_new(EK_POLICY_ARENA_LIMIT);
    const char *undecoded = decoding_error(obj, is_binding, strict, arena);
    const char *version = strchr(ek_obj_api_version(obj), '/');
    int code;

    *ret_reason = "";
    if (*undecoded) {
        ek_buf_printf(out, "%s in version \"%s\" cannot be handled as a %s: %s", ek_obj_kind(obj),
                      version ? version + 1 : "", ek_obj_kind(obj), undecoded);
        *ret_reason = "BadRequest";
        code = 400;
    } else if (is_binding) {
        const struct ek_binding *binding = ek_binding_new(obj);
        code = answer(obj, ek_binding_errors(binding), out, ret_reason);
        ek_binding_unref(binding);
    } else {
        const struct ek_policy *policy = ek_policy_new(obj, compat_minor);
        code = answer(obj, &inner(policy)->errors, out, ret_reason);
        ek_policy_unref(policy);
    }
    ek_arena_free(arena);
    return code;
}
