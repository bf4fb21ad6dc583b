/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reviewer (controller/http/metrics_auth.h) for a thread that has no API client: its requests are
 * sent by an asker on the control loop (controller/webhook/asks.h) and come back by an inbox.
 * Bodies may hold tokens and are wiped.
 *
 * Threading: the thread of the inbox, but for ek_webhook_asker's own functions.
 */
#ifndef CONTROLLER_WEBHOOK_RELAY_H
#define CONTROLLER_WEBHOOK_RELAY_H

#include "controller/webhook/asks.h"

struct ek_review_relay;

/* async, borrowed, is sent when something came back; then ek_review_relay_run is due. */
struct ek_review_relay *ek_review_relay_new(struct ek_webhook_asker *asker, uv_async_t *async);

/* The reviewer; good as long as the relay. */
struct ek_reviewer ek_review_relay_reviewer(struct ek_review_relay *relay);

/* Hands on what came back. */
void ek_review_relay_run(struct ek_review_relay *relay);

/* True when nothing is under way. */
bool ek_review_relay_is_idle(const struct ek_review_relay *relay);

/* Releases an idle relay. NULL is fine. */
void ek_review_relay_free(struct ek_review_relay *relay);

#endif
