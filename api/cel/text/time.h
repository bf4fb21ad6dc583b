/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timestamps, durations and time zones of CEL, as Go's time package reads and writes them.
 *
 * Nothing here reads a clock. Time zones come from the system's tz database (TZif files), read
 * when an expression names one. Pure but for ek_cel_zone_load. Not for hosts.
 *
 * Sources: RFC 3339; RFC 8536 (TZif) and POSIX TZ rules in its footer; Go's time documentation;
 * cel-go 0.26, common/types/{timestamp,duration}.go.
 */
#ifndef API_CEL_TEXT_TIME_H
#define API_CEL_TEXT_TIME_H

#include "api/base/arena.h"
#include "api/cel/cel.h"

/* Seconds since the epoch of 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z. */
#define EK_CEL_SECONDS_MIN INT64_C(-62135596800)
#define EK_CEL_SECONDS_MAX INT64_C(253402300799)

/* A date and time of day in the proleptic Gregorian calendar. */
struct ek_cel_civil {
    int64_t year;
    int month;    /* 1..12 */
    int day;      /* 1..31 */
    int year_day; /* 0..365 */
    int week_day; /* 0 is Sunday */
    int hour, minute, second;
};

/* Takes seconds since the epoch apart. */
void ek_cel_civil_of(int64_t seconds, struct ek_cel_civil *ret);

/*
 * Reads an RFC 3339 time with Go's leniencies: an hour of one digit, a comma before the fraction,
 * any number of fraction digits (nine count), offsets up to 24:60. False for anything else. The
 * value may be out of CEL's range.
 */
bool ek_cel_time_parse(const char *s, size_t len, struct ek_cel_val *ret);

/* Room for the texts below, with their NUL. */
#define EK_CEL_TIME_TEXT_MAX 64

/* Write text with a NUL into out and return the octets before it: a timestamp with its own offset
 * and no more fraction digits than it needs; a duration as decimal seconds ("0.0005s"), as CEL
 * does, or as Go does ("1h2m3.5s"). */
size_t ek_cel_time_text(const struct ek_cel_val *timestamp, char *out);
size_t ek_cel_duration_text(int64_t ns, char *out);
size_t ek_cel_duration_go(int64_t ns, char *out);

/* Reads "1h30m", "-1.5s", "0": signed decimals with units ns us µs ms s m h. False for anything
 * else or beyond int64 nanoseconds. */
bool ek_cel_duration_parse(const char *s, size_t len, int64_t *ret_ns);

/* ---- Time zones ------------------------------------------------------------------------------ */

/* The part of a TZif file that is used; data is borrowed. */
struct ek_cel_zone {
    struct ek_cel_zone *next; /* for owners of several */
    const char *name;
    const unsigned char *times; /* big-endian transition times, ascending */
    const unsigned char *kinds; /* of each transition, an entry of types */
    const unsigned char *types; /* 6 octets each: offset, daylight saving, abbreviation */
    const char *footer;         /* POSIX TZ rules for what comes after; footer_len octets */
    size_t footer_len;
    uint32_t n_times, n_types;
    uint32_t time_size; /* 4 or 8 */
};

#define EK_CEL_ZONE_FILE_MAX 16384 /* three times the largest there is */

/* Reads len octets of a TZif file of version 1, 2 or 3; false when they are malformed. */
bool ek_cel_zone_read(const unsigned char *data, size_t len, struct ek_cel_zone *ret);

/* Seconds east of UTC at an instant. */
int64_t ek_cel_zone_offset(const struct ek_cel_zone *zone, int64_t seconds);

/* Reads the zone of that name into arena. NULL with *ret_why (static; EK_CEL_ZONE_UNKNOWN when
 * there is none) when it cannot be had, or with *ret_why NULL without memory. */
#define EK_CEL_ZONE_UNKNOWN "unknown time zone"
struct ek_cel_zone *ek_cel_zone_load(struct ek_arena *arena, const char *name, size_t len,
                                     const char **ret_why);

#endif
