/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image of a schema, and what makes one. For the files of this folder.
 */
#ifndef API_SCHEMA_SCHEMA_INTERNAL_H
#define API_SCHEMA_SCHEMA_INTERNAL_H

#include <stdatomic.h>

#include "api/schema/schema.h"

#define EK_SCHEMA_MAGIC   0x656b7363u /* differs in the other byte order */
#define EK_SCHEMA_VERSION 1u

/* A row of equal things in the image. */
struct ek_schema_span {
    uint32_t offset; /* from the start of the image */
    uint32_t n;
};

/* What an image starts with. Values come before the other rows, which need less alignment. */
struct ek_schema_head {
    uint32_t magic;
    uint32_t version;
    uint32_t size; /* of the image */
    uint32_t unused;
    struct ek_schema_span values;  /* struct ek_schema_value */
    struct ek_schema_span types;   /* struct ek_schema_type */
    struct ek_schema_span fields;  /* struct ek_schema_field */
    struct ek_schema_span kinds;   /* struct ek_schema_kind */
    struct ek_schema_span keys;    /* uint32_t: text */
    struct ek_schema_span strings; /* octets; each text has its length, 4 octets, before it and a
                                      NUL behind it */
};

enum ek_schema_value_kind {
    EK_VALUE_BOOL,
    EK_VALUE_INT,
    EK_VALUE_UINT,
    EK_VALUE_REAL,
    EK_VALUE_STRING, /* in text */
    EK_VALUE_JSON,   /* a list or map, as JSON in text */
    EK_VALUE_MAX,
};

/* A default. */
struct ek_schema_value {
    uint32_t kind; /* enum ek_schema_value_kind */
    uint32_t text;
    uint64_t bits; /* of the number or the boolean */
};

struct ek_schema {
    atomic_uint refs;
    const struct ek_schema_head *head;
    const struct ek_schema_value *values;
    const struct ek_schema_type *types;
    const struct ek_schema_field *fields;
    const struct ek_schema_kind *kinds;
    const uint32_t *keys;
    const char *strings;
};

/* A growing row of things of one size. */
struct ek_schema_vec {
    void *data;
    uint32_t n, cap;
};

/*
 * Collects the parts of a schema. The first failure stays in failed (EK_E_NOMEM or EK_E_LIMIT) and
 * makes later additions do nothing, so that callers may check once.
 */
struct ek_schema_builder {
    struct ek_schema_vec values, types, fields, kinds, keys, strings;
    struct ek_schema_vec pending; /* fields of the structs being read, innermost last */
    uint32_t *seen_strings;       /* open-addressed, text offsets; 0 is free */
    uint32_t *seen_types;         /* likewise, type index + 1 */
    int failed;
};

void ek_schema_builder_init(struct ek_schema_builder *b);
void ek_schema_builder_done(struct ek_schema_builder *b);

/* Adds one element of size octets; its index, EK_SCHEMA_NONE on failure. */
uint32_t ek_schema_push(struct ek_schema_builder *b, struct ek_schema_vec *vec, size_t size,
                        const void *element);

/* The offset of a text, which is stored once for most of its occurrences. */
uint32_t ek_schema_intern(struct ek_schema_builder *b, struct ek_str s);

/* Adds a type, or finds an equal one; for types without fields, keys and name. */
uint32_t ek_schema_share(struct ek_schema_builder *b, const struct ek_schema_type *type);

/* Adds a declared default; null is none. */
uint32_t ek_schema_add_value(struct ek_schema_builder *b, yyjson_val *value);

/* Moves the pending fields from index base on into type, sorted. */
void ek_schema_close_fields(struct ek_schema_builder *b, uint32_t base,
                            struct ek_schema_type *type);

/* Makes a schema of all that was collected. The builder stays the caller's. */
int ek_schema_finish(struct ek_schema_builder *b, struct ek_schema **ret_schema,
                     struct ek_err *err);

/* Orders texts by octets, the shorter first when one is the other's start. */
int ek_schema_compare(struct ek_str a, struct ek_str b);

/* Fills *ret with a scalar default; false for a composite one. Its text is the schema's. */
bool ek_schema_scalar_value(const struct ek_schema *schema, uint32_t value, yyjson_mut_val *ret);

/* Sets the pointers of schema to an image's rows, without looking into them. */
void ek_schema_open(struct ek_schema *schema, const void *image);

#endif
