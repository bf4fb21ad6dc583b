/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schemas of the kinds that policies match, as the API server publishes them.
 *
 * An API server lists its OpenAPI v3 documents, one for each group version, with a hash of each
 * (GET /openapi/v3). The list is requested periodically. A required document is fetched when its
 * hash is new, and compiled on the thread pool of libuv. The documents include the schemas of
 * CustomResourceDefinitions. A schema is kept until another version of its document replaces it,
 * also if a list does not have the document: on a control plane of mixed versions, the list may be
 * from an API server that does not serve the group version.
 *
 * Threading: the loop thread; changed is called from the loop.
 */
#ifndef CONTROLLER_MUTATION_SCHEMAS_H
#define CONTROLLER_MUTATION_SCHEMAS_H

#include <uv.h>

#include "api/schema/schema.h"
#include "informers/client/client.h"
#include "reconcilers/mutation/needs.h"

#define EK_MUTATION_SCHEMAS_MAX 512 /* documents that are kept */

struct ek_mutation_schemas;

/* changed is called when a schema is new or has changed. No request precedes the first
 * ek_mutation_schemas_want. */
struct ek_mutation_schemas *ek_mutation_schemas_new(uv_loop_t *loop, struct ek_client *client,
                                                    void (*changed)(void *ctx), void *ctx);

/* Sets the required schemas, all of them; strings are copied. Missing ones are requested at
 * once. */
void ek_mutation_schemas_want(struct ek_mutation_schemas *schemas,
                              const struct ek_schema_want *wants, size_t n);

/* Calls fn with each schema that was compiled. */
void ek_mutation_schemas_each(const struct ek_mutation_schemas *schemas,
                              void (*fn)(void *ctx, const char *group, const char *version,
                                         const struct ek_schema *schema),
                              void *ctx);

/* Increases when a schema is added or replaced. Conclusions from all schemas hold while the version
 * is the same. */
unsigned long ek_mutation_schemas_version(const struct ek_mutation_schemas *schemas);

/* True when all required schemas that the API server publishes were compiled. */
bool ek_mutation_schemas_are_settled(const struct ek_mutation_schemas *schemas);

/* Why schemas are missing, "" for nothing; borrowed. */
const char *ek_mutation_schemas_error(const struct ek_mutation_schemas *schemas);

/* Stops all requests and releases schemas; on_closed is called from the loop afterwards. */
void ek_mutation_schemas_close(struct ek_mutation_schemas *schemas, void (*on_closed)(void *ctx),
                               void *ctx);

#endif
