/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the gates of a kind make of one write: drop, freeze, warn, or deny.
 *
 * The trie of gated paths is walked from the root. A closed gate's path gets its old value back, or
 * none when there was none, and nothing below it is looked at; below an open gate the walk goes on.
 * Frozen means neither changed nor removed; what is persisted is never lost, unless its gate has
 * allowRemoval, with which a closed field may be removed, but not set or changed; what an open
 * gate's path holds is never touched. The answer depends on gates, new and old object only, since
 * API servers ask more than once for one request.
 *
 * Model: the outcome is a JSON Patch that fits the object of the request (RFC 6902, minimal), or
 * none; and warnings, one per shallowest path. Applying the decision to its own result changes
 * nothing. Where the KEP says nothing, these rules decide (rows 1', 3', 5', 7' and 7'' of
 * decide_test.c):
 *
 *   - A frozen value whose parent the request lacks, or has as null, is put back, and parents are
 *     made for it, but nothing else of them comes back.
 *   - Unless an open gate's own path is what the request lacks (or has as null or another type):
 *     that removal is allowed and takes what is frozen below it along, with a warning.
 *   - A parent that is a scalar or a list is left as it is: the schema says no to it.
 *
 * Below [*], an item of a list or a value of a map is matched with the old one that it is: values
 * of maps by their key; items of lists of type map by their keys, wherever they are; items of other
 * lists as decide_items.c says, where a write is denied rather than guessed at. An item that no old
 * one matches is new: closed fields are dropped from it. The removal of an item is allowed, and
 * takes what is frozen in it along, with a warning; an item that comes back is new.
 *
 * Texts (P a path, G a gate; both are cut in the middle when they are long):
 *
 *   field P was dropped: feature gate G is off
 *   field P was not changed: feature gate G is off
 *   field P was not removed: feature gate G is off
 *   field P was removed with its parent, although feature gate G is off
 *   field P cannot be kept in changed items: feature gate G is off                    (denials
 * only) field P is deprecated                                (or the author's
 * fieldDeprecationWarning) and N more fields are gated or deprecated field P cannot be set: feature
 * gate G is off         (denials; also "changed", "removed"; more of them follow after "; ")
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

/* What /scale has for "not persisted", in mutating webhooks only: validating ones see 0. */
#define EK_GATES_SCALE_ABSENT INT32_MIN

/* A closed gate with a path that a served version lacks: an update through that version erases the
 * stored value before any webhook is called (conversion strategy None). */
struct ek_gates_lack {
    const char *version, *gate, *path;
    bool status, scale; /* subresources that it has and the stored version lacks */
};

/* A list of type map in the storage version: keys tell its items apart. */
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
 * custom resource in the storage version, or with subresource "scale" an autoscaling/v1 Scale.
 * subresource "status" looks at .status alone, and "" leaves .status alone when shape has_status;
 * all other subresources are allowed. A scale write that cannot be frozen, because nothing is
 * persisted that could be kept, is denied; and so is a write of a list whose items cannot be
 * matched. The patch is of doc, which has none of its own contents changed; the rest lives in arena
 * or is borrowed from gates and request. work (may be NULL) bounds the time. Returns 0; EK_E_LIMIT,
 * EK_E_NOMEM or EK_E_CANCELED (the work is over) when there is no outcome: such a write is to be
 * denied, whatever the failurePolicy of its gates. Source: KEP-2608, "Implementation".
 */
int ek_gates_decide(const struct ek_gates *gates, const struct ek_gates_shape *shape,
                    const struct ek_admission_request *request, struct ek_arena *arena,
                    struct ek_work *work, yyjson_mut_doc *doc, struct ek_gates_outcome *ret_outcome,
                    struct ek_err *err);

/*
 * The backstop: request, whose object is the final one, must be what the decision would leave as it
 * is (suppression being over, nothing may be left to suppress). Allowed, or denied naming the path:
 * a later mutator has put the field back. An update through a version that lacks the path of a
 * closed gate (shape->lacks) is denied, too, whatever the update changes; only an object that is
 * being deleted may be updated so. No patch and no warnings; hits only of a denial. Returns as
 * ek_gates_decide.
 */
int ek_gates_verify(const struct ek_gates *gates, const struct ek_gates_shape *shape,
                    const struct ek_admission_request *request, struct ek_arena *arena,
                    struct ek_work *work, struct ek_gates_outcome *ret_outcome, struct ek_err *err);

#endif
