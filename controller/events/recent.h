/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Events that a recorder accepted last, for the page of the process. An Event that repeats (the
 * same object, type, reason and note) is one entry with a count. Bounded: of EK_EVENTS_RECENT_MAX
 * entries the oldest goes, and a note has at most EK_EVENT_NOTE_MAX bytes, as in the API server.
 *
 * Time is an argument. Threading: none.
 */
#ifndef CONTROLLER_EVENTS_RECENT_H
#define CONTROLLER_EVENTS_RECENT_H

#include <stddef.h>

#include "controller/events/correlator.h"

#define EK_EVENTS_RECENT_MAX 50

/* Borrowed from the list until the next change of it. */
struct ek_recent_event {
    bool warning;    /* type Warning, else Normal */
    uint64_t count;  /* how often */
    int64_t last_ms; /* the last time, milliseconds since the epoch */
    const char *kind, *namespace, *name, *reason, *note;
};

struct ek_recent_events;

struct ek_recent_events *ek_recent_events_new(void);
void ek_recent_events_free(struct ek_recent_events *recent); /* NULL is fine */

/* Adds event, which is copied, or counts it; wall_ms is now, in milliseconds since the epoch. */
void ek_recent_events_add(struct ek_recent_events *recent, const struct ek_event *event,
                          int64_t wall_ms);

/* Calls fn for each entry, the latest first. */
void ek_recent_events_each(const struct ek_recent_events *recent,
                           void (*fn)(void *ctx, const struct ek_recent_event *event), void *ctx);

#endif
