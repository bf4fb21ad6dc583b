/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a validation. For the files of this folder. */
#ifndef API_VALIDATION_VALIDATION_INTERNAL_H
#define API_VALIDATION_VALIDATION_INTERNAL_H

#include "api/base/map.h"
#include "api/cel/cel.h"
#include "api/cel/regex/regex.h"
#include "api/decode/custom.h"
#include "api/members.h"
#include "api/schema/schema.h"
#include "api/validation/validate.h"

/* A rule of x-kubernetes-validations. */
struct ek_vrule {
    yyjson_val *rule;               /* as declared */
    struct ek_cel_program *program; /* NULL: the rule does not compile, why says what is wrong */
    struct ek_cel_program *message; /* messageExpression; NULL: none, or it does not compile */
    const char *why;                /* of the validator's arena */
    bool reads_old;                 /* the rule reads oldSelf */
    bool is_optional;               /* oldSelf is an optional */
    bool message_reads_old;
    bool is_undecided; /* may do with lists without order what is not done here */
};

/* What a node of the schema needs beside its text, found by the address of the node. */
struct ek_vnode {
    yyjson_val *schema;
    struct ek_cel_regex *pattern; /* owned; NULL: none, or why says what is wrong with it */
    const char *why;
    struct ek_vrule *rules; /* of the validator's arena */
    size_t n_rules;
    bool reads_old; /* one of the rules does */
    bool compares;  /* one of the rules may compare lists */
};

struct ek_validator {
    struct ek_custom_version is; /* the version */
    struct ek_vnode *nodes;      /* owned; sorted by schema */
    size_t n_nodes, cap_nodes;
    size_t regex_budget;
    struct ek_cel_env *env; /* slot 0 self, 1 oldSelf; NULL: there are no rules */
    struct ek_arena *arena;
};

/* A step on the way to a value. */
enum ek_vstep { EK_VSTEP_ROOT, EK_VSTEP_FIELD, EK_VSTEP_KEY, EK_VSTEP_INDEX };
struct ek_vpath {
    const struct ek_vpath *up;
    enum ek_vstep step;
    struct ek_str name;
    size_t index;
};

/* One pass over an object. */
struct ek_vwalk {
    const struct ek_validator *validator;
    struct ek_arena *arena;
    struct ek_work *work;
    bool hides;                     /* values of the object do not stand in errors */
    struct ek_field_errors *errors; /* NULL: errors are counted, not kept */
    const char *prefix;             /* of the fields of errors, where texts have none; NULL */
    const char **unknown;
    size_t n_matched;         /* checks that were good, as the server counts them */
    size_t n_failed;          /* errors so far, also those that errors has no room for */
    size_t n_blocking;        /* of these, those after which an API server evaluates no rules */
    struct ek_arena *scratch; /* of the rules of one value; NULL outside of ek_vrules__ */
    uint64_t budget;          /* of CEL, what is left */
    bool is_spent;            /* no further rules are evaluated */
};

/* The path as errors of a schema have it ("spec.labels.a", "spec.list[0]"), and with the keys of
 * maps in brackets ("spec.labels[a]"), as all other errors have it. "" for the root. In the arena
 * of the walk. */
const char *ek_vpath_text__(struct ek_vwalk *w, const struct ek_vpath *path, bool brackets);

/* Whether an error that is found now is kept, and needs a text. */
bool ek_vkeeps__(const struct ek_vwalk *w);

/* The path of an error of a schema; "" where the error is not kept. */
const char *ek_vat__(struct ek_vwalk *w, const struct ek_vpath *path);

