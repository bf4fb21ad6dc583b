/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "api/cel/text/time.h"

#define ZONE_DIR "/usr/share/zoneinfo/"

/* ---- TZif files ------------------------------------------------------------------------------ */

struct reader {
    const unsigned char *p;
    size_t left;
    bool failed;
};

static const unsigned char *take(struct reader *r, uint64_t n)
{
    const unsigned char *p = r->p;

    if (r->failed || n > r->left) {
        r->failed = true;
        return NULL;
    }
    r->p += n;
    r->left -= n;
    return p;
}

static uint32_t big4(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int64_t big8(const unsigned char *p)
{
    return (int64_t)((uint64_t)big4(p) << 32 | big4(p + 4));
}

enum count { UTC_LOCAL, STANDARD_WALL, LEAPS, TIMES, TYPES, CHARS, COUNTS };

/* Reads a header; returns its version (0 for malformed) and counts. */
static int read_header(struct reader *r, uint32_t counts[COUNTS])
{
    const unsigned char *p = take(r, 44);

    if (!p || memcmp(p, "TZif", 4) != 0)
        return 0;
    for (int i = 0; i < COUNTS; i++)
        counts[i] = big4(p + 20 + 4 * (size_t)i);
    if (p[4] == 0)
        return 1;
    return p[4] == '2' || p[4] == '3' ? p[4] - '0' : 0;
}

static void skip_version_1(struct reader *r, const uint32_t n[COUNTS])
{
    take(r, (uint64_t)n[TIMES] * 5 + (uint64_t)n[TYPES] * 6 + n[CHARS] + (uint64_t)n[LEAPS] * 8 +
                n[STANDARD_WALL] + n[UTC_LOCAL]);
}

static bool consistent(const struct ek_cel_zone *z, uint32_t chars)
{
    if (!z->n_types)
        return false;
    for (uint32_t i = 0; i < z->n_types; i++)
        if (z->types[6 * i + 5] >= chars)
            return false;
    for (uint32_t i = 0; i < z->n_times; i++)
        if (z->kinds[i] >= z->n_types)
            return false;
    return true;
}

bool ek_cel_zone_read(const unsigned char *data, size_t len, struct ek_cel_zone *ret)
{
    struct reader r = {data, len, false};
    uint32_t n[COUNTS];
    int version = read_header(&r, n);

    *ret = (struct ek_cel_zone){.time_size = version > 1 ? 8 : 4};
    if (!version)
        return false;
    if (version > 1) {
        skip_version_1(&r, n);
        if (!read_header(&r, n))
            return false;
    }
    ret->n_times = n[TIMES];
    ret->n_types = n[TYPES];
    ret->times = take(&r, (uint64_t)n[TIMES] * ret->time_size);
    ret->kinds = take(&r, n[TIMES]);
    ret->types = take(&r, (uint64_t)n[TYPES] * 6);
    take(&r, n[CHARS]);
    take(&r, (uint64_t)n[LEAPS] * (ret->time_size + 4));
    take(&r, n[STANDARD_WALL]);
    take(&r, n[UTC_LOCAL]);
    if (r.failed || !consistent(ret, n[CHARS]))
        return false;
    if (r.left > 2 && r.p[0] == '\n' && r.p[r.left - 1] == '\n') {
        ret->footer = (const char *)r.p + 1;
        ret->footer_len = r.left - 2;
    }
    return true;
}

/* ---- The rules of a footer ------------------------------------------------------------------- */

struct rule {
    enum { JULIAN, DAY_OF_YEAR, MONTH_WEEK_DAY } kind;
    int day, week, month;
    int time; /* seconds of that day */
};

struct text {
    const char *p, *end;
};

static bool take_char(struct text *t, char c)
{
    if (t->p == t->end || *t->p != c)
        return false;
    t->p++;
    return true;
}

static bool number(struct text *t, int min, int max, int *ret)
{
    const char *start = t->p;

    *ret = 0;
    for (; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++) {
        *ret = *ret * 10 + (*t->p - '0');
        if (*ret > max)
            return false;
    }
    return t->p != start && *ret >= min;
}

static bool zone_name(struct text *t)
{
    const char *start = t->p;

    if (take_char(t, '<')) {
        while (t->p < t->end && *t->p != '>')
            t->p++;
        return take_char(t, '>');
    }
    while (t->p < t->end && !strchr("0123456789,-+", *t->p))
        t->p++;
    return t->p - start >= 3;
}

/* Reads "[+-]hh[:mm[:ss]]" as seconds. */
static bool clock_time(struct text *t, int *ret)
{
    bool negative = false;
    int hours, minutes = 0, seconds = 0;

    if (!take_char(t, '+'))
        negative = take_char(t, '-');
    if (!number(t, 0, 24 * 7, &hours) || (take_char(t, ':') && !number(t, 0, 59, &minutes)))
        return false;
    if (take_char(t, ':') && !number(t, 0, 59, &seconds))
        return false;
    *ret = (hours * 60 + minutes) * 60 + seconds;
    *ret = negative ? -*ret : *ret;
    return true;
}

static bool read_rule(struct text *t, struct rule *r)
{
    *r = (struct rule){.time = 2 * 3600};
    if (take_char(t, 'J')) {
        r->kind = JULIAN;
        if (!number(t, 1, 365, &r->day))
            return false;
    } else if (take_char(t, 'M')) {
        r->kind = MONTH_WEEK_DAY;
        if (!number(t, 1, 12, &r->month) || !take_char(t, '.') || !number(t, 1, 5, &r->week) ||
            !take_char(t, '.') || !number(t, 0, 6, &r->day))
            return false;
    } else {
        r->kind = DAY_OF_YEAR;
        if (!number(t, 0, 365, &r->day))
            return false;
    }
    return !take_char(t, '/') || clock_time(t, &r->time);
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* The day of year, from 0, that a rule names; january is the weekday of January 1. */
static int rule_day(const struct rule *r, bool leap, int january)
{
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};

    if (r->kind == JULIAN) /* February 29 is never counted */
        return r->day - 1 + (leap && r->day >= 60);
    if (r->kind == DAY_OF_YEAR)
        return r->day;
    int first = before[r->month - 1] + (leap && r->month > 2);
    int length = before[r->month] - before[r->month - 1] + (leap && r->month == 2);
    int day = (r->day - (january + first) % 7 + 7) % 7;
    for (int week = 1; week < r->week && day + 7 < length; week++)
        day += 7;
    return first + day;
}

/* Seconds after the start of a year, in UTC, at which a rule takes effect where offset holds. */
static int64_t rule_time(const struct rule *r, const struct ek_cel_civil *at, int offset)
{
    int january = ((at->week_day - at->year_day) % 7 + 7) % 7;

    return (int64_t)rule_day(r, is_leap(at->year), january) * 86400 + r->time - offset;
}

/* Fills *ret_offset by "EST5EDT,M3.2.0,M11.1.0"; false when the footer cannot be read. */
static bool footer_offset(const struct ek_cel_zone *z, int64_t seconds, int64_t *ret_offset)
{
    static const char usual[] = ",M3.2.0,M11.1.0"; /* where no rules are given */
    struct text t = {z->footer, z->footer + z->footer_len};
    struct rule start, end;
    struct ek_cel_civil at;
    int standard, daylight;

    if (!zone_name(&t) || !clock_time(&t, &standard))
        return false;
    standard = -standard; /* POSIX counts west of Greenwich */
    *ret_offset = standard;
    if (t.p == t.end || *t.p == ',')
        return true;
    if (!zone_name(&t))
        return false;
    daylight = standard + 3600;
    if (t.p < t.end && *t.p != ',') {
        if (!clock_time(&t, &daylight))
            return false;
        daylight = -daylight;
    }
    if (t.p == t.end)
        t = (struct text){usual, usual + sizeof usual - 1};
    if ((!take_char(&t, ',') && !take_char(&t, ';')) || !read_rule(&t, &start) ||
        !take_char(&t, ',') || !read_rule(&t, &end) || t.p != t.end)
        return false;

    ek_cel_civil_of(seconds, &at);
    int64_t now = ((at.year_day * INT64_C(24) + at.hour) * 60 + at.minute) * 60 + at.second;
    int64_t from = rule_time(&start, &at, standard), to = rule_time(&end, &at, daylight);
    bool summer = from <= to ? now >= from && now < to : now < to || now >= from;
    *ret_offset = summer ? daylight : standard;
    return true;
}

/* ---- Looking up ------------------------------------------------------------------------------ */

static int64_t time_at(const struct ek_cel_zone *z, uint32_t i)
{
    return z->time_size == 8 ? big8(z->times + 8 * (size_t)i)
                             : (int32_t)big4(z->times + 4 * (size_t)i);
}

static int64_t type_offset(const struct ek_cel_zone *z, uint32_t type)
{
    return (int32_t)big4(z->types + 6 * (size_t)type);
}

static bool type_is_daylight(const struct ek_cel_zone *z, uint32_t type)
{
    return z->types[6 * (size_t)type + 4] != 0;
}

/* The type in force before the first transition: the first, if no transition leads to it; else
 * the standard time before the daylight saving that comes first, or any standard time. */
static uint32_t first_type(const struct ek_cel_zone *z)
{
    bool used = false;

    for (uint32_t i = 0; i < z->n_times && !used; i++)
        used = z->kinds[i] == 0;
    if (!used)
        return 0;
    if (type_is_daylight(z, z->kinds[0]))
        for (uint32_t i = z->kinds[0]; i-- > 0;)
            if (!type_is_daylight(z, i))
                return i;
    for (uint32_t i = 0; i < z->n_types; i++)
        if (!type_is_daylight(z, i))
            return i;
    return 0;
}

int64_t ek_cel_zone_offset(const struct ek_cel_zone *zone, int64_t seconds)
{
    uint32_t low = 0, high = zone->n_times;
    int64_t offset;

    if (zone->n_times && seconds < time_at(zone, 0))
        return type_offset(zone, first_type(zone));
    while (high - low > 1 && high) {
        uint32_t middle = low + (high - low) / 2;
        if (seconds < time_at(zone, middle))
            high = middle;
        else
            low = middle;
    }
    if (low + 1 >= zone->n_times && zone->footer_len && footer_offset(zone, seconds, &offset))
        return offset;
    return type_offset(zone, zone->n_times ? zone->kinds[low] : 0);
}

/* ---- Loading --------------------------------------------------------------------------------- */

/* Reads a file of at most max octets into data; -1 when it cannot be read. */
static ssize_t read_file(const char *path, unsigned char *data, size_t max)
{
    size_t len = 0;
    ssize_t n = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return -1;
    while (len < max && (n = read(fd, data + len, max - len)) > 0)
        len += (size_t)n;
    close(fd);
    return n < 0 ? -1 : (ssize_t)len;
}

struct ek_cel_zone *ek_cel_zone_load(struct ek_arena *arena, const char *name, size_t len,
                                     const char **ret_why)
{
    unsigned char data[EK_CEL_ZONE_FILE_MAX];
    char path[sizeof ZONE_DIR + 255] = ZONE_DIR;
    struct ek_cel_zone read;

    *ret_why = EK_CEL_ZONE_UNKNOWN;
    if (!len || len > 255 || memchr(name, '\0', len))
        return NULL;
    memcpy(path + sizeof ZONE_DIR - 1, name, len);
    path[sizeof ZONE_DIR - 1 + len] = '\0';
    ssize_t size = read_file(path, data, sizeof data);
    if (size < 0)
        return NULL;
    if (!ek_cel_zone_read(data, (size_t)size, &read)) {
        *ret_why = "malformed time zone information";
        return NULL;
    }

    *ret_why = NULL;
    struct ek_cel_zone *zone = ek_arena_try(arena, sizeof *zone + (size_t)size + len + 1);
    if (!zone)
        return NULL;
    unsigned char *copy = (unsigned char *)(zone + 1);
    memcpy(copy, data, (size_t)size);
    ek_cel_zone_read(copy, (size_t)size, zone);
    memcpy(copy + size, name, len);
    copy[size + (ssize_t)len] = '\0';
    zone->name = (const char *)copy + size;
    return zone;
}
