/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/base/mem.h"
#include "api/schema/schema-internal.h"

void ek_schema_open(struct ek_schema *schema, const void *image)
{
    const struct ek_schema_head *head = image;
    const char *base = image;

    atomic_init(&schema->refs, 1);
    schema->head = head;
    schema->values = (const void *)(base + head->values.offset);
    schema->types = (const void *)(base + head->types.offset);
    schema->fields = (const void *)(base + head->fields.offset);
    schema->kinds = (const void *)(base + head->kinds.offset);
    schema->keys = (const void *)(base + head->keys.offset);
    schema->strings = base + head->strings.offset;
}

const void *ek_schema_image(const struct ek_schema *schema, size_t *ret_size)
{
    *ret_size = schema->head->size;
    return schema->head;
}

struct ek_schema *ek_schema_ref(const struct ek_schema *schema)
{
    struct ek_schema *s = (struct ek_schema *)(uintptr_t)schema;

    if (s)
        atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void ek_schema_unref(struct ek_schema *schema)
{
    if (schema && atomic_fetch_sub_explicit(&schema->refs, 1, memory_order_acq_rel) == 1)
        ek_free(schema);
}

/* True when a row lies within the image, behind its head, and is aligned for its elements. */
static bool row_fits(const struct ek_schema_head *head, struct ek_schema_span span, size_t size,
                     size_t align)
{
    return span.offset >= sizeof *head && span.offset <= head->size && span.offset % align == 0 &&
           span.n <= (head->size - span.offset) / size;
}

static bool text_fits(const struct ek_schema *s, uint32_t text)
{
    uint32_t n = s->head->strings.n, len;

    if (text < sizeof len || text >= n)
        return false;
    memcpy(&len, s->strings + text - sizeof len, sizeof len);
    return len < n - text && s->strings[text + len] == '\0';
}

static bool part_fits(uint32_t first, uint32_t n, uint32_t all)
{
    return first <= all && n <= all - first;
}

static bool type_index_fits(const struct ek_schema *s, uint32_t type, bool may_be_none)
{
    return type < s->head->types.n || (may_be_none && type == EK_SCHEMA_NONE);
}

static bool type_fits(const struct ek_schema *s, const struct ek_schema_type *t)
{
    if (t->declared >= EK_SCHEMA_DECLARED_MAX || t->scalar >= EK_SCALAR_MAX ||
        t->list >= EK_LIST_MAX || t->map >= EK_MAP_MAX || t->n_keys > EK_SCHEMA_KEYS_MAX)
        return false;
    return text_fits(s, t->name) && type_index_fits(s, t->item, t->list == EK_LIST_NONE) &&
           type_index_fits(s, t->member, true) &&
           part_fits(t->fields, t->n_fields, s->head->fields.n) &&
           part_fits(t->keys, t->n_keys, s->head->keys.n);
}

static bool fields_fit(const struct ek_schema *s)
{
    for (uint32_t i = 0; i < s->head->fields.n; i++) {
        const struct ek_schema_field *f = &s->fields[i];
        if (!text_fits(s, f->name) || !type_index_fits(s, f->type, false) ||
            (f->initial != EK_SCHEMA_NONE && f->initial >= s->head->values.n))
            return false;
    }
    return true;
}

static bool rest_fits(const struct ek_schema *s)
{
    for (uint32_t i = 0; i < s->head->values.n; i++)
        if (s->values[i].kind >= EK_VALUE_MAX || !text_fits(s, s->values[i].text))
            return false;
    for (uint32_t i = 0; i < s->head->keys.n; i++)
        if (!text_fits(s, s->keys[i]))
            return false;
    for (uint32_t i = 0; i < s->head->kinds.n; i++) {
        const struct ek_schema_kind *k = &s->kinds[i];
        if (!text_fits(s, k->group) || !text_fits(s, k->version) || !text_fits(s, k->kind) ||
            !type_index_fits(s, k->type, false))
            return false;
    }
    return true;
}

static bool rows_fit(const struct ek_schema_head *head)
{
    return row_fits(head, head->values, sizeof(struct ek_schema_value), 8) &&
           row_fits(head, head->types, sizeof(struct ek_schema_type), 4) &&
           row_fits(head, head->fields, sizeof(struct ek_schema_field), 4) &&
           row_fits(head, head->kinds, sizeof(struct ek_schema_kind), 4) &&
           row_fits(head, head->keys, sizeof(uint32_t), 4) && row_fits(head, head->strings, 1, 1);
}

int ek_schema_from_image(const void *image, size_t size, struct ek_schema **ret_schema,
                         struct ek_err *err)
{
    const struct ek_schema_head *head = image;

    if (size < sizeof *head || (uintptr_t)image % 8 != 0 || head->magic != EK_SCHEMA_MAGIC)
        return ek_err_set(err, EK_E_PARSE, "this is not a schema image of this machine");
    if (head->version != EK_SCHEMA_VERSION)
        return ek_err_set(err, EK_E_PARSE, "the schema image has version %u, this program reads %u",
                          head->version, EK_SCHEMA_VERSION);
    if (head->size > size || !rows_fit(head))
        return ek_err_set(err, EK_E_PARSE, "the schema image is damaged");
    struct ek_schema *schema = ek_alloc(sizeof *schema);
    if (!schema)
        return ek_err_set(err, EK_E_NOMEM, "no memory for a schema");
    ek_schema_open(schema, image);
    bool fits = fields_fit(schema) && rest_fits(schema);
    for (uint32_t i = 0; fits && i < head->types.n; i++)
        fits = type_fits(schema, &schema->types[i]);
    if (!fits) {
        ek_free(schema);
        return ek_err_set(err, EK_E_PARSE, "the schema image is damaged");
    }
    *ret_schema = schema;
    return 0;
}
