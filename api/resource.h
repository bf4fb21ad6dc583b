/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of a resource, and which of its objects are meant: what an informer watches, and what a
 * write goes to. Pure data; every string is borrowed. Threading: none.
 */
#ifndef API_RESOURCE_H
#define API_RESOURCE_H

#include <stdbool.h>

struct ek_resource {
    const char *group;          /* "" for core */
    const char *version;        /* "v1" */
    const char *resource;       /* plural, "leases" */
    const char *kind;           /* "Lease": list items come without it */
    const char *namespace;      /* "" or NULL for all, or for cluster-scoped resources */
    const char *label_selector; /* NULL for none */
    const char *field_selector; /* NULL for none */
    bool metadata_only; /* the API server is requested to leave out all but the metadata, and kind
                           and apiVersion with the rest (PartialObjectMetadata) */
    bool optional;      /* served by some clusters only: while the API server answers 404 the
                           informer counts as synced and empty, and tries again every minute */
};

#endif
