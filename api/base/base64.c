/* SPDX-License-Identifier: Apache-2.0 */
#include "api/base/base64.h"

#include <stdint.h>
#include <string.h>

#include "api/base/err.h"
#include "api/base/mem.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int digit(char c)
{
    const char *p = c ? strchr(alphabet, c) : NULL;
    return p ? (int)(p - alphabet) : -1;
}

int ek_base64_decode(const char *text, char **ret_data, size_t *ret_size)
{
    EK_AUTOFREE char *out = ek_xalloc(strlen(text) / 4 * 3 + 4);
    size_t size = 0, n_digits = 0, n_padding = 0;
    uint32_t bits = 0;

    for (; *text; text++) {
        if (*text == '\r' || *text == '\n')
            continue;
        if (*text == '=') {
            n_padding++;
            continue;
        }
        int value = digit(*text);
        if (value < 0 || n_padding)
            return EK_E_PARSE;
        bits = bits << 6 | (uint32_t)value;
        if (n_digits++ % 4)
            out[size++] = (char)(uint8_t)(bits >> (6 - 2 * ((n_digits - 1) % 4)));
    }
    if ((n_digits + n_padding) % 4 || n_padding > 2 || n_digits % 4 == 1)
        return EK_E_PARSE;
    out[size] = '\0';
    *ret_data = out;
    *ret_size = size;
    out = NULL;
    return 0;
}

void ek_base64_write(const void *data, size_t size, char *out)
{
    const uint8_t *in = data;

    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t bits = (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
                        (left > 2 ? in[i + 2] : 0u);
        *out++ = alphabet[bits >> 18];
        *out++ = alphabet[bits >> 12 & 63];
        *out++ = left > 1 ? alphabet[bits >> 6 & 63] : '=';
        *out++ = left > 2 ? alphabet[bits & 63] : '=';
    }
}

char *ek_base64_encode(const void *data, size_t size)
{
    char *text = ek_xalloc(EK_BASE64_LEN(size) + 1);

    ek_base64_write(data, size, text);
    return text;
}
