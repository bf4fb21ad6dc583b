/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/text/runes.h"

#include <string.h>

uint32_t ek_cel_rune_at(const char *s, size_t *ret_size)
{
    const unsigned char *p = (const unsigned char *)s;

    *ret_size = ek_cel_rune_size(p[0]);
    switch (*ret_size) {
    case 1:
        return p[0];
    case 2:
        return (uint32_t)(p[0] & 0x1f) << 6 | (p[1] & 0x3f);
    case 3:
        return (uint32_t)(p[0] & 0x0f) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
    default:
        return (uint32_t)(p[0] & 0x07) << 18 | (uint32_t)(p[1] & 0x3f) << 12 |
               (uint32_t)(p[2] & 0x3f) << 6 | (p[3] & 0x3f);
    }
}

size_t ek_cel_rune_write(uint32_t rune, char *out)
{
    if (rune < 0x80) {
        out[0] = (char)rune;
        return 1;
    }
    if (rune < 0x800) {
        out[0] = (char)(0xc0 | rune >> 6);
        out[1] = (char)(0x80 | (rune & 0x3f));
        return 2;
    }
    if (rune < 0x10000) {
        out[0] = (char)(0xe0 | rune >> 12);
        out[1] = (char)(0x80 | (rune >> 6 & 0x3f));
        out[2] = (char)(0x80 | (rune & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | rune >> 18);
    out[1] = (char)(0x80 | (rune >> 12 & 0x3f));
    out[2] = (char)(0x80 | (rune >> 6 & 0x3f));
    out[3] = (char)(0x80 | (rune & 0x3f));
    return 4;
}

/* Octets of word that do not begin a code point (10xxxxxx). */
static unsigned continuations(uint64_t word)
{
    return (unsigned)__builtin_popcountll(word >> 7 & ~word >> 6 & 0x0101010101010101u);
}

size_t ek_cel_rune_offset(const char *s, size_t len, uint64_t index)
{
    size_t at = 0;

    if (index > len)
        return SIZE_MAX;
    while (len - at >= 8 && index >= 8) {
        uint64_t word;

        memcpy(&word, s + at, 8);
        index -= 8 - continuations(word);
        at += 8;
    }
    while (at < len && ((unsigned char)s[at] & 0xc0) == 0x80)
        at++; /* the block ended inside a code point, which it has counted */
    for (; index > 0; index--) {
        if (at >= len)
            return SIZE_MAX;
        at += ek_cel_rune_size((unsigned char)s[at]);
    }
    return at;
}

bool ek_cel_rune_is_space(uint32_t rune)
{
    return (rune >= '\t' && rune <= '\r') || rune == ' ' || rune == 0x85 || rune == 0xa0 ||
           rune == 0x1680 || (rune >= 0x2000 && rune <= 0x200a) || rune == 0x2028 ||
           rune == 0x2029 || rune == 0x202f || rune == 0x205f || rune == 0x3000;
}
