/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as text, the way Go's strconv reads and writes them. Exact, and the same in any locale.
 *
 * Texts are octets with a length, not NUL-terminated. Pure; any thread. Sources: Go's strconv
 * documentation (ParseFloat, ParseInt, ParseBool, FormatFloat); cel-go 0.26, common/types.
 */
#ifndef API_CEL_TEXT_NUMBER_H
#define API_CEL_TEXT_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The fewest digits that identify a finite number, and of these the digits closest to the number:
 * 0.d1d2d3... times ten to the power of point. */
struct ek_cel_digits {
    bool negative;
    int n; /* at least 1: zero is the digit 0 with point 1 */
    int point;
    char d[20]; /* '0' to '9' */
};

void ek_cel_digits_of(double d, struct ek_cel_digits *ret);

/* Room for any text below, with its NUL. */
#define EK_CEL_DOUBLE_TEXT_MAX 352

/*
 * Write a number into out (EK_CEL_DOUBLE_TEXT_MAX) with a NUL and return the octets before it.
 * NaN and infinities are "NaN", "+Inf" and "-Inf".
 */
size_t ek_cel_double_g(double d, char *out); /* %g with the shortest digits: "1e+06", "0.1" */
size_t ek_cel_double_f(double d, char *out); /* %f with the shortest digits: "1000000", "0.1" */

/* Read a whole text; false when it is not of the form or out of range. Signs are allowed where
 * the type has them; ints have no spaces, underscores or prefixes. */
bool ek_cel_parse_int(const char *s, size_t len, int64_t *ret);
bool ek_cel_parse_uint(const char *s, size_t len, uint64_t *ret);
/* Also hexadecimal ("0x1p-2"), with underscores between digits, "inf", "Infinity" and "nan". */
bool ek_cel_parse_double(const char *s, size_t len, double *ret);
/* 1 t T TRUE true True, 0 f F FALSE false False. */
bool ek_cel_parse_bool(const char *s, size_t len, bool *ret);

#endif
