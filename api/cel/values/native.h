/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Go values behind CEL values, as Go's fmt package prints them: API servers put their types and
 * texts into error messages. What Go prints as an address stays out of the texts here. Pure.
 * Sources: cel-go's common/types, Kubernetes' CEL libraries, Go's fmt and time documentation.
 */
#ifndef API_CEL_VALUES_NATIVE_H
#define API_CEL_VALUES_NATIVE_H

#include "api/cel/cel.h"

/* The type, as the verb T prints it ("int64", "[]ref.Val", "*resource.Quantity"). Static, or as
 * long-lived as value. */
const char *ek_cel_native_type(const struct ek_cel_val *value);

/* Append the value as the verbs v and #v print it: "[x 1h0m0s]", `[]ref.Val{"x", 3600000000000}`.
 * Beyond EK_CEL_VALUE_DEPTH_MAX levels "..." is written. */
void ek_cel_native_text(const struct ek_cel_val *value, struct ek_buf *out);
void ek_cel_native_syntax(const struct ek_cel_val *value, struct ek_buf *out);

/* How Kubernetes' types call themselves in errors of conversion: "Quantity", "URL"; the name of
 * the CEL type for others. */
const char *ek_cel_native_name(const struct ek_cel_val *value);

/* Fills err with the error of a map key that is not a string
 * (apiserver/pkg/cel/mutation/dynamic/objects.go: convertField). */
void ek_cel_native_key_error(const struct ek_cel_val *key, struct ek_err *err);

#endif
