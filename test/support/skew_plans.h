/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A little history of plans for tests: each step makes a plan from facts and from the status that
 * the step before published, as the controller would.
 */
#ifndef TEST_SUPPORT_SKEW_PLANS_H
#define TEST_SUPPORT_SKEW_PLANS_H

#include "api/base/buf.h"
#include "reconcilers/skew/view.h"
#include "test/support/skew_facts.h"

struct ek_test_plans {
    struct ek_test_facts facts;      /* of the last step */
    struct ek_skew_plan plan;        /* of the last step */
    struct ek_obj *object;           /* the ControlPlane as published by the last step */
    int64_t now_ms;                  /* starts at EK_TEST_NOW; tests move it */
    bool probing;                    /* the first round of probes is not over */
    const struct ek_view *documents; /* borrowed; NULL: not known */
    int steps;
};

void ek_test_plans_init(struct ek_test_plans *p);
void ek_test_plans_done(struct ek_test_plans *p);
EK_CLEANUP(ek_test_plans, ek_test_plans_done)

/* Makes a plan from a script of facts and the JSON of .spec (NULL: {}); the status, if changed,
 * is published. */
void ek_test_plans_step(struct ek_test_plans *p, const char *facts, const char *spec);

/* A view of the documents of API servers, one for each word: "cp-a" routable, "cp-a-" not
 * ready, "cp-a?" never read and not down, "cp-a!" never read and down. */
struct ek_view *ek_test_documents(const char *words);

/* The published status. */
yyjson_val *ek_test_plans_status(const struct ek_test_plans *p);

/* "Status Reason" of a condition, and its message; "" when it is not there. */
const char *ek_test_plans_condition(struct ek_test_plans *p, const char *type);
const char *ek_test_plans_message(struct ek_test_plans *p, const char *type);

/* The reasons of the last step's events, "!" before warnings, in one line; from its arena. */
const char *ek_test_plans_events(struct ek_test_plans *p);

#endif
