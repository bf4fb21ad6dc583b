/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests that API servers send to Evenkeel: the webhooks of a MutatingWebhookConfiguration
 * and of a ValidatingWebhookConfiguration, computed from the bound policies, and which policies run
 * behind which webhook.
 *
 * It is no policy engine: what a webhook lets through is matched again, exactly, for each policy.
 * So rules may let through too much, never too little.
 *
 * Model. Policies are put into as few entries as honesty allows; each entry is one webhook, and the
 * set of policies under /mutate/<name> or /validate/<name>:
 *
 *   failurePolicy        Fail and Ignore apart: a policy that may be left out must not keep
 *                        requests from being served while we are away
 *   reinvocationPolicy   IfNeeded apart: an API server that calls again must not run those that
 *                        said Never a second time; validating webhooks are called once anyway
 *   matchPolicy          Exact apart: with Equivalent the server converts objects for us
 *   versions             two policies that want one resource in different versions are apart, so
 *                        that each gets the version it is written for
 *
 * Policies that are only to be observed are behind mutating webhooks that ignore failures. Behind
 * validating ones are those with something to check (safety.h), with any enforcer. Pure.
 * Source: admissionregistration.k8s.io/v1, MutatingWebhook and ValidatingWebhook.
 */
#ifndef RECONCILERS_MUTATION_REGISTRATION_H
#define RECONCILERS_MUTATION_REGISTRATION_H

#include "reconcilers/mutation/engine.h"
#include "reconcilers/webhooks/configuration.h"

/* Name of both configurations. */
#define EK_REGISTRATION_NAME "evenkeel"

/* Where policies and bindings of evenkeel.dev are checked when they are written (definition.h): by
 * one more webhook of the validating configuration, which never ignores failures. It concerns the
 * policies of this group alone, and deletions not at all, so that it keeps nobody from repairing
 * the cluster; metadata can be changed without it. */
#define EK_REGISTRATION_DEFINITION_PATH "/policy-definition"

enum ek_registration_kind {
    EK_REGISTRATION_MUTATING,   /* the policies that are run */
    EK_REGISTRATION_VALIDATING, /* those whose safety is checked when all mutators have run */
    EK_REGISTRATION_KINDS,
};

/* Entries, as many as failurePolicy, reinvocationPolicy and matchPolicy make and more. */
#define EK_REGISTRATION_ENTRIES_MAX 64

struct ek_registration_entry {
    char name[48]; /* "fail", "fail-again", "safety-ignore-exact-2": last part of the path, and
                      label; no two of either kind have the same */
    bool ignore_failures, reinvoke, exact;
    size_t *bound; /* indexes of the bound policies behind it, ascending; owned */
    size_t n_bound;
    const struct ek_rules *
        *rules; /* their different rules, borrowed from them; the array is owned */
    size_t n_rules;
};

struct ek_registration {
    enum ek_registration_kind kind;
    struct ek_registration_entry *entries; /* in the order in which they are called; owned */
    size_t n_entries;
    size_t left_out; /* bound policies that found no room */
};

/*
 * Sorts n bound policies into entries. A policy is registered for mutation when it is to be
 * applied, or when it says Observe; one that we merely leave to the API servers needs no calls. For
 * validation it is when it has something to check, and does not say Observe. Policies and bindings
 * that cannot be read match nothing and are left out. Release with ek_registration_done.
 */
void ek_registration_plan(enum ek_registration_kind kind, const struct ek_bound *bound, size_t n,
                          struct ek_registration *ret_registration);
void ek_registration_done(struct ek_registration *registration);

/* Whether a bound policy is to be registered, as ek_registration_plan says. */
bool ek_registration_is_wanted(enum ek_registration_kind kind, const struct ek_bound *bound);

/* The i-th of the names that entries of a kind have as long as no versions differ; NULL beyond the
 * last. Serving a set for each at all times lets replicas come and go without refusals. */
const char *ek_registration_name(enum ek_registration_kind kind, size_t i);

/*
 * The configuration as content for server-side apply (reconcilers/webhooks/configuration.h), a
 * value of doc; bound is what was planned. Without entries webhooks has at most that of
 * definitions; empty, it registers nothing. The order of webhooks counts when it is compared.
 */
yyjson_mut_val *ek_registration_write(const struct ek_registration *registration,
                                      const struct ek_bound *bound,
                                      const struct ek_webhooks_options *options,
                                      yyjson_mut_doc *doc);

#endif
