/* SPDX-License-Identifier: Apache-2.0 */
/* The reader that api/groups.c and api/groups_legacy.c share. */
#ifndef API_GROUPS_INTERNAL_H
#define API_GROUPS_INTERNAL_H

#include "api/groups.h"

/* Reads into an arena and keeps the first error. */
struct ek_api_reader {
    struct ek_arena *arena;
    struct ek_err *err; /* not NULL */
};

/* Where a value stands: the Go struct, and the path from the root; for messages. */
struct ek_api_place {
    const char *type, *path;
};

/* size octets, zeroed; NULL (and the error set) beyond the memory of a document. */
void *ek_api_take(struct ek_api_reader *reader, size_t n, size_t size);

/* A string: absent and null are "". */
const char *ek_api_read_string(struct ek_api_reader *reader, yyjson_val *value,
                               struct ek_api_place place);

/* A list of strings. */
struct ek_api_names ek_api_read_names(struct ek_api_reader *reader, yyjson_val *value,
                                      struct ek_api_place place);

/* A document that owns arena; one reference. */
struct ek_api_groups *ek_api_groups_new(struct ek_arena *arena, struct ek_api_list list,
                                        enum ek_discovery_form form);

/* Appends a string as JSON, escaped as encoding/json does. */
void ek_api_write_string(struct ek_buf *out, const char *s);

#endif
