/* SPDX-License-Identifier: Apache-2.0 */
/* How a quantity is written: the largest suffix that needs no point (apimachinery's canonical
 * form). */
#include <inttypes.h>
#include <string.h>

#include "api/cel/values/account.h"
#include "api/cel/values/quantity.h"

#define SCRATCH_MAX ((size_t)64 << 20)

static void put_decimal_suffix(int64_t exponent, struct ek_buf *out)
{
    static const char *const names[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
    int64_t at = exponent / 3 + 3;

    if (at >= 0 && at < (int64_t)EK_ARRAY_SIZE(names))
        ek_buf_puts(out, names[at]);
}

/* The digits of d without trailing zeros, and a power of ten that is a multiple of three. */
static bool put_decimal(struct ek_cel_eval *eval, const struct ek_cel_decimal *d, bool si,
                        struct ek_buf *out)
{
    char *text = ek_cel_alloc(eval, (size_t)ek_cel_decimal_digits(d) + 3);
    int64_t exponent = -(int64_t)d->scale;

    if (!text)
        return false;
    ek_cel_decimal_write(d, text);
    size_t len = strlen(text);
    for (; text[len - 1] == '0'; len--)
        exponent++;
    for (; exponent % 3 != 0; exponent--)
        text[len++] = '0';
    ek_buf_puts(out, d->negative ? "-" : "");
    ek_buf_append(out, text, len);
    if (si)
        put_decimal_suffix(exponent, out);
    else if (exponent != 0)
        ek_buf_printf(out, "e%" PRId64, exponent);
    return true;
}

/* The whole number d and a power of 1024. */
static bool put_binary(struct ek_cel_eval *eval, const struct ek_cel_decimal *d, bool strip,
                       struct ek_buf *out)
{
    static const char *const names[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    struct ek_cel_decimal rest = *d;
    uint32_t times = 0;

    if (strip && !ek_cel_decimal_strip(eval, d, 1024, &rest, &times))
        return false;
    char *text = ek_cel_alloc(eval, (size_t)ek_cel_decimal_digits(&rest) + 1);
    if (!text)
        return false;
    ek_cel_decimal_write(&rest, text);
    ek_buf_printf(out, "%s%s%s", rest.negative ? "-" : "", text,
                  times < EK_ARRAY_SIZE(names) ? names[times] : "");
    return true;
}

static bool put(struct ek_cel_eval *eval, const struct ek_cel_quantity *q,
                const struct ek_cel_decimal *d, struct ek_buf *out)
{
    static const uint32_t limb[] = {1024};
    const struct ek_cel_decimal ki = {.limbs = limb, .n = 1};
    struct ek_cel_decimal size = *d, whole;

    size.negative = false;
    if (q->suffix != EK_CEL_QUANTITY_BINARY || ek_cel_decimal_compare(&size, &ki) < 0)
        return put_decimal(eval, d, q->suffix != EK_CEL_QUANTITY_EXPONENT, out);
    if (!ek_cel_decimal_round(eval, d, 0, &whole))
        return false;
    if (ek_cel_decimal_compare(&whole, d) != 0)
        return put_decimal(eval, d, true, out);
    return put_binary(eval, &whole, q->number || q->value != INT64_MIN, out);
}

int ek_cel_quantity_format(const struct ek_cel_quantity *q, struct ek_buf *out)
{
    uint32_t room[EK_CEL_DECIMAL_LIMBS];

    if (q->text.p)
        return ek_buf_append(out, q->text.p, q->text.len);
    if (ek_cel_quantity_sign(q) == 0)
        return ek_buf_puts(out, "0");

    struct ek_cel_decimal d =
        q->number ? *q->number
                  : ek_cel_decimal_of(q->value, (int32_t)(0 - (uint32_t)q->scale), room);
    struct ek_cel_eval scratch = {.arena = ek_arena_new(SCRATCH_MAX)};
    if (!put(&scratch, q, &d, out))
        ek_buf_puts(out, "(too long)");
    ek_arena_free(scratch.arena);
    return out->failed;
}
