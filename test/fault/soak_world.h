/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The soak's cluster: the built-in API server with its peers, and what can happen to it.
 *
 * The world knows by itself who runs which version, apart from what the storage says; so the
 * published status is held against two truths. Everything that can happen is a row of a table: the
 * faults that the server shows on demand, and the changes of the world. Chances come from one
 * seeded generator. Threading: the main thread.
 */
#ifndef TEST_FAULT_SOAK_WORLD_H
#define TEST_FAULT_SOAK_WORLD_H

#include "informers/queue/backoff.h"
#include "test/apiserver/shell.h"
#include "test/fault/soak_hostile.h"
#include "test/fault/soak_time.h"
#include "test/support/testdir.h"

#define SOAK_PEERS_MAX 4
#define SOAK_NODES_MAX 12

struct soak_peer {
    struct ek_apiserver_peer *peer;
    const char *name;
    struct ek_minor emulation; /* as it runs, or ran last */
    bool running, hung, expired;
    bool absent; /* stopped in good order, and it stays so */
};

struct soak_world {
    uv_loop_t loop;
    struct ek_apiserver *server;
    struct ek_apishell *shell;
    struct soak_peer peers[SOAK_PEERS_MAX];
    bool nodes[SOAK_NODES_MAX]; /* which exist */
    bool crd;
    unsigned n_definitions; /* times that it was installed */
    unsigned token;         /* the number of the one that is valid */
    struct ek_rand random;
    char dir[TESTDIR_SIZE];
    char *kubeconfig; /* the controller's */
    char *admin;      /* the observers' */
    struct soak_hostile hostile;
    unsigned long n_changes;
    bool closed;
};

/* Makes a cluster of three peers and some nodes, with the CustomResourceDefinition. */
void soak_world_make(struct soak_world *world, uint64_t seed);
void soak_world_end(struct soak_world *world);

/* Sends a request as an administrator, past sockets and faults; returns the status. */
int soak_call(struct soak_world *world, const char *method, const char *path, const char *body);

/* A number below n. */
unsigned soak_pick(struct soak_world *world, unsigned n);

/* What can happen to the world; each does its thing once, or nothing where it does not apply. */
struct soak_change {
    const char *name;
    void (*happen)(struct soak_world *world);
};
extern const struct soak_change soak_changes[];
extern const size_t soak_n_changes;

/* Adds a fault of that kind with chance values. */
void soak_fault(struct soak_world *world, enum ek_fault_kind kind);

/* Ends all that is broken: faults, hung and dead peers, certificates, tokens, the definition. What
 * is different and not broken (versions, nodes, absent peers) stays. */
void soak_world_lift(struct soak_world *world);

/* Faults and changes that took place so far. */
unsigned long soak_world_count(const struct soak_world *world);

#endif
