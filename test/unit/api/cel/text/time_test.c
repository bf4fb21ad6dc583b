/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/cel/text/time.h"
#include "test/support/suite.h"

/* Answers of Go's time.Parse with RFC 3339, written with RFC3339Nano. */
static const struct {
    const char *text, *want; /* NULL where it is refused */
    int64_t seconds;
} times[] = {
    {"1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", 0},
    {"2024-02-29T12:34:56Z", "2024-02-29T12:34:56Z", 1709210096},
    {"2024-02-29T12:34:56.5Z", "2024-02-29T12:34:56.5Z", 1709210096},
    {"2024-02-29T12:34:56,25Z", "2024-02-29T12:34:56.25Z", 1709210096},
    {"2024-02-29T12:34:56.1234567891Z", "2024-02-29T12:34:56.123456789Z", 1709210096},
    {"2024-02-29T12:34:56.000Z", "2024-02-29T12:34:56Z", 1709210096},
    {"2024-02-29T9:34:56Z", "2024-02-29T09:34:56Z", 1709199296},
    {"2024-01-01T00:00:00+05:30", "2024-01-01T00:00:00+05:30", 1704047400},
    {"2024-01-01T00:00:00-00:30", "2024-01-01T00:00:00-00:30", 1704069000},
    {"2024-01-01T00:00:00+00:00", "2024-01-01T00:00:00Z", 1704067200},
    {"2024-01-01T00:00:00+24:60", "2024-01-01T00:00:00+25:00", 1703977200},
    {"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", EK_CEL_SECONDS_MIN},
    {"9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z", EK_CEL_SECONDS_MAX},
    {"0000-02-29T00:00:00Z", "0000-02-29T00:00:00Z", -62162121600},
    {"1900-02-28T23:59:59Z", "1900-02-28T23:59:59Z", -2203891201},
    {"", NULL, 0},
    {"2024-01-01", NULL, 0},
    {"2024-01-01T00:00:00", NULL, 0},
    {"2024-01-01t00:00:00Z", NULL, 0},
    {"2024-01-01T00:00:00z", NULL, 0},
    {"2024-01-01 00:00:00Z", NULL, 0},
    {"2024-1-01T00:00:00Z", NULL, 0},
    {"2024-13-01T00:00:00Z", NULL, 0},
    {"2024-00-01T00:00:00Z", NULL, 0},
    {"2023-02-29T00:00:00Z", NULL, 0},
    {"1900-02-29T00:00:00Z", NULL, 0},
    {"2024-01-01T24:00:00Z", NULL, 0},
    {"2024-01-01T00:60:00Z", NULL, 0},
    {"2024-01-01T00:00:60Z", NULL, 0},
    {"2024-01-01T00:0:00Z", NULL, 0},
    {"2024-01-01T00:00:00.Z", NULL, 0},
    {"2024-01-01T00:00:00+25:00", NULL, 0},
    {"2024-01-01T00:00:00+00:61", NULL, 0},
    {"2024-01-01T00:00:00+0530", NULL, 0},
    {"2024-01-01T00:00:00 05:30", NULL, 0},
    {"2024-01-01T00:00:00Z ", NULL, 0},
    {"12024-01-01T00:00:00Z", NULL, 0},
    {"+024-01-01T00:00:00Z", NULL, 0},
};

START_TEST(timestamps_are_read_and_written)
{
    const char *text = times[_i].text, *want = times[_i].want;
    char out[EK_CEL_TIME_TEXT_MAX];
    struct ek_cel_val v;

    bool read = ek_cel_time_parse(text, strlen(text), &v);
    ck_assert_msg(read == (want != NULL), "%s: %s", text, read ? "read" : "refused");
    if (!read)
        return;
    ck_assert_msg(v.i == times[_i].seconds, "%s: %" PRId64, text, v.i);
    size_t len = ek_cel_time_text(&v, out);
    ck_assert_msg(!strcmp(out, want) && len == strlen(out), "%s: %s, not %s", text, out, want);
}
END_TEST

static const struct {
    int64_t seconds, ns;
    int offset;
    const char *want;
} far[] = {
    {EK_CEL_SECONDS_MAX, 999999999, 300, "10000-01-01T04:59:59.999999999+05:00"},
    {EK_CEL_SECONDS_MIN, 1, -60, "0000-12-31T23:00:00.000000001-01:00"},
    {-1, 500000000, 0, "1969-12-31T23:59:59.5Z"},
};

