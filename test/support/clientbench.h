/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop with an API client on it, and outcomes kept as values: the scaffold of client tests.
 * Nothing waits without limit: a watchdog ends the program with a message.
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

/* What a request came to; strings are owned. */
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

/* Starts closing the client, from wherever the test is. */
void clientbench_close(struct clientbench *bench);

/* Closes the client unless that is under way, runs the loop until it is empty, and closes it. */
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
