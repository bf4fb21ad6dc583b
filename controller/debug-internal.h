/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the debug answers: debug.c (requests, process, manager, log), debug_parts.c
 * (informers, queues, election, probe targets) and debug_webhook.c. Every put function takes its
 * facts as arguments and adds members to an object of a document that is written at once, so
 * strings are copied only where they are made for it. Pure but for what the facts' owners read.
 */
#ifndef CONTROLLER_DEBUG_INTERNAL_H
#define CONTROLLER_DEBUG_INTERNAL_H

#include "controller/debug.h"
#include "informers/reflector.h"

/* An object under construction and the moment it speaks of. */
struct ek_debug_doc__ {
    yyjson_mut_doc *doc;
    yyjson_mut_val *at;
    struct ek_debug_now now;
};

/* The same document, further down: a new object under name (or at the end of a list). */
struct ek_debug_doc__ ek_debug_object__(const struct ek_debug_doc__ *d, const char *name);
struct ek_debug_doc__ ek_debug_item__(const struct ek_debug_doc__ *d, yyjson_mut_val *list);

/* Members. text is foreign: what is not UTF-8 becomes escapes; "" is left out by put_some. */
void ek_debug_put__(const struct ek_debug_doc__ *d, const char *name, const char *text);
void ek_debug_put_some__(const struct ek_debug_doc__ *d, const char *name, const char *text);
void ek_debug_put_count__(const struct ek_debug_doc__ *d, const char *name, unsigned long long n);
void ek_debug_put_bool__(const struct ek_debug_doc__ *d, const char *name, bool value);

/* Times by the clock that the suffix names; EK_TIME_UNSET is left out. */
void ek_debug_put_wall__(const struct ek_debug_doc__ *d, const char *name, int64_t ms);
void ek_debug_put_mono__(const struct ek_debug_doc__ *d, const char *name, int64_t ms);
void ek_debug_put_boot__(const struct ek_debug_doc__ *d, const char *name, int64_t ms);

/* The error as {reason, message, httpStatus}; code 0 is left out. */
void ek_debug_put_error__(const struct ek_debug_doc__ *d, const char *name,
                          const struct ek_err *err);

/* What an informer's members say; store may be NULL. last_event_ms: uv_now, 0 for none. */
void ek_debug_informer__(const struct ek_debug_doc__ *d, const struct ek_resource *resource,
                         const struct ek_reflector *reflector, const struct ek_store *store,
                         int64_t last_event_ms);

void ek_debug_queue__(const struct ek_debug_doc__ *d, struct ek_runner *runner);

/* status NULL: there is no election. */
void ek_debug_leader__(const struct ek_debug_doc__ *d, const char *identity,
                       const struct ek_election_status *status, bool may_write);

void ek_debug_peer__(const struct ek_debug_doc__ *d, const struct ek_prober_state *state);

/* What the webhook answers by; status as of now, bundle as ek_webhook_ca_bundle. The snapshot in
 * status is borrowed. */
void ek_debug_webhook__(const struct ek_debug_doc__ *d, const struct ek_webhook_status *status,
                        const char *bundle);

#endif
