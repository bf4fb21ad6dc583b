/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watch set: the informers of one subject, made from a table of rows.
 *
 * A row names a resource. The resource is watched from the start; or, with EK_WATCH_LATER, once
 * ek_watchset_set gives the resource (its namespace or version is known only at run time); or, with
 * EK_WATCH_FOLLOWED, object by object as ek_watchset_follow names them.
 *
 * The kind of a row with EK_WATCH_DEFINED is defined by a CustomResourceDefinition. Where the set
 * watches definitions, it also watches the metadata of this definition. An informer that waits
 * because its kind is not served tries again when the definition changes. An account that may not
 * watch the definition waits the full time; this is no problem to report.
 *
 * A change of any object, and of any informer's state, calls changed, unless the row's matters
 * refuses the change. A list that the API server forbids counts as synced, because the response
 * stays the same until somebody grants the permission; the problem is reported.
 *
 * Ownership: rows are constant and borrowed; the set owns the informers. Threading: the loop
 * thread; changed and the rows' functions are called from the loop, and never once the set is
 * closing.
 */
#ifndef CONTROLLER_MANAGER_WATCHSET_H
#define CONTROLLER_MANAGER_WATCHSET_H

#include "informers/cache/informer.h"

#define EK_WATCH_ROWS_MAX 16

enum ek_watch_flag {
    /* Nothing may be concluded from absence before the row was listed: see ret_blind below. */
    EK_WATCH_BLIND = 1,
    /* The subject itself reports that the row may not be read; the set's problem is silent. */
    EK_WATCH_QUIET = 2,
    /* Not watched before ek_watchset_set. */
    EK_WATCH_LATER = 4,
    /* Objects are watched by name: see ek_watchset_follow. */
    EK_WATCH_FOLLOWED = 8,
    /* A CustomResourceDefinition defines the kind, which is optional and not followed. */
    EK_WATCH_DEFINED = 16,
};

struct ek_watch_row {
    struct ek_resource resource;
    const char *name; /* of the informer among the subject's, for metrics; NULL: the plural */
    unsigned flags;   /* of enum ek_watch_flag */
    /* Whether a change is worth a new look; old or obj is NULL as for ek_store_handler_fn, and a
     * first listing always matters. NULL: every change. Pure. */
    bool (*matters)(const struct ek_obj *old, const struct ek_obj *obj);
    /* Called for every change before changed is; ctx is that of ek_watchset_set_seen. NULL: nobody.
     */
    ek_store_handler_fn seen;
};

/* What happened to the definition of a kind. */
enum ek_definition {
    EK_DEFINITION_PRESENT,  /* defined, or defined again */
    EK_DEFINITION_DELETING, /* being deleted: no object can be created */
    EK_DEFINITION_GONE,
};

struct ek_watchset;

/* Borrowed until the set is gone. */
struct ek_watchset_config {
    uv_loop_t *loop;
    struct ek_client *client;
    const struct ek_watch_row *rows;
    size_t n;         /* at most EK_WATCH_ROWS_MAX */
    bool definitions; /* watch those of rows with EK_WATCH_DEFINED */
    void (*changed)(void *ctx);
    /* The definition with that name has come into another state, which was PRESENT before the first
     * call; NULL: nobody wants to know. */
    void (*defined)(void *ctx, const char *name, enum ek_definition state);
    void *ctx;
};

/* Makes the informers of the rows that need no more; nothing runs before the start. */
struct ek_watchset *ek_watchset_new(const struct ek_watchset_config *config);

/* Sets the context of the rows' seen, before the start: a subject whose rows have one does so in
 * its new. */
void ek_watchset_set_seen(struct ek_watchset *set, void *ctx);

void ek_watchset_start(struct ek_watchset *set);

/* Ends the waits of informers after failures (ek_informer_hurry). Must not be called from the
 * callbacks changed and seen. */
void ek_watchset_hurry(struct ek_watchset *set);

/* Stops everything; on_closed (may be NULL) is called from the loop, after which the set is gone.
 * NULL set: on_closed is called at once. */
void ek_watchset_close(struct ek_watchset *set, void (*on_closed)(void *ctx), void *ctx);

/*
 * Watches resource (copied) as the row; NULL: the row is not watched. server ("ip:port"): the API
 * server of the requests, NULL for the configured address. An informer of the row that runs is
 * released with its store. Must not be called from the callbacks changed and seen.
 */
void ek_watchset_set(struct ek_watchset *set, size_t row, const struct ek_resource *resource,
                     const char *server);

/* Watches the objects with these n names as the row (EK_WATCH_FOLLOWED), and no others of it. Must
 * not be called from the callbacks changed and seen. */
void ek_watchset_follow(struct ek_watchset *set, size_t row, const char *const *names, size_t n);

/* True when every informer has listed, or was refused the permission. */
bool ek_watchset_is_synced(const struct ek_watchset *set);

/* The kinds that may not be read, in one line with what to do; NULL for none. Owned.
 * *ret_blind: a row of EK_WATCH_BLIND was never listed. */
char *ek_watchset_problem(const struct ek_watchset *set, bool *ret_blind);

/* The first failure that keeps a row from being listed and does not pass by itself (no connection,
 * a bad certificate, not authenticated); NULL while there is none. Borrowed. */
const char *ek_watchset_failure(const struct ek_watchset *set);

/* The store of a row; NULL while the row is not watched. Lent. */
const struct ek_store *ek_watchset_store(const struct ek_watchset *set, size_t row);

/* The object with that key (ek_obj_key) of a row, of any of its informers; NULL for none. Lent. */
const struct ek_obj *ek_watchset_get(const struct ek_watchset *set, size_t row, const char *key);

/* What a row is watched as; the row's own resource while it is not watched. Borrowed. */
const struct ek_resource *ek_watchset_resource(const struct ek_watchset *set, size_t row);

/* The state of a row's informer; all zero while the row is not watched. */
void ek_watchset_status(const struct ek_watchset *set, size_t row,
                        struct ek_informer_status *ret_status);

/* Calls fn for each informer with its name among the subject's ("configmaps", "pods-proxy",
 * "customresourcedefinitions-widgets.example.com", "controlplanes-definition"), in the order of the
 * rows. */
void ek_watchset_each(const struct ek_watchset *set,
                      void (*fn)(void *arg, const char *name, struct ek_informer *informer),
                      void *arg);

#endif
