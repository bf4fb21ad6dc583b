/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The document in Protocol Buffers. A message may hold a field of a message type twice: a reader
 * merges both (protobuf.dev, Encoding: "Last One Wins"). So what only other documents have follows
 * the newest one's octets, and nothing below the entries of a map is read.
 */
#include <string.h>

#include "api/base/map.h"
#include "reconcilers/proxy/openapi_v2-internal.h"

/* Fields of Document (gnostic-models, openapiv2/OpenAPIv2.proto). */
enum { INFO = 2, PATHS = 8, INFO_VERSION = 2, NAME = 1 };

/* Its maps: the field, and the field of an entry. */
static const struct {
    unsigned field, entry;
} sections[] = {{PATHS, 2}, {9, 1}, {10, 1}, {11, 1}, {13, 1}};

enum { VARINT = 0, FIXED_64 = 1, BYTES = 2, FIXED_32 = 5 };

struct field {
    unsigned number, type;
    struct ek_str whole; /* with its tag */
    struct ek_str value; /* of BYTES */
};

static bool take_varint(struct ek_str *rest, uint64_t *ret)
{
    *ret = 0;
    for (unsigned shift = 0; shift < 64 && rest->len > 0; shift += 7) {
        unsigned char octet = (unsigned char)*rest->p;
        rest->p++;
        rest->len--;
        *ret |= (uint64_t)(octet & 0x7f) << shift;
        if (!(octet & 0x80))
            return shift < 63 || octet < 2;
    }
    return false;
}

/* Takes a field; false when there is none, or it is malformed: then something is left. */
static bool take_field(struct ek_str *rest, struct field *ret)
{
    struct ek_str r = *rest;
    uint64_t tag, size = 0;

    if (r.len == 0 || !take_varint(&r, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return false;
    ret->number = (unsigned)(tag >> 3);
    ret->type = tag & 7;
    if (ret->type == VARINT ? !take_varint(&r, &size)
                            : ret->type == BYTES && !take_varint(&r, &size))
        return false;
    if (ret->type != BYTES)
        size = ret->type == FIXED_64 ? 8 : ret->type == FIXED_32 ? 4 : 0;
    if (size > r.len || (ret->type > BYTES && ret->type != FIXED_32))
        return false;
    ret->value = (struct ek_str){r.p, (size_t)size};
    ret->whole = (struct ek_str){rest->p, (size_t)(r.p - rest->p) + (size_t)size};
    *rest = (struct ek_str){r.p + size, r.len - (size_t)size};
    return true;
}

/* The last field of that number, as readers take it; false when the message is malformed. */
static bool find(struct ek_str message, unsigned number, struct ek_str *ret)
{
    struct field field;

    *ret = (struct ek_str){"", 0};
    while (take_field(&message, &field))
        if (field.number == number && field.type == BYTES)
            *ret = field.value;
    return message.len == 0;
}

static int section_of(const struct field *field)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(sections); i++)
        if (field->number == sections[i].field && field->type == BYTES)
            return (int)i;
    return -1;
}

static bool entries_are_good(struct ek_str message, unsigned entry)
{
    struct field field;
    struct ek_str name;

    while (take_field(&message, &field))
        if (field.number == entry && field.type == BYTES &&
            (!find(field.value, NAME, &name) || memchr(name.p, '\0', name.len)))
            return false;
    return message.len == 0;
}

/* version: owned; "" for none. */
static bool read_document(struct ek_str rest, char **ret_version)
{
    struct field field;
    struct ek_str version = {"", 0};
    bool good = true, has_paths = false;

    while (good && take_field(&rest, &field)) {
        int section = section_of(&field);
        has_paths = has_paths || section == 0;
        if (section >= 0)
            good = entries_are_good(field.value, sections[section].entry);
        else if (field.number == INFO && field.type == BYTES)
            good = find(field.value, INFO_VERSION, &version);
    }
    *ret_version = ek_xstrndup(version.p, version.len);
    return good && has_paths && rest.len == 0;
}

/* ---- Merging ---- */

static void put_varint(uint64_t value, struct ek_buf *out)
{
    for (;; value >>= 7) {
        char octet = (char)(value > 0x7f ? (value & 0x7f) | 0x80 : value);
        ek_buf_append(out, &octet, 1);
        if (value <= 0x7f)
            return;
    }
}

/* Appends the entries that nobody has before to out, unless it is NULL. */
static void add_entries(struct ek_str message, unsigned entry, struct ek_map *seen,
                        struct ek_buf *out)
{
    struct field field;
    struct ek_str name;

    while (take_field(&message, &field)) {
        if (field.number != entry || field.type != BYTES || !find(field.value, NAME, &name))
            continue;
        char *key = ek_xstrndup(name.p, name.len);
        if (ek_map_get(seen, key)) {
            ek_free(key);
            continue;
        }
        ek_map_put(seen, key, key);
        if (out)
            ek_buf_append(out, field.whole.p, field.whole.len);
    }
}

static void free_seen(struct ek_map *seen)
{
    size_t cursor = 0;
    void *key;

    while (ek_map_next(seen, &cursor, NULL, &key))
        ek_free(key);
    ek_map_done(seen);
}

static void put_section(const struct ek_openapi_v2_doc *docs,
                        const struct ek_openapi_v2_order *order, size_t section, struct ek_buf *out)
{
    EK_AUTO(ek_buf) more;
    struct ek_map seen = {0};
    struct field field;

    ek_buf_init(&more, out->max);
    for (size_t i = 0; i < order->n; i++)
        for (struct ek_str rest = docs[order->at[i]].text; take_field(&rest, &field);)
            if (section_of(&field) == (int)section)
                add_entries(field.value, sections[section].entry, &seen, i > 0 ? &more : NULL);
    free_seen(&seen);
    if (more.failed)
        out->failed = more.failed;
    if (more.len == 0)
        return;
    put_varint(sections[section].field << 3 | BYTES, out);
    put_varint(more.len, out);
    ek_buf_append(out, more.data, more.len);
}

bool ek_openapi_v2_merge_wire__(struct ek_openapi_v2_doc *docs, size_t n, struct ek_buf *out)
{
    struct ek_openapi_v2_order order = {.n = 0};

    for (size_t i = 0; i < n; i++) {
        EK_AUTOFREE char *version = NULL;
        docs[i].used = read_document(docs[i].text, &version);
        if (docs[i].used)
            ek_openapi_v2_order_add__(&order, i, version);
    }
    if (order.n == 0)
        return false;
    ek_buf_append(out, docs[order.at[0]].text.p, docs[order.at[0]].text.len);
    for (size_t s = 0; s < EK_ARRAY_SIZE(sections); s++)
        put_section(docs, &order, s, out);
    return !out->failed;
}
