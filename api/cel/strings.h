/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the string library offers to other parts of the engine. Not for hosts.
 */
#ifndef API_CEL_STRINGS_H
#define API_CEL_STRINGS_H

#include "api/cel/ast.h"

/*
 * Checks call, a checked call of a function named "format": when it is the one of this library on a
 * constant string with a list literal, the clauses must suit the items as far as their types are
 * known. Returns true when nothing is wrong; else writes what the reference says of it (one line,
 * cut to size) into message, and *ret_node is the node that it is reported at.
 *
 * Source: cel-go 0.26, ext/formatting.go, the validator of constant format strings.
 */
bool ek_cel_format_check(const struct ek_cel_node *call, char *message, size_t size,
                         const struct ek_cel_node **ret_node);

#endif
