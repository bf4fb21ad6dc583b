/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/text/url.h"

/* What a parse works on. */
struct parse {
    struct ek_cel_url *url;
    struct ek_cel_url_fault *fault;
    char *room;
};

static struct ek_str part(const char *from, const char *to)
{
    return (struct ek_str){from, (size_t)(to - from)};
}

static const char *end_of(struct ek_str s)
{
    return s.p + s.len;
}

static const char *find(struct ek_str s, char c)
{
    return s.len ? memchr(s.p, c, s.len) : NULL;
}

static const char *find_last(struct ek_str s, char c)
{
    return s.len ? memrchr(s.p, c, s.len) : NULL;
}

static bool fail(struct parse *p, const char *before)
{
    *p->fault = (struct ek_cel_url_fault){.before = before};
    return false;
}

static bool fail_on(struct parse *p, const char *before, struct ek_str quoted, const char *after)
{
    *p->fault = (struct ek_cel_url_fault){before, quoted, after};
    return false;
}

/* Unescapes into the room that is left. */
static bool unescape(struct parse *p, struct ek_str s, enum ek_cel_url_place place,
                     struct ek_str *ret)
{
    if (!ek_cel_url_unescape(s, place, p->room, ret, p->fault))
        return false;
    if (ret->p == p->room)
        p->room += ret->len;
    return true;
}

static bool is_letter(char c)
{
    return (unsigned char)((c | 0x20) - 'a') < 26;
}

/* Splits the scheme off *rest, in small letters. */
static bool take_scheme(struct parse *p, struct ek_str *rest)
{
    size_t n = 0;

    while (n < rest->len &&
           (is_letter(rest->p[n]) || (n > 0 && rest->p[n] >= '0' && rest->p[n] <= '9') ||
            (n > 0 && rest->p[n] && strchr("+-.", rest->p[n]))))
        n++;
    if (n == rest->len || rest->p[n] != ':')
        return true;
    if (n == 0)
        return fail(p, "missing protocol scheme");
    for (size_t i = 0; i < n; i++)
        p->room[i] = (char)(is_letter(rest->p[i]) ? rest->p[i] | 0x20 : rest->p[i]);
    p->url->scheme = (struct ek_str){p->room, n};
    p->room += n;
    *rest = part(rest->p + n + 1, end_of(*rest));
    return true;
}

/* "" or ":" and digits. */
static bool is_port(struct ek_str s)
{
    if (s.len && s.p[0] != ':')
        return false;
    for (size_t i = 1; i < s.len; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return true;
}

/* "[address]:port"; close is the last bracket. */
static bool take_address(struct parse *p, struct ek_str host, const char *close)
{
    struct ek_str port = part(close + 1, end_of(host)), name = part(host.p + 1, close), zone, plain;
    const char *percent = memmem(name.p, name.len, "%25", 3);
    char *start = p->room;

    if (!is_port(port))
        return fail_on(p, "invalid port ", port, " after host");
    *p->room++ = '[';
    if (percent) {
        zone = part(percent, end_of(name));
        name.len = (size_t)(percent - name.p);
    }
    if (!ek_cel_url_unescape(name, EK_CEL_URL_HOST, p->room, &plain, p->fault))
        return false;
    memmove(p->room, plain.p, plain.len);
    p->room += plain.len;
    if (percent) {
        if (!ek_cel_url_unescape(zone, EK_CEL_URL_ZONE, p->room, &plain, p->fault))
            return false;
        memmove(p->room, plain.p, plain.len);
        p->room += plain.len;
    }
    name = part(start + 1, p->room);
    if (!ek_cel_url_is_ipv6(name))
        return find(name, ':') ? fail_on(p, "invalid host: ParseAddr(", name, "): not an address")
                               : fail_on(p, "invalid IP-literal: ", name, "");
    *p->room++ = ']';
    if (port.len)
        memcpy(p->room, port.p, port.len);
    p->room += port.len;
    p->url->host = part(start, p->room);
    return true;
}

static bool is_web(struct ek_str scheme)
{
    return ek_str_eq(scheme, EK_STR("http")) || ek_str_eq(scheme, EK_STR("https"));
}

static bool take_host(struct parse *p, struct ek_str host)
{
    const char *open = find_last(host, '['), *close, *colon;
    struct ek_str port;

    if (open && open > host.p)
        return fail(p, "invalid IP-literal");
    if (open) {
        close = find_last(host, ']');
        return close ? take_address(p, host, close) : fail(p, "missing ']' in host");
    }
    /* Some databases' URLs name several hosts with ports. */
    colon = is_web(p->url->scheme) ? find(host, ':') : find_last(host, ':');
    if (colon) {
        port = part(colon, end_of(host));
        if (!is_port(port))
            return fail_on(p, "invalid port ", port, " after host");
    }
    return unescape(p, host, EK_CEL_URL_HOST, &p->url->host);
}

static bool is_userinfo(struct ek_str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!is_letter(s.p[i]) && !(s.p[i] >= '0' && s.p[i] <= '9') &&
            !(s.p[i] && strchr("-._:~!$&'()*+,;=%@", s.p[i])))
            return false;
    return true;
}

