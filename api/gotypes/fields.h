/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the OpenAPI documents leave out of Kubernetes' API structs: which optional fields are
 * written when they are zero, and how strings with a type of their own are called. Names of structs
 * and fields are those of the documents ("DeploymentSpec", "minReadySeconds"); covered are the
 * groups' v1 and v2 of Kubernetes 1.36. Pure, any thread. Not for those outside this folder.
 */
#ifndef API_GOTYPES_FIELDS_H
#define API_GOTYPES_FIELDS_H

#include <stdbool.h>

#include "api/base/buf.h"

/* True for optional strings whose "" survives being read and written: pointers. Others vanish. */
bool ek_go_keeps_empty_string(struct ek_str owner, struct ek_str field);

/* True for optional numbers and booleans whose zero vanishes: those that are no pointers. */
bool ek_go_drops_zero(struct ek_str owner, struct ek_str field);

/* True for optional lists that are null where they are not set, and [] where they are empty. */
bool ek_go_writes_null(struct ek_str owner, struct ek_str field);

/* The name of a string's type, "PullPolicy", with its package where that is not the struct's own,
 * "v1.Protocol"; NULL for a plain string. */
const char *ek_go_string_type(struct ek_str owner, struct ek_str field);

#endif
