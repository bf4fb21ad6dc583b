/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Escapes in URLs, and URLs as text.
 */
#include "api/base/ascii.h"
#include "api/cel/text/url.h"

#define P EK_CEL_URL_PATH
#define H EK_CEL_URL_HOST
#define U EK_CEL_URL_USER
#define F EK_CEL_URL_FRAGMENT
#define Q EK_CEL_URL_QUERY

/* Where punctuation stands for itself; letters, digits and -._~ do everywhere. */
static const unsigned char plain[128] = {
    ['!'] = H | F,
    ['"'] = H,
    ['$'] = P | H | U | F,
    ['&'] = P | H | U | F,
    ['\''] = H,
    ['('] = H | F,
    [')'] = H | F,
    ['*'] = H | F,
    ['+'] = P | H | U | F,
    [','] = P | H | U | F,
    ['/'] = P | F,
    [':'] = P | H | F,
    [';'] = P | H | U | F,
    ['<'] = H,
    ['='] = P | H | U | F,
    ['>'] = H,
    ['?'] = F,
    ['@'] = P | F,
    ['['] = H,
    [']'] = H,
};

#undef P
#undef H
#undef U
#undef F
#undef Q

bool ek_cel_url_plain(unsigned char c, enum ek_cel_url_place place)
{
    if ((c >= '0' && c <= '9') || (unsigned char)((c | 0x20) - 'a') < 26)
        return true;
    if (c == '-' || c == '.' || c == '_' || c == '~')
        return true;
    if (place == EK_CEL_URL_ZONE)
        place = EK_CEL_URL_HOST;
    return c < 128 && (plain[c] & place);
}

/* The octet that the escape at s stands for, or -1. */
static int escaped(const char *s, const char *end)
{
    if (end - s < 3 || ek_hex_digit(s[1]) < 0 || ek_hex_digit(s[2]) < 0)
        return -1;
    return ek_hex_digit(s[1]) * 16 + ek_hex_digit(s[2]);
}

/* True when an escape of that octet may be in that place. */
static bool may_escape(int octet, enum ek_cel_url_place place)
{
    if (octet < 0)
        return false;
    if (place == EK_CEL_URL_HOST) /* octets of other than ASCII; %25 goes before a zone */
        return octet >= 0x80 || octet == '%';
    if (place == EK_CEL_URL_ZONE)
        return octet == '%' || octet == ' ' || ek_cel_url_plain((unsigned char)octet, place);
    return true;
}

bool ek_cel_url_unescape(struct ek_str s, enum ek_cel_url_place place, char *room,
                         struct ek_str *ret, struct ek_cel_url_fault *ret_fault)
{
    const char *end = s.p + s.len;
    bool in_host = place == EK_CEL_URL_HOST || place == EK_CEL_URL_ZONE;
    bool changes = false;
    char *w = room;

    for (const char *at = s.p; at < end; at++) {
        if (*at == '%') {
            if (!may_escape(escaped(at, end), place)) {
                *ret_fault = (struct ek_cel_url_fault){
                    "invalid URL escape ", {at, end - at < 3 ? (size_t)(end - at) : 3}, ""};
                return false;
            }
            changes = true;
            at += 2;
        } else if (*at == '+' && place == EK_CEL_URL_QUERY) {
            changes = true;
        } else if (in_host && (unsigned char)*at < 0x80 &&
                   !ek_cel_url_plain((unsigned char)*at, place)) {
            *ret_fault = (struct ek_cel_url_fault){"invalid character ", {at, 1}, " in host name"};
            return false;
        }
    }
    *ret = s;
    if (!changes)
        return true;
    for (const char *at = s.p; at < end; at++) {
        if (*at == '%') {
            *w++ = (char)escaped(at, end);
            at += 2;
        } else {
            *w++ = (char)(*at == '+' && place == EK_CEL_URL_QUERY ? ' ' : *at);
        }
    }
    *ret = (struct ek_str){room, (size_t)(w - room)};
    return true;
}

bool ek_cel_url_unescape_query(struct ek_str s, char *room, struct ek_str *ret)
{
    struct ek_cel_url_fault fault;

    return ek_cel_url_unescape(s, EK_CEL_URL_QUERY, room, ret, &fault);
}

/* Escapes s into out, which has three times its octets; returns the end. */
static char *escape(struct ek_str s, enum ek_cel_url_place place, char *out)
{
    static const char hex[] = "0123456789ABCDEF";

    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (ek_cel_url_plain(c, place)) {
            *out++ = (char)c;
        } else {
            *out++ = '%';
            *out++ = hex[c >> 4];
            *out++ = hex[c & 0xf];
        }
    }
    return out;
}

/* True when raw holds nothing that would have to be escaped. */
static bool is_escaped(struct ek_str raw, enum ek_cel_url_place place)
{
    for (size_t i = 0; i < raw.len; i++)
        if (!(raw.p[i] && strchr("!$&'()*+,;=:@[]%", raw.p[i])) &&
            !ek_cel_url_plain((unsigned char)raw.p[i], place))
            return false;
    return raw.len > 0;
}

