/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/invocation.h"

#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/words.h"
#include "api/obj.h"

void *ek_run_grow(struct ek_run *run, void *array, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return array;
    size_t more = *cap ? *cap * 2 : 8;
    void *grown = ek_arena_try(run->arena, more * size);
    if (!grown) {
        run->error = EK_E_LIMIT;
        return NULL;
    }
    if (n)
        memcpy(grown, array, n * size);
    *cap = more;
    return grown;
}

/* In the words of the plug-in of the policy's kind. */
static const char *denial_text(struct ek_run *run, const struct ek_bound *bound, bool whole_policy,
                               const char *message)
{
    const char *name = bound->policy->name;
    const char *kind = bound->policy->validating ? "ValidatingAdmissionPolicy" : "policy";

    if (!whole_policy)
        return ek_arena_printf(run->arena, "%s '%s' with binding '%s' denied request: %s", kind,
                               name, bound->binding->name, message);
    if (bound->policy->validating)
        return ek_arena_printf(run->arena, "%s '%s' denied request: %s", kind, name, message);
    return ek_arena_printf(run->arena, "%s \"%s\" denied request: %s", kind, name, message);
}

void ek_run_deny(struct ek_run *run, const struct ek_bound *bound, bool whole_policy,
                 const char *reason, const char *message)
{

    if (bound->policy->ignore_failures || !bound->apply)
        return;
    struct ek_denial *denials =
        ek_run_grow(run, run->denials, run->n_denials, &run->cap_denials, sizeof *denials);
    if (!denials)
        return;
    run->denials = denials;
    denials[run->n_denials++] = (struct ek_denial){denial_text(run, bound, whole_policy, message),
                                                   bound->policy->validating ? "Invalid" : reason};
}

struct ek_step *ek_run_step(struct ek_run *run, const struct ek_bound *bound, const char *param,
                            unsigned pass)
{
    struct ek_step *steps =
        ek_run_grow(run, run->steps, run->n_steps, &run->cap_steps, sizeof *steps);

    if (!steps)
        return NULL;
    run->steps = steps;
    steps[run->n_steps] = (struct ek_step){.bound = bound, .param = param, .pass = pass};
    return &steps[run->n_steps++];
}

bool ek_run_is_exempt(const struct ek_admission_request *request)
{
    return !strcmp(request->operation, "DELETE") || ek_run_is_reserved(request);
}

bool ek_run_is_reserved(const struct ek_admission_request *request)
{
    static const char *const reviews[] = {"tokenreviews",
                                          "selfsubjectreviews",
                                          "subjectaccessreviews",
                                          "localsubjectaccessreviews",
                                          "selfsubjectaccessreviews",
                                          "selfsubjectrulesreviews",
                                          NULL};
    static const char *const policies[] = {
        "validatingadmissionpolicies", "validatingadmissionpolicybindings",
        "mutatingadmissionpolicies", "mutatingadmissionpolicybindings", NULL};
    const struct ek_gvr *r = &request->resource;

    if (!strcmp(r->group, "authentication.k8s.io") || !strcmp(r->group, "authorization.k8s.io"))
        return ek_is_one_of(r->resource, reviews);
    return (!strcmp(r->group, "admissionregistration.k8s.io") ||
            !strcmp(r->group, "evenkeel.dev")) &&
           ek_is_one_of(r->resource, policies);
}

void ek_run_find_namespace(struct ek_run *run)
{
    const struct ek_admission_request *request = run->request;
    struct ek_err err = {0};

    if (!*request->namespace)
        return;
    switch (
        run->world->namespace(run->world->arg, request->namespace, &run->namespace_object, &err)) {
    case EK_WORLD_FOUND:
        break;
    case EK_WORLD_PENDING:
        run->pending = true;
        break;
    case EK_WORLD_FAILED:
        run->namespace_object = NULL;
        run->namespace_failure = err;
        if (!run->namespace_failure.code)
            ek_err_set(&run->namespace_failure, EK_E_IO, "the reason is not known");
        break;
    case EK_WORLD_ABSENT:
        run->namespace_object = NULL;
        break;
    }
}

bool ek_run_lacks_namespace(const struct ek_run *run)
{
    const struct ek_gvk *kind = &run->request->kind;
    bool is_one = !*kind->group && !strcmp(kind->version, "v1") && !strcmp(kind->kind, "Namespace");

    return *run->request->namespace && !is_one && !run->namespace_object;
}

