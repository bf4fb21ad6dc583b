/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/fieldgates/registration.h"

#include <stdio.h>
#include <string.h>

#include "api/base64.h"
#include "api/mem.h"
#include "api/obj.h"
#include "reconcilers/fieldgates/registration-internal.h"
#include "reconcilers/mutation/registration.h"

#define TIMEOUT_S 5
#define PORT      443
#define NAME_MAX_ 253 /* of a webhook: a DNS subdomain */
#define OWN_GROUP "evenkeel.dev"

/* What one configuration may come to; etcd takes 1.5 MiB for one object. */
#define CONTENT_MAX ((size_t)1 << 20)
#define ENTRY_SIZE  ((size_t)1500) /* of an entry besides what is counted */

struct writer {
    const struct ek_gates_registration_options *options;
    yyjson_mut_doc *doc;
    const char *bundle; /* in base64; NULL for none. Owned */
    size_t size[2];     /* of what is written: mutating, validating */
};

static bool given(const char *s)
{
    return s && *s;
}

/* ---- Digests ---- */

/* FNV-1a, 64 bits: tells versions of our own writing apart, and is no defence against anybody. */
static uint64_t digest_text(uint64_t digest, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        digest = (digest ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return digest;
}

#define DIGEST_INIT UINT64_C(0xcbf29ce484222325)

static uint64_t digest_value(uint64_t digest, yyjson_mut_val *value)
{
    size_t len = 0;
    char *text = yyjson_mut_val_write_opts(value, YYJSON_WRITE_NOFLAG, &ek_json_xalc, &len, NULL);

    digest = text ? digest_text(digest, text, len) : digest;
    ek_free(text);
    return digest;
}

/* ---- Parts of a webhook ---- */

static yyjson_mut_val *write_client(const struct writer *w, const char *path)
{
    const struct ek_gates_registration_options *o = w->options;
    yyjson_mut_val *client = yyjson_mut_obj(w->doc);

    if (given(o->url)) {
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

static void add_condition(const struct writer *w, yyjson_mut_val *hook, const char *name,
                          const char *expression)
{
    yyjson_mut_val *list = yyjson_mut_obj_get(hook, "matchConditions");

    if (!list)
        list = yyjson_mut_obj_add_arr(w->doc, hook, "matchConditions");
    yyjson_mut_val *condition = yyjson_mut_arr_add_obj(w->doc, list);
    yyjson_mut_obj_add_str(w->doc, condition, "name", name);
    yyjson_mut_obj_add_strcpy(w->doc, condition, "expression", expression);
}

/* Namespaces that are left alone: ours, and kube-system. It says nothing of cluster-scoped
 * objects. */
static yyjson_mut_val *write_namespaces(const struct writer *w, bool namespaced)
{
    yyjson_mut_val *selector = yyjson_mut_obj(w->doc);
    yyjson_mut_val *values = yyjson_mut_arr(w->doc);

    if (given(w->options->own_namespace))
        yyjson_mut_arr_add_strcpy(w->doc, values, w->options->own_namespace);
    if (!w->options->with_kube_system)
        yyjson_mut_arr_add_str(w->doc, values, "kube-system");
    if (!namespaced || yyjson_mut_arr_size(values) == 0)
        return selector;
    yyjson_mut_val *expression = yyjson_mut_arr_add_obj(
        w->doc, yyjson_mut_obj_add_arr(w->doc, selector, "matchExpressions"));
    yyjson_mut_obj_add_str(w->doc, expression, "key", "kubernetes.io/metadata.name");
    yyjson_mut_obj_add_str(w->doc, expression, "operator", "NotIn");
    yyjson_mut_obj_add_val(w->doc, expression, "values", values);
    return selector;
}

struct rule {
    const char *group, *version, *scope;
    bool update; /* besides CREATE */
    const char *resources[3];
};

static void write_rule(const struct writer *w, yyjson_mut_val *hook, const struct rule *rule)
{
    yyjson_mut_doc *doc = w->doc;
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, yyjson_mut_obj_add_arr(doc, hook, "rules"));

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
    yyjson_mut_obj_add_str(doc, v, "scope", rule->scope);
}

/* All but rules and conditions. mutating: has a reinvocationPolicy. */
static yyjson_mut_val *write_webhook(const struct writer *w, const char *name, const char *path,
                                     bool ignore_failures, bool mutating)
{
    yyjson_mut_doc *doc = w->doc;
    yyjson_mut_val *hook = yyjson_mut_obj(doc);
    int timeout_s = w->options->timeout_s ? w->options->timeout_s : TIMEOUT_S;

    yyjson_mut_obj_add_strcpy(doc, hook, "name", name);
    yyjson_mut_arr_add_str(doc, yyjson_mut_obj_add_arr(doc, hook, "admissionReviewVersions"), "v1");
    yyjson_mut_obj_add_val(doc, hook, "clientConfig", write_client(w, path));
    yyjson_mut_obj_add_str(doc, hook, "failurePolicy", ignore_failures ? "Ignore" : "Fail");
    yyjson_mut_obj_add_str(doc, hook, "matchPolicy", "Equivalent");
    if (mutating)
        yyjson_mut_obj_add_str(doc, hook, "reinvocationPolicy", "IfNeeded");
    yyjson_mut_obj_add_str(doc, hook, "sideEffects", "None");
    yyjson_mut_obj_add_int(doc, hook, "timeoutSeconds", timeout_s);
    return hook;
}

/* ---- Gated kinds ---- */

/* "fail.crontabs.stable.example.com.gates.evenkeel.dev"; a digest for a name that would be too
 * long. The first label keeps the names of one kind's entries apart. */
static char *entry_name(const char *crd, bool ignore_failures)
{
    const char *class = ignore_failures ? "ignore" : "fail";
    char *name = ek_xasprintf("%s.%s.gates." OWN_GROUP, class, crd);

    if (strlen(name) <= NAME_MAX_)
        return name;
    ek_free(name);
    return ek_xasprintf("%s.%016llx.gates." OWN_GROUP, class,
                        (unsigned long long)digest_text(DIGEST_INIT, crd, strlen(crd)));
}

static void write_share_rule(const struct writer *w, yyjson_mut_val *hook,
                             const struct ek_gates_share *share)
{
    const struct ek_gates_crd *crd = share->of->crd;
    struct ek_gates_parts parts = ek_gates_share_parts(share);
    EK_AUTOFREE char *status = ek_xasprintf("%s/status", crd->plural);
    EK_AUTOFREE char *scale = ek_xasprintf("%s/scale", crd->plural);
    struct rule rule = {.group = crd->group,
                        .version = crd->storage,
                        .scope = crd->namespaced ? "Namespaced" : "Cluster",
                        .update = true,
                        .resources = {parts.main ? crd->plural : NULL, parts.status ? status : NULL,
                                      parts.scale ? scale : NULL}};
    write_rule(w, hook, &rule);
}

static bool has_parts(const struct ek_gates_share *share)
{
    struct ek_gates_parts parts = ek_gates_share_parts(share);
    return parts.main || parts.status || parts.scale;
}

/* False when there is no room for it. */
static bool write_share(struct writer *w, yyjson_mut_val *list, const struct ek_gates_share *share)
{
    size_t *size = &w->size[share->backstop];
    const char *crd = share->of->gates->name;
    EK_AUTOFREE char *name = entry_name(crd, share->ignore_failures);
    EK_AUTOFREE char *path =
        ek_xasprintf("%s/%s", share->backstop ? EK_GATES_VERIFY_PATH : EK_GATES_PATH, crd);
    EK_AUTO(ek_buf) condition;

    ek_buf_init(&condition, EK_GATES_CONDITION_MAX);
    if (!has_parts(share))
        return true;
    ek_gates_share_condition(share, &condition);
    size_t added = ENTRY_SIZE + condition.len + (w->bundle ? strlen(w->bundle) : 0);
    if (*size + added > CONTENT_MAX)
        return false;
    *size += added;
    yyjson_mut_val *hook = write_webhook(w, name, path, share->ignore_failures, !share->backstop);
    write_share_rule(w, hook, share);
    add_condition(w, hook, "gated-fields", ek_buf_str(&condition));
    yyjson_mut_obj_add_val(w->doc, hook, "namespaceSelector",
                           write_namespaces(w, share->of->crd->namespaced));
    yyjson_mut_arr_append(list, hook);
    return true;
}

static bool may_be_gated(const struct ek_gates_registered *registered)
{
    const struct ek_gates_crd *crd = registered->crd;
    return given(crd->group) && given(crd->plural) && given(crd->storage) &&
           strcmp(crd->group, OWN_GROUP) != 0;
}

bool ek_gates_need_registration(const struct ek_gates_registered *registered)
{
    if (!may_be_gated(registered))
        return false;
    for (int ignore = 0; ignore < 2; ignore++)
        if (has_parts(&(struct ek_gates_share){.of = registered, .ignore_failures = ignore}))
            return true;
    return false;
}

/* A kind is registered whole or not at all: half a guard is told by nobody. */
static void write_kind(struct writer *w, yyjson_mut_val *mutating, yyjson_mut_val *validating,
                       const struct ek_gates_registered *registered)
{
    size_t had[2] = {yyjson_mut_arr_size(mutating), yyjson_mut_arr_size(validating)};
    bool fits = true;

    for (int ignore = 0; ignore < 2 && may_be_gated(registered); ignore++) {
        for (int backstop = 0; backstop < 2; backstop++)
            fits = fits && write_share(w, backstop ? validating : mutating,
                                       &(struct ek_gates_share){.of = registered,
                                                                .ignore_failures = ignore,
                                                                .backstop = backstop});
    }
    while (!fits && yyjson_mut_arr_size(mutating) > had[0])
        yyjson_mut_arr_remove_last(mutating);
    while (!fits && yyjson_mut_arr_size(validating) > had[1])
        yyjson_mut_arr_remove_last(validating);
}

/* ---- CustomFeatureGates themselves ---- */

static const struct rule own_kind = {
    .group = OWN_GROUP,
    .version = "v1alpha1",
    .scope = "Cluster",
    .resources = {"customfeaturegates"},
};

#define IS_CANARY                                                                                  \
    "request.?dryRun.orValue(false) && "                                                           \
    "object.?metadata.?annotations[?'" EK_GATES_CANARY_ANNOTATION "'].hasValue()"

static yyjson_mut_val *write_canary(const struct writer *w, const char *hash)
{
    EK_AUTOFREE char *path = ek_xasprintf(EK_GATES_CANARY_PATH "/%s", hash);
    yyjson_mut_val *hook = write_webhook(w, "canary.registration." OWN_GROUP, path, false, true);

    write_rule(w, hook, &own_kind);
    add_condition(w, hook, "canary", IS_CANARY);
    yyjson_mut_obj_add_obj(w->doc, hook, "namespaceSelector");
    return hook;
}

/* Not asked for the canary, which is nobody's definition, nor when nothing of it changes: the
 * server's own validation, which holds without us, has seen it all. */
static yyjson_mut_val *write_definition(const struct writer *w)
{
    struct rule rule = own_kind;
    yyjson_mut_val *hook = write_webhook(w, "definition.registration." OWN_GROUP,
                                         EK_GATES_DEFINITION_PATH, true, false);

    rule.update = true;
    write_rule(w, hook, &rule);
    add_condition(w, hook, "not-canary", "!(" IS_CANARY ")");
    add_condition(w, hook, "changed", "object.?spec != oldObject.?spec || oldObject == null");
    yyjson_mut_obj_add_obj(w->doc, hook, "namespaceSelector");
    return hook;
}

/* ---- Configurations ---- */

/* Deleting the namespace, the last step of taking Evenkeel away, takes the webhooks with it. */
static void write_owner(const struct writer *w, yyjson_mut_val *metadata)
{
    const struct ek_gates_registration_options *o = w->options;

    if (!given(o->own_namespace) || !given(o->own_namespace_uid))
        return;
    yyjson_mut_val *owner =
        yyjson_mut_arr_add_obj(w->doc, yyjson_mut_obj_add_arr(w->doc, metadata, "ownerReferences"));
    yyjson_mut_obj_add_str(w->doc, owner, "apiVersion", "v1");
    yyjson_mut_obj_add_str(w->doc, owner, "kind", "Namespace");
    yyjson_mut_obj_add_strcpy(w->doc, owner, "name", o->own_namespace);
    yyjson_mut_obj_add_strcpy(w->doc, owner, "uid", o->own_namespace_uid);
}

/* Returns its webhooks, still empty. */
static yyjson_mut_val *write_configuration(const struct writer *w, yyjson_mut_val **ret_content)
{
    yyjson_mut_val *content = yyjson_mut_obj(w->doc);
    yyjson_mut_val *metadata = yyjson_mut_obj_add_obj(w->doc, content, "metadata");
    yyjson_mut_val *labels = yyjson_mut_obj_add_obj(w->doc, metadata, "labels");

    yyjson_mut_obj_add_str(w->doc, labels, "app.kubernetes.io/name", "evenkeel");
    yyjson_mut_obj_add_str(w->doc, labels, "app.kubernetes.io/managed-by", "evenkeel");
    write_owner(w, metadata);
    *ret_content = content;
    return yyjson_mut_obj_add_arr(w->doc, content, "webhooks");
}

void ek_gates_registration_write(const struct ek_gates_registered *registered, size_t n,
                                 const struct ek_gates_registration_options *options,
                                 yyjson_mut_doc *doc, yyjson_mut_val **ret_mutating,
                                 yyjson_mut_val **ret_validating, const char **ret_hash)
{
    struct writer w = {.options = options, .doc = doc};
    EK_AUTOFREE char *bundle =
        given(options->ca_bundle) ? ek_base64_encode(options->ca_bundle, strlen(options->ca_bundle))
                                  : NULL;
    char hash[24];

    w.bundle = bundle;
    yyjson_mut_val *mutating = write_configuration(&w, ret_mutating);
    yyjson_mut_val *validating = write_configuration(&w, ret_validating);
    for (size_t i = 0; i < n && i < EK_GATES_REGISTERED_MAX; i++)
        write_kind(&w, mutating, validating, &registered[i]);
    *ret_hash = "";
    if (yyjson_mut_arr_size(mutating)) {
        uint64_t digest = digest_value(digest_value(DIGEST_INIT, *ret_mutating), *ret_validating);
        snprintf(hash, sizeof hash, "%016llx", (unsigned long long)digest);
        *ret_hash = yyjson_mut_get_str(yyjson_mut_strcpy(doc, hash));
        yyjson_mut_arr_append(mutating, write_canary(&w, hash));
    }
    if (options->with_definitions)
        yyjson_mut_arr_append(validating, write_definition(&w));
}

/* ---- Comparing ---- */

static yyjson_mut_val *find_webhook(yyjson_mut_val *list, const char *name)
{
    yyjson_mut_val *hook;
    size_t i, n;

    yyjson_mut_arr_foreach(list, i, n, hook)
    {
        if (name && yyjson_mut_equals_str(yyjson_mut_obj_get(hook, "name"), name))
            return hook;
    }
    return NULL;
}

uint64_t ek_gates_registration_digest(yyjson_mut_val *mutating, yyjson_mut_val *validating,
                                      const char *crd)
{
    static const char *const members[] = {"failurePolicy", "rules", "matchConditions",
                                          "namespaceSelector"};
    yyjson_mut_val *contents[] = {mutating, validating};
    uint64_t digest = DIGEST_INIT;
    bool any = false;

    for (size_t k = 0; k < 2 * EK_ARRAY_SIZE(contents); k++) {
        EK_AUTOFREE char *name = entry_name(crd, k % 2);
        yyjson_mut_val *hook = find_webhook(yyjson_mut_obj_get(contents[k / 2], "webhooks"), name);
        for (size_t i = 0; hook && i < EK_ARRAY_SIZE(members); i++)
            digest = digest_value(digest, yyjson_mut_obj_get(hook, members[i]));
        any = any || hook;
    }
    return any ? digest | 1 : 0;
}

/* Live webhooks in the order of wanted ones, then the others. */
static yyjson_mut_val *in_order(yyjson_val *live, yyjson_mut_val *wanted, yyjson_mut_doc *doc)
{
    yyjson_mut_val *sorted = yyjson_mut_arr(doc), *want;
    yyjson_val *hook;
    size_t i, n, k, m;

    yyjson_mut_arr_foreach(wanted, i, n, want)
    {
        const char *name = yyjson_mut_get_str(yyjson_mut_obj_get(want, "name"));
        yyjson_arr_foreach(live, k, m, hook)
        {
            if (yyjson_equals_str(yyjson_obj_get(hook, "name"), name))
                yyjson_mut_arr_append(sorted, yyjson_val_mut_copy(doc, hook));
        }
    }
    yyjson_arr_foreach(live, k, m, hook)
    {
        if (yyjson_mut_arr_size(sorted) < m &&
            !find_webhook(wanted, ek_json_str(hook, "name", NULL)))
            yyjson_mut_arr_append(sorted, yyjson_val_mut_copy(doc, hook));
    }
    return sorted;
}

bool ek_gates_registration_is_current(yyjson_mut_val *content, yyjson_val *live)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *sorted = live ? yyjson_val_mut_copy(doc, live) : NULL;
    struct ek_obj *obj = NULL;

    if (sorted)
        yyjson_mut_obj_put(sorted, yyjson_mut_str(doc, "webhooks"),
                           in_order(yyjson_obj_get(live, "webhooks"),
                                    yyjson_mut_obj_get(content, "webhooks"), doc));
    obj = ek_obj_from_mut(sorted);
    bool current = ek_registration_is_current(content, obj ? ek_obj_root(obj) : NULL);
    ek_obj_unref(obj);
    yyjson_mut_doc_free(doc);
    return current;
}
