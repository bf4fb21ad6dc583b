/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/values/decimal.h"

#include <stdio.h>
#include <string.h>

#define BASE        1000000000u
#define BASE_DIGITS 9u

static const uint32_t powers[BASE_DIGITS] = {1,      10,      100,      1000,     10000,
                                             100000, 1000000, 10000000, 100000000};

static uint32_t *make_limbs(struct ek_cel_eval *eval, uint64_t n)
{
    return n > UINT32_MAX ? NULL : ek_cel_alloc(eval, (size_t)(n ? n : 1) * sizeof(uint32_t));
}

/* The number that n limbs hold, some of the highest of which may be 0. */
static struct ek_cel_decimal finish(const uint32_t *limbs, uint64_t n, int32_t scale, bool negative)
{
    while (n > 0 && limbs[n - 1] == 0)
        n--;
    return (struct ek_cel_decimal){limbs, (uint32_t)n, scale, negative && n > 0};
}

struct ek_cel_decimal ek_cel_decimal_of(int64_t value, int32_t scale,
                                        uint32_t room[EK_CEL_DECIMAL_LIMBS])
{
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    for (size_t i = 0; i < EK_CEL_DECIMAL_LIMBS; i++) {
        room[i] = (uint32_t)(left % BASE);
        left /= BASE;
    }
    return finish(room, EK_CEL_DECIMAL_LIMBS, scale, value < 0);
}

bool ek_cel_decimal_read(struct ek_cel_eval *eval, struct ek_str digits, struct ek_cel_decimal *ret)
{
    uint64_t n = digits.len / BASE_DIGITS + 1, count = 0;
    uint32_t *limbs = make_limbs(eval, n);
    int32_t scale = 0;

    if (!limbs)
        return false;
    memset(limbs, 0, n * sizeof *limbs);
    for (size_t i = digits.len; i > 0; i--) {
        char c = digits.p[i - 1];
        if (c == '.') {
            scale = (int32_t)count;
            continue;
        }
        limbs[count / BASE_DIGITS] += (uint32_t)(c - '0') * powers[count % BASE_DIGITS];
        count++;
    }
    *ret = finish(limbs, n, scale, false);
    return true;
}

/* limbs[0..n] = a * factor; n limbs are read and n + 1 written. */
static void multiply(const uint32_t *a, uint64_t n, uint32_t factor, uint32_t *limbs)
{
    uint64_t carry = 0;

    for (uint64_t i = 0; i < n; i++) {
        carry += (uint64_t)a[i] * factor;
        limbs[i] = (uint32_t)(carry % BASE);
        carry /= BASE;
    }
    limbs[n] = (uint32_t)carry;
}

bool ek_cel_decimal_shift(struct ek_cel_eval *eval, const struct ek_cel_decimal *a, unsigned bits,
                          struct ek_cel_decimal *ret)
{
    uint64_t n = a->n;
    uint32_t *limbs = make_limbs(eval, n + 4);

    if (!limbs)
        return false;
    if (n)
        memcpy(limbs, a->limbs, n * sizeof *limbs);
    while (bits > 0) {
        unsigned step = bits < 29 ? bits : 29;
        multiply(limbs, n, (uint32_t)1 << step, limbs);
        n += limbs[n] != 0;
        bits -= step;
    }
    *ret = finish(limbs, n, a->scale, a->negative);
    return true;
}

/* a * 10^more with more digits behind the point: the same number. */
static bool add_digits(struct ek_cel_eval *eval, const struct ek_cel_decimal *a, uint64_t more,
                       int32_t scale, struct ek_cel_decimal *ret)
{
    uint64_t zeros = a->n ? more / BASE_DIGITS : 0, n = a->n + zeros + 1;
    uint32_t *limbs = make_limbs(eval, n);

    if (!limbs)
        return false;
    memset(limbs, 0, (size_t)zeros * sizeof *limbs);
    multiply(a->limbs, a->n, powers[more % BASE_DIGITS], limbs + zeros);
    *ret = finish(limbs, n, scale, a->negative);
    return true;
}

