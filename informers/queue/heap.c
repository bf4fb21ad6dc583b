/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/queue/queue-internal.h"

#include "api/base/mem.h"

static void place(struct ek_queue_heap__ *heap, size_t i, struct ek_queue_item__ *item)
{
    heap->items[i] = item;
    item->heap = heap;
    item->index = i;
}

static void move_up(struct ek_queue_heap__ *heap, size_t i, struct ek_queue_item__ *item)
{
    while (i > 0 && heap->before(item, heap->items[(i - 1) / 2])) {
        place(heap, i, heap->items[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    place(heap, i, item);
}

static void move_down(struct ek_queue_heap__ *heap, size_t i, struct ek_queue_item__ *item)
{
    for (size_t child; (child = 2 * i + 1) < heap->n; i = child) {
        if (child + 1 < heap->n && heap->before(heap->items[child + 1], heap->items[child]))
            child++;
        if (!heap->before(heap->items[child], item))
            break;
        place(heap, i, heap->items[child]);
    }
    place(heap, i, item);
}

void ek_queue_heap_push__(struct ek_queue_heap__ *heap, struct ek_queue_item__ *item)
{
    if (heap->n == heap->cap) {
        heap->cap = heap->cap ? 2 * heap->cap : 16;
        heap->items = ek_xrealloc(heap->items, heap->cap, sizeof(struct ek_queue_item__ *));
    }
    move_up(heap, heap->n++, item);
}

void ek_queue_heap_fix__(struct ek_queue_item__ *item)
{
    size_t i = item->index;

    if (i > 0 && item->heap->before(item, item->heap->items[(i - 1) / 2]))
        move_up(item->heap, i, item);
    else
        move_down(item->heap, i, item);
}

void ek_queue_heap_remove__(struct ek_queue_item__ *item)
{
    struct ek_queue_heap__ *heap = item->heap;
    struct ek_queue_item__ *last = heap->items[--heap->n];

    if (last != item) {
        place(heap, item->index, last);
        ek_queue_heap_fix__(last);
    }
    item->heap = NULL;
}

void ek_queue_heap_done__(struct ek_queue_heap__ *heap)
{
    ek_free(heap->items);
}
