/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/text/time.h"

#include <stdio.h>
#include <string.h>

#include "api/base/ascii.h"
#include "api/base/time.h"
#include "api/cel/text/number.h"

#define SECOND INT64_C(1000000000)

/* ---- The calendar ---------------------------------------------------------------------------- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Days since the epoch. Years begin in March here, so that the leap day is their last. */
static int64_t days_of(int64_t year, int month, int day)
{
    int64_t y = year - (month <= 2), era = floor_div(y, 400), of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

void ek_cel_civil_of(int64_t seconds, struct ek_cel_civil *ret)
{
    int64_t days = floor_div(seconds, 86400), rest = seconds - days * 86400;
    int64_t z = days + 719468, era = floor_div(z, 146097), of_era = z - era * 146097;
    int64_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * y + y / 4 - y / 100);
    int month = (int)((5 * of_year + 2) / 153);

    ret->day = (int)(of_year - (153 * month + 2) / 5) + 1;
    ret->month = month < 10 ? month + 3 : month - 9;
    ret->year = y + era * 400 + (ret->month <= 2);
    ret->year_day = (int)(days - days_of(ret->year, 1, 1));
    ret->week_day = (int)((days % 7 + 11) % 7);
    ret->hour = (int)(rest / 3600);
    ret->minute = (int)(rest / 60 % 60);
    ret->second = (int)(rest % 60);
}

/* ---- Timestamps ------------------------------------------------------------------------------ */

struct cursor {
    const char *p, *end;
};

static bool take_char(struct cursor *c, char wanted)
{
    if (c->p == c->end || *c->p != wanted)
        return false;
    c->p++;
    return true;
}

/* Reads exactly n digits. */
static bool read_number(struct cursor *c, int n, int *ret)
{
    *ret = 0;
    if (c->end - c->p < n)
        return false;
    for (; n; n--, c->p++) {
        if (!ek_is_digit(*c->p))
            return false;
        *ret = *ret * 10 + (*c->p - '0');
    }
    return true;
}

static bool read_date(struct cursor *c, int *year, int *month, int *day)
{
    return read_number(c, 4, year) && take_char(c, '-') && read_number(c, 2, month) &&
           take_char(c, '-') && read_number(c, 2, day) && *month >= 1 && *month <= 12 &&
           *day >= 1 && *day <= ek_days_in_month(*year, *month);
}

static bool read_clock(struct cursor *c, int64_t *ret)
{
    int hour, minute, second;
    bool two = c->end - c->p >= 2 && ek_is_digit(c->p[1]);

    if (!read_number(c, two ? 2 : 1, &hour) || !take_char(c, ':') || !read_number(c, 2, &minute) ||
        !take_char(c, ':') || !read_number(c, 2, &second) || hour > 23 || minute > 59 ||
        second > 59)
        return false;
    *ret = (hour * 60 + minute) * 60 + second;
    return true;
}

/* Reads ".123" or ",123"; what is no fraction is left for the next to refuse. */
static uint32_t read_fraction(struct cursor *c)
{
    uint32_t ns = 0, unit = 100000000;

    if (c->end - c->p < 2 || (*c->p != '.' && *c->p != ',') || !ek_is_digit(c->p[1]))
        return 0;
    for (c->p++; c->p < c->end && ek_is_digit(*c->p); c->p++, unit /= 10)
        ns += (uint32_t)(*c->p - '0') * unit;
    return ns;
}

/* Reads "Z" or "+05:30" as minutes east. */
static bool read_offset(struct cursor *c, int *ret)
{
    int hours, minutes;

    *ret = 0;
    if (take_char(c, 'Z'))
        return true;
    bool west = take_char(c, '-');
    if ((!west && !take_char(c, '+')) || !read_number(c, 2, &hours) || !take_char(c, ':') ||
        !read_number(c, 2, &minutes) || hours > 24 || minutes > 60)
        return false;
    *ret = (hours * 60 + minutes) * (west ? -1 : 1);
    return true;
}

bool ek_cel_time_parse(const char *s, size_t len, struct ek_cel_val *ret)
{
    struct cursor c = {s, s + len};
    int year, month, day, offset;
    int64_t clock;

    if (!read_date(&c, &year, &month, &day) || !take_char(&c, 'T') || !read_clock(&c, &clock))
        return false;
    uint32_t ns = read_fraction(&c);
    if (!read_offset(&c, &offset) || c.p != c.end)
        return false;
    *ret = ek_cel_timestamp(days_of(year, month, day) * 86400 + clock - INT64_C(60) * offset, ns);
    ret->offset = (int16_t)offset;
    return true;
}

/* Appends ".5" for ns of a second: no zeros at the end, nothing for 0. */
static char *put_fraction(char *out, uint64_t fraction, int digits)
{
    if (!fraction)
        return out;
    out += snprintf(out, 16, ".%0*llu", digits, (unsigned long long)fraction);
    while (out[-1] == '0')
        out--;
    return out;
}

size_t ek_cel_time_text(const struct ek_cel_val *timestamp, char *out)
{
    int offset = timestamp->offset, minutes = offset < 0 ? -offset : offset;
    struct ek_cel_civil t;
    char *p = out;

    ek_cel_civil_of(timestamp->i + INT64_C(60) * offset, &t);
    p += snprintf(p, 32, "%04lld-%02d-%02dT%02d:%02d:%02d", (long long)t.year, t.month, t.day,
                  t.hour, t.minute, t.second);
    p = put_fraction(p, timestamp->n, 9);
    if (offset)
        p +=
            snprintf(p, 8, "%c%02d:%02d", offset < 0 ? '-' : '+', minutes / 60 % 100, minutes % 60);
    else
        *p++ = 'Z';
    *p = '\0';
    return (size_t)(p - out);
}

