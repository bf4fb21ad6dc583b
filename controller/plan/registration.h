/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The webhook registration of the guard for the way back, beside that of the cluster: what to
 * write, and whether API servers have it. Threading: the loop thread.
 */
#ifndef CONTROLLER_PLAN_REGISTRATION_H
#define CONTROLLER_PLAN_REGISTRATION_H

#include "controller/manager/subject.h"
#include "reconcilers/plan/guard.h"
#include "reconcilers/webhooks/compare.h"

/* The tag of the intent that writes the registration. */
#define EK_PLAN_TAG_REGISTRATION 1

/* Zero before the first ek_plan_registration_make, but for publisher. */
struct ek_plan_registration {
    yyjson_mut_doc *doc;     /* owned */
    yyjson_mut_val *content; /* of doc */
    struct ek_webhooks_standing standing;
    bool on;          /* some plan needs the guard, and this process serves a webhook */
    size_t publisher; /* from ek_webhook_registration_expect */
    char *problem;    /* why it is not registered; NULL: not known. Owned */
};

/* Makes the content for rules, and compares it with live, the configuration of the cluster, and
 * namespace, that of this process (either NULL: there is none). Reports to the certificates of env
 * what API servers have. */
void ek_plan_registration_make(struct ek_plan_registration *registration,
                               const struct ek_guard_rules *rules, const struct ek_plan_data *data,
                               const struct ek_subject_env *env, const struct ek_obj *live,
                               const struct ek_obj *namespace);

/* True when the guard is needed, and the cluster has the registration. */
bool ek_plan_registration_is_on(const struct ek_plan_registration *registration);

/* Appends the apply of what differs. Nothing is registered before requests can be answered; what is
 * withdrawn does not wait. */
void ek_plan_registration_plan(struct ek_plan_registration *registration,
                               const struct ek_resource *resource, const struct ek_subject_env *env,
                               struct ek_intents *intents);

/* The write was answered: err as of the subject's answered. */
void ek_plan_registration_answered(struct ek_plan_registration *registration,
                                   const struct ek_err *err);

void ek_plan_registration_done(struct ek_plan_registration *registration);

#endif
