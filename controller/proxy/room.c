/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/proxy/room.h"

#include <stdlib.h>

#include "api/base/mem.h"

/* The connections of a client, those that have stood still the longest first. */
struct group {
    size_t next, end; /* in the table; those before next are chosen */
    size_t octets;    /* of those that are not */
};

static int by_client_and_time(const void *a, const void *b)
{
    const struct ek_room_candidate *x = a, *y = b;

    if (x->client != y->client)
        return (uintptr_t)x->client < (uintptr_t)y->client ? -1 : 1;
    if (x->moved_ms != y->moved_ms)
        return x->moved_ms < y->moved_ms ? -1 : 1;
    return x->octets == y->octets ? 0 : x->octets > y->octets ? -1 : 1;
}

static size_t make_groups(const struct ek_room_candidate *candidates, size_t n,
                          struct group *groups)
{
    size_t n_groups = 0;

    for (size_t i = 0; i < n; i++) {
        if (i == 0 || candidates[i].client != candidates[i - 1].client)
            groups[n_groups++] = (struct group){.next = i};
        groups[n_groups - 1].end = i + 1;
        groups[n_groups - 1].octets += candidates[i].octets;
    }
    return n_groups;
}

/* The client with the most octets that has a connection that moved last before that time; NULL for
 * none. */
static struct group *largest(struct group *groups, size_t n,
                             const struct ek_room_candidate *candidates, int64_t before_ms)
{
    struct group *found = NULL;

    for (size_t i = 0; i < n; i++)
        if (groups[i].next < groups[i].end && candidates[groups[i].next].moved_ms <= before_ms &&
            (!found || groups[i].octets > found->octets))
            found = &groups[i];
    return found;
}

size_t ek_room_choose(struct ek_room_candidate *candidates, size_t n, size_t excess, int64_t now_ms)
{
    EK_AUTOFREE struct group *groups = ek_xalloc((n + 1) * sizeof *groups);
    size_t got = 0;

    qsort(candidates, n, sizeof *candidates, by_client_and_time);
    size_t n_groups = make_groups(candidates, n, groups);
    for (int pass = 0; pass < 2; pass++) {
        int64_t before_ms = pass == 0 ? now_ms - EK_ROOM_STILL_MS : INT64_MAX;
        struct group *group;
        while (got < excess && (group = largest(groups, n_groups, candidates, before_ms))) {
            struct ek_room_candidate *candidate = &candidates[group->next++];
            candidate->chosen = true;
            group->octets -= candidate->octets;
            got += candidate->octets;
        }
    }
    return got;
}
