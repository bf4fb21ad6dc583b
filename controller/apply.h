/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing to the cluster, in the few ways that Evenkeel does: server-side apply of an object or of
 * its status, create if absent, and get (ecosystem sheet, section 1, "Writes").
 *
 * An apply states the full intent each time, as field manager "evenkeel" and with force: what we
 * own, we own. Nothing here retries or merges: a conflict, which can only come from a precondition,
 * is for the runner, which starts over from fresh state.
 *
 * Ownership: everything passed in is copied. An operation is alive until its callback was called or
 * it was cancelled. Threading: the loop thread; callbacks come from the loop, never from inside the
 * function that started the operation.
 */
#ifndef CONTROLLER_APPLY_H
#define CONTROLLER_APPLY_H

#include <yyjson.h>

#include "api/obj.h"
#include "informers/informer.h"

#define EK_FIELD_MANAGER "evenkeel"

struct ek_apply; /* one operation under way */

/* Which object. Borrowed for the call; NULL and "" are the same. */
struct ek_apply_target {
    const struct ek_resource *resource; /* its namespace is the object's */
    const char *name;
    const char *uid;              /* precondition: only this incarnation of the object */
    const char *resource_version; /* precondition: only if unchanged since */
};

/*
 * The outcome. err NULL: obj is the object as the server holds it now (NULL when a create found
 * one there already), borrowed. Otherwise obj is NULL and err says what, where and why.
 */
typedef void (*ek_apply_fn)(void *ctx, const struct ek_obj *obj, const struct ek_err *err);

/*
 * Applies content: an object value with all members of the object but apiVersion, kind and
 * metadata's name, namespace, uid and resourceVersion, which come from target. metadata may hold
 * labels and annotations. Creates the object where there is none (unless target has a uid).
 * An apply of the status has content {"status": ...} and fails with EK_E_NOENT where the object is
 * absent.
 */
struct ek_apply *ek_apply_object(struct ek_client *client, const struct ek_apply_target *target,
                                 yyjson_mut_val *content, ek_apply_fn on_done, void *ctx);
struct ek_apply *ek_apply_status(struct ek_client *client, const struct ek_apply_target *target,
                                 yyjson_mut_val *content, ek_apply_fn on_done, void *ctx);

/* Creates the object; one that exists already is fine and left as it is. Preconditions are
 * ignored. */
struct ek_apply *ek_apply_create(struct ek_client *client, const struct ek_apply_target *target,
                                 yyjson_mut_val *content, ek_apply_fn on_done, void *ctx);

/* Reads the object. Preconditions are ignored. */
struct ek_apply *ek_apply_get(struct ek_client *client, const struct ek_apply_target *target,
                              ek_apply_fn on_done, void *ctx);

/* Ends the operation without calling back; what was sent may still be carried out. NULL is fine. */
void ek_apply_cancel(struct ek_apply *apply);

/* What a failed write asks for. */
enum ek_apply_class {
    EK_APPLY_DONE,     /* no error */
    EK_APPLY_CONFLICT, /* the object changed or was replaced: start over from fresh state */
    EK_APPLY_ABSENT,   /* the object (or the kind) is not there */
    EK_APPLY_LATER,    /* throttled, unreachable, server trouble: the same again later */
    EK_APPLY_DENIED,   /* not permitted: later, when somebody has changed that */
    EK_APPLY_TERMINAL, /* the server will never take this: telling is all that is left */
    EK_APPLY_CLASS_MAX,
};

enum ek_apply_class ek_apply_classify(const struct ek_err *err);

/* The JSON that is sent, owned (free); NULL without memory. Pure: for tests and dry runs. */
char *ek_apply_body(const struct ek_apply_target *target, yyjson_mut_val *content,
                    size_t *ret_size);

#endif
