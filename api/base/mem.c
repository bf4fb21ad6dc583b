/* SPDX-License-Identifier: Apache-2.0 */
#include "api/base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long fail_countdown;
static bool has_failed;

static bool must_fail(void)
{
    if (fail_countdown <= 0 || --fail_countdown > 0)
        return false;
    has_failed = true;
    return true;
}

void ek_alloc_fail_after(long n)
{
    fail_countdown = n;
    has_failed = false;
}

bool ek_alloc_unfailed(void)
{
    return !has_failed;
}

void *ek_alloc(size_t size)
{
    return must_fail() ? NULL : calloc(1, size ? size : 1);
}

void *ek_realloc(void *ptr, size_t size)
{
    return must_fail() ? NULL : realloc(ptr, size ? size : 1);
}

static void *or_abort(void *ptr)
{
    if (!ptr) {
        fputs("evenkeel: out of memory\n", stderr);
        abort();
    }
    return ptr;
}

void *ek_xalloc(size_t size)
{
    return or_abort(calloc(1, size ? size : 1));
}

void *ek_xrealloc(void *ptr, size_t n, size_t size)
{
    return or_abort(reallocarray(ptr, n ? n : 1, size ? size : 1));
}

char *ek_xstrdup(const char *s)
{
    return s ? or_abort(strdup(s)) : NULL;
}

char *ek_xstrndup(const char *s, size_t len)
{
    char *copy = ek_xalloc(len + 1);
    if (len)
        memcpy(copy, s, len);
    return copy;
}

char *ek_xasprintf(const char *fmt, ...)
{
    va_list args;
    char *s = NULL;

    va_start(args, fmt);
    if (vasprintf(&s, fmt, args) < 0)
        s = NULL;
    va_end(args);
    return or_abort(s);
}

void ek_free(void *ptr)
{
    free(ptr);
}
