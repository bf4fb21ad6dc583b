/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/quote.h"
#include "api/obj.h"
#include "api/schema/merge-internal.h"

/* Lists up to this length are searched item by item. */
#define SHORT_LIST 8u

/* More items than 32 bits count. */
#define ITEMS_MAX ((size_t)1 << 28)

static int sign(bool greater, bool less)
{
    return greater - less;
}

static int compare_text(const yyjson_mut_val *a, const yyjson_mut_val *b)
{
    return ek_schema_compare((struct ek_str){a->uni.str, (size_t)(a->tag >> YYJSON_TAG_BIT)},
                             (struct ek_str){b->uni.str, (size_t)(b->tag >> YYJSON_TAG_BIT)});
}

/* Whatever JSON can hold in a number fits without loss. */
static long double number(const yyjson_mut_val *v)
{
    switch (v->tag & YYJSON_SUBTYPE_MASK) {
    case YYJSON_SUBTYPE_REAL:
        return v->uni.f64;
    case YYJSON_SUBTYPE_SINT:
        return v->uni.i64;
    default:
        return v->uni.u64;
    }
}

/* Kinds of values in their order; absent parts come last. What is no number equals itself here. */
static int rank(const yyjson_mut_val *v)
{
    switch (v->tag & YYJSON_TYPE_MASK) {
    case YYJSON_TYPE_NUM:
        return isnan(number(v)) ? 3 : 0;
    case YYJSON_TYPE_STR:
        return 1;
    case YYJSON_TYPE_BOOL:
        return 2;
    case YYJSON_TYPE_RAW:
        return 3;
    case YYJSON_TYPE_NULL:
        return 4;
    case YYJSON_TYPE_ARR:
        return 5;
    case YYJSON_TYPE_OBJ:
        return 6;
    default:
        return 7;
    }
}

/* Lists and maps are no keys in any sound schema: none is another's equal, but for empty ones. */
static int compare_containers(const yyjson_mut_val *a, const yyjson_mut_val *b)
{
    if (a->tag != b->tag || a->tag >> YYJSON_TAG_BIT == 0)
        return sign(a->tag > b->tag, a->tag < b->tag);
    return sign((uintptr_t)a->uni.ptr > (uintptr_t)b->uni.ptr,
                (uintptr_t)a->uni.ptr < (uintptr_t)b->uni.ptr);
}

int ek_part_compare(const yyjson_mut_val *a, const yyjson_mut_val *b)
{
    int kind = rank(a), other = rank(b);

    if (kind != other)
        return kind - other;
    if (kind == 0) {
        long double x = number(a), y = number(b);
        return sign(x > y, x < y);
    }
    if (kind == 1)
        return compare_text(a, b);
    if (kind == 2)
        return sign(a->tag > b->tag, a->tag < b->tag);
    return kind == 5 || kind == 6 ? compare_containers(a, b) : 0;
}

static int compare_parts(const yyjson_mut_val *a, const yyjson_mut_val *b, uint32_t n)
{
    int order = 0;

    for (uint32_t i = 0; order == 0 && i < n; i++)
        order = ek_part_compare(&a[i], &b[i]);
    return order;
}

/* A field that the item does not have: its default, if the list's items declare one. */
static void default_part(const struct ek_schema *schema, const struct ek_schema_type *list,
                         struct ek_str name, yyjson_mut_val *ret_part)
{
    const struct ek_schema_field *field =
        ek_schema_field(schema, ek_schema_type(schema, list->item), name);

    *ret_part = (yyjson_mut_val){0};
    if (field && field->initial != EK_SCHEMA_NONE)
        ek_schema_scalar_value(schema, field->initial, ret_part);
}

static int no_key(const struct ek_schema *schema, const struct ek_schema_type *list,
                  struct ek_buf *why)
{
    ek_buf_puts(why, "associative list with keys has an element that omits all key fields [");
    for (uint32_t i = 0; i < list->n_keys; i++) {
        ek_buf_puts(why, i ? " " : "");
        ek_quote(why, ek_schema_key(schema, list, i));
    }
    ek_buf_puts(why, "] (and doesn't have default values for any key fields)");
    return EK_E_INVAL;
}

static int fields_key(const struct ek_schema *schema, const struct ek_schema_type *list,
                      yyjson_mut_val *item, struct ek_item_key *ret_key, struct ek_buf *why)
{
    bool any = false;

    if (ek_form_of(item) != EK_FORM_MAP) {
        ek_buf_printf(why, "associative list with keys may not have %s",
                      ek_form_of(item) == EK_FORM_NULL ? "a null element" : "non-map elements");
        return EK_E_INVAL;
    }
    for (uint32_t i = 0; i < list->n_keys; i++) {
        struct ek_str name = ek_schema_key(schema, list, i);
        yyjson_mut_val *part = yyjson_mut_obj_getn(item, name.p, name.len);
        if (part)
            ret_key->parts[i] = *part;
        else
            default_part(schema, list, name, &ret_key->parts[i]);
        any |= ret_key->parts[i].tag != 0;
    }
    return any ? 0 : no_key(schema, list, why);
}

