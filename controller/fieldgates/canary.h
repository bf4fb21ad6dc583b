/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of the canary: sends them to API servers when reconcilers/fieldgates/canary.h says
 * so, and hands it the answers.
 *
 * Threading: the loop thread; changed is called from the loop.
 */
#ifndef CONTROLLER_FIELDGATES_CANARY_H
#define CONTROLLER_FIELDGATES_CANARY_H

#include "informers/client/client.h"
#include "reconcilers/fieldgates/canary.h"

struct ek_canary;

/* changed is called when ek_canary_look says something new. */
struct ek_canary *ek_canary_new(uv_loop_t *loop, struct ek_client *client,
                                void (*changed)(void *ctx), void *ctx);

/* The servers to be sent requests (copied); none: the configured address. Those beyond
 * EK_CANARY_SERVERS_MAX are left out. */
void ek_canary_set_servers(struct ek_canary *canary, const struct ek_canary_server *servers,
                           size_t n);

/* Sends requests for the registration with this hash from now on; "": sends none. The same as
 * before changes nothing. */
void ek_canary_expect(struct ek_canary *canary, const char *hash);

/* ek_canary_result of all servers; *ret_message is borrowed until the loop goes on. */
enum ek_gates_canary ek_canary_look(const struct ek_canary *canary, const char **ret_message);

/* Stops and releases it; on_closed (may be NULL) is called from the loop at the end. */
void ek_canary_close(struct ek_canary *canary, void (*on_closed)(void *ctx), void *ctx);

#endif
