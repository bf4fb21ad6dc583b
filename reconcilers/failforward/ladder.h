/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next step for one subscription: the ladder S0 to S6 of README.md of this folder. At most one
 * write is due at a time; the state is read again before each.
 *
 * The memory of an episode is an argument and a result, so that another replica goes on with what
 * the status of the subscription holds. Pure: time is an argument. Threading: none.
 */
#ifndef RECONCILERS_FAILFORWARD_LADDER_H
#define RECONCILERS_FAILFORWARD_LADDER_H

#include "reconcilers/failforward/classify.h"
#include "reconcilers/failforward/edges.h"

enum ek_ff_mode {
    EK_FF_OFF,     /* nothing is reported or written */
    EK_FF_OBSERVE, /* the verdict is reported; no object of OLM is written */
    EK_FF_ASSIST,  /* writes that take nothing away */
    EK_FF_FORCE,   /* all writes, also the deletion of a CSV that never ran */
};

enum ek_ff_step {
    EK_FF_NONE,    /* nothing to do */
    EK_FF_S0,      /* wait, and wake OLM where it has to resolve again */
    EK_FF_S1,      /* retry the plan */
    EK_FF_S2,      /* switch upgradeStrategy of the operator group on */
    EK_FF_S3A,     /* hold the failing CSV in Failed, then wake OLM */
    EK_FF_S3B,     /* release the CSV to the one that replaces it */
    EK_FF_S3C,     /* approve the plan of the fixing version */
    EK_FF_S3D,     /* create a stand-in for a CSV that never came to exist */
    EK_FF_S4,      /* delete a first version that never ran, to install another one */
    EK_FF_S5,      /* clear the subscription's status */
    EK_FF_S6,      /* undo the failed upgrade */
    EK_FF_RESTORE, /* take back what an earlier step changed */
    EK_FF_BLOCKED, /* a reason keeps us from acting */
    EK_FF_STEP_MAX,
};

/* The write of a step. */
enum ek_ff_act {
    EK_FF_NO_ACT,
    EK_FF_POKE,      /* S0, S3a: change an annotation of the subscription */
    EK_FF_REOPEN,    /* S1 */
    EK_FF_REDO_LOST, /* S1: and run the steps of lost objects again */
    EK_FF_REDO_CSV,  /* S1: and run the step of a deleted CSV again */
    EK_FF_SWITCH,    /* S2 */
    EK_FF_PIN,       /* S3a */
    EK_FF_RELEASE,   /* S3b */
    EK_FF_APPROVE,   /* S3c */
    EK_FF_STAND_IN,  /* S3d */
    EK_FF_CLEAR,     /* S5 */
    EK_FF_DELETE,    /* S4, S6: delete the CSV that never ran; its manifest is kept before */
    EK_FF_REINSTATE, /* S6: the CSV that ran before is Succeeded again */
    EK_FF_UNPIN,     /* restore: OLM evaluates the CSV again */
    EK_FF_UNSWITCH,  /* restore: upgradeStrategy Default */
    EK_FF_ACT_MAX,
};

enum ek_ff_blocked {
    EK_FF_NOT_BLOCKED,
    EK_FF_INCOMPATIBLE_CRD,
    EK_FF_NEEDS_ADMIN,
    EK_FF_NO_EDGE,
    EK_FF_NAMESPACE_SHARED,
    EK_FF_MANUAL_APPROVAL,
    EK_FF_NOT_UPGRADEABLE,
    EK_FF_BUDGET_EXHAUSTED,
    EK_FF_STARTING_CSV,
    EK_FF_NOT_ALLOWED,
    EK_FF_BLOCKED_MAX,
};

/* What was consented to. */
struct ek_ff_consent {
    enum ek_ff_mode mode;
    int64_t grace_ms;     /* how long a transient failure is waited for */
    unsigned max_retries; /* of one write for one version */
    unsigned max_hops;    /* versions left behind within a day */
    bool approve;         /* approve the plan of the fixing version of a Manual subscription */
    unsigned denied;      /* steps that are not allowed: 1u << enum ek_ff_step */
    bool any_olm;         /* act also where the version of OLM was not tried */
    bool shared;          /* another subscription of the namespace does not consent to this mode */
    bool others_unfinished; /* another subscription of the namespace has a failure, or old versions
                               of an upgrade */
};

#define EK_FF_NAME_MAX 254 /* of a Kubernetes object, with the NUL */

/* How often a write was carried out. */
struct ek_ff_tries {
    unsigned n;
    int64_t last_ms; /* the last time */
};

/* Versions of an episode that are remembered beside the one that fails. */
#define EK_FF_PAST_MAX 4

/* Another version that failed in the episode, and what was done for it. */
struct ek_ff_past {
    char failing[EK_FF_NAME_MAX]; /* "" for none */
    struct ek_ff_tries acts[EK_FF_ACT_MAX];
};

/* What was done in this episode and earlier; zero for a subscription that was never acted upon. */
struct ek_ff_memory {
    char failing[EK_FF_NAME_MAX];           /* the CSV that the episode is about; "" for none */
    int64_t since_ms;                       /* since when it fails */
    struct ek_ff_tries acts[EK_FF_ACT_MAX]; /* for this CSV, in this episode */
    struct ek_ff_past past[EK_FF_PAST_MAX]; /* the one that failed last comes first */
    unsigned hops;                          /* within the day that began at hops_ms */
    int64_t hops_ms;
    char pinned[EK_FF_NAME_MAX]; /* the CSV that we hold in Failed; "" for none */
    bool switched;               /* we switched the operator group on */
    bool recovered;              /* the last episode ended with a healthy operator */
    int64_t changed_ms;          /* when the catalog changed last during the episode; 0: unknown */
};

/* What is due. */
struct ek_ff_next {
    enum ek_ff_step step;
    enum ek_ff_act act; /* the write; NO_ACT where the step waits or consent does not reach */
    enum ek_ff_blocked blocked; /* of step BLOCKED */
    bool by_hook;               /* of NEEDS_ADMIN: the webhook of the finding is the reason */
    const char *target;         /* name of the object of the write, borrowed; NULL without */
    const char *why;            /* constant text for people */
    int64_t again_ms;           /* decide again at this time; 0: only after a change */
};

/* The message with which a CSV is held. A hold with another message is not ours. */
#define EK_FF_PIN_MESSAGE "held by failforward.evenkeel.dev until a version that fixes it is there"

/* Begins, continues or ends the episode in memory. */
void ek_ff_remember(const struct ek_ff_state *state, const struct ek_ff_finding *finding,
                    int64_t now_ms, struct ek_ff_memory *memory);

/* The next step. edges may be NULL for an unknown catalog. */
void ek_ff_decide(const struct ek_ff_state *state, const struct ek_ff_finding *finding,
                  const struct ek_ff_edges *edges, const struct ek_ff_consent *consent,
                  const struct ek_ff_memory *memory, int64_t now_ms, struct ek_ff_next *ret_next);

/* Notes in memory that the write of next is carried out now. */
void ek_ff_note(const struct ek_ff_next *next, int64_t now_ms, struct ek_ff_memory *memory);

/* "S0" to "S6", "none"; "Restore" and "Blocked". */
const char *ek_ff_step_name(enum ek_ff_step step);

/* "IncompatibleCRD" and so on; "" for NOT_BLOCKED. */
const char *ek_ff_blocked_name(enum ek_ff_blocked blocked);

#endif
