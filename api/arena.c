/* SPDX-License-Identifier: Apache-2.0 */
#include "api/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/mem.h"

#define BLOCK_SIZE ((size_t)64 * 1024)

struct block {
    struct block *next;
    size_t used, size;
    alignas(max_align_t) unsigned char data[];
};

struct ek_arena {
    struct block *blocks; /* newest first; allocations come from the first */
    size_t limit, used;
};

struct ek_arena *ek_arena_new(size_t limit)
{
    struct ek_arena *arena = ek_xalloc(sizeof *arena);
    arena->limit = limit;
    return arena;
}

void ek_arena_free(struct ek_arena *arena)
{
    if (!arena)
        return;
    while (arena->blocks) {
        struct block *next = arena->blocks->next;
        ek_free(arena->blocks);
        arena->blocks = next;
    }
    ek_free(arena);
}

void *ek_arena_alloc(struct ek_arena *arena, size_t size)
{
    const size_t align = alignof(max_align_t);
    struct block *b = arena->blocks;

    size = (size + align - 1) / align * align;
    if (size > arena->limit * 2 - arena->used) {
        fputs("evenkeel: arena used far beyond its limit\n", stderr);
        abort();
    }
    if (!b || b->size - b->used < size) {
        size_t want = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        b = ek_xalloc(sizeof *b + want);
        b->size = want;
        b->next = arena->blocks;
        arena->blocks = b;
    }
    void *p = b->data + b->used;
    b->used += size;
    arena->used += size;
    return p;
}

char *ek_arena_strndup(struct ek_arena *arena, const char *s, size_t len)
{
    char *copy = ek_arena_alloc(arena, len + 1);
    if (len)
        memcpy(copy, s, len);
    return copy;
}

char *ek_arena_strdup(struct ek_arena *arena, const char *s)
{
    return s ? ek_arena_strndup(arena, s, strlen(s)) : NULL;
}

char *ek_arena_printf(struct ek_arena *arena, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *s = ek_arena_alloc(arena, (size_t)(n < 0 ? 0 : n) + 1);
    va_start(args, fmt);
    vsnprintf(s, (size_t)(n < 0 ? 0 : n) + 1, fmt, args);
    va_end(args);
    return s;
}

bool ek_arena_exhausted(const struct ek_arena *arena)
{
    return arena->used > arena->limit;
}

size_t ek_arena_used(const struct ek_arena *arena)
{
    return arena->used;
}
