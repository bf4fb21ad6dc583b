/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A webhook configuration as it should be (configuration.h) beside that of the cluster.
 *
 * Pure; any thread.
 */
#ifndef RECONCILERS_WEBHOOKS_COMPARE_H
#define RECONCILERS_WEBHOOKS_COMPARE_H

#include <stdbool.h>
#include <yyjson.h>

struct ek_webhooks_standing {
    bool current; /* the configuration of the cluster says what content does: nothing to write. For
                     content without webhooks, no configuration is as good as an empty one */
    bool carries; /* all webhooks of the cluster have the CA bundle, whatever else they say */
    bool empty;   /* content has no webhooks */
};

/*
 * Compares content with live, the object of the cluster (NULL: none). Members that API servers add
 * by default do not count. ca_bundle (PEM) is that of content; NULL: none, which everything
 * carries. in_order: the order of webhooks counts, because API servers call them in that order.
 */
struct ek_webhooks_standing ek_webhooks_compare(yyjson_mut_val *content, yyjson_val *live,
                                                const char *ca_bundle, bool in_order);

/* Whether live, the object of the cluster (NULL: none), has webhook, one of a content, and the
 * requests for it are the same. Without a CA bundle in webhook, that of live does not count. */
bool ek_webhooks_has(yyjson_val *live, yyjson_mut_val *webhook);

#endif
