/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the subject "cel": typed values out, and the world of the conformance cases in. */
#ifndef TEST_VECTORS_CEL_H
#define TEST_VECTORS_CEL_H

#include <yyjson.h>

#include "api/cel/cel.h"

/* The typed form of a value ({"int": "1"}, {"list": [...]}); doc owns it. plain_types names a
 * list's type "list" instead of "list(dyn)". */
yyjson_mut_val *ek_cel_typed(yyjson_mut_doc *doc, const struct ek_cel_val *value, bool plain_types);

/* A value written as a cel.expr.Value in JSON ({"int64_value": "1"}), in arena, borrowing from
 * json. An error value of kind 0 for what is none. */
struct ek_cel_val ek_cel_spec_value(struct ek_arena *arena, yyjson_val *json);

/* Declares what type_env holds: variables and functions without implementation. What it has to
 * keep lives in arena. Returns 0 or an error. */
int ek_cel_spec_declare(struct ek_cel_env *env, yyjson_val *type_env, struct ek_arena *arena,
                        struct ek_err *err);

#endif
