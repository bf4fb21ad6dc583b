/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schemas: the types of the objects of a group version, for structural merges and for messages that
 * name fields.
 *
 * A schema is compiled once, from the OpenAPI v3 document that a server publishes for a group
 * version or from a CustomResourceDefinition, and is then only read. A schema has the fields, the
 * keys of lists, the parts that are replaced as a whole, and the defaults. It does not have the
 * formats, enums, patterns and bounds that a validation needs.
 *
 * Model: an array of types, known by their index. A type states which forms its values may have:
 * scalar, list, map. Most types allow one form, and a part without a schema allows all. A map has
 * fields (a struct), or members of one type under any name, or both. The rules of the conversion
 * are those of kube-openapi/pkg/schemaconv/openapi.go: ToSchemaFromOpenAPI.
 *
 * Memory: a schema is one position-independent block, the image, so that an image can be part of a
 * program's read-only data. A schema is immutable and refcounted; any number of threads may use,
 * reference and release a schema. Pointers that the functions below return point into the schema
 * and are valid as long as the caller's reference.
 */
#ifndef API_SCHEMA_SCHEMA_H
#define API_SCHEMA_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "api/base/buf.h"
#include "api/base/err.h"

/* Limits of one schema; beyond them compiling is EK_E_LIMIT. The largest document of Kubernetes
 * 1.36 (core/v1) takes 350 types, 1,133 fields and 20 kB of text, 56 kB in all. */
#define EK_SCHEMA_PARTS_MAX   ((uint32_t)1 << 20) /* types, fields, keys, defaults: each */
#define EK_SCHEMA_STRINGS_MAX ((uint32_t)1 << 25) /* octets of names and of text in defaults */
#define EK_SCHEMA_KEYS_MAX    8                   /* key fields of one list */
#define EK_SCHEMA_DEPTH_MAX   256                 /* types declared within each other */

/* No type, no default: an index that stands for nothing. */
#define EK_SCHEMA_NONE UINT32_MAX

/* A type as the document declares it. */
enum ek_schema_declared {
    EK_SCHEMA_UNTYPED, /* "type" is absent */
    EK_SCHEMA_STRING,
    EK_SCHEMA_INTEGER,
    EK_SCHEMA_NUMBER,
    EK_SCHEMA_BOOLEAN,
    EK_SCHEMA_ARRAY,
    EK_SCHEMA_OBJECT,
    EK_SCHEMA_DECLARED_MAX,
};

/* The scalars that a value may be. A string with a format other than byte may be any scalar, as in
 * the reference implementation: API servers accept numbers for quantities and int-or-string. */
enum ek_schema_scalar {
    EK_SCALAR_NONE,
    EK_SCALAR_STRING,
    EK_SCALAR_NUMERIC, /* integer or not */
    EK_SCALAR_BOOLEAN,
    EK_SCALAR_ANY,
    EK_SCALAR_MAX,
};

/* How the items of a list relate. */
enum ek_schema_list {
    EK_LIST_NONE,   /* a value may not be a list */
    EK_LIST_ATOMIC, /* the list is one value */
    EK_LIST_SET,    /* items are scalars, each at most once */
    EK_LIST_MAP,    /* items are maps, identified by key fields */
    EK_LIST_MAX,
};

/* How the members of a map relate. */
enum ek_schema_map {
    EK_MAP_NONE,     /* a value may not be a map */
    EK_MAP_GRANULAR, /* each member for itself */
    EK_MAP_ATOMIC,   /* the map is one value */
    EK_MAP_MAX,
};

/* Flags of a type. */
#define EK_SCHEMA_NULLABLE      1u /* declared nullable where it stands; also a flag of fields */
#define EK_SCHEMA_INT_OR_STRING 2u
#define EK_SCHEMA_PRESERVE      4u  /* x-kubernetes-preserve-unknown-fields, on this very type */
#define EK_SCHEMA_EMBEDDED      8u  /* x-kubernetes-embedded-resource */
#define EK_SCHEMA_MISSING       16u /* a reference to what the document lacks: fits no value */

/* Flag of a field. */
#define EK_SCHEMA_REQUIRED 32u

/* Flags of scalar types again: formats that decide what Go has for them. */
#define EK_SCHEMA_INT32 64u
#define EK_SCHEMA_BYTES 128u /* base64 */

/* One type. Strings are offsets for ek_schema_text, the rest are indexes. */
struct ek_schema_type {
    uint32_t name;     /* of the component; "" for a type declared in place */
    uint8_t declared;  /* enum ek_schema_declared */
    uint8_t scalar;    /* enum ek_schema_scalar */
    uint8_t list;      /* enum ek_schema_list */
    uint8_t map;       /* enum ek_schema_map */
    uint32_t flags;    /* EK_SCHEMA_* */
    uint32_t item;     /* type of list items; EK_SCHEMA_NONE when list is EK_LIST_NONE */
    uint32_t member;   /* type of members that are no fields; EK_SCHEMA_NONE: there are none */
    uint32_t fields;   /* first field */
    uint32_t n_fields; /* sorted by name */
    uint32_t keys;     /* first key, for EK_LIST_MAP */
    uint32_t n_keys;   /* in the order of the document, at most EK_SCHEMA_KEYS_MAX */
};

