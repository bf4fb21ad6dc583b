/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The type check of a policy against the schemas that are known, as facts for its PolicyStatus.
 *
 * A policy names resources, a schema names kinds. The resource of a kind is guessed by the rule of
 * Kubernetes (k8s.io/apimachinery 0.36, pkg/api/meta/restmapper.go:UnsafeGuessKindToResource).
 * Kinds whose resource has another name are not checked, nor are resources that a policy names by
 * "*".
 *
 * The result depends on the policy, which is immutable, and on the schemas. It is kept beside the
 * policy and made again only when the version of the schemas has changed. Pure; any thread.
 */
#ifndef RECONCILERS_POLICYLINT_POLICY_TYPES_H
#define RECONCILERS_POLICYLINT_POLICY_TYPES_H

#include "reconcilers/mutation/status.h"
#include "reconcilers/policylint/typecheck.h"

/* The schema of a group version: all its kinds. Borrowed. */
struct ek_types_schema {
    const char *group, *version;
    const struct ek_schema *schema;
};

/* version: another number for each other list of schemas. */
struct ek_types_schemas {
    const struct ek_types_schema *items;
    size_t n;
    unsigned long version;
};

/* True when types, the result for a policy, was not made of schemas of this version. */
bool ek_policy_types_are_due(const struct ek_policy_types *types, unsigned long version);

/* Makes *types again for policy, whose last result it is (zero: none). */
void ek_policy_types_check(const struct ek_policy *policy, const struct ek_types_schemas *schemas,
                           struct ek_policy_types *types);

#endif
