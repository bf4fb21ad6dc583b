/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/text/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

/* ---- Writing --------------------------------------------------------------------------------- */

static int read_exponent_text(const char *s, const char *end)
{
    bool negative = s < end && *s == '-';
    int e = 0;

    for (s += s < end && (*s == '-' || *s == '+'); s < end; s++)
        e = e * 10 + (*s - '0');
    return negative ? -e : e;
}

/* Reads digits, a point and an exponent out of what yyjson wrote for a finite number. */
static void read_digits(const char *text, size_t len, struct ek_cel_digits *ret)
{
    int exponent = 0;
    bool point = false, started = false;

    *ret = (struct ek_cel_digits){0};
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (c == '-') {
            ret->negative = true;
        } else if (c == '.') {
            point = true;
        } else if (c == 'e' || c == 'E') {
            exponent = read_exponent_text(text + i + 1, text + len);
            break;
        } else {
            started |= c != '0';
            if (started && ret->n < (int)sizeof ret->d)
                ret->d[ret->n++] = c;
            if (point ? !started : started)
                ret->point += point ? -1 : 1;
        }
    }
    ret->point += exponent;
    while (ret->n && ret->d[ret->n - 1] == '0')
        ret->n--;
}

void ek_cel_digits_of(double d, struct ek_cel_digits *ret)
{
    char memory[1024], *text = NULL;
    yyjson_alc alc;
    yyjson_val v = {0};
    size_t len = 0;

    if (d != 0) {
        yyjson_set_real(&v, d);
        if (yyjson_alc_pool_init(&alc, memory, sizeof memory))
            text = yyjson_val_write_opts(&v, YYJSON_WRITE_NOFLAG, &alc, &len, NULL);
    }
    if (text)
        read_digits(text, len, ret);
    if (!text || !ret->n)
        *ret = (struct ek_cel_digits){.negative = signbit(d), .n = 1, .point = 1, .d = {'0'}};
}

static char *put(char *out, const char *s, size_t len)
{
    memcpy(out, s, len);
    return out + len;
}

static char *fill(char *out, int n)
{
    if (n > 0)
        memset(out, '0', (size_t)n);
    return out + (n > 0 ? n : 0);
}

static char *put_exponent(char *out, const struct ek_cel_digits *digits)
{
    int exponent = digits->point - 1;
    unsigned e = (unsigned)(exponent < 0 ? -exponent : exponent);

    *out++ = digits->d[0];
    if (digits->n > 1) {
        *out++ = '.';
        out = put(out, digits->d + 1, (size_t)digits->n - 1);
    }
    *out++ = 'e';
    *out++ = exponent < 0 ? '-' : '+';
    if (e >= 100)
        *out++ = (char)('0' + e / 100);
    *out++ = (char)('0' + e / 10 % 10);
    *out++ = (char)('0' + e % 10);
    return out;
}

static char *put_plain(char *out, const struct ek_cel_digits *digits)
{
    int n = digits->n, point = digits->point;

    if (point <= 0) {
        out = put(out, "0.", 2);
        out = fill(out, -point);
        return put(out, digits->d, (size_t)n);
    }
    if (point >= n) {
        out = put(out, digits->d, (size_t)n);
        return fill(out, point - n);
    }
    out = put(out, digits->d, (size_t)point);
    *out++ = '.';
    return put(out, digits->d + point, (size_t)(n - point));
}

static size_t write_double(double d, char *out, bool g)
{
    struct ek_cel_digits digits;
    char *p = out;

    if (!isfinite(d)) {
        const char *text = isnan(d) ? "NaN" : d > 0 ? "+Inf" : "-Inf";
        memcpy(out, text, strlen(text) + 1);
        return strlen(text);
    }
    ek_cel_digits_of(d, &digits);
    if (digits.negative)
        *p++ = '-';
    if (g && (digits.point < -3 || digits.point > 6))
        p = put_exponent(p, &digits);
    else
        p = put_plain(p, &digits);
    *p = '\0';
    return (size_t)(p - out);
}

size_t ek_cel_double_g(double d, char *out)
{
    return write_double(d, out, true);
}

