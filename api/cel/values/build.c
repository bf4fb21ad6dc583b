/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/cel/values/account.h"
#include "api/cel/values/value.h"

/* More octets or elements than this are no string or list of ours, whatever the arena allows. */
#define SIZE_MAX_OF_VALUE ((size_t)1 << 30)
#define MESSAGE_MAX       ((size_t)4096)

void *ek_cel_alloc(struct ek_cel_eval *eval, size_t size)
{
    return size > ((size_t)1 << 40) ? NULL : ek_arena_try(eval->arena, size);
}

struct ek_cel_val ek_cel_no_memory(struct ek_cel_eval *eval)
{
    if (!eval->ended) {
        eval->ended = true;
        eval->final = (struct ek_cel_fault){
            .kind = EK_CEL_E_MEMORY,
            .position = eval->position,
            .message = "memory limit of the evaluation exceeded",
        };
    }
    return ek_cel_error(&eval->final);
}

static struct ek_cel_val fault(struct ek_cel_eval *eval, const char *message)
{
    struct ek_cel_fault *f = ek_cel_alloc(eval, sizeof *f);

    if (!f)
        return ek_cel_no_memory(eval);
    *f = (struct ek_cel_fault){EK_CEL_E_EVAL, eval->position, message};
    return ek_cel_error(f);
}

struct ek_cel_val ek_cel_fail(struct ek_cel_eval *eval, const char *fmt, ...)
{
    char text[MESSAGE_MAX];
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    size_t len = n < 0 ? 0 : (size_t)n;
    if (len >= sizeof text)
        len = ek_utf8_cut((struct ek_str){text, sizeof text - 1}, sizeof text - 4);
    char *message = ek_cel_alloc(eval, len + 1);
    if (!message)
        return ek_cel_no_memory(eval);
    memcpy(message, text, len);
    message[len] = '\0';
    return fault(eval, message);
}

struct ek_cel_val ek_cel_no_overload(struct ek_cel_eval *eval, const char *name,
                                     const struct ek_cel_val *args, uint32_t n)
{
    if (!name)
        return fault(eval, "no such overload");

    char types[1024] = "";
    size_t len = 0;
    for (uint32_t i = 0; i < n && len < sizeof types; i++)
        len += (size_t)snprintf(types + len, sizeof types - len, "%s%s", i ? ", " : "",
                                ek_cel_type_name(&args[i]));
    return ek_cel_fail(eval, "no such overload: %s(%s)", name, types);
}

struct ek_cel_val ek_cel_string_copy(struct ek_cel_eval *eval, const char *s, size_t len)
{
    char *copy = len > SIZE_MAX_OF_VALUE ? NULL : ek_cel_alloc(eval, len ? len : 1);

    if (!copy)
        return ek_cel_no_memory(eval);
    if (len)
        memcpy(copy, s, len);
    return ek_cel_string(copy, len);
}

/* ---- Text ------------------------------------------------------------------------------------ */

void ek_cel_text_init(struct ek_cel_text *text, struct ek_cel_eval *eval)
{
    *text = (struct ek_cel_text){.eval = eval};
}

static bool text_reserve(struct ek_cel_text *text, size_t more)
{
    if (text->failed)
        return false;
    if (text->cap - text->len >= more)
        return true;
    if (more > SIZE_MAX_OF_VALUE || text->len + more > SIZE_MAX_OF_VALUE)
        return !(text->failed = true);

    size_t cap = text->cap ? text->cap * 2 : 64;
    while (cap < text->len + more)
        cap *= 2;
    if (!text->cap || !ek_arena_extend(text->eval->arena, text->data, text->cap, cap)) {
        char *data = ek_cel_alloc(text->eval, cap);
        if (!data)
            return !(text->failed = true);
        if (text->len)
            memcpy(data, text->data, text->len);
        text->data = data;
    }
    text->cap = cap;
    return true;
}

void ek_cel_text_add(struct ek_cel_text *text, const char *s, size_t len)
{
    if (!len || !text_reserve(text, len))
        return;
    memcpy(text->data + text->len, s, len);
    text->len += len;
}

