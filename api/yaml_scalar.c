/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/base/ascii.h"
#include "api/base/time.h"
#include "api/yaml-internal.h"

/* The words that are no strings, in each spelling that counts. */
static const struct {
    const char *text;
    enum ek_yaml_kind kind;
    bool boolean;
    double real;
} words[] = {
    {"", EK_YAML_NULL, false, 0},
    {"~", EK_YAML_NULL, false, 0},
    {"null", EK_YAML_NULL, false, 0},
    {"Null", EK_YAML_NULL, false, 0},
    {"NULL", EK_YAML_NULL, false, 0},
    {"y", EK_YAML_BOOL, true, 0},
    {"Y", EK_YAML_BOOL, true, 0},
    {"yes", EK_YAML_BOOL, true, 0},
    {"Yes", EK_YAML_BOOL, true, 0},
    {"YES", EK_YAML_BOOL, true, 0},
    {"true", EK_YAML_BOOL, true, 0},
    {"True", EK_YAML_BOOL, true, 0},
    {"TRUE", EK_YAML_BOOL, true, 0},
    {"on", EK_YAML_BOOL, true, 0},
    {"On", EK_YAML_BOOL, true, 0},
    {"ON", EK_YAML_BOOL, true, 0},
    {"n", EK_YAML_BOOL, false, 0},
    {"N", EK_YAML_BOOL, false, 0},
    {"no", EK_YAML_BOOL, false, 0},
    {"No", EK_YAML_BOOL, false, 0},
    {"NO", EK_YAML_BOOL, false, 0},
    {"false", EK_YAML_BOOL, false, 0},
    {"False", EK_YAML_BOOL, false, 0},
    {"FALSE", EK_YAML_BOOL, false, 0},
    {"off", EK_YAML_BOOL, false, 0},
    {"Off", EK_YAML_BOOL, false, 0},
    {"OFF", EK_YAML_BOOL, false, 0},
    {".nan", EK_YAML_REAL, false, NAN},
    {".NaN", EK_YAML_REAL, false, NAN},
    {".NAN", EK_YAML_REAL, false, NAN},
    {".inf", EK_YAML_REAL, false, INFINITY},
    {".Inf", EK_YAML_REAL, false, INFINITY},
    {".INF", EK_YAML_REAL, false, INFINITY},
    {"+.inf", EK_YAML_REAL, false, INFINITY},
    {"+.Inf", EK_YAML_REAL, false, INFINITY},
    {"+.INF", EK_YAML_REAL, false, INFINITY},
    {"-.inf", EK_YAML_REAL, false, -INFINITY},
    {"-.Inf", EK_YAML_REAL, false, -INFINITY},
    {"-.INF", EK_YAML_REAL, false, -INFINITY},
};

static int digit_value(char c)
{
    if (ek_is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'Z')
        return c - 'A' + 10;
    return 99;
}

