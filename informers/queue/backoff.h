/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Back-off: how long to wait before the next attempt; and the small random generator it needs.
 *
 * A value object without clock: the caller passes the time and gets a delay. Delays grow by a
 * factor up to a cap, each is lengthened by a random part, and a long pause between two uses
 * restarts the sequence. The numbers for reflectors are client-go's (tools/cache/reflector.go:
 * defaultBackoffInit): 0.8 s, x2, at most 30 s, jitter 1 (so 30-60 s at the top), reset after 2
 * minutes without use.
 *
 * The generator (SplitMix64) is seeded by the caller, so that a test can repeat a run; it is good
 * for spreading load and for nothing secret. Nothing is allocated. Not thread safe.
 */
#ifndef INFORMERS_QUEUE_BACKOFF_H
#define INFORMERS_QUEUE_BACKOFF_H

#include <stdint.h>

struct ek_rand {
    uint64_t state;
};

/* The next 64 random bits. */
uint64_t ek_rand_next(struct ek_rand *generator);

/* A number in [0, 1). */
double ek_rand_unit(struct ek_rand *generator);

struct ek_backoff_config {
    int64_t initial_ms; /* first delay, > 0 */
    int64_t max_ms;     /* the delay without its random part never exceeds this */
    int64_t reset_ms;   /* a longer pause than this between two uses restarts the sequence; 0 means
                           never */
    double factor;      /* growth from one delay to the next, >= 1 */
    double jitter;      /* a delay d becomes a random value in [d, d + jitter * d) */
};

#define EK_BACKOFF_REFLECTOR                                                                       \
    ((struct ek_backoff_config){                                                                   \
        .initial_ms = 800, .max_ms = 30000, .reset_ms = 120000, .factor = 2.0, .jitter = 1.0})

struct ek_backoff {
    struct ek_backoff_config config;
    struct ek_rand random;
    int64_t delay_ms; /* the next delay, without its random part */
    int64_t used_ms;  /* time of the last use */
};

/* Makes a back-off at the start of its sequence; now_ms is any monotonic time. */
void ek_backoff_init(struct ek_backoff *backoff, const struct ek_backoff_config *config,
                     uint64_t seed, int64_t now_ms);

/* Returns the next delay in milliseconds and advances. */
int64_t ek_backoff_next(struct ek_backoff *backoff, int64_t now_ms);

/* Restarts the sequence. */
void ek_backoff_reset(struct ek_backoff *backoff);

#endif