START_TEST(local_years_may_leave_the_range)
{
    struct ek_cel_val v = ek_cel_timestamp(far[_i].seconds, (uint32_t)far[_i].ns);
    char out[EK_CEL_TIME_TEXT_MAX];

    v.offset = (int16_t)far[_i].offset;
    ek_cel_time_text(&v, out);
    ck_assert_str_eq(out, far[_i].want);
}
END_TEST

START_TEST(the_calendar_agrees_with_the_system)
{
    for (int64_t s = EK_CEL_SECONDS_MIN; s <= EK_CEL_SECONDS_MAX; s += 86400 * 13 + 12345) {
        struct ek_cel_civil c;
        struct tm tm;
        time_t t = s;

        ek_cel_civil_of(s, &c);
        gmtime_r(&t, &tm);
        ck_assert_msg(c.year == tm.tm_year + 1900 && c.month == tm.tm_mon + 1 &&
                          c.day == tm.tm_mday && c.year_day == tm.tm_yday &&
                          c.week_day == tm.tm_wday && c.hour == tm.tm_hour &&
                          c.minute == tm.tm_min && c.second == tm.tm_sec,
                      "%" PRId64, s);
    }
}
END_TEST

#define NONE INT64_C(424242)

/* Answers of Go's time.ParseDuration. */
static const struct {
    const char *text;
    int64_t ns; /* NONE where it is refused */
    const char *cel, *go;
} durations[] = {
    {"0", 0, "0s", "0s"},
    {"-0", 0, "0s", "0s"},
    {"+0s", 0, "0s", "0s"},
    {"1h", 3600000000000, "3600s", "1h0m0s"},
    {"1h30m5.5s", 5405500000000, "5405.5s", "1h30m5.5s"},
    {"-1.5s", -1500000000, "-1.5s", "-1.5s"},
    {"1.s", 1000000000, "1s", "1s"},
    {".5s", 500000000, "0.5s", "500ms"},
    {"500us", 500000, "0.0005s", "500\u00b5s"},
    {"1.5\u00b5s", 1500, "0.0000015s", "1.5\u00b5s"},
    {"1\u03bcs", 1000, "0.000001s", "1\u00b5s"},
    {"1ns", 1, "0.000000001s", "1ns"},
    {"1ms1ms", 2000000, "0.002s", "2ms"},
    {"0.1ns", 0, "0s", "0s"},
    {"0.33333333333333333333h", 1200000000000, "1200s", "20m0s"},
    {"2562047h47m16.854775807s", INT64_MAX, "9223372036.854776s", "2562047h47m16.854775807s"},
    {"-2562047h47m16.854775808s", INT64_MIN, "-9223372036.854776s", "-2562047h47m16.854775808s"},
    {"9223372036854775807ns", INT64_MAX, "9223372036.854776s", "2562047h47m16.854775807s"},
    {"2562047h47m16.854775808s", NONE, NULL, NULL},
    {"9223372036854775809ns", NONE, NULL, NULL},
    {"3000000h", NONE, NULL, NULL},
    {"99999999999999999999h", NONE, NULL, NULL},
    {"", NONE, NULL, NULL},
    {"-", NONE, NULL, NULL},
    {"1", NONE, NULL, NULL},
    {"00", NONE, NULL, NULL},
    {"s", NONE, NULL, NULL},
    {".s", NONE, NULL, NULL},
    {"1d", NONE, NULL, NULL},
    {"1 h", NONE, NULL, NULL},
    {"1h ", NONE, NULL, NULL},
    {"1H", NONE, NULL, NULL},
    {"1h-1m", NONE, NULL, NULL},
    {"--1s", NONE, NULL, NULL},
    {"1e3s", NONE, NULL, NULL},
};

START_TEST(durations_are_read_and_written)
{
    const char *text = durations[_i].text;
    char out[EK_CEL_TIME_TEXT_MAX];
    int64_t ns = NONE;

    if (!ek_cel_duration_parse(text, strlen(text), &ns))
        ns = NONE;
    ck_assert_msg(ns == durations[_i].ns, "%s: %" PRId64, text, ns);
    if (ns == NONE)
        return;
    ek_cel_duration_text(ns, out);
    ck_assert_msg(!strcmp(out, durations[_i].cel), "%s: %s", text, out);
    ek_cel_duration_go(ns, out);
    ck_assert_msg(!strcmp(out, durations[_i].go), "%s: %s", text, out);
}
END_TEST

