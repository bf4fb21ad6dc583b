/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of a registration. */
#include "reconcilers/mutation/registration.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/base/words.h"
#include "api/obj.h"

#define TIMEOUT_S 10

/* Of the conditions made of policies' own; the server takes 100,000 for one. */
#define CONDITION_MAX 20000

struct writer {
    const struct ek_bound *bound;
    enum ek_registration_kind kind;
    const struct ek_registration_entry *entry;
    const struct ek_webhooks_options *options;
    yyjson_mut_doc *doc;
};

/* ---- Rules ---- */

static void add_missing(yyjson_mut_doc *doc, yyjson_mut_val *list, const char *item)
{
    yyjson_mut_val *v;
    size_t i, n;

    yyjson_mut_arr_foreach(list, i, n, v)
    {
        if (yyjson_mut_equals_str(v, item))
            return;
    }
    yyjson_mut_arr_add_strcpy(doc, list, item);
}

static yyjson_mut_val *copy_list(const struct writer *w, yyjson_val *list)
{
    yyjson_mut_val *copy = yyjson_mut_arr(w->doc);
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(list, i, n, v)
    {
        if (yyjson_is_str(v))
            add_missing(w->doc, copy, yyjson_get_str(v));
    }
    return copy;
}

/* Deletions are neither mutated nor checked, so "*" is the other three. */
static yyjson_mut_val *copy_operations(const struct writer *w, yyjson_val *list)
{
    static const char *const all[] = {"CREATE", "UPDATE", "CONNECT"};
    yyjson_mut_val *copy = yyjson_mut_arr(w->doc);
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(list, i, n, v)
    {
        for (size_t k = 0; k < EK_ARRAY_SIZE(all); k++)
            if (yyjson_equals_str(v, "*") || yyjson_equals_str(v, all[k]))
                add_missing(w->doc, copy, all[k]);
    }
    return copy;
}

static yyjson_mut_val *copy_rule(const struct writer *w, yyjson_val *rule)
{
    yyjson_mut_val *copy = yyjson_mut_obj(w->doc);
    const char *scope = ek_json_str(rule, "scope", NULL);

    yyjson_mut_obj_add_val(w->doc, copy, "apiGroups",
                           copy_list(w, yyjson_obj_get(rule, "apiGroups")));
    yyjson_mut_obj_add_val(w->doc, copy, "apiVersions",
                           copy_list(w, yyjson_obj_get(rule, "apiVersions")));
    yyjson_mut_obj_add_val(w->doc, copy, "operations",
                           copy_operations(w, yyjson_obj_get(rule, "operations")));
    yyjson_mut_obj_add_val(w->doc, copy, "resources",
                           copy_list(w, yyjson_obj_get(rule, "resources")));
    yyjson_mut_obj_add_strcpy(w->doc, copy, "scope", ek_is_given(scope) ? scope : "*");
    return copy;
}

static bool same_member(yyjson_mut_val *a, yyjson_mut_val *b, const char *name)
{
    return yyjson_mut_equals(yyjson_mut_obj_get(a, name), yyjson_mut_obj_get(b, name));
}

/* Joins a rule with one that differs in resources alone; true when it did. "*" and names do not
 * stand together in one list, by the server's validation. */
static bool join_rule(const struct writer *w, yyjson_mut_val *rules, yyjson_mut_val *rule)
{
    yyjson_mut_val *other, *v, *from = yyjson_mut_obj_get(rule, "resources");
    size_t i, n, k, m;

    yyjson_mut_arr_foreach(rules, i, n, other)
    {
        if (!same_member(other, rule, "apiGroups") || !same_member(other, rule, "apiVersions") ||
            !same_member(other, rule, "operations") || !same_member(other, rule, "scope"))
            continue;
        yyjson_mut_val *into = yyjson_mut_obj_get(other, "resources");
        if (yyjson_mut_equals(into, from))
            return true;
        EK_AUTOFREE char *text =
            ek_xasprintf("%s %s", yyjson_mut_get_str(yyjson_mut_arr_get_first(into)),
                         yyjson_mut_get_str(yyjson_mut_arr_get_first(from)));
        if (strchr(text, '*'))
            continue;
        yyjson_mut_arr_foreach(from, k, m, v)
        {
            add_missing(w->doc, into, yyjson_mut_get_str(v));
        }
        return true;
    }
    return false;
}

