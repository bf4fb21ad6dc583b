/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which CustomFeatureGates are to be written: those whose status does not say what
 * reconcilers/fieldgates/status.h says of them; and which Events that is worth.
 * Threading: the loop thread.
 */
#ifndef CONTROLLER_GATES_STATUSES_H
#define CONTROLLER_GATES_STATUSES_H

#include "controller/events.h"
#include "controller/gates_registrar.h"
#include "controller/gates_tally.h"

/* What holds for all kinds. Borrowed. */
struct ek_gates_standing {
    bool serving;
    const struct ek_gates_registrar *registrar;
    enum ek_gates_canary canary;
    const char *canary_message;
    struct ek_gates_tally *tally;
    int64_t now_ms;
};

struct ek_gates_status_write {
    struct ek_obj *obj;      /* owned reference: the object as it was */
    yyjson_mut_doc *doc;     /* owned: of content */
    yyjson_mut_val *content; /* {"status": ...} */
};

struct ek_gates_status_writes {
    struct ek_gates_status_write *items;
    size_t n, next;
};

/* Lists what is to be written now; release with ek_gates_status_writes_done. */
void ek_gates_status_writes_plan(const struct ek_gates_state *state,
                                 const struct ek_gates_standing *standing,
                                 struct ek_gates_status_writes *ret_writes);
void ek_gates_status_writes_done(struct ek_gates_status_writes *writes);

/* The next write, borrowed; NULL after the last. */
struct ek_gates_status_write *ek_gates_status_writes_next(struct ek_gates_status_writes *writes);

/* It was written: recorder (may be NULL) is told what has changed. */
void ek_gates_status_write_record(const struct ek_gates_status_write *write,
                                  struct ek_recorder *recorder);

#endif
