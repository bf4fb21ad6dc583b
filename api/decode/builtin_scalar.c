/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and numbers of Go types that read and write themselves. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/base/mem.h"
#include "api/base/time.h"
#include "api/cel/values/account.h"
#include "api/cel/values/quantity.h"
#include "api/decode/builtin-internal.h"
#include "api/gotypes/time.h"
#include "api/obj.h"

#define ZERO_TIME "0001-01-01T00:00:00Z"

/* Bytes of the canonical text of a quantity. */
#define QUANTITY_MAX ((size_t)64 << 20)

/* Below this, all whole numbers are float64s of their own, which Go writes without an exponent. */
#define WHOLE_MAX 9007199254740992.0

/* Room for an int64. */
#define NUMBER_MAX 24

static yyjson_mut_val *wrong(struct ek_go_reader *r, const struct ek_go_place *place,
                             const char *wanted, yyjson_val *value)
{
    char number[NUMBER_MAX] = "";

    if (yyjson_is_sint(value))
        snprintf(number, sizeof number, "%" PRId64, yyjson_get_sint(value));
    else if (yyjson_is_num(value))
        snprintf(number, sizeof number, "%.15g", yyjson_get_num(value));
    ek_go_fail(r, place, "%s is wanted here, not %s", wanted,
               *number ? number : ek_json_kind(yyjson_get_type(value)));
    return NULL;
}

static yyjson_mut_val *make_string(struct ek_go_reader *r, const char *text, size_t len)
{
    return ek_go_made(r, yyjson_mut_strncpy(r->doc, text, len));
}

/* Sets *ret when the number is whole and fits an int64; "3.0" is 3, as clients send it. */
static bool whole(yyjson_val *value, int64_t *ret)
{
    double d = yyjson_get_real(value);

    if (yyjson_is_real(value)) {
        *ret = d == trunc(d) && fabs(d) < WHOLE_MAX ? (int64_t)d : 0;
        return d == trunc(d) && fabs(d) < WHOLE_MAX;
    }
    *ret = yyjson_get_sint(value);
    return yyjson_is_sint(value) || (yyjson_is_uint(value) && *ret >= 0);
}

static yyjson_mut_val *read_integer(struct ek_go_reader *r, const struct ek_go_place *place,
                                    bool narrow, yyjson_val *value)
{
    int64_t i;

    if (!whole(value, &i) || (narrow && (i < INT32_MIN || i > INT32_MAX)))
        return wrong(r, place, narrow ? "a whole number of 32 bits" : "a whole number of 64 bits",
                     value);
    return ek_go_made(r, i < 0 ? yyjson_mut_sint(r->doc, i) : yyjson_mut_uint(r->doc, (uint64_t)i));
}

/* Go writes a whole number without a fraction. */
static yyjson_mut_val *read_float(struct ek_go_reader *r, const struct ek_go_place *place,
                                  yyjson_val *value)
{
    int64_t i;

    if (!yyjson_is_num(value))
        return wrong(r, place, "a number", value);
    if (whole(value, &i))
        return read_integer(r, place, false, value);
    return ek_go_made(r, yyjson_mut_real(r->doc, yyjson_get_num(value)));
}

static yyjson_mut_val *read_bytes(struct ek_go_reader *r, const struct ek_go_place *place,
                                  yyjson_val *value)
{
    EK_AUTOFREE char *data = NULL;
    EK_AUTOFREE char *encoded = NULL;
    size_t size = 0;

    if (strlen(yyjson_get_str(value)) != yyjson_get_len(value) ||
        ek_base64_decode(yyjson_get_str(value), &data, &size)) {
        ek_go_fail(r, place, "the text is not base64");
        return NULL;
    }
    encoded = ek_alloc(EK_BASE64_LEN(size) + 1);
    if (!encoded)
        return ek_go_made(r, NULL);
    ek_base64_write(data, size, encoded);
    return make_string(r, encoded, EK_BASE64_LEN(size));
}

