/* SPDX-License-Identifier: Apache-2.0 */
/* The board between threads: who reads sees whole snapshots, and keeps them while they are
 * replaced. TSan sees more of this than the assertions. */
#include "controller/proxy/board.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "reconcilers/peers/view_build.h"
#include "test/support/suite.h"
#include "test/support/testpki.h"

#define READERS 8
#define VIEWS   400
#define PEERS   3

static struct ek_proxy_board *board;
static atomic_bool over;
static atomic_int stale;

static void on_stale(void *ctx)
{
    atomic_fetch_add((atomic_int *)ctx, 1);
}

/* All addresses of a view have its number. */
static struct ek_view *make_view(int number, const struct ek_view *previous)
{
    struct ek_view_input_peer peers[PEERS] = {0};
    char names[PEERS][16], address[32];

    snprintf(address, sizeof address, "10.0.%d.%d:6443", number / 256, number % 256);
    for (int i = 0; i < PEERS; i++) {
        snprintf(names[i], sizeof names[i], "cp-%d", i);
        peers[i].peer = (struct ek_view_peer){
            .name = names[i], .server_id = "", .address = address, .down = number % 2};
    }
    return ek_view_build(&(struct ek_view_input){.peers = peers, .n = PEERS, .previous = previous});
}

static int number_of(const struct ek_view_peer *peer)
{
    int high = 0, low = 0;

    ck_assert_int_eq(sscanf(peer->address, "10.0.%d.%d:6443", &high, &low), 2);
    return high * 256 + low;
}

/* Returns how many views were seen. */
static void *read_views(void *unused)
{
    int last = 0;
    size_t n = 0, seen = 0;

    (void)unused;
    while (!atomic_load(&over)) {
        struct ek_view *view = ek_proxy_board_view(board);
        const struct ek_view_peer *peers = ek_view_peers(view, &n);
        struct ek_proxy_trusts trusts = ek_proxy_board_trusts(board);
        char *account = ek_proxy_board_account(board);
        ek_proxy_board_bounds(board);
        ek_proxy_board_stale(board);
        ck_assert_uint_eq(n, PEERS);
        int number = number_of(&peers[0]);
        ck_assert_int_ge(number, last); /* never backwards */
        for (size_t i = 0; i < n; i++) {
            ck_assert_int_eq(number_of(&peers[i]), number);
            ck_assert_int_eq(peers[i].down, number % 2);
        }
        /* Both of one set. */
        ck_assert((trusts.bare == NULL) == (trusts.ours == NULL));
        ck_assert(!account || !strncmp(account, "Bearer ", 7));
        seen += number != last;
        last = number;
        ek_view_unref(view);
        ek_proxy_trusts_done(&trusts);
        ek_free(account);
    }
    return (void *)seen;
}

START_TEST(many_readers_and_a_writer)
{
    struct testpki_cert authority = testpki_authority("ca");
    pthread_t readers[READERS];
    struct ek_err err;

    board = ek_proxy_board_new(on_stale, &stale);
    struct ek_view *view = make_view(1, NULL);
    ek_proxy_board_set_view(board, ek_view_ref(view));
    for (int i = 0; i < READERS; i++)
        ck_assert_int_eq(pthread_create(&readers[i], NULL, read_views, NULL), 0);
    for (int number = 2; number < VIEWS; number++) {
        struct ek_view *next = make_view(number, view);
        struct ek_proxy_trusts trusts = {0};
        char account[32];
        ek_view_unref(view);
        view = next;
        ek_proxy_board_set_view(board, ek_view_ref(view));
        for (int k = 0; number % 3 && k < 2; k++)
            ck_assert_int_eq(ek_tls_trust_new(ek_str_from(authority.cert), EK_STR(""), EK_STR(""),
                                              "ca", k ? &trusts.ours : &trusts.bare, &err),
                             0);
        ek_proxy_board_set_trusts(board, trusts);
        snprintf(account, sizeof account, "Bearer %d", number);
        ek_proxy_board_set_account(board, number % 5 ? account : NULL);
        ek_proxy_board_set_bounds(board, &(struct ek_bounds){0});
    }
    atomic_store(&over, true);
    for (int i = 0; i < READERS; i++)
        ck_assert_int_eq(pthread_join(readers[i], NULL), 0);
    struct ek_view *last = ek_proxy_board_view(board);
    ck_assert_ptr_eq(last, view);
    ek_view_unref(last);
    ek_view_unref(view);
    ek_proxy_board_free(board);
    testpki_done(&authority);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("board");

    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, many_readers_and_a_writer);
    return ek_test_run("board", tcase);
}
