/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/env/scope-internal.h"

#include <stdalign.h>
#include <string.h>

#include "api/base/mem.h"

#define CHUNK_MIN ((size_t)512)
#define CHUNK_MAX ((size_t)32 * 1024)

/* ---- Memory ---------------------------------------------------------------------------------- */

struct ek_cel_pool_chunk {
    struct ek_cel_pool_chunk *next;
    size_t used, size;
    alignas(max_align_t) unsigned char data[];
};

int ek_cel_no_memory__(struct ek_err *err)
{
    return ek_err_set(err, EK_E_NOMEM, "no memory for CEL declarations");
}

void *ek_cel_pool_take(void *from, size_t size)
{
    struct ek_cel_pool *pool = from;
    struct ek_cel_pool_chunk *c = pool->chunks;
    size_t align = alignof(max_align_t);

    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + align - 1) / align * align;
    if (!c || c->size - c->used < size) {
        size_t want = c ? c->size * 2 : CHUNK_MIN;

        want = want > CHUNK_MAX ? CHUNK_MAX : want;
        want = want < size ? size : want;
        c = ek_alloc(sizeof *c + want);
        if (!c)
            return NULL;
        c->size = want;
        c->next = pool->chunks;
        pool->chunks = c;
    }
    c->used += size;
    return c->data + c->used - size;
}

char *ek_cel_pool_strdup(struct ek_cel_pool *pool, const char *s)
{
    size_t len = strlen(s) + 1;
    char *copy = ek_cel_pool_take(pool, len);

    return copy ? memcpy(copy, s, len) : NULL;
}

static void pool_done(struct ek_cel_pool *pool)
{
    while (pool->chunks) {
        struct ek_cel_pool_chunk *next = pool->chunks->next;
        ek_free(pool->chunks);
        pool->chunks = next;
    }
}

/* ---- Symbols --------------------------------------------------------------------------------- */

/* FNV-1a: names are short, and an expression's author gains nothing from collisions, because only
 * the host's names are in a table. */
static uint32_t hash_more(uint32_t hash, const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)s[i]) * 16777619U;
    return hash;
}

#define HASH_START 2166136261U

uint32_t ek_cel_name_hash(const char *name)
{
    uint32_t hash = HASH_START;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619U;
    return hash;
}

void ek_cel_scope_done(struct ek_cel_scope *scope)
{
    pool_done(&scope->pool);
    ek_free(scope->symbols);
    ek_free(scope->fields);
    *scope = (struct ek_cel_scope){0};
}

static struct ek_cel_symbol *symbol_place(const struct ek_cel_scope *scope, const char *name,
                                          size_t len, uint32_t hash)
{
    uint32_t mask = scope->cap_symbols - 1;

    for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
        struct ek_cel_symbol *s = &scope->symbols[i];
        if (!s->name || (s->hash == hash && !strncmp(s->name, name, len) && !s->name[len]))
            return s;
    }
}

const struct ek_cel_symbol *ek_cel_scope_find(const struct ek_cel_scope *scope, const char *name,
                                              uint32_t hash)
{
    uint32_t mask = scope->cap_symbols - 1;

    if (!scope->n_symbols)
        return NULL;
    for (uint32_t i = hash & mask; scope->symbols[i].name; i = (i + 1) & mask)
        if (scope->symbols[i].hash == hash && !strcmp(scope->symbols[i].name, name))
            return &scope->symbols[i];
    return NULL;
}

/* Tables are at most half full, so that every search ends at a free place soon. */
static bool symbols_grow(struct ek_cel_scope *scope)
{
    struct ek_cel_scope old = *scope;
    uint32_t cap = old.cap_symbols ? old.cap_symbols * 2 : 16;

    scope->symbols = ek_alloc(cap * sizeof *scope->symbols);
    if (!scope->symbols) {
        scope->symbols = old.symbols;
        return false;
    }
    scope->cap_symbols = cap;
    for (uint32_t i = 0; i < old.cap_symbols; i++) {
        const struct ek_cel_symbol *s = &old.symbols[i];
        if (s->name)
            *symbol_place(scope, s->name, strlen(s->name), s->hash) = *s;
    }
    ek_free(old.symbols);
    return true;
}

