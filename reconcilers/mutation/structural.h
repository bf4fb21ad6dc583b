/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defaults of custom resources, which the API server fills in after every mutation as after
 * reading. Not for those outside this folder. Source: structural schemas' defaulting
 * (apiextensions-apiserver); mutation sheet, section 5.3.
 */
#ifndef RECONCILERS_MUTATION_STRUCTURAL_H
#define RECONCILERS_MUTATION_STRUCTURAL_H

#include "api/schema/schema.h"

/*
 * Gives object, a tree in doc, the defaults that its type declares: to members that are absent, and
 * in place of nulls that may not be. What was absent in base already, the object of the request,
 * stays absent: servers have filled that in, and what a tool reads is to stay as it was written.
 * Returns 0 or EK_E_NOMEM.
 */
int ek_structural_defaults(const struct ek_schema *schema, uint32_t type, yyjson_mut_doc *doc,
                           yyjson_mut_val *object, yyjson_val *base);

#endif
