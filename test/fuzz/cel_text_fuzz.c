/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of CEL's conversions: numbers, timestamps and durations that are read are written as
 * something that reads as the same; and any octets are written as a number, a time, a length.
 */
#include <math.h>
#include <string.h>

#include "api/cel/text/number.h"
#include "api/cel/text/time.h"
#include "test/fuzz/fuzz.h"

static void check_number(const char *text, size_t size)
{
    char out[EK_CEL_DOUBLE_TEXT_MAX];
    double d, again;
    int64_t i;
    uint64_t u;
    bool b;

    if (ek_cel_parse_double(text, size, &d) && !isnan(d)) {
        fuzz_require(ek_cel_parse_double(out, ek_cel_double_g(d, out), &again) && again == d);
        if (isfinite(d))
            fuzz_require(ek_cel_parse_double(out, ek_cel_double_f(d, out), &again) && again == d);
    }
    if (ek_cel_parse_int(text, size, &i) && i >= 0)
        fuzz_require(*text == '+' || *text == '-' || ek_cel_parse_uint(text, size, &u));
    ek_cel_parse_bool(text, size, &b);
}

static void check_time(const char *text, size_t size)
{
    struct ek_cel_val v, again;
    char out[EK_CEL_TIME_TEXT_MAX];

    if (!ek_cel_time_parse(text, size, &v))
        return;
    size_t len = ek_cel_time_text(&v, out);
    fuzz_require(len < sizeof out && strlen(out) == len);
    /* what is beyond 24 hours is written, but not read */
    if (v.offset <= 24 * 60 && v.offset >= -24 * 60)
        fuzz_require(ek_cel_time_parse(out, len, &again) && again.i == v.i && again.n == v.n &&
                     again.offset == v.offset);
}

static void check_duration(const char *text, size_t size)
{
    char out[EK_CEL_TIME_TEXT_MAX];
    int64_t ns, again;

    if (!ek_cel_duration_parse(text, size, &ns))
        return;
    size_t len = ek_cel_duration_go(ns, out);
    fuzz_require(len < sizeof out && ek_cel_duration_parse(out, len, &again) && again == ns);
    fuzz_require(ek_cel_duration_text(ns, out) < sizeof out);
}

static void check_octets(const uint8_t *data, size_t size)
{
    char out[EK_CEL_DOUBLE_TEXT_MAX];
    struct ek_cel_civil civil;
    struct ek_cel_val v;
    int64_t any = 0;
    double d;

    memcpy(&any, data, size < sizeof any ? size : sizeof any);
    memcpy(&d, &any, sizeof d);
    fuzz_require(ek_cel_double_g(d, out) < sizeof out);
    fuzz_require(ek_cel_double_f(d, out) < sizeof out);
    fuzz_require(ek_cel_duration_go(any, out) < EK_CEL_TIME_TEXT_MAX);
    fuzz_require(ek_cel_duration_text(any, out) < EK_CEL_TIME_TEXT_MAX);
    v = ek_cel_timestamp(any % (EK_CEL_SECONDS_MAX + 1), (uint32_t)((uint64_t)any % 1000000000));
    v.offset = (int16_t)(any % 1500);
    fuzz_require(ek_cel_time_text(&v, out) < EK_CEL_TIME_TEXT_MAX);
    ek_cel_civil_of(v.i, &civil);
    fuzz_require(civil.month >= 1 && civil.month <= 12 && civil.day >= 1 && civil.day <= 31 &&
                 civil.week_day >= 0 && civil.week_day <= 6 && civil.year_day >= 0 &&
                 civil.year_day <= 365);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_number((const char *)data, size);
    check_time((const char *)data, size);
    check_duration((const char *)data, size);
    check_octets(data, size);
    return 0;
}
