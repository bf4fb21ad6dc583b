/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Kubernetes object: an immutable, refcounted JSON document with its metadata at hand.
 *
 * Every object in the program is one of these, from the watch frame to the plan: parsed once,
 * shared by stores, queues and views without copying, never changed. What has to be changed is
 * built anew as a yyjson_mut_doc.
 *
 * Ownership: functions that return struct ek_obj * return one reference, released by
 * ek_obj_unref. Strings and values read out of an object are borrowed from it. References may be
 * counted from any thread; the content is read-only and so safe to share.
 */
#ifndef API_OBJ_H
#define API_OBJ_H

#include <stdbool.h>
#include <stdint.h>
#include <yyjson.h>

#include "api/err.h"
#include "api/mem.h"

struct ek_obj;

/* Nesting depth beyond which JSON input is refused (as Go's decoder does at 10,000; ours is
 * smaller because recursion over values must not exhaust a thread's stack). */
#define EK_JSON_DEPTH_MAX 256

/*
 * The memory of JSON documents. ek_json_alc is ek_alloc's: for what is sized by remote input, so
 * that lack of memory is an error, and one that the test hook reaches. ek_json_xalc aborts instead,
 * as ek_xalloc does: for what the program itself writes, where an addition that fails unseen would
 * publish half a document. Constant; any thread.
 */
extern const yyjson_alc ek_json_alc, ek_json_xalc;

/* Returns an empty document on ek_json_xalc, to be freed with yyjson_mut_doc_free. Never NULL. */
yyjson_mut_doc *ek_json_doc_new(void);

/*
 * Parses len bytes of JSON, one value, into *ret_obj. The bytes are copied. Errors: EK_E_PARSE
 * (the message names line and column), EK_E_LIMIT (depth), EK_E_NOMEM.
 */
int ek_obj_parse(const char *json, size_t len, struct ek_obj **ret_obj, struct ek_err *err);

/*
 * Returns a new object with a copy of value, or NULL without memory. Lists and watch frames are
 * split with this, so that one object does not keep its neighbours alive.
 */
struct ek_obj *ek_obj_from_val(yyjson_val *value);

/*
 * As ek_obj_from_val, but metadata.managedFields and the last-applied annotation are left out:
 * the transform that informers apply (ecosystem sheet, section 2, transformers). api_version and
 * kind (NULL: as in value) are set where value lacks them: list items come without.
 */
struct ek_obj *ek_obj_from_item(yyjson_val *value, const char *api_version, const char *kind);

/* Returns a new object with a copy of what a mutable value holds, or NULL without memory. value may
 * be NULL, which gives NULL. */
struct ek_obj *ek_obj_from_mut(yyjson_mut_val *value);

/* Adds a reference and returns obj; NULL stays NULL. */
struct ek_obj *ek_obj_ref(const struct ek_obj *obj);

/* Drops a reference, releasing the object with the last one; NULL is fine. */
void ek_obj_unref(struct ek_obj *obj);

EK_CLEANUP_PTR(ek_obj, ek_obj_unref)

/* The document's root value. */
yyjson_val *ek_obj_root(const struct ek_obj *obj);

/* Metadata, "" (or 0) where absent or of the wrong type. */
const char *ek_obj_api_version(const struct ek_obj *obj);
const char *ek_obj_kind(const struct ek_obj *obj);
const char *ek_obj_name(const struct ek_obj *obj);
const char *ek_obj_namespace(const struct ek_obj *obj);
const char *ek_obj_uid(const struct ek_obj *obj);
const char *ek_obj_resource_version(const struct ek_obj *obj);
int64_t ek_obj_generation(const struct ek_obj *obj);

/* The store key: "namespace/name", or "name" for cluster-scoped objects. */
const char *ek_obj_key(const struct ek_obj *obj);

/* A label's or annotation's value, NULL where absent or not a string. */
const char *ek_obj_label(const struct ek_obj *obj, const char *name);
const char *ek_obj_annotation(const struct ek_obj *obj, const char *name);

/* Serialises the object as compact JSON into an owned string of *ret_len bytes; NULL without
 * memory. */
char *ek_obj_to_json(const struct ek_obj *obj, size_t *ret_len);

/*
 * Walks members by name down from value: ek_json_get(v, "spec", "peers", NULL). Returns NULL as
 * soon as a member is absent or its parent is no object; value may be NULL.
 */
yyjson_val *ek_json_get(yyjson_val *value, ...) __attribute__((sentinel));

/* As ek_json_get for a string leaf, NULL when it is absent or not a string. */
const char *ek_json_str(yyjson_val *value, ...) __attribute__((sentinel));

/* True when two values are the same JSON: numbers by value, objects regardless of member order. */
bool ek_json_equal(yyjson_val *a, yyjson_val *b);

/*
 * Parses len bytes into a document that the caller frees with yyjson_doc_free, refusing input
 * that nests deeper than EK_JSON_DEPTH_MAX. Returns NULL with err set as ek_obj_parse does.
 */
yyjson_doc *ek_json_parse(const char *json, size_t len, struct ek_err *err);

#endif
