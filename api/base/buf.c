/* SPDX-License-Identifier: Apache-2.0 */
#include "api/base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "api/base/err.h"

#define FIRST       ((size_t)64)
#define DOUBLED_MAX ((size_t)1 << 20)

void ek_buf_init(struct ek_buf *buf, size_t max)
{
    *buf = (struct ek_buf){.max = max};
}

void ek_buf_done(struct ek_buf *buf)
{
    ek_free(buf->data);
    *buf = (struct ek_buf){.max = buf->max};
}

void ek_buf_reset(struct ek_buf *buf)
{
    buf->len = 0;
    buf->failed = 0;
    if (buf->data)
        buf->data[0] = '\0';
}

static int fail(struct ek_buf *buf, int code)
{
    if (!buf->failed)
        buf->failed = code;
    return code;
}

size_t ek_buf_grown(const struct ek_buf *buf, size_t extra)
{
    size_t need = buf->len + extra + 1, cap = buf->cap ? buf->cap : FIRST;

    if (need <= buf->cap)
        return buf->cap;
    while (cap < need)
        cap += cap < DOUBLED_MAX ? cap : cap / 4;
    return cap <= buf->max || need > buf->max + 1 ? cap : buf->max + 1;
}

static int reserve(struct ek_buf *buf, size_t extra)
{
    if (extra > buf->max - buf->len)
        return fail(buf, EK_E_LIMIT);
    size_t cap = ek_buf_grown(buf, extra);
    if (cap == buf->cap)
        return 0;
    bool small = buf->max <= EK_BUF_SMALL_MAX;
    char *data = small ? ek_xrealloc(buf->data, cap, 1) : ek_realloc(buf->data, cap);
    if (!data)
        return fail(buf, EK_E_NOMEM);
    buf->data = data;
    buf->cap = cap;
    return 0;
}

int ek_buf_append(struct ek_buf *buf, const void *data, size_t len)
{
    int rc = reserve(buf, len);
    if (rc)
        return rc;
    if (len)
        memcpy(buf->data + buf->len, data, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
    return 0;
}

int ek_buf_puts(struct ek_buf *buf, const char *s)
{
    return ek_buf_append(buf, s, strlen(s));
}

int ek_buf_printf(struct ek_buf *buf, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n < 0)
        return fail(buf, EK_E_INVAL);
    int rc = reserve(buf, (size_t)n);
    if (rc)
        return rc;
    va_start(args, fmt);
    vsnprintf(buf->data + buf->len, (size_t)n + 1, fmt, args);
    va_end(args);
    buf->len += (size_t)n;
    return 0;
}

void ek_buf_consume(struct ek_buf *buf, size_t n)
{
    if (n > buf->len)
        n = buf->len;
    if (n == 0)
        return;
    memmove(buf->data, buf->data + n, buf->len - n + 1);
    buf->len -= n;
}

char *ek_buf_steal(struct ek_buf *buf)
{
    char *data = buf->data ? buf->data : ek_xstrdup("");
    *buf = (struct ek_buf){.max = buf->max};
    return data;
}
