/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The variable `objects` of expressions of policies that behave Extended. Not for those outside
 * this folder.
 *
 *   objects.apply(object, patch)   object, a map, with patch merged into it as an
 *                                  ApplyConfiguration would be. patch is an Object literal; its
 *                                  type's name says where in the schema the two belong:
 *                                  objects.apply(w, Object.spec.widgets{part: "x"})
 *   objects.remove(item)           in a list of an ApplyConfiguration: that there be no such item
 *
 * Each application costs as many units as its result has values. Source: KEP-3962, "Complex
 * mutations" and "Unsetting values".
 */
#ifndef RECONCILERS_MUTATION_OBJECTS_H
#define RECONCILERS_MUTATION_OBJECTS_H

#include "api/cel/library.h"
#include "api/schema/schema.h"

#define EK_OBJECTS_TYPE "evenkeel.Objects"

/* What `objects` knows while a mutation runs. */
struct ek_objects {
    const struct ek_schema *schema;
    uint32_t type;        /* of the request's object; EK_SCHEMA_NONE when it has none */
    unsigned flags;       /* EK_MERGE_ATOMIC: atomics may be replaced */
    struct ek_work *work; /* may be NULL */
};

extern const struct ek_cel_library ek_objects_library;

/* The value of `objects`; objects is borrowed. */
struct ek_cel_val ek_objects_val(const struct ek_objects *objects, struct ek_arena *arena);

/* The item that value, the result of objects.remove, is about; NULL for other values. */
const struct ek_cel_val *ek_objects_removed(const struct ek_cel_val *value);

#endif
