/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scaffold of prober tests: peers that answer like API servers and other components and note
 * what they are shown, a configured server that issues tokens of evenkeel-probe, and a prober
 * between them. The wall clock is the test's.
 */
#ifndef TEST_SUPPORT_PROBERSCENE_H
#define TEST_SUPPORT_PROBERSCENE_H

#include <stdatomic.h>

#include "informers/probe/prober.h"
#include "test/support/clientbench.h"
#include "test/support/testpki.h"
#include "test/support/testserver.h"

/* A peer that answers like an API server of some version, or not at all. */
struct peer {
    struct testserver *server;
    char address[64];
    atomic_int minor; /* what it emulates */
    atomic_bool stalled, refuses, redirects;
    atomic_bool starting;  /* /readyz fails */
    const char *elsewhere; /* where it redirects to */
    atomic_uint metrics_asked;
    atomic_uint requests;
    atomic_uint own, probe, client_certs; /* of those: our token, that of evenkeel-probe, our
                                             certificate */
};

/* What the configured server answers to TokenRequests. */
struct issuer {
    struct testserver *server;
    atomic_int status;          /* 201, 403, ... */
    atomic_int n_issued;        /* the number is part of the token */
    atomic_bool strange;        /* TokenRequests that are not as they should be */
    atomic_int seconds;         /* of life that it grants */
    _Atomic(const char *) body; /* in place of a token; NULL for none */
};

struct scene {
    struct testpki_cert authority, leaf, other_leaf, client;
    struct issuer issuer;
    struct ek_client_config *config;
    struct clientbench bench;
    struct ek_prober *prober;
    int rounds; /* seen by the observer */
    int closed;
};

/* The wall clock, in milliseconds; it also moves on by one whenever it is read. */
extern int64_t proberscene_now_ms;

/* Makes authorities, certificates, the issuing server and a configuration with a token, which may
 * then be changed. */
void proberscene_prepare(struct scene *scene);

/* Starts the client and the prober of a prepared scene. */
void proberscene_start_prober(struct scene *scene);

/* Both. */
void proberscene_start(struct scene *scene);
void proberscene_stop(struct scene *scene);

/* Starts a peer with a certificate, at address (NULL: 127.0.0.1); testserver_stop(peer->server)
 * ends it. */
void proberscene_start_peer(struct scene *scene, struct peer *peer, const struct testpki_cert *leaf,
                            const char *address);

/* Runs the loop until n more rounds have ended. */
void proberscene_run_rounds(struct scene *scene, int n);

/* The newest probe of address; NULL when there is none. */
const struct ek_probe *proberscene_probe(struct scene *scene, const char *address);

#endif