/* limbs[0..n-1] = a / divisor; returns the rest. */
static uint32_t divide(const uint32_t *a, uint64_t n, uint32_t divisor, uint32_t *limbs)
{
    uint64_t rest = 0;

    for (uint64_t i = n; i > 0; i--) {
        rest = rest * BASE + a[i - 1];
        limbs[i - 1] = (uint32_t)(rest / divisor);
        rest %= divisor;
    }
    return (uint32_t)rest;
}

/* Takes less digits off the end, rounding away from zero. */
static bool drop_digits(struct ek_cel_eval *eval, const struct ek_cel_decimal *a, uint64_t less,
                        int32_t scale, struct ek_cel_decimal *ret)
{
    uint64_t gone = less / BASE_DIGITS < a->n ? less / BASE_DIGITS : a->n, n = a->n - gone;
    uint32_t *limbs = make_limbs(eval, n + 1);
    bool rest = false;

    if (!limbs)
        return false;
    for (uint64_t i = 0; i < gone && !rest; i++)
        rest = a->limbs[i] != 0;
    rest |= divide(a->limbs + gone, n, powers[less % BASE_DIGITS], limbs) != 0;
    limbs[n] = 0;
    for (uint64_t i = 0; rest; i++) {
        limbs[i] = limbs[i] + 1 == BASE ? 0 : limbs[i] + 1;
        rest = limbs[i] == 0;
    }
    *ret = finish(limbs, n + 1, scale, a->negative);
    return true;
}

bool ek_cel_decimal_round(struct ek_cel_eval *eval, const struct ek_cel_decimal *a, int32_t scale,
                          struct ek_cel_decimal *ret)
{
    int64_t more = (int64_t)scale - a->scale;

    return more >= 0 ? add_digits(eval, a, (uint64_t)more, scale, ret)
                     : drop_digits(eval, a, (uint64_t)-more, scale, ret);
}

/* -1, 0 or 1 for whole numbers without their signs. */
static int compare_limbs(const struct ek_cel_decimal *a, const struct ek_cel_decimal *b)
{
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (uint64_t i = a->n; i > 0; i--)
        if (a->limbs[i - 1] != b->limbs[i - 1])
            return a->limbs[i - 1] < b->limbs[i - 1] ? -1 : 1;
    return 0;
}

/* limbs[0..a->n] = a + b, or a - b, by size; a is not the smaller. */
static void combine(const struct ek_cel_decimal *a, const struct ek_cel_decimal *b, bool subtract,
                    uint32_t *limbs)
{
    int64_t carry = 0;

    for (uint64_t i = 0; i < a->n; i++) {
        int64_t other = i < b->n ? b->limbs[i] : 0;
        carry += a->limbs[i] + (subtract ? -other : other);
        int64_t limb = carry < 0 ? carry + BASE : carry >= (int64_t)BASE ? carry - BASE : carry;
        limbs[i] = (uint32_t)limb;
        carry = carry < 0 ? -1 : carry >= (int64_t)BASE ? 1 : 0;
    }
    limbs[a->n] = (uint32_t)carry;
}

bool ek_cel_decimal_add(struct ek_cel_eval *eval, const struct ek_cel_decimal *a,
                        const struct ek_cel_decimal *b, struct ek_cel_decimal *ret)
{
    struct ek_cel_decimal scaled;

    if (a->scale < b->scale) {
        if (!ek_cel_decimal_round(eval, a, b->scale, &scaled))
            return false;
        a = &scaled;
    } else if (b->scale < a->scale) {
        if (!ek_cel_decimal_round(eval, b, a->scale, &scaled))
            return false;
        b = &scaled;
    }
    if (compare_limbs(a, b) < 0) {
        const struct ek_cel_decimal *swap = a;
        a = b;
        b = swap;
    }
    uint32_t *limbs = make_limbs(eval, (uint64_t)a->n + 1);
    if (!limbs)
        return false;
    combine(a, b, a->negative != b->negative, limbs);
    *ret = finish(limbs, (uint64_t)a->n + 1, a->scale, a->negative);
    return true;
}

