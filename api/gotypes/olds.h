/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The items that a list had before, found by what they are now: by their keys in a list that has
 * some, else by all of them. Most stand where they stood; the others are found in a table of hashes
 * (api/base/table.h), made when the first of them is looked for, so that the time grows with the
 * lists alone. Not for those outside this folder.
 */
#ifndef API_GOTYPES_OLDS_H
#define API_GOTYPES_OLDS_H

#include "api/base/table.h"
#include "api/base/work.h"
#include "api/schema/schema.h"

struct ek_olds {
    const struct ek_schema *schema;
    const struct ek_schema_type *type; /* of the list; its n_keys say by what items are found */
    yyjson_val *list, *hint;           /* hint: what stood where the next item stands */
    size_t n_left;                     /* from hint on */
    yyjson_val **items;                /* owned; NULL while there is no table */
    struct ek_table table;
    struct ek_work *work;
    int rc; /* EK_E_NOMEM: what is found means nothing */
};

/* list: the list before, NULL for none. */
void ek_olds_init(struct ek_olds *olds, const struct ek_schema *schema,
                  const struct ek_schema_type *type, yyjson_val *list, struct ek_work *work);
void ek_olds_done(struct ek_olds *olds);

/*
 * The first item of before that goes with item, the next one of the list now; NULL when none does.
 * *ret_in_place: it stood at the same place. *ret_equal: it is known to be equal, as it always is
 * in lists without keys; else the caller compares.
 */
yyjson_val *ek_olds_find(struct ek_olds *olds, yyjson_mut_val *item, bool *ret_in_place,
                         bool *ret_equal);

#endif
