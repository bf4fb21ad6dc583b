/* SPDX-License-Identifier: Apache-2.0 */
/* jsonpatch.escapeKey: a key made fit to stand in a JSON pointer (RFC 6901). */
#include <string.h>

#include "api/cel/lib/opaque.h"

static struct ek_cel_val escape_key(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                    uint32_t n)
{
    struct ek_str key = ek_cel_text_of(&args[0]);
    size_t len = key.len;

    (void)n;
    for (size_t i = 0; i < key.len; i++)
        len += key.p[i] == '/' || key.p[i] == '~';
    if (len == key.len)
        return args[0];
    char *out = ek_cel_alloc(eval, len), *at = out;
    if (!out)
        return ek_cel_no_memory(eval);
    for (size_t i = 0; i < key.len; i++) {
        char c = key.p[i];
        if (c != '/' && c != '~') {
            *at++ = c;
            continue;
        }
        *at++ = '~';
        *at++ = c == '/' ? '1' : '0';
    }
    return ek_cel_string(out, len);
}

static const struct ek_cel_function functions[] = {
    EK_CEL_FUNCTION(
        "jsonpatch.escapeKey", ek_cel_cost_of_reading,
        EK_CEL_OVERLOAD("string_jsonpatch_escapeKey_string", "string -> string", 0, escape_key)),
    {.name = NULL},
};

const struct ek_cel_library ek_cel_lib_k8s_jsonpatch = {
    .name = "kubernetes.jsonpatch",
    .functions = functions,
};
