/* SPDX-License-Identifier: Apache-2.0 */
/* The manifests that a path names: a file, a folder with all below it, the standard input. */
#ifndef CONTROLLER_MANIFESTS_FILES_H
#define CONTROLLER_MANIFESTS_FILES_H

#include <yyjson.h>

#include "api/base/err.h"

/* Handles a file; shown is its name for messages. Returns 0 or an error, which ends the walk. */
typedef int (*ek_manifest_fn)(void *ctx, const char *path, const char *shown, struct ek_err *err);

/*
 * Calls fn for the file path, whatever its name, or for the files of the folder path that end in
 * .yaml, .yml or .json, in the order of their names, folders within included; "-" is the standard
 * input. Returns 0, the error of fn, EK_E_INVAL or EK_E_IO for a folder that cannot be read, or
 * EK_E_LIMIT for a folder with more than 10,000 entries.
 */
int ek_manifests_each(const char *path, ek_manifest_fn fn, void *ctx, struct ek_err *err);

/*
 * An item of a typed list may lack apiVersion and kind, which follow from the list
 * (apimachinery/pkg/apis/meta/v1/unstructured/unstructured.go: decodeToList). list has a kind that
 * ends in "List". Returns the item with both, owned, or NULL for an item that is used as it is.
 */
yyjson_doc *ek_manifest_item(yyjson_val *list, yyjson_val *item);

#endif
