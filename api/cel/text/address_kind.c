/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of address one is, and how it is written. */
#include <stdio.h>
#include <string.h>

#include "api/cel/text/address.h"

static unsigned group(const struct ek_cel_address *a, size_t i)
{
    return (unsigned)a->bytes[2 * i] << 8 | a->bytes[2 * i + 1];
}

/* Finds the longest run of zero groups, the first of several; at least two long. */
static size_t longest_zeros(const struct ek_cel_address *a, size_t *ret_len)
{
    size_t best = 8;

    *ret_len = 1;
    for (size_t i = 0; i < 8; i++) {
        size_t len = 0;
        while (i + len < 8 && group(a, i + len) == 0)
            len++;
        if (len > *ret_len) {
            best = i;
            *ret_len = len;
        }
    }
    return best;
}

size_t ek_cel_address_text(const struct ek_cel_address *a, char out[EK_CEL_ADDRESS_TEXT_MAX])
{
    const uint8_t *b = a->bytes;
    size_t run, len = 0, start = longest_zeros(a, &run);

    if (a->bits == 32)
        return (size_t)snprintf(out, EK_CEL_ADDRESS_TEXT_MAX, "%u.%u.%u.%u", b[0], b[1], b[2],
                                b[3]);
    if (ek_cel_address_is_mapped(a))
        return (size_t)snprintf(out, EK_CEL_ADDRESS_TEXT_MAX, "::ffff:%u.%u.%u.%u", b[12], b[13],
                                b[14], b[15]);
    for (size_t i = 0; i < 8; i++) {
        if (i == start) {
            len += (size_t)snprintf(out + len, EK_CEL_ADDRESS_TEXT_MAX - len, "::");
            i += run - 1;
            continue;
        }
        bool colon = i > 0 && i != start + run;
        len += (size_t)snprintf(out + len, EK_CEL_ADDRESS_TEXT_MAX - len, "%s%x", colon ? ":" : "",
                                group(a, i));
    }
    return len;
}

size_t ek_cel_prefix_text(const struct ek_cel_prefix *p, char out[EK_CEL_ADDRESS_TEXT_MAX])
{
    size_t len = ek_cel_address_text(&p->address, out);

    return len + (size_t)snprintf(out + len, EK_CEL_ADDRESS_TEXT_MAX - len, "/%u", p->length);
}

bool ek_cel_address_equal(const struct ek_cel_address *a, const struct ek_cel_address *b)
{
    return ek_cel_address_agrees(a, b, a->bits);
}

uint64_t ek_cel_address_hash(const struct ek_cel_address *a)
{
    uint64_t halves[2];

    memcpy(halves, a->bytes, sizeof halves);
    return halves[0] * 0x9E3779B97F4A7C15u + halves[1] + a->bits;
}

bool ek_cel_address_is_mapped(const struct ek_cel_address *a)
{
    static const uint8_t start[12] = {[10] = 0xff, [11] = 0xff};

    return a->bits == 128 && !memcmp(a->bytes, start, sizeof start);
}

bool ek_cel_address_is_unspecified(const struct ek_cel_address *a)
{
    static const uint8_t zeros[16];

    return !memcmp(a->bytes, zeros, a->bits / 8);
}

bool ek_cel_address_is_loopback(const struct ek_cel_address *a)
{
    static const uint8_t one[16] = {[15] = 1};

    return a->bits == 32 ? a->bytes[0] == 127 : !memcmp(a->bytes, one, 16);
}

bool ek_cel_address_is_link_local_multicast(const struct ek_cel_address *a)
{
    const uint8_t *b = a->bytes;

    return a->bits == 32 ? b[0] == 224 && b[1] == 0 && b[2] == 0
                         : b[0] == 0xff && (b[1] & 0x0f) == 0x02;
}

bool ek_cel_address_is_link_local_unicast(const struct ek_cel_address *a)
{
    const uint8_t *b = a->bytes;

    return a->bits == 32 ? b[0] == 169 && b[1] == 254 : b[0] == 0xfe && (b[1] & 0xc0) == 0x80;
}

static bool is_multicast(const struct ek_cel_address *a)
{
    return a->bits == 32 ? (a->bytes[0] & 0xf0) == 0xe0 : a->bytes[0] == 0xff;
}

static bool is_broadcast(const struct ek_cel_address *a)
{
    return a->bits == 32 && !memcmp(a->bytes, "\xff\xff\xff\xff", 4);
}

bool ek_cel_address_is_global_unicast(const struct ek_cel_address *a)
{
    return !is_broadcast(a) && !ek_cel_address_is_unspecified(a) &&
           !ek_cel_address_is_loopback(a) && !is_multicast(a) &&
           !ek_cel_address_is_link_local_unicast(a);
}

bool ek_cel_address_agrees(const struct ek_cel_address *a, const struct ek_cel_address *b,
                           unsigned bits)
{
    unsigned whole = bits / 8, left = bits % 8;

    if (a->bits != b->bits || memcmp(a->bytes, b->bytes, whole) != 0)
        return false;
    return left == 0 || (a->bytes[whole] ^ b->bytes[whole]) >> (8 - left) == 0;
}

struct ek_cel_prefix ek_cel_prefix_masked(const struct ek_cel_prefix *p)
{
    struct ek_cel_prefix ret = *p;
    unsigned whole = p->length / 8u, left = p->length % 8u;

    for (unsigned i = whole; i < 16; i++)
        ret.address.bytes[i] = 0;
    if (left)
        ret.address.bytes[whole] = (uint8_t)(p->address.bytes[whole] & 0xff << (8 - left));
    return ret;
}
