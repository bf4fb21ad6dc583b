/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decisions of the made-up subject "census": how many ConfigMaps carry the label, and what is
 * to be written about that. Pure.
 */
#ifndef TEST_SUBJECT_RECONCILERS_CENSUS_PLAN_H
#define TEST_SUBJECT_RECONCILERS_CENSUS_PLAN_H

#include "reconcilers/intent.h"
#include "reconcilers/webhooks/configuration.h"

/* The ValidatingWebhookConfiguration. */
#define CENSUS_REGISTRATION "census.test.evenkeel.dev"

/* What was observed. Borrowed. */
struct census_view {
    size_t n;                /* ConfigMaps with the label */
    const struct ek_obj *at; /* the Census "configmaps"; NULL: it is not there */
};

/* Plans the Census: created where it is missing, its status written where it differs, an Event
 * after each change. */
void census_plan(const struct census_view *view, struct ek_intents *intents);

/* Plans the registration of a webhook for ConfigMaps beside live, that of the cluster (NULL: there
 * is none). waits says why nothing may be registered yet: then the plan is made again; NULL: it
 * may. Returns whether all that is registered carries the CA bundle of options. */
bool census_plan_registration(const struct ek_webhooks_options *options, const struct ek_obj *live,
                              const char *waits, struct ek_intents *intents);

#endif
