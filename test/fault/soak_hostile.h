/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile clients of the controller's health port: connections that say nothing, half a request,
 * one byte too little, or no HTTP at all, and stay open. Threading: the main thread.
 */
#ifndef TEST_FAULT_SOAK_HOSTILE_H
#define TEST_FAULT_SOAK_HOSTILE_H

#include <stdbool.h>
#include <stdint.h>

#define SOAK_HOSTILE_MAX 300 /* connections at once; the oldest are closed for others */

struct soak_hostile {
    uint16_t port;             /* of the health port */
    int fds[SOAK_HOSTILE_MAX]; /* plus one; 0: none */
    unsigned next;
};

/* Chooses a port that is free. */
void soak_hostile_begin(struct soak_hostile *hostile);

/* Opens n connections of the way-th kind (any number). */
void soak_hostile_connect(struct soak_hostile *hostile, unsigned n, unsigned way);

/* Closes all connections. */
void soak_hostile_end(struct soak_hostile *hostile);

/* True when /healthz is answered with 200, in real time. */
bool soak_hostile_healthy(const struct soak_hostile *hostile);

#endif
