/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A catalog as a registry serves it: api.Registry of operator-registry (pkg/api/registry.proto),
 * from a file-based catalog with its objects inline (olm.bundle.object). No bundle has a path, so
 * OLM takes the objects and starts no job that unpacks an image.
 */
#ifndef TEST_REGISTRY_CATALOG_H
#define TEST_REGISTRY_CATALOG_H

#include <yyjson.h>

#include "test/registry/h2.h"

struct ek_catalog;

/* Reads a catalog of one JSON object on each line. NULL with a message on standard error. */
struct ek_catalog *ek_catalog_parse(const char *text, size_t len);
void ek_catalog_free(struct ek_catalog *catalog);

/* Answers a request for the catalog in ctx: an ek_h2_fn. */
void ek_catalog_serve(void *ctx, const char *path, struct ek_str body, struct ek_h2_reply *reply);

#endif
