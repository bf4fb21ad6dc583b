/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which requests a policy or a binding is for: MatchResources of admissionregistration.k8s.io.
 *
 * Read once from JSON, then matched with each request. Selectors are compiled, strings are owned.
 * Immutable and shareable after reading. Source: Kubernetes 1.36,
 * apiserver/pkg/admission/plugin/policy/matching/matching.go: Matches.
 */
#ifndef RECONCILERS_MUTATION_RULES_H
#define RECONCILERS_MUTATION_RULES_H

#include "api/admission.h"
#include "api/selector.h"

struct ek_rules;

/* Resources that are other versions or groups of one another ("deployments" of apps/v1 and of
 * extensions/v1beta1), for matchPolicy Equivalent. */
struct ek_equivalents {
    /* Calls fn with each resource that is equivalent to resource/subresource, and its kind, until
     * fn returns true. The resource itself is not among them. */
    void (*each)(void *arg, const struct ek_gvr *resource, const char *subresource,
                 bool (*fn)(void *fn_arg, const struct ek_gvr *other, const struct ek_gvk *kind),
                 void *fn_arg);
    void *arg;
};

/*
 * Reads a MatchResources object (NULL or absent rules match everything, as a binding without
 * matchResources does). Returns an owned value, never NULL: a selector that cannot be read is an
 * error of each match. match_resources is copied.
 */
struct ek_rules *ek_rules_new(yyjson_val *match_resources);
void ek_rules_free(struct ek_rules *rules);

enum ek_rules_answer {
    EK_RULES_NO,
    EK_RULES_YES,
    EK_RULES_ERROR, /* a selector cannot be answered; err says why */
};

/*
 * Whether request is covered. namespace_object is the Namespace that the request is in, NULL when
 * it is in none (for a Namespace the object's own new labels count on create and update).
 * equivalents may be NULL for none known. On EK_RULES_YES, *ret_resource and *ret_kind are what
 * the object is matched as (the request's own unless an equivalent matched).
 *
 * On EK_RULES_ERROR, err is EK_E_NOENT for a Namespace that is needed and not there, EK_E_INVAL for
 * a selector that cannot be read. Both are errors of a request only if all else matches, and a
 * namespaceSelector is not looked at for what is in no namespace. rules NULL is a policy without
 * matchConstraints, an error of each request
 * (apiserver/pkg/admission/plugin/policy/generic/policy_matcher.go: DefinitionMatches).
 */
enum ek_rules_answer
ek_rules_match(const struct ek_rules *rules, const struct ek_admission_request *request,
               yyjson_val *namespace_object, const struct ek_equivalents *equivalents,
               struct ek_gvr *ret_resource, struct ek_gvk *ret_kind, struct ek_err *err);

/* Which selector cannot be read, and why: all that the rest matches is then an error. NULL: each
 * can, or rules is NULL. Borrowed from rules. */
const char *ek_rules_problem(const struct ek_rules *rules);

/* For registrations: the number of resourceRules, and the JSON of one (NULL
 * beyond the last), borrowed from rules. */
size_t ek_rules_len(const struct ek_rules *rules);
yyjson_val *ek_rules_at(const struct ek_rules *rules, size_t i);

/* Whether a rule lists the resource: "pods", "pods/status", "pods/ *" or "* /status" (without the
 * blanks). Without a slash, a rule names no subresource
 * (apiserver/pkg/admission/plugin/webhook/predicates/rules/rules.go: Matcher). */
bool ek_rule_names_resource(yyjson_val *rule, const char *resource, const char *subresource);

/* The MatchResources as it was read, without selectors that cannot be read; an empty object for
 * none. Borrowed. */
yyjson_val *ek_rules_root(const struct ek_rules *rules);

EK_CLEANUP_PTR(ek_rules, ek_rules_free)

#endif
