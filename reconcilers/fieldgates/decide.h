/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The effect of the gates of a kind on one write: drop, freeze, warn, or deny.
 *
 * The trie of gated paths is walked from the root. A path whose gate is off gets its old value
 * back, or is dropped if there was no old value, and the walk does not go below the path; below a
 * gate that is on, the walk goes on. A frozen field is neither changed nor removed. With
 * allowRemoval, a field whose gate is off may be removed, but not set or changed. A field whose
 * gate is on is never changed. The outcome depends only on the gates and on the new and the old
 * object, since API servers can send a request more than once.
 *
 * Model: the outcome is a JSON Patch of the object of the request (RFC 6902, minimal), or none; and
 * one warning for each path, except for paths below another one with a warning. A second
 * decision, about the result of the first, has no patch. Where the KEP has no rule, these
 * rules apply (rows 1', 3', 5', 7' and 7'' of decide_test.c):
 *
 *   - A frozen value whose parent is absent or null in the request is put back. The parents are
 *     created, without their other members.
 *   - Exception: if the request lacks the path of a gate that is on (or has null or another type
 *     there), the removal is allowed, and removes frozen fields below the path, with a warning.
 *   - A parent that is a scalar or a list is not changed: the schema does not allow it.
 *
 * Below [*], items of lists and values of maps are matched with the old ones: values of maps by
 * their key, items of lists of type map by their keys, at any place, and items of other lists as
 * decide_items.c describes; a write whose items cannot be matched is denied. An item without an old
 * one is new: fields whose gates are off are dropped. The removal of an item is allowed, and
 * removes frozen fields of the item, with a warning. An item that is added again is new.
 *
 * Warnings (P a path, G a gate; both are cut in the middle when they are long):
 *
 *   - field P was dropped: feature gate G is off
 *   - field P was not changed: feature gate G is off
 *   - field P was not removed: feature gate G is off
 *   - field P was removed with its parent, although feature gate G is off
 *   - field P is deprecated (or fieldDeprecationWarning of the gate)
 *   - and N more fields are gated or deprecated
 *
 * Denials, joined by "; ":
 *
 *   - field P cannot be kept in changed items: feature gate G is off
 *   - field P cannot be set: feature gate G is off (also "changed", "removed")
 *
 * Pure; any thread, with its own arena and document.
 * Source: KEP-2608, "Implementation"; README.md beside this file.
 */
#ifndef RECONCILERS_FIELDGATES_DECIDE_H
#define RECONCILERS_FIELDGATES_DECIDE_H

#include "api/admission.h"
#include "api/base/work.h"
#include "reconcilers/fieldgates/gates.h"

/* The API server drops more or longer warnings (apiserver/pkg/endpoints/filters/warning.go:
 * AddWarning). */
#define EK_GATES_WARNINGS_MAX     20   /* then one more, "and N more ..." */
#define EK_GATES_WARNING_TEXT_MAX 120  /* octets of our own; an author's text may have more */
#define EK_GATES_WARNINGS_SIZE    3584 /* octets of all together */
#define EK_GATES_DENIED_MAX       5    /* fields that a denial names, then "and N more" */

/* Value of /scale for a field that is not persisted, in mutating webhooks; validating webhooks get
 * 0. */
#define EK_GATES_SCALE_ABSENT INT32_MIN

/* A closed gate with a path that a served version lacks: an update through that version erases the
 * stored value before any webhook is called (conversion strategy None). */
struct ek_gates_lack {
    const char *version, *gate, *path;
    bool status, scale; /* subresources that it has and the stored version lacks */
};

/* A list of type map in the storage version; keys identify its items. */
struct ek_gates_keyed_list {
    const char *each; /* path of its items, as of ek_gate_node: ".spec.ports[*]" */
    const char *const *keys;
    size_t n_keys;
};

/* The properties of the CRD that a decision depends on, besides the gates. */
struct ek_gates_shape {
    bool has_status;                      /* subresource status: its side is written apart */
    const struct ek_field_path *replicas; /* specReplicasPath of /scale; NULL without */
    const struct ek_gates_lack *lacks;    /* the first path of each version and gate */
    size_t n_lacks;
    const struct ek_gates_keyed_list *lists; /* on the way of a path; other lists are atomic */
    size_t n_lists;
};

/* A path at which a write was suppressed, or a deprecated field was used. Where deprecated paths
 * lie below one another, all are hits, and only the shallowest has the warning. */
struct ek_gates_hit {
    const struct ek_gate *gate;
    const struct ek_field_path *path;
    bool deprecated; /* used, and stored; otherwise suppressed (or the reason of the denial) */
};

struct ek_gates_outcome {
    bool allowed;
    int code;           /* of a denial: 422, or 403 with Reject */
    const char *reason; /* "Invalid", "Forbidden" */
    const char *message;
    yyjson_mut_val *patch; /* array of operations, a value of doc; NULL when nothing is to change */
    const char *const *warnings;
    size_t n_warnings;
    const struct ek_gates_hit *hits; /* for counts: all of them, also those without a warning */
    size_t n_hits;
};

/*
 * Decides request (CREATE or UPDATE; other operations are allowed as they are). Its object is the
 * custom resource in the storage version, or with subresource "scale" an autoscaling/v1 Scale. For
 * subresource "status" only .status is gated; for "" .status is not gated if shape has_status; all
 * other subresources are allowed. A write of /scale without a persisted value to freeze is denied,
 * and so is a write of a list whose items cannot be matched. The patch is a value of doc, whose
 * other content does not change; the rest is in arena or borrowed from gates and request. work (may
 * be NULL) limits the time. Returns 0; EK_E_LIMIT, EK_E_NOMEM or EK_E_CANCELED (the time is over)
 * without an outcome: the caller denies the write, whatever the failurePolicy of the gates. Source:
 * KEP-2608, "Implementation".
 */
int ek_gates_decide(const struct ek_gates *gates, const struct ek_gates_shape *shape,
                    const struct ek_admission_request *request, struct ek_arena *arena,
                    struct ek_work *work, yyjson_mut_doc *doc, struct ek_gates_outcome *ret_outcome,
                    struct ek_err *err);

/*
 * The check of the final object of request, after all mutators: a write that ek_gates_decide would
 * change is denied with the path, because a later mutator has put the field back. An update through
 * a version that lacks the path of a gate that is off (shape->lacks) is denied, too, whatever the
 * update changes, except for an object that is being deleted. The outcome has no patch and no
 * warnings, and hits only with a denial. Returns as ek_gates_decide.
 */
int ek_gates_verify(const struct ek_gates *gates, const struct ek_gates_shape *shape,
                    const struct ek_admission_request *request, struct ek_arena *arena,
                    struct ek_work *work, struct ek_gates_outcome *ret_outcome, struct ek_err *err);

#endif
