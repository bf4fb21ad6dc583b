/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/policylint/lint.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/base/buf.h"
#include "reconcilers/mutation/decoding.h"
#include "reconcilers/policylint/definition.h"
#include "reconcilers/policylint/lint-internal.h"

#define MESSAGE_MAX 8192
/* The first versions that have such policies: by default, and behind a gate. */
#define OLDEST_VALIDATING 30
#define OLDEST_MUTATING   32

/* ---- Collecting ---- */

const char *ek_lint_severity_name(enum ek_lint_severity severity)
{
    static const char *const names[] = {"error", "warning", "info"};
    return names[severity];
}

/* Lines and columns of a place counted in code points. */
static void locate(struct ek_lint_finding *f, uint32_t position)
{
    const char *p = f->text;

    if (!p || position == UINT32_MAX)
        return;
    f->line = f->column = 1;
    for (uint32_t i = 0; i < position && *p; i++) {
        bool feed = *p == '\n';
        f->line += feed;
        f->column = feed ? 1 : f->column + 1;
        for (p++; ((unsigned char)*p & 0xc0) == 0x80; p++) {
        }
    }
}

/* Takes the last of the least severe findings out of the full list, if one is less severe than
 * severity. Returns whether there is room. */
static bool make_room(struct ek_linter *l, enum ek_lint_severity severity)
{
    enum ek_lint_severity least = EK_LINT_INFO;
    size_t i = l->n;

    while (least > severity && !l->n_listed[least])
        least--;
    if (least <= severity)
        return false;
    while (l->list[i - 1].severity != least)
        i--;
    memmove(&l->list[i - 1], &l->list[i], (l->n - i) * sizeof *l->list);
    l->n_listed[least]--;
    l->n--;
    return true;
}

/* Counts a finding. Returns its place, NULL where it is not listed. */
static struct ek_lint_finding *room(struct ek_linter *l, enum ek_lint_severity severity)
{
    if (!l->list)
        l->list = ek_arena_try(l->arena, EK_LINT_FINDINGS_MAX * sizeof *l->list);
    l->failed = l->failed || !l->list;
    l->n_severity[severity]++;
    if (!l->list || (l->n == EK_LINT_FINDINGS_MAX && !make_room(l, severity)))
        return NULL;
    l->n_listed[severity]++;
    return &l->list[l->n++];
}

void ek_lint_add(struct ek_linter *l, enum ek_lint_severity severity, const char *rule,
                 const char *field, const struct ek_expression *e, uint32_t position,
                 const char *fmt, ...)
{
    struct ek_lint_finding *f = room(l, severity);
    char text[MESSAGE_MAX];
    va_list args;

    if (!f)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    *f = (struct ek_lint_finding){.severity = severity,
                                  .rule = rule,
                                  .policy = l->at->policy->name,
                                  .source = l->at->source,
                                  .field = field,
                                  .text = e ? e->text : NULL,
                                  .message = ek_arena_strdup(l->arena, text)};
    locate(f, position);
}

/* The expression of the policy at work that stands in a field, NULL for none. */
static const struct ek_expression *expression_of(const struct ek_linter *l, const char *field)
{
    const struct ek_policy *p = l->at->policy;

    for (size_t i = 0; i < p->n_conditions; i++)
        if (!strcmp(p->conditions[i].field, field))
            return &p->conditions[i];
    for (size_t i = 0; i < p->n_variables; i++)
        if (!strcmp(p->variables[i].field, field))
            return &p->variables[i];
    for (size_t i = 0; i < p->n_mutations; i++) {
        if (!strcmp(p->mutations[i].expression.field, field))
            return &p->mutations[i].expression;
        if (p->mutations[i].safety == EK_SAFETY_CONDITION &&
            !strcmp(p->mutations[i].condition.field, field))
            return &p->mutations[i].condition;
    }
    for (size_t i = 0; i < p->n_validations; i++) {
        if (!strcmp(p->validations[i].expression.field, field))
            return &p->validations[i].expression;
        if (!strcmp(p->validations[i].message_expression.field, field))
            return &p->validations[i].message_expression;
    }
    for (size_t i = 0; i < p->n_annotations; i++)
        if (!strcmp(p->annotations[i].value.field, field))
            return &p->annotations[i].value;
    return NULL;
}

