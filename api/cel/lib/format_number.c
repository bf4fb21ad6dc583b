/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as string.format writes them.
 *
 * The digits come from the C library, which rounds exactly (half to even) whatever their number;
 * the rest of its text is ignored, because it depends on the locale.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/cel/lib/format.h"
#include "api/cel/text/number.h"

#define PRECISION 6

/* A double has no more digits that are not zero before the point, and behind it. */
#define WHOLE_MAX    310
#define FRACTION_MAX 1080

/* A width or precision from here on is none to Go's printf, which says so instead. */
#define NUMBER_MAX 10000010

struct digits {
    char d[WHOLE_MAX + FRACTION_MAX];
    int n;
    int point; /* 0.d1d2d3... times ten to the power of this */
};

/* Takes the digits out of what the C library wrote; returns where it stopped: at the end, or at the
 * exponent's letter. */
static const char *collect(const char *text, struct digits *ret)
{
    ret->n = 0;
    for (; *text && *text != 'e'; text++)
        if (*text >= '0' && *text <= '9')
            ret->d[ret->n++] = *text;
    return text;
}

/* Without zeros at either end. */
static void normalize(struct digits *digits)
{
    int zeros = 0;

    while (zeros < digits->n && digits->d[zeros] == '0')
        zeros++;
    digits->n -= zeros;
    digits->point = digits->n ? digits->point - zeros : 0;
    memmove(digits->d, digits->d + zeros, (size_t)digits->n);
    while (digits->n > 0 && digits->d[digits->n - 1] == '0')
        digits->n--;
}

/* The digits of |d| rounded to that many decimals. */
static void fixed_digits(double d, int64_t decimals, struct digits *ret)
{
    char text[WHOLE_MAX + FRACTION_MAX + 16];
    int n = decimals < FRACTION_MAX ? (int)decimals : FRACTION_MAX;

    snprintf(text, sizeof text, "%.*f", n, fabs(d));
    collect(text, ret);
    ret->point = ret->n - n;
}

static void put_zeros(struct ek_cel_text *out, int64_t n)
{
    static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";
    const int64_t most = sizeof zeros - 1;

    for (; n > 0 && !out->failed; n -= most)
        ek_cel_text_add(out, zeros, (size_t)(n < most ? n : most));
}

/* The digit at place, counted from the first of digits; zero outside. */
static char digit_at(const struct digits *digits, int64_t place)
{
    return (char)(place >= 0 && place < digits->n ? digits->d[place] : '0');
}

/* Digits with a point and that many decimals, whole digits in groups of three when separator. */
static void put_decimal(struct ek_cel_text *out, const struct digits *digits, int64_t decimals,
                        const char *separator)
{
    int whole = digits->point > 0 ? digits->point : 1;
    int64_t known;

    for (int i = 0; i < whole; i++) {
        char c = digit_at(digits, digits->point - whole + i);

        ek_cel_text_add(out, &c, 1);
        if (separator && i + 1 < whole && (whole - i - 1) % 3 == 0)
            ek_cel_text_add(out, separator, 1);
    }
    if (decimals > 0)
        ek_cel_text_add(out, ".", 1);
    known = digits->n - digits->point;
    known = known < 0 ? 0 : known > decimals ? decimals : known;
    for (int64_t i = 0; i < known; i++) {
        char c = digit_at(digits, digits->point + i);

        ek_cel_text_add(out, &c, 1);
    }
    put_zeros(out, decimals - known);
}

static void put(struct ek_cel_text *out, const char *s)
{
    ek_cel_text_add(out, s, strlen(s));
}

/* ---- As people of en-US write ------------------------------------------------------------------
 */

/* Puts what is no finite number. */
static bool put_special(struct ek_cel_text *out, double d)
{
    if (isfinite(d))
        return false;
    put(out, isnan(d) ? "NaN" : d < 0 ? "-\u221e" : "\u221e");
    return true;
}

/*
 * The reference keeps the precision in 16 bits, and in 8 bits the number of decimals to be padded
 * with zeros. So "%.256f" of 1.5 is "1.5".
 */
void ek_cel_fixed_localized(struct ek_cel_text *out, double d, const struct ek_cel_clause *clause)
{
    int64_t precision = clause->has_precision ? clause->precision : PRECISION;
    int16_t most = (int16_t)precision;
    int64_t least = (uint8_t)precision;
    struct ek_cel_digits shortest;
    struct digits digits;

    if (precision >= NUMBER_MAX) {
        put(out, "%!(NOVERB)");
        return;
    }
    if (put_special(out, d))
        return;
    if (most >= 0) {
        fixed_digits(d, most, &digits);
    } else {
        ek_cel_digits_of(d, &shortest);
        digits.n = shortest.n;
        digits.point = shortest.point;
        memcpy(digits.d, shortest.d, (size_t)shortest.n);
    }
    normalize(&digits);
    if (d < 0)
        put(out, "-");
    if (digits.n - digits.point > least)
        least = digits.n - digits.point;
    put_decimal(out, &digits, least, ",");
}

