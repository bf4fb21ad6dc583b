/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection pool: one libcurl multi handle driven by a uv loop.
 *
 * It knows sockets, timers and when a transfer is over, and nothing of what the transfers say.
 * Transfers (CURL easy handles) are made and released by their owner, which they reference
 * through CURLOPT_PRIVATE. libcurl calls back into transfers while it works; inside such a callback
 * no transfer may be added or removed, and the left hook is called when that is possible again.
 *
 * A pool that is retired takes no new transfers, finishes those it has and then closes itself: that
 * is how new certificates, or doubts about a connection, lead to new connections without breaking
 * the watches on the old ones.
 *
 * Threading: the loop thread.
 */
#ifndef INFORMERS_CLIENT_POOL_H
#define INFORMERS_CLIENT_POOL_H

#include <curl/curl.h>
#include <stdbool.h>
#include <uv.h>

struct ek_http;

struct ek_http_hooks {
    /* A transfer is over; it has been taken out of the pool. May add and remove transfers. */
    void (*done)(void *transfer, CURLcode result);
    /* libcurl's work of this turn has ended. */
    void (*left)(void *ctx);
    /* The pool was retired and nothing of it is left. */
    void (*closed)(void *ctx);
    void *ctx; /* of left and closed */
};

/* Returns an empty pool. Aborts without memory. */
struct ek_http *ek_http_new(uv_loop_t *loop, const struct ek_http_hooks *hooks);

/* Adds a transfer; false when libcurl refuses it. Not inside a callback of libcurl. */
bool ek_http_add(struct ek_http *http, CURL *easy);

/* Takes a transfer out before it is done. Not inside a callback of libcurl. */
void ek_http_remove(struct ek_http *http, CURL *easy);

/* Lets the pool close itself after its last transfer; closed is called from the loop. */
void ek_http_retire(struct ek_http *http);

#endif
