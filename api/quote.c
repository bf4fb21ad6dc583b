/* SPDX-License-Identifier: Apache-2.0 */
#include "api/quote.h"

#include <stdbool.h>
#include <stdint.h>

/* Unicode ranges that never print: categories Z (but the ASCII blank) and C, without the holes
 * of unassigned code points inside otherwise assigned blocks. In order. */
static const struct {
    uint32_t first, last;
} unprintable[] = {
    {0x0, 0x1f},         {0x7f, 0xa0},       {0xad, 0xad},       {0x600, 0x605},
    {0x61c, 0x61c},      {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},
    {0x8e2, 0x8e2},      {0x1680, 0x1680},   {0x180e, 0x180e},   {0x2000, 0x200f},
    {0x2028, 0x202f},    {0x205f, 0x206f},   {0x3000, 0x3000},   {0xd800, 0xf8ff},
    {0xfdd0, 0xfdef},    {0xfeff, 0xfeff},   {0xfff0, 0xfffb},   {0xfffe, 0xffff},
    {0x110bd, 0x110bd},  {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a},  {0x1fffe, 0x1ffff}, {0x2fa1e, 0x2ffff}, {0x323b0, 0xe00ff},
    {0xe01f0, 0x10ffff},
};

static bool printable(uint32_t rune)
{
    size_t low = 0, high = EK_ARRAY_SIZE(unprintable);

    while (low < high) {
        size_t mid = (low + high) / 2;
        if (rune > unprintable[mid].last)
            low = mid + 1;
        else
            high = mid;
    }
    return low == EK_ARRAY_SIZE(unprintable) || rune < unprintable[low].first;
}

size_t ek_utf8_decode(struct ek_str s, unsigned *ret_rune)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)s.p;
    size_t len;

    if (p[0] < 0x80) {
        *ret_rune = p[0];
        return 1;
    }
    if ((p[0] & 0xe0) == 0xc0)
        len = 2;
    else if ((p[0] & 0xf0) == 0xe0)
        len = 3;
    else if ((p[0] & 0xf8) == 0xf0)
        len = 4;
    else
        return 0;
    if (len > s.len)
        return 0;
    uint32_t rune = p[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        rune = rune << 6 | (p[i] & 0x3fu);
    }
    if (rune < least[len] || rune > 0x10ffff || (rune >= 0xd800 && rune <= 0xdfff))
        return 0;
    *ret_rune = rune;
    return len;
}

size_t ek_utf8_cut(struct ek_str s, size_t max)
{
    if (s.len <= max)
        return s.len;
    size_t cut = max;
    while (cut > 0 && max - cut < 4 && ((unsigned char)s.p[cut] & 0xc0) == 0x80)
        cut--;
    return cut;
}

static const char *short_escape(uint32_t rune)
{
    static const char *const names[] = {"\\a", "\\b", "\\t", "\\n", "\\v", "\\f", "\\r"};

    if (rune == '"')
        return "\\\"";
    if (rune == '\\')
        return "\\\\";
    return rune >= 7 && rune <= 13 ? names[rune - 7] : NULL;
}

static void quote_rune(struct ek_buf *out, uint32_t rune, struct ek_str raw)
{
    const char *escape = short_escape(rune);

    if (escape)
        ek_buf_puts(out, escape);
    else if (printable(rune))
        ek_buf_append(out, raw.p, raw.len);
    else if (rune < 0x80)
        ek_buf_printf(out, "\\x%02x", rune);
    else if (rune < 0x10000)
        ek_buf_printf(out, "\\u%04x", rune);
    else
        ek_buf_printf(out, "\\U%08x", rune);
}

int ek_quote_inner(struct ek_buf *out, struct ek_str s)
{
    while (s.len > 0 && !out->failed) {
        unsigned rune;
        size_t len = ek_utf8_decode(s, &rune);
        if (len > 0) {
            quote_rune(out, rune, (struct ek_str){s.p, len});
        } else {
            ek_buf_printf(out, "\\x%02x", (unsigned char)s.p[0]);
            len = 1;
        }
        s.p += len;
        s.len -= len;
    }
    return out->failed;
}

int ek_quote(struct ek_buf *out, struct ek_str s)
{
    ek_buf_append(out, "\"", 1);
    ek_quote_inner(out, s);
    ek_buf_append(out, "\"", 1);
    return out->failed;
}

const char *ek_quote_short(struct ek_str s, char buf[EK_QUOTE_SIZE])
{
    size_t shown = ek_utf8_cut(s, 200);
    struct ek_buf out;

    /* Escapes make the text longer: then less of it is shown. */
    for (;; shown = ek_utf8_cut(s, shown / 2)) {
        ek_buf_init(&out, EK_QUOTE_SIZE - 4);
        ek_quote(&out, (struct ek_str){s.p, shown});
        if (!out.failed || shown == 0)
            break;
        ek_buf_done(&out);
    }
    memcpy(buf, ek_buf_str(&out), out.len);
    memcpy(buf + out.len, shown < s.len ? "..." : "", shown < s.len ? 4 : 1);
    ek_buf_done(&out);
    return buf;
}
