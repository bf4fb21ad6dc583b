/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small cluster for the controller to run against: three API servers of different versions on the
 * built-in server, in this process, and nodes. Tells when the ControlPlane's status was written.
 * Failures end the program. Not thread safe.
 */
#ifndef TEST_BENCH_WORLD_H
#define TEST_BENCH_WORLD_H

#include <stdbool.h>
#include <sys/types.h>

#include "test/apiserver/shell.h"
#include "test/bench/corpus.h"

#define WORLD_PEERS     3
#define WORLD_FLAGS_MAX 6

/* Of an administrator. */
#define BENCH_WORLD_TOKEN "bench"

struct bench_world {
    uv_loop_t loop;
    uv_timer_t ticker;
    struct ek_apiserver *server;
    struct ek_apishell *shell;
    struct ek_apiserver_peer *peers[WORLD_PEERS];
    FILE *audit;
    char folder[64], kubeconfig[96];
    struct bench_corpus nodes;
    char **texts;            /* the nodes as they are stored, by malloc */
    unsigned long n_written; /* status writes so far */
    double written_ms;       /* bench_now_ms of the last */
    void (*on_written)(void *ctx);
    void (*on_request)(void *ctx, const char *line, size_t size); /* a line of audit; or NULL */
    void *ctx;
    const char *flags[WORLD_FLAGS_MAX]; /* more for `evenkeel run` */
    pid_t controller;                   /* 0 when none runs */
    int controller_out;
};

/* Builds the cluster with n nodes and serves it. */
void bench_world_open(struct bench_world *world, size_t n_nodes);

/* Sends a request as an administrator, who is to be answered by status. */
void bench_world_send(struct bench_world *world, const char *method, const char *path,
                      const char *type, const char *body, int status);

/* Creates the kind that a file of deploy/crd defines. */
void bench_world_define(struct bench_world *world, const char *file);

/* Ends the controller, if any, and the cluster. */
void bench_world_close(struct bench_world *world);

/* Stores the i-th node anew, which is an event as a kubelet's heartbeat is one; with a version (not
 * NULL), as its upgrade does. */
void bench_world_touch(struct bench_world *world, size_t i, const char *version);

/* Starts `evenkeel run` against it, with world->flags and without leader election. */
void bench_world_start(struct bench_world *world, const char *evenkeel);

/* Runs the loop for ms, or until a status was written beyond the first n. False: time is up. */
void bench_world_run(struct bench_world *world, double ms);
bool bench_world_wait(struct bench_world *world, unsigned long n, double ms);

#endif