/* Notes a reason why not all is decided, "PATH: TEXT"; the first one stays. path may be NULL. */
void ek_vunknown__(struct ek_vwalk *w, const struct ek_vpath *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds an error, "PATH: TEXT". */
void ek_verror__(struct ek_vwalk *w, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The node of a schema, NULL where it needs nothing. */
const struct ek_vnode *ek_vnode_of__(const struct ek_validator *validator, yyjson_val *schema);

/* The schema of a member of an object; NULL: the schema declares none. *ret_is_key: it is that of
 * additionalProperties. work may be NULL. */
yyjson_val *ek_vmember__(struct ek_work *work, yyjson_val *schema, struct ek_str name,
                         bool *ret_is_key);

/* A value and what it was before an update. */
enum ek_vsame { EK_VSAME_UNKNOWN, EK_VSAME_YES, EK_VSAME_NO };
struct ek_vbefore {
    yyjson_val *schema; /* of the value itself, not one of allOf, anyOf, oneOf or not */
    yyjson_val *old, *value;
    enum ek_vsame same; /* what ek_vsame__ found */
};

/* Whether the value is as before, for which an API server forgives its errors: equal, items of maps
 * in any order, all members known to the schema (equality.go:CachedDeepEqual). NULL: there is no
 * value before. */
bool ek_vsame__(struct ek_vwalk *w, struct ek_vbefore *before);

/* Whether the last step of a path is the apiVersion or the kind of the object: errors of these are
 * never forgiven (ratcheting.go:SubPropertyValidator). */
bool ek_vis_type__(const struct ek_vpath *path);

/* Fills ret with what is known of the member at path, whose value that is, from the object before,
 * whose members olds are. NULL: it was not there, or nothing of it is forgiven. before may be NULL.
 */
struct ek_vbefore *ek_vbefore_member__(struct ek_vwalk *w, const struct ek_vbefore *before,
                                       struct ek_members *olds, const struct ek_vpath *path,
                                       yyjson_val *value, struct ek_vbefore *ret);

/* A value against the schema, whatever it was before; and against those in it (allOf, anyOf, oneOf,
 * not). */
void ek_vnode_walk__(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                     struct ek_vbefore *was, const struct ek_vpath *path);
void ek_vcombined__(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                    struct ek_vbefore *was, const struct ek_vpath *path);

/* A value, which was old before (NULL: it was not there), against a schema. */
void ek_vschema__(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value, yyjson_val *old);

/* Bounds, patterns and formats of numbers and texts, and the number of items. */
void ek_vscalar__(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                  const struct ek_vpath *path);
void ek_venum__(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                const struct ek_vpath *path);

/* The number of items, or of members; value may be NULL. */
void ek_vsize__(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                const struct ek_vpath *path);

/* What identifies an item of a list, as JSON in the arena: the item, or its keys; NULL for an item
 * that is no object in a list that is a map. exact: to be compared, not shown. */
const char *ek_videntity__(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *item, bool is_map,
                           bool exact);

/* The items of a list before an update, found for those after it. Items of maps are known by their
 * keys, those of all other lists not at all
 * (apiserver/pkg/cel/common/equality.go:correlateOldValueForChildAtNewIndex). */
struct ek_volds {
    struct ek_map items;
    yyjson_val *schema;
    bool is_map;
};
void ek_volds_init__(struct ek_volds *olds, struct ek_vwalk *w, yyjson_val *schema,
                     yyjson_val *old);
void ek_volds_done__(struct ek_volds *olds);
yyjson_val *ek_volds_find__(struct ek_volds *olds, struct ek_vwalk *w, yyjson_val *item);

enum ek_vformat { EK_VFORMAT_NONE, EK_VFORMAT_GOOD, EK_VFORMAT_BAD, EK_VFORMAT_UNKNOWN };

/* Whether text has a format of strings. NONE: an API server ignores a format of that name. */
enum ek_vformat ek_vformat__(const char *format, struct ek_str text);

/* Some of the formats. */
enum ek_vformat ek_vformat_duration__(struct ek_str text);
enum ek_vformat ek_vformat_uri__(struct ek_str text);
enum ek_vformat ek_vformat_hostname__(struct ek_str text);
enum ek_vformat ek_vformat_mac__(struct ek_str text);
enum ek_vformat ek_vformat_email__(struct ek_str text);
enum ek_vformat ek_vformat_card__(struct ek_str text);
enum ek_vformat ek_vformat_rgb__(struct ek_str text);

/* A value as JSON, texts quoted as Go's %q; unknown where it is too long. In the arena. */
const char *ek_vjson__(struct ek_vwalk *w, yyjson_val *value);

/* A value as it stands in an error: as JSON, or hidden. */
const char *ek_vtext__(struct ek_vwalk *w, yyjson_val *value);

/* Checks the numbers and the selector that the scale subresource reads. is_status: those of the
 * status alone. */
void ek_vscale__(struct ek_vwalk *w, yyjson_val *object, bool is_status);

/* Checks the names and the metadata of embedded resources. */
void ek_vembedded__(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                    const struct ek_vpath *path);

/* Duplicates of lists that are sets or maps. */
void ek_vlists__(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                 const struct ek_vpath *path);

/* Compiles the rules of a node into node. */
int ek_vrules_compile__(struct ek_validator *validator, struct ek_vnode *node);
void ek_vrules_done__(struct ek_vnode *node);

/* Evaluates the rules at and below the root. old: the object before an update; NULL: a create. */
void ek_vrules__(struct ek_vwalk *w, yyjson_val *object, yyjson_val *old);

/* The value that the rules of node see: fields under their escaped names, times, durations and
 * bytes as such, numbers as doubles; where rules compare, lists of sets and maps without order.
 * What the schema does not declare is left out. Of the scratch of the walk. *ret_why: what an API
 * server sees differently, no memory or no time; NULL. */
struct ek_cel_val ek_vself__(struct ek_vwalk *w, const struct ek_vnode *node, yyjson_val *value,
                             bool is_root, const char **ret_why);

/* Whether rules can read values of the schema (apiserver pkg/cel/common/schemas.go:SchemaDeclType).
 */
bool ek_vexposed__(yyjson_val *schema);

#endif
