/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/groups.h"

static bool names_equal(const struct ek_api_names *a, const struct ek_api_names *b)
{
    if (a->set != b->set || a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->items[i], b->items[i]) != 0)
            return false;
    return true;
}

static bool kind_equal(const struct ek_api_kind *a, const struct ek_api_kind *b)
{
    if (!a || !b)
        return a == b;
    return !strcmp(a->group, b->group) && !strcmp(a->version, b->version) &&
           !strcmp(a->kind, b->kind);
}

static bool subresource_equal(const struct ek_api_subresource *a,
                              const struct ek_api_subresource *b)
{
    if (strcmp(a->name, b->name) != 0 || !kind_equal(a->kind, b->kind) ||
        !names_equal(&a->verbs, &b->verbs) || a->accepted.set != b->accepted.set ||
        a->accepted.n != b->accepted.n)
        return false;
    for (size_t i = 0; i < a->accepted.n; i++)
        if (!kind_equal(&a->accepted.items[i], &b->accepted.items[i]))
            return false;
    return true;
}

bool ek_api_resource_equal(const struct ek_api_resource *a, const struct ek_api_resource *b)
{
    const struct ek_api_subresources *x = &a->subresources, *y = &b->subresources;

    if (strcmp(a->name, b->name) != 0 || !kind_equal(a->kind, b->kind) ||
        strcmp(a->scope, b->scope) != 0 || strcmp(a->singular, b->singular) != 0 ||
        !names_equal(&a->verbs, &b->verbs) || !names_equal(&a->short_names, &b->short_names) ||
        !names_equal(&a->categories, &b->categories) || x->set != y->set || x->n != y->n)
        return false;
    for (size_t i = 0; i < x->n; i++)
        if (!subresource_equal(&x->items[i], &y->items[i]))
            return false;
    return true;
}
