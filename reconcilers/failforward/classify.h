/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which failure holds a subscription, and what says so. The classes are those of README.md of this
 * folder. Pure; any thread.
 */
#ifndef RECONCILERS_FAILFORWARD_CLASSIFY_H
#define RECONCILERS_FAILFORWARD_CLASSIFY_H

#include "reconcilers/failforward/cause.h"
#include "reconcilers/failforward/edges.h"
#include "reconcilers/failforward/observe.h"

enum ek_ff_class {
    EK_FF_HEALTHY, /* nothing fails, or an installation is under way */
    EK_FF_F1,      /* the plan failed, and the CSV does not exist */
    EK_FF_F2,      /* the plan failed, or retries what cannot succeed; the CSV exists */
    EK_FF_F3,      /* the CSV failed, or does not become healthy */
    EK_FF_F4,      /* the CSV fails again and again */
    EK_FF_F5,      /* the CSV failed for a reason that OLM does not retry */
    EK_FF_F6,      /* the CSV is Pending although the plan is complete */
    EK_FF_F7,      /* the plan retries, or OLM does not begin with a plan that S1 re-opened */
    EK_FF_F8,      /* the bundle could not be unpacked */
    EK_FF_F9,      /* the resolution of the namespace failed */
    EK_FF_F10,     /* the operator installs and then crashes, again and again */
    EK_FF_CLASS_MAX,
};

/* A state that OLM passes through during any upgrade is a failure only after this time, in
 * milliseconds. Upgrades that succeed take about two seconds for each. */
#define EK_FF_SETTLE_MS INT64_C(20000)

/* After a write OLM gets this time, in milliseconds, to move before the write counts as without
 * effect. */
#define EK_FF_VERIFY_MS (INT64_C(2) * 60 * 1000)

/* A crashing operator that is Succeeded counts as healthy again after this time, in milliseconds:
 * longer than the longest back-off of a container (five minutes). */
#define EK_FF_STABLE_MS (INT64_C(6) * 60 * 1000)

/* The verdict; strings are borrowed from the state or constant. All zero for a healthy one, but for
 * again_ms. */
struct ek_ff_finding {
    enum ek_ff_class class;
    enum ek_ff_cause cause;
    const char *failing;        /* name of the CSV that fails; "" where there is none */
    bool is_stuck;              /* it is state->stuck: another CSV that replaces it exists */
    const char *kind, *name;    /* the object that says so */
    const char *phase, *reason; /* its phase or condition and the reason */
    const char *text;           /* its message; never NULL */
    int64_t since_ms;           /* since when, as far as the object says; EK_TIME_UNSET */
    int64_t again_ms;           /* judge again at this time without a change; 0: no need */
    const char *neighbor;       /* the other subscription that cannot be resolved; NULL */
    bool is_untaken;            /* an edge leads on, and OLM does not take it */
    struct ek_ff_hook hook;     /* the webhook that text names; kind NULL: none that OLM made */
};

void ek_ff_classify(const struct ek_ff_state *state, int64_t now_ms,
                    struct ek_ff_finding *ret_finding);

/* OLM takes an edge within this time, in milliseconds: five minutes. A client of the catalog
 * operator sends five requests a second for all namespaces, so one namespace has waited for more
 * than a minute. */
#define EK_FF_TAKE_MS INT64_C(300000)

/*
 * What the edges say about a healthy finding: an edge leads on, and OLM resolves without an error
 * and does not take it, or holds on to a plan that waits for approval and that the catalog has
 * overtaken. Leaves every other finding as it is.
 */
void ek_ff_classify_edges(const struct ek_ff_state *state, const struct ek_ff_edges *edges,
                          int64_t now_ms, struct ek_ff_finding *finding);

/* "F1" to "F10"; "" for healthy. */
const char *ek_ff_class_name(enum ek_ff_class class);

/* True for the reason that keeps OLM from evaluating a Failed CSV (operator-lifecycle-manager at
 * 992bb097, pkg/controller/operators/olm/operator.go:transitionCSVState). */
bool ek_ff_is_held(const struct ek_ff_csv *csv);

/* True for a CSV that Failed because it lacks an install mode: another version can have the mode.
 * OLM evaluates such a CSV no further, and puts it back to Failed when it is released
 * (operator-lifecycle-manager at 992bb097, pkg/controller/operators/olm/operator.go:
 * transitionCSVState). */
bool ek_ff_lacks_mode(const struct ek_ff_csv *csv);

#endif