static void add_binding(struct ek_linter *l, size_t i, enum ek_lint_severity severity,
                        const char *rule, const char *field, const char *message)
{
    struct ek_lint_finding *f = room(l, severity);

    if (f)
        *f = (struct ek_lint_finding){
            .severity = severity,
            .rule = rule,
            .policy = l->input->bindings[i]->name,
            .binding = true,
            .source = l->input->binding_sources ? l->input->binding_sources[i] : NULL,
            .field = field,
            .message = message};
}

/* ---- Matching ---- */

static bool names(yyjson_val *rule, const char *member, const char *want)
{
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(rule, member), i, n, v)
    {
        if (yyjson_equals_str(v, "*") || yyjson_equals_str(v, want))
            return true;
    }
    return false;
}

bool ek_lint_covers(const struct ek_policy *policy, const struct ek_gvr *resource,
                    const char *subresource)
{
    yyjson_val *rule;

    for (size_t i = 0; policy->rules && (rule = ek_rules_at(policy->rules, i)); i++)
        if (names(rule, "apiGroups", resource->group) &&
            names(rule, "apiVersions", resource->version) &&
            ek_rule_names_resource(rule, resource->resource, subresource))
            return true;
    return false;
}

/* ---- One policy ---- */

/* Reports what a strict decoder refuses. Returns true for types that no decoder takes: nothing else
 * of the object counts then. binding: at that index, SIZE_MAX for the policy at work. */
static bool lint_decoding(struct ek_linter *l, const struct ek_obj *object, size_t binding)
{
    const struct ek_decoding_problem *list = NULL;
    bool own = object && !strncmp(ek_obj_api_version(object), "evenkeel.dev/", 13), typed = false;
    size_t n = object ? ek_decoding_problems(ek_obj_root(object), binding != SIZE_MAX, own,
                                             l->arena, &list)
                      : 0;

    l->failed = l->failed || (object && !list);
    for (size_t i = 0; list && i < n; i++) {
        typed = typed || !list[i].unknown;
        const char *rule = list[i].unknown                        ? "unknown-field"
                           : !strcmp(list[i].field, "apiVersion") ? "invalid"
                                                                  : "type-mismatch";
        if (binding == SIZE_MAX)
            ek_lint_add(l, EK_LINT_ERROR, rule, list[i].field, NULL, UINT32_MAX, "%s",
                        list[i].message);
        else
            add_binding(l, binding, EK_LINT_ERROR, rule, list[i].field, list[i].message);
    }
    return typed;
}

/* What a server would refuse, in its words. */
static void lint_problems(struct ek_linter *l)
{
    const struct ek_policy *p = l->at->policy;

    if (lint_decoding(l, l->at->object, SIZE_MAX))
        return;

    for (size_t i = 0; i < p->n_problems; i++) {
        const char *colon = strstr(p->problems[i], ": ");
        const char *field =
            colon ? ek_arena_strndup(l->arena, p->problems[i], (size_t)(colon - p->problems[i]))
                  : "";
        const struct ek_expression *e = expression_of(l, field);
        if (e && e->error)
            ek_lint_add(l, EK_LINT_ERROR, "compile", field, NULL, UINT32_MAX, "%s", e->error);
        else
            ek_lint_add(l, EK_LINT_ERROR, "invalid", field, NULL, UINT32_MAX, "%s",
                        colon ? colon + 2 : p->problems[i]);
    }
}

static bool compiles_at(const struct ek_linter *l, int minor)
{
    const struct ek_policy *policy = ek_policy_new(l->at->object, minor);
    bool fits = policy->n_problems == 0;

    ek_policy_unref(policy);
    return fits;
}

/* The oldest version on which all compiles as new; reported if it is not the oldest version. A
 * server takes new expressions that the version before it can run. */
static void lint_version(struct ek_linter *l)
{
    int oldest = l->at->policy->validating ? OLDEST_VALIDATING : OLDEST_MUTATING;
    int minor = EK_CEL_COMPAT_MAX, needs;
    bool fits = true;

    while (fits && minor >= EK_CEL_COMPAT_MIN) {
        /* Twice, because a want of memory looks the same and passes. */
        fits = compiles_at(l, minor) || compiles_at(l, minor);
        minor -= fits;
    }
    needs = minor + 2;
    if (needs > EK_CEL_COMPAT_MAX + 1) /* it compiles nowhere: lint_problems reports that */
        return;
    if (needs > l->input->kubernetes_minor)
        ek_lint_add(l, EK_LINT_ERROR, "version", "", NULL, UINT32_MAX,
                    "its expressions need the compatibility version 1.%d (of Kubernetes 1.%d by "
                    "default), and are to work at 1.%d",
                    needs - 1, needs, l->input->kubernetes_minor - 1);
    else if (needs > oldest)
        ek_lint_add(l, EK_LINT_INFO, "version", "", NULL, UINT32_MAX,
                    "its expressions need the compatibility version 1.%d (of Kubernetes 1.%d by "
                    "default) or newer",
                    needs - 1, needs);
}

