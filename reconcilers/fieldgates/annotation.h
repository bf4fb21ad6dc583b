/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gates that a CRD brings along as an annotation (EK_GATES_ANNOTATION): JSON or YAML of the spec of
 * a CustomFeatureGates, one opaque string without owners of its parts. So it makes an object
 * where there is none, and is never fought over. The author's part of that object (component, and
 * of each gate preRelease, default, fieldDeprecationWarning and fieldPaths) has a digest in
 * EK_GATES_IMPORTED_ANNOTATION. A later release of the annotation is followed while the object's
 * part has that digest, so that nobody else has changed the part. Otherwise the object counts, and
 * its status reports the difference. The administrator's part (enabled, failurePolicy,
 * allowRemoval, onDisabled) is kept.
 *
 * Pure; any thread. Source: README.md here.
 */
#ifndef RECONCILERS_FIELDGATES_ANNOTATION_H
#define RECONCILERS_FIELDGATES_ANNOTATION_H

#include <yyjson.h>

#include "api/base/err.h"
#include "api/obj.h"

#define EK_GATES_IMPORT_MAX                                                                        \
    ((size_t)256 << 10) /* octets: what all annotations may have together                          \
                         */

/* On a CustomFeatureGates: the digest of the author's part that was imported last. */
#define EK_GATES_IMPORTED_ANNOTATION "evenkeel.dev/imported-gates"

/* Reads the annotation's text into *ret_doc, whose root is the spec; the caller frees it.
 * EK_E_PARSE and others say what is wrong with it, naming the annotation. */
int ek_gates_import_read(const char *text, yyjson_doc **ret_doc, struct ek_err *err);

/* The content of a CustomFeatureGates with spec (the root of ek_gates_import_read), for a create; a
 * value of doc. */
yyjson_mut_val *ek_gates_import_content(yyjson_val *spec, yyjson_mut_doc *doc);

/* True when a release of the annotation is to be followed: obj (a CustomFeatureGates) is as it was
 * imported, and spec differs from the author's part of it. */
bool ek_gates_import_is_new(const struct ek_obj *obj, yyjson_val *spec);

/* The merge patch (RFC 7386) that makes obj follow spec; a value of doc. */
yyjson_mut_val *ek_gates_import_patch(const struct ek_obj *obj, yyjson_val *spec,
                                      yyjson_mut_doc *doc);

/* What is to be said of the annotation of crd (may be NULL) beside obj, a CustomFeatureGates: owned
 * text, NULL for nothing. The administrator's part may differ without a word. */
char *ek_gates_import_message(const struct ek_obj *crd, const struct ek_obj *obj);

#endif
