/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the expressions of policies that behave Extended evaluate to, as patches. Not for those
 * outside this folder.
 *
 * Beyond in-tree behaviour (patch_value.h) every value that JSON has a form for is converted,
 * nested as it may be, and a patch may take away:
 *
 *   ?name: optional.none()    in an Object or a map: the member goes. Without `?` it does too
 *   objects.remove(item)      in a list: of a set, the item equal to it; of a list with keys, the
 *                             item with the same key (other fields are not looked at)
 *
 * Both are values, so that conditions, loops and variables may make them. What only takes away sets
 * nothing: no empty map or list is made around it, and an item of a list that has, apart from its
 * keys, only such parts is not added when it is not there. Within something atomic that is set as a
 * whole, what is left out is simply not there.
 *
 * Source: KEP-3962, "Unsetting values", with removals as values;
 * objects.remove is what that text proposes for lists with keys.
 */
#ifndef RECONCILERS_MUTATION_EXTENDED_H
#define RECONCILERS_MUTATION_EXTENDED_H

#include "api/base/arena.h"
#include "api/cel/cel.h"
#include "api/schema/merge.h"

/*
 * Makes, in doc and arena, the patch that value, an Object or a map, is for objects of type.
 * Returns 0; EK_E_INVAL with err filled for keys that are no strings, values without a form in
 * JSON, and objects.remove where no item can be meant; EK_E_LIMIT for what nests too deeply;
 * EK_E_CANCELED when the work (may be NULL) is over; EK_E_NOMEM.
 */
int ek_extended_patch(const struct ek_cel_val *value, const struct ek_schema *schema, uint32_t type,
                      yyjson_mut_doc *doc, struct ek_arena *arena, struct ek_work *work,
                      struct ek_merge_patch *ret, struct ek_err *err);

#endif
