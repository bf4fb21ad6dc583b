/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The prober: asks every target its round of questions, again and again, each on its own.
 *
 * Targets are given as a whole set whenever the plan changes; what is no longer in it is
 * forgotten, what is new is asked at once. Each target has its own timer, its own deadline and its
 * own session, so that a peer that hangs delays nobody (peers sheet, section 7). Requests go to
 * the target's address directly, with the cluster's CA and the client's credentials; an API server
 * must prove the name kubernetes.default.svc, another component the address it was called by.
 *
 * Threading: the loop thread; the observer is called from the loop.
 */
#ifndef INFORMERS_PROBER_H
#define INFORMERS_PROBER_H

#include "informers/client.h"
#include "informers/probe.h"

struct ek_prober;

/* Who is to be asked. Strings are copied. */
struct ek_prober_target {
    const char *component; /* "kube-apiserver", "kube-scheduler", ... */
    const char *address;   /* "ip:port" */
};

struct ek_prober_options {
    int64_t interval_ms;      /* between two rounds; 0 asks each target once */
    int64_t timeout_ms;       /* for each question */
    int64_t full_interval_ms; /* how old OpenAPI's and /metrics' answers may get */
};

/* now is the wall clock in milliseconds, for the times in the answers. observer (may be NULL) is
 * called with ctx after each round of any target. */
struct ek_prober *ek_prober_new(uv_loop_t *loop, struct ek_client *client, int64_t (*now)(void),
                                void (*observer)(void *ctx), void *ctx);

/* Ends everything; on_closed (may be NULL) is called from the loop when it is gone. */
void ek_prober_close(struct ek_prober *prober, void (*on_closed)(void *ctx), void *ctx);

/* Sets what is asked and how often. Results of targets that stay are kept. */
void ek_prober_set(struct ek_prober *prober, const struct ek_prober_target *targets, size_t n,
                   const struct ek_prober_options *options);

/* Asks all targets now, full rounds: a lease or an endpoint has changed. Those under way are asked
 * once more when they are done. */
void ek_prober_kick(struct ek_prober *prober);

/* True when every target has been asked at least once. */
bool ek_prober_is_settled(const struct ek_prober *prober);

size_t ek_prober_size(const struct ek_prober *prober);

/* The i-th target's address and newest probe (NULL before the first round); borrowed. */
const struct ek_probe *ek_prober_at(const struct ek_prober *prober, size_t i,
                                    const char **ret_address);

/* How the asking of one target goes; everything is borrowed. */
struct ek_prober_state {
    const char *component, *address;
    const struct ek_probe *probe; /* NULL before the first round has ended */
    bool asking;                  /* a round is under way */
    unsigned long long rounds;    /* that have ended */
    int64_t round_ms;             /* wall clock at the start of the newest round */
    int64_t took_ms;              /* of that round, so far while asking */
    int64_t full_ms;              /* wall clock at the start of the newest full round */
    int64_t next_in_ms;           /* until the next round, -1 when none is planned */
};

/* Calls fn for each target; for debugging. */
void ek_prober_each(const struct ek_prober *prober,
                    void (*fn)(void *ctx, const struct ek_prober_state *state), void *ctx);

#endif
