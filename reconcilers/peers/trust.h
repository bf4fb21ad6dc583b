/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who deserves which credential: the one place where the prober's targets get theirs.
 *
 * An owner of a node may write a mirror pod of any component with any podIP and any flags
 * (kubernetes:plugin/pkg/admission/noderestriction admits it), and may hold a certificate of the
 * cluster's authority for that IP (kubelet's serverTLSBootstrap). A certificate for an IP therefore
 * proves no component, and a pod alone names no address that may see a credential:
 *
 *  - API server: our own credentials, at an address of a trusted source. These are the
 *    EndpointSlice default/kubernetes, which API servers write themselves
 *    (kubernetes:pkg/controlplane/reconcilers/endpointsadapter.go names it like the Service),
 *    spec.peers.endpoints, and the configured server.
 *  - Scheduler, controller manager: a token that may read /metrics only, where an API server of the
 *    EndpointSlice or of spec.peers.endpoints has proven itself at the same IP, or
 *    spec.peers.endpoints names the IP. The configured server does not count: its IP may be that of
 *    a Service or of a load balancer, where another process answers at another port.
 *  - Everything else is not contacted.
 *
 * That an API server proves the name kubernetes.default.svc before it sees the credential is the
 * client's law (informers/client/client.h). Pure; any thread.
 */
#ifndef RECONCILERS_PEERS_TRUST_H
#define RECONCILERS_PEERS_TRUST_H

#include "reconcilers/peers/objs.h"

/* Where an address was read; the most trusted first. */
enum ek_address_source {
    EK_ADDRESS_SLICE,      /* the EndpointSlice default/kubernetes */
    EK_ADDRESS_SPEC,       /* spec.peers.endpoints */
    EK_ADDRESS_CONFIGURED, /* the server that the kubeconfig names */
    EK_ADDRESS_POD,        /* a static pod's status */
    EK_ADDRESS_SOURCE_MAX,
};

struct ek_trust_input {
    const char *component; /* "kube-apiserver", ... */
    const char *address;   /* "ip:port" */
    enum ek_address_source source;
    bool ip_proven;  /* an API server has proven itself at this IP, see ek_trust_is_proven */
    bool ip_in_spec; /* spec.peers.endpoints names this IP, with any port */
};

/* The credential for a process; EK_PROBE_NOT_CONTACTED for what is no address, may not be called
 * (address.h) or is not trusted. */
enum ek_probe_credential ek_trust_decide(const struct ek_trust_input *input);

/* An API server that is known. */
struct ek_trust_server {
    const char *address; /* "ip:port"; "" when it has none */
    enum ek_address_source source;
    const struct ek_probe *probe; /* NULL when there is none */
};

/* True when one of n API servers has proven itself at the canonical IP ip in this process's life,
 * at an address of the EndpointSlice or of spec.peers.endpoints: what answers there is on the host
 * with that IP. */
bool ek_trust_is_proven(const struct ek_trust_server *servers, size_t n, const char *ip);

/* True when one of n addresses "ip:port" has the canonical IP ip. */
bool ek_trust_names_ip(const char *const *addresses, size_t n, const char *ip);

#endif
