/* SPDX-License-Identifier: Apache-2.0 */
#include "api/base/time.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/err.h"
#include "api/base/mem.h"

/* 0000-01-01T00:00:00Z and 9999-12-31T23:59:59Z: what four digits can say. */
#define FIRST_S INT64_C(-62167219200)
#define LAST_S  INT64_C(253402300799)

/* Days since 1970-01-01 of a proleptic Gregorian date (the civil-from-days arithmetic with the
 * year starting in March, so that the leap day comes last). */
static int64_t days_from_civil(int64_t y, int m, int d)
{
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 719468;
}

static void civil_from_days(int64_t days, int64_t *y, int *m, int *d)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t doe = days - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    *d = (int)(doy - (153 * mp + 2) / 5 + 1);
    *m = (int)(mp < 10 ? mp + 3 : mp - 9);
    *y = yoe + era * 400 + (*m <= 2);
}

int ek_days_in_month(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

/* Reads exactly n digits at *s and moves past them; -1 when they are not digits. */
static int digits(const char **s, int n)
{
    int value = 0;
    for (int i = 0; i < n; i++) {
        char c = (*s)[i];
        if (c < '0' || c > '9')
            return -1;
        value = value * 10 + (c - '0');
    }
    *s += n;
    return value;
}

static bool literal(const char **s, char c)
{
    if (**s != c)
        return false;
    (*s)++;
    return true;
}

/* Reads "Z" or "+hh:mm" to the end of the string; false when it is neither. */
static bool zone(const char *s, int64_t *ret_offset_s)
{
    if (!strcmp(s, "Z") || !strcmp(s, "z")) {
        *ret_offset_s = 0;
        return true;
    }
    int sign = *s == '+' ? 1 : *s == '-' ? -1 : 0;
    if (!sign)
        return false;
    s++;
    int h = digits(&s, 2);
    if (h < 0 || h > 23 || !literal(&s, ':'))
        return false;
    int m = digits(&s, 2);
    if (m < 0 || m > 59 || *s)
        return false;
    *ret_offset_s = sign * (h * INT64_C(3600) + m * INT64_C(60));
    return true;
}

int64_t ek_time_parse(const char *s)
{
    if (!s)
        return EK_TIME_UNSET;
    int year = digits(&s, 4);
    if (year < 0 || !literal(&s, '-'))
        return EK_TIME_UNSET;
    int month = digits(&s, 2);
    if (month < 1 || month > 12 || !literal(&s, '-'))
        return EK_TIME_UNSET;
    int day = digits(&s, 2);
    if (day < 1 || day > ek_days_in_month(year, month) || !(literal(&s, 'T') || literal(&s, 't')))
        return EK_TIME_UNSET;
    int hour = digits(&s, 2);
    if (hour < 0 || hour > 23 || !literal(&s, ':'))
        return EK_TIME_UNSET;
    int minute = digits(&s, 2);
    if (minute < 0 || minute > 59 || !literal(&s, ':'))
        return EK_TIME_UNSET;
    int second = digits(&s, 2);
    if (second < 0 || second > 59) /* Go takes no leap seconds either */
        return EK_TIME_UNSET;
    int64_t ms = 0;
    if (literal(&s, '.')) {
        int64_t unit = 100;
        if (*s < '0' || *s > '9')
            return EK_TIME_UNSET;
        for (; *s >= '0' && *s <= '9'; s++, unit /= 10)
            ms += (*s - '0') * unit;
    }
    int64_t offset_s;
    if (!zone(s, &offset_s))
        return EK_TIME_UNSET;
    int64_t seconds = days_from_civil(year, month, day) * 86400 + hour * INT64_C(3600) +
                      minute * INT64_C(60) + second - offset_s;
    /* An offset may lead out of the years that can be written. */
    return seconds < FIRST_S || seconds > LAST_S ? EK_TIME_UNSET : seconds * 1000 + ms;
}

static const char *format(int64_t ms, char *buf, bool micro)
{
    int64_t seconds = ms / 1000, rest = ms % 1000;
    if (rest < 0) {
        rest += 1000;
        seconds--;
    }
    int64_t days = seconds / 86400, tod = seconds % 86400;
    if (tod < 0) {
        tod += 86400;
        days--;
    }
    int64_t y;
    int m, d;
    civil_from_days(days, &y, &m, &d);
    int n = snprintf(buf, EK_TIME_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d", (int)y, m, d,
                     (int)(tod / 3600), (int)(tod / 60 % 60), (int)(tod % 60));
    snprintf(buf + n, EK_TIME_SIZE - (size_t)n, micro ? ".%03d000Z" : "Z", (int)rest);
    return buf;
}

const char *ek_time_format(int64_t ms, char buf[EK_TIME_SIZE])
{
    return format(ms, buf, false);
}

const char *ek_time_format_micro(int64_t ms, char buf[EK_TIME_SIZE])
{
    return format(ms, buf, true);
}

const char *ek_duration_human(int64_t ms, char buf[EK_TIME_SIZE])
{
    long long s = (ms < 0 ? 0 : ms) / 1000;
    long long m = s / 60, h = m / 60, d = h / 24, y = d / 365;

    if (s < 120)
        snprintf(buf, EK_TIME_SIZE, "%llds", s);
    else if (m < 10 && s % 60)
        snprintf(buf, EK_TIME_SIZE, "%lldm%llds", m, s % 60);
    else if (m < 180)
        snprintf(buf, EK_TIME_SIZE, "%lldm", m);
    else if (h < 8 && m % 60)
        snprintf(buf, EK_TIME_SIZE, "%lldh%lldm", h, m % 60);
    else if (h < 48)
        snprintf(buf, EK_TIME_SIZE, "%lldh", h);
    else if (d < 8 && h % 24)
        snprintf(buf, EK_TIME_SIZE, "%lldd%lldh", d, h % 24);
    else if (y < 2)
        snprintf(buf, EK_TIME_SIZE, "%lldd", d);
    else if (y < 8 && d % 365)
        snprintf(buf, EK_TIME_SIZE, "%lldy%lldd", y, d % 365);
    else
        snprintf(buf, EK_TIME_SIZE, "%lldy", y);
    return buf;
}

static double unit_ms(const char *s, size_t *ret_len)
{
    static const struct {
        const char *name;
        double ms;
    } units[] = {{"ns", 1e-6}, {"us", 1e-3}, {"\xc2\xb5s", 1e-3}, {"\xce\xbcs", 1e-3},
                 {"ms", 1},    {"s", 1e3},   {"m", 6e4},          {"h", 3.6e6}};

    for (size_t i = 0; i < EK_ARRAY_SIZE(units); i++) {
        *ret_len = strlen(units[i].name);
        if (!strncmp(s, units[i].name, *ret_len))
            return units[i].ms;
    }
    return 0;
}

int ek_duration_parse(const char *s, int64_t *ret_ms)
{
    double total = 0;
    bool negative = false;

    if (!s)
        return EK_E_PARSE;
    if (*s == '-' || *s == '+')
        negative = *s++ == '-';
    if (!strcmp(s, "0")) {
        *ret_ms = 0;
        return 0;
    }
    if (!*s)
        return EK_E_PARSE;
    while (*s) {
        size_t number = strspn(s, "0123456789."), unit = 0;
        char text[32], *end;
        if (number == 0 || number >= sizeof text || !strncmp(s, ".", number))
            return EK_E_PARSE;
        memcpy(text, s, number);
        text[number] = '\0';
        double value = strtod(text, &end);
        double scale = unit_ms(s + number, &unit);
        if (*end || scale <= 0)
            return EK_E_PARSE;
        total += value * scale;
        s += number + unit;
    }
    if (total > 9.2e12) /* Go's limit, 2^63 ns */
        return EK_E_PARSE;
    *ret_ms = (int64_t)llround(negative ? -total : total);
    return 0;
}
