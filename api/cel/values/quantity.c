/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/values/quantity.h"

#include <math.h>
#include <string.h>

#include "api/cel/text/number.h"
#include "api/cel/values/account.h"

/* Digits that always fit an int64, and digits behind the point that are kept. */
#define SMALL_DIGITS 18
#define NANO_DIGITS  9

static const char wrong_form[] = "quantities must match the regular expression "
                                 "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
static const char wrong_suffix[] = "unable to parse quantity's suffix";
static const char wrong_number[] = "unable to parse numeric part of quantity";

/* A text taken apart. */
struct parts {
    bool negative;
    struct ek_str number; /* sign, digits, point and all */
    struct ek_str whole;  /* digits without leading zeros, but "0" for none */
    struct ek_str fraction;
    struct ek_str suffix;
};

/* What a suffix stands for: base^exponent. */
struct factor {
    enum ek_cel_quantity_suffix suffix;
    int32_t exponent;
};

static size_t digits_at(struct ek_str s, size_t at)
{
    while (at < s.len && s.p[at] >= '0' && s.p[at] <= '9')
        at++;
    return at;
}

static struct ek_str between(struct ek_str s, size_t from, size_t to)
{
    return (struct ek_str){s.p + from, to - from};
}

static bool take_suffix(struct ek_str s, size_t from, struct parts *p)
{
    static const char letters[] = {'e', 'E', 'i', 'n', 'u', 'm', 'k', 'K', 'M', 'G', 'T', 'P'};
    size_t at = from;

    while (at < s.len && memchr(letters, s.p[at], sizeof letters))
        at++;
    if (at < s.len && (s.p[at] == '-' || s.p[at] == '+'))
        at++;
    at = digits_at(s, at);
    p->suffix = between(s, from, s.len);
    return at == s.len;
}

static bool take_apart(struct ek_str s, struct parts *p)
{
    size_t at = s.p[0] == '-' || s.p[0] == '+', start;

    *p = (struct parts){.negative = s.p[0] == '-', .whole = EK_STR("0"), .number = EK_STR("0")};
    while (at < s.len && s.p[at] == '0')
        at++;
    if (at == s.len)
        return true;
    start = at;
    at = digits_at(s, at);
    if (at > start)
        p->whole = between(s, start, at);
    if (at < s.len && s.p[at] == '.') {
        start = at + 1;
        at = digits_at(s, start);
        p->fraction = between(s, start, at);
    }
    p->number = between(s, 0, at);
    return take_suffix(s, at, p);
}

static bool read_suffix(struct ek_str s, struct factor *ret)
{
    static const struct {
        char text[3];
        struct factor factor;
    } known[] = {
        {"", {EK_CEL_QUANTITY_DECIMAL, 0}},   {"n", {EK_CEL_QUANTITY_DECIMAL, -9}},
        {"u", {EK_CEL_QUANTITY_DECIMAL, -6}}, {"m", {EK_CEL_QUANTITY_DECIMAL, -3}},
        {"k", {EK_CEL_QUANTITY_DECIMAL, 3}},  {"M", {EK_CEL_QUANTITY_DECIMAL, 6}},
        {"G", {EK_CEL_QUANTITY_DECIMAL, 9}},  {"T", {EK_CEL_QUANTITY_DECIMAL, 12}},
        {"P", {EK_CEL_QUANTITY_DECIMAL, 15}}, {"E", {EK_CEL_QUANTITY_DECIMAL, 18}},
        {"Ki", {EK_CEL_QUANTITY_BINARY, 10}}, {"Mi", {EK_CEL_QUANTITY_BINARY, 20}},
        {"Gi", {EK_CEL_QUANTITY_BINARY, 30}}, {"Ti", {EK_CEL_QUANTITY_BINARY, 40}},
        {"Pi", {EK_CEL_QUANTITY_BINARY, 50}}, {"Ei", {EK_CEL_QUANTITY_BINARY, 60}},
    };
    int64_t exponent;

    for (size_t i = 0; i < EK_ARRAY_SIZE(known); i++)
        if (ek_str_eq(s, ek_str_from(known[i].text))) {
            *ret = known[i].factor;
            return true;
        }
    if ((s.p[0] != 'e' && s.p[0] != 'E') || !ek_cel_parse_int(s.p + 1, s.len - 1, &exponent))
        return false;
    *ret = (struct factor){EK_CEL_QUANTITY_EXPONENT, (int32_t)(uint32_t)(uint64_t)exponent};
    return true;
}

