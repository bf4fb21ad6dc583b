/* SPDX-License-Identifier: Apache-2.0 */
/* Which policies go behind which webhook. */
#include "reconcilers/mutation/registration.h"

#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "reconcilers/mutation/safety.h"

/* A sort of entries: what failurePolicy, matchPolicy and reinvocationPolicy come to. */
struct sort {
    const char *name;
    bool ignore_failures, exact, reinvoke;
};

#define SORTS_MAX 8

/* Those that may be called again come last: they see what the others did. */
static const struct sort sorts[EK_REGISTRATION_KINDS][SORTS_MAX + 1] = {
    [EK_REGISTRATION_MUTATING] = {{"fail", false, false, false},
                                  {"ignore", true, false, false},
                                  {"fail-exact", false, true, false},
                                  {"ignore-exact", true, true, false},
                                  {"fail-again", false, false, true},
                                  {"ignore-again", true, false, true},
                                  {"fail-exact-again", false, true, true},
                                  {"ignore-exact-again", true, true, true}},
    [EK_REGISTRATION_VALIDATING] = {{"safety-fail", false, false, false},
                                    {"safety-ignore", true, false, false},
                                    {"safety-fail-exact", false, true, false},
                                    {"safety-ignore-exact", true, true, false}},
};

const char *ek_registration_name(enum ek_registration_kind kind, size_t i)
{
    return i < SORTS_MAX ? sorts[kind][i].name : NULL;
}

static bool has_item(yyjson_val *list, const char *item)
{
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(list, i, n, v)
    {
        if (yyjson_equals_str(v, item))
            return true;
    }
    return false;
}

static bool takes_any_group(const struct ek_rules *rules)
{
    for (size_t i = 0; i < ek_rules_len(rules); i++)
        if (has_item(yyjson_obj_get(ek_rules_at(rules, i), "apiGroups"), "*"))
            return true;
    return false;
}

/* Policy and binding must both match, so either bounds the traffic; a binding that narrows a
 * policy for everything is the better bound. */
/* The rules that bound the traffic of a bound policy: its own, or its binding's. NULL when they
 * cannot be read. */
static const struct ek_rules *rules_of(const struct ek_bound *bound)
{
    const struct ek_rules *policy = bound->policy->rules;
    const struct ek_rules *binding = bound->binding->rules;

    if (policy && binding && ek_rules_len(binding) && takes_any_group(policy) &&
        !takes_any_group(binding))
        return binding;
    return policy;
}

bool ek_registration_is_wanted(enum ek_registration_kind kind, const struct ek_bound *bound)
{
    const struct ek_rules *rules = rules_of(bound);
    bool observed = bound->policy->enforcement == EK_POLICY_OBSERVE;

    if (!rules || !ek_rules_len(rules))
        return false;
    if (kind == EK_REGISTRATION_VALIDATING)
        return !observed && ek_safety_wanted(bound->policy);
    return bound->apply || observed;
}

static const struct sort *sort_of(enum ek_registration_kind kind, const struct ek_bound *bound)
{
    bool mutating = kind == EK_REGISTRATION_MUTATING;
    const struct ek_rules *rules = rules_of(bound);
    const char *match = ek_json_str(ek_rules_root(rules), "matchPolicy", NULL);
    bool ignore = bound->policy->ignore_failures || (mutating && !bound->apply);
    bool exact = match && !strcmp(match, "Exact"), reinvoke = mutating && bound->policy->reinvoke;
    const struct sort *sort = sorts[kind];

    while (sort->ignore_failures != ignore || sort->exact != exact || sort->reinvoke != reinvoke)
        sort++;
    return sort;
}

static bool overlap(yyjson_val *a, yyjson_val *b)
{
    yyjson_val *v;
    size_t i, n;

    if (has_item(a, "*") || has_item(b, "*") || has_item(a, "*/*") || has_item(b, "*/*"))
        return true;
    yyjson_arr_foreach(a, i, n, v)
    {
        if (yyjson_is_str(v) && has_item(b, yyjson_get_str(v)))
            return true;
    }
    return false;
}

static bool same_items(yyjson_val *a, yyjson_val *b)
{
    yyjson_val *v;
    size_t i, n;

    if (yyjson_arr_size(a) != yyjson_arr_size(b))
        return false;
    yyjson_arr_foreach(a, i, n, v)
    {
        if (!yyjson_is_str(v) || !has_item(b, yyjson_get_str(v)))
            return false;
    }
    return true;
}

