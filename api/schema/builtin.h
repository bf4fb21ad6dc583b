/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds that Kubernetes itself brings, for the versions that this program knows: their schemas
 * and the resources they are served as. For tools that work without a cluster.
 *
 * A version's schemas are one image in the program's read-only data, made when it is built from
 * api/schema/builtin (see api/schema/README.md), and are used from there: opening one allocates a
 * handle and checks the image. Constant; any thread.
 */
#ifndef API_SCHEMA_BUILTIN_H
#define API_SCHEMA_BUILTIN_H

#include "api/schema/schema.h"

/* Versions 1.33 to 1.36, without gaps. */
#define EK_BUILTIN_MINOR_MIN 33
#define EK_BUILTIN_MINOR_MAX 36

/* A resource, or a subresource ("deployments/scale"), as discovery lists it. */
struct ek_builtin_resource {
    unsigned minors; /* bit NN - EK_BUILTIN_MINOR_MIN for each 1.NN that serves it */
    const char *group, *version, *resource;
    const char *kind_group, *kind_version, *kind; /* what is sent to it: not always of its group */
    bool namespaced;
};

/* All of them, sorted by group, version and resource; *ret_n of them. */
const struct ek_builtin_resource *ek_builtin_resources(size_t *ret_n);

/* True when 1.minor serves it. */
bool ek_builtin_serves(const struct ek_builtin_resource *resource, int minor);

/* Sets *ret_schema to one reference to the schema of all built-in kinds of 1.minor. EK_E_NOENT for
 * a version that is not known, with the known ones in err; EK_E_NOMEM. */
int ek_schema_builtin_open(int minor, struct ek_schema **ret_schema, struct ek_err *err);

#endif
