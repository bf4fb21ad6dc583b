/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three patches that list changes of a document: JSON merge patch (RFC 7386), JSON patch (RFC
 * 6902) and, as far as kubectl sends it for the built-in kinds, strategic merge patch. Server-side
 * apply is managed.h. Pure.
 */
#ifndef TEST_APISERVER_PATCH_H
#define TEST_APISERVER_PATCH_H

#include "api/base/err.h"
#include "test/apiserver/fieldset.h"

/* Returns target changed by a merge patch, as a new value of doc. */
yyjson_mut_val *ek_patch_merge(yyjson_mut_doc *doc, yyjson_mut_val *target, yyjson_mut_val *patch);

/* As ek_patch_merge, but keyed lists merge by item; understands $patch: delete and replace,
 * $deleteFromPrimitiveList and $retainKeys, and ignores $setElementOrder. */
yyjson_mut_val *ek_patch_strategic(yyjson_mut_doc *doc, yyjson_mut_val *target,
                                   yyjson_mut_val *patch, struct ek_schema_at at);

/* Carries out the operations of a JSON patch on a copy of target. Returns NULL with err when one is
 * malformed (EK_E_PARSE) or does not apply (EK_E_INVAL), a failed "test" included. */
yyjson_mut_val *ek_patch_json(yyjson_mut_doc *doc, yyjson_mut_val *target, yyjson_mut_val *patch,
                              struct ek_err *err);

#endif
