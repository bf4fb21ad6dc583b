/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this process knows of its writes beside the reports: writes that were not carried out, and
 * writes that are refused (struct ek_ff_kept). By the uid of the subscription. It ends with the
 * process, or with the next election: without it a write counts as carried out.
 *
 * Threading: the loop thread.
 */
#ifndef CONTROLLER_FAILFORWARD_KEPT_H
#define CONTROLLER_FAILFORWARD_KEPT_H

#include "reconcilers/failforward/judge.h"
#include "reconcilers/intent.h"

/* Conflicts one after another after which a write waits: OLM changes some objects all the time. */
#define EK_FF_CONFLICTS_MAX 20
#define EK_FF_CONFLICT_MS   10000
#define EK_FF_REFUSED_MS    60000

struct ek_ff_kept_list {
    struct ek_ff_kept_item {
        char *uid; /* owned */
        struct ek_ff_kept kept;
        unsigned n_conflicts;
    } * items;
    size_t n;
};

/* NULL for nothing; borrowed until the next change of the list. */
const struct ek_ff_kept *ek_ff_kept_get(const struct ek_ff_kept_list *list, const char *uid);

/* Notes that a step failed with err. undone is the memory without the step. Returns the class of
 * the failure. */
enum ek_apply_class ek_ff_kept_fail(struct ek_ff_kept_list *list, const char *uid,
                                    const struct ek_ff_memory *undone, const struct ek_err *err,
                                    int64_t now_ms);

/* The memory was written: what was undone is in the report now. */
void ek_ff_kept_remembered(struct ek_ff_kept_list *list, const char *uid);

/* The step was carried out, or the subscription is gone. */
void ek_ff_kept_forget(struct ek_ff_kept_list *list, const char *uid);

void ek_ff_kept_done(struct ek_ff_kept_list *list);

#endif
