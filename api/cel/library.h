/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To write functions for CEL: libraries as data, and the calls of an implementation.
 *
 * A library is constant data: functions with their overloads, macros and type names. Which
 * library of which version an environment has is data too (api/cel/env/environment.c). An
 * overload's types are written as text and read once, when the environment is made.
 *
 * Implementations are pure functions of their arguments. They never see an error as argument
 * (unless the overload is EK_CEL_NONSTRICT), run on the evaluating thread, allocate from the
 * evaluation, and return an error value on failure.
 */
#ifndef API_CEL_LIBRARY_H
#define API_CEL_LIBRARY_H

#include "api/cel/cel.h"

struct ek_cel_eval; /* one evaluation in progress */
struct ek_cel_node; /* api/cel/syntax/ast.h */

/* args has n values; the receiver of a member call is the first. */
typedef struct ek_cel_val (*ek_cel_fn)(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                       uint32_t n);

/* The cost of a call, computed after it (result may be an error); replaces the default of 1. */
typedef uint64_t (*ek_cel_cost_fn)(const struct ek_cel_val *args, uint32_t n,
                                   const struct ek_cel_val *result);

/* What a cost function returns when the reference's own would crash on such arguments (it has seen
 * an error or another kind of value where it trusts in a list): the evaluation then ends with an
 * error that nothing absorbs. */
#define EK_CEL_COST_INVALID UINT64_MAX

enum ek_cel_overload_flags {
    EK_CEL_MEMBER = 1,    /* called as receiver.name(...) */
    EK_CEL_NONSTRICT = 2, /* is called with error arguments too */
    EK_CEL_REGEX_1 = 4,   /* argument 1 is a regular expression: compiled with the program when it
                             is constant, which makes an invalid one a compile error */
};

struct ek_cel_overload {
    const char *id;        /* unique: cel-go's overload id where it has one */
    const char *signature; /* "list(T), T -> int". Types as in ek_cel_env_declare, also timestamp,
                              duration, any declared opaque name; one capital letter is a type
                              parameter. A member's receiver is the first. No arguments: "-> T" */
    unsigned flags;
    ek_cel_fn fn;
    ek_cel_cost_fn cost; /* NULL: the function's, else 1 */
    int version;         /* library version that brought it; 0 has always been there */
    int until;           /* library version that removed it; 0 is never */
};

struct ek_cel_function {
    const char *name; /* "indexOf"; with its namespace when called as one: "sets.contains" */
    const struct ek_cel_overload
        *overloads;      /* ends with id NULL; tried in this order at run time */
    ek_cel_fn singleton; /* implements every overload whose fn is NULL; checks its arguments */
    ek_cel_cost_fn cost; /* of calls by any overload, also when several remain; NULL is 1 */
};

/* What a macro's expansion gets; see api/cel/syntax/macro.h for what it may make. */
struct ek_cel_expander;
typedef struct ek_cel_node *(*ek_cel_expand_fn)(struct ek_cel_expander *expander,
                                                struct ek_cel_node *target,
                                                struct ek_cel_node **args, uint32_t n);

struct ek_cel_macro {
    const char *name;        /* "exists" */
    const char *target_name; /* the target must be this identifier ("cel" for cel.bind), or NULL */
    bool member;             /* needs a target */
    int args;                /* exact number, or -1 for any */
    ek_cel_expand_fn expand; /* NULL as result without a reported issue: not a macro call */
    int version;             /* library version that brought it */
};

/* A kind of opaque value. */
struct ek_cel_opaque_kind {
    const char *name; /* "kubernetes.Quantity" */
    bool (*equal)(const struct ek_cel_opaque *a, const struct ek_cel_opaque *b);
    /* Appends the value's text for people, such as an address; NULL when it has none. */
    int (*format)(const struct ek_cel_opaque *value, struct ek_buf *out);
    /* The size that cost rules use (ek_cel_cost_size); NULL is 1. */
    uint64_t (*cost_size)(const struct ek_cel_opaque *value);
    /* The kind that == takes on its right side when its left is of this kind; NULL is this kind. */
    const struct ek_cel_opaque_kind *peer;
    bool named;      /* its name can be written in an expression: type(x) == net.IP */
    bool unhashable; /* cannot be a key of a map, nor be looked for in one */
    /* A number that equal values share, where maps find keys by content; NULL: by identity. */
    uint64_t (*hash)(const struct ek_cel_opaque *value);
};

/*
 * == whose left side is opaque calls left->kind->equal when right is of the kind peer says. All
 * else but null (which is unequal) is the error "no such overload", and so is everything when
 * equal is NULL. != and `in` take that error for unequal, lists and maps as elements for equal.
 * The cost of == is 1 when its left side is opaque; that of != goes by cost_size.
 */

/* The first member of every opaque value's struct. */
struct ek_cel_opaque {
    const struct ek_cel_opaque_kind *kind;
};