static uint32_t rest_of(const uint32_t *a, uint64_t n, uint32_t divisor)
{
    uint64_t rest = 0;

    for (uint64_t i = n; i > 0; i--)
        rest = (rest * BASE + a[i - 1]) % divisor;
    return (uint32_t)rest;
}

bool ek_cel_decimal_strip(struct ek_cel_eval *eval, const struct ek_cel_decimal *a,
                          uint32_t divisor, struct ek_cel_decimal *ret, uint32_t *ret_times)
{
    uint32_t *limbs = make_limbs(eval, a->n);
    uint32_t n = a->n;

    if (!limbs)
        return false;
    memcpy(limbs, a->limbs, n * sizeof *limbs);
    *ret_times = 0;
    while (rest_of(limbs, n, divisor) == 0) {
        divide(limbs, n, divisor, limbs);
        n -= limbs[n - 1] == 0;
        ++*ret_times;
    }
    *ret = finish(limbs, n, a->scale, a->negative);
    return true;
}

uint64_t ek_cel_decimal_digits(const struct ek_cel_decimal *a)
{
    uint64_t digits = a->n ? ((uint64_t)a->n - 1) * BASE_DIGITS + 1 : 1;

    for (uint32_t top = a->n ? a->limbs[a->n - 1] : 0; top >= 10; top /= 10)
        digits++;
    return digits;
}

/* The digit that stands index places from the right. */
static uint32_t digit_at(const struct ek_cel_decimal *a, uint64_t index)
{
    return a->limbs[index / BASE_DIGITS] / powers[index % BASE_DIGITS] % 10;
}

/* Compares digits from the left of numbers whose first digits stand for the same power of ten. */
static int compare_digits(const struct ek_cel_decimal *a, const struct ek_cel_decimal *b)
{
    uint64_t na = ek_cel_decimal_digits(a), nb = ek_cel_decimal_digits(b);

    for (uint64_t i = 0; i < na || i < nb; i++) {
        uint32_t da = i < na ? digit_at(a, na - 1 - i) : 0;
        uint32_t db = i < nb ? digit_at(b, nb - 1 - i) : 0;
        if (da != db)
            return da < db ? -1 : 1;
    }
    return 0;
}

static int sign_of(const struct ek_cel_decimal *a)
{
    return a->n == 0 ? 0 : a->negative ? -1 : 1;
}

int ek_cel_decimal_compare(const struct ek_cel_decimal *a, const struct ek_cel_decimal *b)
{
    int sign = sign_of(a);

    if (sign != sign_of(b) || sign == 0)
        return sign == sign_of(b) ? 0 : sign < sign_of(b) ? -1 : 1;
    if (a->scale == b->scale)
        return sign * compare_limbs(a, b);

    int64_t top_a = (int64_t)ek_cel_decimal_digits(a) - a->scale;
    int64_t top_b = (int64_t)ek_cel_decimal_digits(b) - b->scale;
    if (top_a != top_b)
        return top_a < top_b ? -sign : sign;
    return sign * compare_digits(a, b);
}

void ek_cel_decimal_write(const struct ek_cel_decimal *a, char *out)
{
    size_t len = (size_t)snprintf(out, 11, "%u", a->n ? a->limbs[a->n - 1] : 0);

    for (uint64_t i = a->n; i > 1; i--) {
        uint32_t limb = a->limbs[i - 2];
        for (size_t k = 0; k < BASE_DIGITS; k++)
            out[len++] = (char)('0' + limb / powers[BASE_DIGITS - 1 - k] % 10);
    }
    out[len] = '\0';
}