/* Whether rules want a resource in another version than other rules do. */
static bool versions_differ(const struct ek_rules *a, const struct ek_rules *b)
{
    for (size_t i = 0; i < ek_rules_len(a); i++) {
        yyjson_val *x = ek_rules_at(a, i);
        for (size_t k = 0; k < ek_rules_len(b); k++) {
            yyjson_val *y = ek_rules_at(b, k);
            if (overlap(yyjson_obj_get(x, "apiGroups"), yyjson_obj_get(y, "apiGroups")) &&
                overlap(yyjson_obj_get(x, "resources"), yyjson_obj_get(y, "resources")) &&
                !same_items(yyjson_obj_get(x, "apiVersions"), yyjson_obj_get(y, "apiVersions")))
                return true;
        }
    }
    return false;
}

static bool fits(const struct ek_registration_entry *entry, const struct ek_rules *rules)
{
    for (size_t k = 0; k < entry->n_rules; k++)
        if (versions_differ(entry->rules[k], rules))
            return false;
    return true;
}

static struct ek_registration_entry *add_entry(struct ek_registration *r, const struct sort *sort,
                                               unsigned number)
{
    r->entries = ek_xrealloc(r->entries, r->n_entries + 1, sizeof *r->entries);
    struct ek_registration_entry *entry = &r->entries[r->n_entries++];

    *entry = (struct ek_registration_entry){
        .ignore_failures = sort->ignore_failures, .reinvoke = sort->reinvoke, .exact = sort->exact};
    if (number > 1)
        snprintf(entry->name, sizeof entry->name, "%s-%u", sort->name, number);
    else
        snprintf(entry->name, sizeof entry->name, "%s", sort->name);
    return entry;
}

/* Many policies have the rules of others: each is compared with once. */
static void put_rules(struct ek_registration_entry *entry, const struct ek_rules *rules)
{
    yyjson_val *list = yyjson_obj_get(ek_rules_root(rules), "resourceRules");

    for (size_t i = 0; i < entry->n_rules; i++)
        if (yyjson_equals(yyjson_obj_get(ek_rules_root(entry->rules[i]), "resourceRules"), list))
            return;
    entry->rules = ek_xrealloc(entry->rules, entry->n_rules + 1, sizeof(struct ek_rules *));
    entry->rules[entry->n_rules++] = rules;
}

static void put(struct ek_registration_entry *entry, const struct ek_bound *bound, size_t i)
{
    entry->bound = ek_xrealloc(entry->bound, entry->n_bound + 1, sizeof *entry->bound);
    entry->bound[entry->n_bound++] = i;
    put_rules(entry, rules_of(&bound[i]));
}

/* All bound policies of one sort, into one entry while their versions agree. */
static void plan_sort(struct ek_registration *r, const struct ek_bound *bound, size_t n,
                      const struct sort *sort)
{
    size_t first = r->n_entries;

    for (size_t i = 0; i < n; i++) {
        if (!ek_registration_is_wanted(r->kind, &bound[i]) || sort_of(r->kind, &bound[i]) != sort)
            continue;
        size_t e = first;
        while (e < r->n_entries && !fits(&r->entries[e], rules_of(&bound[i])))
            e++;
        if (e < r->n_entries)
            put(&r->entries[e], bound, i);
        else if (r->n_entries < EK_REGISTRATION_ENTRIES_MAX)
            put(add_entry(r, sort, (unsigned)(e - first) + 1), bound, i);
        else
            r->left_out++;
    }
}

void ek_registration_plan(enum ek_registration_kind kind, const struct ek_bound *bound, size_t n,
                          struct ek_registration *ret_registration)
{
    *ret_registration = (struct ek_registration){.kind = kind};
    for (const struct sort *sort = sorts[kind]; sort->name; sort++)
        plan_sort(ret_registration, bound, n, sort);
}

void ek_registration_done(struct ek_registration *registration)
{
    for (size_t i = 0; i < registration->n_entries; i++) {
        ek_free(registration->entries[i].bound);
        ek_free(registration->entries[i].rules);
    }
    ek_free(registration->entries);
    *registration = (struct ek_registration){0};
}
