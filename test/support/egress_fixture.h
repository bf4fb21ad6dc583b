/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An egress proxy in threads of its own: takes CONNECT, and either opens a tunnel to the address
 * that it names or answers with a text of the test. Notes what it was sent.
 */
#ifndef TEST_SUPPORT_EGRESS_FIXTURE_H
#define TEST_SUPPORT_EGRESS_FIXTURE_H

#include <pthread.h>
#include <stdbool.h>

#define EGRESS_FIXTURE_CONNS 32

struct egress_fixture {
    const char *answer; /* in place of a tunnel; "": the connection is held without an answer;
                           NULL: tunnels are opened. Set before the start */
    const char *banner; /* behind the answer 200 of a tunnel; NULL: nothing */
    bool ends;          /* ends the connection in place of any answer */
    char url[64];       /* "http://127.0.0.1:PORT" */
    int listener;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t accepted;
    pthread_t tunnels[EGRESS_FIXTURE_CONNS];
    int fds[EGRESS_FIXTURE_CONNS];
    size_t n;           /* connections, under lock as what follows */
    char request[1024]; /* the newest head */
};

void egress_fixture_start(struct egress_fixture *egress);
/* After the clients have closed, or else closes their connections. */
void egress_fixture_stop(struct egress_fixture *egress);

/* How many connections there have been: a client may be done with a connection that waits to be
 * accepted, so the second waits for so many. */
size_t egress_fixture_count(struct egress_fixture *egress);
size_t egress_fixture_await(struct egress_fixture *egress, size_t n);

/* The newest head (owned). */
char *egress_fixture_request(struct egress_fixture *egress);

#endif
