/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state that the serving threads of the proxy read: the newest view of the API servers, and the
 * certificates with which the proxy connects to them. A board is the only state that serving
 * threads share with others; each request takes its snapshots once and keeps them until it is over.
 * Threading: any thread.
 */
#ifndef CONTROLLER_PROXY_BOARD_H
#define CONTROLLER_PROXY_BOARD_H

#include "controller/http/tls.h"
#include "reconcilers/peers/view.h"
#include "reconcilers/proxy/identity_names.h"
#include "reconcilers/skew/policy.h"

struct ek_proxy_board;

/* How API servers are connected to. Counted references in both; NULL: plain TCP, for tests. */
struct ek_proxy_trusts {
    struct ek_tls_trust *bare; /* without a certificate of ours: tokens pass through */
    struct ek_tls_trust *ours; /* with the front-proxy certificate, or for the account that
                                  impersonates, with its certificate if it has one; NULL where the
                                  proxy passes tokens alone */
};

/*
 * on_stale (may be NULL) is called from a serving thread when an API server has not known a type,
 * has not answered, or is not routable while a request needs it: its documents are to be read
 * again, and those of the others. It must not block.
 */
struct ek_proxy_board *ek_proxy_board_new(void (*on_stale)(void *ctx), void *ctx);

/* After the last reader has gone. NULL is fine. */
void ek_proxy_board_free(struct ek_proxy_board *board);

/* Replaces the view, or the trusts; takes the references. Views are replaced by one thread. */
void ek_proxy_board_set_view(struct ek_proxy_board *board, struct ek_view *view);
void ek_proxy_board_set_trusts(struct ek_proxy_board *board, struct ek_proxy_trusts trusts);

/* The newest ones, with references of the caller; the view is NULL before the first. */
struct ek_view *ek_proxy_board_view(struct ek_proxy_board *board);
/* Counts each change of which API servers take requests, of their addresses, and of the trusts. */
uint64_t ek_proxy_board_changes(struct ek_proxy_board *board);
struct ek_proxy_trusts ek_proxy_board_trusts(struct ek_proxy_board *board);
void ek_proxy_trusts_done(struct ek_proxy_trusts *trusts);

/* The Authorization of the account that impersonates (copied); "" when its certificate is enough.
 * NULL, or what no header carries: not known, so that nobody is impersonated. */
void ek_proxy_board_set_account(struct ek_proxy_board *board, const char *authorization);

/* A copy, owned; a secret. */
char *ek_proxy_board_account(struct ek_proxy_board *board);

/* The headers from which the API servers take an identity; takes the reference. NULL: not known. */
void ek_proxy_board_set_names(struct ek_proxy_board *board, struct ek_identity_names *names);
/* The same, with a reference of the caller; NULL while they are not known. */
struct ek_identity_names *ek_proxy_board_names(struct ek_proxy_board *board);

/* The versions of the API servers, by which those of clients are judged; their names are dropped.
 */
void ek_proxy_board_set_bounds(struct ek_proxy_board *board, const struct ek_bounds *bounds);
struct ek_bounds ek_proxy_board_bounds(struct ek_proxy_board *board);

/* Reports that documents are out of date. */
void ek_proxy_board_stale(struct ek_proxy_board *board);

#endif