/* As Go's int32 does: around the ends. */
static int32_t minus(int32_t a, uint32_t b)
{
    return (int32_t)((uint32_t)a - b);
}

/* True when the reference keeps the number in an int64. */
static bool fits_small(const struct parts *p, const struct factor *f, int32_t scale)
{
    size_t digits = p->whole.len + p->fraction.len;

    if (f->suffix != EK_CEL_QUANTITY_BINARY)
        return digits <= SMALL_DIGITS && scale >= -NANO_DIGITS;
    size_t bits_as_digits = (size_t)f->exponent * 3 / 10;
    return p->fraction.len == 0 && digits + bits_as_digits <= 14;
}

/* Whether the text is the canonical one, by the reference's shortcut. */
static bool is_canonical(const struct parts *p, const struct factor *f, int64_t value,
                         int32_t scale)
{
    struct ek_str a = p->whole, b = p->fraction;
    size_t zeros = 0;

    if (f->suffix == EK_CEL_QUANTITY_BINARY)
        return (value & 7) != 0;
    while (zeros < b.len && b.p[b.len - 1 - zeros] == '0')
        zeros++;
    if (zeros == b.len)
        while (zeros - b.len < a.len && a.p[a.len - 1 - (zeros - b.len)] == '0')
            zeros++;
    return scale % 3 == 0 && zeros < 3 && a.p[0] != '0';
}

static bool parse_small(struct ek_str text, const struct parts *p, const struct factor *f,
                        struct ek_cel_quantity *ret)
{
    bool binary = f->suffix == EK_CEL_QUANTITY_BINARY;
    int32_t scale = binary ? 0 : minus(f->exponent, (uint32_t)p->fraction.len);
    int64_t value = 0, result;

    if (!fits_small(p, f, scale))
        return false;
    for (size_t i = 0; i < p->whole.len; i++)
        value = value * 10 + (p->whole.p[i] - '0');
    for (size_t i = 0; i < p->fraction.len; i++)
        value = value * 10 + (p->fraction.p[i] - '0');
    if (__builtin_mul_overflow(value, (int64_t)1 << (binary ? f->exponent : 0), &result))
        return false;
    *ret = (struct ek_cel_quantity){
        .suffix = f->suffix, .scale = scale, .value = p->negative ? -result : result};
    if (is_canonical(p, f, value, scale))
        ret->text = text;
    return true;
}

/* Sets *ret to the big quantity number. */
static bool make_big(struct ek_cel_eval *eval, const struct ek_cel_decimal *number,
                     enum ek_cel_quantity_suffix suffix, struct ek_cel_quantity *ret)
{
    struct ek_cel_decimal *own = ek_cel_alloc(eval, sizeof *own);

    if (!own)
        return false;
    *own = *number;
    *ret = (struct ek_cel_quantity){.suffix = suffix, .number = own};
    return true;
}

static bool parse_big(struct ek_cel_eval *eval, const struct parts *p, const struct factor *f,
                      struct ek_cel_quantity *ret)
{
    static const uint32_t max_int64[] = {854775807, 223372036, 9}, one_limb[] = {1};
    const struct ek_cel_decimal max = {.limbs = max_int64, .n = 3},
                                one = {.limbs = one_limb, .n = 1};
    enum ek_cel_quantity_suffix suffix = f->suffix;
    struct ek_str digits = p->number;
    struct ek_cel_decimal d;

    if (digits.p[0] == '-' || digits.p[0] == '+')
        digits = between(digits, 1, digits.len);
    if (!ek_cel_decimal_read(eval, digits, &d))
        return false;
    if (suffix == EK_CEL_QUANTITY_BINARY) {
        if (!ek_cel_decimal_shift(eval, &d, (unsigned)f->exponent, &d))
            return false;
    } else {
        d.scale = minus(d.scale, (uint32_t)f->exponent);
    }
    if (d.n && !ek_cel_decimal_round(eval, &d, NANO_DIGITS, &d))
        return false;
    if (suffix == EK_CEL_QUANTITY_BINARY && ek_cel_decimal_compare(&d, &max) > 0)
        d = max;
    if (suffix == EK_CEL_QUANTITY_BINARY && d.n && ek_cel_decimal_compare(&d, &one) < 0)
        suffix = EK_CEL_QUANTITY_DECIMAL;
    d.negative = p->negative && d.n;
    return make_big(eval, &d, suffix, ret);
}

