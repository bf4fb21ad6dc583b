/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the string library offers to other parts of the engine. Not for hosts.
 */
#ifndef API_CEL_LIB_STRINGS_H
#define API_CEL_LIB_STRINGS_H

#include "api/cel/library.h"
#include "api/cel/syntax/ast.h"

/* Appends len octets between double quotes, as Go's %q does. */
void ek_cel_text_quote(struct ek_cel_text *text, const char *s, size_t len);

/* Appends len octets that may be no UTF-8: what is none reads as U+FFFD, one for each octet. */
void ek_cel_text_lossy(struct ek_cel_text *text, const char *s, size_t len);

/*
 * The two implementations of format. Up to version 3 of the library, numbers have the format of the
 * locale en-US ("1,234.5", and powers of ten as superscripts); from version 4 on, they have the
 * format of the specification.
 */
#define EK_CEL_FORMAT_ID           "string_format"
#define EK_CEL_FORMAT_SPEC_VERSION 4
struct ek_cel_val ek_cel_format_localized(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                          uint32_t n);
struct ek_cel_val ek_cel_format_spec(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                     uint32_t n);

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