static yyjson_mut_val *write_rules(const struct writer *w)
{
    yyjson_mut_val *rules = yyjson_mut_arr(w->doc);

    for (size_t i = 0; i < w->entry->n_rules; i++) {
        for (size_t k = 0; k < ek_rules_len(w->entry->rules[i]); k++) {
            yyjson_mut_val *rule = copy_rule(w, ek_rules_at(w->entry->rules[i], k));
            bool empty = yyjson_mut_arr_size(yyjson_mut_obj_get(rule, "operations")) == 0;
            if (!empty && !join_rule(w, rules, rule))
                yyjson_mut_arr_append(rules, rule);
        }
    }
    return rules;
}

/* ---- Selectors ---- */

static bool is_selective(yyjson_val *selector)
{
    return yyjson_obj_size(yyjson_obj_get(selector, "matchLabels")) ||
           yyjson_arr_size(yyjson_obj_get(selector, "matchExpressions"));
}

/* The selector of a bound policy's half: both halves must match. */
static yyjson_val *selector_of(const struct ek_bound *bound, bool of_binding, const char *name)
{
    const struct ek_rules *rules = of_binding ? bound->binding->rules : bound->policy->rules;
    yyjson_val *selector = rules ? yyjson_obj_get(ek_rules_root(rules), name) : NULL;
    return is_selective(selector) ? selector : NULL;
}

/* One that all the entry's policies have, themselves or by their bindings; NULL for none. */
static yyjson_val *common_selector(const struct writer *w, const char *name)
{
    for (int half = 0; half < 2; half++) {
        yyjson_val *first = selector_of(&w->bound[w->entry->bound[0]], half, name);
        size_t i = 0;
        for (; first && i < w->entry->n_bound; i++) {
            const struct ek_bound *b = &w->bound[w->entry->bound[i]];
            if (!yyjson_equals(first, selector_of(b, false, name)) &&
                !yyjson_equals(first, selector_of(b, true, name)))
                break;
        }
        if (first && i == w->entry->n_bound)
            return first;
    }
    return NULL;
}

static yyjson_mut_val *copy_selector(const struct writer *w, const char *name)
{
    yyjson_val *common = common_selector(w, name);
    return common ? yyjson_val_mut_copy(w->doc, common) : yyjson_mut_obj(w->doc);
}

/* ---- Match conditions ---- */

static bool is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether a name stands anywhere in a text, be it in a string: better once too often. */
static bool has_word(const char *text, const char *word)
{
    size_t len = strlen(word);

    for (const char *p = strstr(text, word); p; p = strstr(p + 1, word))
        if ((p == text || !is_word(p[-1])) && !is_word(p[len]))
            return true;
    return false;
}

/* What policies have and webhooks do not, or not at this point. */
static bool is_for_webhooks(const struct ek_expression *condition)
{
    static const char *const missing[] = {"params", "variables", "namespaceObject", "authorizer"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(missing); i++)
        if (has_word(condition->text, missing[i]))
            return false;
    return condition->program != NULL;
}

/* One policy's conditions, in parentheses; false when they cannot stand in a webhook. A comment
 * must not swallow what follows, hence the line feeds. */
static bool put_conditions(const struct ek_policy *policy, struct ek_buf *out)
{
    ek_buf_puts(out, "(");
    for (size_t i = 0; i < policy->n_conditions; i++) {
        if (!is_for_webhooks(&policy->conditions[i]))
            return false;
        ek_buf_printf(out, "%s(%s\n)", i ? " && " : "", policy->conditions[i].text);
    }
    ek_buf_puts(out, ")");
    return policy->n_conditions > 0;
}

static bool is_repeated(const struct writer *w, size_t k)
{
    for (size_t i = 0; i < k; i++)
        if (w->bound[w->entry->bound[i]].policy == w->bound[w->entry->bound[k]].policy)
            return true;
    return false;
}

/* True for requests that a policy's conditions let through; only when all policies have some. */
static void add_own_conditions(const struct writer *w, yyjson_mut_val *list)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, CONDITION_MAX);
    for (size_t i = 0; i < w->entry->n_bound; i++) {
        if (is_repeated(w, i))
            continue;
        if (text.len)
            ek_buf_puts(&text, " || ");
        if (!put_conditions(w->bound[w->entry->bound[i]].policy, &text))
            return;
    }
    if (!text.failed && text.len)
        ek_webhooks_add_condition(w->doc, list, "policies", ek_buf_str(&text));
}

/* API servers create reviews of access while they judge a request; and a user who repairs a policy
 * must not depend on the policy. */
