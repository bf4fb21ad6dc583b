/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/queue/queue.h"

#include <stdlib.h>

#include "api/base/map.h"
#include "api/base/mem.h"
#include "informers/queue/queue-internal.h"

struct ek_queue {
    struct ek_queue_config config;
    struct ek_map items;            /* key -> item, owned */
    struct ek_queue_heap__ ready;   /* dirty and not processing */
    struct ek_queue_heap__ waiting; /* their time has not come */
    size_t n_dirty, n_processing;
    uint64_t seq;
    uint64_t adds, retries;
    bool shutting_down;
};

static bool before_ready(const struct ek_queue_item__ *a, const struct ek_queue_item__ *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->seq < b->seq;
}

static bool before_waiting(const struct ek_queue_item__ *a, const struct ek_queue_item__ *b)
{
    return a->ready_ms != b->ready_ms ? a->ready_ms < b->ready_ms : a->seq < b->seq;
}

struct ek_queue *ek_queue_new(const struct ek_queue_config *config)
{
    struct ek_queue *queue = ek_xalloc(sizeof *queue);

    queue->config = *config;
    queue->ready.before = before_ready;
    queue->waiting.before = before_waiting;
    return queue;
}

static void item_free(struct ek_queue_item__ *item)
{
    ek_free(item->key);
    ek_free(item);
}

void ek_queue_free(struct ek_queue *queue)
{
    size_t cursor = 0;
    void *item;

    if (!queue)
        return;
    while (ek_map_next(&queue->items, &cursor, NULL, &item))
        item_free(item);
    ek_map_done(&queue->items);
    ek_queue_heap_done__(&queue->ready);
    ek_queue_heap_done__(&queue->waiting);
    ek_free(queue);
}

static struct ek_queue_item__ *item_at(struct ek_queue *queue, const char *key)
{
    struct ek_queue_item__ *item = ek_map_get(&queue->items, key);

    if (!item) {
        item = ek_xalloc(sizeof *item);
        item->key = ek_xstrdup(key);
        ek_map_put(&queue->items, item->key, item);
    }
    return item;
}

/* Forgets an item of which there is nothing to remember. */
static void drop_if_idle(struct ek_queue *queue, struct ek_queue_item__ *item)
{
    if (item->dirty || item->processing || item->heap || item->failures)
        return;
    ek_map_take(&queue->items, item->key);
    item_free(item);
}

/* A key that is dirty already: only its priority may rise, to the end of the new level. */
static void touch(struct ek_queue *queue, struct ek_queue_item__ *item, int priority)
{
    if (priority <= item->priority)
        return;
    item->priority = priority;
    item->seq = ++queue->seq;
    if (item->heap)
        ek_queue_heap_fix__(item);
}

static void make_dirty(struct ek_queue *queue, struct ek_queue_item__ *item, int64_t since_ms)
{
    item->dirty = true;
    item->dirty_ms = since_ms;
    item->seq = ++queue->seq;
    queue->n_dirty++;
    queue->adds++;
    if (!item->processing)
        ek_queue_heap_push__(&queue->ready, item);
}

/* Makes dirty whatever has waited long enough. */
static void promote(struct ek_queue *queue, int64_t now_ms)
{
    while (queue->waiting.n && queue->waiting.items[0]->ready_ms <= now_ms) {
        struct ek_queue_item__ *item = queue->waiting.items[0];
        ek_queue_heap_remove__(item);
        make_dirty(queue, item, item->ready_ms);
    }
}

static void add(struct ek_queue *queue, struct ek_queue_item__ *item, int priority, int64_t now_ms)
{
    if (item->dirty) {
        touch(queue, item, priority);
        return;
    }
    bool waits = item->heap != NULL;
    if (waits)
        ek_queue_heap_remove__(item);
    if (!waits || priority > item->priority)
        item->priority = priority;
    make_dirty(queue, item, now_ms);
}

void ek_queue_add(struct ek_queue *queue, const char *key, int priority, int64_t now_ms)
{
    if (queue->shutting_down)
        return;
    promote(queue, now_ms);
    add(queue, item_at(queue, key), priority, now_ms);
}

static void wait_until(struct ek_queue *queue, struct ek_queue_item__ *item, int priority,
                       int64_t ready_ms)
{
    if (item->dirty) {
        touch(queue, item, priority);
    } else if (!item->heap) {
        item->priority = priority;
        item->ready_ms = ready_ms;
        item->seq = ++queue->seq;
        ek_queue_heap_push__(&queue->waiting, item);
    } else {
        if (priority > item->priority)
            item->priority = priority;
        if (ready_ms < item->ready_ms)
            item->ready_ms = ready_ms;
        ek_queue_heap_fix__(item);
    }
}

void ek_queue_add_after(struct ek_queue *queue, const char *key, int priority, int64_t delay_ms,
                        int64_t now_ms)
{
    if (queue->shutting_down)
        return;
    promote(queue, now_ms);
    struct ek_queue_item__ *item = item_at(queue, key);
    if (delay_ms <= 0) {
        add(queue, item, priority, now_ms);
        return;
    }
    queue->retries++;
    wait_until(queue, item, priority, now_ms + delay_ms);
}

