/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/fieldgates/registration.h"

#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/words.h"
#include "api/obj.h"
#include "reconcilers/fieldgates/registration-internal.h"

#define TIMEOUT_S 5
#define NAME_MAX_ 253 /* of a webhook: a DNS subdomain */
#define OWN_GROUP "evenkeel.dev"

/* What one configuration may come to; etcd takes 1.5 MiB for one object. */
#define CONTENT_MAX ((size_t)1 << 20)
#define ENTRY_SIZE  ((size_t)1500) /* of an entry besides what is counted */
#define RULE_SIZE   ((size_t)700)  /* of a further rule */

struct writer {
    struct ek_webhooks webhooks[2]; /* mutating, validating */
    size_t size[2];                 /* of what is written */
};

/* ---- Digests ---- */

/* FNV-1a, 64 bits: distinguishes versions that Evenkeel wrote itself; not a cryptographic hash. */
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

static bool is_first(const struct ek_gates_share *share, size_t i)
{
    const struct ek_gates_lack *lacks = share->of->crd->shape.lacks;

    for (size_t k = 0; k < i; k++)
        if (ek_gates_share_guards(share, &lacks[k]) && !strcmp(lacks[k].version, lacks[i].version))
            return false;
    return true;
}

/* API servers take no subresource for equivalent to one that the stored version lacks: a version
 * that must not be written through has rules of its own for these. */
static void add_subresources(yyjson_mut_doc *doc, const struct ek_gates_share *share,
                             const struct ek_webhooks_rule *base, yyjson_mut_val *rules)
{
    const struct ek_gates_shape *shape = &share->of->crd->shape;

    for (size_t i = 0; i < shape->n_lacks; i++) {
        const struct ek_gates_lack *lack = &shape->lacks[i];
        struct ek_webhooks_rule rule = *base;
        if ((!lack->status && !lack->scale) || !ek_gates_share_guards(share, lack) ||
            !is_first(share, i))
            continue;
        EK_AUTOFREE char *status = ek_xasprintf("%s/status", share->of->crd->plural);
        EK_AUTOFREE char *scale = ek_xasprintf("%s/scale", share->of->crd->plural);
        rule.version = lack->version;
        rule.resources[0] = NULL;
        rule.resources[1] = lack->status ? status : NULL;
        rule.resources[2] = lack->scale ? scale : NULL;
        yyjson_mut_arr_append(rules, yyjson_mut_arr_remove_first(ek_webhooks_rules(doc, &rule)));
    }
}

static yyjson_mut_val *share_rules(yyjson_mut_doc *doc, const struct ek_gates_share *share)
{
    const struct ek_gates_crd *crd = share->of->crd;
    struct ek_gates_parts parts = ek_gates_share_parts(share);
    EK_AUTOFREE char *status = ek_xasprintf("%s/status", crd->plural);
    EK_AUTOFREE char *scale = ek_xasprintf("%s/scale", crd->plural);

    const struct ek_webhooks_rule rule = {.group = crd->group,
                                          .version = crd->storage,
                                          .scope = crd->namespaced ? "Namespaced" : "Cluster",
                                          .update = true,
                                          .resources = {parts.main ? crd->plural : NULL,
                                                        parts.status ? status : NULL,
                                                        parts.scale ? scale : NULL}};
    yyjson_mut_val *rules = ek_webhooks_rules(doc, &rule);

    add_subresources(doc, share, &rule, rules);
    return rules;
}

static bool has_parts(const struct ek_gates_share *share)
{
    struct ek_gates_parts parts = ek_gates_share_parts(share);
    return parts.main || parts.status || parts.scale;
}

/* False when there is no room for it. */
static bool write_share(struct writer *w, const struct ek_gates_share *share)
{
    struct ek_webhooks *to = &w->webhooks[share->backstop];
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
    yyjson_mut_val *rules = share_rules(to->doc, share);
    size_t added = ENTRY_SIZE + RULE_SIZE * (yyjson_mut_arr_size(rules) - 1) + condition.len +
                   (to->bundle ? strlen(to->bundle) : 0);
    if (*size + added > CONTENT_MAX)
        return false;
    *size += added;
    yyjson_mut_val *conditions = yyjson_mut_arr(to->doc);
    ek_webhooks_add_condition(to->doc, conditions, "gated-fields", ek_buf_str(&condition));
    ek_webhooks_add(to,
                    &(struct ek_webhooks_entry){.name = name,
                                                .path = path,
                                                .reinvocation = share->backstop ? NULL : "IfNeeded",
                                                .ignore_failures = share->ignore_failures,
                                                .everywhere = !share->of->crd->namespaced,
                                                .timeout_s = TIMEOUT_S,
                                                .rules = rules,
                                                .conditions = conditions});
    return true;
}

