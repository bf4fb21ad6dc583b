/* SPDX-License-Identifier: Apache-2.0 */
#include "api/base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/arena_hold.h"
#include "api/base/mem.h"

/* The first block is small, because there are many small arenas that live long (one per compiled
 * policy); each further one is twice as large, up to the maximum. */
#define BLOCK_MIN ((size_t)1024)
#define BLOCK_MAX ((size_t)64 * 1024)

struct block {
    struct block *next;
    size_t used, size;
    bool counted; /* by the meter */
    alignas(max_align_t) unsigned char data[];
};

struct ek_arena {
    struct block *blocks; /* newest first; allocations come from the first */
    size_t limit, used;
    struct ek_arena_meter meter; /* take NULL: none */
    bool starved;
};

struct ek_arena *ek_arena_new(size_t limit)
{
    struct ek_arena *arena = ek_xalloc(sizeof *arena);
    arena->limit = limit;
    return arena;
}

void ek_arena_set_meter(struct ek_arena *arena, const struct ek_arena_meter *meter)
{
    arena->meter = *meter;
}

bool ek_arena_starved(const struct ek_arena *arena)
{
    return arena->starved;
}

bool ek_arena_is_metered(const struct ek_arena *arena)
{
    return arena->meter.take != NULL;
}

bool ek_arena_hold(struct ek_arena *arena, size_t n)
{
    if (arena->meter.take && (arena->starved || !arena->meter.take(arena->meter.ctx, n)))
        arena->starved = true;
    return !arena->starved;
}

void ek_arena_give(struct ek_arena *arena, size_t n)
{
    if (arena->meter.take)
        arena->meter.give(arena->meter.ctx, n);
}

static void free_block(struct ek_arena *arena, struct block *b)
{
    if (b->counted)
        arena->meter.give(arena->meter.ctx, sizeof *b + b->size);
    ek_free(b);
}

void ek_arena_free(struct ek_arena *arena)
{
    if (!arena)
        return;
    while (arena->blocks) {
        struct block *next = arena->blocks->next;
        free_block(arena, arena->blocks);
        arena->blocks = next;
    }
    ek_free(arena);
}

/* Whether a block of that size may be allocated; an arena without a meter always may. */
static bool count(struct ek_arena *arena, size_t size)
{
    if (arena->meter.take && !arena->meter.take(arena->meter.ctx, sizeof(struct block) + size))
        arena->starved = true;
    return !arena->starved;
}

static const size_t align = alignof(max_align_t);

static size_t rounded(size_t size)
{
    return (size + align - 1) / align * align;
}

static void add_block(struct ek_arena *arena, struct block *b, size_t size, bool counted)
{
    b->size = size;
    b->counted = counted;
    b->used = 0;
    b->next = arena->blocks;
    arena->blocks = b;
}

/* Of a new block that is to hold size. */
static size_t block_size(const struct ek_arena *arena, size_t size)
{
    size_t usual = arena->blocks ? arena->blocks->size * 2 : BLOCK_MIN;

    usual = usual < BLOCK_MAX ? usual : BLOCK_MAX;
    return size > usual ? size : usual;
}

static void *take(struct ek_arena *arena, size_t size)
{
    struct block *b = arena->blocks;
    void *p = b->data + b->used;

    b->used += size;
    arena->used += size;
    return p;
}

static bool fits(const struct ek_arena *arena, size_t size)
{
    return arena->blocks && arena->blocks->size - arena->blocks->used >= size;
}

void *ek_arena_alloc(struct ek_arena *arena, size_t size)
{
    size = rounded(size);
    if (size > arena->limit * 2 - arena->used) {
        fputs("evenkeel: arena used far beyond its limit\n", stderr);
        abort();
    }
    if (!fits(arena, size)) {
        size_t block = block_size(arena, size);
        bool counted = !arena->starved && count(arena, block) && arena->meter.take;
        add_block(arena, ek_xalloc(sizeof(struct block) + block), block, counted);
    }
    return memset(take(arena, size), 0, size);
}

void *ek_arena_try(struct ek_arena *arena, size_t size)
{
    if (arena->used > arena->limit || size > arena->limit - arena->used)
        return NULL;
    size = rounded(size);
    if (!fits(arena, size)) {
        size_t block = block_size(arena, size);
        if (arena->starved || !count(arena, block))
            return NULL;
        struct block *b = ek_realloc(NULL, sizeof *b + block);
        if (!b) {
            if (arena->meter.take)
                arena->meter.give(arena->meter.ctx, sizeof *b + block);
            return NULL;
        }
        add_block(arena, b, block, arena->meter.take != NULL);
    }
    return take(arena, size);
}

bool ek_arena_extend(struct ek_arena *arena, void *p, size_t old_size, size_t new_size)
{
    struct block *b = arena->blocks;

    old_size = rounded(old_size);
    if (!b || new_size > b->size || (unsigned char *)p + old_size != b->data + b->used)
        return false;
    new_size = rounded(new_size);
    size_t more = new_size - old_size;
    if (new_size < old_size || more > b->size - b->used || arena->used > arena->limit ||
        more > arena->limit - arena->used)
        return false;
    b->used += more;
    arena->used += more;
    return true;
}

void ek_arena_reset(struct ek_arena *arena)
{
    struct block *b = arena->blocks;

    arena->used = 0;
    arena->starved = false;
    if (!b)
        return;
    while (b->next) {
        struct block *next = b->next->next;
        free_block(arena, b->next);
        b->next = next;
    }
    b->used = 0;
    if (arena->meter.take && !b->counted) {
        free_block(arena, b);
        arena->blocks = NULL;
    }
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
