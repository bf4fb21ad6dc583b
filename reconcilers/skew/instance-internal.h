/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instances of the controller manager, the scheduler and cloud controllers while they are put
 * together. instance_sources.c reads candidates, election leases, pods and probes into one table,
 * where what belongs to one process is one row; instance_facts.c makes facts of the rows. For
 * these two files only.
 */
#ifndef RECONCILERS_SKEW_INSTANCE_INTERNAL_H
#define RECONCILERS_SKEW_INSTANCE_INTERNAL_H

#include "reconcilers/skew/facts-internal.h"

struct instance {
    enum ek_component component;
    const char *host;     /* hostname of the process */
    const char *identity; /* "<hostname>_<uuid>", "" when not known */
    bool main;            /* the newest of its host, which pods and probes are taken to be of */

    const struct ek_obj *candidate;   /* NULL when there is none */
    int64_t created, renewed, pinged; /* of the candidate; EK_TIME_UNSET when not known */
    const char *stale_reason;         /* of the candidate, "" when it lives */

    bool holds;              /* is the holder of the election lease */
    bool holds_expired;      /* but has not renewed it in time */
    bool holds_as_candidate; /* the lease names this very identity, not just this host */
    int64_t lease_renewed;   /* EK_TIME_UNSET when not known */

    const struct ek_obj *pod;
    bool untrusted; /* its metrics are not read: nothing vouches for the pod's addresses */
    const struct ek_probe *probe;
};

struct instances {
    struct facts *f;
    struct instance *rows;
    size_t n, cap;
    size_t n_dropped; /* beyond cap */
};

/* Fills the table from all four sources and adds the addresses of metrics ports to the targets. */
void ek_instances_read__(struct instances *table);

#endif
