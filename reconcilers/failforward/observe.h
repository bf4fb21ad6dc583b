/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the objects of OLM say about one subscription: the install plan, the chain of CSVs, the
 * operator groups. Fields are those of github.com/operator-framework/api at 3048ccd,
 * pkg/operators/v1alpha1 (subscription_types.go, installplan_types.go,
 * clusterserviceversion_types.go), v1 (operatorgroup_types.go) and v2 (operatorcondition_types.go).
 *
 * A field of a wrong type counts as absent. Strings of the structs are borrowed from the objects,
 * which must outlive them. Pure; any thread.
 */
#ifndef RECONCILERS_FAILFORWARD_OBSERVE_H
#define RECONCILERS_FAILFORWARD_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reconcilers/failforward/hook.h"

/* The objects of one namespace; catalogs may be of any namespace, and hooks, the configurations of
 * webhooks that OLM made, are of none. Objects of another namespace are not read. Threading: none.
 */
struct ek_ff_world {
    const char *namespace;
    struct ek_ff_objs subscriptions, plans, csvs, groups, conditions, catalogs, hooks;
};

enum ek_ff_phase { /* of a CSV */
                   EK_FF_PHASE_NONE,
                   EK_FF_PENDING,
                   EK_FF_INSTALL_READY,
                   EK_FF_INSTALLING,
                   EK_FF_SUCCEEDED,
                   EK_FF_FAILED,
                   EK_FF_REPLACING,
                   EK_FF_DELETING,
                   EK_FF_PHASE_OTHER,
                   EK_FF_PHASE_MAX,
};

/* The window in which failures of a CSV are counted, in milliseconds. */
#define EK_FF_LOOP_WINDOW_MS (INT64_C(30) * 60 * 1000)

/* A CSV; all zero where there is none (obj NULL). */
struct ek_ff_csv {
    struct ek_obj *obj;
    const char *name, *replaces; /* never NULL where obj is set; replaces "" for none */
    enum ek_ff_phase phase;
    const char *reason, *message; /* of the phase; "" where absent */
    int64_t since_ms;             /* of the phase; EK_TIME_UNSET if unknown */
    int64_t created_ms;           /* EK_TIME_UNSET if unknown */
    unsigned n_failed;            /* entries Failed of status.conditions within the window */
    int64_t first_failed_ms;      /* of these the first; EK_TIME_UNSET for none */
    bool unhealthy;               /* one of these is ComponentUnhealthy */
    const char *failed_reason, *failed_message; /* of the last of these; "" for none */
    bool has_run;                               /* left Pending at least once */
    bool may_have_run; /* has_run, or status.conditions has lost its oldest entries */
    bool converts;     /* has a conversion webhook (spec.webhookdefinitions) */
    const char *unmet; /* the message of a requirement that is not met; NULL for none */
    bool has_lost;     /* ek_ff_is_lost is true of an object */
};

enum ek_ff_plan_phase {
    EK_FF_PLAN_OTHER, /* Planning, "" and phases that are not known */
    EK_FF_PLAN_APPROVAL,
    EK_FF_PLAN_INSTALLING,
    EK_FF_PLAN_COMPLETE,
    EK_FF_PLAN_FAILED,
};

/* An install plan; all zero where there is none. */
struct ek_ff_plan {
    struct ek_obj *obj;
    const char *name;
    int64_t generation; /* spec.generation */
    enum ek_ff_plan_phase phase;
    const char
        *message;  /* the last error without "retrying execution due to error: "; "" for none */
    bool has_made; /* a step says that the CSV, which the plan was found by, was made */
    int64_t created_ms, start_ms; /* EK_TIME_UNSET if unknown */
    int64_t done_ms;              /* when it completed, or since when OLM does not begin with it;
                                     EK_TIME_UNSET if unknown */
    int64_t retried_ms;           /* when S1 re-opened it, where OLM has not begun with it since;
                                     EK_TIME_UNSET otherwise */
};

