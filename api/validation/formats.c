/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of strings: apiextensions-apiserver 1.36 pkg/apiserver/validation/formats.go says which
 * count, kube-openapi pkg/validation/strfmt what they are. A format that is not decided here as
 * there for some text is unknown for that text. */
#include <ctype.h>
#include <string.h>

#include "api/base/time.h"
#include "api/cel/text/address.h"
#include "api/names.h"
#include "api/validation/validation-internal.h"

#define ADDRESS_MAX 64

static enum ek_vformat verdict(bool good)
{
    return good ? EK_VFORMAT_GOOD : EK_VFORMAT_BAD;
}

/* A text against a shape: x a hexadecimal digit, 9 a digit, ? before a character that may be
 * absent, all others themselves. */
static bool has_shape(struct ek_str text, const char *shape)
{
    size_t at = 0;

    for (; *shape; shape++) {
        bool optional = *shape == '?';
        shape += optional;
        unsigned char c = at < text.len ? (unsigned char)text.p[at] : '\0';
        bool fits = at < text.len && (*shape == 'x'   ? isxdigit(c)
                                      : *shape == '9' ? isdigit(c)
                                      : *shape == 'v' ? strchr("89abAB", c) != NULL
                                                      : c == (unsigned char)*shape);
        if (!fits && !optional)
            return false;
        at += fits;
    }
    return at == text.len;
}

#define UUID(third, fourth) "xxxxxxxx?-xxxx?-" third "?-" fourth "?-xxxxxxxxxxxx"

static enum ek_vformat uuid(struct ek_str text)
{
    return verdict(has_shape(text, UUID("xxxx", "xxxx")));
}

static enum ek_vformat uuid3(struct ek_str text)
{
    return verdict(has_shape(text, UUID("3xxx", "xxxx")));
}

static enum ek_vformat uuid4(struct ek_str text)
{
    return verdict(has_shape(text, UUID("4xxx", "vxxx")));
}

static enum ek_vformat uuid5(struct ek_str text)
{
    return verdict(has_shape(text, UUID("5xxx", "vxxx")));
}

static enum ek_vformat hexcolor(struct ek_str text)
{
    return verdict(has_shape(text, "?#xxx") || has_shape(text, "?#xxxxxx"));
}

static enum ek_vformat ssn(struct ek_str text)
{
    return verdict(has_shape(text, "999-99-9999") || has_shape(text, "999 99 9999") ||
                   has_shape(text, "999 99-9999") || has_shape(text, "999-99 9999"));
}

static enum ek_vformat anything(struct ek_str text)
{
    (void)text;
    return EK_VFORMAT_GOOD;
}

static int digits(struct ek_str text, size_t at, size_t n)
{
    int value = 0;

    for (size_t i = at; i < at + n; i++)
        value = value * 10 + (text.p[i] - '0');
    return value;
}

static bool is_date(struct ek_str text)
{
    return has_shape(text, "9999-99-99") && digits(text, 5, 2) >= 1 && digits(text, 5, 2) <= 12 &&
           digits(text, 8, 2) >= 1 &&
           digits(text, 8, 2) <= ek_days_in_month(digits(text, 0, 4), digits(text, 5, 2));
}

static enum ek_vformat date(struct ek_str text)
{
    return verdict(is_date(text));
}

/* strfmt/time.go:IsDateTime. */
static enum ek_vformat datetime(struct ek_str text)
{
    size_t at = 11, n_fraction = 0;

    if (text.len < 11 || (text.p[10] | 0x20) != 't' || !is_date((struct ek_str){text.p, 10}))
        return EK_VFORMAT_BAD;
    if (text.len < 20 || !has_shape((struct ek_str){text.p + at, 8}, "99:99:99"))
        return EK_VFORMAT_BAD;
    if (digits(text, at, 2) > 23 || digits(text, at + 3, 2) > 59 || digits(text, at + 6, 2) > 59)
        return EK_VFORMAT_BAD;
    at += 8;
    if ((text.p[at] | 0x20) != 'z' && text.p[at] != '+' && text.p[at] != '-')
        for (at++; at < text.len && isdigit((unsigned char)text.p[at]); at++)
            n_fraction++;
    else
        n_fraction = 1;
    struct ek_str zone = {text.p + at, text.len - at};
    return verdict(n_fraction && (has_shape(zone, "z") || has_shape(zone, "Z") ||
                                  has_shape(zone, "+99:99") || has_shape(zone, "-99:99")));
}