int ek_item_key(const struct ek_schema *schema, const struct ek_schema_type *list,
                yyjson_mut_val *item, struct ek_item_key *ret_key, struct ek_buf *why)
{
    if (list->list == EK_LIST_MAP)
        return fields_key(schema, list, item, ret_key, why);
    switch (ek_form_of(item)) {
    case EK_FORM_MAP:
        ek_buf_puts(why, "associative list without keys has an element that's a map type");
        return EK_E_INVAL;
    case EK_FORM_LIST:
        ek_buf_puts(why, "not supported: associative list with lists as elements");
        return EK_E_INVAL;
    case EK_FORM_NULL:
        ek_buf_puts(why, "associative list without keys has an element that's an explicit null");
        return EK_E_INVAL;
    default:
        ret_key->parts[0] = *item;
        return 0;
    }
}

/* Sorts by key and then by place, so that the first of equal items is found first. */
static int by_key(const void *a, const void *b, void *ctx)
{
    const struct ek_list_index *index = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = compare_parts(&index->parts[(size_t)x * index->n_parts],
                              &index->parts[(size_t)y * index->n_parts], index->n_parts);

    return order ? order : sign(x > y, x < y);
}

static int reserve(struct ek_list_index *index, size_t n)
{
    size_t items = n * sizeof(void *), parts = n * index->n_parts * sizeof *index->parts;
    size_t order = n > SHORT_LIST ? n * sizeof *index->order : 0;

    if (n == 0)
        return 0;
    if (n > ITEMS_MAX)
        return EK_E_LIMIT;
    index->block = ek_realloc(NULL, items + parts + order);
    if (!index->block)
        return EK_E_NOMEM;
    index->items = index->block;
    index->parts = (void *)((char *)index->block + items);
    index->order = order ? (void *)((char *)index->block + items + parts) : NULL;
    return 0;
}

int ek_list_index(const struct ek_schema *schema, const struct ek_schema_type *type,
                  yyjson_mut_val *list, struct ek_list_index *ret_index, struct ek_buf *why)
{
    struct ek_list_index index = {.n_parts = type->list == EK_LIST_MAP ? type->n_keys : 1};
    size_t i, max;
    yyjson_mut_val *item;
    int rc = reserve(&index, yyjson_mut_arr_size(list));

    if (rc)
        return rc;
    yyjson_mut_arr_foreach(list, i, max, item)
    {
        struct ek_item_key key;
        rc = ek_item_key(schema, type, item, &key, why);
        if (rc)
            break;
        index.items[index.n] = item;
        memcpy(&index.parts[(size_t)index.n * index.n_parts], key.parts,
               index.n_parts * sizeof *key.parts);
        index.n++;
    }
    for (uint32_t o = 0; index.order && o < index.n; o++)
        index.order[o] = o;
    if (index.order)
        qsort_r(index.order, index.n, sizeof *index.order, by_key, &index);
    *ret_index = index;
    return rc;
}

void ek_list_index_done(struct ek_list_index *index)
{
    ek_free(index->block);
}

static bool has_parts(const struct ek_list_index *index, uint32_t item, const yyjson_mut_val *parts)
{
    const yyjson_mut_val *own = &index->parts[(size_t)item * index->n_parts];
    return compare_parts(own, parts, index->n_parts) == 0;
}

static uint32_t find_in_short(const struct ek_list_index *index, const yyjson_mut_val *parts,
                              bool *ret_twice)
{
    uint32_t found = UINT32_MAX;

    for (uint32_t i = 0; i < index->n; i++) {
        if (!has_parts(index, i, parts))
            continue;
        if (found != UINT32_MAX) {
            *ret_twice = true;
            break;
        }
        found = i;
    }
    return found;
}

uint32_t ek_list_find(const struct ek_list_index *index, const yyjson_mut_val *parts,
                      bool *ret_twice)
{
    uint32_t low = 0, high = index->n;
    bool unused;

    ret_twice = ret_twice ? ret_twice : &unused;
    *ret_twice = false;
    if (!index->order)
        return find_in_short(index, parts, ret_twice);
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        const yyjson_mut_val *own = &index->parts[(size_t)index->order[mid] * index->n_parts];
        if (compare_parts(own, parts, index->n_parts) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == index->n || !has_parts(index, index->order[low], parts))
        return UINT32_MAX;
    *ret_twice = low + 1 < index->n && has_parts(index, index->order[low + 1], parts);
    return index->order[low];
}