/* ---- Zones ----------------------------------------------------------------------------------- */

#define HOUR INT64_C(3600)

/* Answers of Go's time.LoadLocation over the system's database. */
static const struct {
    const char *zone, *time;
    int64_t offset;
} zones[] = {
    {"America/New_York", "2024-07-01T00:00:00Z", -4 * HOUR},
    {"America/New_York", "2024-01-01T00:00:00Z", -5 * HOUR},
    {"America/New_York", "2024-03-10T06:59:59Z", -5 * HOUR},
    {"America/New_York", "2024-03-10T07:00:00Z", -4 * HOUR},
    {"America/New_York", "2024-11-03T05:59:59Z", -4 * HOUR},
    {"America/New_York", "2024-11-03T06:00:00Z", -5 * HOUR},
    {"America/New_York", "2090-07-01T00:00:00Z", -4 * HOUR},
    {"America/New_York", "2090-12-01T00:00:00Z", -5 * HOUR},
    {"America/New_York", "1800-01-01T00:00:00Z", -17762},
    {"Asia/Kolkata", "2024-07-01T00:00:00Z", 19800},
    {"Australia/Lord_Howe", "2024-07-01T00:00:00Z", 37800},
    {"Australia/Lord_Howe", "2090-01-01T00:00:00Z", 39600},
    {"Etc/GMT+5", "2024-07-01T00:00:00Z", -18000},
    {"Europe/London", "2024-07-01T00:00:00Z", HOUR},
    {"Europe/Dublin", "2090-07-01T00:00:00Z", HOUR},
    {"Europe/Dublin", "2090-01-01T00:00:00Z", 0},
    {"EST5EDT", "2024-07-01T00:00:00Z", -14400},
};

START_TEST(zones_of_the_system_are_known)
{
    const char *name = zones[_i].zone, *why = NULL;
    struct ek_arena *arena = ek_arena_new(1000000);
    struct ek_cel_val v;

    if (access("/usr/share/zoneinfo/America/New_York", R_OK) != 0) {
        ek_arena_free(arena);
        return; /* no database here */
    }
    ck_assert(ek_cel_time_parse(zones[_i].time, strlen(zones[_i].time), &v));
    struct ek_cel_zone *zone = ek_cel_zone_load(arena, name, strlen(name), &why);
    ck_assert_msg(zone != NULL, "%s: %s", name, why);
    int64_t offset = ek_cel_zone_offset(zone, v.i);
    ck_assert_msg(offset == zones[_i].offset, "%s at %s: %" PRId64, name, zones[_i].time, offset);
    ek_arena_free(arena);
}
END_TEST

static const struct {
    const char *name, *why;
} no_zones[] = {
    {"Nope/Zone", EK_CEL_ZONE_UNKNOWN},
    {"", EK_CEL_ZONE_UNKNOWN},
    {"America", EK_CEL_ZONE_UNKNOWN}, /* a directory */
};

START_TEST(zones_that_are_none_are_refused)
{
    struct ek_arena *arena = ek_arena_new(1000000);
    char name[400];
    const char *why = NULL;

    ck_assert(!ek_cel_zone_load(arena, no_zones[_i].name, strlen(no_zones[_i].name), &why));
    ck_assert_str_eq(why, no_zones[_i].why);
    memset(name, 'a', sizeof name);
    ck_assert(!ek_cel_zone_load(arena, name, sizeof name, &why));
    ck_assert_str_eq(why, EK_CEL_ZONE_UNKNOWN);
    ck_assert(!ek_cel_zone_load(arena, "UTC\0x", 5, &why));
    ck_assert_str_eq(why, EK_CEL_ZONE_UNKNOWN);
    ek_arena_free(arena);
}
END_TEST

#define FILE_SIZE 256

/* A file of version 2 without transitions: one type, offset 0, and the footer. */
static size_t make_file(const char *footer, unsigned char out[FILE_SIZE])
{
    static const unsigned char header[44] = {
        'T', 'Z', 'i', 'f', '2', [39] = 1 /* type */, [43] = 4 /* octets of abbreviations */
    };
    static const unsigned char body[10] = {0, 0, 0, 0, 0, 0, 'U', 'T', 'C', 0};
    size_t n = 0;

    for (int version = 1; version <= 2; version++) {
        memcpy(out + n, header, sizeof header);
        memcpy(out + n + sizeof header, body, sizeof body);
        n += sizeof header + sizeof body;
    }
    return n + (size_t)snprintf((char *)out + n, FILE_SIZE - n, "\n%s\n", footer);
}

