/* SPDX-License-Identifier: Apache-2.0 */
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "api/schema/schema-internal.h"

/* Slots of the two tables that find what is already there. When one is crowded, a thing is stored
 * again: names are remote, and must not be able to make the search long. */
#define SEEN_SLOTS 16384u
#define SEEN_TRIES 16u

void ek_schema_builder_init(struct ek_schema_builder *b)
{
    *b = (struct ek_schema_builder){0};
    b->seen_strings = ek_alloc(SEEN_SLOTS * sizeof *b->seen_strings);
    b->seen_types = ek_alloc(SEEN_SLOTS * sizeof *b->seen_types);
    if (!b->seen_strings || !b->seen_types)
        b->failed = EK_E_NOMEM;
    ek_schema_intern(b, EK_STR("")); /* the first text, at a known place */
}

void ek_schema_builder_done(struct ek_schema_builder *b)
{
    ek_free(b->values.data);
    ek_free(b->types.data);
    ek_free(b->fields.data);
    ek_free(b->kinds.data);
    ek_free(b->keys.data);
    ek_free(b->strings.data);
    ek_free(b->pending.data);
    ek_free(b->seen_strings);
    ek_free(b->seen_types);
}

/* Makes room for n more elements of size octets. */
static bool reserve(struct ek_schema_builder *b, struct ek_schema_vec *vec, size_t size, uint32_t n,
                    uint32_t max)
{
    if (b->failed)
        return false;
    if (n > max || vec->n > max - n) {
        b->failed = EK_E_LIMIT;
        return false;
    }
    if (vec->cap - vec->n >= n)
        return true;
    uint32_t cap = vec->cap ? vec->cap : 64;
    while (cap - vec->n < n)
        cap *= 2;
    void *data = ek_realloc(vec->data, cap * size);
    if (!data) {
        b->failed = EK_E_NOMEM;
        return false;
    }
    vec->data = data;
    vec->cap = cap;
    return true;
}

uint32_t ek_schema_push(struct ek_schema_builder *b, struct ek_schema_vec *vec, size_t size,
                        const void *element)
{
    if (!reserve(b, vec, size, 1, EK_SCHEMA_PARTS_MAX))
        return EK_SCHEMA_NONE;
    memcpy((char *)vec->data + vec->n * size, element, size);
    return vec->n++;
}

static uint32_t hash_of(const void *data, size_t len)
{
    const unsigned char *p = data;
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return (uint32_t)(h ^ h >> 32);
}

static struct ek_str text_at(const struct ek_schema_builder *b, uint32_t text)
{
    const char *strings = b->strings.data;
    uint32_t len;

    if (!strings)
        return EK_STR("");
    memcpy(&len, strings + text - sizeof len, sizeof len);
    return (struct ek_str){strings + text, len};
}

static uint32_t append_text(struct ek_schema_builder *b, struct ek_str s)
{
    uint32_t len = (uint32_t)s.len;

    if (s.len >= EK_SCHEMA_STRINGS_MAX) {
        b->failed = b->failed ? b->failed : EK_E_LIMIT;
        return (uint32_t)sizeof len;
    }
    if (!reserve(b, &b->strings, 1, (uint32_t)sizeof len + len + 1, EK_SCHEMA_STRINGS_MAX))
        return (uint32_t)sizeof len;
    char *strings = b->strings.data;
    memcpy(strings + b->strings.n, &len, sizeof len);
    uint32_t text = b->strings.n + (uint32_t)sizeof len;
    if (len > 0)
        memcpy(strings + text, s.p, len);
    strings[text + len] = '\0';
    b->strings.n = text + len + 1;
    return text;
}

uint32_t ek_schema_intern(struct ek_schema_builder *b, struct ek_str s)
{
    uint32_t slot = b->failed ? 0 : hash_of(s.p, s.len);

    for (uint32_t tries = 0; !b->failed && tries < SEEN_TRIES; tries++) {
        uint32_t *seen = &b->seen_strings[(slot + tries) % SEEN_SLOTS];
        if (*seen == 0)
            return *seen = append_text(b, s);
        if (ek_str_eq(text_at(b, *seen), s))
            return *seen;
    }
    return append_text(b, s);
}

uint32_t ek_schema_share(struct ek_schema_builder *b, const struct ek_schema_type *type)
{
    uint32_t slot = b->failed ? 0 : hash_of(type, sizeof *type);

    for (uint32_t tries = 0; !b->failed && tries < SEEN_TRIES; tries++) {
        uint32_t *seen = &b->seen_types[(slot + tries) % SEEN_SLOTS];
        const struct ek_schema_type *types = b->types.data;
        if (*seen && memcmp(&types[*seen - 1], type, sizeof *type) == 0)
            return *seen - 1;
        if (*seen == 0) {
            uint32_t index = ek_schema_push(b, &b->types, sizeof *type, type);
            *seen = b->failed ? 0 : index + 1;
            return index;
        }
    }
    return ek_schema_push(b, &b->types, sizeof *type, type);
}