static const char *rule_of(enum ek_type_problem problem)
{
    static const char *const rules[] = {
        [EK_TYPE_UNKNOWN_FIELD] = "unknown-field",
        [EK_TYPE_ATOMIC] = "atomic",
        [EK_TYPE_KEYS] = "missing-key",
        [EK_TYPE_NAME] = "type-name",
        [EK_TYPE_MISMATCH] = "type-mismatch",
        [EK_TYPE_CRASH] = "crash",
        [EK_TYPE_ABSENT] = "absent-parent",
        [EK_TYPE_GROWS] = "not-idempotent",
        [EK_TYPE_LATER_WRITE] = "field-unknown",
        [EK_TYPE_LATER_READ] = "field-unknown",
        [EK_TYPE_GONE] = "field-gone",
        [EK_TYPE_BACK] = "field-rollback",
    };
    return rules[problem];
}

/* Problems that an API server does not refuse in each case. */
static bool is_mild(enum ek_type_problem problem)
{
    return problem == EK_TYPE_KEYS || problem == EK_TYPE_ABSENT || problem == EK_TYPE_GROWS ||
           problem == EK_TYPE_LATER_READ || problem == EK_TYPE_BACK;
}

/* A policy that selects objects by labels sees only objects that have labels; and what was seen on
 * a sample is reported with it. */
static bool is_known_better(const struct ek_linter *l, const struct ek_type_finding *f)
{
    static const char labels[] = "\"metadata.labels\"";
    yyjson_val *selected = ek_json_get(ek_obj_root(l->at->object), "spec", "matchConstraints",
                                       "objectSelector", "matchLabels", NULL);

    return (f->problem == EK_TYPE_GROWS && l->at->restless_on) ||
           (f->problem == EK_TYPE_ABSENT && yyjson_obj_size(selected) &&
            !strncmp(f->message, labels, sizeof labels - 1));
}

static void lint_types(struct ek_linter *l, struct ek_type_findings *found)
{
    bool known = false;

    for (size_t i = 0; i < l->at->n_kinds; i++)
        known = known || l->at->kinds[i].schema;
    for (size_t i = 0; i < found->n; i++) {
        const struct ek_type_finding *f = &found->list[i];
        bool surely = (f->all_kinds || f->denies) && !is_mild(f->problem);
        if (is_known_better(l, f))
            continue;
        ek_lint_add(l, surely ? EK_LINT_ERROR : EK_LINT_WARNING, rule_of(f->problem), f->field,
                    expression_of(l, f->field), f->position, "%s%s%s%s", f->message,
                    f->all_kinds ? "" : " (in ", f->all_kinds ? "" : f->kinds,
                    f->all_kinds ? "" : ")");
    }
    if (l->at->policy->rules && l->at->n_kinds == 0 && ek_rules_at(l->at->policy->rules, 0))
        ek_lint_add(l, EK_LINT_WARNING, "no-kind", "spec.matchConstraints.resourceRules", NULL,
                    UINT32_MAX,
                    "the rules match no known resource: correct the names, or add the "
                    "CustomResourceDefinition to the files");
    else if (l->at->n_kinds && !known)
        ek_lint_add(l, EK_LINT_INFO, "no-schema", "spec.matchConstraints.resourceRules", NULL,
                    UINT32_MAX, "there is no schema for the matched kinds: fields are not checked");
}

/* What failurePolicy does not cover (apiserver/pkg/admission/plugin/policy/mutating/dispatcher.go:
 * a StatusError ends the request). */
static const char *beyond_ignore(const struct ek_policy *p)
{
    for (size_t i = 0; i < p->n_mutations; i++)
        if (p->mutations[i].type == EK_MUTATION_JSON_PATCH)
            return "; but a JSON Patch that makes an unknown field or another kind is denied "
                   "with 500 all the same";
    return "";
}

