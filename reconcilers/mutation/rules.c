/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/rules.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"

struct ek_rules {
    yyjson_doc *doc; /* owned copy of what was read */
    yyjson_val *included, *excluded;
    struct label_match {
        struct ek_selector *selector; /* NULL when it cannot be read */
        char *problem;                /* why not */
    } namespaces, objects;
    bool exact;
};

/* Reads a selector of copy. What cannot be read is no part of the copy. */
static void read_selector(yyjson_mut_doc *copy, yyjson_val *match_resources, const char *name,
                          struct label_match *ret_match)
{
    yyjson_val *v = yyjson_obj_get(match_resources, name);
    struct ek_err err = {0};

    /* Absent is what the server's defaulting makes of it: everything. */
    if (!v || yyjson_is_null(v))
        ek_selector_parse("", &ret_match->selector, NULL);
    else if (ek_selector_from_json(v, &ret_match->selector, &err)) {
        ret_match->problem = ek_xasprintf("%s: %s", name, err.message);
        yyjson_mut_obj_remove_key(yyjson_mut_doc_get_root(copy), name);
    }
}

struct ek_rules *ek_rules_new(yyjson_val *match_resources)
{
    struct ek_rules *rules = ek_xalloc(sizeof *rules);
    yyjson_mut_doc *copy = ek_json_doc_new();

    yyjson_mut_doc_set_root(copy, match_resources ? yyjson_val_mut_copy(copy, match_resources)
                                                  : yyjson_mut_obj(copy));
    read_selector(copy, match_resources, "namespaceSelector", &rules->namespaces);
    read_selector(copy, match_resources, "objectSelector", &rules->objects);
    rules->doc = yyjson_mut_doc_imut_copy(copy, &ek_json_xalc);
    yyjson_mut_doc_free(copy);
    yyjson_val *root = yyjson_doc_get_root(rules->doc);
    rules->included = yyjson_obj_get(root, "resourceRules");
    rules->excluded = yyjson_obj_get(root, "excludeResourceRules");
    const char *policy = ek_json_str(root, "matchPolicy", NULL);
    rules->exact = policy && !strcmp(policy, "Exact");
    return rules;
}

void ek_rules_free(struct ek_rules *rules)
{
    if (!rules)
        return;
    ek_selector_free(rules->namespaces.selector);
    ek_selector_free(rules->objects.selector);
    ek_free(rules->namespaces.problem);
    ek_free(rules->objects.problem);
    yyjson_doc_free(rules->doc);
    ek_free(rules);
}

static bool is_namespace_object(const struct ek_gvr *r)
{
    return !*r->group && !strcmp(r->version, "v1") && !strcmp(r->resource, "namespaces");
}

/* What a request is about while rules are compared with it. */
struct subject {
    const struct ek_admission_request *request;
    const struct ek_gvr *resource;
};

static bool lists(yyjson_val *list, const char *item)
{
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(list, i, n, v)
    {
        const char *s = yyjson_get_str(v);
        if (s && (!strcmp(s, "*") || !strcmp(s, item)))
            return true;
    }
    return false;
}

static bool scope_fits(yyjson_val *rule, const struct subject *subject)
{
    const char *scope = ek_json_str(rule, "scope", NULL);

    if (!scope || !strcmp(scope, "*"))
        return true;
    /* A request for a Namespace object is in the namespace of its own name, yet cluster-scoped. */
    bool cluster = is_namespace_object(subject->resource) || !*subject->request->namespace;
    return cluster == !strcmp(scope, "Cluster");
}

static bool part_fits(const char *pattern, size_t len, const char *name)
{
    return (len == 1 && *pattern == '*') || (strlen(name) == len && !memcmp(pattern, name, len));
}

bool ek_rule_names_resource(yyjson_val *rule, const char *resource, const char *subresource)
{
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(rule, "resources"), i, n, v)
    {
        const char *s = yyjson_get_str(v);
        if (!s)
            continue;
        size_t len = strcspn(s, "/");
        const char *sub = s[len] ? s + len + 1 : "";
        if (part_fits(s, len, resource) && part_fits(sub, strlen(sub), subresource))
            return true;
    }
    return false;
}

static bool name_fits(yyjson_val *rule, const struct ek_admission_request *request)
{
    yyjson_val *names = yyjson_obj_get(rule, "resourceNames");
    yyjson_val *v;
    size_t i, n;

    if (yyjson_arr_size(names) == 0)
        return true;
    yyjson_arr_foreach(names, i, n, v)
    {
        const char *s = yyjson_get_str(v);
        if (s && *s && !strcmp(s, request->name))
            return true;
    }
    return false;
}

static bool rule_fits(yyjson_val *rule, const struct subject *subject)
{
    return scope_fits(rule, subject) &&
           lists(yyjson_obj_get(rule, "operations"), subject->request->operation) &&
           lists(yyjson_obj_get(rule, "apiGroups"), subject->resource->group) &&
           lists(yyjson_obj_get(rule, "apiVersions"), subject->resource->version) &&
           ek_rule_names_resource(rule, subject->resource->resource,
                                  subject->request->subresource) &&
           name_fits(rule, subject->request);
}

/* Looks for an equivalent resource that one rule covers. */
struct search {
    yyjson_val *rule;
    const struct ek_admission_request *request;
    struct ek_gvr resource;
    struct ek_gvk kind;
    bool found;
};