static struct ek_cel_symbol *make(struct ek_cel_scope *scope, const char *name, size_t len)
{
    uint32_t hash = hash_more(HASH_START, name, len);

    if ((scope->n_symbols + 1) * 2 > scope->cap_symbols && !symbols_grow(scope))
        return NULL;
    struct ek_cel_symbol *s = symbol_place(scope, name, len, hash);
    if (s->name)
        return s;
    char *copy = ek_cel_pool_take(&scope->pool, len + 1);
    if (!copy)
        return NULL;
    memcpy(copy, name, len);
    copy[len] = '\0';
    s->name = copy;
    s->hash = hash;
    scope->n_symbols++;
    return s;
}

struct ek_cel_symbol *ek_cel_scope_make(struct ek_cel_scope *scope, const char *name)
{
    return make(scope, name, strlen(name));
}

bool ek_cel_scope_mark_heads(struct ek_cel_scope *scope, const char *name, enum ek_cel_heads head)
{
    for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
        struct ek_cel_symbol *s = make(scope, name, (size_t)(dot - name));
        if (!s)
            return false;
        s->heads |= (uint8_t)head;
    }
    return true;
}

uint8_t ek_cel_scope_heads(const struct ek_cel_scope *scope, const char *name)
{
    uint32_t hash = ek_cel_name_hash(name);
    uint8_t heads = 0;

    for (; scope; scope = scope->up) {
        const struct ek_cel_symbol *s = ek_cel_scope_find(scope, name, hash);
        heads |= s ? s->heads : 0;
    }
    return heads;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static uint32_t field_hash(const char *object, const char *field)
{
    uint32_t hash = hash_more(HASH_START, object, strlen(object) + 1);

    return hash_more(hash, field, strlen(field));
}

static struct ek_cel_field_symbol *field_place(const struct ek_cel_scope *scope, const char *object,
                                               const char *field, uint32_t hash)
{
    uint32_t mask = scope->cap_fields - 1;

    for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
        struct ek_cel_field_symbol *f = &scope->fields[i];
        if (!f->field ||
            (f->hash == hash && !strcmp(f->field, field) && !strcmp(f->object, object)))
            return f;
    }
}

static bool fields_grow(struct ek_cel_scope *scope)
{
    struct ek_cel_scope old = *scope;
    uint32_t cap = old.cap_fields ? old.cap_fields * 2 : 16;

    scope->fields = ek_alloc(cap * sizeof *scope->fields);
    if (!scope->fields) {
        scope->fields = old.fields;
        return false;
    }
    scope->cap_fields = cap;
    for (uint32_t i = 0; i < old.cap_fields; i++) {
        const struct ek_cel_field_symbol *f = &old.fields[i];
        if (f->field)
            *field_place(scope, f->object, f->field, f->hash) = *f;
    }
    ek_free(old.fields);
    return true;
}

bool ek_cel_scope_put_field(struct ek_cel_scope *scope, const char *object, const char *field,
                            const struct ek_cel_type *type)
{
    uint32_t hash = field_hash(object, field);

    if ((scope->n_fields + 1) * 2 > scope->cap_fields && !fields_grow(scope))
        return false;
    struct ek_cel_field_symbol *f = field_place(scope, object, field, hash);
    if (!f->field) {
        char *object_copy = ek_cel_pool_strdup(&scope->pool, object);
        char *field_copy = ek_cel_pool_strdup(&scope->pool, field);
        if (!object_copy || !field_copy)
            return false;
        *f = (struct ek_cel_field_symbol){.object = object_copy, .field = field_copy, .hash = hash};
        scope->n_fields++;
    }
    f->type = type;
    return true;
}

const struct ek_cel_type *ek_cel_scope_field(const struct ek_cel_scope *scope, const char *object,
                                             const char *field)
{
    uint32_t hash = field_hash(object, field);

    for (; scope; scope = scope->up) {
        if (!scope->n_fields)
            continue;
        const struct ek_cel_field_symbol *f = field_place(scope, object, field, hash);
        if (f->field)
            return f->type;
    }
    return NULL;
}
