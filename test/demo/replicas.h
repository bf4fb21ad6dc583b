/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The replicas of the demo: two processes `evenkeel run --leader-elect`, kept running.
 *
 * It does what a kubelet would: what ends unasked is started again, a few times. Output of the
 * replicas goes to <folder>/replica-<n>.log. They die with the demo, however that ends.
 *
 * Nothing here waits; ek_replicas_tend is to be called often. Threading: one thread.
 */
#ifndef TEST_DEMO_REPLICAS_H
#define TEST_DEMO_REPLICAS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "api/base/err.h"

#define EK_REPLICAS         2
#define EK_REPLICA_LOG_SIZE 512

struct ek_replica {
    pid_t pid; /* 0 while it does not run */
    bool wanted;
    unsigned n_crashes; /* times that it ended unasked */
    int status;         /* of its last end, as waitpid gives it */
    char log[EK_REPLICA_LOG_SIZE];
};

/* Times of the election, as flags take them. */
struct ek_replica_times {
    const char *lease_duration, *renew_deadline, *retry_period;
};

struct ek_replicas {
    const char *program;    /* path of evenkeel, borrowed */
    const char *kubeconfig; /* borrowed */
    struct ek_replica_times times;
    struct ek_replica items[EK_REPLICAS];
};

/* Sets up replicas that are not started. EK_E_NOENT when there is no such program. */
int ek_replicas_init(struct ek_replicas *replicas, const char *program, const char *kubeconfig,
                     const char *folder, const struct ek_replica_times *times, struct ek_err *err);

/* Starts replica i unless it runs, and wants it to run from now on. EK_E_IO. */
int ek_replicas_start(struct ek_replicas *replicas, size_t i, struct ek_err *err);

/* Sends a signal to replica i, which is not started again by itself. */
void ek_replicas_signal(struct ek_replicas *replicas, size_t i, int signal);

/* Notices ends, starts again what is wanted. Returns false when a replica has ended too often; its
 * number is in *ret_i then. */
bool ek_replicas_tend(struct ek_replicas *replicas, size_t *ret_i);

bool ek_replicas_are_gone(const struct ek_replicas *replicas);

/* The replica that calls itself identity in its log, by its number; EK_REPLICAS when none does. */
size_t ek_replicas_find(const struct ek_replicas *replicas, const char *identity);

#endif
