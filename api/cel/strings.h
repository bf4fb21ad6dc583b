/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the string library offers to other parts of the engine. Not for hosts.
 */
#ifndef API_CEL_STRINGS_H
#define API_CEL_STRINGS_H

#include "api/cel/ast.h"

/*
 * Checks a call of `format` on a constant string whose argument is a list literal, as far as types
 * known before evaluation allow: args are the nodes of the list's n items, with their checked types
 * in node->type. Returns true when nothing is wrong; else writes what the reference says of it,
 * without its prefix "<input>:line:column: ", into message (one line, cut to size). *ret_arg is the
 * item that it is about, or -1 when it is about the format string.
 *
 * Source: cel-go 0.26, ext/formatting.go, the validator of constant format strings.
 */
bool ek_cel_format_check(const char *format, size_t len, struct ek_cel_node *const *args,
                         uint32_t n, char *message, size_t size, int *ret_arg);

#endif
