/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of fields in expressions: a field whose name is no identifier of CEL, or is a word that CEL
 * reserves, is written in another form (Kubernetes 1.36, apiserver/pkg/cel/escaping.go: Escape).
 */
#ifndef API_CEL_TEXT_FIELD_H
#define API_CEL_TEXT_FIELD_H

#include "api/base/arena.h"
#include "api/base/buf.h"

/*
 * The form of a field's name in expressions: "a-b" is a__dash__b, "in" is __in__. NULL for a name
 * that expressions cannot have. name is borrowed and need not end in a NUL; the result is of the
 * arena and ends in one. Any thread.
 */
const char *ek_cel_escaped_name(struct ek_str name, struct ek_arena *arena);

#endif
