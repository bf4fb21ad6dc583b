/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding members of an object by name, and items of an array by place, many of them, in time that
 * grows with their number alone.
 *
 * Lookups of the names of one object in another mostly follow one order: the member behind the
 * last one found is compared first. Small objects are searched from their start; for
 * larger ones an index is made when it is first needed, by the keyed hash, so that no choice of
 * names makes it slow. Without memory for the index the search is linear, and counted as such.
 *
 * The object may be immutable or mutable; it must not change while it is searched, but for members
 * that are added at its end and not searched for, and values that are set in their place. Of a name
 * that stands twice any may be found, unless the search is strict. Each search counts as steps of
 * the work (api/base/work.h).
 */
#ifndef API_MEMBERS_H
#define API_MEMBERS_H

#include <yyjson.h>

#include "api/base/buf.h"
#include "api/base/work.h"

/* Objects of so many members are searched without an index. */
#define EK_MEMBERS_SMALL 16u

struct ek_members {
    void *object; /* yyjson_val or yyjson_mut_val; borrowed */
    bool is_mutable;
    bool strict; /* set by the caller after init: of a name that stands twice the first is found */
    size_t n;
    void *first, *next; /* keys: of the first member, and behind the last one found */
    void *end;          /* behind the last member; NULL in mutable objects, which are rings */
    void **slots;       /* owned; keys, NULL in free ones. NULL: there is no index */
    size_t mask;
    bool failed; /* there is no memory for an index */
    struct ek_work *work;
};

/* What is no object, NULL too, has no members. work may be NULL. */
void ek_members_init(struct ek_members *members, yyjson_val *object, struct ek_work *work);
void ek_members_init_mut(struct ek_members *members, yyjson_mut_val *object, struct ek_work *work);
void ek_members_done(struct ek_members *members);

/* The value of the member of that name, NULL when there is none. */
yyjson_val *ek_members_find(struct ek_members *members, struct ek_str name);
yyjson_mut_val *ek_members_find_mut(struct ek_members *members, struct ek_str name);

/* The items of an array, for access by place: owned, released by ek_free; no array: none, not NULL.
 * Ends the process without memory, as ek_xalloc does. Any thread. */
yyjson_val **ek_array_items(yyjson_val *array);

#endif
