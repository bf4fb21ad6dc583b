/* SPDX-License-Identifier: Apache-2.0 */
/* What the subjects of discovery share. */
#ifndef TEST_VECTORS_DISCOVERY_H
#define TEST_VECTORS_DISCOVERY_H

#include "reconcilers/peers/merge.h"
#include "test/vectors/vectors.h"

/* The document with a list of groups as its items; NULL, after a line on stderr, for a bad one. */
struct ek_api_groups *ek_vectors_groups(yyjson_val *list);

/* A list of group versions, sorted, without those that are none ("a/b/c"). Borrows the names. */
struct ek_exclusions ek_vectors_exclusions(yyjson_val *list, struct ek_arena *arena);

/* The groups as JSON, an absent list as an empty one. */
yyjson_mut_val *ek_vectors_list(yyjson_mut_doc *doc, struct ek_api_list list);

#endif
