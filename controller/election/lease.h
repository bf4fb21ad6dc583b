/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A coordination.k8s.io/v1 Lease as election record, and back. Pure.
 */
#ifndef CONTROLLER_ELECTION_LEASE_H
#define CONTROLLER_ELECTION_LEASE_H

#include "api/obj.h"
#include "controller/election/fsm.h"

/*
 * Reads a Lease. Absent members are empty or 0, as client-go has it; texts longer than a record
 * holds are cut. EK_E_PARSE when lease is of another kind or has no resourceVersion.
 */
int ek_election_lease_read(const struct ek_obj *lease, struct ek_election_record *ret_record,
                           struct ek_err *err);

/*
 * Returns the JSON, owned, of what is to be sent: base (the Lease as last seen; NULL to make a new
 * one) with the spec of record and its resourceVersion. Labels, annotations and whatever else
 * others put there stay. An empty holder is left out, because a Lease may not hold "". NULL without
 * memory.
 */
char *ek_election_lease_write(const struct ek_obj *base, const char *namespace, const char *name,
                              const struct ek_election_record *record, size_t *ret_size);

#endif