static const struct {
    const char *footer, *time;
    int64_t offset;
} footers[] = {
    {"UTC0", "2024-07-01T00:00:00Z", 0},
    {"<+0330>-3:30", "2024-07-01T00:00:00Z", 12600},
    {"ABC1:02:03", "2024-07-01T00:00:00Z", -3723},
    {"EST5EDT", "2024-07-01T00:00:00Z", -14400}, /* rules of the United States */
    {"EST5EDT", "2024-12-01T00:00:00Z", -18000},
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2024-03-31T00:59:59Z", HOUR},
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2024-03-31T01:00:00Z", 7200},
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2024-10-27T00:59:59Z", 7200},
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2024-10-27T01:00:00Z", HOUR},
    {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2024-01-01T00:00:00Z", 39600}, /* south */
    {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2024-07-01T00:00:00Z", 36000},
    {"AAA0BBB,J60,J61", "2024-03-01T12:00:00Z", HOUR}, /* day 60 is March 1 in leap years too */
    {"AAA0BBB,J60,J61", "2024-02-29T12:00:00Z", 0},
    {"AAA0BBB,59,60", "2024-02-29T12:00:00Z", HOUR}, /* counted from 0, with February 29 */
    {"AAA0BBB-3,0/0,364/24", "2023-06-01T00:00:00Z", 10800},
    {"AAA0BBB,M1.1.1/-2,M1.1.2", "2024-01-01T00:00:00Z", HOUR},
    {"AAA0BBB;0/0,1/0", "2024-01-01T00:00:00Z", 0}, /* not read: falls back to the type */
    {"AA0", "2024-01-01T00:00:00Z", 0},
    {"AAA99999", "2024-01-01T00:00:00Z", 0},
    {"AAA-5BBB,M13.1.0,M4.1.0", "2024-01-01T00:00:00Z", 0},
    {"AAA-5BBB,M1.1.0", "2024-01-01T00:00:00Z", 0},
    {"AAA-5BBB,M1.1.0,M2.1.0x", "2024-01-01T00:00:00Z", 0},
    {"<AAA-5", "2024-01-01T00:00:00Z", 0},
};

START_TEST(footers_say_what_comes_after)
{
    unsigned char file[FILE_SIZE];
    struct ek_cel_zone zone;
    struct ek_cel_val v;
    size_t len = make_file(footers[_i].footer, file);

    ck_assert(ek_cel_zone_read(file, len, &zone));
    ck_assert(ek_cel_time_parse(footers[_i].time, strlen(footers[_i].time), &v));
    int64_t offset = ek_cel_zone_offset(&zone, v.i);
    ck_assert_msg(offset == footers[_i].offset, "%s at %s: %" PRId64, footers[_i].footer,
                  footers[_i].time, offset);
}
END_TEST

START_TEST(cut_files_are_malformed)
{
    unsigned char file[FILE_SIZE], *exact;
    struct ek_cel_zone zone;
    size_t len = make_file("UTC0", file) - 6;

    for (size_t n = 0; n <= len; n++) { /* in memory of that size, for a sanitizer to watch */
        exact = malloc(n ? n : 1);
        memcpy(exact, file, n);
        ck_assert_msg(ek_cel_zone_read(exact, n, &zone) == (n == len), "%zu octets", n);
        free(exact);
    }
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("cel_time");

    tcase_add_loop_test(tcase, timestamps_are_read_and_written, 0, sizeof times / sizeof *times);
    tcase_add_loop_test(tcase, local_years_may_leave_the_range, 0, sizeof far / sizeof *far);
    tcase_add_test(tcase, the_calendar_agrees_with_the_system);
    tcase_add_loop_test(tcase, durations_are_read_and_written, 0,
                        sizeof durations / sizeof *durations);
    tcase_add_loop_test(tcase, zones_of_the_system_are_known, 0, sizeof zones / sizeof *zones);
    tcase_add_loop_test(tcase, zones_that_are_none_are_refused, 0,
                        sizeof no_zones / sizeof *no_zones);
    tcase_add_loop_test(tcase, footers_say_what_comes_after, 0, sizeof footers / sizeof *footers);
    tcase_add_test(tcase, cut_files_are_malformed);
    return ek_test_run("cel_time", tcase);
}
