/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defaults of custom resources, which the API server fills in after every mutation as after
 * reading. Source: Kubernetes 1.36,
 * apiextensions-apiserver/pkg/apiserver/schema/defaulting/algorithm.go: Default.
 */
#ifndef API_GOTYPES_STRUCTURAL_H
#define API_GOTYPES_STRUCTURAL_H

#include "api/base/work.h"
#include "api/schema/schema.h"

/*
 * Gives object, a tree in doc, the defaults that its type declares: to members that are absent, and
 * in place of nulls that may not be. What was absent in base already, the object of the request,
 * stays absent: servers have filled that in, and what a tool reads is to stay as it was written.
 * work may be NULL. Returns 0, EK_E_NOMEM, EK_E_LIMIT (depth) or EK_E_CANCELED; object is then half
 * done.
 */
int ek_structural_defaults(const struct ek_schema *schema, uint32_t type, yyjson_mut_doc *doc,
                           yyjson_mut_val *object, yyjson_val *base, struct ek_work *work);

#endif
