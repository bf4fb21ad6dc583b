/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording keeps of an object: the members that the skew reconciler reads, by a list of
 * what may stay, so that a member that nobody thought of is left out. Names, labels, addresses,
 * images and versions stay. Environments, volumes, annotations of others, managed fields and the
 * values of other flags than those that are read are left out. Pure.
 */
#ifndef CONTROLLER_COMMANDS_RECORD_STRIP_H
#define CONTROLLER_COMMANDS_RECORD_STRIP_H

#include "api/obj.h"

/* Returns what a recording keeps of obj, as a value of doc: of a kind that is not listed, the
 * metadata alone. Strings are copied. */
yyjson_mut_val *ek_record_strip(yyjson_mut_doc *doc, const struct ek_obj *obj);

#endif
