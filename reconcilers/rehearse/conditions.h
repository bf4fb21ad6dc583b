/* SPDX-License-Identifier: Apache-2.0 */
/* The conditions of CustomResourceDefinitions, APIServices and admission policies, and what a
 * change of them means. Pure; texts live in the arena. */
#ifndef RECONCILERS_REHEARSE_CONDITIONS_H
#define RECONCILERS_REHEARSE_CONDITIONS_H

#include <stdbool.h>
#include <yyjson.h>

#include "reconcilers/rehearse/report.h"

/* True for a kind whose conditions the API server itself writes. An APIService with a service is
 * left out by ek_rehearse_conditions: its server is no part of a rehearsal. */
bool ek_rehearse_has_conditions(const char *group, const char *resource);

/* "Established=True,NamesAccepted=True", the types sorted; "" without conditions. */
char *ek_rehearse_conditions(yyjson_val *object, struct ek_arena *arena);

/* What has changed, "Established: True, then False", or NULL. The severity is an error where a
 * condition that should hold does not hold any more. A condition that is not there on one side
 * counts as no change, because a server adds conditions to what an older one wrote. */
const char *ek_rehearse_conditions_changed(const char *before, const char *after,
                                           struct ek_arena *arena,
                                           enum ek_rehearse_severity *ret_severity);

#endif
