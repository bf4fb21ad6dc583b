/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookups of many members of an object by name, and of many items of an array by place, in linear
 * time altogether.
 *
 * A lookup first compares the member after the last one found, because callers often look up the
 * names in the order of the object. Otherwise small objects are searched from the start, and larger
 * objects get an index at the first such lookup. The index uses a keyed hash, so that chosen names
 * cannot make it slow. Without memory for an index the search is linear.
 *
 * The object may be immutable or mutable. While lookups go on, values may be replaced, and members
 * may be added at the end; added members are not found. If a name occurs twice, either member may
 * be found, unless the search is strict. Each lookup counts as steps of the work (api/base/work.h),
 * a linear one as a step for each member.
 */
#ifndef API_MEMBERS_H
#define API_MEMBERS_H

#include <yyjson.h>

#include "api/base/buf.h"
#include "api/base/work.h"

/* Objects with at most this number of members are searched without an index. */
#define EK_MEMBERS_SMALL 16u

struct ek_members {
    void *object; /* yyjson_val or yyjson_mut_val; borrowed */
    bool is_mutable;
    bool strict; /* set by the caller after init: the first member of a name is found */
    size_t n;
    void *first, *next; /* keys: of the first member, and behind the last one found */
    void *end;          /* behind the last member; NULL in mutable objects, which are rings */
    void **slots;       /* owned; keys, NULL in free ones. NULL: there is no index */
    size_t mask;
    bool failed; /* there is no memory for an index */
    struct ek_work *work;
};

/* object: a value of another type, or NULL, has no members. work may be NULL. */
void ek_members_init(struct ek_members *members, yyjson_val *object, struct ek_work *work);
void ek_members_init_mut(struct ek_members *members, yyjson_mut_val *object, struct ek_work *work);
void ek_members_done(struct ek_members *members);

/* The value of the member of that name, NULL when there is none. */
yyjson_val *ek_members_find(struct ek_members *members, struct ek_str name);
yyjson_mut_val *ek_members_find_mut(struct ek_members *members, struct ek_str name);

/* The items of an array, for access by place; owned, released by ek_free. Never NULL: a value of
 * another type has no items. Ends the process without memory, as ek_xalloc does. Any thread. */
yyjson_val **ek_array_items(yyjson_val *array);

#endif
