/* SPDX-License-Identifier: Apache-2.0 */
#include "api/version.h"

#include <stdio.h>

#include "api/base/ascii.h"
#include "api/base/quote.h"

/* Why a text is no version, with the part of it that is to blame. */
enum flaw {
    FLAW_NONE,
    FLAW_NO_VERSION,  /* does not start with numbers, or holds a line feed after them */
    FLAW_SHAPE,       /* too few parts, or for the semantic form too many */
    FLAW_ZERO_PREFIX, /* part is "01" and the like */
    FLAW_RANGE,       /* part exceeds 64 bits */
    FLAW_EXTRA,       /* part is what follows the numbers */
};

struct finding {
    enum flaw flaw;
    struct ek_str part;
};

/* The blanks of a regular expression's \s: the vertical tab is none. */
static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

static bool is_id_char(char c)
{
    return ek_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}

static struct ek_str skip(struct ek_str s, size_t n)
{
    return (struct ek_str){s.p + n, s.len - n};
}

static struct ek_str take_digits(struct ek_str s)
{
    size_t n = 0;
    while (n < s.len && ek_is_digit(s.p[n]))
        n++;
    return (struct ek_str){s.p, n};
}

/* Takes the text up to the next dot off *rest; false when nothing is left to take. */
static bool next_id(struct ek_str *rest, struct ek_str *ret_id)
{
    if (!rest->p)
        return false;
    const char *dot = rest->len ? memchr(rest->p, '.', rest->len) : NULL;
    *ret_id = (struct ek_str){rest->p, dot ? (size_t)(dot - rest->p) : rest->len};
    *rest = dot ? skip(*rest, ret_id->len + 1) : (struct ek_str){NULL, 0};
    return true;
}

bool ek_version_digits(struct ek_str digits, uint64_t *ret_value)
{
    uint64_t value = 0;

    for (size_t i = 0; i < digits.len; i++) {
        if (!ek_is_digit(digits.p[i]) || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(digits.p[i] - '0'), &value))
            return false;
    }
    *ret_value = value;
    return digits.len > 0;
}

bool ek_version_next_component(struct ek_str *rest, uint64_t *ret_value)
{
    struct ek_str digits;
    return rest->len > 0 && next_id(rest, &digits) && ek_version_digits(digits, ret_value);
}

static bool zero_prefixed(struct ek_str digits)
{
    return digits.len > 1 && digits.p[0] == '0';
}

/* Splits s into its numbers ("1.36.2") and what follows them. */
static bool split(struct ek_str s, struct ek_str *ret_numbers, size_t *ret_n,
                  struct ek_str *ret_extra)
{
    while (s.len > 0 && is_blank(s.p[0]))
        s = skip(s, 1);
    if (s.len > 0 && s.p[0] == 'v')
        s = skip(s, 1);
    size_t len = take_digits(s).len, n = 1;
    if (len == 0)
        return false;
    while (len + 1 < s.len && s.p[len] == '.' && ek_is_digit(s.p[len + 1])) {
        len += 1 + take_digits(skip(s, len + 1)).len;
        n++;
    }
    *ret_numbers = (struct ek_str){s.p, len};
    *ret_n = n;
    *ret_extra = skip(s, len);
    return ret_extra->len == 0 || !memchr(ret_extra->p, '\n', ret_extra->len);
}

static struct finding check_components(struct ek_version *v, bool semantic)
{
    uint64_t *const named[] = {&v->major, &v->minor, &v->patch};
    struct ek_str rest = v->numbers, digits;

    for (size_t i = 0; next_id(&rest, &digits); i++) {
        uint64_t value;
        if ((i == 0 || semantic) && zero_prefixed(digits))
            return (struct finding){FLAW_ZERO_PREFIX, digits};
        if (!ek_version_digits(digits, &value))
            return (struct finding){FLAW_RANGE, digits};
        if (i < EK_ARRAY_SIZE(named))
            *named[i] = value;
    }
    return (struct finding){FLAW_NONE, {NULL, 0}};
}

/* Takes mark and dot-separated identifiers off *rest; where they are not there, nothing. */
static struct ek_str take_ids(struct ek_str *rest, char mark)
{
    size_t len = 1;