struct ek_cel_library {
    const char *name; /* "cel.lib.k8s.lists": for README, --help and the version table */
    const struct ek_cel_function *functions;       /* ends with name NULL; may be NULL */
    const struct ek_cel_macro *macros;             /* ends with name NULL; may be NULL */
    const struct ek_cel_opaque_kind *const *types; /* ends with NULL; may be NULL */
};

/*
 * Adds the functions, macros and types of library in that version to env. Functions are added to
 * functions of the same name. library must outlive env. Returns 0, or a negative error with err
 * filled (env is in use, a signature cannot be read, no memory); env can then only be released.
 */
int ek_cel_env_add_library(struct ek_cel_env *env, const struct ek_cel_library *library,
                           int version, struct ek_err *err);

/* All libraries there are; one file each, or a few that belong together. */
extern const struct ek_cel_library ek_cel_lib_standard; /* operators, conversions, size, time */
extern const struct ek_cel_library ek_cel_lib_optional; /* optional types */
extern const struct ek_cel_library ek_cel_lib_strings;  /* ext.Strings, versions 0 to 4 */
extern const struct ek_cel_library ek_cel_lib_lists;    /* ext.Lists */
extern const struct ek_cel_library ek_cel_lib_sets;     /* ext.Sets */
extern const struct ek_cel_library ek_cel_lib_math;     /* ext.Math */
extern const struct ek_cel_library ek_cel_lib_encoders; /* ext.Encoders */
extern const struct ek_cel_library ek_cel_lib_bindings; /* cel.bind */
extern const struct ek_cel_library ek_cel_lib_block;    /* cel.block, cel.index, ... */
extern const struct ek_cel_library ek_cel_lib_comprehensions; /* two-variable comprehensions */
extern const struct ek_cel_library ek_cel_lib_k8s_lists;      /* isSorted, sum, min, ... */
extern const struct ek_cel_library ek_cel_lib_k8s_regex;      /* find, findAll */
extern const struct ek_cel_library ek_cel_lib_k8s_urls;
extern const struct ek_cel_library ek_cel_lib_k8s_quantity;
extern const struct ek_cel_library ek_cel_lib_k8s_ip;
extern const struct ek_cel_library ek_cel_lib_k8s_cidr;
extern const struct ek_cel_library ek_cel_lib_k8s_format;
extern const struct ek_cel_library ek_cel_lib_k8s_semver;
extern const struct ek_cel_library ek_cel_lib_k8s_authz;
extern const struct ek_cel_library ek_cel_lib_k8s_authz_selectors;
extern const struct ek_cel_library ek_cel_lib_k8s_jsonpatch;

/* ---- For implementations --------------------------------------------------------------------- */

/* Returns size octets (not zeroed, aligned for anything) from the evaluation's arena, or NULL when
 * its memory is used up: then return ek_cel_no_memory(eval). */
void *ek_cel_alloc(struct ek_cel_eval *eval, size_t size);

/* The error of an exceeded memory bound. Not absorbed by && and ||. */
struct ek_cel_val ek_cel_no_memory(struct ek_cel_eval *eval);

