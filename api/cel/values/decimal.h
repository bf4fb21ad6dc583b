/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact decimal numbers of any size, for quantities that no int64 holds: a whole number in limbs of
 * nine digits, and the number of its digits behind the point. Every operation is linear in the
 * digits of its result, which are bounded by the memory of the evaluation.
 *
 * Operations keep the number of digits behind the point as gopkg.in/inf.v0 does, because the result
 * of a conversion to double depends on it. Pure but for the evaluation's arena. Not for hosts.
 */
#ifndef API_CEL_VALUES_DECIMAL_H
#define API_CEL_VALUES_DECIMAL_H

#include "api/cel/library.h"

struct ek_cel_decimal {
    const uint32_t *limbs; /* lowest first, each below 10^9, the last not 0; n 0 is zero */
    uint32_t n;
    int32_t scale; /* digits behind the point; below 0: zeros to put behind */
    bool negative; /* not for zero */
};

#define EK_CEL_DECIMAL_LIMBS 3 /* room for any int64 */

/* value * 10^-scale, in room. */
struct ek_cel_decimal ek_cel_decimal_of(int64_t value, int32_t scale,
                                        uint32_t room[EK_CEL_DECIMAL_LIMBS]);

/* All below return false without memory. */

/* Reads digits with at most one point among them. */
bool ek_cel_decimal_read(struct ek_cel_eval *eval, struct ek_str digits,
                         struct ek_cel_decimal *ret);

/* a * 2^bits; bits <= 64. */
bool ek_cel_decimal_shift(struct ek_cel_eval *eval, const struct ek_cel_decimal *a, unsigned bits,
                          struct ek_cel_decimal *ret);

/* a with scale digits behind the point, rounded away from zero. */
bool ek_cel_decimal_round(struct ek_cel_eval *eval, const struct ek_cel_decimal *a, int32_t scale,
                          struct ek_cel_decimal *ret);

/* a + b with the larger of both scales. */
bool ek_cel_decimal_add(struct ek_cel_eval *eval, const struct ek_cel_decimal *a,
                        const struct ek_cel_decimal *b, struct ek_cel_decimal *ret);

/* a divided by divisor as often as that leaves no rest, *ret_times times; a is not zero. */
bool ek_cel_decimal_strip(struct ek_cel_eval *eval, const struct ek_cel_decimal *a,
                          uint32_t divisor, struct ek_cel_decimal *ret, uint32_t *ret_times);

/* -1, 0 or 1. Makes no digits. */
int ek_cel_decimal_compare(const struct ek_cel_decimal *a, const struct ek_cel_decimal *b);

/* The digits of the whole number, without those behind the point being marked. */
uint64_t ek_cel_decimal_digits(const struct ek_cel_decimal *a);

/* Writes these digits to out, which has room for them and a NUL. */
void ek_cel_decimal_write(const struct ek_cel_decimal *a, char *out);

#endif