static bool take_user(struct parse *p, struct ek_str user)
{
    const char *colon = find(user, ':');

    if (!is_userinfo(user))
        return fail(p, "net/url: invalid userinfo");
    p->url->has_user = true;
    p->url->has_password = colon != NULL;
    if (colon && !unescape(p, part(colon + 1, end_of(user)), EK_CEL_URL_USER, &p->url->password))
        return false;
    return unescape(p, part(user.p, colon ? colon : end_of(user)), EK_CEL_URL_USER, &p->url->user);
}

static bool take_authority(struct parse *p, struct ek_str authority)
{
    const char *at = find_last(authority, '@');
    struct ek_str host = at ? part(at + 1, end_of(authority)) : authority;

    return take_host(p, host) && (!at || take_user(p, part(authority.p, at)));
}

/* Splits the query off *rest. */
static void take_query(struct parse *p, struct ek_str *rest)
{
    const char *mark = find(*rest, '?');

    if (!mark)
        return;
    p->url->query = part(mark + 1, end_of(*rest));
    p->url->force_query = p->url->query.len == 0;
    rest->len = (size_t)(mark - rest->p);
}

static bool starts(struct ek_str s, const char *with)
{
    size_t len = strlen(with);

    return s.len >= len && memcmp(s.p, with, len) == 0;
}

/* True when s, escaped where it must be, is raw. */
static bool is_default_escape(struct ek_str s, struct ek_str raw, enum ek_cel_url_place place)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t at = 0;

    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (ek_cel_url_plain(c, place)) {
            if (at == raw.len || raw.p[at++] != (char)c)
                return false;
        } else {
            if (raw.len - at < 3 || raw.p[at] != '%' || raw.p[at + 1] != hex[c >> 4] ||
                raw.p[at + 2] != hex[c & 0xf])
                return false;
            at += 3;
        }
    }
    return at == raw.len;
}

static bool take_path(struct parse *p, struct ek_str rest)
{
    if (!unescape(p, rest, EK_CEL_URL_PATH, &p->url->path))
        return false;
    if (!is_default_escape(p->url->path, rest, EK_CEL_URL_PATH))
        p->url->raw_path = rest;
    return true;
}

/* What follows the scheme, where that does not begin with a slash; *ret_done when that is all. */
static bool take_rootless(struct parse *p, struct ek_str rest, bool request, bool *ret_done)
{
    const char *slash = find(rest, '/');
    struct ek_str first = part(rest.p, slash ? slash : end_of(rest));

    *ret_done = p->url->scheme.len > 0;
    if (*ret_done)
        p->url->opaque = rest;
    else if (request)
        return fail(p, "invalid URI for request");
    else if (find(first, ':'))
        return fail(p, "first path segment in URL cannot contain colon");
    return true;
}

static bool parse(struct parse *p, struct ek_str rest, bool request)
{
    bool done = false;
    const char *slash;

    for (size_t i = 0; i < rest.len; i++)
        if ((unsigned char)rest.p[i] < ' ' || rest.p[i] == 0x7f)
            return fail(p, "net/url: invalid control character in URL");
    if (rest.len == 0 && request)
        return fail(p, "empty url");
    if (ek_str_eq(rest, EK_STR("*"))) {
        p->url->path = rest;
        return true;
    }
    if (!take_scheme(p, &rest))
        return false;
    take_query(p, &rest);
    if (!starts(rest, "/") && !take_rootless(p, rest, request, &done))
        return false;
    if (done)
        return true;
    if (starts(rest, "//") && (p->url->scheme.len || (!request && !starts(rest, "///")))) {
        rest = part(rest.p + 2, end_of(rest));
        slash = find(rest, '/');
        if (!take_authority(p, part(rest.p, slash ? slash : end_of(rest))))
            return false;
        rest = part(slash ? slash : end_of(rest), end_of(rest));
    } else if (p->url->scheme.len && starts(rest, "/")) {
        p->url->omit_host = true;
    }
    return take_path(p, rest);
}

bool ek_cel_url_parse(const char *s, size_t len, bool request, char *room, size_t *ret_used,
                      struct ek_cel_url *ret, struct ek_cel_url_fault *ret_fault)
{
    struct parse p = {ret, ret_fault, room};
    bool ok;

    *ret = (struct ek_cel_url){0};
    ok = parse(&p, (struct ek_str){s, len}, request);
    *ret_used = (size_t)(p.room - room);
    return ok;
}

bool ek_cel_url_set_fragment(struct ek_cel_url *url, struct ek_str fragment, char *room,
                             struct ek_cel_url_fault *ret_fault)
{
    struct parse p = {url, ret_fault, room};

    if (!unescape(&p, fragment, EK_CEL_URL_FRAGMENT, &url->fragment))
        return false;
    if (!is_default_escape(url->fragment, fragment, EK_CEL_URL_FRAGMENT))
        url->raw_fragment = fragment;
    return true;
}

void ek_cel_url_split_host(struct ek_str host, struct ek_str *ret_name, struct ek_str *ret_port)
{
    const char *colon = find_last(host, ':');

    *ret_name = host;
    *ret_port = (struct ek_str){"", 0};
    if (colon && is_port(part(colon, end_of(host)))) {
        *ret_name = part(host.p, colon);
        *ret_port = part(colon + 1, end_of(host));
    }
    if (ret_name->len >= 2 && ret_name->p[0] == '[' && ret_name->p[ret_name->len - 1] == ']')
        *ret_name = (struct ek_str){ret_name->p + 1, ret_name->len - 2};
}
