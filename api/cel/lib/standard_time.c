/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/base/quote.h"
#include "api/cel/lib/standard.h"
#include "api/cel/text/number.h"
#include "api/cel/text/time.h"
#include "api/cel/values/account.h"

#define SECOND    INT64_C(1000000000)
#define SHOWN_MAX 100 /* octets of a zone's name in a message */

/* ---- Time zones ------------------------------------------------------------------------------ */

/* Reads the digits of one half of "+05:30"; fills *ret_error with what Go's Atoi says. */
static bool read_half(struct ek_cel_eval *eval, const char *s, size_t len, int64_t *ret,
                      struct ek_cel_val *ret_error)
{
    int shown = (int)ek_utf8_cut((struct ek_str){s, len}, SHOWN_MAX);

    if (ek_cel_parse_int(s, len, ret))
        return true;
    *ret_error = ek_cel_fail(eval, "strconv.Atoi: parsing \"%.*s\": invalid syntax", shown, s);
    return false;
}

/* Reads "+05:30", "05:30", "-8:00" as seconds east; any size of hours wraps as in the reference. */
static bool fixed_offset(struct ek_cel_eval *eval, const struct ek_cel_val *zone, const char *colon,
                         int64_t *ret, struct ek_cel_val *ret_error)
{
    size_t at = (size_t)(colon - zone->s);
    int64_t hours, minutes;

    if (!read_half(eval, zone->s, at, &hours, ret_error) ||
        !read_half(eval, colon + 1, zone->n - at - 1, &minutes, ret_error))
        return false;
    uint64_t sum = (uint64_t)hours * 60;
    sum = *zone->s == '-' ? sum - (uint64_t)minutes : sum + (uint64_t)minutes;
    int64_t ns = (int64_t)(sum * UINT64_C(60000000000));
    int64_t whole = ns / SECOND;
    *ret = (int64_t)((double)whole + (double)(ns % SECOND) / 1e9);
    return true;
}

static bool is_named(const struct ek_cel_val *zone, const char *name)
{
    return zone->n == strlen(name) && memcmp(zone->s, name, zone->n) == 0;
}

/* The zone of that name, from those in use by the evaluation or from the database. */
static const struct ek_cel_zone *find_zone(struct ek_cel_eval *eval, const struct ek_cel_val *name,
                                           struct ek_cel_val *ret_error)
{
    const char *why;

    for (struct ek_cel_zone **at = &eval->zones; *at; at = &(*at)->next) {
        struct ek_cel_zone *zone = *at;
        if (is_named(name, zone->name)) {
            *at = zone->next; /* to the front */
            zone->next = eval->zones;
            return eval->zones = zone;
        }
    }

    struct ek_cel_zone *zone = ek_cel_zone_load(eval->arena, name->s, name->n, &why);
    if (zone) {
        zone->next = eval->zones;
        return eval->zones = zone;
    }
    int shown = (int)ek_utf8_cut((struct ek_str){name->s, name->n}, SHOWN_MAX);
    if (!why)
        *ret_error = ek_cel_no_memory(eval);
    else if (strcmp(why, EK_CEL_ZONE_UNKNOWN) == 0)
        *ret_error = ek_cel_fail(eval, "%s %.*s", why, shown, name->s);
    else
        *ret_error = ek_cel_fail(eval, "%s", why);
    return NULL;
}

/* Fills *ret with seconds east of UTC in a zone at an instant. */
static bool zone_offset(struct ek_cel_eval *eval, const struct ek_cel_val *zone, int64_t seconds,
                        int64_t *ret, struct ek_cel_val *ret_error)
{
    *ret = 0;
    if (zone->kind != EK_CEL_STRING) {
        *ret_error = ek_cel_no_overload(eval, NULL, NULL, 0);
        return false;
    }
    /* a server's local time is UTC */
    if (!zone->n || is_named(zone, "UTC") || is_named(zone, "Local"))
        return true;
    const char *colon = memchr(zone->s, ':', zone->n);
    if (colon)
        return fixed_offset(eval, zone, colon, ret, ret_error);
    if (*zone->s == '/' || *zone->s == '\\' || memmem(zone->s, zone->n, "..", 2)) {
        *ret_error = ek_cel_fail(eval, "time: invalid location name");
        return false;
    }
    const struct ek_cel_zone *found = find_zone(eval, zone, ret_error);
    if (found)
        *ret = ek_cel_zone_offset(found, seconds);
    return found != NULL;
}

/* ---- Parts of a timestamp -------------------------------------------------------------------- */

static bool local_time(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n,
                       struct ek_cel_civil *ret, struct ek_cel_val *ret_error)
{
    int64_t offset = 0;

    if (args[0].kind != EK_CEL_TIMESTAMP) {
        *ret_error = ek_cel_no_overload(eval, NULL, NULL, 0);
        return false;
    }
    if (n > 1 && !zone_offset(eval, &args[1], args[0].i, &offset, ret_error))
        return false;
    ek_cel_civil_of(args[0].i + offset, ret);
    return true;
}

#define GETTER(name, part)                                                                         \
    struct ek_cel_val name(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)    \
    {                                                                                              \
        struct ek_cel_civil t;                                                                     \
        struct ek_cel_val error;                                                                   \
                                                                                                   \
        return local_time(eval, args, n, &t, &error) ? ek_cel_int(part) : error;                   \
    }

GETTER(ek_cel_get_full_year, t.year)
GETTER(ek_cel_get_month, t.month - 1)
GETTER(ek_cel_get_day_of_year, t.year_day)
GETTER(ek_cel_get_day_of_month, t.day - 1)
GETTER(ek_cel_get_date, t.day)
GETTER(ek_cel_get_day_of_week, t.week_day)
GETTER(ek_cel_get_hours, t.hour)
GETTER(ek_cel_get_minutes, t.minute)
GETTER(ek_cel_get_seconds, t.second)
GETTER(ek_cel_get_milliseconds, args[0].n / 1000000)

/* ---- Durations ------------------------------------------------------------------------------- */

/* All of a duration in units of unit nanoseconds, by way of a double as Go's Hours() goes. */
static struct ek_cel_val in_units(struct ek_cel_eval *eval, const struct ek_cel_val *v,
                                  int64_t unit)
{
    if (v->kind != EK_CEL_DURATION)
        return ek_cel_no_overload(eval, NULL, NULL, 0);
    int64_t whole = v->i / unit;
    return ek_cel_int((int64_t)((double)whole + (double)(v->i % unit) / (double)unit));
}

struct ek_cel_val ek_cel_duration_hours(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                        uint32_t n)
{
    (void)n;
    return in_units(eval, &args[0], INT64_C(3600000000000));
}

struct ek_cel_val ek_cel_duration_minutes(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                          uint32_t n)
{
    (void)n;
    return in_units(eval, &args[0], INT64_C(60000000000));
}

struct ek_cel_val ek_cel_duration_seconds(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                          uint32_t n)
{
    (void)n;
    return in_units(eval, &args[0], SECOND);
}

struct ek_cel_val ek_cel_duration_milliseconds(struct ek_cel_eval *eval,
                                               const struct ek_cel_val *args, uint32_t n)
{
    (void)n;
    if (args[0].kind != EK_CEL_DURATION)
        return ek_cel_no_overload(eval, NULL, NULL, 0);
    return ek_cel_int(args[0].i / 1000000);
}
