/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Discovery documents: what one API server says it serves.
 *
 * Reads the aggregated form (apidiscovery.k8s.io/v2 and v2beta1, whose fields are the same) and
 * the legacy lists (APIVersions, APIGroupList, APIResourceList) into one sorted set of
 * group/version/resource names. What a document lacks is tolerated as
 * client-go/discovery/aggregated_discovery.go: SplitGroupsAndResources does; what is not a
 * discovery document at all is an error.
 *
 * A set is built by adding documents, then sealed; a sealed set is immutable and may be shared
 * between threads. Pure: no I/O.
 */
#ifndef API_DISCOVERY_H
#define API_DISCOVERY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/base/err.h"
#include "api/obj.h"

/* Limits on one server's answers: beyond them adding a document is EK_E_LIMIT. */
#define EK_DISCOVERY_ENTRIES_MAX 100000

#define EK_DISCOVERY_NO_RANK UINT_MAX

enum ek_discovery_form {
    EK_DISCOVERY_V2,
    EK_DISCOVERY_V2BETA1,
    EK_DISCOVERY_LEGACY,
    EK_DISCOVERY_FORM_MAX,
};

/* What a document says of a resource beside its name. */
enum ek_discovery_facet {
    EK_DISCOVERY_KIND,
    EK_DISCOVERY_SCOPE,       /* of a subresource: none */
    EK_DISCOVERY_VERBS,       /* as a set */
    EK_DISCOVERY_SHORT_NAMES, /* as a set; of a subresource: none */
    EK_DISCOVERY_FACETS,
};

/*
 * One served resource (or subresource, "pods/status"). Strings are owned by the set.
 *
 * A Stale group version without resources is an entry whose resource is "": that is what an API
 * server lists that has never read the aggregated API server of an APIService
 * (kube-aggregator/pkg/apiserver/handler_discovery.go:run, 1.36). The entry precedes all others of
 * its group version.
 */
struct ek_discovery_entry {
    const char *group;    /* "" for core */
    const char *version;  /* "v1" */
    const char *resource; /* "deployments", "deployments/scale" */
    bool stale;           /* the server marked the whole group version Stale */
    unsigned rank;        /* versions of the group that the server prefers to this one;
                             EK_DISCOVERY_NO_RANK where the form of discovery does not say */
    /* A digest of each facet (ek_hash): equal for equal facets, in every form of discovery. */
    uint64_t facets[EK_DISCOVERY_FACETS];
};

struct ek_discovery;

struct ek_discovery *ek_discovery_new(void);
void ek_discovery_free(struct ek_discovery *set);
EK_CLEANUP_PTR(ek_discovery, ek_discovery_free)

/*
 * Adds an APIGroupDiscoveryList (answer to /api or /apis). ret_form (may be NULL) gets the API
 * version. A legacy APIVersions or APIGroupList is EK_E_UNSUPPORTED: the caller then requests each
 * group version (ek_discovery_legacy_paths).
 */
int ek_discovery_add_aggregated(struct ek_discovery *set, yyjson_val *document,
                                enum ek_discovery_form *ret_form, struct ek_err *err);

/* Adds an APIResourceList, the answer to /api/v1 or /apis/<g>/<v>. */
int ek_discovery_add_resource_list(struct ek_discovery *set, yyjson_val *document,
                                   struct ek_err *err);

/* Calls fn with the path of each group version that a legacy APIVersions or APIGroupList names
 * ("/api/v1", "/apis/apps/v1"). Returns 0, or EK_E_PARSE when document is neither. */
int ek_discovery_legacy_paths(yyjson_val *document, void (*fn)(void *ctx, const char *path),
                              void *ctx, struct ek_err *err);

/* Adds the entries of another, sealed set: those of the core group, or all others. A server that
 * answers 304 for one of its two documents has its old half carried over by this. */
int ek_discovery_add_from(struct ek_discovery *set, const struct ek_discovery *from, bool core,
                          struct ek_err *err);

/* Sorts and removes duplicates; to be called once, before any function below. */
void ek_discovery_seal(struct ek_discovery *set);

/* The entries in order of group, version, resource; *ret_n of them, borrowed. */
const struct ek_discovery_entry *ek_discovery_entries(const struct ek_discovery *set,
                                                      size_t *ret_n);

/* True when group/version/resource is served. */
bool ek_discovery_has(const struct ek_discovery *set, const char *group, const char *version,
                      const char *resource);

#endif
