/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values as Go's encoding/json writes them: members sorted by name, numbers in their shortest form
 * ("1", "1.5", "1e+21"), what HTML reads as markup escaped. For errors that repeat a value, and for
 * reports. Pure.
 */
#ifndef API_DECODE_GOTEXT_H
#define API_DECODE_GOTEXT_H

#include <yyjson.h>

#include "api/base/buf.h"

/* Appends value. Returns 0 or out's error. */
int ek_go_value(yyjson_val *value, struct ek_buf *out);

/* Appends JSON that yyjson wrote, with its numbers as Go writes them: "1" for "1.0", "1e+21" for
 * "1e21". Returns 0 or out's error. Source: encoding/json/encode.go: floatEncoder.encode. */
int ek_go_numbers(const char *json, struct ek_buf *out);

#endif
