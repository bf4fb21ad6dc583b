/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an API server refuses in the metadata of an object that is created, of whatever kind.
 * Source: apimachinery 1.36, pkg/api/validation/objectmeta.go: ValidateObjectMetaAccessor, whose
 * texts are kept. Pure.
 *
 * path is that of the metadata in errors: "metadata". metadata is borrowed; NULL has no members.
 */
#ifndef API_OBJECTMETA_H
#define API_OBJECTMETA_H

#include "api/fielderr.h"
#include "api/names.h"

/* The name and the generateName of an object whose names have that format. */
void ek_validate_object_name(struct ek_field_errors *errors, yyjson_val *metadata,
                             enum ek_name_format format, const char *path);

/* Labels, annotations, owners and finalizers. Not checked: that one owner at most is the
 * controller, and which finalizers exclude each other. */
void ek_validate_object_meta(struct ek_field_errors *errors, yyjson_val *metadata,
                             const char *path);

#endif
