/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The webhook that refuses the objects of an install plan, where OLM made the webhook for a CSV: a
 * version that does not run has nobody who answers. Pure; any thread.
 */
#ifndef RECONCILERS_FAILFORWARD_HOOK_H
#define RECONCILERS_FAILFORWARD_HOOK_H

#include "api/base/buf.h"
#include "api/obj.h"

/* A borrowed array of objects. */
struct ek_ff_objs {
    struct ek_obj *const *items;
    size_t n;
};

/* The selector of the configurations that OLM made (operator-lifecycle-manager at 992bb097,
 * pkg/lib/ownerutil/util.go:OwnerLabel). */
#define EK_FF_HOOK_SELECTOR "olm.owner.kind=ClusterServiceVersion"

struct ek_ff_hook {
    const char *kind;            /* of the configuration; NULL: no such webhook */
    const char *name;            /* of the configuration */
    const char *namespace, *csv; /* whom OLM made it for */
};

/* The namespace of the CSV that a configuration was made for; "" where the label is absent. */
const char *ek_ff_hook_namespace(const struct ek_obj *configuration);

/*
 * Names of webhooks are unique within one configuration only, and configurations that OLM did not
 * make are not read: whose webhook was called is probable, and no more. A remedy says so.
 *
 * Finds the webhook that message says was called and did not answer, among the configurations. None
 * where no configuration has a webhook of this name; and none where two have one, because the
 * message does not say which was called, and whoever writes a CSV chooses the names of its
 * webhooks. Strings of *ret_hook are borrowed from the configurations.
 */
void ek_ff_find_hook(const struct ek_ff_objs *configurations, const char *message,
                     struct ek_ff_hook *ret_hook);

/* Appends what a person must do about the hook, in a sentence. */
void ek_ff_hook_remedy(const struct ek_ff_hook *hook, struct ek_buf *out);

#endif
