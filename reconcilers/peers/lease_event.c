/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/lease_event.h"

#include <string.h>

static const char *holder(const struct ek_obj *lease)
{
    return ek_json_str(ek_obj_root(lease), "spec", "holderIdentity", NULL);
}

static bool is_of_peer(const struct ek_lease_rule *rule, const struct ek_obj *lease)
{
    const char *label = ek_obj_label(lease, rule->label);

    /* In Go a label that is absent is "", but not where there are no labels at all. */
    if (!label && yyjson_is_obj(ek_json_get(ek_obj_root(lease), "metadata", "labels", NULL)))
        label = "";
    return label && !strcmp(label, rule->value) && strcmp(ek_obj_name(lease), rule->self) != 0 &&
           holder(lease);
}

bool ek_lease_event_matters(const struct ek_lease_rule *rule, const struct ek_obj *old,
                            const struct ek_obj *obj)
{
    if (!old || !obj)
        return is_of_peer(rule, obj ? obj : old);
    return is_of_peer(rule, old) && is_of_peer(rule, obj) &&
           !strcmp(ek_obj_name(old), ek_obj_name(obj)) && strcmp(holder(old), holder(obj)) != 0;
}
