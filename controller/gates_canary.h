/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canary: asks API servers to create a CustomFeatureGates, as a dry run, that only our canary
 * webhook matches. The denial that comes back names the registration that the server has, and
 * proves that the server reaches us. Nothing else does: a server learns of a registration seconds
 * late, and one that cannot reach us says so only when a write needs us.
 *
 * Each API server whose address is known is asked at that address; while none is, the configured
 * address is, which speaks for the server behind it only. A server with another answer is asked
 * again, more and more seldom (0.5 s to 60 s); one that has answered is asked again every five
 * minutes.
 *
 * Threading: the loop thread; changed is called from the loop.
 * Source: fieldgates sheet, section 10.
 */
#ifndef CONTROLLER_GATES_CANARY_H
#define CONTROLLER_GATES_CANARY_H

#include "informers/client.h"
#include "reconcilers/fieldgates/status.h"

#define EK_CANARY_SERVERS_MAX 64

struct ek_canary;

/* An API server to be asked. Borrowed for the call. */
struct ek_canary_server {
    const char *name;    /* for messages */
    const char *address; /* "ip:port"; "" when it is not known: it cannot be asked */
};

/* changed is called when ek_canary_result says something new. */
struct ek_canary *ek_canary_new(uv_loop_t *loop, struct ek_client *client,
                                void (*changed)(void *ctx), void *ctx);

/* Whom to ask; none: the configured address. Those beyond EK_CANARY_SERVERS_MAX are left out. */
void ek_canary_set_servers(struct ek_canary *canary, const struct ek_canary_server *servers,
                           size_t n);

/* Asks for the registration with this hash from now on; "": does not ask. The same as before
 * changes nothing. */
void ek_canary_expect(struct ek_canary *canary, const char *hash);

/* What it has come to; *ret_message is borrowed until the loop goes on, NULL for none. Never FAILED
 * before a server has been asked three times. */
enum ek_gates_canary ek_canary_result(const struct ek_canary *canary, const char **ret_message);

/* Stops asking and releases it; on_closed (may be NULL) is called from the loop at the end. */
void ek_canary_close(struct ek_canary *canary, void (*on_closed)(void *ctx), void *ctx);

/* What an answer means: NULL for the right one, else what is wrong. body is the answer's, status 0
 * when none came; err as ek_response_fn has it. message is the room for the text. Pure: for tests.
 */
const char *ek_canary_judge(const char *hash, int status, struct ek_str body,
                            const struct ek_err *err, char *message, size_t size);

#endif
