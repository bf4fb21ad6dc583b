/* SPDX-License-Identifier: Apache-2.0 */
#include "api/decode/gotext.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/obj.h"

/* Appends a number of yyjson as Go writes it. */
static void put_digits(const char *text, size_t len, struct ek_buf *out)
{
    const char *exponent = memchr(text, 'e', len);

    if (len > 2 && !memcmp(text + len - 2, ".0", 2))
        len -= 2;
    if (!exponent || exponent[1] == '-' || exponent[1] == '+') {
        ek_buf_append(out, text, len);
        return;
    }
    ek_buf_append(out, text, (size_t)(exponent - text));
    ek_buf_puts(out, "e+");
    ek_buf_append(out, exponent + 1, len - (size_t)(exponent + 1 - text));
}

/* Numbers that are no int64 are float64 in Go. */
static void put_number(yyjson_val *value, struct ek_buf *out)
{
    yyjson_val real = {0};

    if (!yyjson_is_real(value) && (yyjson_is_sint(value) || yyjson_get_uint(value) <= INT64_MAX)) {
        ek_buf_printf(out, "%lld", (long long)yyjson_get_sint(value));
        return;
    }
    unsafe_yyjson_set_real(&real, yyjson_get_num(value));
    char *written = yyjson_val_write_opts(&real, 0, &ek_json_xalc, NULL, NULL);
    put_digits(written ? written : "0", written ? strlen(written) : 1, out);
    ek_free(written);
}

/* Octets of the text that starts here, with its quotes. */
static size_t string_len(const char *json)
{
    size_t len = 1;

    while (json[len] && json[len] != '"')
        len += json[len] == '\\' && json[len + 1] ? 2 : 1;
    return len + (json[len] == '"');
}

int ek_go_numbers(const char *json, struct ek_buf *out)
{
    while (*json) {
        size_t plain = strcspn(json, "\"-0123456789");
        ek_buf_append(out, json, plain);
        json += plain;
        size_t len = *json == '"' ? string_len(json) : strspn(json, "-+.0123456789eE");
        if (*json == '"')
            ek_buf_append(out, json, len);
        else if (*json)
            put_digits(json, len, out);
        json += len;
    }
    return out->failed;
}

static void put_scalar(yyjson_val *value, struct ek_buf *out)
{
    char *text = yyjson_val_write_opts(value, 0, &ek_json_xalc, NULL, NULL);

    ek_go_json(text ? text : "null", out);
    ek_free(text);
}

static int by_name(const void *a, const void *b)
{
    yyjson_val *x = *(yyjson_val *const *)a, *y = *(yyjson_val *const *)b;
    return strcmp(yyjson_get_str(x), yyjson_get_str(y));
}

static void put_object(yyjson_val *object, struct ek_buf *out)
{
    size_t size = yyjson_obj_size(object), i, n, at = 0;
    yyjson_val *key, *value;
    EK_AUTOFREE yyjson_val **keys = ek_alloc((size + 1) * sizeof(void *));

    if (!keys) {
        out->failed = EK_E_NOMEM;
        return;
    }
    ek_json_each_member(object, i, n, key, value)
    {
        keys[at++] = key;
    }
    if (at > 1)
        qsort(keys, at, sizeof(void *), by_name);
    ek_buf_puts(out, "{");
    for (i = 0; i < at && !out->failed; i++) {
        ek_buf_puts(out, i ? "," : "");
        put_scalar(keys[i], out);
        ek_buf_puts(out, ":");
        ek_go_value(keys[i] + 1, out);
    }
    ek_buf_puts(out, "}");
}

int ek_go_value(yyjson_val *value, struct ek_buf *out)
{
    yyjson_val *item;
    size_t i, n;

    if (out->failed)
        return out->failed;
    if (yyjson_is_obj(value)) {
        put_object(value, out);
    } else if (yyjson_is_arr(value)) {
        ek_buf_puts(out, "[");
        yyjson_arr_foreach(value, i, n, item)
        {
            ek_buf_puts(out, i ? "," : "");
            ek_go_value(item, out);
        }
        ek_buf_puts(out, "]");
    } else if (yyjson_is_num(value)) {
        put_number(value, out);
    } else {
        put_scalar(value, out);
    }
    return out->failed;
}
