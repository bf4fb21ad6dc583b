/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes over gates that CRDs bring along as an annotation (reconcilers/fieldgates/import.h): makes
 * the CustomFeatureGates of a CRD that has the annotation and none yet, once in the CRD's life.
 *
 * That it was done is remembered in the ConfigMap evenkeel-imports of our namespace, an entry with
 * the CRD's UID for each. The object itself cannot remember: deleting it must not bring it back.
 * The CRD could, but it is its author's, whose tools would take a mark for drift. Where a
 * CustomFeatureGates is there already, it counts as taken over. A CRD that is deleted and made
 * anew is a new one. Without a namespace nothing is imported.
 *
 * Threading: the loop thread.
 */
#ifndef CONTROLLER_GATES_IMPORTS_H
#define CONTROLLER_GATES_IMPORTS_H

#include "controller/events.h"
#include "controller/gates_watch.h"
#include "controller/log.h"

#define EK_GATES_IMPORTS_MAX 1024 /* CRDs with the annotation; more are passed over */

struct ek_gates_imports;

/* What is pointed to must outlive it; recorder and log may be NULL. */
struct ek_gates_imports *ek_gates_imports_new(struct ek_client *client,
                                              const struct ek_gates_watch *watch,
                                              struct ek_recorder *recorder, struct ek_log *log);

/* Ends what is under way without calling back. NULL is fine. */
void ek_gates_imports_free(struct ek_gates_imports *imports);

/*
 * Does what is to be done now. False when that is nothing; otherwise on_done is called from the
 * loop, with the first failure (NULL: none). An annotation that is refused is told by Event and
 * log, is no failure, and is tried again when its CRD has changed.
 */
bool ek_gates_imports_run(struct ek_gates_imports *imports,
                          void (*on_done)(void *ctx, const struct ek_err *err), void *ctx);

#endif
