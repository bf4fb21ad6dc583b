/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The storage of the test API server: many resources, one revision, a bounded past.
 *
 * What etcd and the watch cache are to a real API server, as far as a client observes: every write
 * takes the next number of one counter (the resourceVersion), every key keeps its revisions as long
 * as the window of its resource reaches back, and the changes of a resource are a log that
 * watches read at their own pace. It knows nothing of HTTP, JSON or kinds: values are bytes.
 *
 * Model: per resource a skip list of nodes in byte order of their keys (as etcd orders them), per
 * node a chain of revisions, newest first, and a ring of events. When an event leaves the ring,
 * its revision becomes the oldest one that can still be read ("compacted"): a list at an older one
 * and a watch from an older one gets the error that it is gone.
 *
 * Ownership: the store holds one reference to every value that it can still serve; getters lend.
 * Threading: none. Nothing here reads a clock or does I/O.
 */
#ifndef TEST_APISERVER_MVCC_H
#define TEST_APISERVER_MVCC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An immutable value: the bytes of an object at one revision, without kind and apiVersion. */
struct ek_mvcc_value {
    unsigned refs;
    uint64_t rv;   /* of the write that made it */
    size_t len;    /* bytes of json */
    size_t rv_off; /* where the digits of its resourceVersion begin; 0: not known */
    void *labels;  /* owned yyjson_doc of its labels, made on first use; NULL before */
    char json[];   /* NUL-terminated */
};

/* Makes a value with one reference from len bytes; finds the resourceVersion in it. */
struct ek_mvcc_value *ek_mvcc_value_new(const char *json, size_t len, uint64_t rv);
struct ek_mvcc_value *ek_mvcc_value_ref(struct ek_mvcc_value *value);
/* Drops a reference; NULL is fine. */
void ek_mvcc_value_unref(struct ek_mvcc_value *value);

enum ek_mvcc_event_type { EK_MVCC_ADDED, EK_MVCC_MODIFIED, EK_MVCC_DELETED };

/* One change; borrowed from the log, valid until the next write to the resource. */
struct ek_mvcc_event {
    enum ek_mvcc_event_type type;
    uint64_t rv;
    const char *key;
    struct ek_mvcc_value *value; /* the new state; for DELETED the last one, with the RV of the
                                    deletion */
    struct ek_mvcc_value *prev;  /* the state before, NULL for ADDED */
};

struct ek_mvcc;

/* Returns an owned store whose resources remember their last window changes (at least 1), counting
 * revisions from 1. */
struct ek_mvcc *ek_mvcc_new(size_t window);
void ek_mvcc_free(struct ek_mvcc *store);

/* Adds an empty resource and returns its number, counted from 0. */
int ek_mvcc_add_resource(struct ek_mvcc *store);

/* Calls fn with the number of a resource after each change of it; NULL switches it off. fn must
 * not write. */
void ek_mvcc_on_change(struct ek_mvcc *store, void (*fn)(void *ctx, int resource), void *ctx);

/* The last revision given out; the next write takes this plus one. */
uint64_t ek_mvcc_rv(const struct ek_mvcc *store);

/* Moves the counter forward to rv, if that is ahead; for tests that continue a recording. */
void ek_mvcc_set_rv(struct ek_mvcc *store, uint64_t rv);

/* The state of key now, NULL when there is none. */
struct ek_mvcc_value *ek_mvcc_get(const struct ek_mvcc *store, int resource, const char *key);

/* Stores value (taken) under key, whose rv must be ek_mvcc_rv + 1. */
void ek_mvcc_put(struct ek_mvcc *store, int resource, const char *key, struct ek_mvcc_value *value);

/* Removes key; value (taken) is what watches are shown, its rv must be ek_mvcc_rv + 1. Returns
 * false, releasing value, when there is no such key. */
bool ek_mvcc_delete(struct ek_mvcc *store, int resource, const char *key,
                    struct ek_mvcc_value *value);

/* How many keys exist now. */
size_t ek_mvcc_count(const struct ek_mvcc *store, int resource);

/* The oldest revision at which resource can be listed, and from which it can be watched. */
uint64_t ek_mvcc_compacted(const struct ek_mvcc *store, int resource);

/* Forgets what happened up to rv in one resource, or in all (-1). */
void ek_mvcc_compact(struct ek_mvcc *store, int resource, uint64_t rv);

/* A walk over the keys from a given one, in order, as they were at one revision. */
struct ek_mvcc_iter {
    const struct ek_mvcc *store;
    int resource;
    uint64_t rv;
    void *node; /* the next to look at */
};

/* Starts a walk at the first key >= from ("" for all) as of rv, which must not be below the
 * compacted revision. A walk ends with the next write. */
void ek_mvcc_seek(const struct ek_mvcc *store, int resource, const char *from, uint64_t rv,
                  struct ek_mvcc_iter *ret_iter);

/* The next value and its key (both lent), or NULL at the end. */
struct ek_mvcc_value *ek_mvcc_next(struct ek_mvcc_iter *iter, const char **ret_key);

/* The log: events have positions that only grow. The one at first is the oldest kept, end is where
 * the next one will go. */
uint64_t ek_mvcc_log_first(const struct ek_mvcc *store, int resource);
uint64_t ek_mvcc_log_end(const struct ek_mvcc *store, int resource);

/* The position of the first kept event whose revision is above rv. */
uint64_t ek_mvcc_log_after(const struct ek_mvcc *store, int resource, uint64_t rv);

/* The event at a position in [first, end). */
const struct ek_mvcc_event *ek_mvcc_log_at(const struct ek_mvcc *store, int resource,
                                           uint64_t position);

#endif
