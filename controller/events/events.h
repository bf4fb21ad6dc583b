/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event recorder: writes Events (events.k8s.io/v1) about findings and actions.
 *
 * Recording never waits and never fails for its caller: the event is correlated
 * (controller/events/correlator.h), queued (controller/events/queue.h) and sent later. Only the
 * elected leader records; any other recorder drops its Events.
 *
 * Threading: the loop thread. lost may also be called inside ek_recorder_record, the other
 * callbacks come from the loop.
 */
#ifndef CONTROLLER_EVENTS_EVENTS_H
#define CONTROLLER_EVENTS_EVENTS_H

#include "controller/events/recent.h"
#include "informers/client/client.h"

struct ek_recorder;

enum ek_event_loss {
    EK_EVENT_LOST_BUDGET, /* the object's budget is used up */
    EK_EVENT_LOST_QUEUE,  /* too many are waiting */
    EK_EVENT_LOST_SERVER, /* refused, or could not be sent in 12 tries */
    EK_EVENT_LOSS_MAX,
};

struct ek_recorder_config {
    struct ek_client *client;
    const char *instance;          /* reportingInstance, the election identity; copied */
    bool (*may_record)(void *ctx); /* called for each event and each request; NULL: always */
    void (*sent)(void *ctx);       /* one Event reached the server; may be NULL */
    void (*lost)(void *ctx, enum ek_event_loss why, const struct ek_err *err); /* may be NULL;
                                            err only for LOST_SERVER, borrowed */
    void *ctx;
};

struct ek_recorder *ek_recorder_new(uv_loop_t *loop, const struct ek_recorder_config *config);

/* Records event, which is copied. */
void ek_recorder_record(struct ek_recorder *recorder, const struct ek_event *event);

/* The Events that were accepted last, borrowed: none on a replica that does not lead. */
const struct ek_recent_events *ek_recorder_recent(const struct ek_recorder *recorder);

/* Sends what is waiting, each once; on_drained is called from the loop when that is done. */
void ek_recorder_drain(struct ek_recorder *recorder, void (*on_drained)(void *ctx), void *ctx);

/* Drops what is waiting and releases the recorder; on_closed (may be NULL) is called from the loop
 * at the end. NULL recorder is fine. */
void ek_recorder_close(struct ek_recorder *recorder, void (*on_closed)(void *ctx), void *ctx);

/* The text of a loss, for a metric label: "budget", "queue", "server". */
const char *ek_event_loss_name(enum ek_event_loss why);

#endif
