/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gates that a CRD brings along as an annotation (EK_GATES_ANNOTATION): JSON or YAML of the spec of
 * a CustomFeatureGates, one opaque string without owners of its parts. So it is only taken over
 * once, to make an object where there is none, and never fought over: an object that differs
 * counts, and is merely told so.
 *
 * Pure; any thread. Source: fieldgates sheet, section 12.
 */
#ifndef RECONCILERS_FIELDGATES_IMPORT_H
#define RECONCILERS_FIELDGATES_IMPORT_H

#include <yyjson.h>

#include "api/err.h"
#include "api/obj.h"

#define EK_GATES_IMPORT_MAX                                                                        \
    ((size_t)256 << 10) /* octets: what all annotations may have together                          \
                         */

/* Reads the annotation's text into *ret_doc, whose root is the spec; the caller frees it.
 * EK_E_PARSE and others say what is wrong with it, naming the annotation. */
int ek_gates_import_read(const char *text, yyjson_doc **ret_doc, struct ek_err *err);

/*
 * What is to be said of the annotation of crd (may be NULL) beside a CustomFeatureGates that has
 * spec: owned text, NULL for nothing. The administrator's part (enabled, failurePolicy, onDisabled)
 * may differ without a word.
 */
char *ek_gates_import_message(const struct ek_obj *crd, yyjson_val *spec);

#endif
