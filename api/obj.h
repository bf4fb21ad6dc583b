/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Kubernetes object: an immutable, refcounted JSON document with its metadata at hand.
 *
 * Every object in the program is one of these, from the watch frame to the plan: parsed once,
 * shared by stores, queues and views without copying, never changed. What has to be changed is
 * built as a new yyjson_mut_doc.
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

#include "api/base/err.h"
#include "api/base/mem.h"
#include "api/base/work.h"

struct ek_obj;

/*
 * Containers within each other beyond which JSON is refused: the limit of the API server's own
 * decoders (encoding/json and sigs.k8s.io/json, scanner.go:maxNestingDepth), counted as they count,
 * so that whatever an API server takes can be judged here. Walks over values may recurse that deep:
 * api/base/stack.h gives them the stack for it.
 */
#define EK_JSON_DEPTH_MAX 10000

/* Levels that a document may have more where it carries objects: an AdmissionReview and a list
 * have two around each, a watch event one. */
#define EK_JSON_ENVELOPE_MAX 2

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
 * the transform that informers apply (client-go/tools/cache: TransformFunc). api_version and
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

/* For qsort: orders pointers to objects (struct ek_obj *) by their keys. */
int ek_obj_by_key(const void *a, const void *b);

/* A label's or annotation's value, NULL where absent or not a string. */
const char *ek_obj_label(const struct ek_obj *obj, const char *name);
const char *ek_obj_annotation(const struct ek_obj *obj, const char *name);

/*
 * Walks members by name down from value: ek_json_get(v, "spec", "peers", NULL). Returns NULL as
 * soon as a member is absent or its parent is no object; value may be NULL.
 */
yyjson_val *ek_json_get(yyjson_val *value, ...) __attribute__((sentinel));

/* As ek_json_get for a string leaf, NULL when it is absent or not a string. */
const char *ek_json_str(yyjson_val *value, ...) __attribute__((sentinel));

/* The string of a member, "" when it is absent or not a string; value may be NULL. */
const char *ek_json_text(yyjson_val *value, const char *name);

/* How encoding/json of Go names a value of that type in its errors: "number". */
const char *ek_json_kind(yyjson_type type);

/*
 * A loop over the members of a JSON object, with the arguments of yyjson_obj_foreach. The loop has
 * no round when object is NULL or not an object, where yyjson_obj_foreach steps from a null
 * pointer.
 */
#define ek_json_each_member(object, i, n, key, value)                                              \
    for ((i) = 0, (n) = yyjson_obj_size(object),                                                   \
        (key) = (n) ? unsafe_yyjson_get_first(object) : NULL, (value) = (n) ? (key) + 1 : NULL;    \
         (i) < (n); (i)++, (key) = unsafe_yyjson_get_next(value), (value) = (key) + 1)

/* True when two values are the same JSON: numbers by value, objects regardless of member order. */
bool ek_json_equal(yyjson_val *a, yyjson_val *b);

/* The same for values of any size: false also when the work (may be NULL) is over. */
bool ek_json_equal_within(yyjson_val *a, yyjson_val *b, struct ek_work *work);

/* Makes integers of the whole numbers of doc that are doubles ("1.0", "1e3"), as Go's encoding/json
 * writes a float64 below 1e21 without a point (encode.go: floatEncoder.encode); numbers that fit no
 * int64 stay doubles. In place: nothing else may read doc meanwhile. */
void ek_json_write_whole(yyjson_doc *doc);

/*
 * Parses len bytes into a document that the caller frees with yyjson_doc_free, refusing input
 * that nests deeper than EK_JSON_DEPTH_MAX. Returns NULL with err set as ek_obj_parse does.
 *
 * No object of the document has two members of one name: of those that stand twice in the text the
 * last one stays, whole and at its place, as in Go's map[string]interface{} (encoding/json,
 * decode.go:objectInterface; sigs.k8s.io/json likewise), which is how API servers read custom
 * resources, patches and params. All JSON comes in through here, so that nothing else has to decide
 * what a second name means; what the program builds itself must not add a name twice.
 */
yyjson_doc *ek_json_parse(const char *json, size_t len, struct ek_err *err);

/* As ek_json_parse, for a document that carries objects levels (at most EK_JSON_ENVELOPE_MAX) below
 * its root: these may nest as deep as if they stood alone. */
yyjson_doc *ek_json_parse_envelope(const char *json, size_t len, unsigned levels,
                                   struct ek_err *err);

/* Takes the path of a member that another one of its name replaces: "spec.list[0].name", names as
 * they are, also with dots; NULL without memory for it. Returns whether more are wanted. */
typedef bool (*ek_json_twin_fn)(void *ctx, const char *path);

/* As ek_json_parse; calls twin for each member that is left out, in the order of the text, also for
 * those below such members. Nothing is called for a text that is an error. */
yyjson_doc *ek_json_parse_twins(const char *json, size_t len, ek_json_twin_fn twin, void *ctx,
                                struct ek_err *err);

/* Bytes that a part of a scratch keeps between two documents; a larger part is released. */
#define EK_JSON_SCRATCH_MAX ((size_t)1 << 20)

/*
 * Memory for documents that are parsed one after the other, for which an allocation each would cost
 * more than the parsing. Zero is an empty scratch. One document at a time takes its memory from the
 * parts; others allocate. Not thread safe.
 */
struct ek_json_scratch {
    struct {
        void *block; /* owned; NULL: none yet */
        size_t size; /* of block */
        bool lent;   /* to a document */
    } parts[2];      /* yyjson takes two blocks: the text and the values */
};

/* As ek_json_parse, with memory of scratch, which must outlive the document and stay at its
 * address. */
yyjson_doc *ek_json_parse_scratch(struct ek_json_scratch *scratch, const char *json, size_t len,
                                  struct ek_err *err);

/* Releases the memory, after the documents; scratch holds zeros afterwards. */
void ek_json_scratch_done(struct ek_json_scratch *scratch);

#endif
