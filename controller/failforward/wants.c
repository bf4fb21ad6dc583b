/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/failforward/wants.h"

#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/failforward/served.h"

#define NOT_GLOBAL                                                                                 \
    "the catalog is not read: sourceNamespace is neither the namespace of the Subscription nor "   \
    "a namespace of OLM for catalogs of the cluster (olm, openshift-marketplace)"

static const char *text(const struct ek_obj *subscription, const char *name)
{
    return ek_json_text(ek_json_get(ek_obj_root(subscription), "spec", NULL), name);
}

static bool is_listed(const char *const *packages, size_t n, const char *package)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(packages[i], package))
            return true;
    return false;
}

/* OLM resolves a Subscription with the catalogs of its namespace and of the global one
 * (operator-lifecycle-manager at 992bb097,
 * pkg/controller/registry/resolver/step_resolver.go:ResolveSteps). Another source makes no
 * connection: whoever writes a Subscription would choose the address that a user of another
 * namespace has given. */
static bool is_readable(const struct ek_obj *subscription)
{
    const char *namespace = text(subscription, "sourceNamespace");

    return !strcmp(namespace, ek_obj_namespace(subscription)) ||
           ek_ff_is_catalog_namespace(namespace);
}

/* The packages that subscriptions take from the source, into packages, which has room for all.
 * Returns how many they are. */
static size_t packages_of(const struct ek_ff_objs *subs, const struct ek_obj *source,
                          const char **packages)
{
    size_t n = 0;

    for (size_t i = 0; i < subs->n; i++) {
        const char *package = text(subs->items[i], "name");
        if (!strcmp(text(subs->items[i], "source"), ek_obj_name(source)) &&
            !strcmp(text(subs->items[i], "sourceNamespace"), ek_obj_namespace(source)) &&
            is_readable(subs->items[i]) && *package && !is_listed(packages, n, package))
            packages[n++] = package;
    }
    return n;
}

int64_t ek_ff_catalogs_follow(struct ek_ff_catalogs *catalogs, const struct ek_ff_objs *sources,
                              const struct ek_ff_objs *subscriptions)
{
    EK_AUTOFREE struct ek_ff_catalog_want *wants = ek_xalloc((sources->n + 1) * sizeof *wants);
    EK_AUTOFREE const char **all = ek_xalloc((subscriptions->n + 1) * sizeof *all);
    EK_AUTOFREE const char ***lists = ek_xalloc((sources->n + 1) * sizeof *lists);
    size_t n = 0;

    for (size_t i = 0; i < sources->n; i++) {
        size_t n_packages = packages_of(subscriptions, sources->items[i], all);
        if (!n_packages)
            continue;
        lists[n] = ek_xalloc(n_packages * sizeof(char *));
        memcpy(lists[n], all, n_packages * sizeof(char *));
        wants[n] = (struct ek_ff_catalog_want){sources->items[i], lists[n], n_packages};
        n++;
    }
    int64_t again_ms = ek_ff_catalogs_sync(catalogs, wants, n);
    for (size_t i = 0; i < n; i++)
        ek_free(lists[i]);
    return again_ms;
}

bool ek_ff_catalogs_of(const struct ek_ff_catalogs *catalogs, const struct ek_obj *subscription,
                       struct ek_ff_catalog *ret_catalog)
{
    *ret_catalog = (struct ek_ff_catalog){.error = is_readable(subscription) ? "" : NOT_GLOBAL};
    if (!is_readable(subscription))
        return true;
    return ek_ff_catalogs_get(catalogs, text(subscription, "sourceNamespace"),
                              text(subscription, "source"), ret_catalog);
}
