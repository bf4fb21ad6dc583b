/* SPDX-License-Identifier: Apache-2.0 */
/* Characters of ASCII, in any locale. */
#ifndef API_BASE_ASCII_H
#define API_BASE_ASCII_H

#include <stdbool.h>

/* True for 0 to 9. c is a char, or an int that may be beyond all characters (-1 at the end). */
static inline bool ek_is_digit(int c)
{
    return c >= '0' && c <= '9';
}

/* The value of a hexadecimal digit of either case, -1 for all else; c as above. */
static inline int ek_hex_digit(int c)
{
    if (ek_is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