    if (rest->len < 2 || rest->p[0] != mark || !is_id_char(rest->p[1]))
        return (struct ek_str){NULL, 0};
    while (len < rest->len &&
           (is_id_char(rest->p[len]) ||
            (rest->p[len] == '.' && len + 1 < rest->len && is_id_char(rest->p[len + 1]))))
        len++;
    struct ek_str ids = {rest->p + 1, len - 1};
    *rest = skip(*rest, len);
    return ids;
}

static struct finding check_extra(struct ek_version *v, struct ek_str extra)
{
    struct ek_str rest = extra, id;
    uint64_t number;

    v->pre_release = take_ids(&rest, '-');
    v->build = take_ids(&rest, '+');
    while (rest.len > 0 && is_blank(rest.p[0]))
        rest = skip(rest, 1);
    if (rest.len > 0)
        return (struct finding){FLAW_EXTRA, extra};
    rest = v->pre_release;
    while (next_id(&rest, &id)) {
        /* A number beyond 64 bits is a word to apimachinery, and words may start with 0. */
        if (zero_prefixed(id) && ek_version_digits(id, &number))
            return (struct finding){FLAW_ZERO_PREFIX, id};
    }
    return (struct finding){FLAW_NONE, {NULL, 0}};
}

static struct finding parse(struct ek_str s, bool semantic, struct ek_version *ret_version)
{
    struct ek_version v = {.semantic = semantic};
    struct ek_str extra;

    if (!split(s, &v.numbers, &v.n_components, &extra))
        return (struct finding){FLAW_NO_VERSION, s};
    if (semantic ? v.n_components != 3 : v.n_components < 2)
        return (struct finding){FLAW_SHAPE, s};
    struct finding found = check_components(&v, semantic);
    if (!found.flaw && semantic)
        found = check_extra(&v, extra);
    if (!found.flaw)
        *ret_version = v;
    return found;
}

static struct finding parse_form(struct ek_str s, enum ek_version_form form,
                                 struct ek_version *ret_version)
{
    struct finding found = parse(s, form != EK_VERSION_GENERIC, ret_version);
    if (found.flaw && form == EK_VERSION_ANY)
        found = parse(s, false, ret_version);
    return found;
}

int ek_version_parse(struct ek_str s, enum ek_version_form form, struct ek_version *ret_version)
{
    return parse_form(s, form, ret_version).flaw ? EK_E_PARSE : 0;
}

int ek_version_explain(struct ek_str s, enum ek_version_form form, struct ek_buf *out)
{
    struct ek_version ignored;
    struct finding found = parse_form(s, form, &ignored);

    switch (found.flaw) {
    case FLAW_NONE:
        break;
    case FLAW_NO_VERSION:
        ek_buf_puts(out, "could not parse ");
        ek_quote(out, s);
        ek_buf_puts(out, " as version");
        break;
    case FLAW_SHAPE:
        ek_buf_puts(out, "illegal version string ");
        ek_quote(out, s);
        break;
    case FLAW_ZERO_PREFIX:
    case FLAW_RANGE:
        ek_buf_printf(out, "illegal %s version component ",
                      found.flaw == FLAW_RANGE ? "non-numeric" : "zero-prefixed");
        ek_quote(out, found.part);
        ek_buf_puts(out, " in ");
        ek_quote(out, s);
        if (found.flaw == FLAW_RANGE) {
            ek_buf_puts(out, ": strconv.ParseUint: parsing ");
            ek_quote(out, found.part);
            ek_buf_puts(out, ": value out of range");
        }
        break;
    case FLAW_EXTRA:
        ek_buf_puts(out, "could not parse pre-release/metadata (");
        ek_buf_append(out, found.part.p, found.part.len);
        ek_buf_puts(out, ") in version ");
        ek_quote(out, s);
        break;
    }
    return out->failed;
}

