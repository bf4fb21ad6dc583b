/* SPDX-License-Identifier: Apache-2.0 */
#include "api/counted.h"

#include <string.h>

#include "api/base/arena_hold.h"
#include "api/base/mem.h"
#include "api/obj.h"

/* Before each allocation: its size, with this. */
#define COUNT_SIZE ((size_t)16)

static void *counted_malloc(void *arena, size_t size)
{
    size_t n = size + COUNT_SIZE;

    if (n < size || !ek_arena_hold(arena, n))
        return NULL;
    size_t *count = ek_realloc(NULL, n);
    if (!count) {
        ek_arena_give(arena, n);
        return NULL;
    }
    *count = n;
    return (char *)count + COUNT_SIZE;
}

static void counted_free(void *arena, void *ptr)
{
    size_t *count = (size_t *)(void *)((char *)ptr - COUNT_SIZE);

    ek_arena_give(arena, *count);
    ek_free(count);
}

static void *counted_realloc(void *arena, void *ptr, size_t old_size, size_t size)
{
    void *fresh = counted_malloc(arena, size);

    if (!fresh)
        return NULL;
    memcpy(fresh, ptr, old_size < size ? old_size : size);
    counted_free(arena, ptr);
    return fresh;
}

yyjson_alc ek_json_alc_in(struct ek_arena *arena)
{
    return ek_arena_is_metered(arena)
               ? (yyjson_alc){counted_malloc, counted_realloc, counted_free, arena}
               : ek_json_alc;
}
