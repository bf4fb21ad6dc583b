/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which component a client says it is, at which version, and whether the API servers support that
 * version (KEP-4330, "Skew"). Only requests show the version of kubectl and of clients outside the
 * cluster.
 *
 * A User-Agent is "kubectl/v1.36.2 (linux/amd64) kubernetes/<commit>"
 * (k8s.io/client-go/rest/config.go:DefaultKubernetesUserAgent at 1.36); a version in another form
 * counts as none. It is the word of the client, and proves nothing. The results have few values,
 * whatever clients send. Pure; any thread.
 */
#ifndef RECONCILERS_PROXY_CLIENT_VERSION_H
#define RECONCILERS_PROXY_CLIENT_VERSION_H

#include "reconcilers/skew/policy.h"

/* Minor versions that are distinguished, on each side of the newest API server; others have the
 * version "other". */
#define EK_CLIENT_VERSIONS_EACH_WAY 10

struct ek_client_version {
    const char *client;          /* "kubectl", "kubelet", ...; "other" */
    char version[EK_MINOR_SIZE]; /* "1.36", of client-go the release of Kubernetes; "other"; "" for
                                    none, and for client "other" */
    enum ek_verdict verdict;     /* NOT_JUDGED for the clients "client-go" and "other" */
};

/* Judges user_agent (NULL: none) by bounds, the versions of the API servers. A controller manager
 * and a scheduler are judged by a version that requests do not have (the emulation version): their
 * verdict is Unsupported or Unknown. */
struct ek_client_version ek_client_version_judge(const char *user_agent,
                                                 const struct ek_bounds *bounds);

#endif