/* The message of a plan that S1 re-opens, followed by the time. OLM replaces the message when it
 * begins with the plan. */
#define EK_FF_RETRY_MESSAGE "retried by failforward.evenkeel.dev at "

/* The annotation with which S2 marks an operator group: the generation that S2 gives it. */
#define EK_FF_SWITCH_MARK "failforward.evenkeel.dev/switched"

/* True where S2 was the last change of the spec of the operator group, and fail forward is on. */
bool ek_ff_is_switched(const struct ek_obj *group);

/* The state of one subscription. */
struct ek_ff_state {
    struct ek_obj *sub;
    struct ek_ff_objs hooks;                                  /* of the world */
    const char *name, *package, *current, *installed, *state; /* "" where absent */
    const char *starting;                                     /* spec.startingCSV, "" for none */
    struct ek_ff_plan plan;                                   /* the newest plan of head */
    bool plan_missing;            /* status.installPlanRef names a plan that does not exist */
    struct ek_ff_csv head;        /* the current CSV; with offered, the installed CSV */
    bool offered;                 /* the current CSV does not exist: its plan waits for approval */
    struct ek_ff_csv stuck;       /* a CSV that another one replaces and that blocks the other */
    struct ek_ff_plan stuck_plan; /* the newest plan of stuck */
    struct ek_ff_csv running;  /* the oldest CSV of the chain of the current CSV; without a current
                                  CSV, the last one of the package's chain */
    bool alone;                /* the CSV that the current one replaces does not exist */
    struct ek_ff_plan waiting; /* a plan of this subscription that waits for approval */
    bool busy;                 /* a plan of the namespace runs or waits for approval: OLM resolves
                                  nothing before */
    bool
        moving; /* the CSV of the plan does not exist, but another one replaces the installed CSV */
    bool wedged;               /* the current CSV is Replacing although nobody replaces it */
    const char *resolution;    /* message of ResolutionFailed=True; NULL where it is not true */
    int64_t resolution_ms;     /* since when; EK_TIME_UNSET */
    const char *culprit;       /* the subscription of the namespace that this message blames: the
                                  catalog does not have what it names; NULL */
    const char *unpack_failed; /* message of BundleUnpackFailed=True; NULL */
    int64_t unpack_ms;         /* since when; EK_TIME_UNSET */
    size_t n_groups;           /* operator groups of the namespace */
    struct ek_obj *group;      /* the operator group, where there is one */
    bool switched_on;          /* its spec.upgradeStrategy is TechPreviewUnsafeFailForward */
    bool marked;               /* S2 was the last change of its spec */
    bool catalog_ready;        /* the catalog source exists and was READY at the last observation */
    const char *not_upgradeable; /* message of Upgradeable=False of a CSV of the chain that nobody
                                    has overridden; NULL for none */
};

/* Reads the state of a subscription of world->namespace at now_ms (milliseconds since the epoch).
 */
void ek_ff_observe(const struct ek_ff_world *world, struct ek_obj *subscription, int64_t now_ms,
                   struct ek_ff_state *ret_state);

/*
 * True for an object of the CSV that its requirements miss and that a step of its plan makes again:
 * a ServiceAccount, an owned CustomResourceDefinition that does not exist, and, where a
 * ServiceAccount lacks rights, all Roles, ClusterRoles and their bindings. A definition that exists
 * without the version of the CSV is not lost: the step would put an older one in its place
 * (operator-lifecycle-manager at 992bb097, pkg/controller/operators/olm/requirements.go).
 */
bool ek_ff_is_lost(const struct ek_ff_csv *csv, const char *kind, const char *name);

/*
 * The manifest of a CSV in the steps of its plan, as a new reference. NULL where the plan does not
 * have the manifest itself (bundles out of images) or the manifest lacks the version or the
 * properties.
 */
struct ek_obj *ek_ff_plan_csv(const struct ek_ff_plan *plan, const char *csv);

#endif
