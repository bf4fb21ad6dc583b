/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/proxy/board.h"

#include <pthread.h>
#include <string.h>

#include "reconcilers/proxy/fields.h"

struct ek_proxy_board {
    pthread_mutex_t lock; /* held only to take or replace pointers */
    struct ek_view *view;
    uint64_t changes;
    struct ek_proxy_trusts trusts;
    struct ek_bounds bounds;
    char *account;
    struct ek_identity_names *names; /* NULL: not known */
    void (*on_stale)(void *ctx);
    void *ctx;
};

struct ek_proxy_board *ek_proxy_board_new(void (*on_stale)(void *ctx), void *ctx)
{
    struct ek_proxy_board *board = ek_xalloc(sizeof *board);

    pthread_mutex_init(&board->lock, NULL);
    board->on_stale = on_stale;
    board->ctx = ctx;
    return board;
}

void ek_proxy_board_free(struct ek_proxy_board *board)
{
    if (!board)
        return;
    ek_view_unref(board->view);
    ek_proxy_trusts_done(&board->trusts);
    ek_free(board->account);
    ek_identity_names_unref(board->names);
    pthread_mutex_destroy(&board->lock);
    ek_free(board);
}

void ek_proxy_trusts_done(struct ek_proxy_trusts *trusts)
{
    ek_tls_trust_unref(trusts->bare);
    ek_tls_trust_unref(trusts->ours);
    *trusts = (struct ek_proxy_trusts){0};
}

/* The same API servers take requests, at the same addresses. */
static bool same_peers_routable(const struct ek_view *before, const struct ek_view *after)
{
    size_t n = 0, m = 0;
    const struct ek_view_peer *a = before ? ek_view_peers(before, &n) : NULL;
    const struct ek_view_peer *b = after ? ek_view_peers(after, &m) : NULL;
    bool same = n == m;

    for (size_t i = 0; i < n && same; i++)
        same = a[i].routable == b[i].routable && !strcmp(a[i].name, b[i].name) &&
               !strcmp(a[i].address, b[i].address);
    return same;
}

void ek_proxy_board_set_view(struct ek_proxy_board *board, struct ek_view *view)
{
    EK_AUTOPTR(ek_view, ek_view_unref) *before = ek_proxy_board_view(board);
    bool changed = !same_peers_routable(before, view);

    pthread_mutex_lock(&board->lock);
    struct ek_view *old = board->view;
    board->view = view;
    board->changes += changed;
    pthread_mutex_unlock(&board->lock);
    ek_view_unref(old);
}

void ek_proxy_board_set_trusts(struct ek_proxy_board *board, struct ek_proxy_trusts trusts)
{
    pthread_mutex_lock(&board->lock);
    struct ek_proxy_trusts old = board->trusts;
    board->trusts = trusts;
    board->changes++;
    pthread_mutex_unlock(&board->lock);
    ek_proxy_trusts_done(&old);
}

struct ek_view *ek_proxy_board_view(struct ek_proxy_board *board)
{
    pthread_mutex_lock(&board->lock);
    struct ek_view *view = ek_view_ref(board->view);
    pthread_mutex_unlock(&board->lock);
    return view;
}

uint64_t ek_proxy_board_changes(struct ek_proxy_board *board)
{
    pthread_mutex_lock(&board->lock);
    uint64_t changes = board->changes;
    pthread_mutex_unlock(&board->lock);
    return changes;
}

struct ek_proxy_trusts ek_proxy_board_trusts(struct ek_proxy_board *board)
{
    pthread_mutex_lock(&board->lock);
    struct ek_proxy_trusts trusts = board->trusts;
    if (trusts.bare)
        ek_tls_trust_ref(trusts.bare);
    if (trusts.ours)
        ek_tls_trust_ref(trusts.ours);
    pthread_mutex_unlock(&board->lock);
    return trusts;
}

void ek_proxy_board_set_account(struct ek_proxy_board *board, const char *authorization)
{
    bool known = authorization && ek_field_value_is_good(authorization);
    char *account = known ? ek_xstrdup(authorization) : NULL;

    pthread_mutex_lock(&board->lock);
    char *old = board->account;
    board->account = account;
    pthread_mutex_unlock(&board->lock);
    ek_free(old);
}

char *ek_proxy_board_account(struct ek_proxy_board *board)
{
    pthread_mutex_lock(&board->lock);
    char *account = ek_xstrdup(board->account);
    pthread_mutex_unlock(&board->lock);
    return account;
}

void ek_proxy_board_set_names(struct ek_proxy_board *board, struct ek_identity_names *names)
{
    pthread_mutex_lock(&board->lock);
    struct ek_identity_names *old = board->names;
    board->names = names;
    pthread_mutex_unlock(&board->lock);
    ek_identity_names_unref(old);
}

struct ek_identity_names *ek_proxy_board_names(struct ek_proxy_board *board)
{
    pthread_mutex_lock(&board->lock);
    struct ek_identity_names *names = ek_identity_names_ref(board->names);
    pthread_mutex_unlock(&board->lock);
    return names;
}

void ek_proxy_board_set_bounds(struct ek_proxy_board *board, const struct ek_bounds *bounds)
{
    struct ek_bounds copy = *bounds;

    copy.min_ev.by = copy.max_ev.by = copy.max_mcv.by = copy.min_bv.by = copy.max_bv.by = "";
    pthread_mutex_lock(&board->lock);
    board->bounds = copy;
    pthread_mutex_unlock(&board->lock);
}

struct ek_bounds ek_proxy_board_bounds(struct ek_proxy_board *board)
{
    pthread_mutex_lock(&board->lock);
    struct ek_bounds bounds = board->bounds;
    pthread_mutex_unlock(&board->lock);
    return bounds;
}

void ek_proxy_board_stale(struct ek_proxy_board *board)
{
    if (board->on_stale)
        board->on_stale(board->ctx);
}
