/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/hook.h"

#include <string.h>
static const char *label(const struct ek_obj *obj, const char *name)
{
    const char *value = ek_obj_label(obj, name);
    return value ? value : "";
}

const char *ek_ff_hook_namespace(const struct ek_obj *configuration)
{
    return label(configuration, "olm.owner.namespace");
}

/* The name between quotes of: failed calling webhook "NAME": (k8s.io/apiserver,
 * pkg/admission/plugin/webhook/errors.go and validating/dispatcher.go of Kubernetes 1.36). */
static struct ek_str called(const char *message)
{
    static const char words[] = "failed calling webhook \"";
    const char *begin = message ? strstr(message, words) : NULL;
    const char *end = begin ? strchr(begin + sizeof words - 1, '"') : NULL;

    if (!end)
        return (struct ek_str){0};
    begin += sizeof words - 1;
    return (struct ek_str){begin, (size_t)(end - begin)};
}

static bool has_webhook(const struct ek_obj *configuration, struct ek_str name)
{
    yyjson_val *webhooks = ek_json_get(ek_obj_root(configuration), "webhooks", NULL);
    size_t i, n;
    yyjson_val *webhook;

    yyjson_arr_foreach(webhooks, i, n, webhook)
    {
        if (yyjson_equals_strn(yyjson_obj_get(webhook, "name"), name.p, name.len))
            return true;
    }
    return false;
}

void ek_ff_find_hook(const struct ek_ff_objs *configurations, const char *message,
                     struct ek_ff_hook *ret_hook)
{
    struct ek_str name = called(message);
    const struct ek_obj *found = NULL;

    *ret_hook = (struct ek_ff_hook){0};
    for (size_t i = 0; name.len && i < configurations->n; i++) {
        if (!has_webhook(configurations->items[i], name))
            continue;
        if (found)
            return;
        found = configurations->items[i];
    }
    if (found && *label(found, "olm.owner"))
        *ret_hook = (struct ek_ff_hook){.kind = ek_obj_kind(found),
                                        .name = ek_obj_name(found),
                                        .namespace = ek_ff_hook_namespace(found),
                                        .csv = label(found, "olm.owner")};
}

void ek_ff_hook_remedy(const struct ek_ff_hook *hook, struct ek_buf *out)
{
    ek_buf_printf(out,
                  "The webhook may be that of the %s %s, which OLM made for the "
                  "ClusterServiceVersion %s in the namespace %s. Look whether another "
                  "configuration has a webhook of the same name. If none has, delete this one, or "
                  "make its webhook answer: OLM makes it again when that version installs.",
                  hook->kind, hook->name, hook->csv, hook->namespace);
}
