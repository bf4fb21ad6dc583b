/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the debug answers: debug.c (requests, process, manager, log), parts.c
 * (informers, queues, election, probe targets) and webhook.c. Every put function takes its
 * facts as arguments and adds members to an object of a document that is written at once, so
 * strings are copied only where they are made for it. Pure but for what the facts' owners read.
 */
#ifndef CONTROLLER_DEBUG_DEBUG_INTERNAL_H
#define CONTROLLER_DEBUG_DEBUG_INTERNAL_H

#include "controller/debug/debug.h"
#include "controller/telemetry/section.h"
#include "informers/cache/reflector.h"

/* What an informer's members say; store may be NULL. last_event_ms: uv_now, 0 for none. */
void ek_debug_informer__(const struct ek_debug_doc *d, const struct ek_resource *resource,
                         const struct ek_reflector *reflector, const struct ek_store *store,
                         int64_t last_event_ms);

void ek_debug_queue__(const struct ek_debug_doc *d, struct ek_runner *runner);

/* status NULL: there is no election. */
void ek_debug_leader__(const struct ek_debug_doc *d, const char *identity,
                       const struct ek_election_status *status, bool may_write);

void ek_debug_peer__(const struct ek_debug_doc *d, const struct ek_prober_state *state);

/* Writes the state of the webhook: status as of now, bundle as ek_webhook_ca_bundle. The snapshot
 * in status is borrowed. */
void ek_debug_webhook__(const struct ek_debug_doc *d, const struct ek_webhook_status *status,
                        const char *bundle);

#endif