static void lint_failures(struct ek_linter *l)
{
    const struct ek_policy *p = l->at->policy;

    if (p->ignore_failures && p->validating)
        ek_lint_add(l, EK_LINT_INFO, "ignored-failures", "spec.failurePolicy", NULL, UINT32_MAX,
                    "Ignore hides errors: requests on which an expression fails are accepted");
    else if (p->ignore_failures && p->n_mutations > 1)
        ek_lint_add(l, EK_LINT_WARNING, "ignored-failures", "spec.failurePolicy", NULL, UINT32_MAX,
                    "Ignore hides errors, and when one of the %zu mutations fails, the others are "
                    "still applied%s",
                    p->n_mutations, beyond_ignore(p));
    else if (p->ignore_failures)
        ek_lint_add(l, EK_LINT_INFO, "ignored-failures", "spec.failurePolicy", NULL, UINT32_MAX,
                    "Ignore hides errors: objects on which the mutation fails are stored "
                    "unchanged%s",
                    beyond_ignore(p));
    if (l->at->restless_on && p->reinvoke)
        ek_lint_add(
            l, EK_LINT_WARNING, "not-idempotent", "spec.reinvocationPolicy", NULL, UINT32_MAX,
            "IfNeeded runs the policy again on its own result, which changes it again (seen "
            "on %s)",
            l->at->restless_on);
    else if (l->at->restless_on)
        ek_lint_add(
            l, EK_LINT_WARNING, "not-idempotent", "spec.mutations", NULL, UINT32_MAX,
            "the policy changes its own result again (seen on %s): each update of an object "
            "will%s",
            l->at->restless_on,
            p->native ? ", and where only some API servers enforce the policy, Evenkeel denies "
                        "requests, because the policy would run twice"
                      : "");
}

/* ---- Bindings ---- */

static const struct ek_policy *policy_of(const struct ek_linter *l, const struct ek_binding *b)
{
    for (size_t i = 0; i < l->input->n_policies; i++) {
        const struct ek_policy *p = l->input->policies[i].policy;
        if (!strcmp(p->name, b->policy_name) && p->native == b->native &&
            p->validating == b->validating)
            return p;
    }
    return NULL;
}

/* Reports a name that an earlier policy has: in a cluster there is one of them. */
static bool lint_name(struct ek_linter *l)
{
    const struct ek_policy *p = l->at->policy;

    for (const struct ek_lint_policy *other = l->input->policies; other < l->at; other++)
        if (!strcmp(other->policy->name, p->name) && other->policy->native == p->native &&
            other->policy->validating == p->validating) {
            ek_lint_add(l, EK_LINT_WARNING, "same-name", "metadata.name", NULL, UINT32_MAX,
                        "another policy%s%s has this name: in a cluster, one replaces the other",
                        other->source ? " of " : "", other->source ? other->source : "");
            return true;
        }
    return false;
}

/* Reports a policy without a binding, or, with more than 0, this one and those others. */
static void add_unbound(struct ek_linter *l, size_t more)
{
    EK_AUTO(ek_buf) others = {0};

    ek_buf_init(&others, 64);
    if (more)
        ek_buf_printf(&others, " or the other %zu", more);
    ek_lint_add(
        l, EK_LINT_INFO, "no-binding", "", NULL, UINT32_MAX,
        "no binding in the files names this policy%s: a policy without a binding has no effect",
        ek_buf_str(&others));
}

static bool is_bound(const struct ek_linter *l)
{
    for (size_t i = 0; i < l->input->n_bindings; i++)
        if (policy_of(l, l->input->bindings[i]) == l->at->policy)
            return true;
    return false;
}

/* Files without any binding are reported once, for all policies. */
static void lint_no_bindings(struct ek_linter *l)
{
    if (l->input->n_bindings || !l->input->n_policies)
        return;
    l->at = l->input->policies;
    add_unbound(l, l->input->n_policies - 1);
}