/* Addresses may have zeros in front, which is not read here. */
static enum ek_vformat refused(struct ek_str text)
{
    for (size_t i = 0; i + 1 < text.len; i++)
        if (text.p[i] == '0' && isdigit((unsigned char)text.p[i + 1]) &&
            (i == 0 || !isxdigit((unsigned char)text.p[i - 1])))
            return EK_VFORMAT_UNKNOWN;
    return EK_VFORMAT_BAD;
}

/* An IPv4 address may have zeros in front of its numbers; without them, in room. */
static struct ek_str without_zeros(struct ek_str text, char room[ADDRESS_MAX])
{
    size_t n = 0;

    if (text.len > ADDRESS_MAX || (text.len && memchr(text.p, ':', text.len)))
        return text;
    for (size_t i = 0; i < text.len; i++) {
        bool is_start = n == 0 || room[n - 1] == '.';
        bool has_more = i + 1 < text.len && isdigit((unsigned char)text.p[i + 1]);
        if (!is_start || text.p[i] != '0' || !has_more)
            room[n++] = text.p[i];
    }
    return (struct ek_str){room, n};
}

/* An IPv6 address with an IPv4 address in it counts as both. */
static enum ek_vformat address(struct ek_str text, uint8_t bits)
{
    struct ek_cel_address found;
    struct ek_cel_address_fault fault;
    char room[ADDRESS_MAX];
    struct ek_str plain = without_zeros(text, room);

    if (!ek_cel_address_parse(plain, &found, &fault))
        return refused(plain);
    if (found.has_zone)
        return EK_VFORMAT_BAD;
    return verdict(text.len && memchr(text.p, bits == 32 ? '.' : ':', text.len) != NULL);
}

static enum ek_vformat ipv4(struct ek_str text)
{
    return address(text, 32);
}

static enum ek_vformat ipv6(struct ek_str text)
{
    return address(text, 128);
}

static enum ek_vformat cidr(struct ek_str text)
{
    struct ek_cel_prefix prefix;
    struct ek_cel_address_fault fault;

    return ek_cel_prefix_parse(text, &prefix, &fault) ? EK_VFORMAT_GOOD : refused(text);
}

/* Unlike in Go, the empty text is no base64. */
static enum ek_vformat bytes(struct ek_str text)
{
    size_t n = text.len, pad = 0;

    while (n > 0 && pad < 2 && text.p[n - 1] == '=') {
        n--;
        pad++;
    }
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text.p[i]) && text.p[i] != '+' && text.p[i] != '/')
            return EK_VFORMAT_BAD;
    return verdict(text.len > 0 && text.len % 4 == 0);
}

static enum ek_vformat name(struct ek_str text, enum ek_name_format format)
{
    const char *errors[EK_NAME_ERRORS_MAX];
    return verdict(!ek_name_check(format, text, errors));
}

static enum ek_vformat short_name(struct ek_str text)
{
    return name(text, EK_NAME_DNS1123_LABEL);
}

static enum ek_vformat long_name(struct ek_str text)
{
    return name(text, EK_NAME_DNS1123_SUBDOMAIN);
}

static enum ek_vformat unread(struct ek_str text)
{
    (void)text;
    return EK_VFORMAT_UNKNOWN;
}

/* Names without their dashes. */
static const struct {
    const char *name;
    enum ek_vformat (*check)(struct ek_str text);
} formats[] = {
    {"bsonobjectid", unread},
    {"uri", ek_vformat_uri__},
    {"email", ek_vformat_email__},
    {"hostname", ek_vformat_hostname__},
    {"ipv4", ipv4},
    {"ipv6", ipv6},
    {"cidr", cidr},
    {"mac", ek_vformat_mac__},
    {"uuid", uuid},
    {"uuid3", uuid3},
    {"uuid4", uuid4},
    {"uuid5", uuid5},
    {"isbn", unread},
    {"isbn10", unread},
    {"isbn13", unread},
    {"creditcard", ek_vformat_card__},
    {"ssn", ssn},
    {"hexcolor", hexcolor},
    {"rgbcolor", ek_vformat_rgb__},
    {"byte", bytes},
    {"password", anything},
    {"date", date},
    {"duration", ek_vformat_duration__},
    {"datetime", datetime},
    {"k8sshortname", short_name},
    {"k8slongname", long_name},
};

static bool is_named(const char *format, const char *plain)
{
    for (; *format; format++) {
        if (*format == '-')
            continue;
        if (*format != *plain++)
            return false;
    }
    return !*plain;
}

enum ek_vformat ek_vformat__(const char *format, struct ek_str text)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(formats); i++)
        if (is_named(format, formats[i].name))
            return formats[i].check(text);
    return EK_VFORMAT_NONE;
}
