/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spec of the ControlPlane object, read once and by one parser.
 *
 * The CRD's schema (deploy/crd) refuses most nonsense before it is stored. What slipped past it
 * (an older CRD, a server without CEL) is reported in errors, one sentence per field, and the
 * default is used in its place: a bad field never stops the watching.
 *
 * Strings are borrowed from the object or live in the arena. Pure.
 */
#ifndef RECONCILERS_SKEW_SPEC_H
#define RECONCILERS_SKEW_SPEC_H

#include "reconcilers/skew/facts.h"

#define EK_SPEC_ENDPOINTS_MAX 100
#define EK_SPEC_ERRORS_MAX    16

/* How API servers are found: spec.peers.discovery. */
enum ek_peer_mode {
    EK_PEERS_AUTO,   /* leases, EndpointSlice, pods and nodes */
    EK_PEERS_STATIC, /* spec.peers.endpoints alone */
    EK_PEERS_MODE_MAX,
};

/* spec.skewPolicy. The skews only narrow what KEP-4330 allows, but for max_apiserver_skew, whose
 * rule is our own. */
struct ek_skew_policy {
    int max_apiserver_skew;  /* minors between the emulation versions of API servers; default 1 */
    int max_controller_skew; /* minors a controller may be behind the newest API server: 0..3 */
    int max_kubelet_skew;    /* the same for kubelet and kube-proxy: 0..5 */
    unsigned ignored;        /* bit (1u << enum ek_component) for each of ignoredComponents */
    int64_t grace_ms;        /* violationGracePeriod: younger violations don't fail SkewSupported */
};

/* "No limit of our own": the value of a skew that the spec does not set. */
#define EK_SKEW_UNSET (-1)

struct ek_skew_spec {
    enum ek_peer_mode mode;
    const char **endpoints; /* canonical "ip:port", "[ip6]:port" (reconcilers/peers/address.h);
                               valid ones only, in the order given, no duplicates, at most
                               EK_SPEC_ENDPOINTS_MAX */
    size_t n_endpoints;
    int64_t probe_interval_ms; /* default 15 s, 1 s to 10 min */
    int64_t probe_timeout_ms;  /* default 5 s, 100 ms to 1 min */
    int64_t forget_after_ms;   /* how long a peer that nothing names is kept; default 10 min */
    struct ek_skew_policy policy;
    struct ek_minor next_version; /* unknown: not given */
    const char **errors;          /* sentences that name the field; at most EK_SPEC_ERRORS_MAX */
    size_t n_errors;
};

/* Reads the spec of control_plane (NULL: all defaults) into ret_spec. Never fails. */
void ek_skew_spec_parse(const struct ek_obj *control_plane, struct ek_arena *arena,
                        struct ek_skew_spec *ret_spec);

/* True when the component is left out by spec.skewPolicy.ignoredComponents. Pure. */
bool ek_skew_ignored(const struct ek_skew_spec *spec, enum ek_component component);

#endif