static void lint_binding(struct ek_linter *l, size_t i)
{
    const struct ek_binding *b = l->input->bindings[i];
    const struct ek_policy *p = policy_of(l, b);

    const struct ek_obj *object = l->input->binding_objects ? l->input->binding_objects[i] : NULL;
    bool decoded = !lint_decoding(l, object, i);
    for (size_t k = 0; k < b->n_problems && decoded; k++) {
        const char *colon = strstr(b->problems[k], ": ");
        add_binding(
            l, i, EK_LINT_ERROR, "invalid",
            colon ? ek_arena_strndup(l->arena, b->problems[k], (size_t)(colon - b->problems[k]))
                  : "",
            colon ? colon + 2 : b->problems[k]);
    }
    for (size_t k = 0; k < i; k++) {
        const struct ek_binding *other = l->input->bindings[k];
        if (strcmp(other->name, b->name) != 0 || other->native != b->native ||
            other->validating != b->validating)
            continue;
        add_binding(l, i, EK_LINT_WARNING, "same-name", "metadata.name",
                    "another binding has this name: in a cluster, one replaces the other");
        break;
    }
    if (!p) {
        if (*b->policy_name)
            add_binding(
                l, i, EK_LINT_WARNING, "no-policy", "spec.policyName",
                ek_arena_printf(l->arena, "there is no policy \"%s\" here", b->policy_name));
        return;
    }
    if (p->has_params && !b->has_param_ref)
        add_binding(l, i, EK_LINT_WARNING, "no-param-ref", "spec.paramRef",
                    ek_arena_printf(l->arena,
                                    "policy %s has a paramKind, but this binding has no paramRef: "
                                    "params is null",
                                    p->name));
    if (!p->has_params && b->has_param_ref)
        add_binding(l, i, EK_LINT_WARNING, "no-param-kind", "spec.paramRef",
                    ek_arena_printf(l->arena, "policy %s has no paramKind: paramRef does nothing",
                                    p->name));
}

/* ---- Definitions ---- */

/* What a message is about, for those who look findings up. */
static const char *rule_of_message(const struct ek_definition_problem *problem)
{
    if (problem->unchecked)
        return "unchecked";
    if (!strncmp(problem->message, "Forbidden: ", 11))
        return "cost";
    return strstr(problem->message, "compilation failed: ") ? "compile" : "invalid";
}

static void lint_definition(struct ek_linter *l, const struct ek_lint_definition *definition)
{
    struct ek_definition_report report;

    if (ek_definition_lint(definition->object, l->input->kubernetes_minor - 1, l->arena, &report))
        l->failed = true;
    for (size_t i = 0; i < report.n; i++) {
        enum ek_lint_severity severity = report.list[i].unchecked ? EK_LINT_WARNING : EK_LINT_ERROR;
        struct ek_lint_finding *f = room(l, severity);
        if (f)
            *f = (struct ek_lint_finding){.severity = severity,
                                          .rule = rule_of_message(&report.list[i]),
                                          .policy = definition->name,
                                          .definition = true,
                                          .source = definition->source,
                                          .field = report.list[i].field,
                                          .message = report.list[i].message};
    }
}

/* ---- All ---- */

int ek_lint(const struct ek_lint_input *input, struct ek_arena *arena, struct ek_lint_report *ret)
{
    struct ek_linter l = {.input = input, .arena = arena};
    int rc = 0;

    *ret = (struct ek_lint_report){0};
    l.types = ek_arena_try(arena, (input->n_policies + 1) * sizeof *l.types);
    if (!l.types)
        return EK_E_LIMIT;
    for (size_t i = 0; i < input->n_policies && !rc; i++) {
        l.at = &input->policies[i];
        rc = ek_typecheck_policy_at(l.at->policy, l.at->kinds, l.at->n_kinds, l.at->params,
                                    input->gaps, arena, &l.types[i]);
        if (rc)
            break;
        lint_problems(&l);
        lint_version(&l);
        ek_lint_conditions(&l);
        lint_types(&l, &l.types[i]);
        lint_failures(&l);
        if (!lint_name(&l) && input->n_bindings && !is_bound(&l))
            add_unbound(&l, 0);
    }
    if (!rc)
        lint_no_bindings(&l);
    for (size_t i = 0; i < input->n_bindings && !rc; i++)
        lint_binding(&l, i);
    for (size_t i = 0; i < input->n_definitions && !rc; i++)
        lint_definition(&l, &input->definitions[i]);
    if (!rc)
        ek_lint_pairs(&l);
    if (!rc)
        ek_lint_cycles(&l);
    ret->list = l.list;
    ret->n = l.n;
    memcpy(ret->n_severity, l.n_severity, sizeof ret->n_severity);
    for (size_t i = 0; i <= EK_LINT_INFO; i++)
        ret->n_dropped += l.n_severity[i] - l.n_listed[i];
    return rc ? rc : l.failed || ek_arena_exhausted(arena) ? EK_E_LIMIT : 0;
}