static int64_t item_delay(const struct ek_queue_config *config, unsigned failures)
{
    int64_t delay = config->retry_base_ms;

    for (unsigned i = 0; i < failures && delay < config->retry_max_ms; i++)
        delay *= 2;
    return delay < config->retry_max_ms ? delay : config->retry_max_ms;
}

void ek_queue_add_rate_limited(struct ek_queue *queue, const char *key, int priority,
                               int64_t now_ms)
{
    if (queue->shutting_down)
        return;
    struct ek_queue_item__ *item = item_at(queue, key);
    int64_t delay = item_delay(&queue->config, item->failures++);
    ek_queue_add_after(queue, key, priority, delay, now_ms);
}

const char *ek_queue_get(struct ek_queue *queue, int64_t now_ms, int *ret_priority)
{
    promote(queue, now_ms);
    if (!queue->ready.n)
        return NULL;
    struct ek_queue_item__ *item = queue->ready.items[0];
    ek_queue_heap_remove__(item);
    item->dirty = false;
    item->processing = true;
    item->started_ms = now_ms;
    queue->n_dirty--;
    queue->n_processing++;
    if (ret_priority)
        *ret_priority = item->priority;
    if (queue->config.on_get)
        queue->config.on_get(queue->config.ctx, item->priority, now_ms - item->dirty_ms);
    return item->key;
}

void ek_queue_done(struct ek_queue *queue, const char *key, int64_t now_ms)
{
    struct ek_queue_item__ *item = ek_map_get(&queue->items, key);

    if (!item || !item->processing)
        return;
    item->processing = false;
    queue->n_processing--;
    if (queue->config.on_done)
        queue->config.on_done(queue->config.ctx, now_ms - item->started_ms);
    if (item->dirty)
        ek_queue_heap_push__(&queue->ready, item);
    else
        drop_if_idle(queue, item);
}

void ek_queue_forget(struct ek_queue *queue, const char *key)
{
    struct ek_queue_item__ *item = ek_map_get(&queue->items, key);

    if (!item)
        return;
    item->failures = 0;
    drop_if_idle(queue, item);
}

int64_t ek_queue_next_ready_ms(struct ek_queue *queue, int64_t now_ms)
{
    promote(queue, now_ms);
    if (queue->ready.n)
        return 0;
    return queue->waiting.n ? queue->waiting.items[0]->ready_ms - now_ms : -1;
}

void ek_queue_shutdown(struct ek_queue *queue)
{
    queue->shutting_down = true;
    while (queue->waiting.n) {
        struct ek_queue_item__ *item = queue->waiting.items[queue->waiting.n - 1];
        ek_queue_heap_remove__(item);
        drop_if_idle(queue, item);
    }
}

bool ek_queue_is_shutting_down(const struct ek_queue *queue)
{
    return queue->shutting_down;
}

void ek_queue_stats(const struct ek_queue *queue, int64_t now_ms, struct ek_queue_stats *ret_stats)
{
    size_t cursor = 0;
    void *value;

    *ret_stats = (struct ek_queue_stats){
        .depth = queue->n_dirty,
        .waiting = queue->waiting.n,
        .processing = queue->n_processing,
        .adds = queue->adds,
        .retries = queue->retries,
    };
    while (queue->n_processing && ek_map_next(&queue->items, &cursor, NULL, &value)) {
        const struct ek_queue_item__ *item = value;
        if (!item->processing)
            continue;
        int64_t worked = now_ms - item->started_ms;
        ret_stats->unfinished_ms += worked;
        if (worked > ret_stats->longest_ms)
            ret_stats->longest_ms = worked;
    }
}

static int descending(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x < y) - (x > y);
}

void ek_queue_depths(const struct ek_queue *queue,
                     void (*fn)(void *ctx, int priority, size_t depth), void *ctx)
{
    EK_AUTOFREE int *priorities = ek_xrealloc(NULL, queue->n_dirty, sizeof *priorities);
    size_t cursor = 0, n = 0;
    void *value;

    while (ek_map_next(&queue->items, &cursor, NULL, &value)) {
        const struct ek_queue_item__ *item = value;
        if (item->dirty)
            priorities[n++] = item->priority;
    }
    qsort(priorities, n, sizeof *priorities, descending);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && priorities[to] == priorities[from];)
            to++;
        fn(ctx, priorities[from], to - from);
    }
}

void ek_queue_each(const struct ek_queue *queue,
                   void (*fn)(void *ctx, const struct ek_queue_entry *entry), void *ctx)
{
    size_t cursor = 0;
    void *value;

    while (ek_map_next(&queue->items, &cursor, NULL, &value)) {
        const struct ek_queue_item__ *item = value;
        fn(ctx, &(struct ek_queue_entry){.key = item->key,
                                         .priority = item->priority,
                                         .requeues = item->failures,
                                         .dirty = item->dirty,
                                         .processing = item->processing,
                                         .waiting = item->heap == &queue->waiting,
                                         .dirty_ms = item->dirty_ms,
                                         .started_ms = item->started_ms,
                                         .ready_ms = item->ready_ms});
    }
}
