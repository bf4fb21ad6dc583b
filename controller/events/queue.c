/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/events/queue.h"

#include <string.h>

#include "api/base/err.h"
#include "api/base/mem.h"

struct entry {
    struct ek_event_write write;
    unsigned tries;
    int64_t not_before_ms;
};

struct ek_event_queue {
    struct entry entries[EK_EVENT_QUEUE_MAX]; /* a ring */
    size_t head, n;
    bool under_way; /* the entry at head was handed out */
    bool draining;
};

struct ek_event_queue *ek_event_queue_new(void)
{
    return ek_xalloc(sizeof(struct ek_event_queue));
}

static struct entry *at(struct ek_event_queue *queue, size_t i)
{
    return &queue->entries[(queue->head + i) % EK_EVENT_QUEUE_MAX];
}

static void pop(struct ek_event_queue *queue)
{
    ek_event_write_done(&at(queue, 0)->write);
    queue->head = (queue->head + 1) % EK_EVENT_QUEUE_MAX;
    queue->n--;
}

void ek_event_queue_free(struct ek_event_queue *queue)
{
    if (!queue)
        return;
    while (queue->n)
        pop(queue);
    ek_free(queue);
}

size_t ek_event_queue_size(const struct ek_event_queue *queue)
{
    return queue->n;
}

static bool same_event(const struct ek_event_write *a, const struct ek_event_write *b)
{
    return !strcmp(a->name, b->name) && !strcmp(a->namespace, b->namespace);
}

/* A newer state of a series says all that the older one did. */
static bool merge(struct ek_event_queue *queue, struct ek_event_write *write)
{
    for (size_t i = queue->under_way ? 1 : 0; i < queue->n; i++) {
        struct ek_event_write *old = &at(queue, i)->write;
        if (old->verdict != EK_EVENT_UPDATE || !same_event(old, write))
            continue;
        ek_event_write_done(old);
        *old = *write;
        return true;
    }
    return false;
}

bool ek_event_queue_offer(struct ek_event_queue *queue, struct ek_event_write *write)
{
    bool usable = write->verdict != EK_EVENT_DROP && write->create &&
                  (write->verdict != EK_EVENT_UPDATE || write->update);
    bool merged = usable && write->verdict == EK_EVENT_UPDATE && merge(queue, write);

    if (!merged && (!usable || queue->n == EK_EVENT_QUEUE_MAX)) {
        ek_event_write_done(write);
        return false;
    }
    if (!merged)
        *at(queue, queue->n++) = (struct entry){.write = *write};
    write->create = write->update = NULL;
    return true;
}

const struct ek_event_write *ek_event_queue_next(struct ek_event_queue *queue, int64_t now_ms,
                                                 int64_t *ret_wake_ms)
{
    *ret_wake_ms = -1;
    if (queue->under_way || !queue->n)
        return NULL;
    struct entry *first = at(queue, 0);
    if (!queue->draining && now_ms < first->not_before_ms) {
        *ret_wake_ms = first->not_before_ms;
        return NULL;
    }
    queue->under_way = true;
    first->tries++;
    return &first->write;
}

bool ek_event_queue_result(struct ek_event_queue *queue, int code, int64_t retry_after_ms,
                           int64_t now_ms)
{
    struct entry *first = at(queue, 0);

    if (!queue->under_way)
        return false;
    queue->under_way = false;
    if (code == EK_E_NOENT && first->write.verdict == EK_EVENT_UPDATE) {
        first->write.verdict = EK_EVENT_CREATE;
        return false;
    }
    /* A conflict is no reason to wait here: neither write carries a resourceVersion. */
    bool again = ek_err_is_retryable(code) && code != EK_E_CONFLICT && code != EK_E_GONE;
    if (again && !queue->draining && first->tries < EK_EVENT_TRIES_MAX) {
        int64_t delay = EK_EVENT_RETRY_DELAY_MS;
        first->not_before_ms = now_ms + (retry_after_ms > delay ? retry_after_ms : delay);
        return false;
    }
    pop(queue);
    return code != 0 && code != EK_E_EXIST;
}

void ek_event_queue_drain(struct ek_event_queue *queue)
{
    queue->draining = true;
}
