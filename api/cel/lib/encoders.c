/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base64.encode and base64.decode: ext.Encoders of cel-go 0.26.
 */
#include <string.h>

#include "api/base/base64.h"
#include "api/cel/library.h"

static struct ek_cel_val encode(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    size_t size = EK_BASE64_LEN((size_t)args[0].n);
    char *out = size <= UINT32_MAX ? ek_cel_alloc(eval, size ? size : 1) : NULL;

    (void)n;
    if (!out)
        return ek_cel_no_memory(eval);
    ek_base64_write(args[0].s, args[0].n, out);
    return ek_cel_string(out, size);
}

static int digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/*
 * Decodes len octets into out, with padding or without. Line ends are skipped wherever they are.
 * Returns the number of octets, or -1 with *ret_at the offset of what is wrong (Go encoding/base64,
 * StdEncoding, or else RawStdEncoding).
 */
static int64_t decode_into(const char *s, size_t len, bool padded, char *out, size_t *ret_at)
{
    uint32_t bits = 0;
    unsigned have = 0, pads = 0;
    int64_t n = 0;

    for (size_t at = 0; at < len; at++) {
        int value = digit(s[at]);

        *ret_at = at;
        if (s[at] == '\n' || s[at] == '\r')
            continue;
        if (s[at] == '=' && padded && have >= 2 && have + pads < 4) {
            pads++;
            continue;
        }
        if (value < 0 || pads)
            return -1;
        bits = bits << 6 | (uint32_t)value;
        if (++have < 4)
            continue;
        for (int shift = 16; shift >= 0; shift -= 8)
            out[n++] = (char)(bits >> shift);
        have = 0;
    }
    *ret_at = len - have;
    if (have == 1 || (padded && have && have + pads != 4))
        return -1;
    if (have >= 2)
        out[n++] = (char)(bits >> (have == 2 ? 4 : 10));
    if (have == 3)
        out[n++] = (char)(bits >> 2);
    return n;
}

static struct ek_cel_val decode(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    char *out = ek_cel_alloc(eval, (size_t)args[0].n + 1);
    int64_t size;
    size_t at;

    (void)n;
    if (!out)
        return ek_cel_no_memory(eval);
    size = decode_into(args[0].s, args[0].n, true, out, &at);
    if (size < 0)
        size = decode_into(args[0].s, args[0].n, false, out, &at);
    if (size < 0)
        return ek_cel_fail(eval, "illegal base64 data at input byte %zu", at);
    return ek_cel_bytes(out, (size_t)size);
}

static const struct ek_cel_function functions[] = {
    {.name = "base64.decode",
     .overloads =
         (const struct ek_cel_overload[]){
             {.id = "base64_decode_string", .signature = "string -> bytes", .fn = decode},
             {.id = NULL}}},
    {.name = "base64.encode",
     .overloads =
         (const struct ek_cel_overload[]){
             {.id = "base64_encode_bytes", .signature = "bytes -> string", .fn = encode},
             {.id = NULL}}},
    {.name = NULL},
};

const struct ek_cel_library ek_cel_lib_encoders = {.name = "cel.lib.ext.encoders",
                                                   .functions = functions};
