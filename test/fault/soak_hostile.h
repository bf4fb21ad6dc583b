/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile clients of the controller's health port, and of its port for metrics, which speaks TLS:
 * connections that say nothing, half a request, one byte too little, no HTTP at all, or announce
 * more than they will send, and stay open. Threading: the main thread.
 */
#ifndef TEST_FAULT_SOAK_HOSTILE_H
#define TEST_FAULT_SOAK_HOSTILE_H

#include <stdbool.h>
#include <stdint.h>

#define SOAK_HOSTILE_MAX  300 /* connections at once; the oldest are closed for others */
#define SOAK_HOSTILE_WAYS 10u

struct soak_hostile {
    uint16_t port;             /* for health */
    uint16_t tls_port;         /* for metrics */
    int fds[SOAK_HOSTILE_MAX]; /* plus one; 0: none */
    unsigned next;
};

/* Chooses ports that are free. */
void soak_hostile_begin(struct soak_hostile *hostile);

/* Opens n connections of the way-th kind (any number). */
void soak_hostile_connect(struct soak_hostile *hostile, unsigned n, unsigned way);

/* Closes all connections. */
void soak_hostile_end(struct soak_hostile *hostile);

/* True when /healthz is answered with 200, in real time. */
bool soak_hostile_healthy(const struct soak_hostile *hostile);

/* True when the port for metrics shakes hands and answers, in real time. */
bool soak_hostile_shakes(const struct soak_hostile *hostile);

#endif
