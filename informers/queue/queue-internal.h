/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the work queue: items, and binary heaps of them that know where each item is, so
 * that one can be moved or taken out of the middle.
 */
#ifndef INFORMERS_QUEUE_QUEUE_INTERNAL_H
#define INFORMERS_QUEUE_QUEUE_INTERNAL_H

#include "informers/queue/queue.h"

struct ek_queue_heap__;

struct ek_queue_item__ {
    char *key; /* owned */
    int priority;
    unsigned failures; /* rate-limited adds since forgotten */
    bool dirty, processing;
    struct ek_queue_heap__ *heap; /* where it is: ready, waiting, or NULL */
    size_t index;                 /* in heap */
    uint64_t seq;                 /* order of becoming dirty or waiting */
    int64_t ready_ms;             /* while waiting: when */
    int64_t dirty_ms;             /* while dirty: since when */
    int64_t started_ms;           /* while processing: since when */
};

/* True when a comes before b. */
typedef bool (*ek_queue_before_fn__)(const struct ek_queue_item__ *a,
                                     const struct ek_queue_item__ *b);

struct ek_queue_heap__ {
    struct ek_queue_item__ **items;
    size_t n, cap;
    ek_queue_before_fn__ before;
};

void ek_queue_heap_push__(struct ek_queue_heap__ *heap, struct ek_queue_item__ *item);
/* Takes item out of the heap it is in. */
void ek_queue_heap_remove__(struct ek_queue_item__ *item);
/* Moves item to its place after its order has changed. */
void ek_queue_heap_fix__(struct ek_queue_item__ *item);
void ek_queue_heap_done__(struct ek_queue_heap__ *heap);

#endif
