/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Go types that API servers read built-in kinds into, as tables, and the parts of the decoder
 * that go by them. Only for the files of this folder.
 *
 * Between reading and writing an object is held as Go would hold it: a tree of JSON values in which
 * a member is absent where Go has a zero (nil, "", 0, false, a struct of zeros), but where a
 * pointer points to a zero, which is there. Lists and maps that are there, if empty, are not nil.
 */
#ifndef API_DECODE_BUILTIN_INTERNAL_H
#define API_DECODE_BUILTIN_INTERNAL_H

#include "api/decode/builtin.h"

enum ek_go_form {
    EK_GO_BOOL,
    EK_GO_INT32,
    EK_GO_INT64,
    EK_GO_FLOAT64,
    EK_GO_STRING,
    EK_GO_BYTES,     /* base64 in JSON */
    EK_GO_TIME,      /* metav1.Time */
    EK_GO_MICROTIME, /* metav1.MicroTime */
    EK_GO_QUANTITY,
    EK_GO_INTSTR, /* intstr.IntOrString */
    EK_GO_RAW,    /* any JSON */
    EK_GO_STRUCT, /* of: the index of the struct */
    EK_GO_SLICE,  /* of: the index of the type of an element, here and below */
    EK_GO_MAP,
    EK_GO_RESOURCES, /* a map of quantities which servers round to thousandths */
    EK_GO_POINTER,
    EK_GO_BOOL_OR,    /* of: or that, in JSON */
    EK_GO_LIST_OR,    /* or a list of that */
    EK_GO_STRINGS_OR, /* or a list of strings */
    EK_GO_MAX
};

struct ek_go_type {
    uint8_t form;
    uint16_t of;
};

#define EK_GO_OMITEMPTY 1u
#define EK_GO_OMITZERO  2u

struct ek_go_field {
    const char *name;    /* in JSON */
    const char *initial; /* the JSON of its default, NULL for none */
    uint16_t type;
    uint8_t minors; /* bit NN - EK_BUILTIN_MINOR_MIN for each 1.NN that has it so */
    uint8_t flags;
};

/* Its fields stand together, sorted by name; one that differs between versions stands there for
 * each. */
struct ek_go_struct {
    const char *name; /* "core/v1.Container" */
    uint16_t first, n;
};

struct ek_go_kind {
    const char *group, *version, *kind;
    uint16_t of; /* the struct */
    uint8_t minors;
};

/* Made by the build from builtin_types.txt; structs and kinds are sorted. */
extern const struct ek_go_type ek_go_types[];
extern const struct ek_go_field ek_go_fields[];
extern const struct ek_go_struct ek_go_structs[];
extern const struct ek_go_kind ek_go_kinds[];
extern const size_t ek_go_n_structs, ek_go_n_kinds;

/* One object on its way. */
struct ek_go_reader {
    const struct ek_go_kind *kind;
    uint8_t minor; /* its bit */
    yyjson_mut_doc *doc;
    struct ek_arena *arena;
    struct ek_arena *scratch; /* for one quantity or time */
    struct ek_work *work;
    struct ek_paths *unknown; /* gets the fields that no type has; NULL */
    int rc;                   /* what stopped it, 0 */
    struct ek_decode_problem problem;
};

/* The bit of a version: what a server does since then compares greater or equal. */
#define EK_GO_FROM(minor) (1u << ((minor)-EK_BUILTIN_MINOR_MIN))

/* The place of a value, for problems. */
struct ek_go_place {
    const struct ek_go_place *up; /* NULL at the object */
    struct ek_str name;
    size_t index; /* in a list; SIZE_MAX for a member */
};

/* Notes what is wrong with the value at place, as printf; later problems are left out. */
void ek_go_fail(struct ek_go_reader *r, const struct ek_go_place *place, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Notes lack of memory unless value was made; returns value. */
yyjson_mut_val *ek_go_made(struct ek_go_reader *r, yyjson_mut_val *value);

/* Reads a value of one of the forms before EK_GO_STRUCT. Returns NULL for a nil value, and on
 * failure. */
yyjson_mut_val *ek_go_read_scalar(struct ek_go_reader *r, const struct ek_go_place *place,
                                  enum ek_go_form form, yyjson_val *value);

/* True for what Go's encoder takes for empty. */
bool ek_go_is_empty(yyjson_mut_val *value);

/* The text of a quantity that servers would give had they computed it, "1500m" for "1.500", in the
 * scratch; *ret_coarse is true when they keep it as written where they round to thousandths. */
const char *ek_go_plain_quantity(struct ek_go_reader *r, yyjson_mut_val *quantity,
                                 bool *ret_coarse);

/* The quantity rounded up to thousandths: itself, or one in the document. NULL on failure. */
yyjson_mut_val *ek_go_round_up(struct ek_go_reader *r, yyjson_mut_val *quantity);

/* Members of a tree: NULL where object is, or has none of that name. */
yyjson_mut_val *ek_go_get(yyjson_mut_val *object, const char *name);

/* The text of a member, "" when there is none. */
const char *ek_go_text_of(yyjson_mut_val *object, const char *name);

/* Puts a member in place of what there is of that name. Names are constants. */
void ek_go_put(struct ek_go_reader *r, yyjson_mut_val *object, const char *name,
               yyjson_mut_val *value);
void ek_go_put_text(struct ek_go_reader *r, yyjson_mut_val *object, const char *name,
                    const char *text);
void ek_go_put_number(struct ek_go_reader *r, yyjson_mut_val *object, const char *name,
                      uint64_t number);

/* The member, an object, which is added when it is absent. NULL on failure. */
yyjson_mut_val *ek_go_open(struct ek_go_reader *r, yyjson_mut_val *object, const char *name);

/* A copy of a tree without raw parts: of quantities, labels. */
yyjson_mut_val *ek_go_copy(struct ek_go_reader *r, yyjson_mut_val *value);

/* Adds copies of the members of from that to, NULL on failure before, does not have. */
void ek_go_fill(struct ek_go_reader *r, yyjson_mut_val *to, yyjson_mut_val *from);

/* The canonical text of a quantity, made in the document; NULL on failure. */
yyjson_mut_val *ek_go_quantity(struct ek_go_reader *r, const char *text);

/* A value of the few forms that defaults have, not yet looked at for lack of memory. */
yyjson_mut_val *ek_go_literal(struct ek_go_reader *r, const char *json);

/* The defaults without a condition of a struct by its name, "core/v1.Container". */
void ek_go_default_rows(struct ek_go_reader *r, const char *name, yyjson_mut_val *object);

/* Whether the image of a container is of the tag "latest": by its name, or for lack of another and
 * of a digest. What is no reference is of none. */
bool ek_go_image_is_latest(const char *image);

/* What is called for each struct of a name, in any version of its group. */
struct ek_go_function {
    const char *owner; /* "core.Container" */
    void (*run)(struct ek_go_reader *r, yyjson_mut_val *object);
};

/* Sorted by owner. */
extern const struct ek_go_function ek_go_default_functions[], ek_go_convert_functions[];
extern const size_t ek_go_n_default_functions, ek_go_n_convert_functions;

/* Defaults of a Pod that come from what its containers want. */
void ek_go_default_pod(struct ek_go_reader *r, yyjson_mut_val *pod);

/* Gives the object what the defaulting functions of its version give. */
void ek_go_default(struct ek_go_reader *r, yyjson_mut_val *object);

/* What its way to the internal version and back changes of the object. */
void ek_go_convert(struct ek_go_reader *r, yyjson_mut_val *object);

#endif
