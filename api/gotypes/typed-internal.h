/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of typed.h share. */
#ifndef API_GOTYPES_TYPED_INTERNAL_H
#define API_GOTYPES_TYPED_INTERNAL_H

#include "api/gotypes/typed.h"

#define EK_SETTLER_TEXT_MAX 16384

#define EK_QUANTITY   "io.k8s.apimachinery.pkg.api.resource.Quantity"
#define EK_TIME       "io.k8s.apimachinery.pkg.apis.meta.v1.Time"
#define EK_MICRO_TIME "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime"

struct ek_settler {
    const struct ek_schema *schema;
    yyjson_mut_doc *doc;
    bool decoded;
    struct ek_arena *arena;
    struct ek_work *work;
    struct ek_buf unknown; /* fields that are not declared */
    unsigned depth;
    int rc;            /* the first failure */
    const char *error; /* of EK_E_INVAL */
};

/* Where a value stands; on the stack, from the deepest up. */
struct ek_typed_place {
    const struct ek_typed_place *up; /* NULL at the root */
    struct ek_str name;              /* of a member */
    size_t index;                    /* of an item; SIZE_MAX for members */
    bool free;                       /* a member under any name, which Go's texts omit */
    uint32_t type;
    struct ek_str owner, package;   /* the struct that it is in, as Go names it */
    struct ek_str own, own_package; /* the struct that it is, once it is entered */
};

/* Notes the first error; returns false. */
bool ek_settler_fail(struct ek_settler *s, const char *error);

/* Whether p could be made; lack of memory is noted. */
bool ek_settler_made(struct ek_settler *s, const void *p);

/* Whether t is the component of that name. */
bool ek_settler_is(const struct ek_settler *s, const struct ek_schema_type *t, const char *name);

bool ek_settler_is_zero(yyjson_mut_val *value);

/* How Go calls a component: its name, and its package. */
struct ek_str ek_settler_owner(const struct ek_settler *s, const struct ek_schema_type *t,
                               struct ek_str *ret_package);

/* Appends the names down to place, "spec.template.spec"; with indexes and free names if strict. */
void ek_place_print(struct ek_buf *out, const struct ek_typed_place *place, bool strict);

/* Notes that value's kind is none that the type at place takes. */
void ek_settler_mismatch(struct ek_settler *s, const struct ek_typed_place *place,
                         yyjson_mut_val *value);

/* Settles what is neither list nor map. */
void ek_settle_scalar(struct ek_settler *s, const struct ek_typed_place *place,
                      const struct ek_schema_type *t, yyjson_mut_val *value);

#endif
