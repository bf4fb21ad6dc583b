/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code points of strings that are known to be valid UTF-8, as all CEL strings are. Not for hosts.
 */
#ifndef API_CEL_TEXT_RUNES_H
#define API_CEL_TEXT_RUNES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Octets of the code point that begins with first. */
static inline size_t ek_cel_rune_size(unsigned char first)
{
    return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* The code point at s, and its size in octets. */
uint32_t ek_cel_rune_at(const char *s, size_t *ret_size);

/* Writes a code point (no surrogate, at most U+10FFFF) to out, which has room for 4 octets; returns
 * how many it takes. */
size_t ek_cel_rune_write(uint32_t rune, char *out);

/* White space as Unicode has it (Go's unicode.IsSpace). */
bool ek_cel_rune_is_space(uint32_t rune);

/* The offset of code point number index in len octets, len itself for the number after the last;
 * SIZE_MAX beyond. Reads eight octets at a time. */
size_t ek_cel_rune_offset(const char *s, size_t len, uint64_t index);

#endif
