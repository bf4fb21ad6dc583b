/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/err.h"
#include "api/base/mem.h"
#include "api/base/time.h"
#include "test/support/suite.h"

static const struct {
    const char *name;
    const char *text;
    int64_t ms;
} parse_rows[] = {
    {"epoch", "1970-01-01T00:00:00Z", 0},
    {"seconds", "2026-11-20T10:58:09Z", INT64_C(1795172289000)},
    {"small letters", "2026-11-20t10:58:09z", INT64_C(1795172289000)},
    {"milliseconds", "2026-11-20T10:58:09.123Z", INT64_C(1795172289123)},
    {"microseconds are cut", "2026-11-20T10:58:09.123999Z", INT64_C(1795172289123)},
    {"one digit of a fraction", "2026-11-20T10:58:09.5Z", INT64_C(1795172289500)},
    {"nanoseconds", "2026-11-20T10:58:09.000000001Z", INT64_C(1795172289000)},
    {"ahead of UTC", "2026-11-20T12:28:09+01:30", INT64_C(1795172289000)},
    {"behind UTC", "2026-11-20T02:58:09-08:00", INT64_C(1795172289000)},
    {"leap day", "2024-02-29T00:00:00Z", INT64_C(1709164800000)},
    {"leap day of a century", "2000-02-29T00:00:00Z", INT64_C(951782400000)},
    {"before the epoch", "1969-12-31T23:59:59.250Z", -750},
    {"long before", "0001-01-01T00:00:00Z", INT64_C(-62135596800000)},
    {"last of all", "9999-12-31T23:59:59Z", INT64_C(253402300799000)},
    {"no leap year", "2023-02-29T00:00:00Z", EK_TIME_UNSET},
    {"no leap century", "1900-02-29T00:00:00Z", EK_TIME_UNSET},
    {"31 April", "2023-04-31T00:00:00Z", EK_TIME_UNSET},
    {"month 13", "2023-13-01T00:00:00Z", EK_TIME_UNSET},
    {"hour 24", "2023-01-01T24:00:00Z", EK_TIME_UNSET},
    {"minute 60", "2023-01-01T00:60:00Z", EK_TIME_UNSET},
    {"leap second", "2016-12-31T23:59:60Z", EK_TIME_UNSET},
    {"first of all", "0000-01-01T00:00:00Z", INT64_C(-62167219200000)},
    {"before the first", "0000-01-01T00:00:00+00:01", EK_TIME_UNSET},
    {"behind the last", "9999-12-31T23:59:59-00:01", EK_TIME_UNSET},
    {"no zone", "2023-01-01T00:00:00", EK_TIME_UNSET},
    {"no digits in the fraction", "2023-01-01T00:00:00.Z", EK_TIME_UNSET},
    {"zone without colon", "2023-01-01T00:00:00+0100", EK_TIME_UNSET},
    {"zone too large", "2023-01-01T00:00:00+24:00", EK_TIME_UNSET},
    {"more behind", "2023-01-01T00:00:00Z ", EK_TIME_UNSET},
    {"blank", "2023-01-01 00:00:00Z", EK_TIME_UNSET},
    {"date only", "2023-01-01", EK_TIME_UNSET},
    {"short year", "23-01-01T00:00:00Z", EK_TIME_UNSET},
    {"sign", "-023-01-01T00:00:00Z", EK_TIME_UNSET},
    {"empty", "", EK_TIME_UNSET},
    {"absent", NULL, EK_TIME_UNSET},
    {"word", "yesterday", EK_TIME_UNSET},
};

START_TEST(times_parse)
{
    int64_t got = ek_time_parse(parse_rows[_i].text);
    ck_assert_msg(got == parse_rows[_i].ms, "%s: %lld", parse_rows[_i].name, (long long)got);
}
END_TEST

