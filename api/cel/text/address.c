/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/text/address.h"

#include <stdio.h>
#include <string.h>

#include "api/base/ascii.h"
#include "api/base/quote.h"

static bool fail(struct ek_cel_address_fault *fault, const char *message, struct ek_str at)
{
    *fault = (struct ek_cel_address_fault){.message = message, .at = at};
    return false;
}

static bool fail_whole(struct ek_cel_address_fault *fault, const char *message)
{
    return fail(fault, message, (struct ek_str){0});
}

static struct ek_str from(struct ek_str s, size_t at)
{
    return (struct ek_str){s.p + at, s.len - at};
}

/* Four decimal fields, all of s. */
static bool parse_fields(struct ek_str s, uint8_t fields[4], struct ek_cel_address_fault *fault)
{
    unsigned value = 0;
    size_t digits = 0, field = 0;

    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        if (ek_is_digit(c)) {
            if (digits == 1 && value == 0)
                return fail_whole(fault, "IPv4 field has octet with leading zero");
            value = value * 10 + (unsigned)(c - '0');
            digits++;
            if (value > 255)
                return fail_whole(fault, "IPv4 field has value >255");
            continue;
        }
        if (c != '.')
            return fail(fault, "unexpected character", from(s, i));
        if (digits == 0 || i == s.len - 1)
            return fail(fault, "IPv4 field must have at least one digit", from(s, i));
        if (field == 3)
            return fail_whole(fault, "IPv4 address too long");
        fields[field++] = (uint8_t)value;
        value = 0;
        digits = 0;
    }
    if (field < 3)
        return fail_whole(fault, "IPv4 address too short");
    fields[3] = (uint8_t)value;
    return true;
}

/* A reading of an address of version 6. */
struct reader {
    struct ek_str s; /* what is left */
    uint8_t *bytes;
    size_t n;   /* bytes filled */
    size_t gap; /* where "::" stands for zeros; SIZE_MAX for nowhere */
    struct ek_cel_address_fault *fault;
};

/* The octets of a hexadecimal group, 0 when there is none or it is too long. */
static size_t read_group(struct reader *r, unsigned *ret_value)
{
    size_t len = 0;

    for (*ret_value = 0; len < r->s.len && ek_hex_digit(r->s.p[len]) >= 0; len++) {
        if (len > 3) {
            fail(r->fault, "each group must have 4 or less digits", r->s);
            return 0;
        }
        *ret_value = *ret_value << 4 | (unsigned)ek_hex_digit(r->s.p[len]);
    }
    if (len == 0)
        fail(r->fault, "each colon-separated field must have at least one digit", r->s);
    return len;
}

static bool read_embedded(struct reader *r)
{
    if (r->gap == SIZE_MAX && r->n != 12)
        return fail(r->fault,
                    "embedded IPv4 address must replace the final 2 fields of the address", r->s);
    if (r->n + 4 > 16)
        return fail(r->fault,
                    "too many hex fields to fit an embedded IPv4 at the end of the address", r->s);
    if (!parse_fields(r->s, r->bytes + r->n, r->fault))
        return false;
    r->n += 4;
    r->s.len = 0;
    return true;
}

/* Takes the colons behind a group. */
static bool read_colons(struct reader *r)
{
    if (r->s.p[0] != ':')
        return fail(r->fault, "unexpected character, want colon", r->s);
    if (r->s.len == 1)
        return fail(r->fault, "colon must be followed by more characters", r->s);
    r->s = from(r->s, 1);
    if (r->s.p[0] != ':')
        return true;
    if (r->gap != SIZE_MAX)
        return fail(r->fault, "multiple :: in address", r->s);
    r->gap = r->n;
    r->s = from(r->s, 1);
    return true;
}

static bool read_groups(struct reader *r)
{
    unsigned value;

    while (r->n < 16) {
        size_t len = read_group(r, &value);
        if (len == 0)
            return false;
        if (len < r->s.len && r->s.p[len] == '.')
            return read_embedded(r);
        r->bytes[r->n++] = (uint8_t)(value >> 8);
        r->bytes[r->n++] = (uint8_t)value;
        r->s = from(r->s, len);
        if (r->s.len == 0 || !read_colons(r))
            return r->s.len == 0;
        if (r->s.len == 0)
            return true;
    }
    return true;
}

