/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/webhooks/configuration.h"

#include <string.h>

#include "api/base/base64.h"
#include "api/base/mem.h"
#include "api/base/words.h"

#define PORT 443

/* ---- Configurations ---- */

/* Deleting the namespace, the last step of an uninstallation, deletes the configurations, too. */
static void write_owner(const struct ek_webhooks *w, yyjson_mut_val *metadata)
{
    const struct ek_webhooks_options *o = w->options;

    if (!ek_is_given(o->own_namespace) || !ek_is_given(o->own_namespace_uid))
        return;
    yyjson_mut_val *owner =
        yyjson_mut_arr_add_obj(w->doc, yyjson_mut_obj_add_arr(w->doc, metadata, "ownerReferences"));
    yyjson_mut_obj_add_str(w->doc, owner, "apiVersion", "v1");
    yyjson_mut_obj_add_str(w->doc, owner, "kind", "Namespace");
    yyjson_mut_obj_add_strcpy(w->doc, owner, "name", o->own_namespace);
    yyjson_mut_obj_add_strcpy(w->doc, owner, "uid", o->own_namespace_uid);
}

void ek_webhooks_begin(struct ek_webhooks *webhooks, const struct ek_webhooks_options *options,
                       yyjson_mut_doc *doc)
{
    struct ek_webhooks *w = webhooks;

    *w = (struct ek_webhooks){.options = options, .doc = doc, .content = yyjson_mut_obj(doc)};
    if (ek_is_given(options->ca_bundle))
        w->bundle = ek_base64_encode(options->ca_bundle, strlen(options->ca_bundle));
    yyjson_mut_val *metadata = yyjson_mut_obj_add_obj(doc, w->content, "metadata");
    yyjson_mut_val *labels = yyjson_mut_obj_add_obj(doc, metadata, "labels");
    yyjson_mut_obj_add_str(doc, labels, "app.kubernetes.io/name", "evenkeel");
    yyjson_mut_obj_add_str(doc, labels, "app.kubernetes.io/managed-by", "evenkeel");
    write_owner(w, metadata);
    w->list = yyjson_mut_obj_add_arr(doc, w->content, "webhooks");
}

struct ek_intent *ek_webhooks_apply(struct ek_intents *intents, const struct ek_resource *resource,
                                    const char *name, yyjson_mut_val *content)
{
    const struct ek_apply_target target = {.resource = resource, .name = name};
    return ek_intents_apply(intents, &target,
                            yyjson_mut_val_mut_copy(ek_intents_doc(intents), content));
}

void ek_webhooks_end(struct ek_webhooks *webhooks)
{
    ek_free(webhooks->bundle);
    webhooks->bundle = NULL;
}

/* ---- Parts of an entry ---- */

static yyjson_mut_val *write_client(const struct ek_webhooks *w, const char *path)
{
    const struct ek_webhooks_options *o = w->options;
    yyjson_mut_val *client = yyjson_mut_obj(w->doc);

    if (ek_is_given(o->url)) {
        EK_AUTOFREE char *url = ek_xasprintf("%s%s", o->url, path);
        yyjson_mut_obj_add_strcpy(w->doc, client, "url", url);
    } else {
        yyjson_mut_val *service = yyjson_mut_obj_add_obj(w->doc, client, "service");
        yyjson_mut_obj_add_strcpy(w->doc, service, "name", o->service_name ? o->service_name : "");
        yyjson_mut_obj_add_strcpy(w->doc, service, "namespace",
                                  o->service_namespace ? o->service_namespace : "");
        yyjson_mut_obj_add_strcpy(w->doc, service, "path", path);
        yyjson_mut_obj_add_int(w->doc, service, "port", o->service_port ? o->service_port : PORT);
    }
    if (w->bundle)
        yyjson_mut_obj_add_strcpy(w->doc, client, "caBundle", w->bundle);
    return client;
}

size_t ek_webhooks_exempt(const struct ek_webhooks_options *options,
                          const char *ret_names[EK_WEBHOOKS_EXEMPT_MAX])
{
    bool has_own = ek_is_given(options->own_namespace);
    size_t n = 0;

    if (has_own)
        ret_names[n++] = options->own_namespace;
    for (size_t i = 0; !options->with_kube_system && i < 2; i++) {
        const char *name = i ? "kube-node-lease" : "kube-system";
        if (!has_own || strcmp(options->own_namespace, name) != 0)
            ret_names[n++] = name;
    }
    return n;
}

/* Adds the exempt namespaces to selector. A selector by namespace says nothing of cluster-scoped
 * objects. */
