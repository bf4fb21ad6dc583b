/* SPDX-License-Identifier: Apache-2.0 */
#include "api/decode/gotext.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/obj.h"

/* Numbers that are no int64 are float64 in Go. */
static void put_number(yyjson_val *value, struct ek_buf *out)
{
    char text[64], *exponent;

    if (yyjson_is_sint(value) || yyjson_get_uint(value) <= INT64_MAX) {
        if (!yyjson_is_real(value)) {
            ek_buf_printf(out, "%lld", (long long)yyjson_get_sint(value));
            return;
        }
    }
    yyjson_val real = {0};
    unsafe_yyjson_set_real(&real, yyjson_get_num(value));
    char *written = yyjson_val_write_opts(&real, 0, &ek_json_xalc, NULL, NULL);
    strncpy(text, written ? written : "0", sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ek_free(written);
    size_t len = strlen(text);
    if (len > 2 && !strcmp(text + len - 2, ".0"))
        text[len - 2] = '\0';
    exponent = strchr(text, 'e');
    if (exponent && exponent[1] != '-' && exponent[1] != '+')
        ek_buf_printf(out, "%.*se+%s", (int)(exponent - text), text, exponent + 1);
    else
        ek_buf_puts(out, text);
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
