/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of code points in Go's regular expressions: [a-z], \d, \p{Greek}, [[:alpha:]], and the
 * escapes of single ones. Part of the translation (api/cel/regex/syntax.h). Pure.
 *
 * The functions that return int read text from *at, which ends at end, and move *at behind the
 * text that they have read. Those with out append the same set in RE2's syntax. They return 0, or
 * EK_E_PARSE with err filled.
 */
#ifndef API_CEL_REGEX_CLASS_H
#define API_CEL_REGEX_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/base/buf.h"
#include "api/base/err.h"

static inline bool ek_cel_regex_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Appends a pattern that matches rune alone: operators and blanks are escaped. */
void ek_cel_regex_put_rune(struct ek_buf *out, uint32_t rune);

/* Reads an escape of one code point, such as \n, \. or \x{1F600}, into *ret. */
int ek_cel_regex_escape(const char **at, const char *end, uint32_t *ret, struct ek_err *err);

/* Reads \d, \pL or another named set. bracketed: out is within a bracket expression, where the set
 * gets no brackets of its own. Returns EK_E_NOENT when no named set begins at *at. */
int ek_cel_regex_set(const char **at, const char *end, bool bracketed, struct ek_buf *out,
                     struct ek_err *err);

/* Reads a bracket expression, such as [a-z] or [^[:alpha:]\d]. */
int ek_cel_regex_class(const char **at, const char *end, struct ek_buf *out, struct ek_err *err);

#endif
