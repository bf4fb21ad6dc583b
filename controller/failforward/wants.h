/* SPDX-License-Identifier: Apache-2.0 */
/* Which packages of which catalogs subscriptions use. Threading: the loop thread. */
#ifndef CONTROLLER_FAILFORWARD_WANTS_H
#define CONTROLLER_FAILFORWARD_WANTS_H

#include "controller/failforward/catalogs.h"

/* ek_ff_catalogs_sync for the catalogs (CatalogSources) that the subscriptions use: those of the
 * namespace of a subscription, and those of the namespaces for catalogs of the cluster
 * (reconcilers/failforward/served.h). All is borrowed for the call. */
int64_t ek_ff_catalogs_follow(struct ek_ff_catalogs *catalogs, const struct ek_ff_objs *sources,
                              const struct ek_ff_objs *subscriptions);

/* What is known of the catalog of a subscription, lent until the next sync or turn of the loop. For
 * a catalog of another namespace the error says that it is not read. False, and all zero but for
 * the error "", for one that is not followed. */
bool ek_ff_catalogs_of(const struct ek_ff_catalogs *catalogs, const struct ek_obj *subscription,
                       struct ek_ff_catalog *ret_catalog);

#endif
