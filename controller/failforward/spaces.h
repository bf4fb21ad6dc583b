/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The namespaces with subscriptions: which must be judged again, and what the last verdict on each
 * subscription was. A namespace is judged when something in it changed, or when its time has come,
 * but not before the watches have seen what this process wrote in it.
 *
 * Threading: the loop thread.
 */
#ifndef CONTROLLER_FAILFORWARD_SPACES_H
#define CONTROLLER_FAILFORWARD_SPACES_H

#include "api/base/map.h"
#include "reconcilers/failforward/judge.h"

/* What is kept of a verdict, for metrics and debugging. */
struct ek_ff_brief {
    char *name; /* of the subscription; owned */
    enum ek_ff_mode mode;
    enum ek_ff_class class;
    enum ek_ff_blocked blocked;
    enum ek_ff_step step;
};

#define EK_FF_SPACE_ROWS 16 /* rows of the watch set, at most */

struct ek_ff_space {
    char *name;       /* owned */
    bool dirty;       /* to be judged */
    bool is_stale;    /* what was consented to may have changed since the judgement */
    bool listed;      /* in the list of the last ek_ff_spaces_list */
    bool is_large;    /* not judged: it has too many subscriptions */
    int64_t again_ms; /* to be judged at this time, milliseconds since the epoch; 0: no need */
    char *written[EK_FF_SPACE_ROWS]; /* by row: the resource version of our last write; owned */
    int64_t written_ms;              /* when */
    struct ek_ff_brief *briefs;
    size_t n_briefs;
};

struct ek_ff_spaces {
    struct ek_ff_space **items; /* in the order of names */
    size_t n;
    char *first; /* the next run begins with this namespace, or the next one; owned; NULL: with the
                    first one */
    struct ek_map sources; /* CatalogSources that changed, by "namespace/name"; the values are the
                              keys, owned */
};

/* Takes the namespaces of subscriptions (in the order of their keys). New ones are dirty, and those
 * with a subscription that names a CatalogSource of ek_ff_spaces_touch_source; what is known of
 * others is forgotten. */
void ek_ff_spaces_list(struct ek_ff_spaces *spaces, struct ek_obj *const *subscriptions, size_t n);
void ek_ff_spaces_done(struct ek_ff_spaces *spaces);

/* NULL for a namespace without subscriptions. */
struct ek_ff_space *ek_ff_spaces_find(const struct ek_ff_spaces *spaces, const char *name);

/* The index of the namespace that the run begins with; 0 without namespaces. */
size_t ek_ff_spaces_first(const struct ek_ff_spaces *spaces);

/* The next run begins with this namespace, which did not fit into the run under way. */
void ek_ff_spaces_begin_with(struct ek_ff_spaces *spaces, const struct ek_ff_space *space);

/* Has a namespace judged again; NULL: all of them. consent: what was consented to may have changed,
 * so the verdicts on the namespace are not written any more. */
void ek_ff_spaces_touch(struct ek_ff_spaces *spaces, const char *name, bool consent);

/* Has the namespaces judged again whose subscriptions name this CatalogSource ("namespace/name",
 * copied), from the next ek_ff_spaces_list on: a verdict depends on no other CatalogSource. */
void ek_ff_spaces_touch_source(struct ek_ff_spaces *spaces, const char *source);

/* True when the namespace is dirty or its time has come. */
bool ek_ff_space_is_due(const struct ek_ff_space *space, int64_t now_ms);

/* Notes that an object of a row was written at that resource version; NULL: it was seen. */
void ek_ff_space_wrote(struct ek_ff_space *space, size_t row, const char *version, int64_t now_ms);

/* Keeps the verdicts (NULL for none), and when to judge again. */
void ek_ff_space_keep(struct ek_ff_space *space, const struct ek_ff_verdict *verdicts, size_t n);

#endif