static const char *read_parts(struct ek_str text, struct parts *p, struct factor *f)
{
    if (text.len == 0 || !take_apart(text, p))
        return wrong_form;
    return read_suffix(p->suffix, f) ? NULL : wrong_suffix;
}

static bool has_digit(struct ek_str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.p[i] >= '0' && s.p[i] <= '9')
            return true;
    return false;
}

const char *ek_cel_quantity_check(struct ek_str text)
{
    struct ek_cel_quantity ignored;
    struct parts p;
    struct factor f;
    const char *why = read_parts(text, &p, &f);

    if (why || parse_small(text, &p, &f, &ignored))
        return why;
    return has_digit(p.number) ? NULL : wrong_number;
}

int ek_cel_quantity_parse(struct ek_cel_eval *eval, struct ek_str text, struct ek_cel_quantity *ret,
                          const char **ret_why)
{
    struct parts p;
    struct factor f;

    *ret_why = read_parts(text, &p, &f);
    if (*ret_why)
        return EK_E_PARSE;
    if (ek_str_eq(text, EK_STR("0"))) {
        *ret = (struct ek_cel_quantity){.text = text};
        return 0;
    }
    if (parse_small(text, &p, &f, ret))
        return 0;
    if (!has_digit(p.number)) {
        *ret_why = wrong_number;
        return EK_E_PARSE;
    }
    return parse_big(eval, &p, &f, ret) ? 0 : EK_E_NOMEM;
}

struct ek_cel_quantity ek_cel_quantity_of_int(int64_t value)
{
    return (struct ek_cel_quantity){.suffix = EK_CEL_QUANTITY_EXPONENT, .value = value};
}

/* The number of q, in room when q is small. */
static struct ek_cel_decimal number_of(const struct ek_cel_quantity *q,
                                       uint32_t room[EK_CEL_DECIMAL_LIMBS])
{
    return q->number ? *q->number : ek_cel_decimal_of(q->value, minus(0, (uint32_t)q->scale), room);
}

static bool scale_up(int64_t value, int64_t tens, int64_t *ret)
{
    for (*ret = value; tens > 0 && *ret != 0; tens--)
        if (__builtin_mul_overflow(*ret, 10, ret))
            return false;
    return true;
}

/* Adds to the small sum q in place, if the result is small. */
static bool add_small(struct ek_cel_quantity *q, int64_t value, int32_t scale)
{
    int64_t a = q->value, b = value, diff = (int64_t)q->scale - scale;

    if (b == 0)
        return true;
    if (a == 0) {
        q->value = value;
        q->scale = scale;
        return true;
    }
    if (!scale_up(a, diff, &a) || !scale_up(b, -diff, &b) || __builtin_add_overflow(a, b, &a))
        return false;
    q->value = a;
    q->scale = diff > 0 ? scale : q->scale;
    return true;
}

static bool add_big(struct ek_cel_eval *eval, const struct ek_cel_quantity *b, bool subtract,
                    struct ek_cel_quantity *sum)
{
    uint32_t room_a[EK_CEL_DECIMAL_LIMBS], room_b[EK_CEL_DECIMAL_LIMBS];
    struct ek_cel_decimal na = number_of(sum, room_a), nb = number_of(b, room_b), result;

    if (subtract)
        nb.negative = nb.n && !nb.negative;
    if (!ek_cel_decimal_add(eval, &na, &nb, &result))
        return false;
    if (!sum->number)
        return make_big(eval, &result, sum->suffix, sum);
    *sum->number = result; /* which a has as well */
    return true;
}