static const struct {
    const char *name;
    int64_t ms;
    const char *seconds, *micro;
} format_rows[] = {
    {"epoch", 0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"},
    {"milliseconds", INT64_C(1795172289123), "2026-11-20T10:58:09Z", "2026-11-20T10:58:09.123000Z"},
    {"before the epoch", -750, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.250000Z"},
    {"leap day", INT64_C(1709251199999), "2024-02-29T23:59:59Z", "2024-02-29T23:59:59.999000Z"},
    {"new year", INT64_C(1704067200000), "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.000000Z"},
};

START_TEST(times_format)
{
    char text[EK_TIME_SIZE];

    ck_assert_msg(!strcmp(ek_time_format(format_rows[_i].ms, text), format_rows[_i].seconds),
                  "%s: %s", format_rows[_i].name, text);
    ck_assert_msg(!strcmp(ek_time_format_micro(format_rows[_i].ms, text), format_rows[_i].micro),
                  "%s: %s", format_rows[_i].name, text);
    ck_assert_int_eq(ek_time_parse(text), format_rows[_i].ms);
}
END_TEST

START_TEST(every_day_comes_back)
{
    char text[EK_TIME_SIZE];
    const int64_t day = 86400000;

    for (int64_t ms = INT64_C(-62135596800000); ms < INT64_C(253402300800000); ms += 17 * day + 1)
        ck_assert_int_eq(ek_time_parse(ek_time_format_micro(ms, text)), ms);
}
END_TEST

START_TEST(any_instant_fits_the_buffer)
{
    char text[EK_TIME_SIZE];

    ck_assert_uint_lt(strlen(ek_time_format_micro(INT64_MAX, text)), sizeof text);
    ck_assert_uint_lt(strlen(ek_time_format_micro(INT64_MIN, text)), sizeof text);
    ck_assert_uint_lt(strlen(ek_duration_human(INT64_MAX, text)), sizeof text);
}
END_TEST

static const struct {
    const char *name;
    int64_t ms;
    const char *want;
} human_rows[] = {
    {"nothing", 0, "0s"},
    {"below a second", 999, "0s"},
    {"negative", -5000, "0s"},
    {"seconds", 119999, "119s"},
    {"two minutes", 120000, "2m"},
    {"minutes and seconds", 190000, "3m10s"},
    {"last with seconds", 599000, "9m59s"},
    {"ten minutes", 605000, "10m"},
    {"minutes", 10740000, "179m"},
    {"three hours", 10800000, "3h"},
    {"hours and minutes", 11100000, "3h5m"},
    {"eight hours", 29100000, "8h"},
    {"hours", INT64_C(169200000), "47h"},
    {"two days", INT64_C(172800000), "2d"},
    {"days and hours", INT64_C(176400000), "2d1h"},
    {"eight days", INT64_C(694800000), "8d"},
    {"days", INT64_C(62985600000), "729d"},
    {"two years", INT64_C(63072000000), "2y"},
    {"years and days", INT64_C(63158400000), "2y1d"},
    {"years", INT64_C(252374400000), "8y"},
};

START_TEST(durations_are_printed_for_people)
{
    char text[EK_TIME_SIZE];
    ck_assert_msg(!strcmp(ek_duration_human(human_rows[_i].ms, text), human_rows[_i].want),
                  "%s: %s", human_rows[_i].name, text);
}
END_TEST

static const struct {
    const char *name;
    const char *text;
    int rc;
    int64_t ms;
} duration_rows[] = {
    {"seconds", "10s", 0, 10000},
    {"fraction", "1.5s", 0, 1500},
    {"milliseconds", "500ms", 0, 500},
    {"several units", "2m30s", 0, 150000},
    {"all units", "1h2m3s4ms5us6ns", 0, 3723004},
    {"micro sign", "1500\xc2\xb5s", 0, 2},
    {"Greek mu", "1500\xce\xbcs", 0, 2},
    {"zero", "0", 0, 0},
    {"negative", "-1.5h", 0, -5400000},
    {"plus", "+1s", 0, 1000},
    {"fraction without a whole", ".5s", 0, 500},
    {"fraction without digits", "1.s", 0, 1000},
    {"no unit", "10", EK_E_PARSE, 0},
    {"no number", "s", EK_E_PARSE, 0},
    {"point only", ".s", EK_E_PARSE, 0},
    {"two points", "1.2.3s", EK_E_PARSE, 0},
    {"unknown unit", "1d", EK_E_PARSE, 0},
    {"blank", "1 s", EK_E_PARSE, 0},
    {"sign only", "-", EK_E_PARSE, 0},
    {"empty", "", EK_E_PARSE, 0},
    {"absent", NULL, EK_E_PARSE, 0},
    {"too large", "2562048h", EK_E_PARSE, 0},
    {"far too large", "99999999999999999999999h", EK_E_PARSE, 0},
    {"too many digits", "0.0000000000000000000000000000000001s", EK_E_PARSE, 0},
};

START_TEST(durations_parse)
{
    int64_t ms = 0;
    int rc = ek_duration_parse(duration_rows[_i].text, &ms);
    ck_assert_msg(rc == duration_rows[_i].rc && ms == duration_rows[_i].ms, "%s: %d, %lld",
                  duration_rows[_i].name, rc, (long long)ms);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("time");

    tcase_add_loop_test(tcase, times_parse, 0, EK_ARRAY_SIZE(parse_rows));
    tcase_add_loop_test(tcase, times_format, 0, EK_ARRAY_SIZE(format_rows));
    tcase_add_test(tcase, every_day_comes_back);
    tcase_add_test(tcase, any_instant_fits_the_buffer);
    tcase_add_loop_test(tcase, durations_are_printed_for_people, 0, EK_ARRAY_SIZE(human_rows));
    tcase_add_loop_test(tcase, durations_parse, 0, EK_ARRAY_SIZE(duration_rows));
    return ek_test_run("time", tcase);
}
