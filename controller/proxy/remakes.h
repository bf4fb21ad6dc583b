/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents of discovery in the forms that are made for a client: indented, and YAML. `evenkeel
 * proxy` and the discovery endpoint of `evenkeel run` send them.
 *
 * A document of some MiB takes 40 ms for each (ek_discovery_must_remake), so large ones are made on
 * a thread of libuv's pool. Clients that want the same one meanwhile wait for the same work, and it
 * is kept until another one is made. Two are made at once, because a document of 10 MiB has 25 when
 * it is indented; one user has begun at most one of them (controller/http/share.h).
 *
 * Threading: all calls, and all callbacks, on the thread of the loop.
 */
#ifndef CONTROLLER_PROXY_REMAKES_H
#define CONTROLLER_PROXY_REMAKES_H

#include <uv.h>

#include "reconcilers/proxy/discovery.h"

struct ek_remakes;

/* One that waits. Zeroed, or set by ek_remakes_begin. */
struct ek_remakes_wait {
    struct ek_remakes_job *job; /* NULL: waits for none */
    struct ek_remakes_wait *prev, *next;
    void (*on_made)(void *ctx, bool made);
    void *ctx;
};

/* What is wanted; all borrowed. */
struct ek_remakes_want {
    const struct ek_view *view; /* of which a reference is taken while the document is made */
    const struct ek_view_document *document; /* of the view */
    const struct ek_negotiate_choice *choice;
    const struct ek_negotiate_headers *headers;
    const char *user; /* who wants it; "" counts as one user */
};

enum ek_remakes_state {
    EK_REMAKES_NOW,  /* ek_remakes_reply answers at once */
    EK_REMAKES_WAIT, /* later */
    EK_REMAKES_FULL, /* too many are being made, of all or of the user */
};

struct ek_remakes *ek_remakes_new(uv_loop_t *loop);

/* Frees, now or from the loop when no thread has a document any more; then calls on_closed (NULL:
 * nothing). Nobody may wait. NULL is fine, and calls nothing. */
void ek_remakes_close(struct ek_remakes *remakes, void (*on_closed)(void *ctx), void *ctx);

/* Begins to make the document, if it is large and not there. With EK_REMAKES_WAIT, on_made is
 * called once from the loop, unless ek_remakes_cancel comes before: made is true when
 * ek_remakes_reply can answer within that call, and false without memory. wait is to live until
 * then. */
enum ek_remakes_state ek_remakes_begin(struct ek_remakes *remakes,
                                       const struct ek_remakes_want *want,
                                       struct ek_remakes_wait *wait,
                                       void (*on_made)(void *ctx, bool made), void *ctx);

/* Does nothing for one that does not wait. What is made meanwhile is made all the same. */
void ek_remakes_cancel(struct ek_remakes_wait *wait);

/* The reply (ek_discovery_reply); what it has is valid until the loop goes on. False when the
 * document cannot be written as YAML. */
bool ek_remakes_reply(struct ek_remakes *remakes, const struct ek_remakes_want *want,
                      struct ek_negotiate_reply *ret);

#endif
