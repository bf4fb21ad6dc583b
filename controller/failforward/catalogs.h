/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The upgrade graphs of the catalogs that opted-in subscriptions use, read from the registries of
 * the catalogs and kept.
 *
 * A catalog is read when it is new, when packages are added, when its revision changes (OLM
 * connected again, which it does when the content changed), and every EK_FF_CATALOG_REFRESH_MS;
 * after a failure again after EK_FF_CATALOG_RETRY_MS. The graph of the last good read stays until
 * the next one, or until the catalog is no longer in the list. At most EK_FF_CATALOG_READS_MAX
 * reads are under way at the same time; of those that are due, the one whose last read began first
 * comes first. The bounds of one read are below: whoever may create a
 * CatalogSource chooses what listens there.
 *
 * Threading: the loop thread.
 */
#ifndef CONTROLLER_FAILFORWARD_CATALOGS_H
#define CONTROLLER_FAILFORWARD_CATALOGS_H

#include <uv.h>

#include "reconcilers/failforward/judge.h"

#define EK_FF_CATALOG_REFRESH_MS (INT64_C(15) * 60 * 1000) /* OLM polls images as often */
#define EK_FF_CATALOG_RETRY_MS   (INT64_C(30) * 1000)
#define EK_FF_CATALOG_TIMEOUT_MS INT64_C(60000)
#define EK_FF_CATALOG_BYTES_MAX                                                                    \
    ((size_t)512 << 20)                           /* read of one catalog, most of it passed over */
#define EK_FF_CATALOG_GRAPH_MAX ((size_t)4 << 20) /* kept of one catalog */
#define EK_FF_CATALOG_READS_MAX 4

/* Whoever may write CatalogSources and Subscriptions in a namespace chooses what is read and kept.
 * The namespaces of ek_ff_is_catalog_namespace, which only administrators write, have no bound in
 * common. */
#define EK_FF_CATALOG_SPACE_MAX ((size_t)4 << 20)  /* kept of the catalogs of one namespace */
#define EK_FF_CATALOG_TOTAL_MAX ((size_t)32 << 20) /* kept of those of all namespaces */

struct ek_ff_catalogs;

/* A catalog to read. Everything is copied. */
struct ek_ff_catalog_want {
    const struct ek_obj *source; /* the CatalogSource */
    const char *const *packages; /* n_packages names, without duplicates */
    size_t n_packages;
};

/* now_ms is the wall clock, in milliseconds since the epoch. changed is called from the loop after
 * a read that changed the graph of a CatalogSource ("namespace/name", borrowed) or the reason for
 * having none. It must not close the catalogs. */
struct ek_ff_catalogs *ek_ff_catalogs_new(uv_loop_t *loop, int64_t (*now_ms)(void),
                                          void (*changed)(void *ctx, const char *source),
                                          void *ctx);

/*
 * Takes the list of catalogs, without duplicates, forgets those that are not in it, and starts the
 * reads that are due. Returns in how many milliseconds the list should be given again: INT64_MAX
 * when nothing will be due.
 */
int64_t ek_ff_catalogs_sync(struct ek_ff_catalogs *catalogs, const struct ek_ff_catalog_want *wants,
                            size_t n);

/* True while a read is under way, or due now. */
bool ek_ff_catalogs_is_busy(const struct ek_ff_catalogs *catalogs);

/* Reads what is known of a catalog; the graph is borrowed until the next ek_ff_catalogs_sync or
 * turn of the loop. Returns false for a catalog that is not in the list. */
bool ek_ff_catalogs_get(const struct ek_ff_catalogs *catalogs, const char *namespace,
                        const char *name, struct ek_ff_catalog *ret_catalog);

/* Ends all reads and releases the catalogs; done (may be NULL) is called from the loop when nothing
 * is left. NULL catalogs calls done at once. */
void ek_ff_catalogs_close(struct ek_ff_catalogs *catalogs, void (*done)(void *ctx), void *ctx);

#endif