static bool may_be_gated(const struct ek_gates_registered *registered)
{
    const struct ek_gates_crd *crd = registered->crd;
    return ek_is_given(crd->group) && ek_is_given(crd->plural) && ek_is_given(crd->storage) &&
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

/* A kind is registered as a whole or not at all: nobody would report half a guard. */
static void write_kind(struct writer *w, const struct ek_gates_registered *registered)
{
    size_t had[2] = {yyjson_mut_arr_size(w->webhooks[0].list),
                     yyjson_mut_arr_size(w->webhooks[1].list)};
    bool fits = true;

    for (int ignore = 0; ignore < 2 && may_be_gated(registered); ignore++) {
        for (int backstop = 0; backstop < 2; backstop++)
            fits = fits && write_share(w, &(struct ek_gates_share){.of = registered,
                                                                   .ignore_failures = ignore,
                                                                   .backstop = backstop});
    }
    for (int k = 0; k < 2 && !fits; k++)
        while (yyjson_mut_arr_size(w->webhooks[k].list) > had[k])
            yyjson_mut_arr_remove_last(w->webhooks[k].list);
}

/* ---- CustomFeatureGates themselves ---- */

static const struct ek_webhooks_rule own_kind = {
    .group = OWN_GROUP,
    .version = "v1alpha1",
    .scope = "Cluster",
    .resources = {"customfeaturegates"},
};

#define IS_CANARY                                                                                  \
    "request.?dryRun.orValue(false) && "                                                           \
    "object.?metadata.?annotations[?'" EK_GATES_CANARY_ANNOTATION "'].hasValue()"

static void write_canary(struct ek_webhooks *to, const char *hash)
{
    EK_AUTOFREE char *path = ek_xasprintf(EK_GATES_CANARY_PATH "/%s", hash);
    yyjson_mut_val *conditions = yyjson_mut_arr(to->doc);

    ek_webhooks_add_condition(to->doc, conditions, "canary", IS_CANARY);
    ek_webhooks_add(to, &(struct ek_webhooks_entry){.name = "canary.registration." OWN_GROUP,
                                                    .path = path,
                                                    .reinvocation = "IfNeeded",
                                                    .everywhere = true,
                                                    .timeout_s = TIMEOUT_S,
                                                    .rules = ek_webhooks_rules(to->doc, &own_kind),
                                                    .conditions = conditions});
}

/* Not requested for the canary, which is nobody's definition, nor when the spec stays: the server's
 * own validation, which holds without us, has seen all of it. */
static void write_definition(struct ek_webhooks *to)
{
    struct ek_webhooks_rule rule = own_kind;
    yyjson_mut_val *conditions = yyjson_mut_arr(to->doc);

    rule.update = true;
    ek_webhooks_add_condition(to->doc, conditions, "not-canary", "!(" IS_CANARY ")");
    ek_webhooks_add_condition(to->doc, conditions, "changed",
                              "object.?spec != oldObject.?spec || oldObject == null");
    ek_webhooks_add(to, &(struct ek_webhooks_entry){.name = "definition.registration." OWN_GROUP,
                                                    .path = EK_GATES_DEFINITION_PATH,
                                                    .ignore_failures = true,
                                                    .everywhere = true,
                                                    .timeout_s = TIMEOUT_S,
                                                    .rules = ek_webhooks_rules(to->doc, &rule),
                                                    .conditions = conditions});
}

/* ---- Configurations ---- */

void ek_gates_registration_write(const struct ek_gates_registered *registered, size_t n,
                                 const struct ek_webhooks_options *options, yyjson_mut_doc *doc,
                                 yyjson_mut_val **ret_mutating, yyjson_mut_val **ret_validating,
                                 const char **ret_hash)
{
    struct writer w = {.size = {0}};
    struct ek_webhooks *mutating = &w.webhooks[0], *validating = &w.webhooks[1];
    char hash[24];

    ek_webhooks_begin(mutating, options, doc);
    ek_webhooks_begin(validating, options, doc);
    for (size_t i = 0; i < n && i < EK_GATES_REGISTERED_MAX; i++)
        write_kind(&w, &registered[i]);
    *ret_hash = "";
    if (yyjson_mut_arr_size(mutating->list)) {
        uint64_t digest =
            digest_value(digest_value(DIGEST_INIT, mutating->content), validating->content);
        snprintf(hash, sizeof hash, "%016llx", (unsigned long long)digest);
        *ret_hash = yyjson_mut_get_str(yyjson_mut_strcpy(doc, hash));
        write_canary(mutating, hash);
    }
    if (options->with_definitions)
        write_definition(validating);
    ek_webhooks_end(mutating);
    ek_webhooks_end(validating);
    *ret_mutating = mutating->content;
    *ret_validating = validating->content;
}

/* ---- One kind's part ---- */

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
