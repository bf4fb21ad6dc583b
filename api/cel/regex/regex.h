/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions in RE2's syntax, linear in time and bounded in memory: the only door to the
 * RE2 library, whose interface is C++. Texts are UTF-8. An expression is immutable and may be used
 * by any number of threads. Errors are put as Go's regexp does, where its words are known.
 */
#ifndef API_CEL_REGEX_REGEX_H
#define API_CEL_REGEX_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "api/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ek_cel_regex;

/*
 * Compiles len octets of pattern. Returns an owned expression, or NULL with err filled (EK_E_PARSE
 * with "error parsing regexp: ...", EK_E_LIMIT when it is too large, EK_E_NOMEM).
 *
 * *budget is the octets that the programs of several expressions may hold together; the call lowers
 * it by what this one takes (the smallest take nothing). Compiling takes time with the size, so a
 * budget bounds the time too: the one below is good for about a second.
 */
#define EK_CEL_REGEX_BUDGET ((size_t)32 * 1024 * 1024)
struct ek_cel_regex *ek_cel_regex_new_within(const char *pattern, size_t len, size_t *budget,
                                             struct ek_err *err);

void ek_cel_regex_free(struct ek_cel_regex *regex); /* NULL is fine */

/* True when regex matches anywhere in len octets of text. */
bool ek_cel_regex_matches(const struct ek_cel_regex *regex, const char *text, size_t len);

/* Finds the leftmost match at or after from: fills *ret_start and *ret_end (octets). */
bool ek_cel_regex_find(const struct ek_cel_regex *regex, const char *text, size_t len, size_t from,
                       size_t *ret_start, size_t *ret_end);

/* Octets that the expression holds, about. */
size_t ek_cel_regex_size(const struct ek_cel_regex *regex);

#ifdef __cplusplus
}
#endif

#endif
