/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defaults of built-in kinds as the API server's defaulting functions give them, which run after
 * every mutation: what a later mutation finds in a container that an earlier one added. OpenAPI
 * documents declare few of them. Covered are the kinds that policies are written for (workloads,
 * services, storage, RBAC and configuration), of Kubernetes 1.36. What is missing here the server
 * adds all the same, after us. Pure, any thread. Not for those outside this folder.
 */
#ifndef API_GOTYPES_BUILTIN_DEFAULTS_H
#define API_GOTYPES_BUILTIN_DEFAULTS_H

#include <yyjson.h>

#include "api/base/buf.h"
#include "api/base/err.h"

/*
 * Sets *ret to the default of a field of a struct by its Go name ("Container"), made in doc, where
 * object is what there is of the struct so far; NULL when it has none. Returns 0 or EK_E_NOMEM.
 */
int ek_builtin_default(struct ek_str owner, struct ek_str field, yyjson_mut_val *object,
                       yyjson_mut_doc *doc, yyjson_mut_val **ret);

/* True for fields whose default depends on another one, so that it may come to structs that were
 * there before. */
bool ek_builtin_default_follows(struct ek_str owner, struct ek_str field);

/* True for fields that are ports by number or name, whose zero is no port and makes room for the
 * default. */
bool ek_builtin_default_replaces(struct ek_str owner, struct ek_str field);

#endif
