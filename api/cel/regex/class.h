/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of code points in Go's regular expressions: [a-z], \d, \p{Greek}, [[:alpha:]], and the
 * escapes of single ones. Part of the translation (api/cel/regex/syntax.h). Pure.
 *
 * Each reads at *at, moves *at behind what it has read and appends RE2's words for it to out.
 * They return 0, or EK_E_PARSE with err filled.
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

/* Writes a code point so that it stands for itself. */
void ek_cel_regex_put_rune(struct ek_buf *out, uint32_t rune);

/* A backslash and what follows, where that names one code point. */
int ek_cel_regex_escape(const char **at, const char *end, uint32_t *ret, struct ek_err *err);

/* \d, \pL and the like, written to stand in a bracket or on their own. EK_E_NOENT when *at is
 * none of them. */
int ek_cel_regex_set(const char **at, const char *end, bool bracketed, struct ek_buf *out,
                     struct ek_err *err);

/* A class in brackets. */
int ek_cel_regex_class(const char **at, const char *end, struct ek_buf *out, struct ek_err *err);

#endif