bool ek_run_needs_namespace(struct ek_run *run, const struct ek_bound *bound)
{
    if (!run->namespace_failure.code || bound->policy->ignore_failures || !bound->apply)
        return false;
    ek_err_set(&run->status, EK_E_IO, "policy '%s' cannot read namespace \"%s\": %s",
               bound->policy->name, run->request->namespace, run->namespace_failure.message);
    run->status.http_status = 500;
    snprintf(run->status.reason, sizeof run->status.reason, "InternalError");
    return true;
}

/* ---- Params ---- */

/* The params of one binding while they are listed. */
struct params {
    struct ek_run *run;
    yyjson_val **list;
    size_t n, cap;
};

static void add_param(void *arg, yyjson_val *param)
{
    struct params *params = arg;

    if (params->n == EK_PARAMS_MAX)
        return;
    yyjson_val **list =
        ek_run_grow(params->run, params->list, params->n, &params->cap, sizeof(yyjson_val *));
    if (!list)
        return;
    params->list = list;
    list[params->n++] = param;
}

static bool misconfigured(struct ek_run *run, const struct ek_bound *bound, const char *why)
{
    ek_run_deny(run, bound, false, "Forbidden",
                ek_arena_printf(run->arena, "failed to configure binding: %s", why));
    return false;
}

/* A paramKind that is not served, in the words of validating policies
 * (apiserver/pkg/admission/plugin/policy/generic/policy_source.go: calculatePolicyData). */
static bool kind_not_found(struct ek_run *run, const struct ek_bound *bound)
{
    const char *version = bound->policy->param_api_version;

    ek_run_deny(run, bound, true, "Forbidden",
                ek_arena_printf(run->arena,
                                "failed to configure policy: failed to find resource referenced by "
                                "paramKind: '%s%s, Kind=%s'",
                                strchr(version, '/') ? "" : "/", version,
                                bound->policy->param_kind));
    return false;
}

/* Where a binding's params are: false when it cannot be said, which is then a denial. */
static bool param_namespace(struct ek_run *run, const struct ek_bound *bound,
                            const struct ek_admission_request *request, const char **ret_namespace)
{
    const struct ek_policy *policy = bound->policy;
    const struct ek_binding *binding = bound->binding;
    struct ek_err err = {0};
    bool namespaced = false;

    switch (run->world->param_scope(run->world->arg, policy->param_api_version, policy->param_kind,
                                    &namespaced, &err)) {
    case EK_WORLD_PENDING:
        run->pending = true;
        return false;
    case EK_WORLD_FOUND:
        break;
    case EK_WORLD_ABSENT:
    case EK_WORLD_FAILED:
        return policy->validating && err.code == EK_E_NOENT
                   ? kind_not_found(run, bound)
                   : misconfigured(run, bound, err.message);
    }
    if (!namespaced) {
        *ret_namespace = "";
        return !*binding->param_namespace ||
               misconfigured(run, bound,
                             "paramRef.namespace must not be provided for a cluster-scoped "
                             "`paramKind`");
    }
    *ret_namespace = *binding->param_namespace ? binding->param_namespace : request->namespace;
    return **ret_namespace || misconfigured(run, bound,
                                            "cannot use namespaced paramRef in policy binding that "
                                            "matches cluster-scoped resources");
}

/* Lists what a binding's paramRef names; false when nothing is to be run for it. */
static bool list_params(struct ek_run *run, const struct ek_bound *bound,
                        const struct ek_admission_request *request, struct params *params)
{
    const struct ek_policy *policy = bound->policy;
    const struct ek_binding *binding = bound->binding;
    struct ek_err err = {0};
    const char *namespace;

    if (!param_namespace(run, bound, request, &namespace))
        return false;
    if (binding->param_problem)
        return misconfigured(
            run, bound,
            ek_arena_printf(run->arena, "%s; " EK_BINDING_PARAMS_REMEDY, binding->param_problem));
    enum ek_world_answer answer = run->world->params(
        run->world->arg, policy->param_api_version, policy->param_kind, namespace,
        binding->param_name, binding->param_selector, add_param, params, &err);
    if (answer == EK_WORLD_PENDING)
        run->pending = true;
    else if (answer == EK_WORLD_FAILED)
        misconfigured(run, bound, err.message);
    else if (params->n == 0 && !binding->allow_missing_params)
        misconfigured(run, bound,
                      "no params found for policy binding with `Deny` parameterNotFoundAction");
    return params->n > 0 && (answer == EK_WORLD_FOUND || answer == EK_WORLD_ABSENT);
}

