/* SPDX-License-Identifier: Apache-2.0 */
/* Bindings of policies: their fields, and what is wrong with them. */
#include <string.h>

#include "api/base/mem.h"
#include "api/objectmeta.h"
#include "reconcilers/mutation/policy-internal.h"
#include "reconcilers/mutation/validation.h"

struct binding {
    struct ek_binding pub;
    atomic_uint refs;
    struct ek_obj *obj;
    struct ek_arena *arena;
    struct ek_rules *rules;
    struct ek_selector *selector;
    struct ek_field_errors errors;
};

/* In the words of apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go:
 * CollectParams. */
static void read_param_selector(struct binding *b, yyjson_val *selector)
{
    bool given = selector && !yyjson_is_null(selector);
    struct ek_err err = {0};

    if (given && *b->pub.param_name)
        b->pub.param_problem = "paramRef.name and paramRef.selector are mutually exclusive";
    else if (!given && !*b->pub.param_name)
        b->pub.param_problem = "one of name or selector must be provided";
    else if (given && ek_selector_from_json(selector, &b->selector, &err))
        b->pub.param_problem = ek_arena_printf(b->arena, "paramRef.selector: %s", err.message);
    b->pub.param_selector = b->selector;
}

static void read_param_ref(struct binding *b, yyjson_val *v)
{
    b->pub.has_param_ref = yyjson_is_obj(v);
    b->pub.param_name = ek_json_text(v, "name");
    b->pub.param_namespace = ek_json_text(v, "namespace");
    b->pub.allow_missing_params = !strcmp(ek_json_text(v, "parameterNotFoundAction"), "Allow");
    if (!b->pub.has_param_ref)
        return;
    ek_validate_param_ref(&b->errors, v);
    read_param_selector(b, yyjson_obj_get(v, "selector"));
}

const struct ek_binding *ek_binding_new(const struct ek_obj *obj)
{
    struct binding *b = ek_xalloc(sizeof *b);
    yyjson_val *spec = yyjson_obj_get(ek_obj_root(obj), "spec");
    yyjson_val *match_resources = yyjson_obj_get(spec, "matchResources");

    atomic_init(&b->refs, 1);
    b->obj = ek_obj_ref(obj);
    b->arena = ek_arena_new(EK_POLICY_ARENA_LIMIT);
    b->errors.arena = b->arena;
    b->pub.name = ek_policy_obj_name(obj);
    b->pub.native = ek_policy_obj_is_native(obj);
    b->pub.validating = ek_policy_obj_is_validating(obj);
    b->pub.policy_name = ek_json_text(spec, "policyName");
    yyjson_val *metadata = yyjson_obj_get(ek_obj_root(obj), "metadata");
    ek_validate_object_name(&b->errors, metadata, EK_NAME_DNS1123_SUBDOMAIN, "metadata");
    ek_validate_object_meta(&b->errors, metadata, "metadata");
    if (!*b->pub.policy_name)
        ek_field_required(&b->errors, "", "spec.policyName");
    else
        ek_validate_name(&b->errors, b->pub.policy_name, "spec.policyName");
    read_param_ref(b, yyjson_obj_get(spec, "paramRef"));
    if (yyjson_is_obj(match_resources)) {
        ek_validate_match_resources(&b->errors, match_resources, "spec.matchResources");
        if (!b->pub.validating)
            ek_validate_mutating_operations(&b->errors, match_resources, "spec.matchResources");
    }
    if (b->pub.validating)
        b->pub.n_actions = ek_binding_read_actions(yyjson_obj_get(spec, "validationActions"),
                                                   b->arena, &b->errors, &b->pub.actions);
    b->rules = ek_rules_new(yyjson_is_obj(match_resources) ? match_resources : NULL);
    b->pub.rules = b->rules;
    b->pub.problems = b->errors.texts;
    b->pub.n_problems = b->errors.n;
    return &b->pub;
}

/* The public struct is the first member, and the caller's const is a promise to the caller. */
static struct binding *inner(const struct ek_binding *binding)
{
    return (struct binding *)(uintptr_t)binding;
}

const struct ek_field_errors *ek_binding_errors(const struct ek_binding *binding)
{
    return &inner(binding)->errors;
}

const struct ek_binding *ek_binding_ref(const struct ek_binding *binding)
{
    if (binding)
        atomic_fetch_add_explicit(&inner(binding)->refs, 1, memory_order_relaxed);
    return binding;
}

void ek_binding_unref(const struct ek_binding *binding)
{
    struct binding *b = binding ? inner(binding) : NULL;

    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1)
        return;
    ek_rules_free(b->rules);
    ek_selector_free(b->selector);
    ek_arena_free(b->arena);
    ek_obj_unref(b->obj);
    ek_free(b);
}
