/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/queue.h"

#include <string.h>

struct asked {
    const char *key;
    unsigned requeues;
};

static void compare(void *ctx, const struct ek_queue_entry *entry)
{
    struct asked *asked = ctx;

    if (!strcmp(entry->key, asked->key))
        asked->requeues = entry->requeues;
}

unsigned test_queue_requeues(const struct ek_queue *queue, const char *key)
{
    struct asked asked = {.key = key};

    ek_queue_each(queue, compare, &asked);
    return asked.requeues;
}
