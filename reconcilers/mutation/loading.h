/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long params and schemas are waited for, and what is published meanwhile. Pure.
 *
 *   what is read     first snapshot   later snapshots       registrations, statuses
 *   all              published        published             written
 *   not yet          waited for       published, "loading"  not written
 *   not in time      published        published             written
 *
 * A request that needs what is loading is answered "again in a second"
 * (controller/webhook/snapshot.h, set_loading); after PATIENCE_MS it is judged without, because
 * what is missing may never come.
 */
#ifndef RECONCILERS_MUTATION_LOADING_H
#define RECONCILERS_MUTATION_LOADING_H

#include <stdbool.h>
#include <stdint.h>

#define EK_LOADING_PATIENCE_MS 10000
#define EK_LOADING_AGAIN_MS    250 /* until the next look */

/* Zero: nothing is waited for. */
struct ek_loading {
    bool waits;
    int64_t since_ms;
};

struct ek_loading_plan {
    bool loading; /* a member of the snapshot */
    bool publish;
    bool write;
    int64_t again_ms; /* look again after this time; 0: after a change */
};

/* synced: all params and schemas were read, or it is known why they cannot be. published: there is
 * a snapshot. now_ms: monotonic. */
void ek_loading_plan(struct ek_loading *loading, bool synced, bool published, int64_t now_ms,
                     struct ek_loading_plan *ret);

#endif
