/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports gates from an annotation of CRDs (annotation.h): makes the CustomFeatureGates of a CRD
 * that has the annotation and no CustomFeatureGates yet, once in the life of the CRD. An object
 * that was made in this way follows later releases of the annotation.
 *
 * The ConfigMap evenkeel-imports in Evenkeel's namespace has a mark for each import: an entry with
 * the UID of the CRD. The CustomFeatureGates cannot have the mark, because an object that is
 * deleted must not be made again. The CRD cannot have it, because the tools of its author would
 * report the mark as drift. A CRD that already has a CustomFeatureGates counts as imported. A CRD
 * that is deleted and created again is a new one.
 *
 *   begin -> plan, answered, plan, ... -> finish
 *
 * Pure: objects in, intents out. A refused import is kept in memory, and tried again when its CRD
 * has changed. Threading: one thread.
 */
#ifndef RECONCILERS_FIELDGATES_IMPORTS_H
#define RECONCILERS_FIELDGATES_IMPORTS_H

#include "reconcilers/fieldgates/kinds.h"
#include "reconcilers/intent.h"

/* Name of the ConfigMap. */
#define EK_GATES_IMPORTS_NAME "evenkeel-imports"

#define EK_GATES_IMPORTS_MAX 1024 /* CRDs with the annotation; more are passed over */

struct ek_gates_imports;

struct ek_gates_imports *ek_gates_imports_new(void);
void ek_gates_imports_free(struct ek_gates_imports *imports); /* NULL is fine */

/* Begins a run. crds are n CRDs (metadata is enough), of which references are kept; known are the
 * data of the ConfigMap (NULL: none). */
void ek_gates_imports_begin(struct ek_gates_imports *imports, struct ek_obj *const *crds, size_t n,
                            const struct ek_gated_kinds *kinds, yyjson_val *known);

/* Appends creates and patches of CustomFeatureGates, whose resource is given, each with an Event.
 * True when there are more: to be called again when these were answered. */
bool ek_gates_imports_plan(struct ek_gates_imports *imports, const struct ek_resource *resource,
                           struct ek_intents *intents);

/* The create or patch of that name was answered: err has code 0 (also when the object existed), or
 * the failure. A refusal of the API server is no failure of the run, nor is an object that has
 * changed since it was read: err is cleared. */
void ek_gates_imports_answered(struct ek_gates_imports *imports, const char *name,
                               struct ek_err *err);

/* Ends the run: appends the Events of refusals, and the apply of the marks where they differ from
 * the known ones. resource is that of the ConfigMap. */
void ek_gates_imports_finish(struct ek_gates_imports *imports, const struct ek_resource *resource,
                             yyjson_val *known, struct ek_intents *intents);

#endif