/* The text of a MicroTime in UTC: its milliseconds, and the digits behind them. */
static void format_micro(const char *text, char out[EK_TIME_SIZE])
{
    const char *fraction = strchr(text, '.');

    ek_time_format_micro(ek_time_parse(text), out);
    char *there = strchr(out, '.');
    if (fraction && there && strspn(fraction + 1, "0123456789") >= 6)
        memcpy(there + 1, fraction + 1, 6);
}

static yyjson_mut_val *read_time(struct ek_go_reader *r, const struct ek_go_place *place,
                                 bool micro, yyjson_val *value)
{
    const char *text = yyjson_get_str(value);
    char out[EK_TIME_SIZE];
    ek_arena_reset(r->scratch);
    const char *why = ek_go_time_check(text, micro, r->scratch);

    if (why || strlen(text) != yyjson_get_len(value)) {
        ek_go_fail(r, place, "%s", why ? why : "the text is not a time");
        return NULL;
    }
    if (micro)
        format_micro(text, out);
    else
        ek_time_format(ek_time_parse(text), out);
    if (ek_go_time_check(out, micro, r->scratch)) {
        ek_go_fail(r, place, "the time is outside of the years 0 to 9999");
        return NULL;
    }
    if (!strcmp(out, ZERO_TIME) || !strcmp(out, "0001-01-01T00:00:00.000000Z"))
        return ek_go_made(r, yyjson_mut_null(r->doc));
    return make_string(r, out, strlen(out));
}

static yyjson_mut_val *canonical(struct ek_go_reader *r, const struct ek_go_place *place,
                                 struct ek_str text)
{
    EK_AUTO(ek_buf) out;
    const char *why = NULL;

    ek_buf_init(&out, QUANTITY_MAX);
    while (text.len && (text.p[0] == ' ' || text.p[0] == '\t'))
        text = (struct ek_str){text.p + 1, text.len - 1};
    while (text.len && (text.p[text.len - 1] == ' ' || text.p[text.len - 1] == '\t'))
        text.len--;
    int rc = ek_cel_quantity_canonical(text, r->scratch, &out, &why);
    if (rc == EK_E_PARSE)
        ek_go_fail(r, place, "%s", why ? why : "this is no quantity");
    else if (rc && !r->rc)
        r->rc = rc;
    return r->rc ? NULL : make_string(r, ek_buf_str(&out), out.len);
}

static yyjson_mut_val *read_quantity(struct ek_go_reader *r, const struct ek_go_place *place,
                                     yyjson_val *value)
{
    char number[NUMBER_MAX];
    int64_t i;

    ek_arena_reset(r->scratch);
    if (yyjson_is_str(value))
        return canonical(r, place, (struct ek_str){yyjson_get_str(value), yyjson_get_len(value)});
    if (!yyjson_is_num(value))
        return wrong(r, place, "a quantity", value);
    if (whole(value, &i)) {
        snprintf(number, sizeof number, "%" PRId64, i);
        return canonical(r, place, ek_str_from(number));
    }
    char *text = yyjson_val_write(value, 0, NULL);
    yyjson_mut_val *ret = text ? canonical(r, place, ek_str_from(text)) : ek_go_made(r, NULL);
    ek_free(text);
    return ret;
}

yyjson_mut_val *ek_go_quantity(struct ek_go_reader *r, const char *text)
{
    return canonical(r, NULL, ek_str_from(text));
}

