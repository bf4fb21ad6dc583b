/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intents: what a decision wants done to the cluster, as data. A plan appends intents to a list;
 * the frame (controller/manager/subject.h) carries them out in order, one at a time.
 *
 *   CREATE        creates the object; an object that exists already is left as it is
 *   APPLY         server-side apply of the object, as field manager "evenkeel" and with force
 *   APPLY_STATUS  server-side apply of the status; the object must exist
 *   PATCH         a JSON merge patch (RFC 7386) of an object that exists: for a member of an object
 *                 that another controller owns
 *   PATCH_STATUS  the same for the status
 *   DELETE        deletes the object; an object that is gone is fine
 *   LIST          reads the objects of a resource: what depends on the answer is carried out only
 *                 if the subject finds in it what it requires (controller/manager/subject.h:
 *                 ek_controller_skip)
 *   EVENT         records an Event
 *
 * An intent that depends on the write before it (ek_intents_depend) is carried out only after that
 * write succeeded: the status of an object that was just created, the Event of a status that was
 * just written. What follows a dependent write may depend on it in turn.
 *
 * The list owns all that its intents point to. A list is bounded by EK_INTENTS_MAX: a stage with
 * more to do hands over a part and is planned again when that part was answered, so that thousands
 * of documents are never in memory at once. Pure; threading: none.
 */
#ifndef RECONCILERS_INTENT_H
#define RECONCILERS_INTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/obj.h"
#include "api/resource.h"
#include "reconcilers/event.h"

/* Intents of one list at most; ek_intents_is_full reports that a stage should end its part. */
#define EK_INTENTS_MAX 512

/* A list is full, too, once its documents hold about this many bytes. */
#define EK_INTENTS_BYTES ((size_t)4 << 20)

enum ek_verb {
    EK_CREATE,
    EK_APPLY,
    EK_APPLY_STATUS,
    EK_PATCH,
    EK_PATCH_STATUS,
    EK_DELETE,
    EK_LIST,
    EK_EVENT,
    EK_VERB_MAX,
};

/* What a failed write means for the rest of the run. */
enum ek_on_failure {
    EK_GO_ON, /* the failure is the run's result, and the next intents are carried out */
    EK_STOP,  /* the run ends: neither the rest of the list nor a later stage is carried out */
};

/* Which object. Strings may be NULL or "" alike, but for name. */
struct ek_apply_target {
    const struct ek_resource *resource; /* its namespace is the object's */
    const char *name;
    const char *uid;              /* precondition: only this incarnation of the object */
    const char *resource_version; /* precondition: only if unchanged since */
};

/* Everything that an intent points to belongs to its list. */
struct ek_intent {
    enum ek_verb verb;
    struct ek_resource resource; /* of a write, as are the next three: see ek_apply_target */
    const char *name, *uid, *resource_version;
    yyjson_mut_val *content; /* of a write: a value of the list's document, without the members
                                that the target sets (controller/manager/apply.h) */
    enum ek_on_failure on_failure;
    bool depends;          /* on the success of the write before */
    int tag;               /* the subject's: what the intent is; 0 unless it was set */
    struct ek_event event; /* of EVENT. If it depends on a write, a uid or resource_version of NULL
                              becomes that of the object that the API server returned */
};

/* A list; made by ek_intents_init, released by ek_intents_done. */
struct ek_intents {
    yyjson_mut_doc *doc; /* owns contents and strings */
    struct ek_intent *items;
    size_t n, size;
    size_t bytes;          /* roughly what contents hold, as far as ek_intents_weigh was called */
    int64_t again_ms;      /* plan again after this time at the latest; 0: only after a change */
    struct ek_err failure; /* what keeps the subject from its work; code 0: nothing */
};

void ek_intents_init(struct ek_intents *intents);
void ek_intents_done(struct ek_intents *intents);
EK_CLEANUP(ek_intents, ek_intents_done)

/* The document that contents are made in. */
yyjson_mut_doc *ek_intents_doc(struct ek_intents *intents);

/*
 * Appends a write. target is copied. content is an object of the list's document, or NULL for an
 * empty one. The result may be changed (tag, on_failure) until the next intent is appended.
 */
struct ek_intent *ek_intents_create(struct ek_intents *intents,
                                    const struct ek_apply_target *target, yyjson_mut_val *content);
struct ek_intent *ek_intents_apply(struct ek_intents *intents, const struct ek_apply_target *target,
                                   yyjson_mut_val *content);

/* Appends an apply of the status; status becomes the member "status" of the content. */
struct ek_intent *ek_intents_apply_status(struct ek_intents *intents,
                                          const struct ek_apply_target *target,
                                          yyjson_mut_val *status);

/* Appends a merge patch of the object, or one {"status": ...} of its status. A precondition of the
 * target that does not hold is a conflict. */
struct ek_intent *ek_intents_patch(struct ek_intents *intents, const struct ek_apply_target *target,
                                   yyjson_mut_val *content);
struct ek_intent *ek_intents_patch_status(struct ek_intents *intents,
                                          const struct ek_apply_target *target,
                                          yyjson_mut_val *content);

/* Appends a read of the objects of resource, whose namespace and field_selector count. The answer
 * is the object of the list. */
struct ek_intent *ek_intents_list(struct ek_intents *intents, const struct ek_resource *resource);

/* Appends a deletion of exactly the object that the target's uid and resource version name. */
struct ek_intent *ek_intents_delete(struct ek_intents *intents,
                                    const struct ek_apply_target *target);

/* Appends an Event, which is copied. */
struct ek_intent *ek_intents_event(struct ek_intents *intents, const struct ek_event *event);

/* Has the intent carried out only when the write before it succeeded. Returns intent. */
struct ek_intent *ek_intents_depend(struct ek_intent *intent);

/* Counts bytes against EK_INTENTS_BYTES: about the size of a content that was appended. */
void ek_intents_weigh(struct ek_intents *intents, size_t bytes);

/* True when the stage should hand over its intents and be planned again for the rest. */
bool ek_intents_is_full(const struct ek_intents *intents);

/* Plans again after ms (> 0) at the latest; the soonest counts. */
void ek_intents_again(struct ek_intents *intents, int64_t ms);

/* Makes err (copied) the run's failure unless there is one. The intents are carried out all the
 * same. */
void ek_intents_fail(struct ek_intents *intents, const struct ek_err *err);

/* What a failed write calls for. */
enum ek_apply_class {
    EK_APPLY_DONE,     /* no error */
    EK_APPLY_CONFLICT, /* the object changed or was replaced: start over from fresh state */
    EK_APPLY_ABSENT,   /* the object (or the kind) is not there */
    EK_APPLY_LATER,    /* throttled, unreachable, server trouble: the same again later */
    EK_APPLY_DENIED,   /* not permitted: later, when somebody has changed that */
    EK_APPLY_TERMINAL, /* the API server will never accept this write */
    EK_APPLY_CLASS_MAX,
};

/* Classifies err; NULL and code 0 are EK_APPLY_DONE. */
enum ek_apply_class ek_apply_classify(const struct ek_err *err);

#endif
