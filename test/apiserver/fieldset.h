/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of fields, as metadata.managedFields holds them (FieldsV1), and what can be done with them.
 *
 * A set is a tree: a node stands for a field ("f:spec"), an item of a keyed list
 * ("k:{\"type\":\"Ready\"}") or an item of a set list ("v:\"x\""), and may itself be a member, have
 * children, or both. A callback returns the shape of a list, because only the kind's schema
 * knows it; lists that it does not name are atomic, objects are granular. The rules are those of
 * structured-merge-diff as the API server uses it; only what Kubernetes objects need is here.
 *
 * The maker of a set owns it (ek_fieldset_free). Pure, not thread safe.
 */
#ifndef TEST_APISERVER_FIELDSET_H
#define TEST_APISERVER_FIELDSET_H

#include <stdbool.h>
#include <yyjson.h>

#include "api/base/buf.h"

#define EK_LIST_KEYS_MAX 4

/* How the value of a field merges. */
enum ek_merge_shape {
    EK_MERGE_GRANULAR, /* an object, member by member */
    EK_MERGE_ATOMIC,   /* as a whole */
    EK_MERGE_MAP,      /* a list of objects identified by keys */
    EK_MERGE_SET,      /* a list of distinct scalars */
};

struct ek_list_shape {
    enum ek_merge_shape shape;
    const char *keys[EK_LIST_KEYS_MAX];     /* of EK_MERGE_MAP, NULL-terminated unless full */
    const char *defaults[EK_LIST_KEYS_MAX]; /* a string for a key that an item lacks, or NULL */
};

/* A place in a kind's schema; what it points to belongs to the resolver. */
struct ek_schema_at {
    const struct ek_shapes *shapes;
    yyjson_val *schema; /* OpenAPI schema of this value; NULL: not known */
    const char *field;  /* the nearest member name, "" at the root */
    const char *parent; /* the member name above it */
};

/* Where shapes come from: a custom resource's schema, or the table of the built-in kinds. */
struct ek_shapes {
    yyjson_val *schema; /* openAPIV3Schema; NULL: built-in, by the names of its fields */
};

struct ek_schema_at ek_schema_root(const struct ek_shapes *shapes);
struct ek_schema_at ek_schema_at_member(struct ek_schema_at at, const char *name);
struct ek_schema_at ek_schema_item(struct ek_schema_at at);
/* How a value at a place merges. */
struct ek_list_shape ek_schema_shape(struct ek_schema_at at, yyjson_mut_val *value);

struct ek_fieldset;

struct ek_fieldset *ek_fieldset_new(void);
void ek_fieldset_free(struct ek_fieldset *set);
struct ek_fieldset *ek_fieldset_dup(const struct ek_fieldset *set);
bool ek_fieldset_is_empty(const struct ek_fieldset *set);
bool ek_fieldset_equal(const struct ek_fieldset *a, const struct ek_fieldset *b);

/* Reads FieldsV1; what is malformed is left out. */
struct ek_fieldset *ek_fieldset_decode(yyjson_mut_val *fields);
/* Writes FieldsV1 as a value of doc. */
yyjson_mut_val *ek_fieldset_encode(const struct ek_fieldset *set, yyjson_mut_doc *doc);

/* The set of all fields of an object, as a manager that sent it would own them. */
struct ek_fieldset *ek_fieldset_of(yyjson_mut_val *object, const struct ek_shapes *shapes);

/* What differs from before to after: fields added or changed, and fields removed (both owned, both
 * by address). Either object may be NULL. */
void ek_fieldset_compare(yyjson_mut_val *before, yyjson_mut_val *after,
                         const struct ek_shapes *shapes, struct ek_fieldset **ret_changed,
                         struct ek_fieldset **ret_removed);

/* a changes, b does not. */
void ek_fieldset_add(struct ek_fieldset *a, const struct ek_fieldset *b);
void ek_fieldset_subtract(struct ek_fieldset *a, const struct ek_fieldset *b);
/* As subtract, but also drops from a all that lies below a member of b. */
void ek_fieldset_subtract_deep(struct ek_fieldset *a, const struct ek_fieldset *b);
/* Keeps of a what is in b too. */
void ek_fieldset_intersect(struct ek_fieldset *a, const struct ek_fieldset *b);

/* Takes away what no manager owns: kind, apiVersion, and names, uid, resourceVersion and the like
 * in metadata. */
void ek_fieldset_strip_system(struct ek_fieldset *set);

/* Takes the child of the root with that FieldsV1 name ("f:status"), with all below it, out. */
void ek_fieldset_drop(struct ek_fieldset *set, const char *name);

/* Removes from object what set contains and keep does not. */
void ek_fieldset_remove_from(yyjson_mut_val *object, const struct ek_fieldset *set,
                             const struct ek_fieldset *keep, const struct ek_shapes *shapes);

/* Calls fn with the path of each member in order, in the form of conflict messages
 * (".spec.x[type=\"Ready\"].status"). */
void ek_fieldset_each(const struct ek_fieldset *set, void (*fn)(void *ctx, const char *path),
                      void *ctx);

/* The FieldsV1 name of a list item ("k:{...}" or "v:..."), appended to out. */
void ek_fieldset_item_name(struct ek_buf *out, yyjson_mut_val *item,
                           const struct ek_list_shape *shape);

/* Merges patch into live as server-side apply does: granular objects member by member, keyed lists
 * item by item, the rest replaced. Returns the value to put in live's place, in doc. */
yyjson_mut_val *ek_merge_values(yyjson_mut_doc *doc, yyjson_mut_val *live, yyjson_mut_val *patch,
                                struct ek_schema_at at);

#endif
