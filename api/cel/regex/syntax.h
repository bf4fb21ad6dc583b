/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions as Go writes them, put in the words of RE2.
 *
 * The two share a syntax but for details: which errors there are and what they say, (?<name>x),
 * \C, the names that \p{...} takes, groups that share a name. A pattern is read as Go reads it and
 * written so that any version of RE2 means the same by it. Groups lose their numbers: callers need
 * only the place of the whole match. Pure. Source: Go 1.26, regexp/syntax.
 */
#ifndef API_CEL_REGEX_SYNTAX_H
#define API_CEL_REGEX_SYNTAX_H

#include "api/base/buf.h"
#include "api/base/err.h"

/* Longer patterns are refused. */
#define EK_CEL_REGEX_MAX ((size_t)256 * 1024)

/* Ranges of code points that the sets of Unicode in a pattern may come to, about: \pL has 650. RE2
 * holds each occurrence by itself while it reads, 50 octets per range, and before it looks at any
 * limit. More than half as many again do not fit its program. Go's own limit is 17 million. */
#define EK_CEL_REGEX_RANGES_MAX 1000000u

/* Reads len octets of valid UTF-8 and appends RE2's words for them to out. Returns 0, EK_E_PARSE
 * with "error parsing regexp: ...", EK_E_LIMIT or EK_E_NOMEM. */
int ek_cel_regex_translate(const char *pattern, size_t len, struct ek_buf *out, struct ek_err *err);

/* Octets that a translation takes at most. */
size_t ek_cel_regex_translated_max(size_t len);

/* Fills err with Go's text for a fault in what (len octets, cut when long); returns code. */
int ek_cel_regex_fault(struct ek_err *err, int code, const char *fault, const char *what,
                       size_t len);

#endif
