/* SPDX-License-Identifier: Apache-2.0 */
#include "test/vectors/gojson.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/obj.h"

#define DEPTH_MAX 10000

struct scanner {
    struct ek_str text;
    size_t at;
    struct ek_buf *out;
    struct ek_arena *arena;
    const char *error, *number;
    unsigned depth;
};

static int peek(const struct scanner *s)
{
    return s->at < s->text.len ? (unsigned char)s->text.p[s->at] : -1;
}

static void take(struct scanner *s)
{
    ek_buf_append(s->out, s->text.p + s->at++, 1);
}

static bool skip(struct scanner *s)
{
    while (peek(s) == ' ' || peek(s) == '\t' || peek(s) == '\r' || peek(s) == '\n')
        s->at++;
    return !s->error;
}

/* The octet here is none that may be. */
static bool bad(struct scanner *s, const char *where)
{
    EK_AUTO(ek_buf) text;
    int c = peek(s);

    ek_buf_init(&text, EK_BUF_SMALL_MAX);
    if (s->error)
        return false;
    if (c < 0) {
        s->error = "unexpected end of JSON input";
        return false;
    }
    if (c == '\'' || c == '"') {
        ek_buf_puts(&text, c == '"' ? "\"" : "\\'");
    } else {
        char utf8[2] = {(char)c, 0};
        size_t len = 1;
        if (c >= 0x80) {
            utf8[0] = (char)(0xc0 | (c >> 6));
            utf8[1] = (char)(0x80 | (c & 0x3f));
            len = 2;
        }
        ek_quote_inner(&text, (struct ek_str){utf8, len});
    }
    s->error = ek_arena_printf(s->arena, "invalid character '%s' %s", ek_buf_str(&text), where);
    return false;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool digits(struct scanner *s, const char *where)
{
    if (!is_digit(peek(s)))
        return bad(s, where);
    while (is_digit(peek(s)))
        take(s);
    return true;
}

static bool number(struct scanner *s)
{
    size_t start = s->at;

    if (peek(s) == '-')
        take(s);
    if (peek(s) == '0')
        take(s);
    else if (!digits(s, "in numeric literal"))
        return false;
    if (peek(s) == '.') {
        take(s);
        if (!digits(s, "after decimal point in numeric literal"))
            return false;
    }
    if (peek(s) == 'e' || peek(s) == 'E') {
        take(s);
        if (peek(s) == '+' || peek(s) == '-')
            take(s);
        if (!digits(s, "in exponent of numeric literal"))
            return false;
    }
    const char *text = ek_arena_strndup(s->arena, s->text.p + start, s->at - start);
    if (!s->number && isinf(strtod(text, NULL)))
        s->number = ek_arena_printf(
            s->arena, "json: cannot unmarshal number %s into Go value of type float64", text);
    return true;
}

static bool literal(struct scanner *s, const char *word)
{
    for (size_t i = 0; word[i]; i++) {
        if (peek(s) != word[i])
            return bad(s,
                       ek_arena_printf(s->arena, "in literal %s (expecting '%c')", word, word[i]));
        take(s);
    }
    return true;
}

static bool hex(struct scanner *s, unsigned *ret)
{
    *ret = 0;
    for (int i = 0; i < 4; i++) {
        int c = peek(s);
        int v = is_digit(c)            ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (v < 0)
            return bad(s, "in \\u hexadecimal character escape");
        *ret = *ret * 16 + (unsigned)v;
        s->at++;
    }
    return true;
}

static bool escape(struct scanner *s)
{
    unsigned first, second;

    s->at++;
    int c = peek(s);
    if (c < 0 || !strchr("bfnrt\\/\"u", c))
        return bad(s, "in string escape code");
    s->at++;
    if (c != 'u') {
        ek_buf_printf(s->out, "\\%c", c);
        return true;
    }
    if (!hex(s, &first))
        return false;
    bool is_high = first >= 0xd800 && first < 0xdc00, is_low = first >= 0xdc00 && first < 0xe000;
    if (is_high && s->text.len - s->at >= 6 && !memcmp(s->text.p + s->at, "\\u", 2)) {
        size_t before = s->at;
        s->at += 2;
        if (!hex(s, &second))
            return false;
        if (second >= 0xdc00 && second < 0xe000) {
            ek_buf_printf(s->out, "\\u%04x\\u%04x", first, second);
            return true;
        }
        s->at = before;
    }
    ek_buf_printf(s->out, "\\u%04x", is_high || is_low ? 0xfffd : first);
    return true;
}

static bool string(struct scanner *s)
{
    take(s);
    for (;;) {
        int c = peek(s);
        unsigned rune;
        if (c == '"') {
            take(s);
            return true;
        }
        if (c < 0x20)
            return bad(s, "in string literal");
        if (c == '\\') {
            if (!escape(s))
                return false;
            continue;
        }
        size_t len = ek_utf8_decode((struct ek_str){s->text.p + s->at, s->text.len - s->at}, &rune);
        ek_buf_append(s->out, len ? s->text.p + s->at : "\xef\xbf\xbd", len ? len : 3);
        s->at += len ? len : 1;
    }
}

static bool value(struct scanner *s);

static bool member(struct scanner *s)
{
    skip(s);
    if (peek(s) != '"')
        return bad(s, "looking for beginning of object key string");
    if (!string(s) || !skip(s))
        return false;
    if (peek(s) != ':')
        return bad(s, "after object key");
    take(s);
    return value(s);
}

static bool container(struct scanner *s, bool is_object)
{
    char end = is_object ? '}' : ']';

    if (++s->depth > DEPTH_MAX)
        return bad(s, "exceeded max depth");
    take(s);
    skip(s);
    for (bool first = true; !(first && peek(s) == end); first = false) {
        if (!(is_object ? member(s) : value(s)) || !skip(s))
            return false;
        if (peek(s) == end)
            break;
        if (peek(s) != ',')
            return bad(s, is_object ? "after object key:value pair" : "after array element");
        take(s);
    }
    take(s);
    s->depth--;
    return true;
}

static bool value(struct scanner *s)
{
    skip(s);
    switch (peek(s)) {
    case '{':
        return container(s, true);
    case '[':
        return container(s, false);
    case '"':
        return string(s);
    case 't':
        return literal(s, "true");
    case 'f':
        return literal(s, "false");
    case 'n':
        return literal(s, "null");
    default:
        return is_digit(peek(s)) || peek(s) == '-' ? number(s)
                                                   : bad(s, "looking for beginning of value");
    }
}

const char *gojson_read(struct ek_str text, struct ek_buf *out, struct ek_arena *arena,
                        const char **ret_number)
{
    struct scanner s = {.text = text, .out = out, .arena = arena};

    if (value(&s)) {
        skip(&s);
        if (peek(&s) >= 0)
            bad(&s, "after top-level value");
    }
    *ret_number = s.number;
    return s.error;
}

/* ---- Names that stand twice ---- */

static void find_duplicates(yyjson_val *value, const char *path, struct ek_buf *out)
{
    yyjson_val *key, *item, *before;
    size_t i, n, j, m;

    yyjson_arr_foreach(yyjson_is_arr(value) ? value : NULL, i, n, item)
    {
        EK_AUTOFREE char *at = ek_xasprintf("%s[%zu]", path, i);
        find_duplicates(item, at, out);
    }
    ek_json_each_member(yyjson_is_obj(value) ? value : NULL, i, n, key, item)
    {
        EK_AUTOFREE char *at = ek_xasprintf("%s%s%s", path, *path ? "." : "", yyjson_get_str(key));
        yyjson_val *other;
        ek_json_each_member(value, j, m, before, other)
        {
            (void)other;
            if (before == key)
                break;
            if (yyjson_equals_strn(before, yyjson_get_str(key), yyjson_get_len(key))) {
                ek_buf_printf(out, "%sduplicate field \"%s\"", out->len ? ", " : "", at);
                break;
            }
        }
        find_duplicates(item, at, out);
    }
}

void gojson_duplicates(yyjson_val *value, struct ek_buf *out)
{
    find_duplicates(value, "", out);
}

/* ---- Python ---- */

static void dump_text(struct ek_str text, struct ek_buf *out)
{
    ek_buf_puts(out, "\"");
    for (size_t at = 0; at < text.len;) {
        static const char plain[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
        unsigned rune;
        size_t len = ek_utf8_decode((struct ek_str){text.p + at, text.len - at}, &rune);
        const char *special = rune && rune < 0x80 ? strchr(plain, (int)rune) : NULL;
        if (special)
            ek_buf_printf(out, "\\%c", names[special - plain]);
        else if (rune >= 0x20 && rune < 0x7f)
            ek_buf_append(out, text.p + at, 1);
        else if (rune > 0xffff)
            ek_buf_printf(out, "\\u%04x\\u%04x", 0xd800 + ((rune - 0x10000) >> 10),
                          0xdc00 + ((rune - 0x10000) & 0x3ff));
        else
            ek_buf_printf(out, "\\u%04x", rune);
        at += len ? len : 1;
    }
    ek_buf_puts(out, "\"");
}

void gojson_dumps(yyjson_val *value, struct ek_buf *out)
{
    yyjson_val *key, *item;
    size_t i, n;

    if (yyjson_is_str(value)) {
        dump_text((struct ek_str){yyjson_get_str(value), yyjson_get_len(value)}, out);
    } else if (yyjson_is_arr(value)) {
        ek_buf_puts(out, "[");
        yyjson_arr_foreach(value, i, n, item)
        {
            ek_buf_puts(out, i ? ", " : "");
            gojson_dumps(item, out);
        }
        ek_buf_puts(out, "]");
    } else if (yyjson_is_obj(value)) {
        ek_buf_puts(out, "{");
        ek_json_each_member(value, i, n, key, item)
        {
            ek_buf_puts(out, i ? ", " : "");
            gojson_dumps(key, out);
            ek_buf_puts(out, ": ");
            gojson_dumps(item, out);
        }
        ek_buf_puts(out, "}");
    } else {
        char *text = yyjson_val_write_opts(value, 0, &ek_json_xalc, NULL, NULL);
        ek_buf_puts(out, text);
        ek_free(text);
    }
}