static bool add(struct ek_cel_eval *eval, struct ek_cel_quantity *a,
                const struct ek_cel_quantity *b, bool subtract, struct ek_cel_quantity *ret)
{
    *ret = *a;
    ret->text = (struct ek_str){0};
    if (ek_cel_quantity_sign(a) == 0)
        ret->suffix = b->suffix;
    if (!a->number && !b->number) {
        int64_t value = subtract ? (int64_t)(0 - (uint64_t)b->value) : b->value;
        if (add_small(ret, value, b->scale))
            return true;
    }
    return add_big(eval, b, subtract, ret);
}

bool ek_cel_quantity_add(struct ek_cel_eval *eval, struct ek_cel_quantity *a,
                         const struct ek_cel_quantity *b, struct ek_cel_quantity *ret)
{
    return add(eval, a, b, false, ret);
}

bool ek_cel_quantity_sub(struct ek_cel_eval *eval, struct ek_cel_quantity *a,
                         const struct ek_cel_quantity *b, struct ek_cel_quantity *ret)
{
    return add(eval, a, b, true, ret);
}

bool ek_cel_quantity_meet(struct ek_cel_eval *eval, struct ek_cel_quantity *a,
                          const struct ek_cel_quantity *b)
{
    struct ek_str text = a->text;

    if (a->number || !b->number)
        return true;
    uint32_t *room = ek_cel_alloc(eval, EK_CEL_DECIMAL_LIMBS * sizeof *room);
    if (!room)
        return false;
    struct ek_cel_decimal number = number_of(a, room);
    if (!make_big(eval, &number, a->suffix, a))
        return false;
    a->text = text;
    return true;
}

int ek_cel_quantity_compare(const struct ek_cel_quantity *a, const struct ek_cel_quantity *b)
{
    uint32_t room_a[EK_CEL_DECIMAL_LIMBS], room_b[EK_CEL_DECIMAL_LIMBS];

    if (!a->number && !b->number && a->scale == b->scale)
        return a->value < b->value ? -1 : a->value > b->value;
    struct ek_cel_decimal na = number_of(a, room_a), nb = number_of(b, room_b);
    return ek_cel_decimal_compare(&na, &nb);
}

int ek_cel_quantity_sign(const struct ek_cel_quantity *q)
{
    if (q->number)
        return q->number->n == 0 ? 0 : q->number->negative ? -1 : 1;
    return q->value < 0 ? -1 : q->value > 0;
}

bool ek_cel_quantity_int(const struct ek_cel_quantity *q, int64_t *ret)
{
    return !q->number && q->scale >= 0 && scale_up(q->value, q->scale, ret);
}

/* Go's math.Pow10, whose roundings show in the product. */
static double power_of_ten(int32_t n)
{
    static const double units[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10,
                                   1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
                                   1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31};
    static const double large[] = {1e0, 1e32, 1e64, 1e96, 1e128, 1e160, 1e192, 1e224, 1e256, 1e288};
    static const double tiny[] = {1e-0,   1e-32,  1e-64,  1e-96,  1e-128, 1e-160,
                                  1e-192, 1e-224, 1e-256, 1e-288, 1e-320};

    if (n >= 0 && n <= 308)
        return large[n / 32] * units[n % 32];
    if (n >= -323 && n <= 0)
        return tiny[-n / 32] / units[-n % 32];
    return n > 0 ? INFINITY : 0;
}

bool ek_cel_quantity_double(struct ek_cel_eval *eval, const struct ek_cel_quantity *q, double *ret)
{
    double base = (double)q->value;
    int32_t exponent = q->scale;

    if (q->number) {
        char *text = ek_cel_alloc(eval, (size_t)ek_cel_decimal_digits(q->number) + 1);
        if (!text)
            return false;
        ek_cel_decimal_write(q->number, text);
        if (!ek_cel_parse_double(text, strlen(text), &base))
            base = INFINITY;
        base = q->number->negative ? -base : base;
        exponent = minus(0, (uint32_t)q->number->scale);
    }
    *ret = exponent == 0 ? base : base * power_of_ten(exponent);
    return true;
}

int ek_cel_quantity_canonical(struct ek_str text, struct ek_arena *arena, struct ek_buf *out,
                              const char **ret_why)
{
    struct ek_cel_eval eval = {.arena = arena};
    struct ek_cel_quantity quantity = {0};
    int rc = ek_cel_quantity_parse(&eval, text, &quantity, ret_why);

    return rc ? rc : ek_cel_quantity_format(&quantity, out);
}
