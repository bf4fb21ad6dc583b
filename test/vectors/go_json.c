/* SPDX-License-Identifier: Apache-2.0 */
/* The syntax errors of encoding/json: scanner.go, read as a recursive descent. */
#include <string.h>

#include "test/vectors/discovery.h"

#define DEPTH_MAX 10000

struct scan {
    const unsigned char *p, *end;
    struct ek_err *err;
};

static bool fail(struct scan *s, const char *context)
{
    if (s->p >= s->end)
        ek_err_set(s->err, EK_E_PARSE, "unexpected end of JSON input");
    else if (*s->p == '\'' || *s->p == '\\')
        ek_err_set(s->err, EK_E_PARSE, "invalid character '\\%c' %s", *s->p, context);
    else if (*s->p < 0x20 && !strchr("\a\b\f\n\r\t\v", *s->p))
        ek_err_set(s->err, EK_E_PARSE, "invalid character '\\x%02x' %s", *s->p, context);
    else if (!*s->p)
        ek_err_set(s->err, EK_E_PARSE, "invalid character '\\x00' %s", context);
    else if (*s->p < 0x20)
        ek_err_set(s->err, EK_E_PARSE, "invalid character '\\%c' %s", "abtnvfr"[*s->p - 7],
                   context);
    else if (*s->p < 0x7f)
        ek_err_set(s->err, EK_E_PARSE, "invalid character '%c' %s", *s->p, context);
    else
        ek_err_set(s->err, EK_E_PARSE, "invalid character '%c%c' %s", 0xc0 | *s->p >> 6,
                   0x80 | (*s->p & 0x3f), context);
    return false;
}

static void skip_blanks(struct scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\r' || *s->p == '\n'))
        s->p++;
}

static bool at(const struct scan *s, const char *any)
{
    return s->p < s->end && *s->p && strchr(any, *s->p);
}

static bool scan_escape(struct scan *s)
{
    if (!at(s, "bfnrt\\/\"u"))
        return fail(s, "in string escape code");
    if (*s->p++ != 'u')
        return true;
    for (int i = 0; i < 4; i++, s->p++)
        if (!at(s, "0123456789abcdefABCDEF"))
            return fail(s, "in \\u hexadecimal character escape");
    return true;
}

static bool scan_string(struct scan *s)
{
    for (s->p++; s->p < s->end && *s->p != '"';) {
        if (*s->p < 0x20)
            return fail(s, "in string literal");
        if (*s->p++ == '\\' && !scan_escape(s))
            return false;
    }
    if (s->p >= s->end)
        return fail(s, "");
    s->p++;
    return true;
}

static bool scan_digits(struct scan *s, const char *context)
{
    if (!at(s, "0123456789"))
        return fail(s, context);
    while (at(s, "0123456789"))
        s->p++;
    return true;
}

static bool scan_number(struct scan *s)
{
    s->p += *s->p == '-';
    if (at(s, "0"))
        s->p++;
    else if (!scan_digits(s, "in numeric literal"))
        return false;
    if (at(s, ".") && s->p++ && !scan_digits(s, "after decimal point in numeric literal"))
        return false;
    if (!at(s, "eE"))
        return true;
    s->p++;
    s->p += at(s, "+-");
    return scan_digits(s, "in exponent of numeric literal");
}

static bool scan_literal(struct scan *s, const char *word)
{
    char context[64];

    for (const char *w = word; *w; w++, s->p++) {
        snprintf(context, sizeof context, "in literal %s (expecting '%c')", word, *w);
        if (s->p >= s->end || *s->p != (unsigned char)*w)
            return fail(s, context);
    }
    return true;
}

static bool scan_value(struct scan *s, int depth);

static bool scan_member(struct scan *s, int depth)
{
    skip_blanks(s);
    if (!at(s, "\""))
        return fail(s, "looking for beginning of object key string");
    if (!scan_string(s))
        return false;
    skip_blanks(s);
    if (!at(s, ":"))
        return fail(s, "after object key");
    s->p++;
    return scan_value(s, depth);
}

/* The inside of an object or array, whose bracket is at hand. */
static bool scan_list(struct scan *s, bool object, int depth)
{
    const char *close = object ? "}" : "]";

    if (depth == DEPTH_MAX) {
        ek_err_set(s->err, EK_E_PARSE, "exceeded max depth");
        return false;
    }
    s->p++;
    skip_blanks(s);
    if (at(s, close)) {
        s->p++;
        return true;
    }
    for (;;) {
        if (object ? !scan_member(s, depth + 1) : !scan_value(s, depth + 1))
            return false;
        skip_blanks(s);
        if (at(s, close))
            break;
        if (!at(s, ","))
            return fail(s, object ? "after object key:value pair" : "after array element");
        s->p++;
    }
    s->p++;
    return true;
}

static bool scan_value(struct scan *s, int depth)
{
    skip_blanks(s);
    if (at(s, "{["))
        return scan_list(s, *s->p == '{', depth);
    if (at(s, "\""))
        return scan_string(s);
    if (at(s, "-0123456789"))
        return scan_number(s);
    if (at(s, "tfn"))
        return scan_literal(s, *s->p == 't' ? "true" : *s->p == 'f' ? "false" : "null");
    return fail(s, "looking for beginning of value");
}

void ek_vectors_explain_json(const char *text, size_t len, struct ek_err *err)
{
    struct scan s = {(const unsigned char *)text, (const unsigned char *)text + len, err};

    if (!scan_value(&s, 0))
        return;
    skip_blanks(&s);
    if (s.p < s.end)
        fail(&s, "after top-level value");
}
