/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reviewer (controller/http/metrics_auth.h) for a thread that has no API client. An asker on the
 * control loop (controller/webhook/asks.h) sends its requests, and the inbox of the thread receives
 * the answers. Bodies may hold tokens and are wiped. A request with connect_to is a GET of one API
 * server, with own_name, accept, if_none_match, max_body and timeout_ms; equal ones that are under
 * way are sent once.
 *
 * Threading: the thread of the inbox; asks.h names the threads of struct ek_webhook_asker.
 */
#ifndef CONTROLLER_WEBHOOK_RELAY_H
#define CONTROLLER_WEBHOOK_RELAY_H

#include "controller/webhook/asks.h"

struct ek_review_relay;

/* async (borrowed) is sent when an answer has arrived; call ek_review_relay_run then. */
struct ek_review_relay *ek_review_relay_new(struct ek_webhook_asker *asker, uv_async_t *async);

/* The reviewer; good as long as the relay. */
struct ek_reviewer ek_review_relay_reviewer(struct ek_review_relay *relay);

/* Passes the answers that have arrived to their requesters. */
void ek_review_relay_run(struct ek_review_relay *relay);

/* True when nothing is under way. */
bool ek_review_relay_is_idle(const struct ek_review_relay *relay);

/* Releases an idle relay. NULL is fine. */
void ek_review_relay_free(struct ek_review_relay *relay);

#endif
