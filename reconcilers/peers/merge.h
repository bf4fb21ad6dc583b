/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The merged discovery document: what a kube-apiserver 1.36 with --peer-ca-file would send to its
 * clients for the same documents of itself and its peers
 * (apiserver/pkg/endpoints/discovery/aggregated/peer_aggregated_handler.go:mergeResources).
 *
 * Servers are visited in the order of their ids. The first one that has a group, version or
 * resource is its base; of later ones verbs are united, subresources are united by name (the last
 * one wins), and all else is taken from the base. Where nothing was merged, and all servers list
 * the same groups in the same order, the document of the local server is the result as it is.
 *
 * Results live in the arena and borrow from the input. Pure; any thread.
 */
#ifndef RECONCILERS_PEERS_MERGE_H
#define RECONCILERS_PEERS_MERGE_H

#include "api/base/arena.h"
#include "api/groups.h"

struct ek_merge_server {
    const char *id;
    struct ek_api_list list;
};

/* Merges the document of the server local_id with those of n peers. A peer with the local id stands
 * for the local server in the merge. The merge ends where the arena is exhausted
 * (ek_arena_exhausted): the result is then not to be used. */
struct ek_api_list ek_merge_groups(const char *local_id, struct ek_api_list local,
                                   const struct ek_merge_server *peers, size_t n,
                                   struct ek_arena *arena);

/*
 * The number of repeated names in a list: groups of one name, versions of one name in a group, and
 * resources of one name in a version. API servers repeat no name. Each repetition is merged with
 * everything that was merged under the name before, as in mergeResources, so that the work is at
 * most the size of all documents, once and again for each repetition.
 */
size_t ek_merge_repeats(const struct ek_api_list *list);

/*
 * What is kept of a peer's two answers for the merge of /apis: the groups with a name in order,
 * core (one of the lists may name it) left out, the first of two with one name
 * (util/peerproxy/peer_discovery.go:fetchNewDiscoveryFor).
 */
struct ek_api_list ek_merge_kept(struct ek_api_list core, struct ek_api_list groups,
                                 struct ek_arena *arena);

/* Group versions ("apps/v1"; "v1" for core) that are left out of the documents of peers, in the
 * order of their bytes. */
struct ek_exclusions {
    const char *const *group_versions;
    size_t n;
};

bool ek_exclusions_has(const struct ek_exclusions *exclusions, const char *group,
                       const char *version);

/*
 * The groups of a peer without excluded group versions, and without groups that have no version
 * left. core is its answer to /api: where no resource of either list is excluded, kept is returned
 * as it is, with group versions that are excluded and list no resources
 * (util/peerproxy/gv_exclusion_manager.go:filterPeerCacheEntry).
 */
struct ek_api_list ek_merge_exclude(struct ek_api_list core, struct ek_api_list groups,
                                    struct ek_api_list kept, const struct ek_exclusions *exclusions,
                                    struct ek_arena *arena);

#endif