static int cmp_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int cmp_numbers(struct ek_str a, struct ek_str b)
{
    for (;;) {
        uint64_t x = 0, y = 0;
        bool more_a = ek_version_next_component(&a, &x);
        bool more_b = ek_version_next_component(&b, &y);
        if (x != y)
            return cmp_u64(x, y);
        if (!more_a && !more_b)
            return 0;
    }
}

static int cmp_bytes(struct ek_str a, struct ek_str b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int sign = len ? memcmp(a.p, b.p, len) : 0;
    return sign ? (sign > 0) - (sign < 0) : cmp_u64(a.len, b.len);
}

/* One identifier against another: as numbers where both are, else as bytes. */
static int cmp_ids(struct ek_str a, struct ek_str b)
{
    uint64_t x, y;
    if (ek_version_digits(a, &x) && ek_version_digits(b, &y))
        return cmp_u64(x, y);
    return cmp_bytes(a, b);
}

static int cmp_pre_release(struct ek_str a, struct ek_str b)
{
    if (a.len == 0 || b.len == 0)
        return (a.len == 0) - (b.len == 0); /* a release is above its pre-releases */
    for (;;) {
        struct ek_str x = {0}, y = {0};
        bool more_a = next_id(&a, &x), more_b = next_id(&b, &y);
        if (!more_a || !more_b)
            return more_a - more_b;
        int sign = cmp_ids(x, y);
        if (sign)
            return sign;
    }
}

int ek_version_cmp(const struct ek_version *a, const struct ek_version *b)
{
    int sign = cmp_numbers(a->numbers, b->numbers);
    if (sign || !a->semantic || !b->semantic)
        return sign;
    return cmp_pre_release(a->pre_release, b->pre_release);
}

int ek_version_cmp_text(const struct ek_version *a, struct ek_str b, int *ret_sign)
{
    struct ek_version other;
    int rc = ek_version_parse(b, a->semantic ? EK_VERSION_SEMANTIC : EK_VERSION_GENERIC, &other);
    if (!rc)
        *ret_sign = ek_version_cmp(a, &other);
    return rc;
}

int ek_version_format(const struct ek_version *version, struct ek_buf *out)
{
    struct ek_str rest = version->numbers;
    const char *dot = "";
    uint64_t value;

    for (; ek_version_next_component(&rest, &value); dot = ".")
        ek_buf_printf(out, "%s%llu", dot, (unsigned long long)value);
    if (version->pre_release.len > 0) {
        ek_buf_append(out, "-", 1);
        ek_buf_append(out, version->pre_release.p, version->pre_release.len);
    }
    if (version->build.len > 0) {
        ek_buf_append(out, "+", 1);
        ek_buf_append(out, version->build.p, version->build.len);
    }
    return out->failed;
}

struct ek_minor ek_minor_parse(const char *s)
{
    struct ek_version v;

    if (!s || ek_version_parse(ek_str_from(s), EK_VERSION_GENERIC, &v))
        return EK_MINOR_UNKNOWN;
    return EK_MINOR(v.major, v.minor);
}

struct ek_minor ek_minor_from_fields(const char *major, const char *minor)
{
    struct ek_minor v = {.known = true};

    if (!major || !minor || !ek_version_digits(take_digits(ek_str_from(major)), &v.major) ||
        !ek_version_digits(take_digits(ek_str_from(minor)), &v.minor))
        return EK_MINOR_UNKNOWN;
    return v;
}

int ek_minor_cmp(struct ek_minor a, struct ek_minor b)
{
    int sign = cmp_u64(a.major, b.major);
    return sign ? sign : cmp_u64(a.minor, b.minor);
}

struct ek_minor ek_minor_offset(struct ek_minor v, int n)
{
    if (!v.known)
        return v;
    if (n >= 0)
        v.minor += (uint64_t)n;
    else
        v.minor -= (uint64_t) - (int64_t)n < v.minor ? (uint64_t) - (int64_t)n : v.minor;
    return v;
}

const char *ek_minor_format(struct ek_minor v, char buf[EK_MINOR_SIZE])
{
    buf[0] = '\0';
    if (v.known)
        snprintf(buf, EK_MINOR_SIZE, "%llu.%llu", (unsigned long long)v.major,
                 (unsigned long long)v.minor);
    return buf;
}
