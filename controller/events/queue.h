/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of Events on their way to the API server: bounded, in order, one at a time.
 *
 * An entry is tried up to 12 times, 10 s apart, while the server cannot be reached or is overloaded
 * (client-go/tools/events/event_broadcaster.go: maxTriesPerEvent); an answer that a repetition
 * cannot change drops the entry. An update of an Event that is gone becomes a create. Updates of
 * one Event that wait behind each other are merged. When the queue is full, what is new is dropped
 * and counted.
 *
 * Pure, time is an argument. Threading: none.
 */
#ifndef CONTROLLER_EVENTS_QUEUE_H
#define CONTROLLER_EVENTS_QUEUE_H

#include "controller/events/correlator.h"

#define EK_EVENT_QUEUE_MAX      1000
#define EK_EVENT_TRIES_MAX      12
#define EK_EVENT_RETRY_DELAY_MS 10000

struct ek_event_queue;

struct ek_event_queue *ek_event_queue_new(void);
void ek_event_queue_free(struct ek_event_queue *queue);

/* Takes a write over (its members are stolen); false when it was dropped because of the limit. */
bool ek_event_queue_offer(struct ek_event_queue *queue, struct ek_event_write *write);

/*
 * What is to be sent now; it counts as under way until ek_event_queue_result. Borrowed until then.
 * NULL when nothing is: then *ret_wake_ms is when to ask again, -1 for not before the next offer or
 * result. The verdict of what is returned says whether to create or to update.
 */
const struct ek_event_write *ek_event_queue_next(struct ek_event_queue *queue, int64_t now_ms,
                                                 int64_t *ret_wake_ms);

/*
 * The outcome of what is under way: code 0 or EK_E_*; retry_after_ms as the server said, 0 for
 * nothing. Returns true when the entry was given up: it did not reach the server.
 */
bool ek_event_queue_result(struct ek_event_queue *queue, int code, int64_t retry_after_ms,
                           int64_t now_ms);

/* From now on each remaining Event is sent at most once, without a retry. */
void ek_event_queue_drain(struct ek_event_queue *queue);

size_t ek_event_queue_size(const struct ek_event_queue *queue);

#endif
