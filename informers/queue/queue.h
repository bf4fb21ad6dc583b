/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work queue: keys that wait to be reconciled.
 *
 * Semantics of client-go's work queue with the priorities of controller-runtime's
 * (client-go/util/workqueue/queue.go: Typed; controller-runtime, pkg/controller/priorityqueue): a
 * key is never processed twice at once, and an event during its processing is never lost.
 *
 * Model. Of each key the queue knows whether it is dirty (wants processing), processing (handed
 * out), or waiting (wants processing later):
 *
 *   add -> dirty -> get -> processing -> done        add while processing -> dirty again, handed
 *   add_after -> waiting -> (time) -> dirty          out after done
 *
 * Higher priority first, first come first served inside a level. Adding a dirty key again only
 * raises its priority (to the end of the new level). A waiting key keeps the earlier of two times
 * and the higher of two priorities; an immediate add takes the wait's place. The promise of an add
 * is therefore: the key is handed out after the add, and by the requested time. The queue
 * does not promise a second hand-out at that time after an earlier one. A reconciler that puts work
 * off therefore answers each run with the time of the next (requeue_after), from what waits.
 *
 * The queue reads no clock: time is an argument, monotonic milliseconds of any origin. Keys are
 * copied. Threading: one thread, the loop's; workers are calls from it.
 */
#ifndef INFORMERS_QUEUE_QUEUE_H
#define INFORMERS_QUEUE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ek_queue;

#define EK_QUEUE_PRIORITY_DEFAULT 0
#define EK_QUEUE_PRIORITY_INITIAL                                                                  \
    (-100) /* objects of a first list, and events without a change                                 \
            */

struct ek_queue_config {
    int64_t retry_base_ms; /* first rate-limited delay of a key; doubles with each */
    int64_t retry_max_ms;  /* and stops here */
    /* Callbacks for histograms; either may be NULL. waited_ms: from dirty to handed out. */
    void (*on_get)(void *ctx, int priority, int64_t waited_ms);
    void (*on_done)(void *ctx, int64_t worked_ms);
    void *ctx;
};

/* client-go's numbers for a key: 5 ms, x2, at most 1000 s. There is no bucket over all keys, as in
 * controller-runtime. */
#define EK_QUEUE_CONFIG_DEFAULT                                                                    \
    ((struct ek_queue_config){.retry_base_ms = 5, .retry_max_ms = 1000000})

struct ek_queue *ek_queue_new(const struct ek_queue_config *config);
void ek_queue_free(struct ek_queue *queue);

/* Wants key processed as soon as possible. Ignored after shutdown, as are the two below. */
void ek_queue_add(struct ek_queue *queue, const char *key, int priority, int64_t now_ms);

/* Wants key processed delay_ms from now; not positive means now. */
void ek_queue_add_after(struct ek_queue *queue, const char *key, int priority, int64_t delay_ms,
                        int64_t now_ms);

/* Wants key processed after its own back-off; counts a requeue. */
void ek_queue_add_rate_limited(struct ek_queue *queue, const char *key, int priority,
                               int64_t now_ms);

/*
 * Hands out the next key, or NULL when none is ready. The key is borrowed until ek_queue_done,
 * which must follow. ret_priority (may be NULL) is for adding it again with the same.
 */
const char *ek_queue_get(struct ek_queue *queue, int64_t now_ms, int *ret_priority);

/* Ends the processing of key; what is not being processed is ignored. */
void ek_queue_done(struct ek_queue *queue, const char *key, int64_t now_ms);

/* Resets key's back-off, as after a success. */
void ek_queue_forget(struct ek_queue *queue, const char *key);

/* Milliseconds until a key will be ready: 0 when one is, -1 when none is waiting. For the loop's
 * timer, to be called after ek_queue_get returned NULL. */
int64_t ek_queue_next_ready_ms(struct ek_queue *queue, int64_t now_ms);

/* Takes no more adds and drops what waits for its time; what is ready is still handed out. */
void ek_queue_shutdown(struct ek_queue *queue);
bool ek_queue_is_shutting_down(const struct ek_queue *queue);

/* What workqueue_* metrics report. Seconds are for the exporter; this is in milliseconds. */
struct ek_queue_stats {
    size_t depth;          /* keys that are dirty */
    size_t waiting;        /* keys whose time has not come */
    size_t processing;     /* keys handed out */
    uint64_t adds;         /* times that a key became dirty */
    uint64_t retries;      /* delayed adds */
    int64_t unfinished_ms; /* sum of the times that keys have been processed for so far */
    int64_t longest_ms;    /* the longest of them */
};
void ek_queue_stats(const struct ek_queue *queue, int64_t now_ms, struct ek_queue_stats *ret_stats);

/* Calls fn once per priority that dirty keys have, highest first. */
void ek_queue_depths(const struct ek_queue *queue,
                     void (*fn)(void *ctx, int priority, size_t depth), void *ctx);

/* What the queue knows of one key; key is borrowed. A key may be dirty and processing at once. */
struct ek_queue_entry {
    const char *key;
    int priority;
    unsigned requeues; /* rate-limited adds since it was forgotten */
    bool dirty, processing, waiting;
    int64_t dirty_ms;   /* while dirty: since when */
    int64_t started_ms; /* while processing: since when */
    int64_t ready_ms;   /* while waiting: until when */
};

/* Calls fn once per key that the queue knows, in no order; it must not change the queue. */
void ek_queue_each(const struct ek_queue *queue,
                   void (*fn)(void *ctx, const struct ek_queue_entry *entry), void *ctx);

#endif
