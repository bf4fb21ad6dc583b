/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CEL types: what the checker reasons about and what type values point at.
 *
 * Types are immutable. Those without parameters are made once per environment (or are static), so
 * equal types need not be the same pointer: compare with ek_cel_type_equal. Not for hosts, which
 * write types as text.
 */
#ifndef API_CEL_VALUES_TYPE_H
#define API_CEL_VALUES_TYPE_H

#include "api/cel/cel.h"

enum ek_cel_type_kind {
    EK_CEL_T_DYN,
    EK_CEL_T_NULL,
    EK_CEL_T_BOOL,
    EK_CEL_T_INT,
    EK_CEL_T_UINT,
    EK_CEL_T_DOUBLE,
    EK_CEL_T_STRING,
    EK_CEL_T_BYTES,
    EK_CEL_T_TIMESTAMP, /* google.protobuf.Timestamp */
    EK_CEL_T_DURATION,  /* google.protobuf.Duration */
    EK_CEL_T_LIST,      /* params[0] */
    EK_CEL_T_MAP,       /* params[0], params[1] */
    EK_CEL_T_TYPE,      /* params[0], or none for the type of all types */
    EK_CEL_T_OPTIONAL,  /* optional_type(params[0]) */
    EK_CEL_T_OPAQUE,    /* by name: kubernetes.Quantity, net.IP */
    EK_CEL_T_STRUCT,    /* by name: Object.spec, kubernetes.AdmissionRequest */
    EK_CEL_T_PARAM,     /* a type variable, by name */
    EK_CEL_T_ERROR,     /* of an expression that was reported already; agrees with all */
    EK_CEL_T_NONE,      /* of a JSONPatch field that there is none of: agrees with dyn alone */
};

struct ek_cel_type {
    enum ek_cel_type_kind kind;
    uint32_t n;       /* parameters */
    const char *name; /* "list", "int", "kubernetes.Quantity"; how type() prints it */
    const struct ek_cel_type *const *params;
    uint32_t size; /* nodes of its tree; 0 is 1 */
};

/* Types without parameters, and the commonest with dyn; static, any thread. */
extern const struct ek_cel_type ek_cel_type_dyn, ek_cel_type_null, ek_cel_type_bool,
    ek_cel_type_int, ek_cel_type_uint, ek_cel_type_double, ek_cel_type_string, ek_cel_type_bytes,
    ek_cel_type_timestamp, ek_cel_type_duration, ek_cel_type_list_dyn, ek_cel_type_map_dyn,
    ek_cel_type_type, ek_cel_type_optional_dyn, ek_cel_type_error, ek_cel_type_none;

bool ek_cel_type_equal(const struct ek_cel_type *a, const struct ek_cel_type *b);

/* Appends the type as CEL prints it, "map(string, list(int))", "type(int)". */
int ek_cel_type_format(const struct ek_cel_type *type, struct ek_buf *out);

/* A type with n parameters (name is borrowed), taken from arena; NULL at its limit. */
const struct ek_cel_type *ek_cel_type_make(struct ek_arena *arena, enum ek_cel_type_kind kind,
                                           const char *name,
                                           const struct ek_cel_type *const *params, uint32_t n);

/*
 * True when value may be an argument of a parameter of that type at run time: of a list or map
 * the first element or entry counts for all, of other types the name alone; dyn and type variables
 * take all (cel-go, IsAssignableRuntimeType). So [1.5].sum() finds the sum of doubles under dyn.
 */
bool ek_cel_type_admits(const struct ek_cel_type *type, const struct ek_cel_val *value);

/* By kind of type: the kind of its values, for types whose values are of one kind. */
extern const uint8_t ek_cel_type_values[];

#endif