static bool fill_gap(struct reader *r)
{
    if (r->s.len != 0)
        return fail(r->fault, "trailing garbage after address", r->s);
    if (r->n == 16)
        return r->gap == SIZE_MAX ||
               fail_whole(r->fault, "the :: must expand to at least one field of zeros");
    if (r->gap == SIZE_MAX)
        return fail_whole(r->fault, "address string too short");
    size_t tail = r->n - r->gap;
    memmove(r->bytes + 16 - tail, r->bytes + r->gap, tail);
    memset(r->bytes + r->gap, 0, 16 - r->n);
    return true;
}

static bool parse_ipv6(struct ek_str text, struct ek_cel_address *ret,
                       struct ek_cel_address_fault *fault)
{
    const char *percent = memchr(text.p, '%', text.len);
    struct reader r = {.s = text, .bytes = ret->bytes, .gap = SIZE_MAX, .fault = fault};

    ret->bits = 128;
    if (percent) {
        r.s.len = (size_t)(percent - text.p);
        ret->has_zone = true;
        if (r.s.len + 1 == text.len)
            return fail_whole(fault, "zone must be a non-empty string");
    }
    if (r.s.len >= 2 && r.s.p[0] == ':' && r.s.p[1] == ':') {
        r.gap = 0;
        r.s = from(r.s, 2);
        if (r.s.len == 0)
            return true;
    }
    return read_groups(&r) && fill_gap(&r);
}

bool ek_cel_address_parse(struct ek_str text, struct ek_cel_address *ret,
                          struct ek_cel_address_fault *ret_fault)
{
    *ret = (struct ek_cel_address){.bits = 32};
    for (size_t i = 0; i < text.len; i++) {
        if (text.p[i] == '.')
            return parse_fields(text, ret->bytes, ret_fault);
        if (text.p[i] == ':')
            return parse_ipv6(text, ret, ret_fault);
        if (text.p[i] == '%')
            return fail_whole(ret_fault, "missing IPv6 address");
    }
    return fail_whole(ret_fault, "unable to parse IP");
}

/* Digits without leading zeros, of a value up to max. */
static bool parse_length(struct ek_str s, unsigned max, uint8_t *ret,
                         struct ek_cel_address_fault *fault)
{
    unsigned value = 0;

    if (s.len == 0 || (s.len > 1 && (s.p[0] < '1' || s.p[0] > '9')))
        return fail(fault, "bad bits after slash: ", s);
    for (size_t i = 0; i < s.len; i++)
        if (!ek_is_digit(s.p[i]))
            return fail(fault, "bad bits after slash: ", s);
    if (s.len > 19 || (s.len == 19 && memcmp(s.p, "9223372036854775807", 19) > 0))
        return fail(fault, "bad bits after slash: ", s);
    for (size_t i = 0; i < s.len && value <= max; i++)
        value = value * 10 + (unsigned)(s.p[i] - '0');
    if (value > max)
        return fail_whole(fault, "prefix length out of range");
    *ret = (uint8_t)value;
    return true;
}

bool ek_cel_prefix_parse(struct ek_str text, struct ek_cel_prefix *ret,
                         struct ek_cel_address_fault *ret_fault)
{
    const char *slash = text.len ? memrchr(text.p, '/', text.len) : NULL;

    if (!slash)
        return fail_whole(ret_fault, "no '/'");
    struct ek_str address = {text.p, (size_t)(slash - text.p)};
    if (!ek_cel_address_parse(address, &ret->address, ret_fault)) {
        ret_fault->of_address = true;
        ret_fault->whole = address;
        return false;
    }
    if (ret->address.has_zone)
        return fail_whole(ret_fault, "IPv6 zones cannot be present in a prefix");
    return parse_length(from(text, address.len + 1), ret->address.bits, &ret->length, ret_fault);
}

int ek_cel_address_explain(struct ek_str text, const struct ek_cel_address_fault *fault,
                           struct ek_buf *out)
{
    ek_buf_puts(out, "ParseAddr(");
    ek_quote(out, text);
    ek_buf_printf(out, "): %s", fault->message);
    if (fault->at.len) {
        ek_buf_puts(out, " (at ");
        ek_quote(out, fault->at);
        ek_buf_puts(out, ")");
    }
    return out->failed;
}

int ek_cel_prefix_explain(struct ek_str text, const struct ek_cel_address_fault *fault,
                          struct ek_buf *out)
{
    ek_buf_puts(out, "netip.ParsePrefix(");
    ek_quote(out, text);
    ek_buf_puts(out, "): ");
    if (fault->of_address)
        return ek_cel_address_explain(fault->whole, fault, out);
    ek_buf_puts(out, fault->message);
    if (fault->at.p)
        ek_quote(out, fault->at);
    return out->failed;
}
