/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What fail forward watches, by row, and the objects of one run as lists that a namespace is cut
 * out of. deploy/components/failforward grants exactly these rows.
 *
 * Threading: the loop thread.
 */
#ifndef CONTROLLER_FAILFORWARD_WATCH_H
#define CONTROLLER_FAILFORWARD_WATCH_H

#include "controller/manager/watchset.h"
#include "reconcilers/failforward/observe.h"
#include "reconcilers/failforward/served.h"

enum ek_ff_row {
    EK_FF_POLICIES,
    EK_FF_REPORTS,
    EK_FF_NAMESPACES, /* metadata */
    EK_FF_SUBSCRIPTIONS,
    EK_FF_PLANS,
    EK_FF_CSVS, /* without copies */
    EK_FF_GROUPS,
    EK_FF_CONDITIONS,
    EK_FF_CATALOGS,
    EK_FF_VALIDATING, /* configurations of webhooks that OLM made */
    EK_FF_MUTATING,
    EK_FF_ROWS,
};

extern const struct ek_watch_row ek_ff_watch_rows[EK_FF_ROWS];

/* Called by the rows for each change; defined by the subject. namespace: where something changed;
 * NULL: what all namespaces depend on. consent: what consent is read out of has changed. ctx is
 * that of ek_watchset_set_seen. */
void ek_ff_on_change(void *ctx, const char *namespace, bool consent);

/* The same for a CatalogSource ("namespace/name"): the namespaces whose Subscriptions name it. */
void ek_ff_on_source(void *ctx, const char *source);

/* Watches what is served; NULL: nothing. */
void ek_ff_watch_set(struct ek_watchset *set, const struct ek_ff_served *served);

/* The row that holds objects of this resource (plural); EK_FF_ROWS for none. */
enum ek_ff_row ek_ff_row_of(const char *resource);

/* The objects of all rows; references are held until ek_ff_lists_done. */
struct ek_ff_lists {
    struct ek_obj **items[EK_FF_ROWS];
    size_t n[EK_FF_ROWS];
};

void ek_ff_lists_take(struct ek_ff_lists *lists, const struct ek_watchset *set);
void ek_ff_lists_done(struct ek_ff_lists *lists);

/* All objects of a row; those of a namespace. Borrowed. */
struct ek_ff_objs ek_ff_lists_all(const struct ek_ff_lists *lists, enum ek_ff_row row);
struct ek_ff_objs ek_ff_lists_in(const struct ek_ff_lists *lists, enum ek_ff_row row,
                                 const char *namespace);

#endif