static void exempt_namespaces(const struct ek_webhooks *w, yyjson_mut_val *selector)
{
    yyjson_mut_val *values = yyjson_mut_arr(w->doc);
    yyjson_mut_val *expressions = yyjson_mut_obj_get(selector, "matchExpressions");
    const char *names[EK_WEBHOOKS_EXEMPT_MAX];
    size_t n = ek_webhooks_exempt(w->options, names);

    for (size_t i = 0; i < n; i++)
        yyjson_mut_arr_add_strcpy(w->doc, values, names[i]);
    if (yyjson_mut_arr_size(values) == 0)
        return;
    if (!expressions)
        expressions = yyjson_mut_obj_add_arr(w->doc, selector, "matchExpressions");
    yyjson_mut_val *expression = yyjson_mut_arr_add_obj(w->doc, expressions);
    yyjson_mut_obj_add_str(w->doc, expression, "key", "kubernetes.io/metadata.name");
    yyjson_mut_obj_add_str(w->doc, expression, "operator", "NotIn");
    yyjson_mut_obj_add_val(w->doc, expression, "values", values);
}

yyjson_mut_val *ek_webhooks_rules(yyjson_mut_doc *doc, const struct ek_webhooks_rule *rule)
{
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, list);

    yyjson_mut_arr_add_strcpy(doc, yyjson_mut_obj_add_arr(doc, v, "apiGroups"), rule->group);
    yyjson_mut_arr_add_strcpy(doc, yyjson_mut_obj_add_arr(doc, v, "apiVersions"), rule->version);
    yyjson_mut_val *operations = yyjson_mut_obj_add_arr(doc, v, "operations");
    yyjson_mut_arr_add_str(doc, operations, "CREATE");
    if (rule->update)
        yyjson_mut_arr_add_str(doc, operations, "UPDATE");
    yyjson_mut_val *resources = yyjson_mut_obj_add_arr(doc, v, "resources");
    for (size_t i = 0; i < EK_ARRAY_SIZE(rule->resources); i++)
        if (rule->resources[i])
            yyjson_mut_arr_add_strcpy(doc, resources, rule->resources[i]);
    yyjson_mut_obj_add_strcpy(doc, v, "scope", rule->scope);
    return list;
}

void ek_webhooks_add_condition(yyjson_mut_doc *doc, yyjson_mut_val *list, const char *name,
                               const char *expression)
{
    yyjson_mut_val *condition = yyjson_mut_arr_add_obj(doc, list);

    yyjson_mut_obj_add_strcpy(doc, condition, "name", name);
    yyjson_mut_obj_add_strcpy(doc, condition, "expression", expression);
}

/* ---- Entries ---- */

/* Both selectors are always written: a selector of somebody else would keep requests away. */
static void write_selectors(const struct ek_webhooks *w, yyjson_mut_val *hook,
                            const struct ek_webhooks_entry *e)
{
    yyjson_mut_val *namespaces = e->namespaces ? e->namespaces : yyjson_mut_obj(w->doc);

    if (!e->everywhere)
        exempt_namespaces(w, namespaces);
    yyjson_mut_obj_add_val(w->doc, hook, "namespaceSelector", namespaces);
    yyjson_mut_obj_add_val(w->doc, hook, "objectSelector",
                           e->objects ? e->objects : yyjson_mut_obj(w->doc));
}

void ek_webhooks_add(struct ek_webhooks *webhooks, const struct ek_webhooks_entry *entry)
{
    const struct ek_webhooks *w = webhooks;
    const struct ek_webhooks_entry *e = entry;
    yyjson_mut_doc *doc = w->doc;
    yyjson_mut_val *hook = yyjson_mut_arr_add_obj(doc, w->list);
    int timeout_s = w->options->timeout_s ? w->options->timeout_s : e->timeout_s;

    yyjson_mut_obj_add_strcpy(doc, hook, "name", e->name);
    yyjson_mut_arr_add_str(doc, yyjson_mut_obj_add_arr(doc, hook, "admissionReviewVersions"), "v1");
    yyjson_mut_obj_add_val(doc, hook, "clientConfig", write_client(w, e->path));
    yyjson_mut_obj_add_str(doc, hook, "failurePolicy", e->ignore_failures ? "Ignore" : "Fail");
    if (e->conditions && yyjson_mut_arr_size(e->conditions))
        yyjson_mut_obj_add_val(doc, hook, "matchConditions", e->conditions);
    yyjson_mut_obj_add_str(doc, hook, "matchPolicy", e->exact ? "Exact" : "Equivalent");
    write_selectors(w, hook, e);
    if (e->reinvocation)
        yyjson_mut_obj_add_strcpy(doc, hook, "reinvocationPolicy", e->reinvocation);
    yyjson_mut_obj_add_val(doc, hook, "rules", e->rules);
    yyjson_mut_obj_add_str(doc, hook, "sideEffects", "None");
    yyjson_mut_obj_add_int(doc, hook, "timeoutSeconds", timeout_s);
}
