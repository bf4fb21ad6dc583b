/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of string.format share: its clauses, and how numbers are written. Not for hosts.
 *
 * There are two ways to write (api/cel/lib/strings.h): localized, and as the specification says.
 */
#ifndef API_CEL_LIB_FORMAT_H
#define API_CEL_LIB_FORMAT_H

#include "api/cel/library.h"

/* What follows a percent sign. */
struct ek_cel_clause {
    char verb; /* one of sdfebxXo */
    bool has_precision;
    int64_t precision; /* at least 0 */
    size_t len;        /* octets, without the percent sign */
};

/* Reads the clause at s; len is not 0. False with a message of what is wrong. */
bool ek_cel_clause_read(const char *s, size_t len, struct ek_cel_clause *ret, char *message,
                        size_t size);

/* What is said when a value's type does not suit verb; the type's name is to follow. */
const char *ek_cel_clause_complaint(char verb, bool spec);

/* Append a number by a clause f or e. */
void ek_cel_fixed_localized(struct ek_cel_text *out, double d, const struct ek_cel_clause *clause);
void ek_cel_scientific_localized(struct ek_cel_text *out, double d,
                                 const struct ek_cel_clause *clause);
void ek_cel_fixed_spec(struct ek_cel_text *out, const struct ek_cel_val *number,
                       const struct ek_cel_clause *clause);
void ek_cel_scientific_spec(struct ek_cel_text *out, const struct ek_cel_val *number,
                            const struct ek_cel_clause *clause);

/* Appends a double as decimals with the fewest digits that identify it: "Infinity", "NaN". */
void ek_cel_decimal_spec(struct ek_cel_text *out, double d);

/* Appends a double with six decimals and nothing else: "+Inf", "NaN". */
void ek_cel_fixed_plain(struct ek_cel_text *out, double d);

#endif
