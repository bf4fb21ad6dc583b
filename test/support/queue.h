/* SPDX-License-Identifier: Apache-2.0 */
/* What tests read off a work queue. */
#ifndef TEST_SUPPORT_QUEUE_H
#define TEST_SUPPORT_QUEUE_H

#include "informers/queue/queue.h"

/* How often key was added rate-limited since it was forgotten; 0 for a key that is not known. */
unsigned test_queue_requeues(const struct ek_queue *queue, const char *key);

#endif
