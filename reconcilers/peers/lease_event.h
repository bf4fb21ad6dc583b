/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an event of an identity Lease makes an API server look at its peers again
 * (apiserver/pkg/util/peerproxy of Kubernetes 1.36: peerproxy.go:NewPeerProxyHandler and
 * peer_discovery.go:isValidPeerIdentityLease): a Lease came or went, or has another holder. A
 * renewal, another label and another annotation do nothing. Pure; any thread.
 */
#ifndef RECONCILERS_PEERS_LEASE_EVENT_H
#define RECONCILERS_PEERS_LEASE_EVENT_H

#include <stdbool.h>

#include "api/obj.h"

/* The label of identity Leases since Kubernetes 1.27. */
#define EK_LEASE_LABEL       "apiserver.kubernetes.io/identity"
#define EK_LEASE_LABEL_VALUE "kube-apiserver"

struct ek_lease_rule {
    const char *self;          /* the Lease of the server itself, "" for none */
    const char *label, *value; /* that Leases of peers have */
};

/* old is NULL for a Lease that came, obj for one that went. */
bool ek_lease_event_matters(const struct ek_lease_rule *rule, const struct ek_obj *old,
                            const struct ek_obj *obj);

#endif