/* ---- Matching ---- */

struct invocations {
    struct ek_invocation *list;
    size_t n, cap;
};

static const char *param_key(struct ek_run *run, yyjson_val *param)
{
    const char *name = ek_json_str(param, "metadata", "name", NULL);
    const char *namespace = ek_json_str(param, "metadata", "namespace", NULL);

    if (!param)
        return "";
    return ek_arena_printf(run->arena, "%s/%s", namespace ? namespace : "", name ? name : "");
}

static void add_invocation(struct ek_run *run, struct invocations *all,
                           const struct ek_invocation *invocation)
{
    if (all->n == EK_INVOCATIONS_MAX) {
        run->error = EK_E_LIMIT;
        return;
    }
    struct ek_invocation *list = ek_run_grow(run, all->list, all->n, &all->cap, sizeof *all->list);
    if (!list)
        return;
    all->list = list;
    list[all->n] = *invocation;
    list[all->n++].key = param_key(run, invocation->param);
}

static void add_bound(struct ek_run *run, const struct ek_admission_request *request,
                      struct ek_invocation *invocation, struct invocations *all)
{
    const struct ek_bound *bound = invocation->bound;
    struct params params = {.run = run};

    if (!bound->policy->has_params || !bound->binding->has_param_ref) {
        add_invocation(run, all, invocation);
        return;
    }
    if (!list_params(run, bound, request, &params))
        return;
    for (size_t i = 0; i < params.n; i++) {
        invocation->param = params.list[i];
        add_invocation(run, all, invocation);
    }
}

/* Whether a match failed because the Namespace could not be read. */
static bool lacks_namespace(const struct ek_run *run, const struct ek_err *err)
{
    return run->namespace_failure.code && err->code == EK_E_NOENT;
}

/* Whether bound is for the request; config errors become denials. */
static bool match(struct ek_run *run, const struct ek_bound *bound,
                  const struct ek_admission_request *request, struct ek_invocation *invocation)
{
    const struct ek_policy *policy = bound->policy;
    struct ek_gvr resource;
    struct ek_gvk kind;
    struct ek_err err = {0};

    enum ek_rules_answer answer =
        ek_rules_match(policy->rules, request, run->namespace_object, run->world->equivalents,
                       &invocation->resource, &invocation->kind, &err);
    if (answer == EK_RULES_ERROR && lacks_namespace(run, &err))
        ek_run_needs_namespace(run, bound);
    else if (answer == EK_RULES_ERROR)
        ek_run_deny(
            run, bound, true, "Forbidden",
            ek_arena_printf(run->arena, "failed to configure policy: %s%s", err.message,
                            policy->rules && err.code == EK_E_INVAL
                                ? "; correct the selector in spec.matchConstraints of the policy"
                                : ""));
    if (answer != EK_RULES_YES)
        return false;
    answer = ek_rules_match(bound->binding->rules, request, run->namespace_object,
                            run->world->equivalents, &resource, &kind, &err);
    if (answer == EK_RULES_ERROR && lacks_namespace(run, &err))
        ek_run_needs_namespace(run, bound);
    else if (answer == EK_RULES_ERROR)
        misconfigured(
            run, bound,
            err.code == EK_E_INVAL
                ? ek_arena_printf(run->arena, "%s; " EK_BINDING_SELECTOR_REMEDY, err.message)
                : err.message);
    return answer == EK_RULES_YES;
}

size_t ek_run_invocations(struct ek_run *run, const struct ek_admission_request *request,
                          struct ek_invocation **ret)
{
    struct invocations all = {0};

    for (size_t i = 0; i < run->set->n && !run->error; i++) {
        struct ek_invocation invocation = {.bound = &run->set->bound[i]};
        if (match(run, invocation.bound, request, &invocation))
            add_bound(run, request, &invocation, &all);
    }
    *ret = all.list;
    return all.n;
}