struct ek_schema_field {
    uint32_t name;
    uint32_t type;
    uint32_t initial; /* the declared default; EK_SCHEMA_NONE without one */
    uint32_t flags;   /* EK_SCHEMA_REQUIRED, EK_SCHEMA_NULLABLE */
};

/* A kind and the type of its objects. */
struct ek_schema_kind {
    uint32_t group;
    uint32_t version;
    uint32_t kind;
    uint32_t type;
};

struct ek_schema;

/*
 * Compiles document, the parsed OpenAPI v3 document of one group version (GET
 * /openapi/v3/apis/<group>/<version>), into *ret_schema, one reference for the caller. The document
 * is only read. EK_E_PARSE names a component of which the reference implementation cannot make a
 * schema, and then no kind of the document has one. Other errors: EK_E_LIMIT, EK_E_NOMEM.
 */
int ek_schema_compile(yyjson_val *document, struct ek_schema **ret_schema, struct ek_err *err);

/*
 * Compiles the structural schema of one version of a CustomResourceDefinition
 * (apiextensions.k8s.io/v1) as the server would publish it: metadata, apiVersion and kind are added
 * to it and to embedded resources. Errors as above; EK_E_NOENT when the definition has no such
 * version.
 */
int ek_schema_compile_crd(yyjson_val *crd, const char *version, struct ek_schema **ret_schema,
                          struct ek_err *err);

/* The schema's image: *ret_size octets, to be aligned to 8, for the byte order of this machine. */
const void *ek_schema_image(const struct ek_schema *schema, size_t *ret_size);

/*
 * Makes a schema that reads image in place; image is borrowed and must not change as long as the
 * schema has references. All offsets are checked first: EK_E_PARSE for other or damaged data.
 */
int ek_schema_from_image(const void *image, size_t size, struct ek_schema **ret_schema,
                         struct ek_err *err);

/* Adds a reference and returns schema; NULL stays NULL. */
struct ek_schema *ek_schema_ref(const struct ek_schema *schema);

/* Drops a reference, releasing the schema with the last one; NULL is fine. */
void ek_schema_unref(struct ek_schema *schema);

EK_CLEANUP_PTR(ek_schema, ek_schema_unref)

/*
 * Sets *ret_type to the type of a kind's objects. EK_E_NOENT, with the reference's text ("no
 * corresponding type for apps/v1, Kind=Scale"), when the document declares none.
 */
int ek_schema_find_kind(const struct ek_schema *schema, const char *group, const char *version,
                        const char *kind, uint32_t *ret_type, struct ek_err *err);

/* All kinds, sorted by kind, group and version; *ret_n of them. */
const struct ek_schema_kind *ek_schema_kinds(const struct ek_schema *schema, size_t *ret_n);

/* The type at an index; the index must be from this schema. */
const struct ek_schema_type *ek_schema_type(const struct ek_schema *schema, uint32_t type);

/* The field of a type by name, NULL when none is declared under it. */
const struct ek_schema_field *ek_schema_field(const struct ek_schema *schema,
                                              const struct ek_schema_type *type,
                                              struct ek_str name);

/* The fields of a type, sorted by name; n_fields is their number. */
const struct ek_schema_field *ek_schema_fields(const struct ek_schema *schema,
                                               const struct ek_schema_type *type);

/* The type of a map's member by name: a field's, else that of free members, else EK_SCHEMA_NONE. */
uint32_t ek_schema_member(const struct ek_schema *schema, const struct ek_schema_type *type,
                          struct ek_str name);

/* The name of the i-th key field (i < n_keys) of a list type. */
struct ek_str ek_schema_key(const struct ek_schema *schema, const struct ek_schema_type *type,
                            uint32_t i);

/* A string by its offset; NUL-terminated. */
struct ek_str ek_schema_text(const struct ek_schema *schema, uint32_t text);

/*
 * Makes the declared default of a field, a value of doc. NULL when it has none, or without memory.
 */
yyjson_mut_val *ek_schema_initial(const struct ek_schema *schema,
                                  const struct ek_schema_field *field, yyjson_mut_doc *doc);

/*
 * Follows a dotted path of field names ("spec.template.spec.containers.image") from type, and sets
 * *ret_type to the type at the end of the path. Lists have no name of their own in a path, as in
 * the type names of policies (apiserver/pkg/cel/mutation/dynamic/objects.go:
 * CheckTypeNamesMatchFieldPathNames): the name of a list is followed by a field of its items, and a
 * path may end at a list. A map whose members may have any name has every name. "" is type itself.
 *
 * EK_E_NOENT when a name is not declared; the message has the name, its parent, and a similar
 * declared name if there is one:
 * `"spec.template" has no field "sepc"; did you mean "spec"?`.
 */
int ek_schema_resolve(const struct ek_schema *schema, uint32_t type, struct ek_str path,
                      uint32_t *ret_type, struct ek_err *err);

#endif
