/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the API client: a loop with a client, and the outcomes of requests as values. A
 * watchdog ends the program with a message when a test waits too long.
 */
#ifndef TEST_SUPPORT_CLIENTBENCH_H
#define TEST_SUPPORT_CLIENTBENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "api/base/err.h"
#include "informers/client/client.h"
#include "informers/client/kubeconfig.h"

struct clientbench {
    uv_loop_t loop;
    uv_timer_t watchdog;
    struct ek_client *client;
    bool closing, closed;
};

/* The outcome of a request; strings are owned. */
struct outcome {
    int n_done; /* how often on_done was called */
    int status;
    char *body;
    size_t body_size;
    char *content_type;
    char *etag;
    char *warning;
    char fingerprint[65]; /* "" without a certificate */
    char names[512];      /* "a,b,c" */
    int64_t not_after_ms;
    struct ek_err err; /* code 0 when it went well */
};

/* Starts a loop and a client; fails the test when the client does not come up. */
void clientbench_start(struct clientbench *bench, const struct ek_client_config *config);

/* Begins to close the client; may be called from a callback of the loop. */
void clientbench_close(struct clientbench *bench);

/* Closes the client if clientbench_close was not called, runs the loop until no handle is left, and
 * closes the loop. */
void clientbench_stop(struct clientbench *bench);

/* Runs the loop until *flag is not 0. */
void clientbench_run_until(struct clientbench *bench, const int *flag);

/* Sends a request whose outcome goes to out; does not wait. */
struct ek_call *clientbench_send(struct clientbench *bench, const struct ek_request *request,
                                 struct outcome *out);

/* Sends a request and waits for its outcome. */
void clientbench_do(struct clientbench *bench, const struct ek_request *request,
                    struct outcome *out);

/* The on_done of clientbench_send, for requests sent otherwise; ctx is a struct outcome. */
void outcome_keep(void *ctx, const struct ek_response *resp, const struct ek_err *err);
void outcome_done(struct outcome *out);

#endif
