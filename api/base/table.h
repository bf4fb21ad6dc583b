/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers found by hash: the items of a list, of which the caller knows what makes two the same.
 *
 *     struct ek_table_cursor at = ek_table_at(hash);
 *     while (ek_table_next(&table, &at, &i))
 *         if (<item i is the one>) ...
 *
 * finds those that were added with that hash, in the order in which they were. An item that is the
 * same as one before it is not to be added, or many of one hash would make each other slow. Hashes
 * are keyed ones (api/base/hash.h) of what somebody else has chosen. One thread at a time.
 */
#ifndef API_BASE_TABLE_H
#define API_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ek_table_slot {
    uint64_t hash;
    size_t number; /* and one; 0 in a free slot */
};

struct ek_table {
    struct ek_table_slot *slots; /* owned */
    size_t mask, n;
};

struct ek_table_cursor {
    uint64_t hash;
    size_t at;
};

/* Makes room for n numbers; more may be added. EK_E_NOMEM. */
int ek_table_init(struct ek_table *table, size_t n);
void ek_table_done(struct ek_table *table);

/* Adds a number. EK_E_NOMEM, which cannot be for the first n. */
int ek_table_add(struct ek_table *table, uint64_t hash, size_t number);

static inline struct ek_table_cursor ek_table_at(uint64_t hash)
{
    return (struct ek_table_cursor){hash, (size_t)hash};
}

/* The next number of the cursor's hash; false when there are no more. */
bool ek_table_next(const struct ek_table *table, struct ek_table_cursor *cursor,
                   size_t *ret_number);

#endif
