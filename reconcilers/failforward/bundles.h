/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CustomResourceDefinitions that the bundles of a file-based catalog bring: the properties
 * olm.bundle.object of blobs of the schema olm.bundle (operator-registry
 * alpha/property/property.go:BundleObject). A catalog that was rendered without objects, or from
 * olm.csv.metadata, does not have them. And how far the edges of a catalog lead.
 *
 * Pure; one thread.
 */
#ifndef RECONCILERS_FAILFORWARD_BUNDLES_H
#define RECONCILERS_FAILFORWARD_BUNDLES_H

#include <yyjson.h>

#include "reconcilers/failforward/graph.h"

struct ek_ff_bundles;

/* Reads the text of a catalog, as ek_ff_graph_read; *ret_bundles is owned. EK_E_PARSE, EK_E_LIMIT
 * (text and objects together are larger than limit octets), EK_E_NOMEM. */
int ek_ff_bundles_read(const char *text, size_t len, size_t limit,
                       struct ek_ff_bundles **ret_bundles, struct ek_err *err);

/* NULL is fine. */
void ek_ff_bundles_free(struct ek_ff_bundles *bundles);

/* What is known of a bundle. */
struct ek_ff_bundle {
    const char *package, *name;
    const char *unknown;            /* why the definitions are not known; NULL: they are */
    yyjson_val *const *definitions; /* of apiextensions.k8s.io/v1; n_definitions of them */
    size_t n_definitions;
};

/* The bundle of a package; NULL: the catalog has none of that name. Borrowed. */
const struct ek_ff_bundle *ek_ff_bundles_find(const struct ek_ff_bundles *bundles,
                                              const char *package, const char *name);

/* The versions that an operator passes through, in order: EK_FF_HOPS_MAX of them at most. */
#define EK_FF_HOPS_MAX 64
struct ek_ff_route {
    struct ek_ff_answer first; /* the answer from the installed version */
    const char *hops[EK_FF_HOPS_MAX];
    size_t n;
    bool is_cut; /* there are more */
};

/*
 * Follows the edges that OLM prefers from an installed version to the end. Strings are borrowed
 * from the graph. EK_E_NOMEM. Of each hop the catalog's version counts.
 */
int ek_ff_route_find(const struct ek_ff_graph *graph, const struct ek_ff_from *from,
                     struct ek_ff_route *ret_route);

/* A stored version of the definition that exists which definition drops: NULL for none. stored is
 * status.storedVersions; OLM and API servers refuse the change
 * (operator-lifecycle-manager pkg/lib/crd/storage.go:SafeStorageVersionUpgrade at 992bb097). */
const char *ek_ff_lost_version(yyjson_val *stored, yyjson_val *definition);

/* Whether a version of a definition is served. */
bool ek_ff_serves(yyjson_val *definition, const char *version);

#endif
