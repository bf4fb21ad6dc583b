/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The prober: sends each target its rounds of requests, periodically and independently.
 *
 * Targets are given as a whole set whenever the plan changes; what is no longer in it is
 * forgotten, a new target is probed at once. Each target has its own timer, its own deadline and
 * its own session, so that a peer that hangs delays no other. Requests go to the target's address
 * directly. An API server must prove the name kubernetes.default.svc by the cluster's authority
 * (with own_only also that it is the one at this address) and gets the client's credentials;
 * another component must prove the IP that it was called by and gets a token that may read /metrics
 * only (informers/client/token_request.h). Without such a token the component is not contacted, and
 * its probe says why.
 *
 * Threading: the loop thread; the observer is called from the loop.
 */
#ifndef INFORMERS_PROBE_PROBER_H
#define INFORMERS_PROBE_PROBER_H

#include "informers/client/client.h"
#include "informers/client/token_request.h"
#include "informers/probe/probe.h"
#include "informers/probe/session.h"

struct ek_prober;

/* A target of probes, and the credentials that it gets. Strings are copied. A target that is not to
 * be contacted, or a component that would get our own credentials, is passed over. */
struct ek_prober_target {
    const char *component; /* "kube-apiserver", "kube-scheduler", ... */
    const char *address;   /* "ip:port" */
    enum ek_probe_credential credential;
    const char *host; /* host name of the API server; NULL where it is not known */
};

struct ek_prober_options {
    int64_t interval_ms;      /* between two rounds; 0 probes each target once */
    int64_t timeout_ms;       /* for each question */
    int64_t full_interval_ms; /* how old OpenAPI's and /metrics' answers may get */
    bool documents_only;      /* neither is requested (ek_probe_session_documents_only) */
    bool flagz;               /* /flagz of API servers is requested as well */
    bool own_only; /* a server whose certificate has neither the IP of its address nor its host
                      name gets no request and no credentials: another API server answers there */
};

/*
 * now is the wall clock in milliseconds, for the times in the answers. The tokens for other
 * components than API servers are of the ServiceAccount account in namespace (copied). observer
 * (may be NULL) is called with ctx after each round of any target.
 */
struct ek_prober *ek_prober_new(uv_loop_t *loop, struct ek_client *client, const char *namespace,
                                const char *account, int64_t (*now)(void),
                                void (*observer)(void *ctx), void *ctx);

/* Shows the answers to come to tap (copied), too. */
void ek_prober_set_tap(struct ek_prober *prober, const struct ek_probe_tap *tap);

/* Ends everything; on_closed (may be NULL) is called from the loop when it is gone. */
void ek_prober_close(struct ek_prober *prober, void (*on_closed)(void *ctx), void *ctx);

/* Sets the targets and the interval. Results of targets that stay are kept. */
void ek_prober_set(struct ek_prober *prober, const struct ek_prober_target *targets, size_t n,
                   const struct ek_prober_options *options);

/* Starts full rounds for all targets now, because a lease or an endpoint has changed. Those under
 * way are probed once more when they are done. */
void ek_prober_kick(struct ek_prober *prober);

/* As ek_prober_kick, but light rounds, and only for the targets that the last round did not find
 * ready: not reachable, /readyz not good, or documents not known. */
void ek_prober_kick_absent(struct ek_prober *prober);

/* True when every target has been probed at least once. */
bool ek_prober_is_synced(const struct ek_prober *prober);

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
