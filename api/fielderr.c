/* SPDX-License-Identifier: Apache-2.0 */
#include "api/fielderr.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/base/quote.h"

#define TEXT_MAX ((size_t)1 << 20)

static char *format_path(struct ek_field_errors *errors, const char *fmt, va_list args)
    __attribute__((format(printf, 2, 0)));

static char *format_path(struct ek_field_errors *errors, const char *fmt, va_list args)
{
    char path[512];

    vsnprintf(path, sizeof path, fmt, args);
    return ek_arena_strdup(errors->arena, path);
}

static void add(struct ek_field_errors *errors, const char *text)
{
    if (errors->n == errors->cap) {
        size_t cap = errors->cap ? errors->cap * 2 : 8;
        const char **texts = ek_arena_alloc(errors->arena, cap * sizeof *texts);
        if (errors->n)
            memcpy(texts, errors->texts, errors->n * sizeof *texts);
        errors->texts = texts;
        errors->cap = cap;
    }
    errors->texts[errors->n++] = text;
}

bool ek_field_errors_full(const struct ek_field_errors *errors)
{
    return errors->n == EK_FIELD_ERRORS_MAX || (errors->n && ek_arena_exhausted(errors->arena));
}

/* Formats the path of a function's variable arguments, the last of which named is fmt. */
#define PATH(fmt)                                                                                  \
    va_list args_;                                                                                 \
    va_start(args_, fmt);                                                                          \
    const char *at = format_path(errors, fmt, args_);                                              \
    va_end(args_)

static const char *tail(struct ek_field_errors *errors, const char *detail)
{
    return *detail ? ek_arena_printf(errors->arena, ": %s", detail) : "";
}

void ek_field_required(struct ek_field_errors *errors, const char *detail, const char *path, ...)
{
    if (ek_field_errors_full(errors))
        return;
    PATH(path);
    add(errors, ek_arena_printf(errors->arena, "%s: Required value%s", at, tail(errors, detail)));
}

void ek_field_invalid(struct ek_field_errors *errors, const char *value, const char *detail,
                      const char *path, ...)
{
    if (ek_field_errors_full(errors))
        return;
    PATH(path);
    add(errors,
        ek_arena_printf(errors->arena, "%s: Invalid value: %s%s", at, value, tail(errors, detail)));
}

void ek_field_unsupported(struct ek_field_errors *errors, const char *value,
                          const char *const *supported, const char *path, ...)
{
    if (ek_field_errors_full(errors))
        return;
    PATH(path);
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, TEXT_MAX);
    ek_buf_printf(&out, "%s: Unsupported value: %s: supported values: ", at,
                  ek_field_quote(errors, value));
    for (size_t i = 0; supported[i]; i++)
        ek_buf_printf(&out, "%s\"%s\"", i ? ", " : "", supported[i]);
    add(errors, ek_arena_strdup(errors->arena, ek_buf_str(&out)));
}

void ek_field_duplicate(struct ek_field_errors *errors, const char *value, const char *path, ...)
{
    if (ek_field_errors_full(errors))
        return;
    PATH(path);
    add(errors, ek_arena_printf(errors->arena, "%s: Duplicate value: %s", at,
                                ek_field_quote(errors, value)));
}

void ek_field_forbidden(struct ek_field_errors *errors, const char *detail, const char *path, ...)
{
    if (ek_field_errors_full(errors))
        return;
    PATH(path);
    add(errors, ek_arena_printf(errors->arena, "%s: Forbidden%s", at, tail(errors, detail)));
}

void ek_field_too_many(struct ek_field_errors *errors, size_t n, size_t max, const char *path, ...)
{
    if (ek_field_errors_full(errors))
        return;
    PATH(path);
    add(errors, ek_arena_printf(errors->arena, "%s: Too many: %zu: must have at most %zu items", at,
                                n, max));
}

void ek_field_internal(struct ek_field_errors *errors, const char *detail, const char *path, ...)
{
    if (ek_field_errors_full(errors))
        return;
    PATH(path);
    add(errors, ek_arena_printf(errors->arena, "%s: Internal error%s", at, tail(errors, detail)));
}

void ek_field_error(struct ek_field_errors *errors, const char *path, const char *text)
{
    if (!ek_field_errors_full(errors))
        add(errors, ek_arena_printf(errors->arena, "%s: %s", path, text));
}

const char *ek_field_quote(struct ek_field_errors *errors, const char *s)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, TEXT_MAX);
    if (ek_field_errors_full(errors))
        return "";
    ek_quote(&out, ek_str_from(s));
    return ek_arena_strdup(errors->arena, ek_buf_str(&out));
}

static bool is_repeated(const struct ek_field_errors *errors, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (!strcmp(errors->texts[i], errors->texts[j]))
            return true;
    return false;
}

int ek_field_errors_join(const struct ek_field_errors *errors, struct ek_buf *out)
{
    size_t distinct = 0, written = 0;

    for (size_t i = 0; i < errors->n; i++)
        distinct += !is_repeated(errors, i);
    if (distinct > 1)
        ek_buf_puts(out, "[");
    for (size_t i = 0; i < errors->n; i++)
        if (!is_repeated(errors, i))
            ek_buf_printf(out, "%s%s", written++ ? ", " : "", errors->texts[i]);
    return distinct > 1 ? ek_buf_puts(out, "]") : out->failed;
}
