/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event correlation: which Event is written when something happened, if any.
 *
 * The rules are those of client-go's recorder (tools/record/events_cache.go: EventCorrelator),
 * carried over to events.k8s.io/v1, where repetition is a series on one Event instead of a counter:
 *
 *   same object, type, reason, action and note   within 600 s of the last time: the series of the
 *                                                first Event is updated; later: a new Event
 *   same but for the note                        from the tenth different note within 600 s on, all
 *                                                go into one Event, "(combined from similar
 *                                                events): ..."
 *   each object                                  25 writes at once, then one every 300 s; what is
 *                                                held back is counted and still counts in the
 *                                                series
 *
 * Three caches of 4096 entries bound what is remembered. Time is an argument; wall_ms goes into the
 * Events, now_ms (monotonic) into the decisions. Threading: none.
 */
#ifndef CONTROLLER_EVENTS_CORRELATOR_H
#define CONTROLLER_EVENTS_CORRELATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reconcilers/event.h"

#define EK_EVENT_CACHE_SIZE    4096
#define EK_EVENT_WINDOW_MS     600000
#define EK_EVENT_SIMILAR_MAX   10
#define EK_EVENT_BURST         25
#define EK_EVENT_REFILL_MS     300000
#define EK_EVENT_NOTE_MAX      1024 /* bytes; what the API server accepts */
#define EK_EVENT_WORD_MAX      128  /* reason, action, reportingInstance: likewise */
#define EK_EVENT_NAME_SIZE     254
#define EK_EVENT_CONTROLLER    "evenkeel.dev/controller"
#define EK_EVENT_CLUSTER_SPACE "default" /* namespace of Events about cluster-scoped objects */

enum ek_event_verdict {
    EK_EVENT_CREATE, /* POST create */
    EK_EVENT_UPDATE, /* PATCH update onto the Event of that name; POST create when it is gone */
    EK_EVENT_DROP,   /* held back by the object's budget */
    EK_EVENT_VERDICT_MAX,
};

/* One write to be done. create and update are owned JSON, NULL where the verdict has no use. */
struct ek_event_write {
    enum ek_event_verdict verdict;
    char namespace[64];
    char name[EK_EVENT_NAME_SIZE];
    char *create;
    char *update; /* a merge patch */
};

struct ek_event_correlator;

/* reporting_instance is copied (and cut to what the API accepts). */
struct ek_event_correlator *ek_event_correlator_new(const char *reporting_instance);
void ek_event_correlator_free(struct ek_event_correlator *correlator);

/* Decides on one event. The caller releases *ret_write with ek_event_write_done. */
void ek_event_correlate(struct ek_event_correlator *correlator, const struct ek_event *event,
                        int64_t now_ms, int64_t wall_ms, struct ek_event_write *ret_write);

void ek_event_write_done(struct ek_event_write *write);

#endif
