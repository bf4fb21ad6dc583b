/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies and bindings as objects of a cluster, in one line of text. Words are separated by
 * spaces; a word of a policy is
 *
 *   [!|?]NAME[/OPTION...][@VERSION]
 *
 * "!" is a policy of admissionregistration.k8s.io/v1, "?" of v1beta1, neither of
 * evenkeel.dev/v1alpha1. The uid is "u-NAME", resourceVersion is VERSION or "1". Options, a letter
 * each:
 *
 *   d   sets spec.template.spec.replicas, deeper than spec.replicas, which is what others set
 *   e   enforcement Enforce      o   enforcement Observe
 *   i   failurePolicy Ignore     s   safety Exact, of evenkeel.dev alone
 *   p   takes ConfigMaps as params
 *   m   matches deployments of apps in v1 and v1beta1, where others match pods
 *   n   another uid
 *   x   an expression that does not compile
 *
 * and a word of a binding is [!|?]NAME>POLICY[/p][@VERSION]; with p it has a paramRef.
 */
#ifndef TEST_SUPPORT_POLICY_LIST_H
#define TEST_SUPPORT_POLICY_LIST_H

#include "reconcilers/mutation/state.h"

#define TEST_POLICY_LIST_MAX 64

/* The objects of each kind in the order of their names, as a store has them. Owned. */
struct test_policy_list {
    struct ek_obj *items[4][TEST_POLICY_LIST_MAX];
    struct ek_mutation_inputs inputs; /* of these objects, serving, with an empty census */
};

void test_policy_list_init(struct test_policy_list *list, const char *policies,
                           const char *bindings);
void test_policy_list_done(struct test_policy_list *list);

#endif
