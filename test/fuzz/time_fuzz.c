/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times and lengths of time: what is read is written as something that reads as the same.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/base/err.h"
#include "api/base/mem.h"
#include "api/base/time.h"
#include "test/fuzz/fuzz.h"

static void check_time(const char *text)
{
    int64_t ms = ek_time_parse(text);
    char buf[EK_TIME_SIZE];

    if (ms == EK_TIME_UNSET)
        return;
    fuzz_require(ek_time_parse(ek_time_format_micro(ms, buf)) == ms);
    int64_t whole = ek_time_parse(ek_time_format(ms, buf));
    fuzz_require(whole != EK_TIME_UNSET && whole <= ms && ms - whole < 1000);
}

static void check_duration(const char *text)
{
    int64_t ms = 0, again = 0;
    char buf[EK_TIME_SIZE];

    int rc = ek_duration_parse(text, &ms);
    fuzz_require(rc == 0 || rc == EK_E_PARSE);
    if (rc)
        return;
    snprintf(buf, sizeof buf, "%" PRId64 "ms", ms);
    fuzz_require(ek_duration_parse(buf, &again) == 0 && again == ms);
    fuzz_require(*ek_duration_human(ms, buf) != '\0' && strlen(buf) < EK_TIME_SIZE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    EK_AUTOFREE char *text = ek_xstrndup((const char *)data, size);
    char buf[EK_TIME_SIZE];
    int64_t any = 0;

    check_time(text);
    check_duration(text);
    /* Any instant can be written, also one that no text stands for. */
    memcpy(&any, data, size < sizeof any ? size : sizeof any);
    fuzz_require(strlen(ek_time_format(any, buf)) < EK_TIME_SIZE);
    fuzz_require(strlen(ek_time_format_micro(any, buf)) < EK_TIME_SIZE);
    fuzz_require(strlen(ek_duration_human(any, buf)) < EK_TIME_SIZE);
    return 0;
}
