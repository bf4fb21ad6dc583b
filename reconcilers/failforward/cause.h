/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cause of a failure by the text that OLM or the API server wrote. The texts are those of
 * Kubernetes 1.36 and of operator-lifecycle-manager at 992bb097 (README.md of this folder lists
 * the source of each). Pure; any thread.
 */
#ifndef RECONCILERS_FAILFORWARD_CAUSE_H
#define RECONCILERS_FAILFORWARD_CAUSE_H

enum ek_ff_cause {
    EK_FF_UNKNOWN,    /* retried as a transient cause, permanent after the retries */
    EK_FF_TRANSIENT,  /* a retry of the same version helps */
    EK_FF_SLOW,       /* heals without a write, but slowly: images, nodes, quota */
    EK_FF_PERMANENT,  /* this version will never install on this cluster */
    EK_FF_REPAIRABLE, /* a CRD that the stored objects contradict: permanent until a person repairs
                         the objects or the stored versions */
    EK_FF_ADMIN,      /* an administrator must act; no version can help */
    EK_FF_CAUSE_MAX,
};

/* The cause that a message names; NULL and "" are EK_FF_UNKNOWN. */
enum ek_ff_cause ek_ff_cause_of(const char *message);

/* "transient", "slow transient", "permanent", "permanent until repaired", "needs admin",
 * "unknown". */
const char *ek_ff_cause_name(enum ek_ff_cause cause);

#endif