#define KEPT_GROUPS                                                                                \
    "'admissionregistration.k8s.io', 'authentication.k8s.io', 'authorization.k8s.io', "            \
    "'evenkeel.dev'"

static bool may_take_kept_groups(yyjson_mut_val *rules)
{
    yyjson_mut_val *rule, *v;
    size_t i, n, k, m;

    yyjson_mut_arr_foreach(rules, i, n, rule)
    {
        yyjson_mut_arr_foreach(yyjson_mut_obj_get(rule, "apiGroups"), k, m, v)
        {
            const char *group = yyjson_mut_get_str(v);
            if (!strcmp(group, "*") || (*group && strstr(KEPT_GROUPS, group)))
                return true;
        }
    }
    return false;
}

static yyjson_mut_val *write_conditions(const struct writer *w, yyjson_mut_val *rules)
{
    yyjson_mut_val *list = yyjson_mut_arr(w->doc);

    if (ek_is_given(w->options->own_namespace)) {
        EK_AUTOFREE char *text = ek_xasprintf(
            "!('system:serviceaccounts:%s' in request.userInfo.groups)", w->options->own_namespace);
        ek_webhooks_add_condition(w->doc, list, "not-evenkeel", text);
    }
    if (may_take_kept_groups(rules))
        ek_webhooks_add_condition(w->doc, list, "not-policies-or-reviews",
                                  "!(request.resource.group in [" KEPT_GROUPS "])");
    if (!w->options->without_conditions)
        add_own_conditions(w, list);
    return list;
}

/* ---- Webhooks ---- */

static void write_entry(const struct writer *w, struct ek_webhooks *webhooks)
{
    const struct ek_registration_entry *e = w->entry;
    yyjson_mut_val *rules = write_rules(w);
    bool mutating = w->kind == EK_REGISTRATION_MUTATING;

    if (yyjson_mut_arr_size(rules) == 0)
        return;
    EK_AUTOFREE char *name = ek_xasprintf("%s.mutation.evenkeel.dev", e->name);
    EK_AUTOFREE char *path = ek_xasprintf("%s/%s", mutating ? "/mutate" : "/validate", e->name);
    ek_webhooks_add(webhooks,
                    &(struct ek_webhooks_entry){.name = name,
                                                .path = path,
                                                .reinvocation = !mutating     ? NULL
                                                                : e->reinvoke ? "IfNeeded"
                                                                              : "Never",
                                                .ignore_failures = e->ignore_failures,
                                                .exact = e->exact,
                                                .timeout_s = TIMEOUT_S,
                                                .rules = rules,
                                                .conditions = write_conditions(w, rules),
                                                .namespaces = copy_selector(w, "namespaceSelector"),
                                                .objects = copy_selector(w, "objectSelector")});
}

/* Policies and bindings of evenkeel.dev, wherever they come from. */
static void write_definition(struct ek_webhooks *webhooks)
{
    static const struct ek_webhooks_rule rule = {
        .group = "evenkeel.dev",
        .version = "v1alpha1",
        .scope = "Cluster",
        .update = true,
        .resources = {"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}};
    yyjson_mut_val *conditions = yyjson_mut_arr(webhooks->doc);

    ek_webhooks_add_condition(webhooks->doc, conditions, "changed",
                              "object.?spec != oldObject.?spec || oldObject == null");
    ek_webhooks_add(webhooks,
                    &(struct ek_webhooks_entry){.name = "definition.mutation.evenkeel.dev",
                                                .path = EK_REGISTRATION_DEFINITION_PATH,
                                                .everywhere = true,
                                                .timeout_s = TIMEOUT_S,
                                                .rules = ek_webhooks_rules(webhooks->doc, &rule),
                                                .conditions = conditions});
}

yyjson_mut_val *ek_registration_write(const struct ek_registration *registration,
                                      const struct ek_bound *bound,
                                      const struct ek_webhooks_options *options,
                                      yyjson_mut_doc *doc)
{
    struct ek_webhooks webhooks;

    ek_webhooks_begin(&webhooks, options, doc);
    for (size_t i = 0; i < registration->n_entries; i++) {
        struct writer w = {.bound = bound,
                           .kind = registration->kind,
                           .entry = &registration->entries[i],
                           .options = options,
                           .doc = doc};
        write_entry(&w, &webhooks);
    }
    if (options->with_definitions && registration->kind == EK_REGISTRATION_VALIDATING)
        write_definition(&webhooks);
    ek_webhooks_end(&webhooks);
    return webhooks.content;
}