struct ek_str ek_cel_url_escaped_path(const struct ek_cel_url *url, char *room)
{
    if (is_escaped(url->raw_path, EK_CEL_URL_PATH))
        return url->raw_path;
    if (ek_str_eq(url->path, EK_STR("*")))
        return url->path;
    return (struct ek_str){room, (size_t)(escape(url->path, EK_CEL_URL_PATH, room) - room)};
}

size_t ek_cel_url_text_max(const struct ek_cel_url *url)
{
    return url->scheme.len + url->opaque.len + url->query.len + url->raw_fragment.len +
           3 * (url->user.len + url->password.len + url->host.len + url->path.len +
                url->raw_path.len + url->fragment.len) +
           16;
}

static char *put(char *out, struct ek_str s)
{
    if (s.len)
        memcpy(out, s.p, s.len);
    return out + s.len;
}

static char *put_authority(const struct ek_cel_url *url, char *out)
{
    if (!url->scheme.len && !url->host.len && !url->has_user)
        return out;
    if (url->omit_host && !url->host.len && !url->has_user)
        return out;
    if (url->host.len || url->path.len || url->has_user)
        out = put(out, EK_STR("//"));
    if (url->has_user) {
        out = escape(url->user, EK_CEL_URL_USER, out);
        if (url->has_password) {
            *out++ = ':';
            out = escape(url->password, EK_CEL_URL_USER, out);
        }
        *out++ = '@';
    }
    return escape(url->host, EK_CEL_URL_HOST, out);
}

/* A path whose first segment has a colon would read as a scheme. */
static bool looks_like_scheme(struct ek_str path)
{
    const char *slash = path.len ? memchr(path.p, '/', path.len) : NULL;
    size_t len = slash ? (size_t)(slash - path.p) : path.len;

    return len > 0 && memchr(path.p, ':', len);
}

static char *put_path(const struct ek_cel_url *url, bool first, char *out)
{
    struct ek_str path = ek_cel_url_escaped_path(url, out + 2);

    if (first && looks_like_scheme(path))
        out = put(out, EK_STR("./"));
    if (path.len)
        memmove(out, path.p, path.len);
    return out + path.len;
}

size_t ek_cel_url_text(const struct ek_cel_url *url, char *out)
{
    char *w = put(out, url->scheme);

    if (url->scheme.len)
        *w++ = ':';
    if (url->opaque.len) {
        w = put(w, url->opaque);
    } else {
        w = put_authority(url, w);
        if (url->path.len && url->path.p[0] != '/' && url->host.len)
            *w++ = '/';
        w = put_path(url, w == out, w);
    }
    if (url->force_query || url->query.len)
        *w++ = '?';
    w = put(w, url->query);
    if (url->fragment.len) {
        *w++ = '#';
        if (is_escaped(url->raw_fragment, EK_CEL_URL_FRAGMENT))
            w = put(w, url->raw_fragment);
        else
            w = escape(url->fragment, EK_CEL_URL_FRAGMENT, w);
    }
    return (size_t)(w - out);
}

/* ---- Addresses ------------------------------------------------------------------------------- */

/* Four numbers of at most 255 without leading zeros. */
static bool is_ipv4(const char *s, const char *end)
{
    for (int field = 0; field < 4; field++) {
        int value = 0;
        const char *from = s;

        if (field > 0 && (s == end || *s++ != '.'))
            return false;
        from = s;
        for (; s < end && *s >= '0' && *s <= '9' && value <= 255; s++)
            value = value * 10 + (*s - '0');
        if (s == from || value > 255 || (*from == '0' && s - from > 1))
            return false;
    }
    return s == end;
}

/* The fields between colons. */
static bool is_ipv6_fields(const char *s, const char *end)
{
    int octets = 0;
    bool ellipsis = end - s >= 2 && s[0] == ':' && s[1] == ':';

    if (ellipsis)
        s += 2;
    while (s < end && octets < 16) {
        const char *from = s;

        while (s < end && ek_hex_digit(*s) >= 0 && s - from <= 4)
            s++;
        if (s == from || s - from > 4)
            return false;
        if (s < end && *s == '.') {
            if (octets > 12 || (!ellipsis && octets != 12) || !is_ipv4(from, end))
                return false;
            octets += 4;
            s = end;
            break;
        }
        octets += 2;
        if (s == end)
            break;
        if (*s++ != ':' || s == end)
            return false;
        if (*s == ':') {
            if (ellipsis)
                return false;
            ellipsis = true;
            s++;
        }
    }
    return s == end && (ellipsis ? octets < 16 : octets == 16);
}

bool ek_cel_url_is_ipv6(struct ek_str s)
{
    const char *percent = memchr(s.p, '%', s.len), *end = s.p + s.len;
    const char *stop = percent ? percent : end;
    const char *colon = memchr(s.p, ':', s.len);

    if (!colon || colon > stop || (percent && percent + 1 == end))
        return false;
    return is_ipv6_fields(s.p, stop);
}
