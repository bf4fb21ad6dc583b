/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/tally.h"

#include <string.h>

void ek_tally_init(struct ek_tally *tally, struct ek_arena *arena, size_t max)
{
    *tally = (struct ek_tally){.arena = arena, .cap = max, .n_slots = 16};
    while (tally->n_slots < max * 2)
        tally->n_slots *= 2;
    tally->slots = ek_arena_alloc(arena, tally->n_slots * sizeof *tally->slots);
    tally->entries = ek_arena_alloc(arena, (max + 1) * sizeof *tally->entries);
}

/* FNV-1a, 64 bit. */
static uint64_t hash_of(const char *key)
{
    uint64_t hash = 0xcbf29ce484222325;

    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * 0x100000001b3;
    return hash;
}

static struct ek_tally_entry *entry_of(struct ek_tally *tally, const char *key)
{
    uint64_t hash = hash_of(key);
    size_t slot = (hash ^ hash >> 32) & (tally->n_slots - 1);

    for (; tally->slots[slot]; slot = (slot + 1) & (tally->n_slots - 1)) {
        struct ek_tally_entry *entry = &tally->entries[tally->slots[slot] - 1];
        if (entry->hash == hash && !strcmp(entry->key, key))
            return entry;
    }
    if (tally->n == tally->cap)
        return NULL;
    struct ek_tally_entry *entry = &tally->entries[tally->n++];
    *entry = (struct ek_tally_entry){.key = key, .hash = hash};
    entry->names = ek_arena_alloc(tally->arena, EK_TALLY_NAMES * sizeof *entry->names);
    tally->slots[slot] = (uint32_t)tally->n;
    return entry;
}

/* Keeps the first names in name order, whatever order they come in. */
static void keep_name(struct ek_tally_entry *entry, const char *name)
{
    size_t at = entry->n_names;

    while (at > 0 && strcmp(name, entry->names[at - 1]) < 0)
        at--;
    if (at == EK_TALLY_NAMES)
        return;
    size_t last = entry->n_names < EK_TALLY_NAMES ? entry->n_names++ : EK_TALLY_NAMES - 1;
    memmove(&entry->names[at + 1], &entry->names[at], (last - at) * sizeof *entry->names);
    entry->names[at] = name;
}

void ek_tally_add(struct ek_tally *tally, const char *key, const char *name)
{
    struct ek_tally_entry *entry = entry_of(tally, key);

    if (!entry)
        return;
    entry->count++;
    keep_name(entry, name);
}

void ek_tally_fold(struct ek_tally *into, const char *key, const struct ek_tally_entry *from)
{
    struct ek_tally_entry *entry = entry_of(into, key);

    if (!entry)
        return;
    entry->count += from->count;
    for (size_t i = 0; i < from->n_names; i++)
        keep_name(entry, from->names[i]);
}
