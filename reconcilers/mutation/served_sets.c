/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/served_sets.h"

#include <string.h>

#include "api/base/mem.h"

static struct ek_served_set *add(struct ek_served_set *list, size_t *n,
                                 const struct ek_served_set *set)
{
    list = ek_xrealloc(list, *n + 1, sizeof *list);
    list[(*n)++] = *set;
    return list;
}

static bool has_entry(const struct ek_registration *registration, const char *name)
{
    for (size_t i = 0; i < registration->n_entries; i++)
        if (!strcmp(registration->entries[i].name, name))
            return true;
    return false;
}

size_t ek_served_sets(const struct ek_mutation_state *state, struct ek_served_set **ret)
{
    struct ek_served_set *list = NULL;
    const char *name;
    size_t n = 0;

    for (int kind = 0; kind < EK_REGISTRATION_KINDS; kind++) {
        const struct ek_registration *r = &state->registrations[kind];
        for (size_t i = 0; i < r->n_entries; i++)
            list = add(list, &n,
                       &(struct ek_served_set){.name = r->entries[i].name,
                                               .bound = r->entries[i].bound,
                                               .n_bound = r->entries[i].n_bound});
        for (size_t i = 0; (name = ek_registration_name(kind, i)); i++)
            if (!has_entry(r, name))
                list = add(list, &n, &(struct ek_served_set){.name = name});
    }
    *ret = add(list, &n, &(struct ek_served_set){.name = "", .all = true});
    return n;
}