static bool try_equivalent(void *arg, const struct ek_gvr *other, const struct ek_gvk *kind)
{
    struct search *search = arg;
    struct subject subject = {search->request, other};

    if (!rule_fits(search->rule, &subject))
        return false;
    search->resource = *other;
    search->kind = *kind;
    return search->found = true;
}

static bool any_rule_fits(yyjson_val *rules, bool exact, const struct ek_admission_request *request,
                          const struct ek_equivalents *equivalents, struct ek_gvr *ret_resource,
                          struct ek_gvk *ret_kind)
{
    struct subject subject = {request, &request->resource};
    yyjson_val *rule;
    size_t i, n;

    *ret_resource = request->resource;
    *ret_kind = request->kind;
    yyjson_arr_foreach(rules, i, n, rule)
    {
        if (rule_fits(rule, &subject))
            return true;
    }
    if (exact || !equivalents)
        return false;
    yyjson_arr_foreach(rules, i, n, rule)
    {
        struct search search = {.rule = rule, .request = request};
        equivalents->each(equivalents->arg, &request->resource, request->subresource,
                          try_equivalent, &search);
        if (search.found) {
            *ret_resource = search.resource;
            *ret_kind = search.kind;
            return true;
        }
    }
    return false;
}

static yyjson_val *labels_of(yyjson_val *object)
{
    return ek_json_get(object, "metadata", "labels", NULL);
}

static bool writes_namespace(const struct ek_admission_request *r)
{
    return !strcmp(r->resource.resource, "namespaces") && !*r->subresource &&
           (!strcmp(r->operation, "CREATE") || !strcmp(r->operation, "UPDATE"));
}

static enum ek_rules_answer unreadable(const struct label_match *match, struct ek_err *err)
{
    ek_err_set(err, EK_E_INVAL, "%s", match->problem);
    return EK_RULES_ERROR;
}

static enum ek_rules_answer match_namespace(const struct ek_rules *rules,
                                            const struct ek_admission_request *request,
                                            yyjson_val *namespace_object, struct ek_err *err)
{
    /* What is in no namespace is never left out by its labels. */
    if (!*request->namespace && strcmp(request->resource.resource, "namespaces") != 0)
        return EK_RULES_YES;
    if (!rules->namespaces.selector)
        return unreadable(&rules->namespaces, err);
    if (ek_selector_is_empty(rules->namespaces.selector))
        return EK_RULES_YES;
    yyjson_val *source = writes_namespace(request) ? request->object : namespace_object;
    if (!source) {
        ek_err_set(err, EK_E_NOENT, "namespaces \"%s\" not found", request->namespace);
        if (err)
            err->http_status = 404;
        return EK_RULES_ERROR;
    }
    return ek_selector_matches(rules->namespaces.selector, labels_of(source)) ? EK_RULES_YES
                                                                              : EK_RULES_NO;
}

static enum ek_rules_answer match_object(const struct ek_rules *rules,
                                         const struct ek_admission_request *r, struct ek_err *err)
{
    const struct ek_selector *selector = rules->objects.selector;

    if (!selector)
        return unreadable(&rules->objects, err);
    return ek_selector_is_empty(selector) ||
                   (r->object && ek_selector_matches(selector, labels_of(r->object))) ||
                   (r->old_object && ek_selector_matches(selector, labels_of(r->old_object)))
               ? EK_RULES_YES
               : EK_RULES_NO;
}

enum ek_rules_answer
ek_rules_match(const struct ek_rules *rules, const struct ek_admission_request *request,
               yyjson_val *namespace_object, const struct ek_equivalents *equivalents,
               struct ek_gvr *ret_resource, struct ek_gvk *ret_kind, struct ek_err *err)
{
    if (!rules) {
        ek_err_set(err, EK_E_INVAL, "policy contained no match constraints, a required field");
        return EK_RULES_ERROR;
    }
    enum ek_rules_answer by_object = match_object(rules, request, err);
    enum ek_rules_answer by_namespace = match_namespace(rules, request, namespace_object, err);
    if (by_namespace == EK_RULES_NO || by_object == EK_RULES_NO)
        return EK_RULES_NO;
    if (any_rule_fits(rules->excluded, rules->exact, request, equivalents, ret_resource, ret_kind))
        return EK_RULES_NO;
    bool fits =
        any_rule_fits(rules->included, rules->exact, request, equivalents, ret_resource, ret_kind);
    if (!fits && yyjson_arr_size(rules->included) > 0)
        return EK_RULES_NO;
    /* The error of a selector counts only if the rules match. */
    return by_namespace == EK_RULES_ERROR ? by_namespace : by_object;
}

const char *ek_rules_problem(const struct ek_rules *rules)
{
    if (!rules)
        return NULL;
    return rules->namespaces.problem ? rules->namespaces.problem : rules->objects.problem;
}

size_t ek_rules_len(const struct ek_rules *rules)
{
    return yyjson_arr_size(rules->included);
}

yyjson_val *ek_rules_at(const struct ek_rules *rules, size_t i)
{
    return yyjson_arr_get(rules->included, i);
}

yyjson_val *ek_rules_root(const struct ek_rules *rules)
{
    return yyjson_doc_get_root(rules->doc);
}
