/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of subresources that no OpenAPI document of their group version declares: scales, and the
 * options of connections to nodes, pods and services. Nothing can be applied to them, but a JSON
 * Patch is decoded as strictly as any other. Not for those outside this folder.
 */
#ifndef API_GOTYPES_UNDECLARED_H
#define API_GOTYPES_UNDECLARED_H

#include "api/admission.h"
#include "api/schema/schema.h"

/* Makes the schema of such a kind: an owned reference, and the type in *ret_type. NULL with *ret_rc
 * 0 for all other kinds, or EK_E_NOMEM. */
struct ek_schema *ek_undeclared_schema(const struct ek_gvk *kind, uint32_t *ret_type, int *ret_rc);

#endif
