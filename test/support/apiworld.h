/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in API server with one peer, and a client on the same loop: for tests of what watches
 * and writes. Failures fail the test; clientbench's watchdog ends a hang.
 */
#ifndef TEST_SUPPORT_APIWORLD_H
#define TEST_SUPPORT_APIWORLD_H

#include "test/apiserver/shell.h"
#include "test/support/clientbench.h"

struct apiworld {
    struct ek_apiserver *core;
    struct ek_apishell *shell;
    struct ek_client_config *config;
    struct clientbench bench; /* has the loop and the client of the code under test */
    struct ek_client *admin;  /* may do everything */
    uv_prepare_t turn;        /* of apiworld_run_until */
    FILE *audit;
    char *requests; /* that were answered, one line of JSON each: verb, resource, name, code ... */
    size_t requests_size;
};

/* Starts the server. rules says what the client of bench may do (ek_apiserver_add_token); NULL:
 * everything. */
void apiworld_start(struct apiworld *world, const char *rules);

/* Closes all and runs the loop until nothing is left on it: what else is on it must be closing. */
void apiworld_stop(struct apiworld *world);

/* Sends a request as an administrator and returns the status. body may be NULL, and is a JSON merge
 * patch for PATCH; the answer's body goes to ret_body (may be NULL), owned. */
int apiworld_request(struct apiworld *world, const char *method, const char *path, const char *body,
                     char **ret_body);

/* Requests path until piece is in the body. */
void apiworld_wait_for(struct apiworld *world, const char *path, const char *piece);

/* Lets the loop turn until done(ctx) is true. */
void apiworld_run_until(struct apiworld *world, bool (*done)(const void *ctx), const void *ctx);

#endif
