/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of a cluster for a command, page by page. Threading: one thread; blocks until the end. */
#ifndef CONTROLLER_COMMANDS_PAGES_H
#define CONTROLLER_COMMANDS_PAGES_H

#include "controller/commands/wait.h"

/* A list; borrowed. */
struct ek_pages {
    const char *group, *version, *resource; /* group "" is core */
    const char *accept;                     /* NULL: application/json */
    int page, max;                          /* objects of a page; pages at most */
};

/* Calls item for each object of the list, as the pages arrive; the object is good for the call.
 * Errors (in wait->err, item may have been called): as ek_wait_send; EK_E_LIMIT for a list with
 * more pages. */
int ek_pages_read(struct ek_wait *wait, const struct ek_pages *list,
                  void (*item)(void *ctx, yyjson_val *object), void *ctx);

#endif
