/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was consented to for a subscription: by its annotation, or by a FailForwardPolicy. The most
 * specific one wins (README.md of this folder). Pure; any thread.
 */
#ifndef RECONCILERS_FAILFORWARD_CONSENT_H
#define RECONCILERS_FAILFORWARD_CONSENT_H

#include "api/base/buf.h"
#include "reconcilers/failforward/ladder.h"

/* The annotation of a subscription: Off, Observe, Assist or Force. */
#define EK_FF_MODE_ANNOTATION "failforward.evenkeel.dev/mode"

/* Where consent comes from. */
struct ek_ff_rules {
    struct ek_ff_objs policies; /* objects of kind FailForwardPolicy */
    struct ek_ff_objs
        namespaces; /* for namespaceSelector; a namespace that is absent has no labels */
};

/* Reads "Off", "Observe", "Assist" or "Force" into *ret_mode. False for anything else. */
bool ek_ff_mode_parse(const char *text, enum ek_ff_mode *ret_mode);

const char *ek_ff_mode_name(enum ek_ff_mode mode);

/* The consent for one subscription of a namespace. */
struct ek_ff_consented {
    struct ek_ff_consent consent; /* but for others_unfinished */
    const char *source; /* "annotation", the name of a policy (borrowed), "": nobody consented */
};

/*
 * The consent for each subscription of world->namespace, into all, which has world->subscriptions.n
 * members in their order; those of another namespace are left as they are. Where a subscription
 * consents to less than Assist, shared is set for those that consent to Assist, and its name is
 * appended to names, with commas. A subscription that OLM made for a dependency (annotation
 * olm.generated-by) and that nobody has selected is not counted; it has no consent either.
 *
 * A value that is not valid counts as Off: a mistake never consents.
 */
void ek_ff_consent_all(const struct ek_ff_rules *rules, const struct ek_ff_world *world,
                       struct ek_ff_consented *all, struct ek_buf *names);

#endif
