/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which API groups are those of Kubernetes itself. All others belong to custom resources or to
 * aggregated API servers: which of these an API server serves follows from objects of the cluster
 * and not from the version or the flags of the API server.
 */
#ifndef RECONCILERS_SKEW_BUILTIN_GROUPS_H
#define RECONCILERS_SKEW_BUILTIN_GROUPS_H

#include <stdbool.h>

/* True for a group of kube-apiserver 1.20 to 1.36 (staging/src/k8s.io/api, apiextensions-apiserver
 * and kube-aggregator, pkg/apis). A group that a later Kubernetes version adds is false. Pure. */
bool ek_skew_is_builtin_group(const char *group);

#endif
