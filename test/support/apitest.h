/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop, an API client and a server that answers by a script: for tests of what sends requests.
 *
 * The script is a list of exchanges in the order they must come. A request that is not the next
 * one in the script is answered with 500 and noted as a problem.
 */
#ifndef TEST_SUPPORT_APITEST_H
#define TEST_SUPPORT_APITEST_H

#include <uv.h>

#include "informers/client/client.h"

struct apitest_exchange {
    const char *request;      /* "PUT /path?query" */
    const char *content_type; /* of the request, NULL: not looked at */
    const char *contains;     /* a piece of the request's body, NULL: not looked at */
    int status;
    const char *body;
    const char *headers; /* of the answer, complete lines; NULL for none */
};

struct apitest {
    uv_loop_t loop;
    struct ek_client *client;
    struct testserver *server;
    const struct apitest_exchange *script;
    size_t n, done;
    uv_mutex_t lock;
    char problem[2048];   /* the first, "" while all went by the script */
    char user_agent[256]; /* of the last request */
    unsigned connections; /* that the last request came on */
};

/* Starts the server and makes the client. */
void apitest_init(struct apitest *test, const struct apitest_exchange *script, size_t n);

/* Runs the loop until *flag is not 0; fails the test after ten minutes, which ends a hang. */
void apitest_run_until(struct apitest *test, unsigned *flag);

/* Closes everything and fails the test unless the whole script was played, without a problem. */
void apitest_done(struct apitest *test);

#endif
