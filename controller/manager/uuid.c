/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/manager/uuid.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

static void random_bytes(void *to, size_t n)
{
    /* Up to 256 bytes come whole or not at all once the kernel's pool is ready. */
    if (getrandom(to, n, 0) != (ssize_t)n) {
        fputs("evenkeel: the kernel gives no random bytes\n", stderr);
        abort();
    }
}

const char *ek_uuid_make(char buf[EK_UUID_SIZE])
{
    uint8_t b[16];

    random_bytes(b, sizeof b);
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    snprintf(buf, EK_UUID_SIZE,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
             b[15]);
    return buf;
}

uint64_t ek_uuid_seed(void)
{
    uint64_t seed;
    random_bytes(&seed, sizeof seed);
    return seed;
}