void ek_cel_text_printf(struct ek_cel_text *text, const char *fmt, ...)
{
    va_list ap;

    if (!text_reserve(text, 64))
        return;
    va_start(ap, fmt);
    int n = vsnprintf(text->data + text->len, text->cap - text->len, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    if ((size_t)n >= text->cap - text->len) {
        if (!text_reserve(text, (size_t)n + 1))
            return;
        va_start(ap, fmt);
        n = vsnprintf(text->data + text->len, text->cap - text->len, fmt, ap);
        va_end(ap);
    }
    text->len += (size_t)n;
}

struct ek_cel_val ek_cel_text_take(struct ek_cel_text *text)
{
    if (text->failed)
        return ek_cel_no_memory(text->eval);
    return ek_cel_string(text->data ? text->data : "", text->len);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

static size_t items_size(uint32_t cap)
{
    return sizeof(struct ek_cel_items) + cap * sizeof(struct ek_cel_val);
}

static struct ek_cel_items *items_new(struct ek_cel_eval *eval, size_t cap)
{
    struct ek_cel_items *items;

    if (cap > SIZE_MAX_OF_VALUE || !(items = ek_cel_alloc(eval, items_size((uint32_t)cap)))) {
        ek_cel_no_memory(eval);
        return NULL;
    }
    items->used = 0;
    items->cap = (uint32_t)cap;
    return items;
}

static struct ek_cel_val list_of(const struct ek_cel_items *items, uint32_t n)
{
    return (struct ek_cel_val){.kind = EK_CEL_LIST, .n = n, .items = items};
}

struct ek_cel_val ek_cel_list_new(struct ek_cel_eval *eval, uint32_t n)
{
    struct ek_cel_items *items = items_new(eval, n ? n : 1);

    return items ? list_of(items, 0) : ek_cel_error(&eval->final);
}

/* The items are the evaluation's own unless cap is 0: the cast gives back what items_new made. */
static struct ek_cel_items *own(const struct ek_cel_items *items)
{
    union {
        const struct ek_cel_items *c;
        struct ek_cel_items *m;
    } u = {.c = items};
    return u.m;
}

/* Makes room for more items behind list's end, in place or in a copy. */
static struct ek_cel_items *list_reserve(struct ek_cel_eval *eval, const struct ek_cel_val *list,
                                         uint32_t more)
{
    size_t need = (size_t)list->n + more, cap = need < 4 ? 8 : need * 2;

    if (list->form == EK_CEL_NATIVE && list->items->cap && list->items->used == list->n) {
        struct ek_cel_items *items = own(list->items);
        if (items->cap >= need)
            return items;
        if (cap < SIZE_MAX_OF_VALUE && ek_arena_extend(eval->arena, items, items_size(items->cap),
                                                       items_size((uint32_t)cap))) {
            items->cap = (uint32_t)cap;
            return items;
        }
    }

    struct ek_cel_items *copy = items_new(eval, cap);
    if (!copy)
        return NULL;
    if (list->form == EK_CEL_NATIVE) {
        if (list->n)
            memcpy(copy->v, list->items->v, list->n * sizeof *copy->v);
    } else {
        struct ek_cel_iter iter;
        ek_cel_iter_init(&iter, list);
        for (uint32_t i = 0; i < list->n && ek_cel_iter_next(&iter); i++)
            copy->v[i] = iter.value;
    }
    copy->used = list->n;
    return copy;
}

bool ek_cel_list_append(struct ek_cel_eval *eval, struct ek_cel_val *list,
                        const struct ek_cel_val *item)
{
    struct ek_cel_items *items = list_reserve(eval, list, 1);

    if (!items)
        return false;
    items->v[list->n] = *item;
    items->used = list->n + 1;
    *list = list_of(items, list->n + 1);
    return true;
}

bool ek_cel_list_extend(struct ek_cel_eval *eval, struct ek_cel_val *list,
                        const struct ek_cel_val *more)
{
    struct ek_cel_val from = *more; /* may be *list itself */

    if (!from.n)
        return true;
    if (!list->n) {
        *list = from;
        return true;
    }
    struct ek_cel_items *items = list_reserve(eval, list, from.n);
    if (!items)
        return false;
    if (from.form == EK_CEL_NATIVE) {
        memmove(items->v + list->n, from.items->v, from.n * sizeof *items->v);
    } else {
        struct ek_cel_iter iter;
        ek_cel_iter_init(&iter, &from);
        for (uint32_t i = list->n; i < list->n + from.n && ek_cel_iter_next(&iter); i++)
            items->v[i] = iter.value;
    }
    items->used = list->n + from.n;
    *list = list_of(items, items->used);
    return true;
}

struct ek_cel_val ek_cel_optional(struct ek_cel_eval *eval, const struct ek_cel_val *value)
{
    struct ek_cel_val *some = NULL;

    if (value) {
        some = ek_cel_alloc(eval, sizeof *some);
        if (!some)
            return ek_cel_no_memory(eval);
        *some = *value;
    }
    return (struct ek_cel_val){.kind = EK_CEL_OPTIONAL, .some = some};
}
