/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of an object that a recording contains: the members that the skew reconciler reads. The
 * list has the allowed members, so that a member that is not in the list is left out. A recording
 * has names, labels, addresses, images and versions. A recording does not have environments,
 * volumes, annotations of others, managed fields, and the values of flags that are not read. Pure.
 */
#ifndef CONTROLLER_COMMANDS_RECORD_STRIP_H
#define CONTROLLER_COMMANDS_RECORD_STRIP_H

#include "api/obj.h"

/* Returns the part of obj for a recording, as a value of doc. Of a kind that is not in the list,
 * the part is the metadata alone. Strings are copied. */
yyjson_mut_val *ek_record_strip(yyjson_mut_doc *doc, const struct ek_obj *obj);

#endif