/* Reads an unsigned integer in the base of its prefix (Go's base 0). */
static bool parse_natural(const char *s, uint64_t *ret_value)
{
    unsigned base = 10;
    uint64_t value = 0;

    if (!*s)
        return false;
    if (s[0] == '0' && s[1]) {
        char mark = s[2] ? (char)(s[1] | 0x20) : '\0';
        base = mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
        s += mark == 'x' || mark == 'b' || mark == 'o' ? 2 : 1;
    }
    for (; *s; s++) {
        int digit = digit_value(*s);
        if (digit >= (int)base || __builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            return false;
    }
    *ret_value = value;
    return true;
}

static bool parse_integer(const char *s, struct ek_yaml_scalar *ret)
{
    bool negative = *s == '-', sign = negative || *s == '+';
    uint64_t value;

    if (!parse_natural(s + sign, &value))
        return false;
    if (value <= (uint64_t)INT64_MAX + negative) {
        ret->kind = EK_YAML_INT;
        ret->integer = (int64_t)(negative ? 0 - value : value);
        return true;
    }
    if (sign)
        return false;
    ret->kind = EK_YAML_UINT;
    ret->natural = value;
    return true;
}

static const char *skip_digits(const char *s)
{
    while (ek_is_digit(*s))
        s++;
    return s;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool looks_real(const char *s)
{
    s += *s == '-' || *s == '+';
    const char *start = s;
    s = skip_digits(s);
    bool whole = s > start;
    if (*s == '.') {
        start = ++s;
        s = skip_digits(s);
        whole = whole || s > start;
    }
    if (!whole)
        return false;
    if (*s == 'e' || *s == 'E') {
        s++;
        s += *s == '-' || *s == '+';
        start = s;
        s = skip_digits(s);
        if (s == start)
            return false;
    }
    return !*s;
}

static bool parse_real(const char *s, struct ek_yaml_scalar *ret)
{
    if (!looks_real(s))
        return false;
    ret->real = strtod(s, NULL);
    ret->kind = EK_YAML_REAL;
    return isfinite(ret->real);
}

/* Reads one or two digits at *s and moves past them; -1 when there are none. */
static int small_number(const char **s)
{
    if (!ek_is_digit(**s))
        return -1;
    int value = *(*s)++ - '0';
    if (ek_is_digit(**s))
        value = value * 10 + (*(*s)++ - '0');
    return value;
}

static bool small_field(const char **s, char mark, int min, int max)
{
    if (mark && *(*s)++ != mark)
        return false;
    int value = small_number(s);
    return value >= min && value <= max;
}

/* The end of a time: "Z" or "+hh:mm" after T, nothing after a blank. */
static bool is_zone(const char *s, bool blank)
{
    if (blank || !strcmp(s, "Z"))
        return blank ? !*s : true;
    return (*s == '+' || *s == '-') && ek_is_digit(s[1]) && ek_is_digit(s[2]) && s[3] == ':' &&
           ek_is_digit(s[4]) && ek_is_digit(s[5]) && !s[6];
}

/* "2026-11-20", "2026-11-20 10:58:09.5", "2026-11-20T10:58:09Z" and the like, digits optional as
 * Go's time.Parse takes them. */
static bool is_time(const char *s)
{
    if (skip_digits(s) != s + 4 || s[4] != '-')
        return false;
    int year = (int)strtol(s, NULL, 10);
    s += 5;
    int month = small_number(&s);
    if (month < 1 || month > 12 || !small_field(&s, '-', 1, ek_days_in_month(year, month)))
        return false;
    if (!*s)
        return true;
    bool blank = *s == ' ';
    if (!blank && *s != 'T' && *s != 't')
        return false;
    s++;
    if (!small_field(&s, '\0', 0, 23) || !small_field(&s, ':', 0, 59) ||
        !small_field(&s, ':', 0, 59))
        return false;
    if ((*s == '.' || *s == ',') && ek_is_digit(s[1]))
        s = skip_digits(s + 1);
    return is_zone(s, blank);
}

static bool lookup(struct ek_str text, struct ek_yaml_scalar *ret)
{
    if (text.len > 5)
        return false;
    for (size_t i = 0; i < EK_ARRAY_SIZE(words); i++) {
        if (ek_str_eq(text, ek_str_from(words[i].text))) {
            ret->kind = words[i].kind;
            ret->boolean = words[i].boolean;
            ret->real = words[i].real;
            return true;
        }
    }
    return false;
}

struct ek_yaml_scalar ek_yaml_resolve__(struct ek_str text)
{
    struct ek_yaml_scalar string = {.kind = EK_YAML_STR}, found = string;
    char raw[EK_YAML_NUMBER_MAX + 1], plain[EK_YAML_NUMBER_MAX + 1];
    size_t n = 0;

    if (lookup(text, &found))
        return found;
    if (text.len > EK_YAML_NUMBER_MAX || memchr(text.p, '\0', text.len))
        return string;
    memcpy(raw, text.p, text.len);
    raw[text.len] = '\0';
    if (raw[0] == '.')
        return parse_real(raw, &found) ? found : string;
    if (!ek_is_digit(raw[0]) && raw[0] != '-' && raw[0] != '+')
        return string;
    if (is_time(raw)) {
        found.kind = EK_YAML_TIME;
        return found;
    }
    for (size_t i = 0; i < text.len; i++)
        if (raw[i] != '_')
            plain[n++] = raw[i];
    plain[n] = '\0';
    return parse_integer(plain, &found) || parse_real(plain, &found) ? found : string;
}

bool ek_yaml_is_base60__(struct ek_str text)
{
    size_t i = 0, groups = 0;

    if (i < text.len && (text.p[i] == '-' || text.p[i] == '+'))
        i++;
    if (i == text.len || !ek_is_digit(text.p[i]))
        return false;
    while (i < text.len && (ek_is_digit(text.p[i]) || text.p[i] == '_'))
        i++;
    for (; i + 1 < text.len && text.p[i] == ':' && ek_is_digit(text.p[i + 1]); groups++) {
        bool two = text.p[i + 1] <= '5' && i + 2 < text.len && ek_is_digit(text.p[i + 2]);
        i += two ? 3 : 2;
    }
    if (i < text.len && text.p[i] == '.')
        for (i++; i < text.len && (ek_is_digit(text.p[i]) || text.p[i] == '_');)
            i++;
    return groups > 0 && i == text.len;
}

const char *ek_yaml_format_real__(double value, char buf[EK_YAML_REAL_SIZE])
{
    int precision = 0;

    do
        snprintf(buf, EK_YAML_REAL_SIZE, "%.*e", precision, value);
    while (strtod(buf, NULL) != value && ++precision <= 17);
    int exponent = (int)strtol(strchr(buf, 'e') + 1, NULL, 10);
    /* Go's shortest form takes exponents for six digits on, whatever the number of digits. */
    if (exponent >= -4 && exponent < 6)
        snprintf(buf, EK_YAML_REAL_SIZE, "%.*f", precision > exponent ? precision - exponent : 0,
                 value);
    return buf;
}
