/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/webhooks/compare.h"

#include <string.h>

#include "api/base/base64.h"
#include "api/base/mem.h"
#include "api/obj.h"

/* ---- Content ---- */

static bool same_scalar(yyjson_val *live, yyjson_mut_val *required)
{
    if (yyjson_mut_is_str(required))
        return yyjson_equals_str(live, yyjson_mut_get_str(required));
    return yyjson_get_type(live) == yyjson_mut_get_type(required) &&
           (yyjson_is_bool(live) ? yyjson_get_bool(live) == yyjson_mut_get_bool(required)
                                 : yyjson_get_sint(live) == yyjson_mut_get_sint(required));
}

/* Whether live has all members of required; a list must have the same items. */
static bool covers(yyjson_val *live, yyjson_mut_val *required)
{
    yyjson_mut_val *key, *value;
    size_t i, n;

    if (yyjson_mut_is_arr(required)) {
        if (!yyjson_is_arr(live) || yyjson_arr_size(live) != yyjson_mut_arr_size(required))
            return false;
        yyjson_mut_arr_foreach(required, i, n, value)
        {
            if (!covers(yyjson_arr_get(live, i), value))
                return false;
        }
        return true;
    }
    if (!yyjson_mut_is_obj(required))
        return same_scalar(live, required);
    yyjson_mut_obj_foreach(required, i, n, key, value)
    {
        yyjson_val *member = yyjson_obj_get(live, yyjson_mut_get_str(key));
        if (!member || !covers(member, value))
            return false;
    }
    return true;
}

/* Selectors and conditions of somebody else would keep requests away. Servers add none. */
static bool is_selected_alike(yyjson_val *live, yyjson_mut_val *required)
{
    static const char *const selectors[] = {"namespaceSelector", "objectSelector"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(selectors); i++)
        if (yyjson_obj_size(yyjson_obj_get(live, selectors[i])) !=
            yyjson_mut_obj_size(yyjson_mut_obj_get(required, selectors[i])))
            return false;
    return yyjson_arr_size(yyjson_obj_get(live, "matchConditions")) ==
           yyjson_mut_arr_size(yyjson_mut_obj_get(required, "matchConditions"));
}

static yyjson_val *find_webhook(yyjson_val *list, const char *name)
{
    yyjson_val *hook;
    size_t i, n;

    yyjson_arr_foreach(list, i, n, hook)
    {
        if (yyjson_equals_str(yyjson_obj_get(hook, "name"), name))
            return hook;
    }
    return NULL;
}

/* Names are unique in a configuration (validation.go: ValidateMutatingWebhookConfiguration), so
 * that as many webhooks as required, each found by its name, are all of them. */
static bool same_webhooks(yyjson_val *live, yyjson_mut_val *required, bool in_order)
{
    yyjson_mut_val *want;
    size_t i, n;

    if (yyjson_arr_size(live) != yyjson_mut_arr_size(required))
        return false;
    yyjson_mut_arr_foreach(required, i, n, want)
    {
        const char *name = yyjson_mut_get_str(yyjson_mut_obj_get(want, "name"));
        yyjson_val *found = in_order ? yyjson_arr_get(live, i) : find_webhook(live, name);
        if (!found || !covers(found, want) || !is_selected_alike(found, want))
            return false;
    }
    return true;
}

bool ek_webhooks_has(yyjson_val *live, yyjson_mut_val *webhook)
{
    const char *name = yyjson_mut_get_str(yyjson_mut_obj_get(webhook, "name"));
    yyjson_val *found = find_webhook(yyjson_obj_get(live, "webhooks"), name);

    return found && covers(found, webhook) && is_selected_alike(found, webhook);
}

static bool is_current(yyjson_mut_val *content, yyjson_val *live, bool in_order)
{
    yyjson_mut_val *required = yyjson_mut_obj_get(content, "webhooks");

    if (yyjson_mut_arr_size(required) == 0)
        return yyjson_arr_size(yyjson_obj_get(live, "webhooks")) == 0;
    return live &&
           covers(yyjson_obj_get(live, "metadata"), yyjson_mut_obj_get(content, "metadata")) &&
           same_webhooks(yyjson_obj_get(live, "webhooks"), required, in_order);
}

/* ---- The CA bundle ---- */

static bool carries(yyjson_val *live, const char *ca_bundle)
{
    EK_AUTOFREE char *coded =
        ca_bundle && *ca_bundle ? ek_base64_encode(ca_bundle, strlen(ca_bundle)) : NULL;
    yyjson_val *hook;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(live, "webhooks"), i, n, hook)
    {
        const char *has = ek_json_str(hook, "clientConfig", "caBundle", NULL);
        if (coded && (!has || strcmp(has, coded) != 0))
            return false;
    }
    return true;
}

struct ek_webhooks_standing ek_webhooks_compare(yyjson_mut_val *content, yyjson_val *live,
                                                const char *ca_bundle, bool in_order)
{
    return (struct ek_webhooks_standing){
        .current = is_current(content, live, in_order),
        .carries = carries(live, ca_bundle),
        .empty = yyjson_mut_arr_size(yyjson_mut_obj_get(content, "webhooks")) == 0,
    };
}
