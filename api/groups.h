/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aggregated discovery documents with all their content, so that documents of several servers can
 * be merged, and written again in every form that clients may request. api/discovery.h reads only
 * the set of names of the same documents.
 *
 * The types are those of k8s.io/api/apidiscovery/v2/types.go (v2beta1 has the same fields). As in
 * Go, a list that is absent (or null) differs from an empty one, because the merge compares the
 * lists and "verbs" writes them differently. Members that the types do not have are dropped.
 * Members of metadata are kept, but for lists of structs.
 *
 * Documents are immutable and refcounted; references may be counted from any thread. Pure: no I/O.
 */
#ifndef API_GROUPS_H
#define API_GROUPS_H

#include <stdbool.h>
#include <stddef.h>

#include "api/base/arena.h"
#include "api/base/buf.h"
#include "api/base/err.h"
#include "api/discovery.h"
#include "api/obj.h"

/* The memory of one document; a larger one is EK_E_LIMIT. */
#define EK_API_GROUPS_MAX ((size_t)64 * 1024 * 1024)

struct ek_api_kind {
    const char *group, *version, *kind; /* group and version are "" where they are those of the
                                           group version */
};

/* set false: the list is absent. */
struct ek_api_names {
    const char *const *items;
    size_t n;
    bool set;
};

struct ek_api_kinds {
    const struct ek_api_kind *items;
    size_t n;
    bool set;
};

struct ek_api_subresource {
    const char *name;
    const struct ek_api_kind *kind; /* NULL when absent */
    struct ek_api_kinds accepted;
    struct ek_api_names verbs;
};

struct ek_api_subresources {
    const struct ek_api_subresource *items;
    size_t n;
    bool set;
};

struct ek_api_resource {
    const char *name;
    const struct ek_api_kind *kind; /* NULL when absent: only the subresources are served */
    const char *scope;              /* "Cluster", "Namespaced" */
    const char *singular;
    struct ek_api_names verbs, short_names, categories;
    struct ek_api_subresources subresources;
};

struct ek_api_version {
    const char *name;
    const struct ek_api_resource *resources;
    size_t n;
    bool set;
    const char *freshness; /* "Current", "Stale", "" when absent */
};

struct ek_api_group {
    const char *name; /* "" for core */
    const char *kind; /* of the item, "" or NULL when absent, as API servers leave it */
    const char *api_version;
    const char *metadata; /* as JSON, "{}" at least */
    const struct ek_api_version *versions;
    size_t n;
    bool set;
};

struct ek_api_list {
    const struct ek_api_group *groups;
    size_t n;
    bool set;
};

/* One answer to /api or /apis. */
struct ek_api_groups {
    struct ek_api_list list;
    enum ek_discovery_form form; /* in which the server gave it */
    size_t size;                 /* bytes of memory */
};

/*
 * Reads an APIGroupDiscoveryList of either version; kind and apiVersion are ignored. Returns one
 * reference, or NULL for a document that does not fit the types (EK_E_PARSE, with the text of
 * encoding/json, decode.go:UnmarshalTypeError, for the first wrong value) or is too large
 * (EK_E_LIMIT). A null value is an empty list.
 */
struct ek_api_groups *ek_api_groups_read(yyjson_val *root, enum ek_discovery_form form,
                                         struct ek_err *err);

struct ek_api_groups *ek_api_groups_ref(const struct ek_api_groups *groups);
void ek_api_groups_unref(struct ek_api_groups *groups);
EK_CLEANUP_PTR(ek_api_groups, ek_api_groups_unref)

/* True when two resources are alike in every member: reflect.DeepEqual, so that an absent list and
 * an empty one differ. */
bool ek_api_resource_equal(const struct ek_api_resource *a, const struct ek_api_resource *b);

/*
 * Append documents as an API server encodes them (encoding/json with HTML escaping), without a line
 * feed at the end. Errors: of ek_buf_append; out then holds a part.
 *
 *   aggregated   APIGroupDiscoveryList; version "v2" or "v2beta1", NULL: without kind and
 *                apiVersion, which is what an ETag is computed over
 *                (apiserver/pkg/endpoints/discovery/aggregated/etag.go:calculateETag)
 *   versions     APIVersions of the core group of list
 *   group_list   APIGroupList
 *   group        APIGroup
 *   resources    APIResourceList of one group version
 *
 * Plain lists leave out groups without versions, and resources without responseKind. They have no
 * storageVersionHash, which no aggregated document carries. serverAddressByClientCIDRs of
 * APIVersions is empty, where an API server names its own address
 * (apiserver/pkg/endpoints/discovery/addresses.go:DefaultAddresses.ServerAddressByClientCIDRs): the
 * list is of several servers, and a client that followed it would go around the proxy.
 */
int ek_api_write_aggregated(struct ek_buf *out, const struct ek_api_list *list,
                            const char *version);
int ek_api_write_versions(struct ek_buf *out, const struct ek_api_list *list);
int ek_api_write_group_list(struct ek_buf *out, const struct ek_api_list *list);
int ek_api_write_group(struct ek_buf *out, const struct ek_api_group *group);
int ek_api_write_resources(struct ek_buf *out, const struct ek_api_group *group,
                           const struct ek_api_version *version);

/*
 * Discovery of servers without aggregated discovery: an APIVersions or APIGroupList names the group
 * versions, and an APIResourceList is read for each. Conversion as
 * apiserver/pkg/endpoints/installer.go:ConvertGroupVersionIntoToDiscovery does it.
 */
struct ek_api_legacy;

struct ek_api_legacy *ek_api_legacy_new(void);
void ek_api_legacy_free(struct ek_api_legacy *legacy);

/* Adds an APIVersions or APIGroupList; errors EK_E_PARSE, EK_E_LIMIT. */
int ek_api_legacy_add_index(struct ek_api_legacy *legacy, yyjson_val *root, struct ek_err *err);

/* Adds an APIResourceList; errors EK_E_PARSE, EK_E_LIMIT. Resources whose group version no index
 * names are ignored. */
int ek_api_legacy_add_resources(struct ek_api_legacy *legacy, yyjson_val *root, struct ek_err *err);

/* The core group (core true) or all others as one document, one reference. Group versions without a
 * list are left out. NULL and EK_E_LIMIT when that is too large. */
struct ek_api_groups *ek_api_legacy_finish(struct ek_api_legacy *legacy, bool core,
                                           struct ek_err *err);

#endif
