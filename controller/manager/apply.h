/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing to the cluster, in the few ways that Evenkeel does: server-side apply of an object or of
 * its status, create if absent, merge patch, and delete. Server-side apply is KEP-555.
 *
 * An apply states the full intent each time, as field manager "evenkeel" and with force: what we
 * own, we own. Nothing here retries or merges: a conflict, which can only come from a precondition,
 * is for the runner, which starts over from fresh state.
 *
 * Ownership: everything passed in is copied. An operation is alive until its callback was called or
 * it was cancelled. Threading: the loop thread; callbacks come from the loop, never from inside the
 * function that started the operation.
 */
#ifndef CONTROLLER_MANAGER_APPLY_H
#define CONTROLLER_MANAGER_APPLY_H

#include <yyjson.h>

#include "api/obj.h"
#include "informers/cache/informer.h"
#include "reconcilers/intent.h"

#define EK_FIELD_MANAGER "evenkeel"

struct ek_apply; /* one operation under way */

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

/* Patches the object, or its status, with a JSON merge patch (RFC 7386). content is as for an
 * apply; a member null removes the member. uid and resource_version of target are preconditions:
 * where they do not hold, the error is EK_E_CONFLICT. An absent object is EK_E_NOENT. */
struct ek_apply *ek_apply_patch(struct ek_client *client, const struct ek_apply_target *target,
                                yyjson_mut_val *content, ek_apply_fn on_done, void *ctx);
struct ek_apply *ek_apply_patch_status(struct ek_client *client,
                                       const struct ek_apply_target *target,
                                       yyjson_mut_val *content, ek_apply_fn on_done, void *ctx);

/* Deletes the object under the preconditions of target; content is ignored. An object that is gone
 * is fine: obj is then NULL. */
struct ek_apply *ek_apply_delete(struct ek_client *client, const struct ek_apply_target *target,
                                 yyjson_mut_val *content, ek_apply_fn on_done, void *ctx);

/* Reads the objects of target's resource, of its namespace and field_selector: obj is the list.
 * content is ignored. */
struct ek_apply *ek_apply_list(struct ek_client *client, const struct ek_apply_target *target,
                               yyjson_mut_val *content, ek_apply_fn on_done, void *ctx);

/* Ends the operation without calling back; what was sent may still be carried out. NULL is fine. */
void ek_apply_cancel(struct ek_apply *apply);

/* Says what to do when the API server refused to create an object: the manifests bring the objects
 * that Evenkeel may only change. Other errors, and 0, stay as they are. */
void ek_apply_explain(struct ek_err *err);

/* The JSON that is sent, owned (free); NULL without memory. Pure: for tests and dry runs. */
char *ek_apply_body(const struct ek_apply_target *target, yyjson_mut_val *content,
                    size_t *ret_size);

#endif
