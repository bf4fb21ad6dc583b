/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of the census (reconcilers/fieldgates/census.h): lists the objects of gated kinds,
 * one page at a time and one kind after the other, and counts those that hold values of gates that
 * are off or deprecated.
 *
 * Threading: the loop thread; changed is called from the loop. ek_gates_census_path is pure.
 */
#ifndef CONTROLLER_FIELDGATES_CENSUS_H
#define CONTROLLER_FIELDGATES_CENSUS_H

#include "informers/client/client.h"
#include "reconcilers/fieldgates/census.h"
#include "reconcilers/fieldgates/kinds.h"

#define EK_GATES_CENSUS_PATH_MAX ((size_t)64 << 10)

/* Appends the path and query of the request for a page of at most limit objects: the first for next
 * "", else the page that follows the list with that metadata.continue. Source: KEP-365. */
void ek_gates_census_path(const struct ek_gates_crd *crd, const char *next, unsigned limit,
                          struct ek_buf *out);

struct ek_gates_censuses;

/* now_ms is a clock that does not go back (informers/clock.h: ek_monotonic_ms); changed is called
 * when a census has ended. */
struct ek_gates_censuses *ek_gates_censuses_new(uv_loop_t *loop, struct ek_client *client,
                                                int64_t (*now_ms)(void), void (*changed)(void *ctx),
                                                void *ctx);

/* Counts the objects of these kinds from now on: those that are enforced, and have a gate that is
 * counted. NULL: of none, for a replica that does not lead. */
void ek_gates_censuses_follow(struct ek_gates_censuses *censuses,
                              const struct ek_gated_kinds *kinds);

/* What is known of the kind of that name; NULL: it is not counted. Borrowed until the loop goes
 * on. */
const struct ek_gates_census_state *ek_gates_censuses_of(const struct ek_gates_censuses *censuses,
                                                         const char *name);

/* Stops and releases it; on_closed is called from the loop at the end. */
void ek_gates_censuses_close(struct ek_gates_censuses *censuses, void (*on_closed)(void *ctx),
                             void *ctx);

#endif
