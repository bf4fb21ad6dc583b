/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TZif files: whatever is read as one has an offset at any instant, and one that a clock can show
 * unless the file itself says otherwise. The first eight octets are an instant, the rest the file.
 */
#include <string.h>

#include "api/cel/text/time.h"
#include "test/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t instants[] = {EK_CEL_SECONDS_MIN, -1,         0,
                                       1700000000,         4000000000, EK_CEL_SECONDS_MAX};
    struct ek_cel_zone zone;
    struct ek_cel_civil civil;
    int64_t instant;

    if (size < sizeof instant)
        return 0;
    memcpy(&instant, data, sizeof instant);
    instant %= EK_CEL_SECONDS_MAX + 1;
    if (!ek_cel_zone_read(data + sizeof instant, size - sizeof instant, &zone))
        return 0;
    for (size_t i = 0; i <= sizeof instants / sizeof *instants; i++) {
        int64_t at = i ? instants[i - 1] : instant;
        int64_t offset = ek_cel_zone_offset(&zone, at);
        fuzz_require(offset >= INT32_MIN && offset <= INT32_MAX);
        ek_cel_civil_of(at + offset, &civil);
        fuzz_require(civil.hour >= 0 && civil.hour < 24);
    }
    return 0;
}
