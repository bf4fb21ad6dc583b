/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which API servers refuse a policy of admissionregistration.k8s.io when it is written through
 * them. A stored policy runs wherever it compiles, but an API server takes a new or changed
 * expression only if the expression compiles at the minimum compatibility version of the server
 * (KEP-4330; apiserver/pkg/cel/environment/environment.go: NewExpressionsEnv at v1.36). On a
 * control plane of mixed versions the same policy is taken by one API server and refused by
 * another.
 *
 * Pure. A list of servers and a result belong to one thread.
 */
#ifndef RECONCILERS_MUTATION_REFUSALS_H
#define RECONCILERS_MUTATION_REFUSALS_H

#include "api/obj.h"
#include "reconcilers/peers/table.h"

/* A live API server, and the minor version of its minimum compatibility version. */
struct ek_refusal_server {
    char *name; /* owned */
    int minor;
};

/* Those whose minimum compatibility version is known, or is the default of a known version; those
 * before 1.23 are left out. Zero: none. Owned. */
struct ek_refusal_servers {
    struct ek_refusal_server *list; /* in the order of the table */
    size_t n;
    int lowest; /* of minor; 0 without servers */
};

/* Fills *ret, which held nothing, with the live API servers of table. */
void ek_refusal_servers_read(const struct ek_peer_table *table, struct ek_refusal_servers *ret);
bool ek_refusal_servers_are_same(const struct ek_refusal_servers *a,
                                 const struct ek_refusal_servers *b);
void ek_refusal_servers_done(struct ek_refusal_servers *servers);

/* What came of compiling one policy as a new one. Zero: it was not tried. Owned. */
struct ek_policy_refusal {
    int tried;     /* the minor version that the policy was compiled for; 0: none */
    int needs;     /* 0: it compiles there; else the first later version where it does, or one
                      beyond the newest known version */
    char *problem; /* the first of that version, in the API server's words; NULL for none */
};

/* Compiles obj for the lowest version of servers, unless *refusal is of that version already. obj
 * compiles as a stored policy. */
void ek_policy_refusal_check(const struct ek_obj *obj, const struct ek_refusal_servers *servers,
                             struct ek_policy_refusal *refusal);

/* Whether server refuses the policy. */
bool ek_policy_is_refused(const struct ek_policy_refusal *refusal,
                          const struct ek_refusal_server *server);
void ek_policy_refusal_done(struct ek_policy_refusal *refusal);

#endif
