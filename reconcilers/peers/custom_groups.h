/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which group versions are left out of the documents of peers before they are merged: those of
 * custom resources and of extension API servers, and those that were so until five minutes ago.
 * The merging server's own document alone lists them, because the document of a peer may still list
 * a CRD that has been deleted (apiserver of Kubernetes 1.36,
 * pkg/util/peerproxy/gv_exclusion_manager.go:getExclusionSet and
 * pkg/controlplane/apiserver/aggregator.go).
 *
 * A kube-apiserver reads the versions from the spec of each CRD. Here they come from the
 * APIServices that kube-apiserver makes for the served versions of CRDs, because these are small
 * and CRDs are not. README.md beside this file describes the difference.
 *
 * The time is an argument. Threading: one thread at a time.
 */
#ifndef RECONCILERS_PEERS_CUSTOM_GROUPS_H
#define RECONCILERS_PEERS_CUSTOM_GROUPS_H

#include <stdint.h>

#include "api/obj.h"
#include "reconcilers/peers/merge.h"

/* A group version stays left out while it has been gone for at most so long
 * (gv_exclusion_manager.go:reapExpiredGVs). */
#define EK_CUSTOM_GROUPS_KEPT_MS ((int64_t)5 * 60 * 1000)

struct ek_custom_groups;

struct ek_custom_groups *ek_custom_groups_new(void);
void ek_custom_groups_free(struct ek_custom_groups *groups); /* NULL is fine */

/*
 * Takes the n APIServices (apiregistration.k8s.io/v1) of now, borrowed for the call: those of
 * extension API servers and of CRDs count, and those of kube-apiserver itself do not. Returns the
 * exclusions, borrowed until the next call. *ret_again_ms: in how many milliseconds time alone will
 * change them; 0 for never.
 */
const struct ek_exclusions *ek_custom_groups_update(struct ek_custom_groups *groups,
                                                    struct ek_obj *const *api_services, size_t n,
                                                    int64_t now_ms, int64_t *ret_again_ms);

#endif
