/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "api/mem.h"
#include "api/schema/merge-internal.h"

static int by_name(const void *a, const void *b)
{
    const struct ek_member *x = a, *y = b;
    int order = ek_schema_compare(x->name, y->name);

    return order ? order : (x->at > y->at) - (x->at < y->at);
}

struct ek_member *ek_members_sorted(yyjson_mut_val *map, size_t *ret_n)
{
    size_t i, max, n = yyjson_mut_obj_size(map);
    struct ek_member *all = ek_realloc(NULL, (n + 1) * sizeof *all);
    yyjson_mut_val *key, *val;

    if (!all)
        return NULL;
    yyjson_mut_obj_foreach(map, i, max, key, val)
    {
        struct ek_str name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
        all[i] = (struct ek_member){name, val, i};
    }
    qsort(all, n, sizeof *all, by_name);
    *ret_n = n;
    return all;
}

yyjson_mut_val *ek_members_find(const struct ek_member *sorted, size_t n, struct ek_str name)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (ek_schema_compare(sorted[mid].name, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && ek_str_eq(sorted[low].name, name) ? sorted[low].value : NULL;
}