size_t ek_cel_double_f(double d, char *out)
{
    return write_double(d, out, false);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool parse_digits(const char *s, size_t len, uint64_t *ret)
{
    uint64_t u = 0;

    if (!len)
        return false;
    for (size_t i = 0; i < len; i++) {
        unsigned digit = (unsigned char)s[i] - (unsigned)'0';
        if (digit > 9 || u > (UINT64_MAX - digit) / 10)
            return false;
        u = u * 10 + digit;
    }
    *ret = u;
    return true;
}

bool ek_cel_parse_uint(const char *s, size_t len, uint64_t *ret)
{
    return parse_digits(s, len, ret);
}

bool ek_cel_parse_int(const char *s, size_t len, int64_t *ret)
{
    bool signed_ = len && (*s == '-' || *s == '+'), negative = signed_ && *s == '-';
    uint64_t u;

    if (!parse_digits(s + signed_, len - signed_, &u) || u > (uint64_t)INT64_MAX + negative)
        return false;
    *ret = negative ? (int64_t)(0 - u) : (int64_t)u;
    return true;
}

bool ek_cel_parse_bool(const char *s, size_t len, bool *ret)
{
    static const char *const texts[] = {"0", "f", "F", "false", "FALSE", "False",
                                        "1", "t", "T", "true",  "TRUE",  "True"};
    for (size_t i = 0; i < 12; i++) {
        if (strlen(texts[i]) == len && memcmp(s, texts[i], len) == 0) {
            *ret = i >= 6;
            return true;
        }
    }
    return false;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_word(const char *s, size_t len, const char *word)
{
    if (strlen(word) != len)
        return false;
    for (size_t i = 0; i < len; i++)
        if (lower(s[i]) != word[i])
            return false;
    return true;
}

static bool parse_special(const char *s, size_t len, double *ret)
{
    bool signed_ = len && (*s == '-' || *s == '+');

    if (is_word(s, len, "nan")) {
        *ret = NAN;
        return true;
    }
    if (!is_word(s + signed_, len - signed_, "inf") &&
        !is_word(s + signed_, len - signed_, "infinity"))
        return false;
    *ret = signed_ && *s == '-' ? -HUGE_VAL : HUGE_VAL;
    return true;
}

static bool is_digit(char c, bool hex)
{
    return (c >= '0' && c <= '9') || (hex && lower(c) >= 'a' && lower(c) <= 'f');
}

/* Underscores stand between digits; a prefix counts as a digit. s is past the sign. */
static bool underscores_fit(const char *s, size_t len, bool hex)
{
    char saw = hex ? '0' : '^';

    for (size_t i = hex ? 2 : 0; i < len; i++) {
        if (is_digit(s[i], hex)) {
            saw = '0';
        } else if (s[i] == '_') {
            if (saw != '0')
                return false;
            saw = '_';
        } else if (saw == '_') {
            return false;
        } else {
            saw = '!';
        }
    }
    return saw != '_';
}

/* More digits of a double than these cannot matter but by being there. */
#define MANTISSA_MAX 800

/* A number's parts, taken apart so that strtod sees no decimal point, which locales differ in. */
struct parts {
    char mantissa[MANTISSA_MAX + 2];
    size_t n;         /* digits in mantissa, none of them leading zeros */
    int64_t exponent; /* of the last digit: of ten, or of sixteen's digits times four */
    bool sticky;      /* digits were dropped that are not all zero */
};

/* Reads digits with one point at most; returns how many octets that were, 0 when no digit. */
static size_t read_mantissa(struct parts *p, const char *s, size_t len, bool hex)
{
    int64_t step = hex ? 4 : 1;
    bool point = false, digits = false;
    size_t i = 0;

    for (; i < len; i++) {
        char c = s[i];
        if (c == '_')
            continue;
        if (c == '.') {
            if (point)
                break;
            point = true;
        } else if (is_digit(c, hex)) {
            digits = true;
            if (p->n == MANTISSA_MAX) {
                p->sticky |= c != '0';
                p->exponent += step;
            } else if (p->n || c != '0') {
                p->mantissa[p->n++] = c;
            }
            if (point)
                p->exponent -= step;
        } else {
            break;
        }
    }
    return digits ? i : 0;
}

/* Reads "e+12" whose letter is at *s; false when it is not one that ends the text. */
static bool read_exponent(struct parts *p, const char *s, size_t len)
{
    size_t i = 1;
    bool negative = false;
    int64_t e = 0;

    if (i < len && (s[i] == '+' || s[i] == '-'))
        negative = s[i++] == '-';
    if (i >= len || !is_digit(s[i], false))
        return false;
    for (; i < len && (is_digit(s[i], false) || s[i] == '_'); i++)
        if (s[i] != '_' && e < 10000)
            e = e * 10 + (s[i] - '0');
    p->exponent += negative ? -e : e;
    return i == len;
}

static double assemble(struct parts *p, bool hex)
{
    char text[MANTISSA_MAX + 32];
    size_t n = 0;

    if (!p->n)
        return 0;
    if (p->sticky) { /* a one below the last digit shows strtod which side of a tie this is */
        p->mantissa[p->n++] = '1';
        p->exponent -= hex ? 4 : 1;
    }
    if (hex) {
        text[n++] = '0';
        text[n++] = 'x';
    }
    memcpy(text + n, p->mantissa, p->n);
    n += p->n;
    text[n++] = hex ? 'p' : 'e';
    int64_t e = p->exponent;
    if (e < 0)
        text[n++] = '-';
    e = e < 0 ? -e : e;
    if (e > 9999999)
        e = 9999999;
    for (int64_t unit = 1000000; unit; unit /= 10)
        text[n++] = (char)('0' + e / unit % 10);
    text[n] = '\0';
    return strtod(text, NULL);
}

bool ek_cel_parse_double(const char *s, size_t len, double *ret)
{
    struct parts p;
    bool signed_ = len && (*s == '-' || *s == '+');
    const char *rest = s + signed_;
    size_t left = len - signed_;

    if (parse_special(s, len, ret))
        return true;
    bool hex = left > 2 && rest[0] == '0' && lower(rest[1]) == 'x';
    p.n = 0;
    p.exponent = 0;
    p.sticky = false;
    size_t used = read_mantissa(&p, rest + (hex ? 2 : 0), left - (hex ? 2 : 0), hex);
    if (!used)
        return false;
    used += hex ? 2 : 0;
    bool exponent = used < left && lower(rest[used]) == (hex ? 'p' : 'e');
    if (exponent ? !read_exponent(&p, rest + used, left - used) : used < left || hex)
        return false;
    if (memchr(rest, '_', left) && !underscores_fit(rest, left, hex))
        return false;

    double d = assemble(&p, hex);
    if (isinf(d))
        return false;
    *ret = signed_ && *s == '-' ? -d : d;
    return true;
}