uint32_t ek_schema_add_value(struct ek_schema_builder *b, yyjson_val *value)
{
    struct ek_schema_value v = {EK_VALUE_JSON, 0, 0};
    double real = yyjson_get_real(value);
    size_t len = 0;

    if (!value || yyjson_is_null(value) || b->failed)
        return EK_SCHEMA_NONE;
    v.text = ek_schema_intern(b, EK_STR(""));
    if (yyjson_is_bool(value)) {
        v.kind = EK_VALUE_BOOL;
        v.bits = yyjson_get_bool(value);
    } else if (yyjson_is_uint(value) || yyjson_is_sint(value)) {
        v.kind = yyjson_is_uint(value) ? EK_VALUE_UINT : EK_VALUE_INT;
        v.bits = yyjson_get_uint(value);
    } else if (yyjson_is_real(value)) {
        v.kind = EK_VALUE_REAL;
        memcpy(&v.bits, &real, sizeof v.bits);
    } else if (yyjson_is_str(value)) {
        v.kind = EK_VALUE_STRING;
        v.text = ek_schema_intern(b, (struct ek_str){yyjson_get_str(value), yyjson_get_len(value)});
    } else {
        char *json = yyjson_val_write_opts(value, 0, &ek_json_alc, &len, NULL);
        if (!json)
            b->failed = EK_E_NOMEM;
        v.text = ek_schema_intern(b, (struct ek_str){json, len});
        ek_free(json);
    }
    return ek_schema_push(b, &b->values, sizeof v, &v);
}

int ek_schema_compare(struct ek_str a, struct ek_str b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len ? memcmp(a.p, b.p, len) : 0;

    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int by_name(const void *a, const void *b, void *ctx)
{
    const struct ek_schema_field *x = a, *y = b;
    const struct ek_schema_builder *builder = ctx;

    return ek_schema_compare(text_at(builder, x->name), text_at(builder, y->name));
}

void ek_schema_close_fields(struct ek_schema_builder *b, uint32_t base, struct ek_schema_type *type)
{
    struct ek_schema_field *from = (struct ek_schema_field *)b->pending.data + base;
    uint32_t n = b->pending.n - base;

    b->pending.n = base;
    if (n == 0 || !reserve(b, &b->fields, sizeof *from, n, EK_SCHEMA_PARTS_MAX))
        return;
    qsort_r(from, n, sizeof *from, by_name, b);
    type->fields = b->fields.n;
    struct ek_schema_field *to = b->fields.data;
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || by_name(&from[i - 1], &from[i], b) != 0)
            to[b->fields.n++] = from[i];
    type->n_fields = b->fields.n - type->fields;
}

static int by_kind(const void *a, const void *b, void *ctx)
{
    const struct ek_schema_kind *x = a, *y = b;
    int order = ek_schema_compare(text_at(ctx, x->kind), text_at(ctx, y->kind));

    if (order == 0)
        order = ek_schema_compare(text_at(ctx, x->group), text_at(ctx, y->group));
    if (order == 0)
        order = ek_schema_compare(text_at(ctx, x->version), text_at(ctx, y->version));
    return order;
}

static struct ek_schema_span place(const struct ek_schema_vec *vec, size_t size, size_t *at)
{
    struct ek_schema_span span = {(uint32_t)*at, vec->n};

    *at += vec->n * size;
    return span;
}

static void fill(char *image, struct ek_schema_span span, const struct ek_schema_vec *vec,
                 size_t size)
{
    if (vec->n > 0)
        memcpy(image + span.offset, vec->data, vec->n * size);
}

/* Lays the rows out behind the head; the limits keep the sum below 4 GiB. */
static struct ek_schema_head lay_out(const struct ek_schema_builder *b)
{
    struct ek_schema_head head = {.magic = EK_SCHEMA_MAGIC, .version = EK_SCHEMA_VERSION};
    size_t at = sizeof head;

    head.values = place(&b->values, sizeof(struct ek_schema_value), &at);
    head.types = place(&b->types, sizeof(struct ek_schema_type), &at);
    head.fields = place(&b->fields, sizeof(struct ek_schema_field), &at);
    head.kinds = place(&b->kinds, sizeof(struct ek_schema_kind), &at);
    head.keys = place(&b->keys, sizeof(uint32_t), &at);
    head.strings = place(&b->strings, 1, &at);
    head.size = (uint32_t)at;
    return head;
}

int ek_schema_finish(struct ek_schema_builder *b, struct ek_schema **ret_schema, struct ek_err *err)
{
    static const size_t align = alignof(max_align_t);
    size_t start = (sizeof(struct ek_schema) + align - 1) / align * align;

    if (b->failed == EK_E_LIMIT)
        return ek_err_set(err, EK_E_LIMIT, "a schema may have at most %u types and fields",
                          EK_SCHEMA_PARTS_MAX);
    struct ek_schema_head head = lay_out(b);
    struct ek_schema *schema = b->failed ? NULL : ek_alloc(start + head.size);
    if (!schema)
        return ek_err_set(err, EK_E_NOMEM, "no memory for a schema of %u types", b->types.n);
    if (b->kinds.n > 0)
        qsort_r(b->kinds.data, b->kinds.n, sizeof(struct ek_schema_kind), by_kind, b);
    char *image = (char *)schema + start;
    memcpy(image, &head, sizeof head);
    fill(image, head.values, &b->values, sizeof(struct ek_schema_value));
    fill(image, head.types, &b->types, sizeof(struct ek_schema_type));
    fill(image, head.fields, &b->fields, sizeof(struct ek_schema_field));
    fill(image, head.kinds, &b->kinds, sizeof(struct ek_schema_kind));
    fill(image, head.keys, &b->keys, sizeof(uint32_t));
    fill(image, head.strings, &b->strings, 1);
    ek_schema_open(schema, image);
    *ret_schema = schema;
    return 0;
}
