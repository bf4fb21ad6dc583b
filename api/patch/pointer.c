/* SPDX-License-Identifier: Apache-2.0 */
#include "api/patch/pointer.h"

int ek_pointer_push(struct ek_buf *pointer, struct ek_str token)
{
    size_t start = 0;

    ek_buf_append(pointer, "/", 1);
    for (size_t i = 0; i < token.len; i++) {
        if (token.p[i] != '~' && token.p[i] != '/')
            continue;
        ek_buf_append(pointer, token.p + start, i - start);
        ek_buf_append(pointer, token.p[i] == '~' ? "~0" : "~1", 2);
        start = i + 1;
    }
    if (token.len > start)
        ek_buf_append(pointer, token.p + start, token.len - start);
    return pointer->failed;
}

int ek_pointer_push_index(struct ek_buf *pointer, size_t index)
{
    return ek_buf_printf(pointer, "/%zu", index);
}

void ek_pointer_pop(struct ek_buf *pointer)
{
    while (pointer->len > 0) {
        char last = pointer->data[--pointer->len];
        pointer->data[pointer->len] = '\0';
        if (last == '/')
            break;
    }
}

bool ek_pointer_next(struct ek_str *rest, struct ek_str *ret_token)
{
    const char *start = rest->len ? memchr(rest->p, '/', rest->len) : NULL;

    if (!start)
        return false;
    size_t left = rest->len - (size_t)(++start - rest->p);
    const char *end = left ? memchr(start, '/', left) : NULL;
    size_t len = end ? (size_t)(end - start) : left;
    *ret_token = (struct ek_str){start, len};
    *rest = (struct ek_str){start + len, left - len};
    return true;
}

struct ek_str ek_pointer_unescape(struct ek_str token, struct ek_buf *scratch)
{
    if (token.len == 0 || !memchr(token.p, '~', token.len))
        return token;
    ek_buf_reset(scratch);
    for (size_t i = 0; i < token.len; i++) {
        bool escape = token.p[i] == '~' && i + 1 < token.len &&
                      (token.p[i + 1] == '0' || token.p[i + 1] == '1');
        const char *c = !escape ? token.p + i : token.p[i + 1] == '0' ? "~" : "/";
        ek_buf_append(scratch, c, 1);
        i += escape;
    }
    return (struct ek_str){ek_buf_str(scratch), scratch->len};
}
