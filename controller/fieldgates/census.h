/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of the census (reconcilers/fieldgates/census.h): lists the objects of gated kinds,
 * one page at a time and one kind after the other, and counts the objects that have a value in a
 * field whose gate is off or deprecated.
 *
 * Threading: the loop thread; changed is called from the loop. ek_gates_census_path is pure.
 */
#ifndef CONTROLLER_FIELDGATES_CENSUS_H
#define CONTROLLER_FIELDGATES_CENSUS_H

#include "informers/client/client.h"
#include "reconcilers/fieldgates/census.h"
#include "reconcilers/fieldgates/kinds.h"

#define EK_GATES_CENSUS_PATH_MAX ((size_t)64 << 10)

/* Appends the path and query of the request for a page of at most limit objects. next is the
 * metadata.continue of the page before, "" for the first page. Source: KEP-365. */
void ek_gates_census_path(const struct ek_gates_crd *crd, const char *next, unsigned limit,
                          struct ek_buf *out);

struct ek_gates_censuses;

/* now_ms is a clock that does not go back (informers/clock.h: ek_monotonic_ms); changed is called
 * when a census has ended. */
struct ek_gates_censuses *ek_gates_censuses_new(uv_loop_t *loop, struct ek_client *client,
                                                int64_t (*now_ms)(void), void (*changed)(void *ctx),
                                                void *ctx);

/* Sets the kinds whose objects are counted: of kinds (borrowed for the call), those that are
 * enforced and have a gate that is off or deprecated. NULL counts none; replicas that do not lead
 * pass NULL. */
void ek_gates_censuses_follow(struct ek_gates_censuses *censuses,
                              const struct ek_gated_kinds *kinds);

/* The state of the census of the CustomResourceDefinition name; NULL when its objects are not
 * counted. Borrowed until the caller returns to the loop. */
const struct ek_gates_census_state *ek_gates_censuses_of(const struct ek_gates_censuses *censuses,
                                                         const char *name);

/* Stops and releases censuses; the last call from the loop is on_closed. */
void ek_gates_censuses_close(struct ek_gates_censuses *censuses, void (*on_closed)(void *ctx),
                             void *ctx);

#endif
