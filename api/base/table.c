/* SPDX-License-Identifier: Apache-2.0 */
#include "api/base/table.h"

#include "api/base/err.h"
#include "api/base/mem.h"

int ek_table_init(struct ek_table *table, size_t n)
{
    size_t cap = 16;

    while (cap < 2 * n)
        cap *= 2;
    *table = (struct ek_table){.slots = ek_alloc(cap * sizeof *table->slots), .mask = cap - 1};
    return table->slots ? 0 : EK_E_NOMEM;
}

void ek_table_done(struct ek_table *table)
{
    ek_free(table->slots);
    *table = (struct ek_table){0};
}

static void put(struct ek_table *table, struct ek_table_slot slot)
{
    size_t at = (size_t)slot.hash & table->mask;

    while (table->slots[at].number)
        at = (at + 1) & table->mask;
    table->slots[at] = slot;
    table->n++;
}

/* In the order of the slots; those of one hash begin behind a free slot, or the first one here. */
static int grow(struct ek_table *table)
{
    struct ek_table more;
    size_t start = 0;

    if (ek_table_init(&more, 2 * (table->mask + 1)))
        return EK_E_NOMEM;
    while (table->slots[start].number)
        start++;
    for (size_t i = 1; i <= table->mask; i++) {
        struct ek_table_slot slot = table->slots[(start + i) & table->mask];
        if (slot.number)
            put(&more, slot);
    }
    ek_table_done(table);
    *table = more;
    return 0;
}

int ek_table_add(struct ek_table *table, uint64_t hash, size_t number)
{
    if (4 * (table->n + 1) > 3 * (table->mask + 1) && grow(table))
        return EK_E_NOMEM;
    put(table, (struct ek_table_slot){hash, number + 1});
    return 0;
}

bool ek_table_next(const struct ek_table *table, struct ek_table_cursor *cursor, size_t *ret_number)
{
    for (;;) {
        const struct ek_table_slot *slot = &table->slots[cursor->at & table->mask];
        if (!slot->number)
            return false;
        cursor->at++;
        if (slot->hash == cursor->hash) {
            *ret_number = slot->number - 1;
            return true;
        }
    }
}
