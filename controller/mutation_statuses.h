/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which PolicyStatuses are to be written: those that do not say what reconcilers/mutation/status.h
 * says of their policies. One that is not there is created first, owned by its policy, so that the
 * cluster's garbage collector takes it away with it.
 *
 * A policy that comes or goes moves the places of all others: what says nothing new but that comes
 * last, and no more of it than EK_STATUS_MOVES_MAX each EK_STATUS_MOVES_MS. Threading: the loop
 * thread.
 */
#ifndef CONTROLLER_MUTATION_STATUSES_H
#define CONTROLLER_MUTATION_STATUSES_H

#include "controller/events.h"
#include "controller/mutation_reporter.h"
#include "controller/mutation_state.h"

#define EK_STATUS_MOVES_MAX 100
#define EK_STATUS_MOVES_MS  1000

struct ek_status_write {
    char *name;              /* owned */
    yyjson_mut_doc *doc;     /* owned: of content */
    yyjson_mut_val *content; /* {"status": ...}, or {"metadata": ...} to create it */
    bool creates;
    bool moves;            /* nothing but the place in the order is new */
    struct ek_obj *policy; /* owned reference: whom Events are about */
    bool told;             /* its Ready condition has changed: worth an Event */
};

struct ek_status_writes {
    struct ek_status_write *items;
    size_t n, next;
    int64_t again_ms; /* when to plan again, because some were put off; 0: none was */
};

/* Lists what is to be written now; release with ek_status_writes_done. Policies whose types were
 * not checked yet, or against other schemas, are checked. reporter may be NULL. */
void ek_status_writes_plan(struct ek_mutation_state *state, const struct ek_mutation_watch *watch,
                           struct ek_mutation_reporter *reporter, int64_t now_ms,
                           struct ek_status_writes *ret_writes);
void ek_status_writes_done(struct ek_status_writes *writes);

/* The next write, borrowed; NULL after the last. */
struct ek_status_write *ek_status_writes_next(struct ek_status_writes *writes);

/* What came of it: recorder (may be NULL) is told of a policy that has become ready, or is so no
 * more. A status whose object could not be made is passed over. */
void ek_status_writes_answer(struct ek_status_writes *writes, const struct ek_obj *obj,
                             const struct ek_err *err, struct ek_recorder *recorder);

#endif
