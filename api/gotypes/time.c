/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gotypes/time.h"

#include <string.h>

#include "api/base/ascii.h"
#include "api/base/mem.h"
#include "api/base/time.h"

/* A part of the layout: as it stands there, and how many digits it has; 0 for what is copied. */
struct part {
    const char *layout;
    unsigned digits;
    int min, max; /* beyond which the part is out of range */
    const char *name;
};

static const struct part parts[] = {
    {"2006", 4, 0, 9999, "year"}, {"-", 0, 0, 0, NULL},       {"01", 2, 1, 12, "month"},
    {"-", 0, 0, 0, NULL},         {"02", 2, 1, 31, "day"},    {"T", 0, 0, 0, NULL},
    {"15", 2, 0, 23, "hour"},     {":", 0, 0, 0, NULL},       {"04", 2, 0, 59, "minute"},
    {":", 0, 0, 0, NULL},         {"05", 2, 0, 59, "second"},
};

/* Reads a part at *s and moves on. 0, 1 when it does not stand there, 2 when it is out of range. */
static int read_part(const struct part *part, const char **s)
{
    int value = 0;

    if (part->digits == 0) {
        size_t len = strlen(part->layout);
        if (strncmp(*s, part->layout, len) != 0)
            return 1;
        *s += len;
        return 0;
    }
    for (unsigned i = 0; i < part->digits; i++) {
        if (!ek_is_digit((*s)[i]))
            return 1;
        value = 10 * value + (*s)[i] - '0';
    }
    *s += part->digits;
    return value < part->min || value > part->max ? 2 : 0;
}

static bool read_zone(const char **s)
{
    const char *z = *s;

    if (*z == 'Z') {
        *s = z + 1;
        return true;
    }
    if ((*z != '+' && *z != '-') || !ek_is_digit(z[1]) || !ek_is_digit(z[2]) || z[3] != ':' ||
        !ek_is_digit(z[4]) || !ek_is_digit(z[5]))
        return false;
    *s = z + 6;
    return true;
}

/* Skips the fraction of the seconds; false when six digits are required and missing. */
static bool read_fraction(const char **s, bool micro)
{
    const char *f = *s;
    size_t digits = f[0] == '.' ? strspn(f + 1, "0123456789") : 0;

    if (micro ? digits < 6 : digits == 0)
        return !micro;
    *s = f + 1 + (micro ? 6 : digits);
    return true;
}

/* Whether the month of a date, "2006-01-02", has that day. */
static bool is_day(const char *text)
{
    int year = 0;

    for (int i = 0; i < 4; i++)
        year = 10 * year + text[i] - '0';
    return 10 * (text[8] - '0') + text[9] - '0' <=
           ek_days_in_month(year, 10 * (text[5] - '0') + text[6] - '0');
}

const char *ek_go_time_check(const char *text, bool micro, struct ek_arena *arena)
{
    const char *s = text, *wanted = NULL;

    for (size_t i = 0; !wanted && i < EK_ARRAY_SIZE(parts); i++) {
        int failed = read_part(&parts[i], &s);
        if (failed == 2)
            return ek_arena_printf(arena, "parsing time \"%s\": %s out of range", text,
                                   parts[i].name);
        if (failed)
            wanted = parts[i].layout;
    }
    if (!wanted && !read_fraction(&s, micro))
        wanted = ".000000";
    if (!wanted && !read_zone(&s))
        wanted = "Z07:00";
    if (!wanted && *s)
        return ek_arena_printf(arena, "parsing time \"%s\": extra text: \"%s\"", text, s);
    if (!wanted && !is_day(text))
        return ek_arena_printf(arena, "parsing time \"%s\": day out of range", text);
    if (!wanted)
        return NULL;
    return ek_arena_printf(
        arena,
        "parsing time \"%s\" as \"2006-01-02T15:04:05%sZ07:00\": cannot parse \"%s\" as \"%s\"",
        text, micro ? ".000000" : "", s, wanted);
}
