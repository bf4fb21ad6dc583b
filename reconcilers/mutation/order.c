/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/order.h"

#include <stdlib.h>
#include <string.h>

#include "reconcilers/mutation/scopes.h"

static int compare_policies(const struct ek_policy *a, const struct ek_policy *b)
{
    if (a->scopes->depth != b->scopes->depth)
        return a->scopes->depth < b->scopes->depth ? -1 : 1;
    int order = strcmp(a->name, b->name);
    return order ? order : (int)a->native - (int)b->native;
}

static int compare(const void *a, const void *b)
{
    const struct ek_bound *x = a, *y = b;
    int order = compare_policies(x->policy, y->policy);

    return order ? order : strcmp(x->binding->name, y->binding->name);
}

void ek_order_sort(struct ek_bound *bound, size_t n)
{
    if (n)
        qsort(bound, n, sizeof *bound, compare);
}
