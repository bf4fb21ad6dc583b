/* SPDX-License-Identifier: Apache-2.0 */
/* What data.c reads: the files that the generator (data/main.c) writes, and the table of kinds that
 * went before. */
#ifndef RECONCILERS_PLAN_DATA_INTERNAL_H
#define RECONCILERS_PLAN_DATA_INTERNAL_H

#include "reconcilers/plan/data.h"

/* A file of reconcilers/plan/data: JSON, not NUL-terminated. */
struct ek_plan_file {
    const char *text;
    size_t size;
};

extern const struct ek_plan_file ek_plan_embedded[];
extern const size_t ek_plan_n_embedded;

/* The number of rows that ek_plan_add_retired adds at most. */
extern const size_t ek_plan_n_retired;

/* Adds the kinds that went before the data begins behind the n kinds, which has room for
 * ek_plan_n_retired more; a kind that is there with a lifecycle stays. Returns the new n. */
size_t ek_plan_add_retired(struct ek_api_lifecycle *kinds, size_t n);

#endif
