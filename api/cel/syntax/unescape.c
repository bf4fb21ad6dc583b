/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/cel/syntax/parser.h"

/* Quoted text being read. The lexer made sure that escapes are complete. */
struct source {
    const char *p, *end;
    bool bytes; /* \x and octal escapes are octets, and \u is none */
};

static uint32_t digits(struct source *s, int n, uint32_t base)
{
    uint32_t value = 0;

    for (; n > 0; n--) {
        char c = *s->p++;
        value = value * base + (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return value;
}

/* Writes rune at out in UTF-8; returns its octets. */
static size_t encode(uint32_t rune, char *out)
{
    if (rune < 0x80) {
        out[0] = (char)rune;
        return 1;
    }
    size_t n = rune < 0x800 ? 2 : rune < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, rune >>= 6)
        out[i] = (char)(0x80 | (rune & 0x3f));
    out[0] = (char)((0xf00 >> n & 0xff) | rune);
    return n;
}

/* One escape, from behind its backslash. Returns NULL or what is wrong. */
static const char *escape(struct source *s, char *out, size_t *ret_len)
{
    static const char plain[] = "abfnrtv\\'\"`?", meaning[] = "\a\b\f\n\r\t\v\\'\"`?";
    char c = *s->p++;
    const char *found = strchr(plain, c);
    uint32_t rune = 0;

    *ret_len = 1;
    if (found && c) {
        *out = meaning[found - plain];
        return NULL;
    }
    if (s->bytes && (c == 'u' || c == 'U'))
        return "unable to unescape string";
    if (c == 'x' || c == 'X' || c == 'u' || c == 'U') {
        rune = digits(s, c == 'u' ? 4 : c == 'U' ? 8 : 2, 16);
    } else {
        s->p--;
        rune = digits(s, 3, 8);
    }
    if (rune > 0x10ffff || (rune >= 0xd800 && rune < 0xe000))
        return "invalid unicode code point";
    if (s->bytes)
        *out = (char)rune;
    else
        *ret_len = encode(rune, out);
    return NULL;
}

/* Takes prefixes and quotes off; returns whether the text is raw. */
static bool unquote(struct source *s)
{
    bool raw = false;

    for (; *s->p != '"' && *s->p != '\''; s->p++)
        raw |= (*s->p | 0x20) == 'r';
    int quotes = s->end - s->p >= 6 && s->p[1] == *s->p && s->p[2] == *s->p ? 3 : 1;
    s->p += quotes;
    s->end -= quotes;
    return raw;
}

const char *ek_cel_unescape(const char *text, size_t len, bool bytes, char *out, size_t *ret_len)
{
    struct source s = {text, text + len, bytes};
    bool raw = unquote(&s);
    size_t n = 0;

    while (s.p < s.end) {
        char c = *s.p++;
        if (c == '\r') { /* every kind of line end is one \n */
            out[n++] = '\n';
            if (s.p < s.end && *s.p == '\n')
                s.p++;
        } else if (c == '\\' && !raw) {
            size_t more = 0;
            const char *wrong = escape(&s, out + n, &more);
            if (wrong)
                return wrong;
            n += more;
        } else {
            out[n++] = c;
        }
    }
    out[n] = '\0';
    *ret_len = n;
    return NULL;
}