/* What stands before the power of ten, and the power. */
static void put_scientific(struct ek_cel_text *out, double d)
{
    static const char *const powers[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                                         "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
    char text[32];
    struct digits digits;
    const char *exponent;

    if (put_special(out, d))
        return;
    snprintf(text, sizeof text, "%.*e", PRECISION, fabs(d));
    exponent = collect(text, &digits) + 1;
    digits.point = 1;
    if (d < 0)
        put(out, "-");
    put_decimal(out, &digits, PRECISION, NULL);
    put(out, *exponent == '-' ? "\u00d710\u207b" : "\u00d710");
    for (exponent++; *exponent; exponent++)
        put(out, powers[*exponent - '0']);
}

/* The precision is the width to the reference: the number is put behind spaces. */
void ek_cel_scientific_localized(struct ek_cel_text *out, double d,
                                 const struct ek_cel_clause *clause)
{
    static const char spaces[] = "                                                                ";
    int64_t width = clause->has_precision ? clause->precision : PRECISION;
    struct ek_cel_text number;
    size_t runes, n;

    if (width >= NUMBER_MAX) {
        put(out, "%!(NOVERB)");
        return;
    }
    ek_cel_text_init(&number, out->eval);
    put_scientific(&number, d);
    if (number.failed) {
        out->failed = true;
        return;
    }
    runes = ek_cel_runes(number.data, number.len);
    for (n = (uint16_t)width; n > runes && !out->failed;) {
        size_t some = n - runes < sizeof spaces - 1 ? n - runes : sizeof spaces - 1;

        ek_cel_text_add(out, spaces, some);
        n -= some;
    }
    ek_cel_text_add(out, number.data, number.len);
}

void ek_cel_fixed_plain(struct ek_cel_text *out, double d)
{
    struct digits digits;

    if (!isfinite(d)) {
        put(out, isnan(d) ? "NaN" : d < 0 ? "-Inf" : "+Inf");
        return;
    }
    if (signbit(d))
        put(out, "-");
    fixed_digits(d, PRECISION, &digits);
    put_decimal(out, &digits, PRECISION, NULL);
}

/* ---- As the specification says -----------------------------------------------------------------
 */

static bool put_special_spec(struct ek_cel_text *out, double d)
{
    if (isfinite(d))
        return false;
    put(out, isnan(d) ? "NaN" : d < 0 ? "-Infinity" : "Infinity");
    return true;
}

static double double_of(const struct ek_cel_val *number)
{
    if (number->kind == EK_CEL_INT)
        return (double)number->i;
    return number->kind == EK_CEL_UINT ? (double)number->u : number->d;
}

/* Go's printf complains of a precision that is no number to it, and of the argument left over. */
static bool put_overlong(struct ek_cel_text *out, const struct ek_cel_val *number,
                         int64_t precision)
{
    char text[EK_CEL_DOUBLE_TEXT_MAX];

    if (precision < NUMBER_MAX)
        return false;
    put(out, "%!(NOVERB)%!(EXTRA ");
    if (number->kind == EK_CEL_INT) {
        ek_cel_text_printf(out, "int64=%lld", (long long)number->i);
    } else if (number->kind == EK_CEL_UINT) {
        ek_cel_text_printf(out, "uint64=%llu", (unsigned long long)number->u);
    } else {
        ek_cel_double_g(number->d, text);
        ek_cel_text_printf(out, "float64=%s", text);
    }
    put(out, ")");
    return true;
}

void ek_cel_fixed_spec(struct ek_cel_text *out, const struct ek_cel_val *number,
                       const struct ek_cel_clause *clause)
{
    int64_t precision = clause->has_precision ? clause->precision : PRECISION;
    struct digits digits;

    if (number->kind == EK_CEL_DOUBLE && put_special_spec(out, number->d))
        return;
    if (put_overlong(out, number, precision))
        return;
    if (number->kind == EK_CEL_DOUBLE) {
        if (signbit(number->d))
            put(out, "-");
        fixed_digits(number->d, precision, &digits);
        put_decimal(out, &digits, precision, NULL);
        return;
    }
    if (number->kind == EK_CEL_INT)
        ek_cel_text_printf(out, "%lld", (long long)number->i);
    else
        ek_cel_text_printf(out, "%llu", (unsigned long long)number->u);
    if (precision > 0)
        put(out, ".");
    put_zeros(out, precision);
}

void ek_cel_scientific_spec(struct ek_cel_text *out, const struct ek_cel_val *number,
                            const struct ek_cel_clause *clause)
{
    int64_t precision = clause->has_precision ? clause->precision : PRECISION;
    int n = precision < FRACTION_MAX ? (int)precision : FRACTION_MAX;
    double d = double_of(number);
    char text[FRACTION_MAX + 32];
    struct digits digits;
    const char *exponent;

    if (put_special_spec(out, d) || put_overlong(out, number, precision))
        return;
    snprintf(text, sizeof text, "%.*e", n, fabs(d));
    exponent = collect(text, &digits);
    digits.point = 1;
    if (signbit(d))
        put(out, "-");
    put_decimal(out, &digits, precision, NULL);
    put(out, exponent);
}

void ek_cel_decimal_spec(struct ek_cel_text *out, double d)
{
    char text[EK_CEL_DOUBLE_TEXT_MAX];

    if (!put_special_spec(out, d))
        ek_cel_text_add(out, text, ek_cel_double_f(d, text));
}