/* An evaluation error by printf rules. */
struct ek_cel_val ek_cel_fail(struct ek_cel_eval *eval, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The error "no such overload"; also "no such overload: name(type, ...)" when name is given. */
struct ek_cel_val ek_cel_no_overload(struct ek_cel_eval *eval, const char *name,
                                     const struct ek_cel_val *args, uint32_t n);

/*
 * Announces that an implementation is about to do steps units of work that its cost will only be
 * charged for afterwards (a product of sizes). False when the evaluation must end instead: the
 * limit would be exceeded by it, or it was cancelled; then return ek_cel_stopped(eval).
 */
bool ek_cel_work(struct ek_cel_eval *eval, uint64_t steps);
struct ek_cel_val ek_cel_stopped(struct ek_cel_eval *eval);

/* A string of the evaluation: a copy of len octets, or what is in buf. */
struct ek_cel_val ek_cel_string_copy(struct ek_cel_eval *eval, const char *s, size_t len);

/* A string being written: octets in the evaluation's arena that grow in place where they can. Text
 * that does not fit the memory bound sets failed, which ek_cel_text_take turns into the error. */
struct ek_cel_text {
    struct ek_cel_eval *eval;
    char *data;
    size_t len, cap;
    bool failed;
};
void ek_cel_text_init(struct ek_cel_text *text, struct ek_cel_eval *eval);
void ek_cel_text_add(struct ek_cel_text *text, const char *s, size_t len);
void ek_cel_text_printf(struct ek_cel_text *text, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
struct ek_cel_val ek_cel_text_take(struct ek_cel_text *text);

/*
 * Native lists and maps. A list may share its items with the list it was appended to: an append
 * to the longest holder writes behind its end, so that building one by n appends costs O(n); a
 * value once made never changes. cap 0 marks constants of a program, which are never extended.
 */
struct ek_cel_items {
    uint32_t used, cap;
    struct ek_cel_val v[];
};

/* Keys that a literal left out: see ek_cel_unset_at. */
struct ek_cel_unset {
    uint32_t n;
    struct ek_cel_val keys[];
};

struct ek_cel_entries {
    uint32_t used, cap;  /* entries, each a key and a value in v */
    uint32_t *index;     /* hash index over the keys, or NULL while there are few */
    uint32_t index_mask; /* its size less one; a slot holds entry number + 1, 0 is free */
    const struct ek_cel_unset *unset; /* NULL for none */
    struct ek_cel_val v[];
};

struct ek_cel_field {
    const char *name; /* NUL-terminated; the program's or the evaluation's */
    struct ek_cel_val value;
};

struct ek_cel_struct {
    const char *type;
    const struct ek_cel_unset *unset; /* NULL for none */
    uint32_t n;
    struct ek_cel_field fields[];
};

/* An empty list or map with room for n. An error value without memory. */
struct ek_cel_val ek_cel_list_new(struct ek_cel_eval *eval, uint32_t n);
struct ek_cel_val ek_cel_map_new(struct ek_cel_eval *eval, uint32_t n);

/* Sets *list to list with item at its end (amortised O(1)). Returns false without memory. */
bool ek_cel_list_append(struct ek_cel_eval *eval, struct ek_cel_val *list,
                        const struct ek_cel_val *item);

/* Sets *list to list with all of more at its end. */
bool ek_cel_list_extend(struct ek_cel_eval *eval, struct ek_cel_val *list,
                        const struct ek_cel_val *more);

/* Sets *map to map with that entry. With replace, for a map without other holders, the entry
 * of the very same key (1 and 1u are two) gets the new value in place; else a key that finds an
 * entry leaves it. Returns 1 when added or replaced, 0 when left, -1 without memory. Any value may
 * be a key, but bytes, which the reference cannot hash. */
int ek_cel_map_put(struct ek_cel_eval *eval, struct ek_cel_val *map, const struct ek_cel_val *key,
                   const struct ek_cel_val *value, bool replace);

/* Records what the literal that made map left out; map has no other holders yet. */
void ek_cel_map_set_unset(struct ek_cel_val *map, const struct ek_cel_unset *unset);

/* ek_cel_map_find in about constant time for large JSON objects too: their keys are indexed when
 * they are first looked into. */
int ek_cel_map_get(struct ek_cel_eval *eval, const struct ek_cel_val *map,
                   const struct ek_cel_val *key, struct ek_cel_val *ret_value);

/* == as the operator sees it: 1, 0, or -1 with *ret_error, for opaque values that cannot be
 * compared (see above) and values nested too deep. ek_cel_equal takes both for unequal. */
int ek_cel_try_equal(struct ek_cel_eval *eval, const struct ek_cel_val *a,
                     const struct ek_cel_val *b, struct ek_cel_val *ret_error);

/* optional.of(value), copying value into the arena; optional.none() when value is NULL. */
struct ek_cel_val ek_cel_optional(struct ek_cel_eval *eval, const struct ek_cel_val *value);

static inline struct ek_cel_val ek_cel_opaque_val(const struct ek_cel_opaque *opaque)
{
    return (struct ek_cel_val){.kind = EK_CEL_OPAQUE, .opaque = opaque};
}

/* True when value is an opaque of that kind. */
static inline bool ek_cel_is_opaque(const struct ek_cel_val *value,
                                    const struct ek_cel_opaque_kind *kind)
{
    return value->kind == EK_CEL_OPAQUE && value->opaque->kind == kind;
}

/*
 * Orders two values: fills *ret_order with -1, 0 or 1. Numbers of all kinds compare with each
 * other; false, with *ret_error set, where CEL has no order (other kinds, NaN).
 */
bool ek_cel_compare(struct ek_cel_eval *eval, const struct ek_cel_val *a,
                    const struct ek_cel_val *b, int *ret_order, struct ek_cel_val *ret_error);

/* Code points of len octets of valid UTF-8. */
size_t ek_cel_runes(const char *s, size_t len);

/* The size that cost rules use: code points, octets, elements; an optional's value; else 1 (cel-go
 * runtimecost.go, actualSize). */
uint64_t ek_cel_cost_size(const struct ek_cel_val *value);

/* ceil(n * tenths / 10), the traversal cost of n units. */
static inline uint64_t ek_cel_cost_tenths(uint64_t n, uint64_t tenths)
{
    return (n * tenths + 9) / 10;
}

/* Regular expressions (RE2). Compiled ones of constants belong to the program and are found by the
 * address of their pattern; others are compiled for the call and released with the evaluation. */
struct ek_cel_regex;

/* Returns the expression for pattern, borrowed from the evaluation, or NULL with *ret_error. */
const struct ek_cel_regex *ek_cel_regex_of(struct ek_cel_eval *eval,
                                           const struct ek_cel_val *pattern,
                                           struct ek_cel_val *ret_error);

#endif