const char *ek_go_plain_quantity(struct ek_go_reader *r, yyjson_mut_val *quantity, bool *ret_coarse)
{
    const struct ek_str text = {yyjson_mut_get_str(quantity), yyjson_mut_get_len(quantity)};
    struct ek_cel_eval eval = {.arena = r->scratch};
    struct ek_cel_quantity q = {0};
    const char *why = NULL;
    EK_AUTO(ek_buf) out;

    ek_arena_reset(r->scratch);
    ek_buf_init(&out, QUANTITY_MAX);
    int rc = ek_cel_quantity_parse(&eval, text, &q, &why);
    *ret_coarse = !q.number && q.scale >= -3;
    q.text = (struct ek_str){NULL, 0};
    rc = rc ? rc : ek_cel_quantity_format(&q, &out);
    if (rc && !r->rc)
        r->rc = rc == EK_E_PARSE ? EK_E_INVAL : rc;
    char *ret = rc ? NULL : ek_arena_try(r->scratch, out.len + 1);
    if (!ret) {
        r->rc = r->rc ? r->rc : EK_E_NOMEM;
        return "0";
    }
    memcpy(ret, ek_buf_str(&out), out.len + 1);
    return ret;
}

/* The digits without the last ones, one more where these are not all 0; room for another in out. */
static void cut_up(const char *digits, size_t n, size_t cut, char *out)
{
    size_t kept = n > cut ? n - cut : 0;
    bool rest = false;

    for (size_t i = kept; i < n; i++)
        rest = rest || digits[i] != '0';
    out[0] = '0';
    memcpy(out + 1, digits, kept);
    out[kept + 1] = '\0';
    for (size_t i = kept; rest; i--) {
        rest = out[i] == '9';
        out[i] = rest ? '0' : (char)(out[i] + 1);
    }
}

yyjson_mut_val *ek_go_round_up(struct ek_go_reader *r, yyjson_mut_val *quantity)
{
    bool coarse, negative;
    const char *text = ek_go_plain_quantity(r, quantity, &coarse);

    if (coarse || r->rc)
        return quantity;
    negative = *text == '-';
    text += negative;
    size_t n = strspn(text, "0123456789");
    const char *suffix = text + n;
    size_t cut = !strcmp(suffix, "u") || !strcmp(suffix, "e-6")   ? 3
                 : !strcmp(suffix, "n") || !strcmp(suffix, "e-9") ? 6
                                                                  : 0;
    if (!cut)
        return ek_go_quantity(r, text - negative);
    char *rounded = ek_arena_try(r->scratch, n + 8);
    if (!rounded)
        return ek_go_made(r, NULL);
    cut_up(text, n, cut, rounded + 1);
    snprintf(rounded + 1 + strlen(rounded + 1), 4, "%s", *suffix == 'e' ? "e-3" : "m");
    rounded += rounded[1] == '0';
    if (negative)
        *rounded = '-';
    return ek_go_quantity(r, rounded + !negative);
}

yyjson_mut_val *ek_go_read_scalar(struct ek_go_reader *r, const struct ek_go_place *place,
                                  enum ek_go_form form, yyjson_val *value)
{
    switch (form) {
    case EK_GO_BOOL:
        return yyjson_is_bool(value)
                   ? ek_go_made(r, yyjson_mut_bool(r->doc, yyjson_get_bool(value)))
                   : wrong(r, place, "true or false", value);
    case EK_GO_INT32:
    case EK_GO_INT64:
        return read_integer(r, place, form == EK_GO_INT32, value);
    case EK_GO_INTSTR:
        if (!yyjson_is_str(value))
            return read_integer(r, place, true, value);
        break;
    case EK_GO_FLOAT64:
        return read_float(r, place, value);
    case EK_GO_QUANTITY:
        return read_quantity(r, place, value);
    case EK_GO_RAW:
        return ek_go_made(r, yyjson_val_mut_copy(r->doc, value));
    default:
        break;
    }
    if (!yyjson_is_str(value))
        return wrong(r, place, "a string", value);
    ek_work_octets(r->work, yyjson_get_len(value));
    if (form == EK_GO_BYTES)
        return read_bytes(r, place, value);
    if (form == EK_GO_TIME || form == EK_GO_MICROTIME)
        return read_time(r, place, form == EK_GO_MICROTIME, value);
    return make_string(r, yyjson_get_str(value), yyjson_get_len(value));
}
