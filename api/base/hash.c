/* SPDX-License-Identifier: Apache-2.0 */
#include "api/base/hash.h"

#include <string.h>
#include <sys/random.h>

/* Two threads that draw at once would disagree, so the constructor draws the key before there is a
 * second thread. */
static uint64_t hash_key[2] = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};

__attribute__((constructor)) static void draw_hash_key(void)
{
    uint64_t drawn[2];

    if (getrandom(drawn, sizeof drawn, GRND_NONBLOCK) == (ssize_t)sizeof drawn)
        memcpy(hash_key, drawn, sizeof hash_key);
}

static uint64_t rotl(uint64_t x, unsigned n)
{
    return x << n | x >> (64 - n);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotl(v[1], 13) ^ v[0];
    v[0] = rotl(v[0], 32);
    v[2] += v[3];
    v[3] = rotl(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotl(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotl(v[1], 17) ^ v[2];
    v[2] = rotl(v[2], 32);
}

/* Words are read in the machine's own byte order. */
uint64_t ek_hash(const void *data, size_t len)
{
    const char *key = data;
    uint64_t v[4] = {hash_key[0] ^ 0x736f6d6570736575u, hash_key[1] ^ 0x646f72616e646f6du,
                     hash_key[0] ^ 0x6c7967656e657261u, hash_key[1] ^ 0x7465646279746573u};
    uint64_t word;
    size_t left = len;

    for (; left >= sizeof word; left -= sizeof word, key += sizeof word) {
        memcpy(&word, key, sizeof word);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    word = (uint64_t)len << 56;
    if (left)
        memcpy(&word, key, left);
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