/* ---- Durations ------------------------------------------------------------------------------- */

size_t ek_cel_duration_text(int64_t ns, char *out)
{
    char text[EK_CEL_DOUBLE_TEXT_MAX];
    int64_t whole = ns / SECOND;
    size_t len = ek_cel_double_f((double)whole + (double)(ns % SECOND) / 1e9, text);

    memcpy(out, text, len);
    out[len] = 's';
    out[len + 1] = '\0';
    return len + 1;
}

/* Appends u / 10^digits and, of what is left, the decimals that are needed; then unit. */
static char *put_quantity(char *out, uint64_t u, int digits, const char *unit)
{
    uint64_t scale = 1;

    for (int i = 0; i < digits; i++)
        scale *= 10;
    out += snprintf(out, 24, "%llu", (unsigned long long)(u / scale));
    out = put_fraction(out, u % scale, digits);
    size_t len = strlen(unit);
    memcpy(out, unit, len + 1);
    return out + len;
}

size_t ek_cel_duration_go(int64_t ns, char *out)
{
    const uint64_t second = (uint64_t)SECOND;
    uint64_t u = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    char *p = out;

    if (ns < 0)
        *p++ = '-';
    if (u == 0) {
        p = put_quantity(p, 0, 0, "s");
    } else if (u < 1000) {
        p = put_quantity(p, u, 0, "ns");
    } else if (u < 1000000) {
        p = put_quantity(p, u, 3, "\u00b5s");
    } else if (u < second) {
        p = put_quantity(p, u, 6, "ms");
    } else {
        if (u >= 3600 * second)
            p = put_quantity(p, u / (3600 * second), 0, "h");
        if (u >= 60 * second)
            p = put_quantity(p, u / (60 * second) % 60, 0, "m");
        p = put_quantity(p, u % (60 * second), 9, "s");
    }
    return (size_t)(p - out);
}

/* The unit at the cursor in nanoseconds: all up to the next digit or point. 0 for none. */
static uint64_t read_unit(struct cursor *c)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {
        {"ns", 1},
        {"us", 1000},
        {"\u00b5s", 1000}, /* micro sign */
        {"\u03bcs", 1000}, /* Greek mu */
        {"ms", 1000000},
        {"s", 1000000000},
        {"m", UINT64_C(60000000000)},
        {"h", UINT64_C(3600000000000)},
    };
    const char *start = c->p;

    while (c->p < c->end && *c->p != '.' && !ek_is_digit(*c->p))
        c->p++;
    size_t len = (size_t)(c->p - start);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].name) == len && memcmp(units[i].name, start, len) == 0)
            return units[i].ns;
    return 0;
}

#define HALF ((uint64_t)1 << 63)

/* Reads digits before the point; false beyond 2^63. */
static bool read_whole(struct cursor *c, uint64_t *ret)
{
    uint64_t v = 0;

    for (; c->p < c->end && ek_is_digit(*c->p); c->p++) {
        if (v > HALF / 10)
            return false;
        v = v * 10 + (uint64_t)(*c->p - '0');
        if (v > HALF)
            return false;
    }
    *ret = v;
    return true;
}

/* Reads digits after the point as *ret / *ret_scale; digits beyond what fits are dropped. */
static void read_decimals(struct cursor *c, uint64_t *ret, double *ret_scale)
{
    bool full = false;

    for (; c->p < c->end && ek_is_digit(*c->p); c->p++) {
        uint64_t y = *ret * 10 + (uint64_t)(*c->p - '0');
        full = full || *ret > (HALF - 1) / 10 || y > HALF;
        if (full)
            continue;
        *ret = y;
        *ret_scale *= 10;
    }
}

/* Reads one "1.5h" as nanoseconds. */
static bool read_term(struct cursor *c, uint64_t *ret)
{
    uint64_t whole, decimals = 0;
    double scale = 1;
    const char *start = c->p;

    if (!read_whole(c, &whole))
        return false;
    bool digits = c->p != start;
    if (take_char(c, '.')) {
        start = c->p;
        read_decimals(c, &decimals, &scale);
        digits = digits || c->p != start;
    }
    if (!digits)
        return false;
    uint64_t unit = read_unit(c);
    if (!unit || whole > HALF / unit)
        return false;
    *ret = whole * unit;
    if (decimals)
        *ret += (uint64_t)((double)decimals * ((double)unit / scale));
    return *ret <= HALF;
}

bool ek_cel_duration_parse(const char *s, size_t len, int64_t *ret_ns)
{
    struct cursor c = {s, s + len};
    uint64_t sum = 0, term;
    bool negative = take_char(&c, '-');

    if (!negative)
        take_char(&c, '+');
    if (c.p == c.end)
        return false;
    if (c.end - c.p == 1 && *c.p == '0') {
        *ret_ns = 0;
        return true;
    }
    while (c.p < c.end) {
        if (!read_term(&c, &term) || (sum += term) > HALF)
            return false;
    }
    if (!negative && sum == HALF)
        return false;
    *ret_ns = negative ? (int64_t)(0 - sum) : (int64_t)sum;
    return true;
}
